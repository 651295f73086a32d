const fullBudget = 500
/** After so long without a failure, the service is well. */
const quietMs = 10_000

/** The retries that are left, so that an outage is not amplified. Shared by a client and those derived from it. */
export class RetryBudget {
  #left = fullBudget
  #askedAt = 0

  take(): boolean {
    this.#askedAt = performance.now()
    if (this.#left < 1) return false
    this.#left--
    return true
  }

  /** A call that succeeds gives back what its retries took, and a tenth; all, if nobody asked for ten seconds. */
  giveBack(retries: number): void {
    const isQuiet = performance.now() - this.#askedAt > quietMs
    this.#left = isQuiet ? fullBudget : Math.min(fullBudget, this.#left + retries + 0.1)
  }
}
