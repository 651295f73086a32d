import { backoffMs, parseRetryAfter } from './backoff.js'
import type { Outcome, ReceivedResponse } from './types.js'

/** The service has refused the request, as there were too many. */
export function isRateLimit(status: number): boolean {
  return status === 429
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

function isRetryable(outcome: Outcome, isKeyInUse: boolean): boolean {
  if (outcome.status === undefined) return outcome.reason !== 'certificate'
  const { status } = outcome
  // "Conflict" then usually means that a request with the same key is still being processed.
  if (status === 409) return isKeyInUse
  return [408, 425].includes(status) || isRateLimit(status) || isServerError(status)
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
  return isRateLimit(status) || status === 503
}

/** Whether an attempt was refused because there were too many, and may succeed within a minute. */
export function isTooMany(outcome: Outcome): outcome is ReceivedResponse {
  if (outcome.status === undefined || !isThrottled(outcome.status)) return false
  const retryAfterMs = parseRetryAfter(outcome.headers)
  // A 503 without Retry-After is a failure like any other.
  return retryAfterMs === undefined ? isRateLimit(outcome.status) : retryAfterMs <= maxRetryAfterMs
}

/** A longer `Retry-After` is not waited for: the error is thrown, with the delay. */
const maxRetryAfterMs = 60_000

/** The delay after an attempt, counted from 1; `undefined` if a retry would not help. */
export function retryDelayMs(outcome: Outcome, attempt: number, isKeyInUse: boolean): number | undefined {
  if (!isRetryable(outcome, isKeyInUse)) return undefined
  const retryAfterMs = (outcome.status !== undefined && parseRetryAfter(outcome.headers)) || 0
  return retryAfterMs > maxRetryAfterMs ? undefined : Math.max(backoffMs(attempt), retryAfterMs)
}
