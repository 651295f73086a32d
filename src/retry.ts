/** What a failed attempt showed, as far as trying again depends on it. */
export interface Outcome {
  /** The status of the answer; `undefined` when there was none. */
  readonly status: number | undefined
  /** What the answer's Retry-After says. */
  readonly retryAfterMs: number | undefined
  /** Nobody answered because the service's certificate was refused: the next attempt would meet the same one. */
  readonly certificateRefused: boolean
  /** The request may have reached the service, and what became of it is not known. */
  readonly ambiguous: boolean
}

/** Whether what happened is worth another attempt. */
export function isTransient(outcome: Outcome, ambiguousBefore: boolean): boolean {
  const { status } = outcome
  if (status === undefined) return !outcome.certificateRefused
  // After an attempt whose outcome is unknown, "conflict" means that it is still being processed.
  if (status === 409) return ambiguousBefore
  return status === 408 || status === 425 || isSlowDown(status) || isServerFault(status)
}

/** Whether an answer leaves open if the request was applied. */
export function isAmbiguousStatus(status: number): boolean {
  return status >= 500 || status === 408
}

/** Whether the service asks for fewer requests. */
export function isSlowDown(status: number): boolean {
  return status === 429 || status === 503
}

function isServerFault(status: number): boolean {
  return status >= 500 && status !== 501 && status !== 505
}

const firstBackoffMs = 500
const longestBackoffMs = 8_000
/** A service that asks for more than this is better told to the caller. */
export const longestRetryAfterMs = 60_000

/** How long to wait after the given attempt, counted from 1: doubling, capped, then jittered. */
export function backoffMs(attempt: number): number {
  const capped = Math.min(longestBackoffMs, firstBackoffMs * 2 ** (attempt - 1))
  return capped * (0.5 + Math.random() / 2)
}

/** Retry-After in milliseconds; `undefined` when it is absent or neither seconds nor an HTTP date. */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after') ?? ''
  if (/^\d+(\.\d+)?$/.test(value)) return Math.min(Math.ceil(Number(value) * 1000), Number.MAX_SAFE_INTEGER)
  const until = readDate(value)
  if (until === undefined) return undefined
  // Against the service's own clock, so that a wrong one here does no harm.
  const now = readDate(headers.get('date') ?? '') ?? Date.now()
  return Math.max(0, until - now)
}

// The three forms of RFC 9110; Date.parse alone would take "1" or "soon 5" for dates.
const httpDate = /^[A-Z][a-z]{2,8}, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/
const asctimeDate = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/

function readDate(value: string): number | undefined {
  if (httpDate.test(value)) return validTime(Date.parse(value))
  // The one without a zone, which is GMT all the same.
  if (asctimeDate.test(value)) return validTime(Date.parse(`${value} GMT`))
  return undefined
}

function validTime(time: number): number | undefined {
  return Number.isNaN(time) ? undefined : time
}

const fullBudget = 500

/** Tokens that retries cost, so that an outage is not multiplied. One for each client and what is derived from it. */
export class RetryBudget {
  #tokens = fullBudget

  /** Takes what a retry after this status costs; `undefined` when that is more than is left. */
  take(status: number | undefined): number | undefined {
    const cost = status === 429 ? 5 : 14
    if (cost > this.#tokens) return undefined
    this.#tokens -= cost
    return cost
  }

  /** A call succeeded: what its last retry cost comes back; one that needed none earns a token. */
  reward(cost = 1): void {
    this.#tokens = Math.min(fullBudget, this.#tokens + cost)
  }
}
