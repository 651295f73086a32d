import { findErrorDetails } from '../internal/error-details.js'
import type { UnansweredAttempt } from './retry.js'

/** A custom fetch has not resolved with a Response that can be read. */
export class InvalidFetchError extends TypeError {}

/** Why a request got no response, and what to do. */
export interface NetworkFailure extends UnansweredAttempt {
  readonly problem: string
  readonly hint: string
}

// Codes of Node (also in Deno's and Bun's Node layers), undici and Bun. With an unknown code, the request counts as sent.
const notConnected =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|UND_ERR_CONNECT_TIMEOUT|UND_ERR_PRX_CONN|ConnectionRefused|FailedToOpenSocket)$/

// The runtime, or a proxy on its behalf, refuses to send this request at all; or both sides must agree on something before
// any request can be sent. Alerts about a client's certificate are not among these:
// with TLS 1.3 they arrive after the request was sent.
const refused =
  /^(?:ERR_(?:ACCESS_DENIED|PROXY_TUNNEL)|UND_ERR_(?:INVALID_ARG|NOT_SUPPORTED|PRX_TLS)|ERR_SSL_(?:UNSUPPORTED_PROTOCOL|NO_PROTOCOLS_AVAILABLE|DH_KEY_TOO_SMALL|UNSAFE_LEGACY_RENEGOTIATION_DISABLED|.*_UNRECOGNIZED_NAME|.*_ALERT_(?:HANDSHAKE_FAILURE|PROTOCOL_VERSION|NO_APPLICATION_PROTOCOL|INSUFFICIENT_SECURITY)))$/

// Usually refused before anything was sent, but undici also aborts after the response came, other fetches parse where a
// redirect leads, and a service may send garbage after the request. ERR_OSSL_ is the client's own key or certificate.
const refusedPerhapsLater =
  /^(?:UND_ERR_ABORTED|ERR_INVALID_URL|ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|ERR_OSSL_\w+)$/

const certificateRejected =
  /^(?!.*_ALERT_).*(?:(?:^|_)(?:CERT|CRL|CA|ISSUER)(?:_|$)|LEAF_SIGNATURE)|^(?:HOSTNAME_MISMATCH|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|UNSPECIFIED)$/

// Of zlib, zstd and Brotli.
const undecodable = /^(?:Z_|ZSTD_|ERR__)/

const checkNetwork = 'Check baseUrl and the network; for a proxy, see docs/networks.md.'

const seeReason =
  'In a browser, its console shows the reason (if it is CORS, see docs/browser.md); elsewhere, see error.cause.'

/** Whether the body of a response has another Content-Encoding than it says. */
export function isUndecodable(error: unknown): boolean {
  return undecodable.test(findErrorDetails(error).code ?? '')
}

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
      hint: 'Check `fetch`, or what mocks it: see error.cause.',
    }
  }
  const { code, message, syscall, address, port: triedPort } = findErrorDetails(error)
  const { host, port } = addressOf(url)
  const shown = code === undefined ? '' : ` (${code})`
  if (phase === 'reading') {
    return undecodable.test(code ?? '')
      ? lost(
          `the response could not be decoded${shown}`,
          'Its Content-Encoding is wrong: report it to its owner.',
        )
      : lost(`the response could not be read to its end${shown}`)
  }
  // It may have been lost, or be no HTTP. Browsers give no reason, and an error of a custom fetch may have any.
  const unread = `no readable response from ${host}${shown}`
  if (code === undefined) return lost(unread, `${checkNetwork} ${seeReason}`)
  const mayBeSent = refusedPerhapsLater.test(code)
  if (mayBeSent || refused.test(code)) {
    const problem = `the request could not be sent to ${host}${shown}`
    return { isSent: mayBeSent, isRetryable: false, problem, hint: refusedHint(code, message) }
  }
  // A request that failed in one of these system calls was not sent, whatever the code.
  const isConnected = syscall === 'read' || syscall === 'write'
  if (syscall === 'connect' || syscall === 'getaddrinfo' || (notConnected.test(code) && !isConnected)) {
    // Not the host of the URL but a proxy.
    const isElsewhere = typeof address === 'string' && triedPort !== undefined && String(triedPort) !== port
    const problem = `could not connect to ${host} (${code}${isElsewhere ? ` at ${address}:${triedPort}` : ''})`
    // The default of a FakeService, whose name nobody can register.
    const isFake = new URL(url).hostname === 'virtual-accounts.test'
    const hint = isFake
      ? 'A FakeService is only reached through its fetch: pass `fetch: service.fetch`.'
      : checkNetwork
    return { isSent: false, isRetryable: true, problem, hint }
  }
  if (certificateRejected.test(code)) {
    const problem = `the TLS certificate of ${host}, or of a proxy, was rejected${shown}`
    const hint =
      'Check that it is valid for this host and has not expired, and that this runtime trusts its authority: see docs/networks.md.'
    return { isSent: false, isRetryable: false, problem, hint }
  }
  return lost(unread, checkNetwork)
}

function lost(
  problem: string,
  hint = 'Check the network; if this lasts, ask the owner of the service.',
): NetworkFailure {
  return { isSent: true, isRetryable: true, problem, hint }
}

/** The host and port of a URL; the port is always given. */
function addressOf(url: string): { host: string; port: string } {
  const { hostname, port: given, protocol } = new URL(url)
  const port = given || (protocol === 'https:' ? '443' : '80')
  return { host: `${hostname}:${port}`, port }
}

function refusedHint(code: string, message: unknown): string {
  if (/^(?:ERR_PROXY_TUNNEL|UND_ERR_(?:PRX_TLS|ABORTED))$/.test(code)) {
    // undici has the status only in a text.
    const [status] = /(?<=Proxy response \()\d{3}(?=\))/.exec(String(message)) ?? []
    return `Check the proxy${status === undefined ? ': see error.cause' : `: it responded with HTTP ${status}`}.`
  }
  return code.startsWith('ERR_SSL_')
    ? 'Check the scheme and port of baseUrl and of any proxy, the TLS versions, and whether a client certificate is needed.'
    : 'Check baseUrl, the headers and your own fetch: see error.cause.'
}
