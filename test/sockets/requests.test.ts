import { describe, expect, test } from 'vitest'
import { answer, FaultServer, json, page, reset, silence, soon } from './fault-server.ts'
import { account, apiKey, clientOf, failureOf, rejectionOf, serve, status, stubbed } from './support.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('on the wire', () => {
  test.concurrent.each(['deactivate', 'reactivate'] as const)(
    '%s carries its three headers, and no body',
    async change => {
      await using service = await serve(json({}))
      const { server, client } = service

      const { idempotencyKey } = await client.virtualAccounts[change](account)

      expect(server.requests).toHaveLength(1)
      expect(server.requests[0]).toMatchObject({
        method: 'POST',
        path: `/customers/c1/virtual_accounts/v1/${change}`,
        headers: {
          accept: 'application/json',
          'api-key': apiKey,
          'content-type': 'application/json',
          'content-length': '0',
          'idempotency-key': idempotencyKey,
        },
        body: '',
      })
    },
  )

  test.concurrent('a list carries the key, and neither an idempotency key nor a content type', async () => {
    await using service = await serve(json({ data: [], page: 3, totalItems: 0, limit: 50 }))
    const { server, client } = service

    await client.transactions.list({ page: 3, limit: 50, query: { currency: ['EUR', 'USD'], q: 'a&b' } })

    const [request] = server.requests
    expect(request).toMatchObject({
      method: 'GET',
      body: '',
      headers: { accept: 'application/json', 'api-key': apiKey },
    })
    expect(request?.path).toBe('/transactions?page=3&limit=50&currency=EUR&currency=USD&q=a%26b')
    expect(Object.keys(request?.headers ?? {})).not.toContain('idempotency-key')
    expect(Object.keys(request?.headers ?? {})).not.toContain('content-type')
  })

  test.concurrent('a body is JSON, and the same on every attempt', async () => {
    await using service = await serve([reset, answer(503), json({})])
    const { server, client } = service
    const body = { reason: 'späte Zahlung 💶', nested: [1, null, true] }

    await client.virtualAccounts.deactivate(account, { body })

    const received = server.requests.map(({ body }) => JSON.parse(Buffer.from(body, 'latin1').toString()))
    expect(received).toEqual([body, body, body])
  })

  test.concurrent('without an api key (null) none is sent: a proxy adds it', async () => {
    await using service = await serve(json({}), { apiKey: null })
    const { server, client } = service
    await client.virtualAccounts.deactivate(account)
    expect(Object.keys(server.requests[0]?.headers ?? {})).not.toContain('api-key')
  })

  test.concurrent('each header is there once, whatever its case and wherever it was given', async () => {
    await using service = await serve(json({}), { headers: { 'X-Tenant': 'client', ACCEPT: 'text/plain' } })
    const { server, client } = service
    await client.virtualAccounts.deactivate(account, { headers: [['x-tenant', 'call']] })
    expect(server.requests[0]?.headers).toMatchObject({ 'x-tenant': 'call', accept: 'text/plain' })
  })

  test.concurrent('baseUrl may have a path, with a slash at its end or not', async () => {
    await using service = await serve(json({}))
    const { server, client } = service
    for (const end of ['', '/']) {
      const derived = client.withOptions({ baseUrl: `${server.url}/v1/bank${end}` })
      await derived.virtualAccounts.deactivate(account)
    }
    expect(server.requests.map(({ path }) => path)).toEqual(
      Array(2).fill('/v1/bank/customers/c1/virtual_accounts/v1/deactivate'),
    )
  })

  test.concurrent('an id stays one segment of the path, whatever it holds', async () => {
    await using service = await serve(json({}))
    const { server, client } = service
    for (const id of ['a/b', '../x', '%2e%2e', 'a?b#c', 'ü 💶', '...', '%']) {
      await client.virtualAccounts.deactivate({ customerId: id, virtualAccountId: id })
      const segment = encodeURIComponent(id)
      expect(server.requests.at(-1)?.path).toBe(
        `/customers/${segment}/virtual_accounts/${segment}/deactivate`,
      )
    }
  })
})

describe('the idempotency key', () => {
  test.concurrent('is the same on every attempt, on the result, and on the error', async () => {
    await using service = await serve([reset, answer(503), json({}), reset, answer(500), answer(422)])
    const { server, client } = service

    const result = await client.virtualAccounts.deactivate(account)
    const error = await failureOf('http', client.virtualAccounts.deactivate(account))

    expect(result.idempotencyKey).toMatch(uuid)
    expect(error.idempotencyKey).toMatch(uuid)
    expect(result.idempotencyKey).not.toBe(error.idempotencyKey)
    expect(server.idempotencyKeys).toEqual([
      ...Array(3).fill(result.idempotencyKey),
      ...Array(3).fill(error.idempotencyKey),
    ])
  })

  test.concurrent('may be the caller’s own: a write that failed is so repeated safely', async () => {
    await using service = await serve([answer(500), json({ done: true })])
    const { server, client } = service
    const error = await failureOf('http', client.virtualAccounts.deactivate(account, { maxRetries: 0 }))
    expect(error.outcomeUnknown).toBe(true)
    const { idempotencyKey } = error

    const again = await client.virtualAccounts.deactivate(account, { idempotencyKey })

    expect(again).toMatchObject({ data: { done: true }, idempotencyKey })
    expect(server.idempotencyKeys).toEqual([idempotencyKey, idempotencyKey])
  })

  test.concurrent('is fresh for each of many calls side by side', async () => {
    await using service = await serve(json({}))
    const { server, client } = service
    await Promise.all(Array.from({ length: 50 }, () => client.virtualAccounts.deactivate(account)))
    expect(new Set(server.idempotencyKeys).size).toBe(50)
    for (const key of server.idempotencyKeys) expect(key).toMatch(uuid)
  })
})

describe('a function that gives the api key', () => {
  test.concurrent('is asked before every attempt, so that a key may change between two', async () => {
    let asked = 0
    await using service = await serve([reset, answer(503), json({})], {
      apiKey: () => `key_number_${++asked}`,
    })
    const { server, client } = service
    await client.virtualAccounts.deactivate(account)
    expect(server.requests.map(({ headers }) => headers['api-key'])).toEqual([
      'key_number_1',
      'key_number_2',
      'key_number_3',
    ])
  })

  test.concurrent('is asked once by calls that begin while its answer is pending, and then anew', async () => {
    const answers: PromiseWithResolvers<string>[] = []
    const ask = () => {
      const answer = Promise.withResolvers<string>()
      answers.push(answer)
      return answer.promise
    }
    await using service = await serve(json({}), { apiKey: ask })
    const { server, client } = service
    const derived = client.withOptions({ maxRetries: 0 })

    const calls = [client, client, derived].map(one => one.virtualAccounts.deactivate(account))
    await soon()
    expect(answers).toHaveLength(1)
    answers[0]?.resolve('the_shared_key')
    await Promise.all(calls)

    const later = client.virtualAccounts.deactivate(account)
    await soon()
    expect(answers).toHaveLength(2)
    answers[1]?.resolve('a_later_key')
    await later
    expect(server.requests.map(({ headers }) => headers['api-key'])).toEqual([
      ...Array(3).fill('the_shared_key'),
      'a_later_key',
    ])
  })

  test.each([
    [
      'throws',
      () => {
        throw problem
      },
    ],
    ['rejects', () => Promise.reject(problem)],
  ] as [string, () => string | Promise<string>][])(
    'that %s: what it threw comes out unchanged, and nothing is tried again',
    async (_how, ask) => {
      let asked = 0
      const { client, requests, events } = stubbed([status(200)], {
        apiKey: () => {
          asked++
          return ask()
        },
      })
      expect(await rejectionOf(client.virtualAccounts.deactivate(account))).toBe(problem)
      expect(await rejectionOf(client.transactions.list())).toBe(problem)
      expect(asked).toBe(2)
      expect(requests).toEqual([])
      expect(events.map(({ type }) => type)).toEqual(['failure', 'failure'])
    },
  )

  const problem = { vault: 'sealed' }

  test('that fails once is asked again by the next call', async () => {
    let asked = 0
    const { client } = stubbed([status(204)], {
      apiKey: async () => {
        if (++asked === 1) throw problem
        return apiKey
      },
    })
    expect(await rejectionOf(client.virtualAccounts.deactivate(account))).toBe(problem)
    expect((await client.virtualAccounts.deactivate(account)).status).toBe(204)
  })

  test('that never answers is asked anew once it was too late for an attempt', async () => {
    let asked = 0
    const ask = () => (++asked === 1 ? new Promise<string>(() => {}) : apiKey)
    const { client } = stubbed([status(204)], { apiKey: ask as () => Promise<string>, timeout: 50 })
    const first = client.virtualAccounts.deactivate(account, { maxRetries: 0 })
    const second = client.virtualAccounts.reactivate(account, { maxRetries: 0 })
    await failureOf('timeout', first)
    await failureOf('timeout', second)
    expect(asked).toBe(1)
    expect((await client.virtualAccounts.deactivate(account, { timeout: 10_000 })).status).toBe(204)
    expect(asked).toBe(2)
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
  ])('that gives %j: a TypeError that does not show it, and nothing is sent', async value => {
    const { client, requests } = stubbed([status(200)], { apiKey: () => value as string })
    const error = await rejectionOf(client.virtualAccounts.deactivate(account))
    expect(error).toBeInstanceOf(TypeError)
    expect(String((error as Error).stack)).not.toMatch(/secret_|42424242/)
    expect((error as Error).message).toContain('apiKey')
    expect(requests).toEqual([])
  })

  test.concurrent('that is slow falls under timeout; a key that comes too late sends nothing', async () => {
    await using server = await FaultServer.start(json({}))
    const key = Promise.withResolvers<string>()
    const client = clientOf(server, { apiKey: () => key.promise, timeout: 50, maxRetries: 0 })

    const error = await failureOf('timeout', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ attempts: 1, outcomeUnknown: false, timeoutMs: 50 })

    key.resolve(apiKey)
    await client.virtualAccounts.reactivate(account, { timeout: 10_000 })
    await soon(20)
    expect(server.requests.map(({ path }) => path)).toEqual(['/customers/c1/virtual_accounts/v1/reactivate'])
  })

  test.concurrent('that is slow leaves the answer what is left of timeout', async () => {
    // 100 ms for the key and 100 ms for the answer: each comes within the timeout, but not both.
    await using server = await FaultServer.start(async socket => {
      await soon(100)
      await json({})(socket, { method: '', path: '', headers: {}, body: '', connection: 0 })
    })
    const ask = async () => {
      await soon(100)
      return apiKey
    }
    const client = clientOf(server, { apiKey: ask, timeout: 150, maxRetries: 0 })
    expect((await failureOf('timeout', client.virtualAccounts.deactivate(account))).outcomeUnknown).toBe(true)
  })
})

describe('fetch', () => {
  test('of the caller is called with a URL string and a plain init, never following redirects', async () => {
    const { client, requests } = stubbed([status(200, {}, '{"data":[],"page":1,"totalItems":0,"limit":20}')])
    await client.transactions.list()
    await client.virtualAccounts.deactivate(account).catch(() => {})
    for (const { url, init } of requests) {
      expect(typeof url).toBe('string')
      expect(Object.getPrototypeOf(init)).toBe(Object.prototype)
      expect(Object.getPrototypeOf(init.headers)).toBe(Object.prototype)
      expect(init).toMatchObject({ redirect: 'manual', cache: 'no-store' })
      expect(init.signal).toBeInstanceOf(AbortSignal)
      // What any other fetch would refuse or misread.
      expect(Object.values(init)).not.toContain(undefined)
    }
    expect(requests[1]?.init.body).toBeUndefined()
  })

  test('that is a mixture of answers and failures of any kind is no reason to hang', async () => {
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
      await failureOf('connection', client.virtualAccounts.deactivate(account))
    }
    for (const given of [undefined, null, 'text', {}, { ok: true, status: 200 }]) {
      const { client } = stubbed([], { fetch: async () => given as Response, maxRetries: 0 })
      await failureOf('connection', client.virtualAccounts.deactivate(account))
    }
  })

  test('that knows no streams does not hide an error whose body stalls behind a timeout', async () => {
    const withoutStreams = {
      ok: false,
      status: 422,
      headers: new Headers(),
      body: {},
      arrayBuffer: () => new Promise(() => {}),
    } as unknown as Response
    const { client } = stubbed([() => withoutStreams], { timeout: 100 })
    const error = await failureOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 422, body: undefined, attempts: 1 })
  })

  test('that answers with Response.error() is a lost connection', async () => {
    const { client } = stubbed([() => Response.error()], { maxRetries: 0 })
    await failureOf('connection', client.virtualAccounts.deactivate(account))
  })
})

describe('the global fetch', () => {
  test('is looked up at each call, so that patches made later are seen', async () => {
    await using service = await serve(page())
    const { client } = service
    const original = globalThis.fetch
    const urls: unknown[] = []
    try {
      globalThis.fetch = async (url, init) => {
        urls.push(url)
        return original(url, init)
      }
      await client.transactions.list()
    } finally {
      globalThis.fetch = original
    }
    await client.transactions.list()
    expect(urls).toEqual([`${service.server.url}/transactions?page=1`])
  })
})

test('many calls side by side that never get an answer all end', async () => {
  await using service = await serve(silence, { timeout: 100, maxRetries: 0 })
  const { server, client } = service
  const calls = Array.from({ length: 40 }, () =>
    failureOf('timeout', client.virtualAccounts.deactivate(account)),
  )
  for (const { attempts } of await Promise.all(calls)) expect(attempts).toBe(1)
  expect(server.requests).toHaveLength(40)
})
