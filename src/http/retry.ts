export type FailedAttempt = RefusedAttempt | UnansweredAttempt

/** A response came, and its status says what may be done. */
export interface RefusedAttempt {
  readonly status: number
  readonly retryAfterMs: number | undefined
}

export interface UnansweredAttempt {
  readonly status?: undefined
  /** The request may have reached the service. */
  readonly isSent: boolean
  readonly isRetryable: boolean
}

export interface CallHistory {
  readonly mayHaveBeenApplied: boolean
  /** The caller passed the idempotency key, so another call may use the same one. */
  readonly hasCallerKey: boolean
}

export function isRetryable(failed: FailedAttempt, call: CallHistory): boolean {
  if (failed.status === undefined) return failed.isRetryable
  const { status } = failed
  // "Conflict" then usually means that a request with the same key is still being processed.
  if (status === 409) return call.mayHaveBeenApplied || call.hasCallerKey
  return status === 408 || status === 425 || isThrottled(status) || isServerError(status)
}

/** Whether a write may have been applied although its attempt failed. */
export function mayHaveBeenApplied(failed: FailedAttempt, call: CallHistory): boolean {
  if (failed.status === undefined) return failed.isSent
  const { status } = failed
  if (status === 409) return call.hasCallerKey
  // A service may redirect after it applied a write, but 307 and 308 ask to send it again.
  const isRefused = status >= 400 && status < 500 && status !== 408
  return !isRefused && status !== 307 && status !== 308
}

/** Whether the service asks for fewer requests. */
export function isThrottled(status: number): boolean {
  return isRateLimited(status) || status === 503
}

/** Whether a status says that there were too many requests, and nothing else: its retry is cheap. */
export function isRateLimited(status: number | undefined): boolean {
  return status === 429
}

function isServerError(status: number): boolean {
  return status >= 500 && status !== 501 && status !== 505
}

/** A longer `Retry-After` is not waited for: the error is thrown, with the delay. */
export const maxRetryAfterMs = 60_000
const firstBackoffMs = 500
const maxBackoffMs = 8_000

/** The delay after an attempt, counted from 1: doubled each time, capped, then jittered. */
export function backoffMs(attempt: number): number {
  const capped = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (attempt - 1))
  return capped * (0.5 + Math.random() / 2)
}

/** The delay of a `Retry-After` header in milliseconds; undefined if it is absent or neither seconds nor an HTTP date. */
export function parseRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after') ?? ''
  if (/^\d+(\.\d+)?$/.test(value)) return Math.min(Math.ceil(Number(value) * 1000), Number.MAX_SAFE_INTEGER)
  const until = parseHttpDate(value)
  // Against the service's own clock, as the one here may be wrong.
  const now = parseHttpDate(headers.get('date') ?? '') ?? Date.now()
  return until === undefined ? undefined : Math.max(0, until - now)
}

// Date.parse alone takes "1" or "soon 5" for dates.
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

function parseHttpDate(value: string): number | undefined {
  const time = httpDate.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

// In thirtieths of a retry, so that every share of one is a whole number.
const oneRetry = 30
const fullBudget = 35 * oneRetry

/** What a call that succeeds at once adds to the budget. */
export const successBonus: number = oneRetry / 10

/** The retries that are left, so that an outage is not amplified. Shared by a client and those derived from it. */
export class RetryBudget {
  #left = fullBudget

  /** Takes what a retry after this status costs; `undefined` if less is left. */
  take(status: number | undefined): number | undefined {
    const cost = isRateLimited(status) ? oneRetry / 3 : oneRetry
    if (cost > this.#left) return undefined
    this.#left -= cost
    return cost
  }

  refund(cost: number): void {
    this.#left = Math.min(fullBudget, this.#left + cost)
  }
}
