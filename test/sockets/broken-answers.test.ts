import { gzipSync } from 'node:zlib'
import { isApiError } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import {
  type Answer,
  answer,
  close,
  closeAfter,
  drip,
  FaultServer,
  flood,
  head,
  json,
  page,
  reset,
  resetAfter,
  silence,
  soon,
  stallAfter,
} from './fault-server.ts'
import { account, clientOf, failureOf, outcomeOf, rejectionOf, serve } from './support.ts'

const jsonHead = head(200, { 'content-type': 'application/json', 'content-length': 1000 })
const chunkedHead = head(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
const gzipped = gzipSync(JSON.stringify({ status: 'inactive', note: 'x'.repeat(5000) }))
const gzipHead = (length: number) =>
  head(200, { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': length })

describe('an answer that breaks off', () => {
  const faults: [string, Answer][] = [
    ['after the request was read', reset],
    ['in good order, before a byte of the answer', close],
    ['in the middle of the status line', resetAfter('HTTP/1.1 20')],
    ['in the middle of the headers', resetAfter('HTTP/1.1 200 OK\r\ncontent-type: applica')],
    ['in good order, in the middle of the headers', closeAfter('HTTP/1.1 200 OK\r\ncontent-type: applica')],
    ['after the headers', resetAfter(jsonHead)],
    ['in the middle of the body', resetAfter(jsonHead, '{"status":')],
    ['in good order, short of its content-length', closeAfter(jsonHead, '{"status":"inactive"}')],
    ['in good order, in the middle of a chunk', closeAfter(chunkedHead, 'ff\r\n{"status":')],
    ['in good order, between two chunks', closeAfter(chunkedHead, '15\r\n{"status":"inactive"}\r\n')],
    ['by a chunk size that is none', closeAfter(chunkedHead, '15\r\n{"status":"inactive"}\r\nzz\r\n')],
    ['in the middle of its gzip', closeAfter(gzipHead(gzipped.length), gzipped.subarray(0, 30))],
    ['by a gzip that is none', closeAfter(gzipHead(30), Buffer.alloc(30, 'not gzip '))],
    [
      'by a gzip whose content was damaged',
      closeAfter(
        gzipHead(gzipped.length),
        gzipped.map((byte, at) => (at > 20 && at < 40 ? byte ^ 0x55 : byte)),
      ),
    ],
    ['with garbage instead of HTTP', closeAfter('SSH-2.0-OpenSSH_9.2\r\n')],
    ['with the answer of a mail server', stallAfter('220 mail.example.com ESMTP\r\n')],
    ['with an endless header', resetAfter(`HTTP/1.1 200 OK\r\nx-endless: ${'x'.repeat(100_000)}`)],
  ]

  test.concurrent.each(faults)('%s: the call is tried again, with the same key', async (_where, fault) => {
    await using service = await serve([fault, json({ status: 'inactive' })])
    const { server, client } = service

    const result = await client.virtualAccounts.deactivate(account)

    expect(result).toMatchObject({ data: { status: 'inactive' }, attempts: 2 })
    expect(server.idempotencyKeys).toEqual([result.idempotencyKey, result.idempotencyKey])
  })

  test.concurrent.each(faults)('%s: a ConnectionError, if it goes on', async (_where, fault) => {
    await using service = await serve(fault, { maxRetries: 0 })
    const { server, client } = service

    const error = await failureOf('connection', client.virtualAccounts.deactivate(account))

    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 1, outcomeUnknown: true })
    expect(server.idempotencyKeys).toEqual([error.idempotencyKey])
    expect(error.message).toMatch(
      /^POST \/customers\/c1\/virtual_accounts\/v1\/deactivate: connection lost .*\.$/,
    )
  })

  test.concurrent.each(faults)('%s: a list is asked again, too', async (_where, fault) => {
    await using service = await serve([fault, page([])])
    const { server, client } = service
    expect((await client.transactions.list()).data).toEqual([])
    expect(server.requests.map(({ path }) => path)).toEqual(Array(2).fill('/transactions?page=1'))
    expect(server.idempotencyKeys).toEqual([undefined, undefined])
  })

  test.concurrent('says in which phase it was lost', async () => {
    await using before = await serve(reset, { maxRetries: 0 })
    await using meanwhile = await serve(resetAfter(jsonHead, '{'), { maxRetries: 0 })
    const errorBefore = await failureOf('connection', before.client.virtualAccounts.deactivate(account))
    const errorMeanwhile = await failureOf('connection', meanwhile.client.virtualAccounts.deactivate(account))
    expect(errorBefore.message).toContain('connection lost before an answer came')
    expect(errorMeanwhile.message).toContain('connection lost while reading the answer')
  })

  test.concurrent('before the request was read: nobody knows what arrived', async () => {
    await using service = await serve(json({}))
    const { server, client } = service
    server.onNextConnection(reset)

    const result = await client.virtualAccounts.deactivate(account)

    expect(result.attempts).toBe(2)
    expect(server.connections).toBe(2)
    expect(server.idempotencyKeys).toEqual([result.idempotencyKey])
  })

  test.concurrent('before the request was read, again and again: a ConnectionError after three attempts', async () => {
    await using service = await serve(json({}))
    const { server, client } = service
    server.onNextConnection(reset, reset, reset)
    const error = await failureOf('connection', client.virtualAccounts.deactivate(account))
    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 3, outcomeUnknown: true })
    expect(server.connections).toBe(3)
    expect(server.requests).toEqual([])
  })

  test.concurrent('once, and then with a 404: the write may have been applied all the same', async () => {
    await using service = await serve([resetAfter(jsonHead, '{'), answer(404)])
    const { server, client } = service
    const error = await failureOf('http', client.virtualAccounts.deactivate(account))
    expect(outcomeOf(error)).toEqual({ kind: 'http', status: 404, attempts: 2, outcomeUnknown: true })
    expect(server.idempotencyKeys).toEqual(Array(2).fill(error.idempotencyKey))
  })

  test.concurrent('of an error that can be tried again: the status counts, not the body', async () => {
    const cut = resetAfter(head(400, { 'content-length': 1000 }), '{"error":')
    await using service = await serve(cut)
    const { server, client } = service
    const error = await failureOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 400, body: undefined, attempts: 1, outcomeUnknown: false })
    expect(server.requests).toHaveLength(1)
  })
})

describe('an answer that is odd', () => {
  test.concurrent('because hints and a “continue” come before it, is read all the same', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'
    await using service = await serve(stallAfter(early, head(200, { 'content-length': 2 }), '{}'))
    const result = await service.client.virtualAccounts.deactivate(account)
    expect(result).toMatchObject({ status: 200, data: {}, attempts: 1 })
  })

  test.concurrent.each([600, 999])(
    'because of its status %i is an HttpError or a ConnectionError',
    async status => {
      await using service = await serve(answer(status, 'denied'), { maxRetries: 0 })
      const error = await rejectionOf(service.client.virtualAccounts.deactivate(account))
      expect(isApiError(error) && ['http', 'connection'].includes(error.kind)).toBe(true)
    },
  )

  test.concurrent('because it switches protocols unasked, ends within timeout', async () => {
    // Node 22 takes it for no answer, later ones for a broken connection.
    const unasked = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n'
    await using service = await serve(stallAfter(unasked), { maxRetries: 0, timeout: 100 })
    const error = await rejectionOf(service.client.virtualAccounts.deactivate(account))
    expect(isApiError(error) && ['connection', 'timeout'].includes(error.kind)).toBe(true)
  })

  test.concurrent('because it is followed by bytes that nobody asked for, does no harm to the next', async () => {
    const ok = head(200, { 'content-length': 2 })
    await using service = await serve([stallAfter(`${ok}{}${ok}[]`), json({ n: 2 })])
    const { server, client } = service
    expect((await client.virtualAccounts.deactivate(account)).data).toEqual({})
    await soon()
    expect((await client.virtualAccounts.deactivate(account)).data).toEqual({ n: 2 })
    expect(new Set(server.idempotencyKeys).size).toBe(2)
  })

  test.concurrent('because it has no length and ends with the connection, is whole', async () => {
    await using service = await serve(
      closeAfter(head(200, { 'content-type': 'application/json' }), '{"a":1}'),
    )
    expect((await service.client.virtualAccounts.deactivate(account)).data).toEqual({ a: 1 })
  })
})

describe('no connection', () => {
  test.concurrent('is tried again; nothing can have been applied', async () => {
    const server = await FaultServer.start()
    await server[Symbol.asyncDispose]()

    const error = await failureOf('connection', clientOf(server).virtualAccounts.deactivate(account))

    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 3, outcomeUnknown: false })
    expect(error.message).toContain('ECONNREFUSED')
    expect(error.message).not.toContain('may have been applied')
    expect(error.cause).toBeInstanceOf(Error)
  })

  test.concurrent('for a name that does not exist is told the same way', async () => {
    const server = { url: 'https://does-not-exist.invalid' }
    const call = clientOf(server, { maxRetries: 0 }).virtualAccounts.deactivate(account)
    expect(outcomeOf(await failureOf('connection', call))).toEqual({
      kind: 'connection',
      attempts: 1,
      outcomeUnknown: false,
    })
  })

  test.concurrent('because the TLS certificate is self-signed: one attempt, and nothing was sent', async () => {
    await using server = await FaultServer.startSecure(json({}))

    const error = await failureOf('connection', clientOf(server).virtualAccounts.deactivate(account))

    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 1, outcomeUnknown: false })
    expect(error.message).toContain('certificate')
    expect(server.connections).toBe(1)
    expect(server.requests).toEqual([])
  })

  test.concurrent('because it is no TLS that answers: tried again', async () => {
    await using service = await serve(json({}))
    const { server } = service
    server.onNextConnection(...Array(3).fill(closeAfter(head(400))))
    const client = clientOf({ url: server.url.replace('http:', 'https:') }, { maxRetries: 1 })
    expect(await failureOf('connection', client.virtualAccounts.deactivate(account))).toMatchObject({
      attempts: 2,
    })
    expect(server.connections).toBe(2)
  })
})

describe('timeout', () => {
  const timeout = 120

  const stalls: [string, Answer][] = [
    ['an answer that never comes', silence],
    ['headers that never end', stallAfter('HTTP/1.1 200 OK\r\ncontent-type: applica')],
    ['a body that never begins', stallAfter(jsonHead)],
    ['a body that stalls', stallAfter(jsonHead, '{"data":')],
    ['a chunked body that stalls', stallAfter(chunkedHead, '5\r\n{"a":\r\n')],
    ['a gzipped body that stalls', stallAfter(gzipHead(gzipped.length), gzipped.subarray(0, 20))],
    ['headers that come byte by byte', drip('HTTP/1.1 200 OK\r\nx-slow: ')],
    ['a body that comes byte by byte', drip(jsonHead)],
  ]

  test.concurrent.each(stalls)('ends %s, and the connection with it', async (_what, stall) => {
    await using service = await serve(stall, { timeout, maxRetries: 0 })
    const { server, client } = service

    const error = await failureOf('timeout', client.virtualAccounts.deactivate(account))

    expect(outcomeOf(error)).toEqual({ kind: 'timeout', attempts: 1, outcomeUnknown: true })
    expect(error.timeoutMs).toBe(timeout)
    await server.closed()
  })

  test.concurrent.each(stalls)('is followed by another attempt after %s', async (_what, stall) => {
    await using service = await serve([stall, json({ status: 'inactive' })], { timeout })
    const { server, client } = service
    const result = await client.virtualAccounts.deactivate(account)
    expect(result).toMatchObject({ data: { status: 'inactive' }, attempts: 2 })
    expect(server.idempotencyKeys).toEqual(Array(2).fill(result.idempotencyKey))
  })

  test.concurrent('is one for headers and body together', async () => {
    // Each of them comes within it, but not both.
    const slowly: Answer = async socket => {
      await soon(150)
      socket.write(head(200, { 'content-length': 2 }))
      await soon(200)
      socket.write('{}')
    }
    await using service = await serve(slowly, { timeout: 220, maxRetries: 0 })
    await failureOf('timeout', service.client.virtualAccounts.deactivate(account))
  })

  test.concurrent('of a call goes before that of the client', async () => {
    await using service = await serve(silence, { timeout: 60_000 })
    const call = service.client.virtualAccounts.deactivate(account, { timeout: 50, maxRetries: 0 })
    expect((await failureOf('timeout', call)).timeoutMs).toBe(50)
  })

  test.concurrent('does not pass for an answer that is slow but whole', async () => {
    const slowly: Answer = async socket => {
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

describe('a redirect is not followed', () => {
  const statuses = [301, 302, 303, 307, 308]

  test.concurrent.each(statuses)('%i to another origin: the key does not go there', async status => {
    await using elsewhere = await FaultServer.start(json({}))
    await using service = await serve(answer(status, 'moved', { location: `${elsewhere.url}/stolen` }))
    const { server, client } = service

    const ofWrite = await failureOf('http', client.virtualAccounts.deactivate(account))
    const ofList = await failureOf('http', Promise.resolve(client.transactions.list()))

    for (const error of [ofWrite, ofList]) {
      expect(error).toMatchObject({ status, attempts: 1, body: 'moved' })
      expect(error.headers.get('location')).toBe(`${elsewhere.url}/stolen`)
    }
    expect(server.requests).toHaveLength(2)
    expect(elsewhere.connections).toBe(0)
  })

  test.concurrent.each(statuses)('%i to itself: no loop', async status => {
    await using service = await serve(answer(status, '', { location: '/transactions?page=1' }))
    const { server, client } = service
    const error = await failureOf('http', Promise.resolve(client.transactions.list()))
    expect(error.status).toBe(status)
    expect(error.message).toContain('baseUrl')
    expect(server.requests).toHaveLength(1)
  })

  test.concurrent('without a location neither', async () => {
    await using service = await serve(answer(302))
    const error = await failureOf('http', service.client.virtualAccounts.deactivate(account))
    expect(error.status).toBe(302)
  })

  test.concurrent('whatever the caller’s own fetch is told by default', async () => {
    await using elsewhere = await FaultServer.start(json({}))
    await using service = await serve(answer(302, '', { location: elsewhere.url }), {
      fetch: (url, init) => fetch(url, { ...init }),
    })
    await failureOf('http', service.client.virtualAccounts.deactivate(account))
    expect(elsewhere.connections).toBe(0)
  })
})

describe('an answer that is too long', () => {
  test.concurrent('is cancelled at 10 MiB: the service need not send it all', async () => {
    const { answer, written } = flood(200, 50e6)
    await using service = await serve(answer)
    const { server, client } = service

    const error = await failureOf('response', client.virtualAccounts.deactivate(account))
    await server.closed()

    expect(outcomeOf(error)).toEqual({ kind: 'response', attempts: 1, outcomeUnknown: true })
    expect(error.message).toContain('10485760 bytes')
    expect(error.message).toContain('maxResponseBytes')
    expect(written()).toBeLessThan(40e6)
    expect(server.requests).toHaveLength(1)
  })

  test.concurrent('is counted after decompression: a gzip bomb does not go off', async () => {
    const bomb = gzipSync(Buffer.alloc(100e6, ' '), { level: 9 })
    expect(bomb.length).toBeLessThan(200_000)
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    await using service = await serve(answer(200, bomb, headers))
    const error = await failureOf('response', Promise.resolve(service.client.transactions.list()))
    expect(error).toMatchObject({ attempts: 1, status: 200 })
    expect(error.message).toContain('10485760 bytes')
  })

  test.concurrent('may be one byte beyond maxResponseBytes, but no answer that reaches it', async () => {
    await using service = await serve([answer(200, '0'.repeat(1000)), answer(200, '0'.repeat(1001))], {
      maxResponseBytes: 1000,
    })
    const { server, client } = service
    expect((await client.virtualAccounts.deactivate(account)).status).toBe(200)
    expect((await failureOf('response', client.virtualAccounts.deactivate(account))).status).toBe(200)
    expect(server.requests).toHaveLength(2)
  })

  test.concurrent('of a list is a ResponseError, too, and not tried again', async () => {
    const { answer } = flood(200, 50e6)
    await using service = await serve(answer, { maxResponseBytes: 100_000 })
    const { server, client } = service
    const error = await failureOf('response', Promise.resolve(client.transactions.list()))
    await server.closed()
    expect(error.attempts).toBe(1)
    expect(server.requests).toHaveLength(1)
  })

  test.concurrent('that is an error is told without its body, of which at most 1 MiB is read', async () => {
    const { answer, written } = flood(400, 50e6)
    await using service = await serve(answer)
    const { server, client } = service
    const error = await failureOf('http', client.virtualAccounts.deactivate(account))
    await server.closed()
    expect(error).toMatchObject({ status: 400, body: undefined, attempts: 1, outcomeUnknown: false })
    expect(written()).toBeLessThan(30e6)
  })

  test.concurrent('that is an error does not keep the call from another attempt', async () => {
    const { answer } = flood(503, 50e6)
    await using service = await serve([answer, json({})])
    expect((await service.client.virtualAccounts.deactivate(account)).attempts).toBe(2)
  })
})

describe('the body of an error that stalls', () => {
  const stalled = (status: number, ...parts: string[]) =>
    stallAfter(head(status, { 'content-type': 'application/json', 'content-length': 1000 }), ...parts)

  test.concurrent('does not hide the error behind a timeout', async () => {
    await using service = await serve(stalled(422), { timeout: 200 })
    const { server, client } = service
    const error = await failureOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 422, body: undefined, attempts: 1, outcomeUnknown: false })
    await server.closed()
  })

  test.concurrent('is left out, not shown in part', async () => {
    await using service = await serve(stalled(422, '12345'), { timeout: 200 })
    const error = await failureOf('http', service.client.virtualAccounts.deactivate(account))
    expect(error.status).toBe(422)
    expect(error.body).toBeUndefined()
  })

  test.concurrent('byte by byte does not either', async () => {
    await using service = await serve(drip(head(403, { 'content-length': 1000 })), { timeout: 200 })
    const { server, client } = service
    const error = await failureOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 403, body: undefined, attempts: 1 })
    await server.closed()
  })

  test.concurrent('leaves time for another attempt', async () => {
    await using service = await serve([stalled(503, '{"err'), json({})], { timeout: 200 })
    expect((await service.client.virtualAccounts.deactivate(account)).attempts).toBe(2)
  })
})

describe('a keep-alive connection that closes just when it is used again', () => {
  test.concurrent('costs a write an attempt, not its outcome', async () => {
    await using service = await serve([json({ n: 1 }), reset, json({ n: 2 })])
    const { server, client } = service

    await client.virtualAccounts.deactivate(account)
    await soon()
    const result = await client.virtualAccounts.reactivate(account)

    expect(result).toMatchObject({ data: { n: 2 }, attempts: 2 })
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1, 2])
    expect(server.idempotencyKeys.slice(1)).toEqual(Array(2).fill(result.idempotencyKey))
  })

  test.concurrent('in good order, too', async () => {
    await using service = await serve([json({ n: 1 }), close, json({ n: 2 })])
    const { server, client } = service
    await client.virtualAccounts.deactivate(account)
    await soon()
    const result = await client.virtualAccounts.reactivate(account)
    expect(result).toMatchObject({ data: { n: 2 }, attempts: 2 })
    expect(server.idempotencyKeys.slice(1)).toEqual(Array(2).fill(result.idempotencyKey))
  })

  test.concurrent('behind the answer before: each write arrives, and only ever with its own key', async () => {
    // Answers, and closes at the same moment: the next write finds the socket open, half closed or closed.
    const answerAndClose = closeAfter(head(200, { 'content-length': 2 }), '{}')
    await using service = await serve(answerAndClose)
    const { server, client } = service
    const keys: (string | undefined)[] = []
    for (let call = 0; call < 10; call++) {
      keys.push((await client.virtualAccounts.deactivate(account)).idempotencyKey)
    }
    expect(new Set(keys).size).toBe(10)
    expect([...new Set(server.idempotencyKeys)]).toEqual(keys)
  })
})

// Node uses a socket again from the turn after the one in which it became free: hence `soon`.
describe('sockets', () => {
  test.concurrent('are used again: one connection for five calls', async () => {
    await using service = await serve([page(), json({}), page(), json({}), answer(204)])
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

  test.concurrent('are used again after errors and redirects, whose bodies were read', async () => {
    const big = JSON.stringify({ message: 'x'.repeat(200_000) })
    await using service = await serve([
      json(big, 400),
      answer(404, '<html>', { 'content-type': 'text/html' }),
      answer(302, 'moved', { location: '/elsewhere' }),
      json(big, 503),
      json({ n: 5 }),
    ])
    const { server, client } = service
    for (let call = 0; call < 3; call++) {
      await failureOf('http', client.virtualAccounts.deactivate(account))
      await soon()
    }
    expect(await client.virtualAccounts.deactivate(account)).toMatchObject({ data: { n: 5 }, attempts: 2 })
    expect(server.connections).toBe(1)
  })

  test.concurrent('are used again after answers that break the interface', async () => {
    await using service = await serve([
      json({ data: 1 }),
      answer(200, '<html>', { 'content-type': 'text/html' }),
      page(),
    ])
    const { server, client } = service
    await failureOf('response', Promise.resolve(client.transactions.list()))
    await soon()
    await failureOf('response', client.virtualAccounts.deactivate(account))
    await soon()
    await client.transactions.list()
    expect(server.connections).toBe(1)
  })
})
