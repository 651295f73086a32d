import type { HttpError } from '../errors.js'
import { toLine } from '../internal/describe.js'
import { codeOf } from '../internal/error-code.js'
import type { NoResponse } from './attempt.js'
import { isServerError } from './retry.js'

/** What happened, and what to do. */
export interface Description {
  readonly problem: string
  readonly hint: string | undefined
}

export interface FailedResponse extends Pick<HttpError, 'status' | 'headers' | 'body' | 'retryAfterMs'> {
  readonly url: string
  /** Of a list. */
  readonly page: number | undefined
  readonly hasIdempotencyKey: boolean
}

export function describeHttpError(failed: FailedResponse): Description {
  const reason = reasonOf(failed.body)
  const problem = describeStatus(failed) + (reason === undefined ? '' : `: "${reason}"`)
  return { problem, hint: hintFor(failed, reason !== undefined) }
}

function describeStatus({ status, headers, url }: FailedResponse): string {
  if (status === 429) return 'HTTP 429, rate limited'
  const location = headers.get('location')
  const isRedirect = status === 0 || (status < 400 && location !== null)
  if (!isRedirect) return `HTTP ${status}`
  const target =
    location && URL.canParse(location, url) ? ` to ${toLine(withoutQuery(location, url), 200)}` : ''
  return `${status === 0 ? '' : `HTTP ${status}, `}a redirect${target}, which is not followed`
}

function withoutQuery(location: string, url: string): string {
  const { protocol, host, pathname } = new URL(location, url)
  return `${protocol}//${host}${pathname}`
}

function hintFor({ status, retryAfterMs, page, hasIdempotencyKey }: FailedResponse, hasReason: boolean) {
  const delay = retryAfterMs ? `after ${Math.ceil(retryAfterMs / 1000)} s` : 'later'
  if (status < 400) return 'Check baseUrl and the path: use an address that does not redirect.'
  if (status === 401 || status === 403)
    return 'Check apiKey: it is sent as it is, without quotes or `Bearer`.'
  if (status === 404) {
    const beyondEnd = page && page > 1 ? ' The page may also be beyond the end of the list.' : ''
    return `Check the ids, the path and baseUrl.${beyondEnd}`
  }
  if (status === 409 && hasIdempotencyKey && !hasReason)
    return 'A request with this idempotencyKey may still be in progress: retry with the same key.'
  if (status === 429) return `Retry ${delay}, or lower \`concurrency\`.`
  return isServerError(status) ? `Retry ${delay}.` : undefined
}

/** The service's own reason, as one line: where services customarily put it. */
function reasonOf(body: unknown): string | undefined {
  const { message, error, detail, title } = Object(body) as Record<string, unknown>
  const candidates = [message, (Object(error) as { message?: unknown }).message, error, detail, title]
  const reason = candidates.find((text): text is string => typeof text === 'string' && text.trim() !== '')
  return reason && toLine(reason, 200)
}

const checkNetwork = 'Check baseUrl and the network.'

export function describeNoResponse({ reason, cause }: NoResponse, url: string): Description {
  const code = codeOf(cause)
  const shown = code === undefined ? '' : ` (${code})`
  const host = hostOf(url)
  if (reason === 'not-connected')
    return { problem: `could not connect to ${host}${shown}`, hint: checkNetwork }
  if (reason === 'certificate') {
    const hint = 'Check that it is valid for this host, and that this runtime trusts its authority.'
    return { problem: `the TLS certificate of ${host} was rejected${shown}`, hint }
  }
  if (reason === 'cut-off')
    return { problem: `the response could not be read to its end${shown}`, hint: 'Check the network.' }
  // It may have been lost, or be no HTTP. A browser gives no reason.
  const seeCause = code === undefined ? ' In a browser, see its console; elsewhere, see error.cause.' : ''
  return { problem: `no readable response from ${host}${shown}`, hint: `${checkNetwork}${seeCause}` }
}

/** The host and port of a URL; the port is always given. */
function hostOf(url: string): string {
  const { hostname, port, protocol } = new URL(url)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}
