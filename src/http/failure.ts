import type { ErrorFacts, HttpError, Issue } from '../errors.js'
import { formatPath, toLine } from '../internal/describe.js'
import { codeOf } from '../internal/error-code.js'
import { property } from '../internal/object.js'
import { resolveBaseUrl } from '../internal/url.js'
import type { InvalidBody } from './body.js'
import { isServerError } from './retry.js'
import type { Call, NoResponse, Transport } from './types.js'

type Description = Pick<ErrorFacts, 'problem' | 'hint'>

/** Takes a redacted response. Redacts all other text before shortening it, which may split a key. */
export function describeHttpError(
  { status, headers, body, retryAfterMs }: Pick<HttpError, 'status' | 'headers' | 'body' | 'retryAfterMs'>,
  { page = 1, idempotencyKey }: Call,
  { apiKey, baseUrl, redactor }: Transport,
  url: string,
): Description {
  const reason = reasonOf(body)
  // Some services respond to too many requests with a 403. Only those send `Retry-After` with it.
  const isLimited = status === 429 || (status === 403 && !!retryAfterMs)
  const isRedirect = status < 400 && status !== 304
  const location = (isRedirect && headers.get('location')) || ''
  const toShown = (target: string) => toLine(redactor.text(target), 200)
  let problem = `HTTP ${status}`
  let hint: string | undefined
  if (isLimited) problem += ', rate limited'
  if (isLimited || isServerError(status))
    hint = `Retry ${retryAfterMs ? `after ${Math.ceil(retryAfterMs / 1000)} s` : 'later'}.`
  else if (isRedirect) {
    const { protocol, host, pathname } = new URL(URL.canParse(location, url) ? location : url, url)
    // Without the query, which may be secret.
    const target = location && ` to ${toShown(`${protocol}//${host}${pathname}`)}`
    problem += `, a redirect${target}, which is not followed`
    hint = 'Use a baseUrl and a path that do not redirect.'
  } else if (status === 401 || status === 403)
    hint =
      apiKey === null
        ? 'No key was sent, because apiKey is null. Is the user signed in to your own server?'
        : 'Check apiKey. The client sends it unchanged and adds no `Bearer`.'
  else if (status === 404) {
    hint = `Check the ids, the path and baseUrl (${toShown(resolveBaseUrl(baseUrl))}).`
    if (page > 1) hint += ' The page may also be beyond the end of the list.'
  } else if (status === 409 && idempotencyKey !== undefined && reason === undefined)
    hint = 'A request with this idempotencyKey may still be in progress: retry with the same key.'
  return { problem: problem + (reason === undefined ? '' : `: "${reason}"`), hint }
}

/** The usual places of a service's own reason in the body of an error. */
const reasonPaths =
  'message error.message error detail title error.detail error_description errors.0.message errors.0.detail errors.0.title errors errors.0 message.0.message message.0'

/** The service's own reason, as one line. Redact the body first, because shortening may split a key. */
export function reasonOf(body: unknown): string | undefined {
  const candidates = reasonPaths.split(' ').map(path => path.split('.').reduce<unknown>(property, body))
  // A line of text, but not a proxy's HTML page.
  if (typeof body === 'string' && !/^<|[\r\n]/.test(body.trim())) candidates.push(body)
  const reason = candidates.find(text => typeof text === 'string' && text.trim() !== '')
  return reason === undefined ? undefined : toLine((reason as string).trim(), 200)
}

const checkNetwork = 'Check baseUrl and the network.'

/** `shown` is a redacted copy of the cause, because shortening its message may split a key. */
export function describeNoResponse(
  { reason, isTimeout, cause }: NoResponse,
  shown: Error | undefined,
  url: string,
  timeoutMs: number,
  attempts: number,
): Description {
  const code = (!isTimeout && codeOf(cause)) || ''
  const { hostname, port, protocol } = new URL(url)
  const host = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
  const isFake = hostname === 'virtual-accounts.test'
  const within = `within the timeout of ${timeoutMs} ms`
  const raise = 'Raise `timeout` (milliseconds) if'
  // Without a code, only the message can help. It may come from a mock or from the caller's fetch.
  const message = code === '' && innermostMessage(shown)
  const moreIn = property(shown, 'cause') ? 'See error.cause.' : 'In a browser, see the console.'
  const [problem, hint] = {
    'not-sent': [
      `the ${attempts > 1 ? 'last retry' : 'request'} was not sent ${within}`,
      `${raise} the apiKey function needs longer. Otherwise, does something block the event loop?`,
    ],
    'not-connected': /^E[MN]FILE$/.test(code)
      ? ['too many open files to connect', 'Lower `maxInFlight`, or raise the limit of this process.']
      : [
          `could not connect to ${host}`,
          isFake ? 'This is a FakeService: pass its `fetch` to the client.' : checkNetwork,
        ],
    certificate: [
      `the TLS certificate of ${host} was rejected`,
      'Check that it is valid for this host, and that this runtime trusts its authority.',
    ],
    'cut-off': ['the response was incomplete or damaged', checkNetwork],
    'no-response': isTimeout
      ? [`no complete response ${within}`, `${raise} the service needs longer.`]
      : [
          `no readable response from ${host}${message ? `: "${toLine(message, 200)}"` : ''}`,
          /^ERR_SSL_/.test(code)
            ? 'Check baseUrl: is this an http port?'
            : `${checkNetwork}${code ? '' : ` ${moreIn}`}`,
        ],
    hanging: ['not sent, because no request in flight got a response', 'Retry later.'],
    'total-timeout': [
      `not finished within the totalTimeout of ${timeoutMs} ms`,
      'Raise `totalTimeout` (milliseconds) if it may take longer.',
    ],
  }[reason] as [string, string]
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
    const path = issues[0]?.path ?? []
    const place = path.length === 0 ? '' : ` at ${toLine(formatPath(path), 300)}`
    return `the response does not match the schema${place}${more}`
  }
  const found = issues.map(({ path, message }) =>
    path.length === 0 ? message : `${formatPath(path)}: ${message}`,
  )
  // Some services send an error with status 200.
  const reason = validator ? undefined : reasonOf(Object(body) === body ? body : undefined)
  const quoted = reason === undefined ? '' : ` (it says "${reason}")`
  return `the response is not valid: ${toLine(found.join('; '), 2_000)}${quoted}`
}
