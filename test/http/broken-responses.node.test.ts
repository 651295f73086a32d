import { describe, expect, test } from 'vitest'
import { account, apiErrorOf, checkInParallel } from '../support.ts'
import {
  chunkedHead,
  close,
  closeAfter,
  gzipHead,
  gzipped,
  head,
  json,
  jsonHead,
  page,
  type Responder,
  reset,
  resetAfter,
  serve,
  soon,
  stallAfter,
} from './fault-server.ts'
import { outcomeOf } from './stub.ts'

describe.concurrent('a response that breaks off', () => {
  const faults: [string, Responder][] = [
    ['after the request was read', reset],
    ['by an orderly close before its first byte', close],
    ['in the middle of the status line', resetAfter('HTTP/1.1 20')],
    ['in the middle of the headers', resetAfter('HTTP/1.1 200 OK\r\ncontent-type: applica')],
    ['in the middle of the body', resetAfter(jsonHead, '{"status":')],
    ['by an orderly close, short of its Content-Length', closeAfter(jsonHead, '{"status":"inactive"}')],
    ['by an orderly close in the middle of a chunk', closeAfter(chunkedHead, 'ff\r\n{"status":')],
    ['by an invalid chunk size', closeAfter(chunkedHead, '15\r\n{"status":"inactive"}\r\nzz\r\n')],
    ['in the middle of its gzip', closeAfter(gzipHead(gzipped.length), gzipped.subarray(0, 30))],
    [
      'by damaged gzip',
      closeAfter(
        gzipHead(gzipped.length),
        gzipped.map((byte, at) => (at > 20 && at < 40 ? byte ^ 0x55 : byte)),
      ),
    ],
    ['with garbage instead of HTTP', closeAfter('SSH-2.0-OpenSSH_9.2\r\n')],
  ]

  test('is retried with the same idempotency key', () =>
    checkInParallel(faults, async ([, fault]) => {
      await using service = await serve([fault, json({ status: 'inactive' })])
      const { server, client } = service
      const result = await client.virtualAccounts.deactivate(account)
      expect(result).toMatchObject({ data: { status: 'inactive' }, attempts: 2 })
      expect(server.idempotencyKeys).toEqual([result.idempotencyKey, result.idempotencyKey])
    }))

  test('is a ConnectionError without retries left, and the outcome of a write is unknown', () =>
    checkInParallel(faults, async ([name, fault]) => {
      await using service = await serve(fault, { maxRetries: 0 })
      const { server, client } = service
      const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
      expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 1, outcomeUnknown: true })
      expect(server.idempotencyKeys).toEqual([error.idempotencyKey])
      // Node has no code for what is not HTTP.
      if (!/chunk size|garbage/.test(name)) expect(error.message).toMatch(/\([A-Z]\w+\)/)
    }))

  test('is retried for a list, too', () =>
    checkInParallel(faults.slice(0, 6), async ([, fault]) => {
      await using service = await serve([fault, page([])])
      const { server, client } = service
      expect((await client.transactions.list()).data).toEqual([])
      expect(server.requests.map(({ path }) => path)).toEqual(Array(2).fill('/transactions?page=1'))
      expect(server.idempotencyKeys).toEqual([undefined, undefined])
    }))

  test('is an HttpError without its body when it was an error response', async () => {
    const cut = resetAfter(head(400, { 'content-length': 1000 }), '{"error":')
    await using service = await serve(cut)
    const { server, client } = service
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 400, body: undefined, attempts: 1, outcomeUnknown: false })
    expect(server.requests).toHaveLength(1)
  })
})

describe.concurrent('an odd response', () => {
  test('that is not HTTP/1.1 counts as unreadable, not as a lost connection', () =>
    checkInParallel(
      [
        ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
        [
          'two lengths',
          head(200, { 'transfer-encoding': 'chunked', 'content-length': 7 }),
          '2\r\n{}\r\n0\r\n\r\n',
        ],
        ['too many headers', head(200, { link: 'x'.repeat(20_000), 'content-length': 2 }), '{}'],
        ['an invalid chunk size', chunkedHead, 'zz\r\n{}\r\n'],
      ] as const,
      async ([, ...parts]) => {
        await using service = await serve(closeAfter(...parts), { maxRetries: 0 })
        const error = await apiErrorOf('connection', service.client.virtualAccounts.deactivate(account))
        expect(error.message).toMatch(
          /: (?:no readable response from|the response was incomplete or damaged)/,
        )
        expect(error.outcomeUnknown).toBe(true)
      },
    ))

  test('that follows informational responses (102, 103) is read', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'
    await using service = await serve(stallAfter(early, head(200, { 'content-length': 2 }), '{}'))
    const result = await service.client.virtualAccounts.deactivate(account)
    expect(result).toMatchObject({ status: 200, data: {}, attempts: 1 })
  })

  test('that is followed by unrequested bytes does not affect the next call', async () => {
    const ok = head(200, { 'content-length': 2 })
    await using service = await serve([stallAfter(`${ok}{}${ok}[]`), json({ n: 2 })])
    const { server, client } = service
    expect((await client.virtualAccounts.deactivate(account)).data).toEqual({})
    await soon()
    expect((await client.virtualAccounts.deactivate(account)).data).toEqual({ n: 2 })
    expect(new Set(server.idempotencyKeys).size).toBe(2)
  })

  test('without a length is complete when its connection closes', async () => {
    await using service = await serve(
      closeAfter(head(200, { 'content-type': 'application/json' }), '{"a":1}'),
    )
    expect((await service.client.virtualAccounts.deactivate(account)).data).toEqual({ a: 1 })
  })
})
