import { getEventListeners } from 'node:events'
import { Client } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import {
  type Answer,
  answer,
  FaultServer,
  head,
  json,
  page,
  reset,
  silence,
  soon,
  stallAfter,
} from './fault-server.ts'
import { account, apiKey, clientOf, rejectionOf, serve, status, stub, stubbed } from './support.ts'

/** An abort's reason, told apart from every other error by being itself. */
const because = () => ({ because: 'the caller said so' })

describe('an abort', () => {
  test('before the call sends nothing, and rejects with the very reason', async () => {
    const { client, requests, events } = stubbed([status(200)])
    const reason = because()
    const signal = AbortSignal.abort(reason)

    expect(await rejectionOf(client.virtualAccounts.deactivate(account, { signal }))).toBe(reason)
    expect(await rejectionOf(client.request('GET', '/anything', { signal }))).toBe(reason)
    expect(await rejectionOf(client.transactions.list({}, { signal }))).toBe(reason)
    expect(await rejectionOf(client.transactions.list({}, { signal })[Symbol.asyncIterator]().next())).toBe(
      reason,
    )
    expect(await rejectionOf(client.transactions.list({}, { signal }).pages().next())).toBe(reason)

    expect(requests).toEqual([])
    expect(events.filter(({ type }) => type === 'request')).toEqual([])
  })

  test.each([
    ['a string', 'stop'],
    ['null', null],
    ['zero', 0],
    ['a TypeError', new TypeError('fetch failed')],
    ['a DOMException', new DOMException('too late', 'TimeoutError')],
  ])('may have %s for its reason', async (_what, reason) => {
    const { client } = stubbed(['hang'])
    const controller = new AbortController()
    const call = rejectionOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await soon()
    controller.abort(reason)
    expect(await call).toBe(reason)
  })

  test('without a reason rejects as fetch does: with an AbortError', async () => {
    const { client } = stubbed(['hang'])
    const controller = new AbortController()
    const call = rejectionOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await soon()
    controller.abort()
    const error = await call
    expect(error).toBe(controller.signal.reason)
    expect(error).toMatchObject({ name: 'AbortError' })
  })

  test('by AbortSignal.timeout rejects with its TimeoutError, which is not that of the client', async () => {
    await using service = await serve(silence)
    const signal = AbortSignal.timeout(30)
    const error = await rejectionOf(service.client.virtualAccounts.deactivate(account, { signal }))
    expect(error).toBe(signal.reason)
    await service.server.closed()
  })

  test('while the key is asked for rejects at once; a key that comes later sends nothing', async () => {
    await using server = await FaultServer.start(json({}))
    const key = Promise.withResolvers<string>()
    const client = clientOf(server, { apiKey: () => key.promise })
    const controller = new AbortController()
    const reason = because()

    const call = rejectionOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await soon()
    controller.abort(reason)
    expect(await call).toBe(reason)

    key.resolve(apiKey)
    // Whatever the late key sent would have come before this.
    await client.virtualAccounts.reactivate(account)
    await soon(20)
    expect(server.requests.map(({ path }) => path)).toEqual(['/customers/c1/virtual_accounts/v1/reactivate'])
  })

  test('while connecting rejects at once, and sends nothing', async () => {
    // Speaks no TLS: the handshake never ends.
    await using server = await FaultServer.start(silence)
    server.onNextConnection(silence)
    const client = clientOf({ url: server.url.replace('http:', 'https:') })
    const controller = new AbortController()
    const reason = because()

    const call = rejectionOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await server.connected()
    controller.abort(reason)

    expect(await call).toBe(reason)
    expect(server.requests).toEqual([])
  })

  const stalls: [string, Answer][] = [
    ['waiting for an answer', silence],
    ['in the headers', stallAfter('HTTP/1.1 200 OK\r\ncontent-ty')],
    ['in the body', stallAfter(head(200, { 'content-length': 100 }), '{"data":')],
    ['in the body of an error', stallAfter(head(503, { 'content-length': 100 }), '{"error":')],
  ]

  test.each(stalls)(
    'while %s rejects at once, and the service sees the connection close',
    async (_what, stall) => {
      await using service = await serve(stall)
      const { server, client } = service
      for (const call of [
        (signal: AbortSignal) => client.virtualAccounts.deactivate(account, { signal }),
        (signal: AbortSignal) => client.transactions.list({}, { signal }),
        (signal: AbortSignal) => client.transactions.list({}, { signal })[Symbol.asyncIterator]().next(),
      ]) {
        const before = server.requests.length
        const controller = new AbortController()
        const reason = because()
        const rejection = rejectionOf(call(controller.signal))
        await server.received(before + 1)
        await soon(10)
        controller.abort(reason)
        expect(await rejection).toBe(reason)
        await server.closed(before + 1)
        expect(server.requests).toHaveLength(before + 1)
      }
    },
  )

  test.each([
    ['after a 503 that asks for half a minute', answer(503, '', { 'retry-after': 30 })],
    ['after a lost connection', reset],
  ])('in the wait %s rejects at once, and nothing more is sent', async (_what, fault) => {
    const waiting = Promise.withResolvers<void>()
    await using service = await serve([fault, json({})], {
      onEvent: ({ type }) => {
        if (type === 'retry') waiting.resolve()
      },
    })
    const { server, client } = service
    const controller = new AbortController()
    const reason = because()

    const call = rejectionOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await waiting.promise
    await soon()
    controller.abort(reason)

    expect(await call).toBe(reason)
    expect(server.requests).toHaveLength(1)
  })

  test('in a second attempt rejects with the reason, not with what the first one met', async () => {
    await using service = await serve([reset, silence])
    const { server, client } = service
    const controller = new AbortController()
    const reason = because()
    const call = rejectionOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await server.received(2)
    controller.abort(reason)
    expect(await call).toBe(reason)
    expect(server.requests).toHaveLength(2)
  })

  test.each(['request', 'response', 'retry'] as const)(
    'from a listener told of a %s sends nothing more',
    async type => {
      const controller = new AbortController()
      const reason = because()
      const { client, requests } = stubbed([status(503)], {
        onEvent: event => {
          if (event.type === type) controller.abort(reason)
        },
      })
      const call = client.virtualAccounts.deactivate(account, { signal: controller.signal })
      expect(await rejectionOf(call)).toBe(reason)
      await soon(20)
      expect(requests).toHaveLength(type === 'request' ? 0 : 1)
    },
  )

  test('from the function that gives the key sends nothing', async () => {
    const controller = new AbortController()
    const reason = because()
    const { client, requests } = stubbed([status(200)], {
      apiKey: () => {
        controller.abort(reason)
        return apiKey
      },
    })
    const call = client.virtualAccounts.deactivate(account, { signal: controller.signal })
    expect(await rejectionOf(call)).toBe(reason)
    expect(requests).toEqual([])
  })

  test('while several calls share the wait for a key ends one of them, not the others', async () => {
    const key = Promise.withResolvers<string>()
    const { client, requests } = stubbed([status(204)], { apiKey: () => key.promise })
    const controller = new AbortController()
    const reason = because()
    const aborted = rejectionOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    const other = client.virtualAccounts.reactivate(account)
    await soon()
    controller.abort(reason)
    expect(await aborted).toBe(reason)
    key.resolve(apiKey)
    expect((await other).status).toBe(204)
    expect(requests.map(({ url }) => url.split('/').at(-1))).toEqual(['reactivate'])
  })

  test('while an asynchronous schema looks at the answer rejects at once', async () => {
    const looking = Promise.withResolvers<void>()
    const validate = () => {
      looking.resolve()
      return new Promise<never>(() => {})
    }
    const schema = { '~standard': { version: 1 as const, vendor: 'test', validate } }
    const { client } = stubbed([() => Response.json({ data: [1], page: 1, totalItems: 1, limit: 1 })])
    for (const call of [
      (signal: AbortSignal) => client.request('POST', '/x', { signal, schema }),
      (signal: AbortSignal) => client.list('/x', {}, { signal, schema }),
    ]) {
      const controller = new AbortController()
      const reason = because()
      const rejection = rejectionOf(call(controller.signal))
      await looking.promise
      await soon()
      controller.abort(reason)
      expect(await rejection).toBe(reason)
      expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    }
  })

  test('ends a call whose fetch ignores signals', async () => {
    const fetch = () => new Promise<Response>(() => {})
    const client = new Client({ baseUrl: 'https://api.example.com', apiKey, fetch })
    const controller = new AbortController()
    const reason = because()
    const call = rejectionOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await soon()
    controller.abort(reason)
    expect(await call).toBe(reason)
  })

  test('ends a call whose body ignores it', async () => {
    const fetch = async () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }))
    const client = new Client({ baseUrl: 'https://api.example.com', apiKey, fetch })
    const controller = new AbortController()
    const reason = because()
    const call = rejectionOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await soon()
    controller.abort(reason)
    expect(await call).toBe(reason)
  })

  test('after the call has ended changes nothing', async () => {
    const { client, events } = stubbed([status(200)])
    const controller = new AbortController()
    const result = await client.virtualAccounts.deactivate(account, { signal: controller.signal })
    controller.abort(because())
    await soon()
    expect(result.status).toBe(200)
    expect(events.map(({ type }) => type)).toEqual(['request', 'response'])
  })

  test('is told as the last event of the call', async () => {
    const { client, events } = stubbed(['hang'])
    const controller = new AbortController()
    const reason = because()
    const call = rejectionOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await soon()
    controller.abort(reason)
    await call
    expect(events.map(({ type }) => type)).toEqual(['request', 'failure'])
    expect(events.at(-1)).toMatchObject({ attempt: 1, error: reason })
  })

  test('ends only the calls that were given its signal', async () => {
    const gates: PromiseWithResolvers<Response>[] = []
    const fetch = () => {
      const gate = Promise.withResolvers<Response>()
      gates.push(gate)
      return gate.promise
    }
    const client = new Client({ baseUrl: 'https://api.example.com', apiKey, fetch })
    const controller = new AbortController()
    const aborted = rejectionOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    const other = client.virtualAccounts.reactivate(account)
    await soon()
    controller.abort(because())
    expect(await aborted).toBe(controller.signal.reason)
    for (const { resolve } of gates) resolve(new Response(null, { status: 204 }))
    expect((await other).status).toBe(204)
  })

  test('of a walk closes the connections of the pages that are on their way', async () => {
    const envelope = (number: number) => ({ data: [item(number)], page: number, totalItems: 50, limit: 1 })
    const answerOrHang: Answer = (socket, request) => {
      const number = Number(new URL(request.path, 'http://_').searchParams.get('page'))
      if (number <= 2) void json(envelope(number))(socket, request)
    }
    await using service = await serve(answerOrHang)
    const { server, client } = service
    const controller = new AbortController()
    const reason = because()

    const seen: string[] = []
    const walk = rejectionOf(
      (async () => {
        for await (const { id } of client.transactions.list({ limit: 1 }, { signal: controller.signal })) {
          seen.push(id)
        }
      })(),
    )
    await server.received(4)
    controller.abort(reason)

    expect(await walk).toBe(reason)
    expect(seen).toEqual(['t1', 't2'])
    const hanging = server.requests.filter(({ path }) => !/page=[12]\b/.test(path))
    for (const { connection } of hanging) await server.closed(connection)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })
})

function item(number: number) {
  return { id: `t${number}`, amount: number, currency: 'EUR', description: '' }
}

describe('a signal shared by many calls', () => {
  const emptyPage = () => Response.json({ data: [], page: 1, totalItems: 0, limit: 20 })

  test('ends every call that is under way with it, and closes all their connections', async () => {
    await using service = await serve(silence)
    const { server, client } = service
    const controller = new AbortController()
    const { signal } = controller
    const reason = because()
    const calls = [
      client.virtualAccounts.deactivate(account, { signal }),
      client.virtualAccounts.reactivate(account, { signal }),
      client.transactions.list({}, { signal }),
      client.transactions.list({}, { signal }).pages().next(),
    ].map(rejectionOf)
    await server.received(4)
    controller.abort(reason)
    expect(await Promise.all(calls)).toEqual([reason, reason, reason, reason])
    for (const connection of [1, 2, 3, 4]) await server.closed(connection)
  })

  test('has no listener left after 10,000 of them', { timeout: 30_000 }, async () => {
    const { signal } = new AbortController()
    const { fetch, requests } = stub(emptyPage)
    const client = new Client({ baseUrl: 'https://api.example.com', apiKey, fetch })
    for (let call = 0; call < 10_000; call += 20) {
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          await client.virtualAccounts.deactivate(account, { signal })
          await client.transactions.list({}, { signal })
        }),
      )
    }
    expect(requests).toHaveLength(10_000)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('has one listener for each call that is under way, however often that is tried again', async () => {
    const { signal } = new AbortController()
    const counts: number[] = []
    const { client } = stubbed([status(503), status(200)], {
      onEvent: () => counts.push(getEventListeners(signal, 'abort').length),
    })
    await client.virtualAccounts.deactivate(account, { signal })
    expect(new Set(counts)).toEqual(new Set([1]))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('has none left after calls that failed, timed out, or were never sent', async () => {
    const { signal } = new AbortController()
    for (const happening of [
      status(404),
      'lost',
      'hang',
      status(200, { 'content-type': 'text/html' }, 'x'),
    ] as const) {
      const { client } = stubbed([happening], { maxRetries: 0, timeout: 20 })
      await rejectionOf(client.virtualAccounts.deactivate(account, { signal }))
    }
    const { client } = stubbed([status(200)], { apiKey: () => Promise.reject(new Error('no key')) })
    await rejectionOf(client.virtualAccounts.deactivate(account, { signal }))
    await rejectionOf(
      client.virtualAccounts.deactivate({ customerId: '..', virtualAccountId: 'v' }, { signal }),
    )
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('has none left after walks that ended, failed, or were left', async () => {
    const { signal } = new AbortController()
    const pageOf = (url: string) => Number(new URL(url).searchParams.get('page'))
    const fetch = async (url: string) =>
      Response.json({ data: [item(pageOf(url))], page: pageOf(url), totalItems: 9, limit: 1 })
    const client = new Client({ baseUrl: 'https://api.example.com', apiKey, fetch })
    const list = client.transactions.list({}, { signal })
    for await (const _ of list);
    for await (const _ of list) break
    for await (const _ of list.pages()) break
    await soon()
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

test('a loop that is left closes the connections of the pages that are on their way', async () => {
  const answerOrHang: Answer = (socket, request) => {
    const number = Number(new URL(request.path, 'http://_').searchParams.get('page'))
    if (number <= 2)
      void json({ data: [item(number)], page: number, totalItems: 50, limit: 1 })(socket, request)
  }
  await using service = await serve([answerOrHang])
  const { server, client } = service
  for await (const { id } of client.transactions.list({ limit: 1 })) {
    if (id !== 't2') continue
    await server.received(3)
    break
  }
  const hanging = server.requests.filter(({ path }) => !/page=[12]\b/.test(path))
  expect(hanging.length).toBeGreaterThan(0)
  for (const { connection } of hanging) await server.closed(connection)
  const count = server.requests.length
  await soon(30)
  expect(server.requests).toHaveLength(count)
})

test('a call without a signal needs none', async () => {
  await using service = await serve(page())
  expect((await service.client.transactions.list({}, { signal: undefined })).data).toEqual([])
})
