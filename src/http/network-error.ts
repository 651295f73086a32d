import { type ErrorDetails, findErrorDetails, maxCauseDepth } from '../internal/error-details.js'

/** A custom fetch has not resolved with a Response that can be read. */
export class InvalidFetchError extends TypeError {}

/** Why a request got no response. */
export interface NetworkFailure {
  /** The request may have reached the service. */
  readonly isSent: boolean
  /** Another attempt may succeed. */
  readonly isRetryable: boolean
  /** What happened. */
  readonly problem: string
  /** What to do. */
  readonly hint: string | undefined
}

// Codes of Node (also in Deno's and Bun's Node layers), undici and Bun. With an unknown code, the request counts as sent.
const notConnected =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|ENETUNREACH|EADDRNOTAVAIL|E[MN]FILE|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/

// The runtime, or a proxy on its behalf, refuses to send this request at all; or both sides must agree on something before
// any request can be sent. Alerts about a client's certificate are not among these:
// with TLS 1.3 they arrive after the request was sent.
const refused =
  /^(?:ERR_(?:ACCESS_DENIED|INVALID_URL|PROXY_TUNNEL)|UND_ERR_(?:INVALID_ARG|NOT_SUPPORTED)|ERR_SSL_(?:UNSUPPORTED_PROTOCOL|NO_PROTOCOLS_AVAILABLE|.*_UNRECOGNIZED_NAME|.*_ALERT_(?:HANDSHAKE_FAILURE|PROTOCOL_VERSION|NO_APPLICATION_PROTOCOL|INSUFFICIENT_SECURITY)))$/

// Usually refused before anything was sent, but undici also aborts after the response came, and a service may send garbage
// after the request.
const refusedPerhapsLater =
  /^(?:UND_ERR_ABORTED|ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG)$/

const certificateRejected =
  /^(?!.*_ALERT_).*(?:(?:^|_)(?:CERT|CRL|CA|ISSUER)(?:_|$)|SIGNATURE)|^(?:HOSTNAME_MISMATCH|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$/

const checkNetwork = 'Check baseUrl and the network.'

/** Classifies what fetch rejected with by its code: messages differ in every runtime. They are shown, but decide nothing. */
export function classifyNetworkError(
  error: unknown,
  phase: 'sending' | 'reading',
  url: string,
): NetworkFailure {
  if (error instanceof InvalidFetchError) {
    return {
      isSent: true,
      isRetryable: false,
      problem: 'fetch did not resolve with a Response that can be read',
      hint: 'Check the option `fetch`: see error.cause.',
    }
  }
  const details = findErrorDetails(error)
  const { code, syscall } = details
  const shown = code === undefined ? '' : ` (${code})`
  if (phase === 'reading') return lost(`connection lost before the response was complete${shown}`)
  if (code === undefined) {
    // Browsers give no reason, and an error of a custom fetch may have any.
    const reason =
      'The reason may be in error.cause; a browser shows it in its console (CORS, Content-Security-Policy).'
    const problem = `could not connect to ${hostOf(url)}, or connection lost before a response arrived`
    return lost(problem, `${checkNetwork} ${reason}`)
  }
  const mayBeSent = refusedPerhapsLater.test(code)
  if (mayBeSent || refused.test(code)) {
    const problem = `the request could not be sent to ${hostOf(url)}${shown}`
    return { isSent: mayBeSent, isRetryable: false, problem, hint: refusedHint(code, error) }
  }
  // A request that failed in one of these system calls was not sent, whatever the code.
  const isConnected = syscall === 'read' || syscall === 'write'
  if (syscall === 'connect' || syscall === 'getaddrinfo' || (notConnected.test(code) && !isConnected)) {
    const problem = `could not connect to ${hostOf(url)} (${code}${otherAddress(details, url)})`
    // The host of a FakeService, whose name nobody can register.
    const isFake = new URL(url).hostname.endsWith('.test')
    const hint = isFake
      ? 'A FakeService is only reached through its fetch: pass `fetch: service.fetch`.'
      : checkNetwork
    return { isSent: false, isRetryable: true, problem, hint }
  }
  if (certificateRejected.test(code)) {
    return {
      isSent: false,
      isRetryable: false,
      problem: `the TLS certificate of ${hostOf(url)} was rejected${shown}`,
      hint: 'Check that it is valid for this host and has not expired, and that this runtime trusts its authority.',
    }
  }
  return lost(`connection lost before a response arrived${shown}`, checkNetwork)
}

function lost(problem: string, hint = 'Check the network.'): NetworkFailure {
  return { isSent: true, isRetryable: true, problem, hint }
}

function hostOf(url: string): string {
  const { hostname } = new URL(url)
  return `${hostname}:${portOf(url)}`
}

function portOf(url: string): string {
  const { port, protocol } = new URL(url)
  return port || (protocol === 'https:' ? '443' : '80')
}

/** Where the connection was tried, if that is not the host of the URL but a proxy. */
function otherAddress({ address, port }: ErrorDetails, url: string): string {
  if (typeof address !== 'string' || port === undefined || String(port) === portOf(url)) return ''
  return ` at ${address}:${port}`
}

function refusedHint(code: string, error: unknown): string {
  if (code === 'ERR_PROXY_TUNNEL' || code === 'UND_ERR_ABORTED') {
    const status = proxyStatusOf(error)
    return status === undefined ? 'Check the proxy.' : `Check the proxy: it responded with HTTP ${status}.`
  }
  return code.startsWith('ERR_SSL_')
    ? 'Check the scheme and port of baseUrl, and the TLS versions of both sides.'
    : 'Check baseUrl and the headers.'
}

/** undici has the status only in a text. */
function proxyStatusOf(error: unknown): string | undefined {
  let current = error as { message?: unknown; cause?: unknown } | undefined
  for (let depth = 0; depth < maxCauseDepth && current; depth++) {
    const [, status] = /^Proxy response \((\d{3})\)/.exec(String(current.message)) ?? []
    if (status !== undefined) return status
    current = current.cause as typeof current
  }
  return undefined
}
