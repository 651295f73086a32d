const fullBudget = 500
/** After this long in which no call asked for a retry, the budget is full again. */
const quietMs = 10_000

/** Limits the retries of a client and of those derived from it, so they don't amplify an outage. */
export class RetryBudget {
  #left = fullBudget
  #lastRetryAt = 0

  take(): boolean {
    const now = performance.now()
    if (now - this.#lastRetryAt > quietMs) this.#left = fullBudget
    this.#lastRetryAt = now
    if (this.#left < 1) return false
    this.#left--
    return true
  }

  /** A success gives its retries back, plus 0.1. */
  giveBack(retries: number): void {
    this.#left = Math.min(fullBudget, this.#left + retries + 0.1)
  }
}
