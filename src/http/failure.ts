import type { ErrorFacts, HttpError, Issue } from '../errors.js'
import { formatPath, toLine } from '../internal/describe.js'
import { codeOf } from '../internal/error-code.js'
import { property } from '../internal/object.js'
import type { Redactor } from '../internal/redact.js'
import type { InvalidBodyFacts } from './body.js'
import { isRateLimit, isServerError } from './retry.js'
import type { Call, NoResponse } from './types.js'

/** A mistake in the caller's fetch, such as a mock that returns one Response twice. */
export class NotAFreshResponse extends TypeError {}

/** What happened, and what to do. */
export type Description = Pick<ErrorFacts, 'problem' | 'hint'>

export type FailedResponse = Pick<HttpError, 'status' | 'headers' | 'body' | 'retryAfterMs'>

export function describeHttpError(
  failed: FailedResponse,
  call: Call,
  url: string,
  redactor: Redactor,
  hasKey: boolean,
): Description {
  const reason = reasonOf(failed.body)
  const problem = describeStatus(failed, url, redactor) + (reason === undefined ? '' : `: "${reason}"`)
  return { problem, hint: hintFor(failed, call, reason !== undefined, hasKey) }
}

/** Some services answer 403 to too many requests: only they say when to retry. */
function isLimited({ status, retryAfterMs }: FailedResponse): boolean {
  return isRateLimit(status) || (status === 403 && !!retryAfterMs)
}

function describeStatus(failed: FailedResponse, url: string, redactor: Redactor): string {
  const { status, headers } = failed
  if (isLimited(failed)) return `HTTP ${status}, rate limited`
  const location = headers.get('location')
  if (status >= 400 || (status > 0 && location === null)) return `HTTP ${status}`
  let target = ''
  if (location && URL.canParse(location, url)) {
    // Without its query, which may be secret. Parsing may show a key that was spelled otherwise, and one that is cut is not found.
    const { protocol, host, pathname } = new URL(location, url)
    target = ` to ${toLine(redactor.text(`${protocol}//${host}${pathname}`), 200)}`
  }
  return `${status === 0 ? '' : `HTTP ${status}, `}a redirect${target}, which is not followed`
}

function hintFor(
  failed: FailedResponse,
  { page, idempotencyKey }: Call,
  hasReason: boolean,
  hasKey: boolean,
) {
  const { status, retryAfterMs } = failed
  const delay = retryAfterMs ? `after ${Math.ceil(retryAfterMs / 1000)} s` : 'later'
  if (status < 400) return status === 304 ? undefined : 'Use a baseUrl and a path that do not redirect.'
  if (isLimited(failed)) return `Retry ${delay}.`
  if (status === 401 || status === 403)
    return hasKey
      ? 'Check apiKey. The client sends it unchanged and adds no `Bearer`.'
      : 'No key was sent, as apiKey is null. Is the user signed in to your own server?'
  if (status === 404) {
    const beyondEnd = page && page > 1 ? ' The page may also be beyond the end of the list.' : ''
    return `Check the ids, the path and baseUrl.${beyondEnd}`
  }
  if (status === 409 && idempotencyKey !== undefined && !hasReason)
    return 'A request with this idempotencyKey may still be in progress: retry with the same key.'
  return isServerError(status) ? `Retry ${delay}.` : undefined
}

/** The service's own reason, as one line: where services customarily put it. The body must be redacted, as the reason is cut. */
export function reasonOf(body: unknown): string | undefined {
  const [error, message, errors] = ['error', 'message', 'errors'].map(name => property(body, name))
  const first = property(Array.isArray(message) ? message : errors, '0')
  const candidates = [
    message,
    property(error, 'message'),
    error,
    property(body, 'detail'),
    property(body, 'title'),
    property(error, 'detail'),
    property(body, 'error_description'),
    property(first, 'message'),
    property(first, 'detail'),
    property(first, 'title'),
    first,
    // A line of text, but no page of a proxy.
    typeof body === 'string' && !/^<|[\r\n]/.test(body.trim()) && body,
  ]
  const reason = candidates.find(text => typeof text === 'string' && text.trim() !== '')
  return reason === undefined ? undefined : toLine(reason as string, 200)
}

/** The reason of an abort says more than its default does. */
export function describeAbort(reason: unknown, attempts: number, redactor: Redactor): string {
  const message = typeof reason === 'string' ? reason : property(reason, 'message')
  const isDefault = /^(?:Abort|Timeout)Error$/.test(String(property(reason, 'name')))
  const quoted = typeof message === 'string' && message !== '' && !isDefault
  const why = quoted ? `, "${toLine(redactor.text(message), 200)}"` : ''
  return `aborted by its signal${why}${attempts === 0 ? ', before anything was sent' : ''}`
}

// Codes of zlib, Brotli and zstd in Node, and of Bun.
const notDecoded = /^(?:Z_DATA_ERROR|Z_NEED_DICT|ERR__ERROR_FORMAT_\w+|ZSTD_error_\w+|ZlibError)$/
const notTls = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/

const checkNetwork = 'Check baseUrl and the network.'

export function describeNoResponse(
  { reason, isTimeout, cause }: NoResponse,
  /** A copy of the cause without API keys, as its message is cut. */
  shown: Error | undefined,
  url: string,
  timeoutMs: number,
): Description {
  if (reason === 'total-timeout') {
    const last = cause === undefined ? '' : ' The last failure is in error.cause.'
    const hint = `Raise \`totalTimeout\` (milliseconds) if it may take longer.${last}`
    return { problem: `not finished within the totalTimeout of ${timeoutMs} ms`, hint }
  }
  if (reason === 'hanging')
    return { problem: 'not sent, as no request in flight got a response', hint: 'Retry later.' }
  if (isTimeout) {
    const [what, who] =
      reason === 'not-sent'
        ? ['the request was not sent', 'the apiKey function needs longer, or something blocks the event loop']
        : ['no complete response', 'the service needs longer']
    return {
      problem: `${what} within the timeout of ${timeoutMs} ms`,
      hint: `Raise \`timeout\` (milliseconds) if ${who}.`,
    }
  }
  if (cause instanceof NotAFreshResponse) {
    const hint = 'It must resolve with a new Response for each request, with an unread body.'
    return { problem: cause.message, hint }
  }
  const code = codeOf(cause) ?? ''
  const { hostname, port, protocol } = new URL(url)
  const host = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
  const describe = (problem: string, hint: string) => ({ problem: problem + (code && ` (${code})`), hint })
  if (reason === 'not-connected') {
    const isFake = hostname === 'virtual-accounts.test'
    if (/^E[MN]FILE$/.test(code))
      return describe(
        'too many open files to connect',
        'Lower `maxInFlight`, or raise the limit of this process.',
      )
    const hint = isFake ? 'This is a FakeService: pass its `fetch` to the client.' : checkNetwork
    // A proxy has refused to connect.
    const through = code === 'UND_ERR_ABORTED' ? ' through the proxy' : ''
    return describe(`could not connect to ${host}${through}`, hint)
  }
  if (reason === 'certificate')
    return describe(
      `the TLS certificate of ${host} was rejected`,
      'Check that it is valid for this host, and that this runtime trusts its authority.',
    )
  if (reason === 'cut-off') {
    const isDecoded = notDecoded.test(code)
    const hint = isDecoded
      ? 'A proxy may have sent `Content-Encoding` with a decoded body.'
      : 'Check the network.'
    return describe('the response could not be read to its end', hint)
  }
  // It may have been lost, or be no HTTP. Without a code, only its message can help: that of a mock, or of a fetch of the caller's.
  const message = code === '' && innermostMessage(shown)
  const quoted = message ? `: "${toLine(message, 200)}"` : ''
  const seeCause = code === '' ? ' See error.cause, or the console in a browser.' : ''
  const hint = notTls.test(code) ? 'Check baseUrl: is this an http port?' : checkNetwork + seeCause
  return describe(`no readable response from ${host}${quoted}`, hint)
}

/** Node's own fetch says "fetch failed", and only its cause says why. */
function innermostMessage(error: unknown): string {
  const cause = property(error, 'cause')
  return (cause ? innermostMessage(cause) : '') || String(property(error, 'message') ?? '')
}

/** The messages of a caller's schema may quote values: they are only in `issues`. */
export function describeIssues(
  issues: readonly Issue[],
  { isCustomSchema, isMismatch }: InvalidBodyFacts,
  body: unknown,
): string {
  if (isCustomSchema) {
    const more = issues.length === 1 ? '' : ` (and ${issues.length - 1} more)`
    return `the response does not match the schema at ${toLine(formatPath(issues[0]?.path ?? []), 300)}${more}`
  }
  const found = issues.map(({ path, message }) =>
    path.length === 0 ? message : `${formatPath(path)}: ${message}`,
  )
  // An error of the service may come with a 200.
  const reason = isMismatch ? undefined : reasonOf(Object(body) === body ? body : undefined)
  const quoted = reason === undefined ? '' : ` (it says "${reason}")`
  return `the response is not valid: ${toLine(found.join('; '), 2_000)}${quoted}`
}
