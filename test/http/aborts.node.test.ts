import { getEventListeners } from 'node:events'
import { AbortError, Client, isApiError, TimeoutError } from 'virtual-accounts'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { abortReasonOf, account, apiErrorOf, checkEach, checkInParallel, rejectionOf } from '../support.ts'
import { collectAll } from './any.ts'
import {
  clientOf,
  FaultServer,
  head,
  json,
  type Responder,
  reset,
  serve,
  silence,
  soon,
  stallAfter,
} from './fault-server.ts'
import { apiKey, passing, status, stub, stubbed, useFakeTime } from './stub.ts'

/** A new abort reason, to be recognised by its identity. */
const because = () => ({ because: 'the caller said so' })

afterEach(() => {
  vi.useRealTimers()
})

describe('an abort', () => {
  test('at once after the call sends nothing, even if fetch only listens for aborts', async () => {
    const { client, requests } = stubbed([status(200)])
    const controller = new AbortController()
    const { signal } = controller
    const call = abortReasonOf(client.virtualAccounts.deactivate(account, { signal }))
    controller.abort('enough')
    expect(await call).toBe('enough')
    await soon()
    expect(requests).toEqual([])
  })

  test('before the call sends nothing, and rejects with an AbortError whose cause is the reason', async () => {
    const { client, requests, events } = stubbed([status(200)])
    const reason = because()
    const signal = AbortSignal.abort(reason)
    for (const call of [
      () => client.virtualAccounts.deactivate(account, { signal }),
      () => client.request('GET', '/anything', { signal }),
      () => client.transactions.list({}, { signal }),
      () => client.transactions.list({}, { signal })[Symbol.asyncIterator]().next(),
    ])
      expect(await abortReasonOf(call())).toBe(reason)
    expect(requests).toEqual([])
    expect(events.filter(({ type }) => type === 'request')).toEqual([])
  })

  test('may have any reason', () =>
    checkEach(
      [
        ['none: an AbortError, as fetch has it', undefined],
        ['a string', 'stop'],
        ['null', null],
        ['zero', 0],
        ['NaN', Number.NaN],
        ['a TypeError', new TypeError('fetch failed')],
        ['a DOMException', new DOMException('too late', 'TimeoutError')],
      ],
      async ([, reason]) => {
        const { client } = stubbed(['hang'])
        const controller = new AbortController()
        const call = abortReasonOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
        await soon()
        controller.abort(reason)
        expect(await call).toBe(controller.signal.reason)
      },
    ))

  test('by AbortSignal.timeout rejects with an AbortError that is named TimeoutError', async () => {
    await using service = await serve(silence)
    const signal = AbortSignal.timeout(30)
    const error = await apiErrorOf('aborted', service.client.virtualAccounts.deactivate(account, { signal }))
    expect(error.cause).toBe(signal.reason)
    expect(error.name).toBe('TimeoutError')
    expect(error).toBeInstanceOf(AbortError)
    expect(error).not.toBeInstanceOf(TimeoutError)
    await service.server.closed()
  })

  test('says whether the write may have been applied, and has its idempotency key', () =>
    checkEach(
      [
        ['before it is sent', [], false, 0, 'aborted by your signal, before anything was sent.'],
        ['after it was sent', ['hang'], true, 1, 'The write may have been applied'],
        ['after a refusal', [status(429), 'hang'], false, 1, 'aborted by your signal.'],
        ['after a lost response', ['lost', 'hang'], true, 1, 'The write may have been applied'],
        ['in the second attempt', ['lost', 'hang'], true, 2, 'The write may have been applied'],
      ] as const,
      async ([, steps, outcomeUnknown, attempts, words]) => {
        useFakeTime()
        const { client, requests } = stubbed([...steps])
        const controller = new AbortController()
        const { signal } = controller
        const options = { signal, idempotencyKey: 'k1' }
        const call = apiErrorOf('aborted', client.virtualAccounts.deactivate(account, options))
        if (attempts > 0) await vi.advanceTimersByTimeAsync(attempts === 2 ? 5_000 : 1)
        controller.abort('enough')
        expect(await call).toMatchObject({ outcomeUnknown, attempts, idempotencyKey: 'k1', cause: 'enough' })
        expect((await call).message).toContain(words)
        expect(requests).toHaveLength(attempts)
      },
    ))

  test('whose reason a framework throws for control flow rejects with it, unless a write may have been applied', async () => {
    const reason = Object.assign(new Error('bail out'), { digest: 'BAILOUT' })
    const signal = AbortSignal.abort(reason)
    const { client, requests } = stubbed(['hang'])
    expect(await rejectionOf(client.virtualAccounts.deactivate(account, { signal }))).toBe(reason)
    const controller = new AbortController()
    const call = rejectionOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await vi.waitFor(() => expect(requests).toHaveLength(1))
    controller.abort(reason)
    const error = await call
    expect(isApiError(error) && error.outcomeUnknown && error.cause).toBe(reason)
  })

  test('while apiKey is pending rejects immediately, and a key that arrives later sends nothing', async () => {
    await using server = await FaultServer.start(json({}))
    const key = Promise.withResolvers<string>()
    const client = clientOf(server, { apiKey: () => key.promise })
    const controller = new AbortController()
    const reason = because()

    const call = abortReasonOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await soon()
    controller.abort(reason)
    expect(await call).toBe(reason)

    key.resolve(apiKey)
    // A request with the late key would have arrived before this one.
    await client.virtualAccounts.reactivate(account)
    await soon(20)
    expect(server.requests.map(({ path }) => path)).toEqual(['/customers/c1/virtual_accounts/v1/reactivate'])
  })

  test('while connecting rejects immediately, and sends nothing', async () => {
    // Speaks no TLS: the handshake never ends.
    await using server = await FaultServer.start(silence)
    server.onNextConnection(silence)
    const client = clientOf({ url: server.url.replace('http:', 'https:') })
    const controller = new AbortController()
    const reason = because()

    const call = abortReasonOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await server.connected()
    controller.abort(reason)

    expect(await call).toBe(reason)
    expect(server.requests).toEqual([])
  })

  const stalls: [string, Responder][] = [
    ['waiting for a response', silence],
    ['reading headers', stallAfter('HTTP/1.1 200 OK\r\ncontent-ty')],
    ['reading the body', stallAfter(head(200, { 'content-length': 100 }), '{"data":')],
    ['reading an error body', stallAfter(head(503, { 'content-length': 100 }), '{"error":')],
  ]

  test('wherever the response stalls rejects immediately, and closes the connection', () =>
    checkInParallel(stalls, async ([, stall]) => {
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
        const rejection = abortReasonOf(call(controller.signal))
        await server.received(before + 1)
        await soon(10)
        controller.abort(reason)
        expect(await rejection).toBe(reason)
        await server.closed(before + 1)
        expect(server.requests).toHaveLength(before + 1)
      }
    }))

  test('during the backoff rejects immediately, and sends nothing more', () =>
    checkEach(
      [
        ['after a 503 that asks for half a minute', status(503, { 'retry-after': '30' })],
        ['after a lost connection', 'lost'],
      ] as const,
      async ([, fault]) => {
        useFakeTime()
        const { client, requests, events } = stubbed([fault, status(204)])
        const controller = new AbortController()
        const reason = because()

        const call = abortReasonOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
        await vi.advanceTimersByTimeAsync(1)
        expect(events.at(-1)?.type).toBe('retry')
        controller.abort(reason)

        expect(await call).toBe(reason)
        expect(vi.getTimerCount()).toBe(0)
        await vi.advanceTimersByTimeAsync(120_000)
        expect(requests).toHaveLength(1)
      },
    ))

  test('rejects immediately although the response to an attempt that timed out came late', async () => {
    useFakeTime()
    const first = Promise.withResolvers<Response>()
    let calls = 0
    const fetch = () => (calls++ === 0 ? first.promise : new Promise<Response>(() => {}))
    const client = clientOf({ url: 'https://api.example.com' }, { fetch, timeout: 10_000 })
    const controller = new AbortController()
    const reason = because()
    const call = abortReasonOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await vi.advanceTimersByTimeAsync(10_600)
    expect(calls).toBe(2)
    first.resolve(new Response(null, { status: 503 }))
    for (let step = 0; step < 100; step++) await null
    const abortedAt = Date.now()
    controller.abort(reason)
    expect(await passing(call, 1)).toBe(reason)
    // Not at the time limit of the second attempt.
    expect(Date.now() - abortedAt).toBeLessThan(10)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('during the second attempt rejects with an AbortError, not with the error of the first', async () => {
    await using service = await serve([reset, silence])
    const { server, client } = service
    const controller = new AbortController()
    const reason = because()
    const call = abortReasonOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await server.received(2)
    controller.abort(reason)
    expect(await call).toBe(reason)
    expect(server.requests).toHaveLength(2)
  })

  test('from a listener rejects immediately, and sends nothing more', () =>
    checkEach(['request', 'response', 'retry'] as const, async type => {
      const controller = new AbortController()
      const reason = because()
      useFakeTime()
      const startedAt = Date.now()
      const { client, requests } = stubbed([status(503)], {
        onEvent: event => {
          if (event.type === type) controller.abort(reason)
        },
      })
      const call = client.virtualAccounts.deactivate(account, { signal: controller.signal })
      expect(await passing(abortReasonOf(call), 1)).toBe(reason)
      expect(Date.now() - startedAt).toBeLessThan(10)
      // Longer than any backoff.
      await vi.advanceTimersByTimeAsync(60_000)
      expect(requests).toHaveLength(type === 'request' ? 0 : 1)
    }))

  test('from the listener of a response event rejects unless the response is a success', () =>
    checkEach([200, 404, 503], async code => {
      const controller = new AbortController()
      const reason = because()
      const types: string[] = []
      const { client } = stubbed([status(code)], {
        onEvent: ({ type }) => {
          types.push(type)
          if (type === 'response') controller.abort(reason)
        },
      })
      const call = client.virtualAccounts.deactivate(account, { signal: controller.signal })
      if (code === 200) expect(await call).toMatchObject({ status: 200 })
      else expect(await abortReasonOf(call)).toBe(reason)
      expect(types).toEqual(['request', 'response', code === 200 ? 'success' : 'failure'])
    }))

  test('from the apiKey function sends nothing', async () => {
    const controller = new AbortController()
    const reason = because()
    const { client, requests } = stubbed([status(200)], {
      apiKey: () => {
        controller.abort(reason)
        return apiKey
      },
    })
    const call = client.virtualAccounts.deactivate(account, { signal: controller.signal })
    expect(await abortReasonOf(call)).toBe(reason)
    expect(requests).toEqual([])
  })

  test('while an asynchronous schema validates rejects immediately', async () => {
    const validating = Promise.withResolvers<void>()
    const validate = () => {
      validating.resolve()
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
      const rejection = abortReasonOf(call(controller.signal))
      await validating.promise
      await soon()
      controller.abort(reason)
      expect(await rejection).toBe(reason)
      expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    }
  })

  test('ends a call whose fetch, or whose body, ignores it', async () => {
    const never = () => new Promise<never>(() => {})
    const fetches = [never, async () => new Response(new ReadableStream({ pull: never }))]
    for (const fetch of fetches) {
      const client = new Client({ baseUrl: 'https://api.example.com', apiKey, fetch })
      const controller = new AbortController()
      const reason = because()
      const call = abortReasonOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
      await soon()
      controller.abort(reason)
      expect(await call).toBe(reason)
    }
  })

  test('cancels the body of a response that a fetch without signals gives later', async () => {
    const late = Promise.withResolvers<Response>()
    const cancelled = Promise.withResolvers<void>()
    const body = new ReadableStream({ cancel: () => cancelled.resolve() })
    const client = new Client({ baseUrl: 'https://api.example.com', apiKey, fetch: () => late.promise })
    const controller = new AbortController()
    const call = abortReasonOf(client.virtualAccounts.deactivate(account, { signal: controller.signal }))
    await soon()
    controller.abort()
    await call
    late.resolve(new Response(body))
    await expect(cancelled.promise).resolves.toBeUndefined()
  })
})

function item(number: number) {
  return { id: `t${number}`, amount: number, currency: 'EUR', description: '' }
}

describe('a signal shared by calls', () => {
  const emptyPage = () => Response.json({ data: [], page: 1, totalItems: 0, limit: 20 })

  test('ends all of them, and closes their connections', async () => {
    await using service = await serve(silence)
    const { server, client } = service
    const controller = new AbortController()
    const { signal } = controller
    const reason = because()
    const calls = [
      client.virtualAccounts.deactivate(account, { signal }),
      client.virtualAccounts.reactivate(account, { signal }),
      client.transactions.list({}, { signal }),
      client.transactions.list({}, { signal }).batches().next(),
    ].map(abortReasonOf)
    await server.received(4)
    controller.abort(reason)
    expect(await Promise.all(calls)).toEqual([reason, reason, reason, reason])
    for (const connection of [1, 2, 3, 4]) await server.closed(connection)
  })

  test('has no listener left after 4,000 of them', async () => {
    const { signal } = new AbortController()
    const { fetch, requests } = stub(emptyPage)
    const client = new Client({ baseUrl: 'https://api.example.com', apiKey, fetch })
    for (let call = 0; call < 4_000; call += 20) {
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          await client.virtualAccounts.deactivate(account, { signal })
          await client.transactions.list({}, { signal })
        }),
      )
    }
    expect(requests).toHaveLength(4_000)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('has one listener per call, whatever the number of retries', async () => {
    const { signal } = new AbortController()
    const counts: number[] = []
    const { client } = stubbed([status(503), status(200)], {
      onEvent: () => counts.push(getEventListeners(signal, 'abort').length),
    })
    await client.virtualAccounts.deactivate(account, { signal })
    expect(new Set(counts)).toEqual(new Set([1]))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('has no listener left after calls that failed, timed out or were never sent', async () => {
    const { signal } = new AbortController()
    for (const step of [
      status(404),
      'lost',
      'hang',
      status(200, { 'content-type': 'text/html' }, 'x'),
    ] as const) {
      const { client } = stubbed([step], { maxRetries: 0, timeout: 20 })
      await rejectionOf(client.virtualAccounts.deactivate(account, { signal }))
    }
    const { client } = stubbed([status(200)], { apiKey: () => Promise.reject(new Error('no key')) })
    await rejectionOf(client.virtualAccounts.deactivate(account, { signal }))
    await rejectionOf(
      client.virtualAccounts.deactivate({ customerId: '..', virtualAccountId: 'v' }, { signal }),
    )
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('has no listener left after iterations that ended, failed or were left early', async () => {
    const { signal } = new AbortController()
    const service = (isFailing: boolean) => async (url: string) => {
      const page = Number(new URL(url).searchParams.get('page'))
      return isFailing && page === 3
        ? new Response(null, { status: 403 })
        : Response.json({ data: [item(page)], page, totalItems: 9, limit: 1 })
    }
    for (const isFailing of [false, true]) {
      const { client } = stubbed([], { fetch: service(isFailing) })
      const list = client.transactions.list({}, { signal })
      const all = await collectAll(list).catch((error: unknown) => error)
      expect(all).toMatchObject(isFailing ? { status: 403 } : { length: 9 })
      for await (const _ of list) break
      for await (const _ of list.batches()) break
    }
    await soon()
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
