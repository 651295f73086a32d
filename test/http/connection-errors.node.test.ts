import { describe, expect, test } from 'vitest'
import { account, apiErrorOf } from '../support.ts'
import { runProgram } from './child-process.ts'
import {
  clientOf,
  closeAfter,
  FaultServer,
  head,
  json,
  reset,
  resetAfter,
  serve,
  silence,
} from './fault-server.ts'

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
