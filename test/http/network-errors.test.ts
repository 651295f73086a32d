import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf, checkEach, rejectionOf } from '../support.ts'
import { failedFetch, ok, passing, stubbed, useFakeTime, write } from './stub.ts'

/** What a write comes to against a fetch that rejects with this code, as Node's does, and how often it is sent. */
async function writeWith(code: string, syscall?: string) {
  const failed = failedFetch(code, syscall === undefined ? {} : { syscall })
  const failing = write([failed], { maxRetries: 0 })
  const { outcomeUnknown, message } = await apiErrorOf('connection', failing.call)
  expect(message).toContain(code)
  const retried = write([failed, ok])
  await retried.call.catch(() => {})
  return { outcomeUnknown, isRetried: retried.requests.length > 1 }
}

const expectAfter = (codes: readonly string[], expected: Awaited<ReturnType<typeof writeWith>>) =>
  checkEach(codes, async given => {
    const [code = '', syscall] = given.split(' of ')
    expect(await writeWith(code, syscall)).toEqual(expected)
  })

describe('the code of a failed fetch', () => {
  beforeEach(useFakeTime)
  afterEach(() => void vi.useRealTimers())

  test('shows that nothing was sent, and that a retry may help', () =>
    expectAfter(
      [
        'ECONNREFUSED',
        'ECONNREFUSED of connect',
        'ENOTFOUND',
        'ENOTFOUND of getaddrinfo',
        'EAI_AGAIN',
        'EAI_FAIL',
        'EAI_NODATA of getaddrinfo',
        'ENETUNREACH of connect',
        'EHOSTUNREACH of connect',
        'EADDRNOTAVAIL of connect',
        'ETIMEDOUT of connect',
        'EMFILE of connect',
        'UND_ERR_CONNECT_TIMEOUT',
        'UND_ERR_PRX_CONN',
        // Bun's own.
        'ConnectionRefused',
        'FailedToOpenSocket',
      ],
      { outcomeUnknown: false, isRetried: true },
    ))

  test('shows that nothing was sent, and that a retry would meet the same', () =>
    expectAfter(
      [
        'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
        // As Node writes it, with the slash.
        'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
        'ERR_SSL_TLSV1_UNRECOGNIZED_NAME',
        'ERR_SSL_UNSUPPORTED_PROTOCOL',
        'ERR_SSL_NO_PROTOCOLS_AVAILABLE',
        'ERR_SSL_DH_KEY_TOO_SMALL',
        'ERR_SSL_UNSAFE_LEGACY_RENEGOTIATION_DISABLED',
        'ERR_PROXY_TUNNEL',
        'UND_ERR_PRX_TLS',
        // From --permission, since Node 25.
        'ERR_ACCESS_DENIED of connect',
        'UND_ERR_INVALID_ARG',
        'UND_ERR_NOT_SUPPORTED',
        'DEPTH_ZERO_SELF_SIGNED_CERT',
        'CERT_HAS_EXPIRED',
        'ERR_TLS_CERT_ALTNAME_INVALID',
        'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        'UNABLE_TO_GET_CRL',
        'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
        'INVALID_CA',
        'INVALID_PURPOSE',
        'HOSTNAME_MISMATCH',
        // Of Node, where a certificate is refused for any other reason.
        'UNSPECIFIED',
        'PATH_LENGTH_EXCEEDED',
      ],
      { outcomeUnknown: false, isRetried: false },
    ))

  test('does not show whether the request was sent, and a retry may help', () =>
    expectAfter(
      [
        'ECONNRESET',
        'ECONNRESET of read',
        // Of a fetch that does not say in which system call: it may have been `read`.
        'ENETUNREACH',
        'ENETUNREACH of read',
        'EADDRNOTAVAIL',
        'EADDRNOTAVAIL of write',
        'EMFILE',
        'EPIPE of write',
        'ETIMEDOUT',
        'ETIMEDOUT of read',
        'UND_ERR_SOCKET',
        'UND_ERR_HEADERS_TIMEOUT',
        'HPE_INVALID_CONSTANT',
        // With TLS 1.3 a server refuses a client's certificate after it may have read the request.
        'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
        'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
        'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE',
        // Of a fetch that checks signed responses.
        'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
        'EUNKNOWN_TO_US',
      ],
      { outcomeUnknown: true, isRetried: true },
    ))

  test('does not show whether the request was sent, and a retry would meet the same', () =>
    expectAfter(
      // undici also aborts after the response came, some fetches parse where a redirect leads, and a service may send
      // garbage after the request.
      [
        'UND_ERR_ABORTED',
        'ERR_INVALID_URL',
        'ERR_SSL_WRONG_VERSION_NUMBER',
        'ERR_SSL_PACKET_LENGTH_TOO_LONG',
      ],
      { outcomeUnknown: true, isRetried: false },
    ))

  test('proves nothing when it appears while the response is read', async () => {
    const cut = () =>
      new Response(new ReadableStream({ start: controller => controller.error(failedFetch('ECONNREFUSED')) }))
    const error = await apiErrorOf('connection', write([cut], { maxRetries: 0 }).call)
    expect(error.outcomeUnknown).toBe(true)
  })

  test('does not use up the retry budget where a retry cannot help', async () => {
    const refused = Array.from({ length: 40 }, () => failedFetch('UND_ERR_INVALID_ARG'))
    const { client } = stubbed([...refused, failedFetch('ECONNREFUSED'), ok])
    for (let call = 0; call < 40; call++) await rejectionOf(client.virtualAccounts.deactivate(account))
    expect((await passing(client.virtualAccounts.deactivate(account))).attempts).toBe(2)
  })

  test('is not that of one of several errors, which may be of another request', async () => {
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect' })
    const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET', syscall: 'read' })
    const { client } = stubbed([new AggregateError([refused, reset])], { maxRetries: 0 })
    const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
    expect(error.outcomeUnknown).toBe(true)
  })

  test('is found on any error of the cause chain', async () => {
    const inner = Object.assign(new Error('connect'), { code: 'EHOSTUNREACH', syscall: 'connect' })
    for (const thrown of [
      inner,
      new Error('a', { cause: new Error('b', { cause: inner }) }),
      // As Node's fetch behind a proxy: a numeric code on the way.
      new TypeError('a', { cause: Object.assign(new Error('b', { cause: inner }), { code: 0 }) }),
      // As Node's, when it has tried several addresses of a host.
      new TypeError('fetch failed', {
        cause: Object.assign(new AggregateError([inner, inner]), { code: 'EHOSTUNREACH' }),
      }),
    ]) {
      const { client } = stubbed([thrown], { maxRetries: 0 })
      const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
      expect(error.message).toContain('EHOSTUNREACH')
      expect(error.outcomeUnknown).toBe(false)
    }
  })
})
