import type { HttpError } from '../errors.js'
import { oddityOf } from '../internal/api-key.js'
import { toLine } from '../internal/describe.js'
import { isRateLimited } from './retry.js'

export interface FailedResponse extends Pick<HttpError, 'status' | 'headers' | 'body' | 'retryAfterMs'> {
  readonly url: string
  readonly page: number | undefined
  /** The caller passed the idempotency key: another call may have used it. */
  readonly hasCallerKey: boolean
  /** An attempt of a write may have been applied. */
  readonly outcomeUnknown: boolean
  /** The key that was sent, if any. */
  readonly apiKey: string | undefined
}

export function describeHttpError(failed: FailedResponse): { problem: string; hint: string | undefined } {
  const reason = reasonOf(failed.body)
  const shown = reason === undefined ? '' : `: "${reason}"`
  const hint = hintFor(failed)
  const seeBody = reason === undefined && failed.body !== undefined && 'See error.body.'
  return { problem: describeStatus(failed) + shown, hint: [hint, seeBody].filter(Boolean).join(' ') }
}

function describeStatus({ status, headers, url }: FailedResponse): string {
  if (isRateLimited(status)) return `HTTP ${status}, rate limited`
  if (!isRedirect(status)) return `HTTP ${status}`
  const target = redirectTarget(headers, url)
  const shown = target ? ` to ${toLine(target, maxReasonLength)}` : ''
  return `${status === 0 ? '' : `HTTP ${status}, `}a redirect${shown}, which is not followed`
}

/** Where a redirect leads: scheme, host and path. */
export function redirectTarget(headers: Headers, url: string): string | undefined {
  const location = headers.get('location')
  if (!location || !URL.canParse(location, url)) return undefined
  const { protocol, host, pathname } = new URL(location, url)
  return `${protocol}${host && '//'}${host}${pathname}`
}

function hintFor(failed: FailedResponse): string | undefined {
  const { status, body, retryAfterMs, page, hasCallerKey, outcomeUnknown } = failed
  if (isRedirect(status)) {
    const where = status === 0 ? "; the browser's network tab shows where it leads" : ''
    return `Check baseUrl and the path: use an address that does not redirect${where}.`
  }
  // Some services limit rates with a 403.
  if ((status === 401 || status === 403) && !retryAfterMs) return keyHint(failed)
  if (isRateLimited(status)) {
    const recurs = page === undefined ? '' : ' If this recurs, lower `concurrency`.'
    return `Retry ${afterDelay(retryAfterMs)}.${recurs}`
  }
  if (status === 404) {
    const ids = page === undefined ? ' and the ids in it' : ''
    const beyond = page !== undefined && page > 1 ? ' The page may also be beyond the end of the list.' : ''
    return `Check the path${ids}, and that of baseUrl (none, or one such as /v1).${beyond}`
  }
  if (status === 501 || status === 505) return 'The service does not support this request.'
  if (status >= 500) return `The service failed: retry ${afterDelay(retryAfterMs)}.`
  if (retryAfterMs) return `Retry ${afterDelay(retryAfterMs)}.`
  if (body !== undefined) return undefined
  if (status === 409 && (hasCallerKey || outcomeUnknown))
    return 'A request with this idempotencyKey may still be in progress: retry with the same key.'
  if (status === 422 && hasCallerKey && !outcomeUnknown)
    return 'The idempotencyKey may have been used for another request.'
  return undefined
}

function keyHint({ status, apiKey }: FailedResponse): string {
  if (apiKey === undefined) return 'No key was sent (apiKey is null): pass one, unless a proxy adds it.'
  const oddity = oddityOf(apiKey)
  if (oddity) return `Check apiKey: ${oddity}, which is hardly part of the key.`
  const may =
    status === 401 ? '' : ', and is allowed to do this. Some gateways also respond so to a wrong path'
  return `Check that apiKey belongs to this baseUrl${may}.`
}

/** `after 120 s`, or `later` where nothing says how long. */
export function afterDelay(ms: number | undefined): string {
  return ms ? `after ${Math.ceil(ms / 1000)} s` : 'later'
}

/** Whether a response says where to go; 0 is how a browser shows that. 300, 304 and 305 lead nowhere. */
export function isRedirect(status: number): boolean {
  return [0, 301, 302, 303, 307, 308].includes(status)
}

/** At most so much of what others wrote is in a message. */
export const maxReasonLength = 200

/** The service's own reason, as one line: where services customarily put it. */
export function reasonOf(body: unknown): string | undefined {
  const { message, error, detail, title, errors } = Object(body)
  const [first] = Array.isArray(errors) ? errors : []
  const { message: ofFirst, detail: detailOfFirst } = Object(first)
  const [firstMessage] = Array.isArray(message) ? message : [message]
  const candidates: unknown[] = [
    firstMessage,
    Object(error).message,
    error,
    detail,
    title,
    first,
    ofFirst,
    detailOfFirst,
  ]
  const reason = candidates.find((text): text is string => typeof text === 'string' && text.trim() !== '')
  return reason && toLine(reason, maxReasonLength)
}
