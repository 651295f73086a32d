import { isApiError } from 'virtual-accounts'
import { describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf, rejectionOf } from '../support.ts'
import { clientOf, FaultServer, json, reset, respond, serve, silence, soon } from './fault-server.ts'
import { apiKey, status, stubbed } from './stub.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('a request on the wire', () => {
  test.concurrent('without a body has its three headers and a Content-Length of 0', async () => {
    await using service = await serve(json({}))
    const { server, client } = service

    const { idempotencyKey } = await client.virtualAccounts.deactivate(account)

    expect(server.requests).toHaveLength(1)
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      path: '/customers/c1/virtual_accounts/v1/deactivate',
      headers: {
        accept: 'application/json',
        'api-key': apiKey,
        'content-type': 'application/json',
        'content-length': '0',
        'idempotency-key': idempotencyKey,
      },
      body: '',
    })
  })

  test.concurrent('carries its JSON body on every attempt', async () => {
    await using service = await serve([reset, respond(503), json({})])
    const { server, client } = service
    const body = { reason: 'späte Zahlung 💶', nested: [1, null, true] }

    await client.virtualAccounts.deactivate(account, { body })

    const received = server.requests.map(({ body }) => JSON.parse(Buffer.from(body, 'latin1').toString()))
    expect(received).toEqual([body, body, body])
  })
})

describe('a header value with a control character', () => {
  const controls = [...Array.from({ length: 32 }, (_, code) => code).filter(code => code !== 9), 0x7f].map(
    code => [code.toString(16).padStart(2, '0'), String.fromCharCode(code)] as const,
  )

  test.each(controls)(
    '0x%s is a TypeError that names the header, and nothing is sent',
    async (_code, character) => {
      const { client, requests, events } = stubbed([status(204)])
      const headers = { 'X-Tenant': `secret${character}value` }
      for (const call of [
        () => client.virtualAccounts.deactivate(account, { headers }),
        async () => client.transactions.list({}, { headers }),
        async () => client.withOptions({ headers }),
      ]) {
        const error = await rejectionOf(call())
        expect(error).toBeInstanceOf(TypeError)
        expect((error as Error).message).toContain('headers["X-Tenant"]')
        expect((error as Error).stack).not.toContain('secret')
      }
      expect(requests).toEqual([])
      expect(events).toEqual([])
    },
  )

  test('is sent if that is a tab, as is Latin-1', async () => {
    const { client, requests } = stubbed([status(204)])
    const value = 'a\tb \xfc\xff'
    await client.virtualAccounts.deactivate(account, { headers: { 'X-Tenant': value } })
    expect(requests[0]?.headers.get('X-Tenant')).toBe(value)
  })
})

describe('an idempotency key', () => {
  test.concurrent('is the same on every attempt, on the result, and on the error', async () => {
    await using service = await serve([reset, respond(503), json({}), reset, respond(500), respond(422)])
    const { server, client } = service

    const result = await client.virtualAccounts.deactivate(account)
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))

    expect(result.idempotencyKey).toMatch(uuid)
    expect(error.idempotencyKey).toMatch(uuid)
    expect(result.idempotencyKey).not.toBe(error.idempotencyKey)
    expect(server.idempotencyKeys).toEqual([
      ...Array(3).fill(result.idempotencyKey),
      ...Array(3).fill(error.idempotencyKey),
    ])
  })

  test.concurrent('may be the caller’s own, so that a failed write is repeated safely', async () => {
    await using service = await serve([respond(500), json({ done: true })])
    const { server, client } = service
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account, { maxRetries: 0 }))
    expect(error.outcomeUnknown).toBe(true)
    const { idempotencyKey } = error

    const again = await client.virtualAccounts.deactivate(account, { idempotencyKey })

    expect(again).toMatchObject({ data: { done: true }, idempotencyKey })
    expect(server.idempotencyKeys).toEqual([idempotencyKey, idempotencyKey])
  })

  test.concurrent('is a fresh one for each of many concurrent calls', async () => {
    await using service = await serve(json({}))
    const { server, client } = service
    await Promise.all(Array.from({ length: 50 }, () => client.virtualAccounts.deactivate(account)))
    expect(new Set(server.idempotencyKeys).size).toBe(50)
    for (const key of server.idempotencyKeys) expect(key).toMatch(uuid)
  })
})

describe('an apiKey function', () => {
  const problem = { vault: 'sealed' }
  // As a lost connection looks, which is retried.
  const fetchFailed = new TypeError('fetch failed')

  test.each<[string, unknown, () => string | Promise<string>]>([
    [
      'throws',
      fetchFailed,
      () => {
        throw fetchFailed
      },
    ],
    ['rejects', problem, () => Promise.reject(problem)],
  ])(
    'that %s lets the call reject with the same error, and nothing is retried',
    async (_how, problem, getKey) => {
      let calls = 0
      const { client, requests, events } = stubbed([status(200)], {
        apiKey: () => {
          calls++
          return getKey()
        },
      })
      expect(await rejectionOf(client.virtualAccounts.deactivate(account))).toBe(problem)
      expect(await rejectionOf(client.transactions.list())).toBe(problem)
      expect(calls).toBe(2)
      expect(requests).toEqual([])
      expect(events.map(({ type }) => type)).toEqual(['failure', 'failure'])
    },
  )

  test('that fails once is called again by the next call', async () => {
    let calls = 0
    const { client } = stubbed([status(204)], {
      apiKey: async () => {
        if (++calls === 1) throw problem
        return apiKey
      },
    })
    expect(await rejectionOf(client.virtualAccounts.deactivate(account))).toBe(problem)
    expect((await client.virtualAccounts.deactivate(account)).status).toBe(204)
  })

  test('that never settles is called again after it took too long', async () => {
    let calls = 0
    const getKey = () => (++calls === 1 ? new Promise<string>(() => {}) : apiKey)
    const { client } = stubbed([status(204)], { apiKey: getKey as () => Promise<string>, timeout: 50 })
    const first = client.virtualAccounts.deactivate(account, { maxRetries: 0 })
    const second = client.virtualAccounts.reactivate(account, { maxRetries: 0 })
    await apiErrorOf('timeout', first)
    await apiErrorOf('timeout', second)
    expect(calls).toBe(1)
    expect((await client.virtualAccounts.deactivate(account, { timeout: 10_000 })).status).toBe(204)
    expect(calls).toBe(2)
  })

  test.each([
    'secret_with\nline_break',
    'secret_with\0zero',
    ' secret_with_space',
    'secret_with_space\t',
    'secret_beyond_latin_€',
    '',
    undefined,
    null,
    42_424_242,
    { secret: 'secret_in_object' },
    ['secret_in_array'],
  ])('that returns %j is a TypeError that does not show it, and nothing is sent', async value => {
    const { client, requests } = stubbed([status(200)], { apiKey: () => value as string })
    const error = await rejectionOf(client.virtualAccounts.deactivate(account))
    expect(error).toBeInstanceOf(TypeError)
    expect(String((error as Error).stack)).not.toMatch(/secret_|42424242/)
    expect((error as Error).message).toContain('apiKey')
    expect(requests).toEqual([])
  })

  test.concurrent('that is slow is a TimeoutError, and a key that arrives too late sends nothing', async () => {
    await using server = await FaultServer.start(json({}))
    const key = Promise.withResolvers<string>()
    const client = clientOf(server, { apiKey: () => key.promise, timeout: 50, maxRetries: 0 })

    const error = await apiErrorOf('timeout', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ attempts: 1, outcomeUnknown: false, timeoutMs: 50 })

    key.resolve(apiKey)
    await client.virtualAccounts.reactivate(account, { timeout: 10_000 })
    await soon(20)
    expect(server.requests.map(({ path }) => path)).toEqual(['/customers/c1/virtual_accounts/v1/reactivate'])
  })

  test.concurrent('shares the timeout with its request', async () => {
    // 100 ms for the key and 100 ms for the response: each arrives within the timeout, but not both.
    await using server = await FaultServer.start(async socket => {
      await soon(100)
      await json({})(socket, { method: '', path: '', headers: {}, body: '', connection: 0 })
    })
    const getKey = async () => {
      await soon(100)
      return apiKey
    }
    const client = clientOf(server, { apiKey: getKey, timeout: 150, maxRetries: 0 })
    expect((await apiErrorOf('timeout', client.virtualAccounts.deactivate(account))).outcomeUnknown).toBe(
      true,
    )
  })
})

describe('a custom fetch', () => {
  test('is called with a URL string and a plain init that follows no redirects and caches nothing', async () => {
    const { client, requests } = stubbed([status(200, {}, '{"data":[],"page":1,"totalItems":0,"limit":20}')])
    await client.transactions.list()
    await client.virtualAccounts.deactivate(account).catch(() => {})
    for (const { url, init } of requests) {
      expect(typeof url).toBe('string')
      expect(Object.getPrototypeOf(init)).toBe(Object.prototype)
      expect(Object.getPrototypeOf(init.headers)).toBe(Object.prototype)
      expect(init).toMatchObject({ redirect: 'manual', cache: 'no-store' })
      expect(init.signal).toBeInstanceOf(AbortSignal)
      // Other implementations refuse or misread undefined.
      expect(Object.values(init)).not.toContain(undefined)
    }
    expect(requests.map(({ init }) => init.method)).toEqual(['GET', 'POST'])
    expect(requests[1]?.init.body).toBeUndefined()
  })

  test('may reject or resolve with anything: it is a ConnectionError', async () => {
    for (const thrown of [
      'text',
      undefined,
      null,
      0,
      {},
      Object.create(null),
      Symbol('odd'),
      10n,
      () => {},
    ]) {
      const { client } = stubbed([], { fetch: () => Promise.reject(thrown), maxRetries: 0 })
      await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
    }
    for (const given of [undefined, null, 'text', {}, { ok: true, status: 200 }]) {
      const fetch = vi.fn(async () => given as Response)
      const { client } = stubbed([], { fetch })
      await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
      // It would resolve with no Response again.
      expect(fetch).toHaveBeenCalledOnce()
    }
  })

  const odd = (response: object) => response as unknown as Response
  const refuse = () => {
    throw new Error('not here')
  }
  class HeadersThatFail extends Headers {
    override get(): never {
      return refuse()
    }
  }
  const thatFailTo: [string, object][] = [
    ['be iterated', { get: () => null, [Symbol.iterator]: refuse }],
    ['get a header', new HeadersThatFail()],
    ['exist', Object.create(null, { [Symbol.iterator]: { get: refuse } })],
    [
      'offer more than get',
      new (class {
        get() {
          return null
        }
      })(),
    ],
  ]

  test.each(thatFailTo)(
    'may resolve with headers that fail to %s: a write gets an ApiError',
    async (_what, headers) => {
      for (const code of [200, 204, 404, 500]) {
        const response = odd({ status: code, type: 'basic', headers, body: null })
        const { client, events } = stubbed([() => response], { maxRetries: 0 })
        const error = await rejectionOf(client.virtualAccounts.deactivate(account))
        if (!isApiError(error)) throw new Error(`no ApiError after a ${code}`, { cause: error })
        expect(error.idempotencyKey).toMatch(uuid)
        if (code < 300) expect(error.outcomeUnknown).toBe(true)
        expect(events.at(-1)).toMatchObject({ type: 'failure', error })
      }
    },
  )

  test('may resolve with a response whose properties throw: a write gets an ApiError', async () => {
    for (const name of ['status', 'type', 'headers', 'body']) {
      const response = { status: 200, type: 'basic', headers: new Headers(), body: null }
      Object.defineProperty(response, name, { get: refuse })
      const { client } = stubbed([() => odd(response)], { maxRetries: 0 })
      const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
      expect(error.outcomeUnknown).toBe(true)
    }
  })

  test('may resolve with a response whose other properties throw: the write succeeds', async () => {
    for (const name of ['url', 'clone', 'json']) {
      const response = { status: 200, type: 'basic', headers: new Headers(), body: null }
      Object.defineProperty(response, name, { get: refuse })
      const { client, requests } = stubbed([() => odd(response)])
      expect(await client.virtualAccounts.deactivate(account)).toMatchObject({ status: 200, attempts: 1 })
      expect(requests).toHaveLength(1)
    }
  })

  describe('without streams', () => {
    /** As React Native and whatwg-fetch: `body` is undefined. */
    const withoutStreams =
      (text: string, code = 200) =>
      () =>
        odd({
          status: code,
          type: 'default',
          headers: new Headers({ 'content-type': 'application/json' }),
          body: undefined,
          arrayBuffer: async () => new TextEncoder().encode(text).buffer,
        })

    test('has its response bodies read by arrayBuffer', async () => {
      const { client } = stubbed([withoutStreams('{"status":"inactive"}')])
      expect((await client.virtualAccounts.deactivate(account)).data).toEqual({ status: 'inactive' })
      const list = stubbed([withoutStreams('{"data":[],"page":1,"totalItems":0,"limit":20}')])
      expect((await list.client.transactions.list()).totalItems).toBe(0)
      const failing = stubbed([withoutStreams('{"code":7}', 422)])
      const error = await apiErrorOf('http', failing.client.virtualAccounts.deactivate(account))
      expect(error.body).toEqual({ code: 7 })
    })

    test('has maxResponseBytes applied to what arrayBuffer gives', async () => {
      const { client } = stubbed([withoutStreams('12345678901')], { maxResponseBytes: 10 })
      const error = await apiErrorOf('invalid-response', client.virtualAccounts.deactivate(account))
      expect(error.message).toContain('at most 10 bytes')
    })

    test('has a body of null read as empty', async () => {
      const arrayBuffer = vi.fn()
      const response = { status: 200, type: 'default', headers: new Headers(), body: null, arrayBuffer }
      const { client } = stubbed([() => odd(response)])
      expect((await client.virtualAccounts.deactivate(account)).data).toBeUndefined()
      expect(arrayBuffer).not.toHaveBeenCalled()
    })
  })

  test('without streams may stall in an error body: it is still an HttpError', async () => {
    const withoutStreams = {
      ok: false,
      status: 422,
      headers: new Headers(),
      body: {},
      arrayBuffer: () => new Promise(() => {}),
    } as unknown as Response
    const { client } = stubbed([() => withoutStreams], { timeout: 800 })
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 422, body: undefined, attempts: 1 })
  })
})

test('forty concurrent calls without a response all end with a TimeoutError', async () => {
  await using service = await serve(silence, { timeout: 1500, maxRetries: 0 })
  const { server, client } = service
  const calls = Array.from({ length: 40 }, () =>
    apiErrorOf('timeout', client.virtualAccounts.deactivate(account)),
  )
  for (const { attempts } of await Promise.all(calls)) expect(attempts).toBe(1)
  expect(server.requests).toHaveLength(40)
})
