import { codeOf } from '../internal/error-code.js'
import { backoffMs } from './backoff.js'
import { patienceMs } from './pace.js'
import type { Call, Outcome } from './types.js'

/** Whether the service refused the request because there were too many. */
export function isRateLimit(status: number): boolean {
  return status === 429
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** Whether the service failed in a way that may not last. */
export function isServerError(status: number): boolean {
  return status >= 500 && status !== 501 && status !== 505
}

/** Whether the service asks for fewer requests. */
export function isThrottled(status: number): boolean {
  return isRateLimit(status) || status === 503
}

/** Whether the service or this machine refused an attempt because there were too many, and one may succeed before long. */
export function isRefusal(outcome: Outcome): boolean {
  // The process has no file descriptors left for sockets.
  if (outcome.status === undefined) return /^E[MN]FILE$/.test(codeOf(outcome.cause) ?? '')
  const { status, retryAfterMs } = outcome
  if (retryAfterMs === undefined) return isRateLimit(status)
  return retryAfterMs <= patienceMs && (isThrottled(status) || (status === 403 && retryAfterMs > 0))
}

/** Whether the service failed, but not because of a limit. */
export function isOutage(outcome: Outcome): boolean {
  return outcome.status === undefined ? outcome.reason !== 'not-sent' : isServerError(outcome.status)
}

/** Whether a failed write may have been applied. Another call with the caller's key may be the reason for a 409. */
export function mayHaveBeenApplied(outcome: Outcome, hasCallerKey: boolean): boolean {
  if (outcome.status === undefined) return outcome.reason === 'cut-off' || outcome.reason === 'no-response'
  const { status } = outcome
  if (status === 409) return hasCallerKey
  // A service may redirect after it applied a write, but 307 and 308 ask to send it again.
  const isRefused = status >= 400 && status < 500 && status !== 408
  return !isRefused && status !== 307 && status !== 308
}

/** The step after an attempt. After a refusal, the call waits for its turn again. */
export type Decision =
  | { readonly next: 'return' }
  | { readonly next: 'retry' | 'wait'; readonly delayMs: number }
  /** `note` says why the client does not retry, if a retry might have helped. */
  | { readonly next: 'fail'; readonly note: string | undefined }

/**
 * Decides the step after an attempt. `failures` counts the failures before it. `refusedMs` is the delay after a refusal. It is
 * `undefined` if the patience has run out.
 */
export function decide(
  outcome: Outcome,
  { accepts, settings }: Call,
  isKeyInUse: boolean,
  failures: number,
  refusedMs: number | undefined,
): Decision {
  const { status } = outcome
  const { maxRetries } = settings
  if (status !== undefined && (isSuccess(status) || accepts?.(status))) return { next: 'return' }
  const isRefused = isRefusal(outcome)
  if (isRefused && refusedMs === undefined && maxRetries > 0)
    return { next: 'fail', note: 'Not retried: it was rate limited for more than a minute.' }
  if (isRefused && status !== 503 && refusedMs !== undefined && maxRetries > 0)
    return { next: 'wait', delayMs: refusedMs }
  const delayMs = failures < maxRetries ? retryDelayMs(outcome, failures + 1, isKeyInUse) : undefined
  if (delayMs === undefined) return { next: 'fail', note: undefined }
  return { next: 'retry', delayMs: Math.max(delayMs, refusedMs ?? 0) }
}

/** The delay after an attempt, counted from 1. `undefined` if a retry would not help. */
function retryDelayMs(outcome: Outcome, attempt: number, isKeyInUse: boolean): number | undefined {
  if (outcome.status === undefined) return outcome.reason === 'certificate' ? undefined : backoffMs(attempt)
  const { status, retryAfterMs = 0 } = outcome
  // "Conflict" then usually means that a request with the same key is still being processed.
  const mayPass = status === 409 ? isKeyInUse : [408, 425, 429].includes(status) || isServerError(status)
  return mayPass && retryAfterMs <= patienceMs ? Math.max(backoffMs(attempt), retryAfterMs) : undefined
}
