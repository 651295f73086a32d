import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { account, apiErrorOf } from '../support.ts'
import { flood, json, respond, serve } from './fault-server.ts'
import { outcomeOf } from './stub.ts'

describe.concurrent('a response that is too large', () => {
  test('is cancelled at 10 MiB, before the service has sent all of it', async () => {
    const { respond: flooding, written } = flood(200, 50e6)
    await using service = await serve(flooding)
    const { server, client } = service

    const error = await apiErrorOf('invalid-response', client.virtualAccounts.deactivate(account))
    await server.closed()

    expect(outcomeOf(error)).toEqual({ kind: 'invalid-response', attempts: 1, outcomeUnknown: true })
    expect(written()).toBeLessThan(40e6)
    expect(server.requests).toHaveLength(1)
  })

  test('is measured after decompression, so that a gzip bomb is harmless', async () => {
    const bomb = gzipSync(Buffer.alloc(100e6, ' '), { level: 9 })
    expect(bomb.length).toBeLessThan(200_000)
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    await using service = await serve(respond(200, bomb, headers))
    const error = await apiErrorOf('invalid-response', Promise.resolve(service.client.transactions.list()))
    expect(error).toMatchObject({ attempts: 1, status: 200 })
  })

  test('is one byte larger than maxResponseBytes; one of exactly that size is read', async () => {
    await using service = await serve([respond(200, '0'.repeat(1000)), respond(200, '0'.repeat(1001))], {
      maxResponseBytes: 1000,
    })
    const { server, client } = service
    expect((await client.virtualAccounts.deactivate(account)).status).toBe(200)
    expect((await apiErrorOf('invalid-response', client.virtualAccounts.deactivate(account))).status).toBe(
      200,
    )
    expect(server.requests).toHaveLength(2)
  })

  test('with an error status is an HttpError without its body, which is cancelled', async () => {
    const { respond: flooding, written } = flood(400, 50e6)
    await using service = await serve(flooding)
    const { server, client } = service
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    await server.closed()
    expect(error).toMatchObject({ status: 400, body: undefined, attempts: 1, outcomeUnknown: false })
    expect(written()).toBeLessThan(30e6)
  })

  test('with a retryable status is retried', async () => {
    const { respond: flooding } = flood(503, 50e6)
    await using service = await serve([flooding, json({})])
    expect((await service.client.virtualAccounts.deactivate(account)).attempts).toBe(2)
  })
})
