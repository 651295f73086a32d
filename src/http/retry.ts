import type { NetworkErrorReason } from './network-error.js'

/** A failed attempt, as far as the retry policy depends on it. */
export interface FailedAttempt {
  /** The status of the response; `undefined` when there was none. */
  readonly status?: number
  /** Why there was no response; `undefined` when there was one, or none in time. */
  readonly networkError?: NetworkErrorReason
  /** The delay that the service asked for. */
  readonly retryAfterMs?: number | undefined
}

/** What the retry policy knows about the call. */
export interface CallHistory {
  /** An earlier attempt may have been applied. */
  readonly mayHaveBeenApplied: boolean
  /** The caller passed the idempotency key, so another call may use the same one. */
  readonly hasCallerKey: boolean
}

/** Whether another attempt may succeed. */
export function isRetryable({ status, networkError }: FailedAttempt, call: CallHistory): boolean {
  if (status === undefined) {
    return (
      networkError === undefined || networkError === 'not-connected' || networkError === 'connection-lost'
    )
  }
  if (status === 409) return isKeyInUse(status, call)
  return status === 408 || status === 425 || isThrottled(status) || isServerError(status)
}

/** Whether "conflict" means that a request with the same key is still being processed. */
export function isKeyInUse(
  status: number | undefined,
  { mayHaveBeenApplied, hasCallerKey }: CallHistory,
): boolean {
  return status === 409 && (mayHaveBeenApplied || hasCallerKey)
}

/** Whether a write may have been applied although its attempt failed. */
export function mayHaveBeenApplied({ status, networkError }: FailedAttempt): boolean {
  if (status === undefined) {
    return (
      networkError === undefined || networkError === 'connection-lost' || networkError === 'invalid-fetch'
    )
  }
  // A service may redirect after it applied a write; 307 and 308 ask to send it again. A status below 200 is no final
  // response; 0 is a redirect in a browser.
  return !(status >= 200) || status >= 500 || status === 408 || [301, 302, 303].includes(status)
}

/** Whether the service asks for fewer requests. */
export function isThrottled(status: number): boolean {
  return status === 429 || status === 503
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

const fullBudget = 500

/** Tokens that retries cost, so that an outage is not amplified. Shared by a client and those derived from it. */
export class RetryBudget {
  #tokens = fullBudget

  /** Takes what a retry after this status costs; `undefined` if fewer tokens are left. */
  take(status: number | undefined): number | undefined {
    const cost = status === 429 ? 5 : 14
    if (cost > this.#tokens) return undefined
    this.#tokens -= cost
    return cost
  }

  /** Gives back what a retry has cost, or a token for a call that succeeded without one. */
  refund(tokens = 1): void {
    this.#tokens = Math.min(fullBudget, this.#tokens + tokens)
  }
}
