import { type Checks, checkedLater, readOptions } from '../internal/arguments.js'
import { describe, wrongArgument } from '../internal/describe.js'

/** The rate of requests that a {@link FakeService} accepts. */
export interface RateLimit {
  /** Requests per second over all endpoints, above 0. Bursts of up to this many are accepted. */
  perSecond: number
}

const checks: Checks<RateLimit> = { perSecond: checkedLater }

/** A token bucket, as in most services. */
export class RateLimiter {
  readonly #perSecond: number
  readonly #capacity: number
  #tokens: number
  // Fake timers often leave performance.now() alone.
  #filledAt: number = Date.now()

  constructor(limit: RateLimit) {
    if (typeof limit !== 'object') throw wrongArgument('limit', 'an object such as { perSecond: 50 }', limit)
    const { perSecond } = readOptions('limit', limit, checks, 'Options of a limit')
    if (typeof perSecond !== 'number' || !(perSecond > 0 && perSecond < Number.POSITIVE_INFINITY))
      throw new TypeError(`perSecond: expected a number above 0, got ${describe(perSecond)}`)
    this.#perSecond = perSecond
    this.#capacity = Math.max(1, perSecond)
    this.#tokens = this.#capacity
  }

  /** Accepts a request, or returns the seconds until it may be sent again. */
  take(): number | undefined {
    const now = Date.now()
    const seconds = Math.max(0, now - this.#filledAt) / 1_000
    this.#filledAt = now
    this.#tokens = Math.min(this.#capacity, this.#tokens + seconds * this.#perSecond)
    if (this.#tokens < 1) return (1 - this.#tokens) / this.#perSecond
    this.#tokens--
    return undefined
  }
}
