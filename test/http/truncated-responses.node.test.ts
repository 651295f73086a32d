import { gzipSync } from 'node:zlib'
import { isApiError } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import { account, apiErrorOf, rejectionOf } from '../support.ts'
import {
  clientOf,
  close,
  closeAfter,
  drip,
  FaultServer,
  flood,
  head,
  json,
  page,
  type Responder,
  reset,
  resetAfter,
  respond,
  serve,
  silence,
  soon,
  stallAfter,
} from './fault-server.ts'
import { outcomeOf, status, stubbed } from './stub.ts'

const jsonHead = head(200, { 'content-type': 'application/json', 'content-length': 1000 })
const chunkedHead = head(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
const gzipped = gzipSync(JSON.stringify({ status: 'inactive', note: 'x'.repeat(5000) }))
const gzipHead = (length: number) =>
  head(200, { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': length })

describe('a response that breaks off', () => {
  const faults: [string, Responder][] = [
    ['after the request was read', reset],
    ['by an orderly close before its first byte', close],
    ['in the middle of the status line', resetAfter('HTTP/1.1 20')],
    ['in the middle of the headers', resetAfter('HTTP/1.1 200 OK\r\ncontent-type: applica')],
    [
      'by an orderly close in the middle of the headers',
      closeAfter('HTTP/1.1 200 OK\r\ncontent-type: applica'),
    ],
    ['after the headers', resetAfter(jsonHead)],
    ['in the middle of the body', resetAfter(jsonHead, '{"status":')],
    ['by an orderly close, short of its Content-Length', closeAfter(jsonHead, '{"status":"inactive"}')],
    ['by an orderly close in the middle of a chunk', closeAfter(chunkedHead, 'ff\r\n{"status":')],
    ['by an orderly close between two chunks', closeAfter(chunkedHead, '15\r\n{"status":"inactive"}\r\n')],
    ['by an invalid chunk size', closeAfter(chunkedHead, '15\r\n{"status":"inactive"}\r\nzz\r\n')],
    ['in the middle of its gzip', closeAfter(gzipHead(gzipped.length), gzipped.subarray(0, 30))],
    ['by a body that is not gzip', closeAfter(gzipHead(30), Buffer.alloc(30, 'not gzip '))],
    [
      'by damaged gzip',
      closeAfter(
        gzipHead(gzipped.length),
        gzipped.map((byte, at) => (at > 20 && at < 40 ? byte ^ 0x55 : byte)),
      ),
    ],
    ['with garbage instead of HTTP', closeAfter('SSH-2.0-OpenSSH_9.2\r\n')],
    ['with the greeting of a mail server', stallAfter('220 mail.example.com ESMTP\r\n')],
    ['with an endless header', resetAfter(`HTTP/1.1 200 OK\r\nx-endless: ${'x'.repeat(100_000)}`)],
  ]

  test.concurrent.each(faults)('is retried with the same idempotency key: %s', async (_where, fault) => {
    await using service = await serve([fault, json({ status: 'inactive' })])
    const { server, client } = service

    const result = await client.virtualAccounts.deactivate(account)

    expect(result).toMatchObject({ data: { status: 'inactive' }, attempts: 2 })
    expect(server.idempotencyKeys).toEqual([result.idempotencyKey, result.idempotencyKey])
  })

  test.concurrent.each(faults)('is a ConnectionError without retries left: %s', async (_where, fault) => {
    await using service = await serve(fault, { maxRetries: 0 })
    const { server, client } = service

    const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))

    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 1, outcomeUnknown: true })
    expect(server.idempotencyKeys).toEqual([error.idempotencyKey])
    expect(error.message).toMatch(/connection lost/)
  })

  test.concurrent.each(faults)('is retried for a list, too: %s', async (_where, fault) => {
    await using service = await serve([fault, page([])])
    const { server, client } = service
    expect((await client.transactions.list()).data).toEqual([])
    expect(server.requests.map(({ path }) => path)).toEqual(Array(2).fill('/transactions?page=1'))
    expect(server.idempotencyKeys).toEqual([undefined, undefined])
  })

  test.concurrent('is reported with the phase in which the connection was lost', async () => {
    await using before = await serve(reset, { maxRetries: 0 })
    await using meanwhile = await serve(resetAfter(jsonHead, '{'), { maxRetries: 0 })
    const errorBefore = await apiErrorOf('connection', before.client.virtualAccounts.deactivate(account))
    const errorMeanwhile = await apiErrorOf(
      'connection',
      meanwhile.client.virtualAccounts.deactivate(account),
    )
    expect(errorBefore.message).toContain('connection lost before a response arrived')
    expect(errorMeanwhile.message).toContain('connection lost before the response was complete')
  })

  test.concurrent('leaves the outcome of a write unknown, even if the retry gets a 404', async () => {
    await using service = await serve([resetAfter(jsonHead, '{'), respond(404)])
    const { server, client } = service
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(outcomeOf(error)).toEqual({ kind: 'http', status: 404, attempts: 2, outcomeUnknown: true })
    expect(server.idempotencyKeys).toEqual(Array(2).fill(error.idempotencyKey))
  })

  test.concurrent('is an HttpError without its body when it was an error response', async () => {
    const cut = resetAfter(head(400, { 'content-length': 1000 }), '{"error":')
    await using service = await serve(cut)
    const { server, client } = service
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 400, body: undefined, attempts: 1, outcomeUnknown: false })
    expect(server.requests).toHaveLength(1)
  })
})

describe('a connection that is reset before the request is read', () => {
  test.concurrent('is retried', async () => {
    await using service = await serve(json({}))
    const { server, client } = service
    server.onNextConnection(reset)

    const result = await client.virtualAccounts.deactivate(account)

    expect(result.attempts).toBe(2)
    expect(server.connections).toBe(2)
    expect(server.idempotencyKeys).toEqual([result.idempotencyKey])
  })

  test.concurrent('is a ConnectionError after three attempts', async () => {
    await using service = await serve(json({}))
    const { server, client } = service
    // Reset at once, connecting itself fails, and nothing was sent.
    server.onNextConnection(...Array<Responder>(3).fill(resetAfter()))
    const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 3, outcomeUnknown: true })
    expect(server.connections).toBe(3)
    expect(server.requests).toEqual([])
  })
})

describe('a fetch that reports a truncated response as complete', () => {
  const body = '{"status":"inac'
  const cut =
    (headers: Record<string, string> = {}) =>
    () =>
      new Response(body, { headers: { 'content-type': 'text/plain', 'content-length': '21', ...headers } })

  test('is found out by the Content-Length, and a write is retried with an unknown outcome', async () => {
    const { client, keys } = stubbed([cut(), status(204)])
    const result = await client.virtualAccounts.deactivate(account)
    expect(result.attempts).toBe(2)
    expect(keys()).toEqual(Array(2).fill(result.idempotencyKey))
    const failing = stubbed([cut()], { maxRetries: 0 })
    const error = await apiErrorOf('connection', failing.client.virtualAccounts.deactivate(account))
    expect(error.outcomeUnknown).toBe(true)
    expect(error.message).toContain('connection lost before the response was complete')
  })

  test('is found out for a list, too', async () => {
    const { client, requests } = stubbed([cut()], { maxRetries: 0 })
    await apiErrorOf('connection', Promise.resolve(client.transactions.list()))
    expect(requests).toHaveLength(1)
  })

  test.each([204, 205])('is not suspected because a %i, which has no body, has a length', async code => {
    const { client, requests } = stubbed([status(code, { 'content-length': '2' })])
    const { attempts, data } = await client.virtualAccounts.deactivate(account)
    expect({ attempts, data }).toEqual({ attempts: 1, data: undefined })
    expect(requests).toHaveLength(1)
  })

  test('is found out for an error, which is then one without a body', async () => {
    const { client } = stubbed([status(404, { 'content-length': '21' }, body)])
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 404, body: undefined, attempts: 1 })
    const whole = stubbed([status(404, { 'content-length': String(body.length) }, body)])
    expect(await apiErrorOf('http', whole.client.virtualAccounts.deactivate(account))).toMatchObject({ body })
  })

  test.each([
    ['a compressed response', { 'content-encoding': 'gzip' }],
    ['a longer response', { 'content-length': '3' }],
    ['an unreadable length', { 'content-length': 'many' }],
    ['a length that is not in decimal digits', { 'content-length': '0x64' }],
  ])('is not suspected because of %s', async (_what, headers) => {
    const { client } = stubbed([cut(headers)], { maxRetries: 0 })
    expect((await client.virtualAccounts.deactivate(account)).data).toBe(body)
  })

  test('is not suspected in a page of another origin, from which a browser hides the encoding', async () => {
    const hidden = () => Object.defineProperty(cut()(), 'type', { value: 'cors' })
    const { client } = stubbed([hidden], { maxRetries: 0 })
    expect((await client.virtualAccounts.deactivate(account)).data).toBe(body)
  })
})

describe('an odd response', () => {
  test.concurrent('that follows informational responses (102, 103) is read', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'
    await using service = await serve(stallAfter(early, head(200, { 'content-length': 2 }), '{}'))
    const result = await service.client.virtualAccounts.deactivate(account)
    expect(result).toMatchObject({ status: 200, data: {}, attempts: 1 })
  })

  test.concurrent.each([600, 999])('with the status %i is an HttpError or a ConnectionError', async code => {
    await using service = await serve(respond(code, 'denied'), { maxRetries: 0 })
    const error = await rejectionOf(service.client.virtualAccounts.deactivate(account))
    expect(isApiError(error) && ['http', 'connection'].includes(error.kind)).toBe(true)
  })

  test.concurrent('that switches protocols unasked fails within the timeout', async () => {
    // Node 22 sees no response in it, later versions a broken connection.
    const unasked = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n'
    await using service = await serve(stallAfter(unasked), { maxRetries: 0, timeout: 100 })
    const error = await rejectionOf(service.client.virtualAccounts.deactivate(account))
    expect(isApiError(error) && ['connection', 'timeout'].includes(error.kind)).toBe(true)
  })

  test.concurrent('that is followed by unrequested bytes does not affect the next call', async () => {
    const ok = head(200, { 'content-length': 2 })
    await using service = await serve([stallAfter(`${ok}{}${ok}[]`), json({ n: 2 })])
    const { server, client } = service
    expect((await client.virtualAccounts.deactivate(account)).data).toEqual({})
    await soon()
    expect((await client.virtualAccounts.deactivate(account)).data).toEqual({ n: 2 })
    expect(new Set(server.idempotencyKeys).size).toBe(2)
  })

  test.concurrent('without a length is complete when its connection closes', async () => {
    await using service = await serve(
      closeAfter(head(200, { 'content-type': 'application/json' }), '{"a":1}'),
    )
    expect((await service.client.virtualAccounts.deactivate(account)).data).toEqual({ a: 1 })
  })
})

describe('a failed connection', () => {
  test.concurrent('is retried, and the write cannot have been applied', async () => {
    const server = await FaultServer.start()
    await server[Symbol.asyncDispose]()

    const error = await apiErrorOf('connection', clientOf(server).virtualAccounts.deactivate(account))

    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 3, outcomeUnknown: false })
    expect(error.message).toContain('ECONNREFUSED')
    expect(error.message).not.toContain('may have been applied')
    expect(error.cause).toBeInstanceOf(Error)
  })

  test.concurrent('to a name that does not exist is a ConnectionError with a known outcome', async () => {
    const server = { url: 'https://does-not-exist.invalid' }
    const call = clientOf(server, { maxRetries: 0 }).virtualAccounts.deactivate(account)
    expect(outcomeOf(await apiErrorOf('connection', call))).toEqual({
      kind: 'connection',
      attempts: 1,
      outcomeUnknown: false,
    })
  })

  test.concurrent('to a server with a self-signed certificate fails after one attempt, and nothing is sent', async () => {
    await using server = await FaultServer.startSecure({}, json({}))

    const error = await apiErrorOf('connection', clientOf(server).virtualAccounts.deactivate(account))

    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 1, outcomeUnknown: false })
    expect(error.message).toContain('certificate')
    expect(server.connections).toBe(1)
    expect(server.requests).toEqual([])
  })

  test.concurrent('over https to a plain http port fails after one attempt, and proves nothing', async () => {
    await using service = await serve(json({}))
    const { server } = service
    server.onNextConnection(...Array(3).fill(closeAfter(head(400))))
    const client = clientOf({ url: server.url.replace('http:', 'https:') })

    const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))

    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 1, outcomeUnknown: true })
    expect(error.message).toContain('ERR_SSL_WRONG_VERSION_NUMBER')
    expect(server.connections).toBe(1)
  })
})

describe('the timeout', () => {
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

  test.concurrent.each(stalls)('ends an attempt and its connection: %s', async (_what, stall) => {
    await using service = await serve(stall, { timeout, maxRetries: 0 })
    const { server, client } = service

    const error = await apiErrorOf('timeout', client.virtualAccounts.deactivate(account))

    expect(outcomeOf(error)).toEqual({ kind: 'timeout', attempts: 1, outcomeUnknown: true })
    expect(error.timeoutMs).toBe(timeout)
    await server.closed()
  })

  test.concurrent.each(stalls)('is followed by a retry: %s', async (_what, stall) => {
    await using service = await serve([stall, json({ status: 'inactive' })], { timeout })
    const { server, client } = service
    const result = await client.virtualAccounts.deactivate(account)
    expect(result).toMatchObject({ data: { status: 'inactive' }, attempts: 2 })
    expect(server.idempotencyKeys).toEqual(Array(2).fill(result.idempotencyKey))
  })

  test.concurrent('covers headers and body together', async () => {
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

  test.concurrent('of a call takes precedence over that of the client', async () => {
    await using service = await serve(silence, { timeout: 60_000 })
    const call = service.client.virtualAccounts.deactivate(account, { timeout: 50, maxRetries: 0 })
    expect((await apiErrorOf('timeout', call)).timeoutMs).toBe(50)
  })

  test.concurrent('does not end a response that is slow but arrives in time', async () => {
    const slowly: Responder = async socket => {
      socket.write(head(200, { 'content-length': 2 }))
      await soon(60)
      socket.write('{')
      await soon(60)
      socket.write('}')
    }
    await using service = await serve(slowly, { timeout: 5000 })
    expect(await service.client.virtualAccounts.deactivate(account)).toMatchObject({ data: {}, attempts: 1 })
  })
})

describe('a redirect', () => {
  const statuses = [301, 302, 303, 307, 308]
  // A 304 never has a body.
  const bodyOf = (status: number) => (status === 304 ? undefined : 'moved')

  test.concurrent.each([...statuses, 300, 304, 305])(
    'with status %i to another origin is not followed, so the API key does not go there',
    async status => {
      await using elsewhere = await FaultServer.start(json({}))
      await using service = await serve(
        respond(status, bodyOf(status), { location: `${elsewhere.url}/stolen` }),
      )
      const { server, client } = service

      const ofWrite = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
      const ofList = await apiErrorOf('http', Promise.resolve(client.transactions.list()))

      for (const error of [ofWrite, ofList]) {
        expect(error).toMatchObject({ status, attempts: 1, body: bodyOf(status) })
        expect(error.headers.get('location')).toBe(`${elsewhere.url}/stolen`)
      }
      expect(server.requests).toHaveLength(2)
      expect(elsewhere.connections).toBe(0)
    },
  )

  test.concurrent.each(statuses)('with status %i to itself does not loop', async status => {
    await using service = await serve(respond(status, '', { location: '/transactions?page=1' }))
    const { server, client } = service
    const error = await apiErrorOf('http', Promise.resolve(client.transactions.list()))
    expect(error.status).toBe(status)
    expect(error.message).toContain('baseUrl')
    expect(server.requests).toHaveLength(1)
  })

  test.concurrent('without a Location is an HttpError, too', async () => {
    await using service = await serve(respond(302))
    const error = await apiErrorOf('http', service.client.virtualAccounts.deactivate(account))
    expect(error.status).toBe(302)
  })

  test.concurrent('is not followed by a custom fetch either', async () => {
    await using elsewhere = await FaultServer.start(json({}))
    await using service = await serve(respond(302, '', { location: elsewhere.url }), {
      fetch: (url, init) => fetch(url, { ...init }),
    })
    await apiErrorOf('http', service.client.virtualAccounts.deactivate(account))
    expect(elsewhere.connections).toBe(0)
  })
})

describe('a response that is too large', () => {
  test.concurrent('is cancelled at 10 MiB, before the service has sent all of it', async () => {
    const { respond: flooding, written } = flood(200, 50e6)
    await using service = await serve(flooding)
    const { server, client } = service

    const error = await apiErrorOf('invalid-response', client.virtualAccounts.deactivate(account))
    await server.closed()

    expect(outcomeOf(error)).toEqual({ kind: 'invalid-response', attempts: 1, outcomeUnknown: true })
    expect(error.message).toContain('10485760 bytes')
    expect(error.message).toContain('maxResponseBytes')
    expect(written()).toBeLessThan(40e6)
    expect(server.requests).toHaveLength(1)
  })

  test.concurrent('is measured after decompression, so that a gzip bomb is harmless', async () => {
    const bomb = gzipSync(Buffer.alloc(100e6, ' '), { level: 9 })
    expect(bomb.length).toBeLessThan(200_000)
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    await using service = await serve(respond(200, bomb, headers))
    const error = await apiErrorOf('invalid-response', Promise.resolve(service.client.transactions.list()))
    expect(error).toMatchObject({ attempts: 1, status: 200 })
    expect(error.message).toContain('10485760 bytes')
  })

  test.concurrent('is one byte larger than maxResponseBytes; one of exactly that size is read', async () => {
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

  test.concurrent('to a list request is an InvalidResponseError, too, and is not retried', async () => {
    const { respond: flooding } = flood(200, 50e6)
    await using service = await serve(flooding, { maxResponseBytes: 100_000 })
    const { server, client } = service
    const error = await apiErrorOf('invalid-response', Promise.resolve(client.transactions.list()))
    await server.closed()
    expect(error.attempts).toBe(1)
    expect(server.requests).toHaveLength(1)
  })

  test.concurrent('with an error status is an HttpError without its body, of which at most 1 MiB is read', async () => {
    const { respond: flooding, written } = flood(400, 50e6)
    await using service = await serve(flooding)
    const { server, client } = service
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    await server.closed()
    expect(error).toMatchObject({ status: 400, body: undefined, attempts: 1, outcomeUnknown: false })
    expect(written()).toBeLessThan(30e6)
  })

  test.concurrent('with a retryable status is retried', async () => {
    const { respond: flooding } = flood(503, 50e6)
    await using service = await serve([flooding, json({})])
    expect((await service.client.virtualAccounts.deactivate(account)).attempts).toBe(2)
  })
})

describe('a stalled error body', () => {
  const stalled = (status: number, ...parts: string[]) =>
    stallAfter(head(status, { 'content-type': 'application/json', 'content-length': 1000 }), ...parts)

  test.concurrent('does not turn the HttpError into a TimeoutError', async () => {
    await using service = await serve(stalled(422), { timeout: 800 })
    const { server, client } = service
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 422, body: undefined, attempts: 1, outcomeUnknown: false })
    await server.closed()
  })

  test.concurrent('is left out rather than shown in part', async () => {
    await using service = await serve(stalled(422, '12345'), { timeout: 800 })
    const error = await apiErrorOf('http', service.client.virtualAccounts.deactivate(account))
    expect(error.status).toBe(422)
    expect(error.body).toBeUndefined()
  })

  test.concurrent('that arrives byte by byte does not turn the HttpError into a TimeoutError either', async () => {
    await using service = await serve(drip(head(403, { 'content-length': 1000 })), { timeout: 800 })
    const { server, client } = service
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 403, body: undefined, attempts: 1 })
    await server.closed()
  })

  test.concurrent('leaves time for a retry', async () => {
    await using service = await serve([stalled(503, '{"err'), json({})], { timeout: 800 })
    expect((await service.client.virtualAccounts.deactivate(account)).attempts).toBe(2)
  })
})

describe('a keep-alive connection that closes as it is reused', () => {
  test.concurrent('makes a write take one retry, and then succeed', async () => {
    await using service = await serve([json({ n: 1 }), reset, json({ n: 2 })])
    const { server, client } = service

    await client.virtualAccounts.deactivate(account)
    await soon()
    const result = await client.virtualAccounts.reactivate(account)

    expect(result).toMatchObject({ data: { n: 2 }, attempts: 2 })
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1, 2])
    expect(server.idempotencyKeys.slice(1)).toEqual(Array(2).fill(result.idempotencyKey))
  })

  test.concurrent('makes a write take one retry when it closes in an orderly way, too', async () => {
    await using service = await serve([json({ n: 1 }), close, json({ n: 2 })])
    const { server, client } = service
    await client.virtualAccounts.deactivate(account)
    await soon()
    const result = await client.virtualAccounts.reactivate(account)
    expect(result).toMatchObject({ data: { n: 2 }, attempts: 2 })
    expect(server.idempotencyKeys.slice(1)).toEqual(Array(2).fill(result.idempotencyKey))
  })

  test.concurrent('lets each write arrive, only ever with its own idempotency key', async () => {
    // Responds and closes at the same moment: the next write finds the socket open, half closed or closed.
    const respondAndClose = closeAfter(head(200, { 'content-length': 2 }), '{}')
    await using service = await serve(respondAndClose)
    const { server, client } = service
    const keys: (string | undefined)[] = []
    for (let call = 0; call < 10; call++) {
      keys.push((await client.virtualAccounts.deactivate(account)).idempotencyKey)
    }
    expect(new Set(keys).size).toBe(10)
    expect([...new Set(server.idempotencyKeys)]).toEqual(keys)
  })
})

// Node reuses a socket from the turn after the one in which it became free: hence `soon`.
describe('connections', () => {
  test.concurrent('are reused: five calls need one', async () => {
    await using service = await serve([page(), json({}), page(), json({}), respond(204)])
    const { server, client } = service
    for (const call of [
      () => client.transactions.list(),
      () => client.virtualAccounts.deactivate(account),
      () => client.transactions.list(),
      () => client.virtualAccounts.reactivate(account),
      () => client.virtualAccounts.deactivate(account),
    ]) {
      await call()
      await soon()
    }
    expect(server.requests).toHaveLength(5)
    expect(server.connections).toBe(1)
  })

  test.concurrent('are reused after errors and redirects, whose bodies are read', async () => {
    const big = JSON.stringify({ message: 'x'.repeat(200_000) })
    await using service = await serve([
      json(big, 400),
      respond(404, '<html>', { 'content-type': 'text/html' }),
      respond(302, 'moved', { location: '/elsewhere' }),
      json(big, 503),
      json({ n: 5 }),
    ])
    const { server, client } = service
    for (let call = 0; call < 3; call++) {
      await apiErrorOf('http', client.virtualAccounts.deactivate(account))
      await soon()
    }
    expect(await client.virtualAccounts.deactivate(account)).toMatchObject({ data: { n: 5 }, attempts: 2 })
    expect(server.connections).toBe(1)
  })

  test.concurrent('are reused after invalid responses', async () => {
    await using service = await serve([
      json({ data: 1 }),
      respond(200, '<html>', { 'content-type': 'text/html' }),
      page(),
    ])
    const { server, client } = service
    await apiErrorOf('invalid-response', Promise.resolve(client.transactions.list()))
    await soon()
    await apiErrorOf('invalid-response', client.virtualAccounts.deactivate(account))
    await soon()
    await client.transactions.list()
    expect(server.connections).toBe(1)
  })
})
