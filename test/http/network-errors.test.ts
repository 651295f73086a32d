import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf, checkEach } from '../support.ts'
import { failedFetch, ok, stubbed, useFakeTime, write } from './stub.ts'

/** The outcome of a write whose fetch rejects with this code, as Node's does, and its number of requests. */
async function writeWith(code: string, details?: { syscall: string }) {
  const failed = failedFetch(code, details)
  const failing = write([failed], { maxRetries: 0 })
  const { outcomeUnknown, message } = await apiErrorOf('connection', failing.call)
  expect(message).toContain(code)
  const retried = write([failed, ok])
  await retried.call.catch(() => {})
  return { outcomeUnknown, isRetried: retried.requests.length > 1 }
}

const expectAfter = (codes: readonly string[], expected: Awaited<ReturnType<typeof writeWith>>) =>
  checkEach(codes, async code => expect(await writeWith(code)).toEqual(expected))

describe('the code of a failed fetch', () => {
  beforeEach(useFakeTime)
  afterEach(() => void vi.useRealTimers())

  test('shows that nothing was sent, and that a retry may help', () =>
    expectAfter(
      [
        'ECONNREFUSED',
        'ENOTFOUND',
        'EAI_AGAIN',
        'EMFILE',
        'UND_ERR_CONNECT_TIMEOUT',
        // Bun's own.
        'ConnectionRefused',
        'FailedToOpenSocket',
      ],
      { outcomeUnknown: false, isRetried: true },
    ))

  test('shows that the certificate was rejected, as it would be again', () =>
    expectAfter(
      [
        'DEPTH_ZERO_SELF_SIGNED_CERT',
        'SELF_SIGNED_CERT_IN_CHAIN',
        'CERT_HAS_EXPIRED',
        'ERR_TLS_CERT_ALTNAME_INVALID',
        'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        'INVALID_CA',
        'HOSTNAME_MISMATCH',
      ],
      { outcomeUnknown: false, isRetried: false },
    ))

  test('shows nothing if another system call failed, as when a fetch of the caller logs to a file', async () => {
    for (const code of ['EMFILE', 'ENOTFOUND', 'ECONNREFUSED'])
      expect(await writeWith(code, { syscall: 'open' })).toEqual({ outcomeUnknown: true, isRetried: true })
    expect(await writeWith('ENOTFOUND', { syscall: 'getaddrinfo' })).toMatchObject({ outcomeUnknown: false })
  })

  test('shows nothing otherwise, so a write is retried with its key', () =>
    expectAfter(
      [
        'ECONNRESET',
        'EPIPE',
        'ETIMEDOUT',
        'ENETUNREACH',
        'UND_ERR_SOCKET',
        'UND_ERR_HEADERS_TIMEOUT',
        'UND_ERR_ABORTED',
        'HPE_INVALID_CONSTANT',
        'ERR_SSL_WRONG_VERSION_NUMBER',
        // With TLS 1.3 a server refuses a client's certificate after it may have read the request.
        'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
        'EUNKNOWN_TO_US',
      ],
      { outcomeUnknown: true, isRetried: true },
    ))

  test('proves nothing when it appears while the response is read', async () => {
    const cut = () =>
      new Response(new ReadableStream({ start: controller => controller.error(failedFetch('ECONNREFUSED')) }))
    const error = await apiErrorOf('connection', write([cut], { maxRetries: 0 }).call)
    expect(error.outcomeUnknown).toBe(true)
  })

  /** Whether a write may have been applied after its fetch rejected with this. */
  async function isUnknownAfter(thrown: Error): Promise<boolean> {
    const { client } = stubbed([thrown], { maxRetries: 0 })
    return (await apiErrorOf('connection', client.virtualAccounts.deactivate(account))).outcomeUnknown
  }

  test('of the system call connect always shows that nothing was sent; that of another does not', async () => {
    await checkEach(['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNRESET', 'ENEW'], async code => {
      expect(await isUnknownAfter(failedFetch(code, { syscall: 'connect' }))).toBe(false)
      for (const syscall of ['read', 'write', 'reconnect', '']) {
        expect(await isUnknownAfter(failedFetch(code, { syscall }))).toBe(true)
      }
    })
  })

  test('of several errors counts only if all of them show it', async () => {
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect' })
    const unreachable = Object.assign(new Error('unreachable'), { code: 'EHOSTUNREACH', syscall: 'connect' })
    const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET', syscall: 'read' })
    const several = (...errors: unknown[]) =>
      new TypeError('fetch failed', {
        cause: Object.assign(new AggregateError(errors), { code: 'ECONNREFUSED' }),
      })
    expect(await isUnknownAfter(several(refused, unreachable))).toBe(false)
    const endless = several(refused)
    ;(endless.cause as AggregateError).errors.push(endless)
    for (const error of [
      several(refused, reset),
      several(refused, undefined),
      several(refused, {}),
      endless,
    ]) {
      expect(await isUnknownAfter(error)).toBe(true)
    }
  })

  test('of a request that undici aborts shows that nothing was sent only if a proxy refused to connect', async () => {
    const aborted = (message: string) =>
      new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code: 'UND_ERR_ABORTED' }) })
    expect(await isUnknownAfter(aborted('Proxy response (403) !== 200 when HTTP Tunneling'))).toBe(false)
    for (const message of [
      'Request aborted',
      'The service said: Proxy response (403) !== 200 when HTTP Tunneling',
    ])
      expect(await isUnknownAfter(aborted(message))).toBe(true)
  })

  test('is found on any error of the cause chain', async () => {
    const inner = Object.assign(new Error('connect'), { code: 'ENOTFOUND', syscall: 'getaddrinfo' })
    for (const thrown of [
      inner,
      new Error('a', { cause: new Error('b', { cause: inner }) }),
      // As Node's fetch behind a proxy: a numeric code in between.
      new TypeError('a', { cause: Object.assign(new Error('b', { cause: inner }), { code: 0 }) }),
    ]) {
      const { client } = stubbed([thrown], { maxRetries: 0 })
      const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
      expect(error.message).toContain('ENOTFOUND')
      expect(error.outcomeUnknown).toBe(false)
    }
  })
})
