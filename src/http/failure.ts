import type { ErrorFacts, HttpError, Issue } from '../errors.js'
import { formatPath, toLine } from '../internal/describe.js'
import { codeOf } from '../internal/error-code.js'
import { properties, property } from '../internal/object.js'
import type { Redactor } from '../internal/redact.js'
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

function describeStatus({ status, headers }: FailedResponse, url: string, redactor: Redactor): string {
  if (isRateLimit(status)) return `HTTP ${status}, rate limited`
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
  { status, retryAfterMs }: FailedResponse,
  { page, idempotencyKey }: Call,
  hasReason: boolean,
  hasKey: boolean,
) {
  const delay = retryAfterMs ? `after ${Math.ceil(retryAfterMs / 1000)} s` : 'later'
  if (status < 400) return 'Check baseUrl and the path: use an address that does not redirect.'
  if (status === 401 || status === 403)
    return hasKey
      ? 'Check apiKey: it is sent as it is, without quotes or `Bearer`.'
      : 'No key was sent, as apiKey is null: is the user of your own server signed in?'
  if (status === 404) {
    const beyondEnd = page && page > 1 ? ' The page may also be beyond the end of the list.' : ''
    return `Check the ids, the path and baseUrl.${beyondEnd}`
  }
  if (status === 409 && idempotencyKey !== undefined && !hasReason)
    return 'A request with this idempotencyKey may still be in progress: retry with the same key.'
  return isRateLimit(status) || isServerError(status) ? `Retry ${delay}.` : undefined
}

/** The service's own reason, as one line: where services customarily put it. */
function reasonOf(body: unknown): string | undefined {
  const error = property(body, 'error')
  const [message, detail, title] = properties(body, ['message', 'detail', 'title'])
  const candidates = [message, property(error, 'message'), error, detail, title]
  const reason = candidates.find((text): text is string => typeof text === 'string' && text.trim() !== '')
  return reason && toLine(reason, 200)
}

// Codes of zlib, Brotli and zstd in Node, and of Bun.
const notDecoded = /^(?:Z_DATA_ERROR|Z_NEED_DICT|ERR__ERROR_FORMAT_\w+|ZSTD_error_\w+|ZlibError)$/
const notTls = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/

const checkNetwork = 'Check baseUrl and the network.'

export function describeNoResponse(failed: NoResponse, url: string, timeoutMs: number): Description {
  const { reason, isTimeout, cause } = failed
  if (isTimeout) {
    if (reason === 'total-timeout') {
      const last = cause === undefined ? '' : ' The last failure is in error.cause.'
      const hint = `Raise \`totalTimeout\` (milliseconds) if it may take longer.${last}`
      return { problem: `not finished within the totalTimeout of ${timeoutMs} ms`, hint }
    }
    const isSent = reason !== 'not-sent'
    const problem = isSent ? 'no complete response' : 'the apiKey function returned no key'
    const hint = `Raise \`timeout\` (milliseconds) if ${isSent ? 'the service' : 'apiKey'} needs longer.`
    return { problem: `${problem} within the timeout of ${timeoutMs} ms`, hint }
  }
  if (cause instanceof NotAFreshResponse)
    return {
      problem: cause.message,
      hint: 'It must resolve with a new Response for each request, whose body nobody has read.',
    }
  const code = codeOf(cause) ?? ''
  const shown = code === '' ? '' : ` (${code})`
  const { hostname, port, protocol } = new URL(url)
  const host = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
  if (reason === 'not-connected') {
    const isFake = hostname === 'virtual-accounts.test'
    const hint = isFake ? 'This is a FakeService: pass its `fetch` to the client.' : checkNetwork
    return { problem: `could not connect to ${host}${shown}`, hint }
  }
  if (reason === 'certificate') {
    const hint = 'Check that it is valid for this host, and that this runtime trusts its authority.'
    return { problem: `the TLS certificate of ${host} was rejected${shown}`, hint }
  }
  if (reason === 'cut-off')
    return {
      problem: `the response could not be read to its end${shown}`,
      hint: notDecoded.test(code)
        ? 'A proxy may have sent `Content-Encoding` with a decoded body.'
        : 'Check the network.',
    }
  if (notTls.test(code))
    return {
      problem: `no readable response from ${host}${shown}`,
      hint: 'Check baseUrl: is this an http port?',
    }
  // It may have been lost, or be no HTTP. A browser gives no reason.
  const seeCause = code === '' ? ' In a browser, see its console; elsewhere, see error.cause.' : ''
  return { problem: `no readable response from ${host}${shown}`, hint: `${checkNetwork}${seeCause}` }
}

export function describeIssues(issues: readonly Issue[]): string {
  const found = issues.map(({ path, message }) =>
    path.length === 0 ? message : `${formatPath(path)}: ${message}`,
  )
  return `the response is not valid: ${toLine(found.join('; '), 2_000)}`
}

/** What the caller's schema found first. The rest is in `issues`. */
export function describeMismatch([first, ...others]: readonly Issue[], body: unknown): string {
  const { path, message } = first as Issue
  const [data, index] = path
  const item = data === 'data' && typeof index === 'number' ? property(property(body, data), index) : body
  const reason = toLine(withoutValues(message, item), 200)
  const found = `${toLine(formatPath(path), 300)}${reason && `: ${reason.replace(/\.$/, '')}`}`
  return `the response does not match the schema at ${found}${others.length === 0 ? '' : ` (and ${others.length} more)`}`
}

/** A message of the caller's schema without the values that it may quote, which are only in `issues`. */
function withoutValues(message: string, value: unknown): string {
  const values = new Set<string>()
  const add = (_: string, inner: unknown) => {
    if (typeof inner === 'string' || typeof inner === 'number')
      values.add(JSON.stringify(inner)).add(`${inner}`)
    return inner
  }
  try {
    JSON.stringify(value, add)
  } catch {
    // Nested too deeply.
    return ''
  }
  return [...values]
    .filter(text => text !== '' && message.includes(text))
    .sort((a, b) => b.length - a.length)
    .reduce((text, quoted) => {
      // A short one may be in any word by chance.
      const isWord = (at: number) => !/\w/.test(text.charAt(at - 1) + text.charAt(at + quoted.length))
      return text.replaceAll(quoted, (_, at: number) => (quoted.length > 3 || isWord(at) ? '…' : quoted))
    }, message)
}
