import { backoffMs } from './backoff.js'
import type { Outcome, ReceivedResponse } from './types.js'

/** The service has refused the request, as there were too many. */
export function isRateLimit(status: number): boolean {
  return status === 429
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** Whether a failure of the service may pass. */
export function isServerError(status: number): boolean {
  return status >= 500 && status !== 501 && status !== 505
}

/** Whether the service asks for fewer requests. */
export function isThrottled(status: number): boolean {
  return isRateLimit(status) || status === 503
}

/** A longer `Retry-After` is not waited for: the error is thrown, with the delay. */
const maxRetryAfterMs = 60_000

/** Whether an attempt was refused because there were too many, and may succeed within a minute. */
export function isTooMany(outcome: Outcome): outcome is ReceivedResponse {
  if (outcome.status === undefined || !isThrottled(outcome.status)) return false
  // A 503 without Retry-After is a failure like any other.
  const { status, retryAfterMs } = outcome
  return retryAfterMs === undefined ? isRateLimit(status) : retryAfterMs <= maxRetryAfterMs
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

/** The delay after an attempt, counted from 1; `undefined` if a retry would not help. */
export function retryDelayMs(outcome: Outcome, attempt: number, isKeyInUse: boolean): number | undefined {
  if (outcome.status === undefined) return outcome.reason === 'certificate' ? undefined : backoffMs(attempt)
  const { status, retryAfterMs = 0 } = outcome
  // "Conflict" then usually means that a request with the same key is still being processed.
  const mayPass = status === 409 ? isKeyInUse : [408, 425, 429].includes(status) || isServerError(status)
  return mayPass && retryAfterMs <= maxRetryAfterMs ? Math.max(backoffMs(attempt), retryAfterMs) : undefined
}
