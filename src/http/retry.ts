import { codeOf } from '../internal/error-code.js'
import { backoffMs } from './backoff.js'
import { patienceMs } from './pace.js'
import type { Call, Outcome } from './types.js'

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** Whether the service failed in a way that may not last. */
export function isServerError(status: number): boolean {
  return status >= 500 && status !== 501 && status !== 505
}

/** Whether the service asks for fewer requests. */
export function isThrottled(status: number): boolean {
  return status === 429 || status === 503
}

/** Whether the service or this machine refused an attempt as one too many, and another may succeed before long. */
export function isRateLimited(outcome: Outcome): boolean {
  // The process has no file descriptors left for sockets.
  if (outcome.status === undefined) return /^E[MN]FILE$/.test(codeOf(outcome.cause) ?? '')
  const { status, retryAfterMs } = outcome
  if (retryAfterMs === undefined) return status === 429
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
  if (status !== undefined && (isSuccess(status) || accepts?.(status))) return { next: 'return' }
  if (settings.maxRetries > 0 && isRateLimited(outcome)) {
    if (refusedMs === undefined)
      return { next: 'fail', note: 'Not retried: it was rate limited for more than a minute.' }
    // A 503 may also be an outage, so it counts as a failure.
    if (status !== 503) return { next: 'wait', delayMs: refusedMs }
  }
  if (failures >= settings.maxRetries || !mayPass(outcome, isKeyInUse))
    return { next: 'fail', note: undefined }
  const retryAfterMs = (status !== undefined && outcome.retryAfterMs) || 0
  return { next: 'retry', delayMs: Math.max(backoffMs(failures + 1), retryAfterMs, refusedMs ?? 0) }
}

function mayPass(outcome: Outcome, isKeyInUse: boolean): boolean {
  if (outcome.status === undefined) return outcome.reason !== 'certificate'
  const { status, retryAfterMs = 0 } = outcome
  if (retryAfterMs > patienceMs) return false
  // If the key may be in use, a 409 usually means that its request is still being processed.
  return status === 409 ? isKeyInUse : [408, 425, 429].includes(status) || isServerError(status)
}
