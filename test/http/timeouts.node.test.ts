import { describe, expect, test } from 'vitest'
import { account, apiErrorOf, checkInParallel } from '../support.ts'
import {
  chunkedHead,
  drip,
  gzipHead,
  gzipped,
  head,
  json,
  jsonHead,
  type Responder,
  serve,
  silence,
  soon,
  stallAfter,
} from './fault-server.ts'
import { apiKey, outcomeOf, status, stubbed } from './stub.ts'

describe.concurrent('the timeout', () => {
  // Long enough for a busy machine to respond in time to the retry.
  const timeout = 600

  const stalls: [string, Responder][] = [
    ['a response that never comes', silence],
    ['headers that never end', stallAfter('HTTP/1.1 200 OK\r\ncontent-type: applica')],
    ['a body that never begins', stallAfter(jsonHead)],
    ['a body that stalls', stallAfter(jsonHead, '{"data":')],
    ['a chunked body that stalls', stallAfter(chunkedHead, '5\r\n{"a":\r\n')],
    ['a gzipped body that stalls', stallAfter(gzipHead(gzipped.length), gzipped.subarray(0, 20))],
    ['headers that come byte by byte', drip('HTTP/1.1 200 OK\r\nx-slow: ')],
    ['a body that comes byte by byte', drip(jsonHead)],
  ]

  test('ends an attempt and its connection, wherever the response stalls', () =>
    checkInParallel(stalls, async ([, stall]) => {
      await using service = await serve(stall, { timeout, maxRetries: 0 })
      const { server, client } = service
      const error = await apiErrorOf('timeout', client.virtualAccounts.deactivate(account))
      expect(outcomeOf(error)).toEqual({ kind: 'timeout', attempts: 1, outcomeUnknown: true })
      expect(error.timeoutMs).toBe(timeout)
      await server.closed()
    }))

  test('is followed by a retry with the same idempotency key', () =>
    checkInParallel(stalls, async ([, stall]) => {
      await using service = await serve([stall, json({ status: 'inactive' })], { timeout })
      const { server, client } = service
      const result = await client.virtualAccounts.deactivate(account)
      expect(result).toMatchObject({ data: { status: 'inactive' }, attempts: 2 })
      expect(server.idempotencyKeys).toEqual(Array(2).fill(result.idempotencyKey))
    }))

  test('covers headers and body together', async () => {
    // Each of them arrives within it, but not both.
    const slowly: Responder = async socket => {
      await soon(150)
      socket.write(head(200, { 'content-length': 2 }))
      await soon(200)
      socket.write('{}')
    }
    await using service = await serve(slowly, { timeout: 220, maxRetries: 0 })
    await apiErrorOf('timeout', service.client.virtualAccounts.deactivate(account))
  })
})

test('an attempt whose time is over before it is sent is not sent', async () => {
  const timeout = 30
  // Blocks the event loop: no timer can fire meanwhile.
  const blockingKey = () => {
    for (const end = performance.now() + 2 * timeout; performance.now() < end; );
    return apiKey
  }
  const { client, requests } = stubbed([status(200)], { apiKey: blockingKey, timeout, maxRetries: 1 })
  const error = await apiErrorOf('timeout', client.virtualAccounts.deactivate(account))
  expect(error).toMatchObject({ attempts: 2, outcomeUnknown: false })
  expect(error.message).toContain('the last retry was not sent within the timeout of 30 ms')
  expect(requests).toEqual([])
})

test('a response that has arrived counts, although a blocked event loop lets the timer fire first', async () => {
  const fetch = () => {
    const response = new Promise<Response>(resolve => setTimeout(resolve, 40, new Response('{}')))
    for (const end = performance.now() + 200; performance.now() < end; );
    return response
  }
  const { client } = stubbed([], { fetch, timeout: 30, maxRetries: 0 })
  expect(await client.virtualAccounts.deactivate(account)).toMatchObject({ status: 200 })
})

describe.concurrent('a stalled error body', () => {
  const stalled = (status: number, ...parts: string[]) =>
    stallAfter(head(status, { 'content-type': 'application/json', 'content-length': 1000 }), ...parts)

  test('does not turn the HttpError into a TimeoutError', async () => {
    await using service = await serve(stalled(422), { timeout: 800 })
    const { server, client } = service
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 422, body: undefined, attempts: 1, outcomeUnknown: false })
    await server.closed()
  })

  test('leaves time for a retry', async () => {
    await using service = await serve([stalled(503, '{"err'), json({})], { timeout: 800 })
    expect((await service.client.virtualAccounts.deactivate(account)).attempts).toBe(2)
  })
})
