import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf, rejectionOf } from '../support.ts'
import { runProgram } from './child-process.ts'
import {
  clientOf,
  closeAfter,
  FaultServer,
  head,
  json,
  type Responder,
  reset,
  resetAfter,
  respond,
  serve,
  silence,
} from './fault-server.ts'
import { failedFetch, outcomeOf, passing, status, stubbed, useFakeTime } from './stub.ts'

const notSent = { kind: 'connection', outcomeUnknown: false }

/** One write against a fetch that rejects with this code, as Node's does. */
async function writeWith(code: string, details: { syscall?: string } = {}, maxRetries = 0) {
  const { client, requests } = stubbed([failedFetch(code, details)], { maxRetries })
  const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
  return { error, requests }
}

describe('a write that was never sent', () => {
  beforeEach(useFakeTime)
  afterEach(() => void vi.useRealTimers())

  // Node: ENETUNREACH and the like come from `connect`; ERR_ACCESS_DENIED from --permission since Node 25.
  test.each([
    ['ECONNREFUSED', { syscall: 'connect' }],
    ['ECONNREFUSED', {}],
    ['ENOTFOUND', { syscall: 'getaddrinfo' }],
    ['ENOTFOUND', {}],
    ['EAI_AGAIN', { syscall: 'getaddrinfo' }],
    ['EAI_AGAIN', {}],
    ['EAI_FAIL', {}],
    ['EAI_NODATA', { syscall: 'getaddrinfo' }],
    ['ENETUNREACH', { syscall: 'connect' }],
    ['ENETUNREACH', {}],
    ['EHOSTUNREACH', { syscall: 'connect' }],
    ['EADDRNOTAVAIL', { syscall: 'connect' }],
    ['EADDRNOTAVAIL', {}],
    ['ETIMEDOUT', { syscall: 'connect' }],
    ['EMFILE', { syscall: 'connect' }],
    ['EMFILE', {}],
    ['ENFILE', {}],
    ['UND_ERR_CONNECT_TIMEOUT', {}],
    // Bun's own.
    ['ConnectionRefused', {}],
    ['FailedToOpenSocket', {}],
  ])('has a known outcome and is retried after %s %j', async (code, details) => {
    const { client, requests } = stubbed([failedFetch(code, details), status(204)])
    expect((await passing(client.virtualAccounts.deactivate(account))).attempts).toBe(2)
    expect(requests).toHaveLength(2)
    const { error } = await writeWith(code, details)
    expect(outcomeOf(error)).toEqual({ ...notSent, attempts: 1 })
    expect(error.message).toContain(code)
  })

  test.each([
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', {}],
    // As Node writes it, with the slash.
    ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', {}],
    ['ERR_SSL_TLSV1_UNRECOGNIZED_NAME', {}],
    ['ERR_SSL_UNSUPPORTED_PROTOCOL', {}],
    ['ERR_SSL_NO_PROTOCOLS_AVAILABLE', {}],
    ['ERR_INVALID_URL', {}],
    ['ERR_PROXY_TUNNEL', {}],
    ['ERR_ACCESS_DENIED', { syscall: 'connect' }],
    ['UND_ERR_INVALID_ARG', {}],
    ['UND_ERR_NOT_SUPPORTED', {}],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', {}],
    ['CERT_HAS_EXPIRED', {}],
    ['ERR_TLS_CERT_ALTNAME_INVALID', {}],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', {}],
    ['UNABLE_TO_GET_CRL', {}],
    ['UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY', {}],
    ['INVALID_CA', {}],
    ['INVALID_PURPOSE', {}],
    ['HOSTNAME_MISMATCH', {}],
    ['PATH_LENGTH_EXCEEDED', {}],
  ])('has a known outcome and is not retried after %s %j', async (code, details) => {
    const { error, requests } = await writeWith(code, details, 2)
    expect(outcomeOf(error)).toEqual({ ...notSent, attempts: 1 })
    expect(error.message).toContain(code)
    expect(requests).toHaveLength(1)
  })

  test('does not use up the retry budget when it cannot succeed', async () => {
    const refused = Array.from({ length: 40 }, () => failedFetch('UND_ERR_INVALID_ARG'))
    const { client } = stubbed([...refused, failedFetch('ECONNREFUSED'), status(204)])
    for (let call = 0; call < 40; call++) await rejectionOf(client.virtualAccounts.deactivate(account))
    expect((await passing(client.virtualAccounts.deactivate(account))).attempts).toBe(2)
  })
})

describe('a write that may have been sent', () => {
  beforeEach(useFakeTime)
  afterEach(() => void vi.useRealTimers())

  test.each([
    ['ECONNRESET', { syscall: 'read' }],
    ['ENETUNREACH', { syscall: 'read' }],
    ['EADDRNOTAVAIL', { syscall: 'write' }],
    ['ECONNRESET', {}],
    ['EPIPE', { syscall: 'write' }],
    ['ETIMEDOUT', { syscall: 'read' }],
    ['ETIMEDOUT', {}],
    ['UND_ERR_SOCKET', {}],
    ['UND_ERR_HEADERS_TIMEOUT', {}],
    ['HPE_INVALID_CONSTANT', {}],
    // With TLS 1.3 a server refuses a client's certificate after it may have read the request.
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', {}],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', {}],
    ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', {}],
    ['EUNKNOWN_TO_US', {}],
  ])('has an unknown outcome and is retried after %s %j', async (code, details) => {
    const { client } = stubbed([failedFetch(code, details), status(204)])
    expect((await passing(client.virtualAccounts.deactivate(account))).attempts).toBe(2)
    const { error } = await writeWith(code, details)
    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 1, outcomeUnknown: true })
    expect(error.message).toContain(code)
  })

  // undici also aborts after the response came, and a service may send garbage after the request.
  test.each(['UND_ERR_ABORTED', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])(
    'has an unknown outcome and is not retried after %s, which does not prove that nothing was sent',
    async code => {
      const { error, requests } = await writeWith(code, {}, 2)
      expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 1, outcomeUnknown: true })
      expect(requests).toHaveLength(1)
    },
  )

  test('keeps its unknown outcome when a code appears while the response is read', async () => {
    const cut = () =>
      new Response(new ReadableStream({ start: controller => controller.error(failedFetch('ECONNREFUSED')) }))
    const { client } = stubbed([cut], { maxRetries: 0 })
    const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
    expect(error.outcomeUnknown).toBe(true)
  })
})

describe('the code of a ConnectionError', () => {
  test.concurrent('is part of its message for faults of a real server', async () => {
    for (const fault of [
      reset,
      resetAfter(head(200, { 'content-length': 9 }), '{'),
      closeAfter(head(200, { 'content-length': 9 }), '{'),
    ]) {
      await using service = await serve(fault, { maxRetries: 0 })
      const error = await apiErrorOf('connection', service.client.virtualAccounts.deactivate(account))
      const { code } = deepestCause(error)
      expect(code).toMatch(/^[A-Z]\w+$/)
      expect(error.message).toContain(`(${code})`)
    }
  })

  test.concurrent('is found on any error of the cause chain, and in an AggregateError', async () => {
    const inner = Object.assign(new Error('connect'), { code: 'EHOSTUNREACH', syscall: 'connect' })
    for (const thrown of [
      inner,
      new Error('a', { cause: new Error('b', { cause: inner }) }),
      // As Node's fetch behind a proxy: a numeric code on the way.
      new TypeError('a', { cause: Object.assign(new Error('b', { cause: inner }), { code: 0 }) }),
      new TypeError('fetch failed', { cause: new AggregateError([inner, inner]) }),
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

  test('is in toJSON, with name and message of the cause', async () => {
    const thrown = Object.assign(new RangeError('proxy said no'), { code: 'EPROXY' })
    const { client } = stubbed([thrown], { maxRetries: 0 })
    const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
    expect(JSON.parse(JSON.stringify(error)).cause).toEqual({
      name: 'RangeError',
      message: 'proxy said no',
      code: 'EPROXY',
    })
  })
})

describe('in a real runtime', () => {
  test.concurrent.each([
    ['handshake_failure', 40, 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE'],
    ['protocol_version', 70, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
    ['insufficient_security', 71, 'ERR_SSL_TLSV1_ALERT_INSUFFICIENT_SECURITY'],
    ['unrecognized_name', 112, 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME'],
    ['no_application_protocol', 120, 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'],
  ])(
    'a TLS handshake refused by the alert %s fails once, with a known outcome',
    async (_name, alert, code) => {
      await using server = await FaultServer.start(silence)
      // A fatal alert, as a TLS record.
      const refuse = closeAfter(Uint8Array.of(0x15, 3, 3, 0, 2, 2, alert))
      const onHello: Responder = socket => void socket.once('data', () => refuse(socket, noRequest))
      server.onNextConnection(onHello, onHello, onHello)
      const client = clientOf({ url: server.url.replace('http:', 'https:') })

      const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))

      expect(outcomeOf(error)).toEqual({ ...notSent, attempts: 1 })
      expect(error.message).toContain(code)
      expect(server.connections).toBe(1)
    },
  )

  test.concurrent('a server that speaks only old TLS versions fails once, with a known outcome', async () => {
    const onlyOld = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const
    await using server = await FaultServer.startSecure(onlyOld, json({}))
    const error = await apiErrorOf('connection', clientOf(server).virtualAccounts.deactivate(account))
    expect(outcomeOf(error)).toEqual({ ...notSent, attempts: 1 })
    expect(error.message).toContain('PROTOCOL_VERSION')
    expect(server.connections).toBe(1)
  })

  test.concurrent('a server that requires a client certificate leaves the outcome unknown', async () => {
    // With TLS 1.3 it refuses only after the request was sent, and could have read it by then.
    const options = { requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' } as const
    await using server = await FaultServer.startSecure(options, json({}))
    const error = await writeErrorIn(server, {
      flags: ['--disable-warning=Warning'],
      env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    })
    expect(error).toMatchObject({ attempts: 3, outcomeUnknown: true })
    expect(error.message).toMatch(/\((?:ERR_SSL_\w*CERTIFICATE_REQUIRED|ECONNRESET|EPIPE|UND_ERR_SOCKET)\)/)
  })

  test.concurrent('a proxy that requires authentication fails once, with its status in the message', async () => {
    await using proxy = await FaultServer.start(
      respond(407, '', { 'proxy-authenticate': 'Basic realm="proxy"', connection: 'close' }),
    )
    const error = await writeErrorIn(
      { url: 'https://api.example.com' },
      { env: { NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: proxy.url, NO_PROXY: '' } },
    )
    expect(error).toMatchObject({ attempts: 1, outcomeUnknown: true })
    expect(error.message).toContain('HTTP 407')
    expect(proxy.requests).toMatchObject([{ method: 'CONNECT' }])
  })

  test.concurrent.each([
    ['transfer-encoding', 'chunked'],
    ['upgrade', 'websocket'],
    ['keep-alive', 'timeout=5'],
    ['expect', '100-continue'],
  ])('a header that fetch refuses (%s) fails once, with a known outcome', async (name, value) => {
    await using service = await serve(json({}), { headers: { [name]: value } })
    const { server, client } = service
    const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
    expect(outcomeOf(error)).toEqual({ ...notSent, attempts: 1 })
    expect(error.message).toMatch(/UND_ERR_\w+/)
    expect(server.requests).toEqual([])
  })

  test.concurrent('a handshake that never ends is a TimeoutError that can be retried', async () => {
    await using server = await FaultServer.start(silence)
    server.onNextConnection(silence, silence)
    const client = clientOf({ url: server.url.replace('http:', 'https:') }, { timeout: 100, maxRetries: 1 })
    expect(await apiErrorOf('timeout', client.virtualAccounts.deactivate(account))).toMatchObject({
      attempts: 2,
    })
    expect(server.requests).toEqual([])
  })
})

const noRequest = { method: '', path: '', headers: {}, body: '', connection: 0 }

interface ErrorReport {
  readonly message: string
  readonly attempts: number
  readonly outcomeUnknown: boolean
}

/** What a write in a process of its own rejects with. */
async function writeErrorIn(
  server: Pick<FaultServer, 'url'>,
  options: Parameters<typeof runProgram>[2],
): Promise<ErrorReport> {
  const program = `
    const error = await client.virtualAccounts.deactivate(account).catch(error => error)
    process.stdout.write(JSON.stringify(error))`
  const { stdout } = await runProgram(server, program, options)
  return JSON.parse(stdout)
}

function deepestCause(error: unknown): { code?: string } {
  const { cause } = error as Error
  return cause === undefined ? (error as { code?: string }) : deepestCause(cause)
}
