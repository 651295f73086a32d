import type { Outcome, ReceivedResponse } from './attempt.js'

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

function isRetryable(outcome: Outcome, isKeyInUse: boolean): boolean {
  if (outcome.status === undefined) return outcome.reason !== 'certificate'
  const { status } = outcome
  // "Conflict" then usually means that a request with the same key is still being processed.
  if (status === 409) return isKeyInUse
  return [408, 425, 429].includes(status) || isServerError(status)
}

/** Whether a failure of the service may pass. */
export function isServerError(status: number): boolean {
  return status >= 500 && status !== 501 && status !== 505
}

/** Whether a write may have been applied although its attempt failed. A 409 to the caller's own key may be due to another call. */
export function mayHaveBeenApplied(outcome: Outcome, hasCallerKey: boolean): boolean {
  if (outcome.status === undefined) return outcome.reason === 'cut-off' || outcome.reason === 'no-response'
  const { status } = outcome
  if (status === 409) return hasCallerKey
  // A service may redirect after it applied a write, but 307 and 308 ask to send it again.
  const isRefused = status >= 400 && status < 500 && status !== 408
  return !isRefused && status !== 307 && status !== 308
}

/** Whether the service asks for fewer requests. */
export function isThrottled(status: number): boolean {
  return status === 429 || status === 503
}

/** Whether an attempt was refused because there were too many, and may succeed within a minute. */
export function isTooMany(outcome: Outcome): outcome is ReceivedResponse {
  if (outcome.status === undefined || !isThrottled(outcome.status)) return false
  const retryAfterMs = parseRetryAfter(outcome.headers)
  // A 503 without Retry-After is a failure like any other.
  return retryAfterMs === undefined ? outcome.status === 429 : retryAfterMs <= maxRetryAfterMs
}

/** A longer `Retry-After` is not waited for: the error is thrown, with the delay. */
const maxRetryAfterMs = 60_000

/** The delay after an attempt, counted from 1; `undefined` if a retry would not help. */
export function retryDelayMs(outcome: Outcome, attempt: number, isKeyInUse: boolean): number | undefined {
  if (!isRetryable(outcome, isKeyInUse)) return undefined
  const retryAfterMs = (outcome.status !== undefined && parseRetryAfter(outcome.headers)) || 0
  return retryAfterMs > maxRetryAfterMs ? undefined : Math.max(backoffMs(attempt), retryAfterMs)
}

/** Half a second, doubled each time up to 8 s, then jittered. */
export function backoffMs(attempt: number): number {
  return Math.min(8_000, 500 * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
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

const fullBudget = 500
/** After so long without a failure, the service is well. */
const quietMs = 10_000

/** The retries that are left, so that an outage is not amplified. Shared by a client and those derived from it. */
export class RetryBudget {
  #left = fullBudget
  #askedAt = 0

  /** Takes a retry; `false` if there is none left. */
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
