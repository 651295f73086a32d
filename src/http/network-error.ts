import { findErrorCode } from '../internal/error-code.js'

/**
 * Why there was no response:
 * - `not-connected`: no connection was made, so nothing was sent
 * - `certificate-rejected`, `request-refused`: nothing was sent, and another attempt would meet the same
 * - `invalid-fetch`: a custom fetch has not resolved with a Response that can be read; the request may have reached the service
 * - `connection-lost`: anything else; the request may have reached the service
 */
export type NetworkErrorReason =
  | 'not-connected'
  | 'certificate-rejected'
  | 'request-refused'
  | 'invalid-fetch'
  | 'connection-lost'

/** A custom fetch has not resolved with a Response that can be read. */
export class InvalidFetchError extends TypeError {}

// Codes of Node (also in Deno's and Bun's Node layers), undici and Bun. With an unknown code, the request counts as sent.
const connectErrorCodes: ReadonlySet<string> = /* @__PURE__ */ new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EMFILE',
  'ENFILE',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
  'FailedToOpenSocket',
])

/** The runtime, or a proxy on its behalf, refuses to send this request at all. */
const requestRefusedCodes: ReadonlySet<string> = /* @__PURE__ */ new Set([
  'ERR_ACCESS_DENIED',
  'ERR_INVALID_URL',
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_ABORTED',
  'ERR_PROXY_TUNNEL',
])

// What both sides must agree on before any request can be sent. Alerts about a client's certificate are not among these:
// with TLS 1.3 they arrive after the request was sent.
const handshakeFailed =
  /^ERR_SSL_(?:WRONG_VERSION_NUMBER|UNSUPPORTED_PROTOCOL|PACKET_LENGTH_TOO_LONG|NO_PROTOCOLS_AVAILABLE|.*_UNRECOGNIZED_NAME|.*_ALERT_(?:HANDSHAKE_FAILURE|PROTOCOL_VERSION|NO_APPLICATION_PROTOCOL|INSUFFICIENT_SECURITY))$/

const certificateRejected =
  /(?:^|_)(?:CERT|CRL|CA|ISSUER)(?:_|$)|SIGNATURE|^(?:HOSTNAME_MISMATCH|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$/

/** Classifies what fetch rejected with, by its code: messages differ in every runtime. */
export function classifyNetworkError(
  error: unknown,
  phase: 'sending' | 'reading',
): { reason: NetworkErrorReason; code: string | undefined } {
  if (error instanceof InvalidFetchError) return { reason: 'invalid-fetch', code: undefined }
  const { code, syscall } = findErrorCode(error)
  return {
    reason: phase === 'reading' || code === undefined ? 'connection-lost' : reasonOf(code, syscall),
    code,
  }
}

function reasonOf(code: string, syscall: unknown): NetworkErrorReason {
  if (handshakeFailed.test(code) || requestRefusedCodes.has(code)) return 'request-refused'
  // A request that failed in one of these system calls was not sent, whatever the code.
  const isConnecting = syscall === 'connect' || syscall === 'getaddrinfo'
  if (isConnecting || connectErrorCodes.has(code)) return 'not-connected'
  return !code.includes('_ALERT_') && certificateRejected.test(code)
    ? 'certificate-rejected'
    : 'connection-lost'
}
