import { describe, expect, test } from 'vitest'
import { account, apiErrorOf, checkInParallel } from '../support.ts'
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
import { outcomeOf } from './stub.ts'

const notSent = { kind: 'connection', outcomeUnknown: false }

describe('the fetch of Node:', () => {
  test.concurrent('a broken connection has a code, which is in the message', async () => {
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

  test.concurrent('a TLS handshake refused by an alert fails once, with a known outcome', () =>
    checkInParallel(
      [
        [40, 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE'],
        [70, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
        [71, 'ERR_SSL_TLSV1_ALERT_INSUFFICIENT_SECURITY'],
        [112, 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME'],
        [120, 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'],
      ] as const,
      async ([alert, code]) => {
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
    ))

  test.concurrent('a server that speaks only old TLS versions fails once, with a known outcome', async () => {
    const onlyOld = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const
    await using server = await FaultServer.startSecure(onlyOld, json({}))
    const error = await apiErrorOf('connection', clientOf(server).virtualAccounts.deactivate(account))
    expect(outcomeOf(error)).toEqual({ ...notSent, attempts: 1 })
    expect(error.message).toContain('PROTOCOL_VERSION')
    expect(server.connections).toBe(1)
  })

  test.concurrent('a server without secure renegotiation fails once, with a known outcome', async () => {
    await using server = await FaultServer.start(silence)
    // A ServerHello of TLS 1.2: version, random, no session, a cipher, no compression, no extensions.
    const hello = [3, 3, ...Array<number>(32).fill(7), 0, 0xc0, 0x2f, 0]
    const record = Uint8Array.of(0x16, 3, 3, 0, hello.length + 4, 2, 0, 0, hello.length, ...hello)
    server.onNextConnection(socket => void socket.once('data', () => socket.write(record)))
    const client = clientOf({ url: server.url.replace('http:', 'https:') })

    const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))

    expect(outcomeOf(error)).toEqual({ ...notSent, attempts: 1 })
    expect(error.message).toContain('UNSAFE_LEGACY_RENEGOTIATION_DISABLED')
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

  test.concurrent('a header that fetch refuses fails once, with a known outcome', () =>
    checkInParallel(
      [
        ['transfer-encoding', 'chunked'],
        ['upgrade', 'websocket'],
        ['keep-alive', 'timeout=5'],
        ['expect', '100-continue'],
      ] as const,
      async ([name, value]) => {
        await using service = await serve(json({}), { headers: { [name]: value } })
        const { server, client } = service
        const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
        expect(outcomeOf(error)).toEqual({ ...notSent, attempts: 1 })
        expect(server.requests).toEqual([])
      },
    ))

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
