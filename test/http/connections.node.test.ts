import { ProxyAgent, fetch as undiciFetch } from 'undici'
import type { Fetch } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import { account, apiErrorOf, checkInParallel } from '../support.ts'
import {
  clientOf,
  close,
  closeAfter,
  FaultServer,
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
} from './fault-server.ts'
import { outcomeOf } from './stub.ts'

describe.concurrent('a keep-alive connection that closes as it is reused', () => {
  test('makes a write take one retry, and then succeed', () =>
    checkInParallel([['reset', reset] as const, ['closed', close] as const], async ([, fault]) => {
      await using service = await serve([json({ n: 1 }), fault, json({ n: 2 })])
      const { server, client } = service
      await client.virtualAccounts.deactivate(account)
      await soon()
      const result = await client.virtualAccounts.reactivate(account)
      expect(result).toMatchObject({ data: { n: 2 }, attempts: 2 })
      expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1, 2])
      expect(server.idempotencyKeys.slice(1)).toEqual(Array(2).fill(result.idempotencyKey))
    }))

  test('lets each write arrive, only ever with its own idempotency key', async () => {
    // Responds and closes at the same moment: the next write finds the socket open, half closed or closed.
    await using service = await serve(closeAfter(head(200, { 'content-length': 2 }), '{}'))
    const { server, client } = service
    const keys: (string | undefined)[] = []
    for (let call = 0; call < 10; call++) {
      keys.push((await client.virtualAccounts.deactivate(account)).idempotencyKey)
    }
    expect(new Set(keys).size).toBe(10)
    expect([...new Set(server.idempotencyKeys)]).toEqual(keys)
  })
})

test.concurrent('connections are reused after any response, as its body is read', async () => {
  const big = JSON.stringify({ message: 'x'.repeat(200_000) })
  const html = { 'content-type': 'text/html' }
  await using service = await serve([
    page(),
    respond(204),
    json(big, 400),
    respond(404, '<html>', html),
    respond(302, 'moved', { location: '/elsewhere' }),
    json({ data: 1 }),
    respond(200, '<html>', html),
    json(big, 503),
    json({ n: 5 }),
  ])
  const { server, client } = service
  const list = () => client.transactions.list()
  const write = () => client.virtualAccounts.deactivate(account)
  for (const call of [list, write, write, write, write, list, write]) {
    await Promise.resolve(call()).catch(() => {})
    await soon()
  }
  expect(await write()).toMatchObject({ data: { n: 5 }, attempts: 2 })
  expect(server.requests).toHaveLength(9)
  expect(server.connections).toBe(1)
})

describe.concurrent('a connection that fails', () => {
  test('because it is refused is retried, and the write cannot have been applied', async () => {
    const server = await FaultServer.start()
    await server[Symbol.asyncDispose]()
    const error = await apiErrorOf('connection', clientOf(server).virtualAccounts.deactivate(account))
    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 3, outcomeUnknown: false })
    expect(error.cause).toBeInstanceOf(Error)
  })

  test('at every address of its host applied nothing', async () => {
    const server = await FaultServer.start()
    await server[Symbol.asyncDispose]()
    const client = clientOf({ url: server.url.replace('127.0.0.1', 'localhost') }, { maxRetries: 0 })
    const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 1, outcomeUnknown: false })
  })

  test('applied nothing if a proxy refuses it, and may have if a proxy loses it', async () => {
    const refuse = (status: number) => closeAfter(`HTTP/1.1 ${status} No\r\n\r\n`)
    await checkInParallel(
      [
        ['403', refuse(403), false],
        ['407', refuse(407), false],
        ['502', refuse(502), false],
        ['a reset', reset, true],
        ['a reset after it has connected', resetAfter('HTTP/1.1 200 OK\r\n\r\n'), true],
      ] as const,
      async ([, responder, outcomeUnknown]) => {
        await using proxy = await FaultServer.start(responder)
        const dispatcher = new ProxyAgent(proxy.url)
        const fetch: Fetch = (url, init) => undiciFetch(url, { ...init, dispatcher })
        const client = clientOf({ url: 'https://api.example.com' }, { fetch, maxRetries: 0 })
        const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
        expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 1, outcomeUnknown })
        await dispatcher.destroy()
      },
    )
  })

  test('after a request was read may have applied it, although the next attempt cannot connect', async () => {
    // The first call leaves a connection that the second reuses; then the service is gone.
    await checkInParallel(
      [['a fresh connection', 0] as const, ['a reused one', 1] as const],
      async ([, calls]) => {
        await using service = await serve([...Array(calls).fill(json({})), silence], { maxRetries: 1 })
        const { server, client } = service
        for (let call = 0; call < calls; call++) await client.virtualAccounts.reactivate(account)
        const writing = apiErrorOf('connection', client.virtualAccounts.deactivate(account))
        await server.received(calls + 1)
        await server[Symbol.asyncDispose]()
        const error = await writing
        expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 2, outcomeUnknown: true })
        expect(error.message).toContain('could not connect')
      },
    )
  })

  test('because its host has no address is a ConnectionError with a known outcome', async () => {
    const client = clientOf({ url: 'https://does-not-exist.invalid' }, { maxRetries: 0 })
    const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 1, outcomeUnknown: false })
  })

  test('because of a self-signed certificate is not retried, and nothing is sent', async () => {
    await using server = await FaultServer.startSecure({}, json({}))
    const error = await apiErrorOf('connection', clientOf(server).virtualAccounts.deactivate(account))
    expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 1, outcomeUnknown: false })
    expect(server.connections).toBe(1)
    expect(server.requests).toEqual([])
  })

  test('in any other way is retried with the same key, and proves nothing', async () => {
    const faults: [string, protocol: string, Responder][] = [
      ['reset before the request is read', 'http:', resetAfter()],
      ['no TLS', 'https:', closeAfter(head(400))],
    ]
    await checkInParallel(faults, async ([, protocol, fault]) => {
      await using server = await FaultServer.start(json({}))
      server.onNextConnection(fault, fault, fault)
      const client = clientOf({ url: server.url.replace('http:', protocol) })
      const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
      expect(outcomeOf(error)).toEqual({ kind: 'connection', attempts: 3, outcomeUnknown: true })
      expect(server.connections).toBe(3)
      expect(server.requests).toEqual([])
    })
  })
})
