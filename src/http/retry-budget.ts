const fullBudget = 500
/** After this long without a retry, treat the service as healthy. */
const quietMs = 10_000

/** Limits the retries of a client and of those derived from it, so they don't amplify an outage. */
export class RetryBudget {
  #left = fullBudget
  #lastRetryAt = 0

  take(): boolean {
    this.#lastRetryAt = performance.now()
    if (this.#left < 1) return false
    this.#left--
    return true
  }

  /**
   * A success gives its retries back, plus 0.1. If no call asked for a retry for ten seconds, it restores the full budget. Time
   * alone does not, because in an outage that hangs, calls ask only once per `timeout`.
   */
  giveBack(retries: number): void {
    const isQuiet = performance.now() - this.#lastRetryAt > quietMs
    this.#left = isQuiet ? fullBudget : Math.min(fullBudget, this.#left + retries + 0.1)
  }
}
