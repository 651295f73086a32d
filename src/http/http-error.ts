import type { HttpError } from '../errors.js'
import { oddityOf } from '../internal/api-key.js'
import { escapeNonAscii } from '../internal/describe.js'
import { isRateLimited } from './retry.js'

/** What the text of an `HttpError` depends on. */
export interface FailedResponse extends Pick<HttpError, 'status' | 'headers' | 'body' | 'retryAfterMs'> {
  readonly url: string
  /** For a list: the page. */
  readonly page: number | undefined
  /** The caller passed the idempotency key: another call may have used it. */
  readonly hasCallerKey: boolean
  /** An earlier attempt of a write may have been applied. */
  readonly mayHaveBeenApplied: boolean
  /** The key that was sent, if any. */
  readonly apiKey: string | undefined
}

/** What happened, and what to do about it. */
export function describeHttpError(failed: FailedResponse): { problem: string; hint: string | undefined } {
  const reason = reasonOf(failed.body)
  const shown = reason === undefined ? '' : `: "${reason}"`
  const hint = hintFor(failed, reason !== undefined)
  const seeBody = reason === undefined && failed.body !== undefined && 'See error.body.'
  return { problem: describeStatus(failed) + shown, hint: [hint, seeBody].filter(Boolean).join(' ') }
}

function describeStatus({ status, headers, url }: FailedResponse): string {
  if (isRateLimited(status)) return `HTTP ${status}, rate limited`
  if (!isRedirect(status)) return `HTTP ${status}`
  const location = headers.get('location')
  const where = location && URL.canParse(location, url) ? new URL(location, url) : undefined
  const target = where ? ` to ${escapeNonAscii(where.origin + where.pathname).slice(0, maxReasonLength)}` : ''
  return `${status === 0 ? '' : `HTTP ${status}, `}a redirect${target}, which is not followed`
}

function hintFor(failed: FailedResponse, hasReason: boolean): string | undefined {
  const { status, retryAfterMs, page, hasCallerKey, mayHaveBeenApplied } = failed
  if (status === 0)
    return "Set baseUrl to an address that does not redirect: the browser's network tab shows where it leads."
  if (isRedirect(status)) return 'Check baseUrl and the path: use an address that does not redirect.'
  if (status === 401 || status === 403) return keyHint(failed)
  if (isRateLimited(status)) {
    const recurs = page === undefined ? '' : ' If this recurs, lower `concurrency`.'
    return `${retryLater(retryAfterMs)}.${recurs}`
  }
  if (status === 404) {
    if (page === undefined) return 'Check the path and the ids in it, and the path of baseUrl.'
    const beyond = page > 1 ? ' The page may also be beyond the end of the list.' : ''
    return `Check the path, and the path of baseUrl.${beyond}`
  }
  if (status === 501 || status === 505) return 'The service does not support this request.'
  if (status >= 500) return `The service failed: ${retryLater(retryAfterMs).toLowerCase()}.`
  if (retryAfterMs) return `${retryLater(retryAfterMs)}.`
  if (hasReason) return undefined
  if (status === 409 && (hasCallerKey || mayHaveBeenApplied))
    return 'A request with this idempotencyKey may still be in progress: retry with the same key.'
  if (status === 422 && hasCallerKey && !mayHaveBeenApplied)
    return 'The idempotencyKey may have been used for another request.'
  return undefined
}

function keyHint({ status, apiKey }: FailedResponse): string {
  if (apiKey === undefined) return 'No key was sent (apiKey is null): check the proxy that should add it.'
  const oddity = oddityOf(apiKey)
  if (oddity) return `Check apiKey: ${oddity}, which is hardly part of the key.`
  return `Check that apiKey belongs to this baseUrl${status === 401 ? '' : ', and is allowed to do this'}.`
}

function retryLater(retryAfterMs: number | undefined): string {
  return retryAfterMs ? `Retry after ${Math.ceil(retryAfterMs / 1000)} s` : 'Retry later'
}

/** Whether a response says where to go; 0 is how a browser shows that. 300, 304 and 305 lead nowhere. */
export function isRedirect(status: number): boolean {
  return [0, 301, 302, 303, 307, 308].includes(status)
}

const maxReasonLength = 200

/** The service's own reason, as one line: where services customarily put it. */
function reasonOf(body: unknown): string | undefined {
  const { message, error, detail, title, errors } = Object(body) as Record<string, unknown>
  const first = firstOf(errors)
  const candidates = [
    message,
    firstOf(message),
    messageOf(error),
    error,
    detail,
    title,
    first,
    messageOf(first),
    (Object(first) as { detail?: unknown }).detail,
  ]
  const reason = candidates.find(text => typeof text === 'string' && text.trim() !== '')
  if (reason === undefined) return undefined
  return toLine(reason as string)
}

/** A text of others as a part of a message. */
export function toLine(text: string): string {
  const line = escapeControl(text.trim())
  return line.length > maxReasonLength ? `${line.slice(0, maxReasonLength)}...` : line
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined
}

function messageOf(value: unknown): unknown {
  return (Object(value) as { message?: unknown }).message
}

/** Control and bidirectional characters could rewrite the line of a log; other languages stay readable. */
function escapeControl(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
