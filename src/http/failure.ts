import type { ErrorFacts, HttpError, Issue } from '../errors.js'
import { formatPath, toLine } from '../internal/describe.js'
import { codeOf } from '../internal/error-code.js'
import { property } from '../internal/object.js'
import type { Redactor } from '../internal/redact.js'
import type { InvalidBody } from './body.js'
import { isRateLimit, isServerError } from './retry.js'
import type { Call, NoResponse } from './types.js'

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

/** Some services respond to too many requests with a 403. Only those send `Retry-After` with it. */
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
    // Without its query, which may be secret. Redacted after parsing, which may decode a key, and before a cut through a key.
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
      : 'No key was sent, because apiKey is null. Is the user signed in to your own server?'
  if (status === 404) {
    const beyondEnd = page && page > 1 ? ' The page may also be beyond the end of the list.' : ''
    return `Check the ids, the path and baseUrl.${beyondEnd}`
  }
  if (status === 409 && idempotencyKey !== undefined && !hasReason)
    return 'A request with this idempotencyKey may still be in progress: retry with the same key.'
  return isServerError(status) ? `Retry ${delay}.` : undefined
}

/** The usual places of a service's own reason in the body of an error. */
const reasonPaths =
  'message error.message error detail title error.detail error_description errors.0.message errors.0.detail errors.0.title errors errors.0 message.0.message message.0'

/** The service's own reason, as one line. Redact the body first, because the cut may go through a key. */
export function reasonOf(body: unknown): string | undefined {
  const candidates = reasonPaths.split(' ').map(path => path.split('.').reduce<unknown>(property, body))
  // A line of text, but not a proxy's HTML page.
  if (typeof body === 'string' && !/^<|[\r\n]/.test(body.trim())) candidates.push(body)
  const reason = candidates.find(text => typeof text === 'string' && text.trim() !== '')
  return reason === undefined ? undefined : toLine(reason as string, 200)
}

/** Describes an abort. Quotes the message of its reason, unless it is the platform's default. */
export function describeAbort(reason: unknown, attempts: number, redactor: Redactor): string {
  const message = typeof reason === 'string' ? reason : property(reason, 'message')
  const isDefault = /^(?:Abort|Timeout)Error$/.test(String(property(reason, 'name')))
  const quoted = typeof message === 'string' && message !== '' && !isDefault
  const why = quoted ? `, "${toLine(redactor.text(message), 200)}"` : ''
  return `aborted by its signal${why}${attempts === 0 ? ', before anything was sent' : ''}`
}

const notTls = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/
const checkNetwork = 'Check baseUrl and the network.'

/** `shown` is a redacted copy of the cause, because the cut of its message may go through a key. */
export function describeNoResponse(
  { reason, isTimeout, cause }: NoResponse,
  shown: Error | undefined,
  url: string,
  timeoutMs: number,
): Description {
  const code = (!isTimeout && codeOf(cause)) || ''
  const { hostname, port, protocol } = new URL(url)
  const host = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
  const isFake = hostname === 'virtual-accounts.test'
  const within = `within the timeout of ${timeoutMs} ms`
  // Without a code, only the message can help. It may come from a mock or from the caller's fetch.
  const message = code === '' && innermostMessage(shown)
  const quoted = message ? `: "${toLine(message, 200)}"` : ''
  const seeCause = code === '' ? ' See error.cause. In a browser, see the console.' : ''
  const last = cause === undefined ? '' : ' The last failure is in error.cause.'
  const unreadable = [
    `no readable response from ${host}${quoted}`,
    notTls.test(code) ? 'Check baseUrl: is this an http port?' : checkNetwork + seeCause,
  ] as const
  const [problem, hint] = {
    'not-sent': [
      `the request was not sent ${within}`,
      'Raise `timeout` (milliseconds) if the apiKey function needs longer, or something blocks the event loop.',
    ] as const,
    'not-connected': /^E[MN]FILE$/.test(code)
      ? ['too many open files to connect', 'Lower `maxInFlight`, or raise the limit of this process.']
      : [
          `could not connect to ${host}${code === 'UND_ERR_ABORTED' ? ' through the proxy' : ''}`,
          isFake ? 'This is a FakeService: pass its `fetch` to the client.' : checkNetwork,
        ],
    certificate: [
      `the TLS certificate of ${host} was rejected`,
      'Check that it is valid for this host, and that this runtime trusts its authority.',
    ],
    'cut-off': ['the response could not be read to its end', 'Check the network and proxies.'],
    'no-response': isTimeout
      ? [`no complete response ${within}`, 'Raise `timeout` (milliseconds) if the service needs longer.']
      : unreadable,
    hanging: ['not sent, because no request in flight got a response', 'Retry later.'],
    'total-timeout': [
      `not finished within the totalTimeout of ${timeoutMs} ms`,
      `Raise \`totalTimeout\` (milliseconds) if it may take longer.${last}`,
    ],
  }[reason]
  return { problem: problem + (code && ` (${code})`), hint }
}

/** Node's fetch says "fetch failed". Only its cause says why. */
function innermostMessage(error: unknown): string {
  const cause = property(error, 'cause')
  return (cause ? innermostMessage(cause) : '') || String(property(error, 'message') ?? '')
}

/** Messages of a caller's schema may quote values, so they appear only in `issues`. */
export function describeIssues(issues: readonly Issue[], { validator }: InvalidBody, body: unknown): string {
  if (validator?.isCustom) {
    const more = issues.length === 1 ? '' : ` (and ${issues.length - 1} more)`
    return `the response does not match the schema at ${toLine(formatPath(issues[0]?.path ?? []), 300)}${more}`
  }
  const found = issues.map(({ path, message }) =>
    path.length === 0 ? message : `${formatPath(path)}: ${message}`,
  )
  // Some services send an error with status 200.
  const reason = validator ? undefined : reasonOf(Object(body) === body ? body : undefined)
  const quoted = reason === undefined ? '' : ` (it says "${reason}")`
  return `the response is not valid: ${toLine(found.join('; '), 2_000)}${quoted}`
}
