import { Client, type ClientOptions } from 'virtual-accounts'
import { describe, expect, test, vi } from 'vitest'
import { account, createClient, failureOf, service } from './service.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('a write', () => {
  test.each(['deactivate', 'reactivate'] as const)(
    '%s carries its three headers and no body',
    async change => {
      const result = await createClient().virtualAccounts[change](account)

      const [request] = service.requests
      expect(request).toMatchObject({ method: 'POST', path: `/customers/c1/virtual_accounts/v1/${change}` })
      expect(request?.headers.get('Api-Key')).toBe(service.apiKey)
      expect(request?.headers.get('Content-Type')).toBe('application/json')
      expect(request?.headers.get('Idempotency-Key')).toBe(result.idempotencyKey)
      expect(request?.query).toEqual({})
      expect(request?.body).toBeUndefined()
      expect(result).toMatchObject({ status: 200, data: undefined, attempts: 1 })
    },
  )

  test('is applied', async () => {
    const client = createClient()
    await client.virtualAccounts.deactivate(account)
    expect(service.isActive(account)).toBe(false)
    await client.virtualAccounts.reactivate(account)
    expect(service.isActive(account)).toBe(true)
  })

  test('gets a fresh UUID v4 for its key', async () => {
    const client = createClient()
    const first = await client.virtualAccounts.deactivate(account)
    const second = await client.virtualAccounts.deactivate(account)
    expect(first.idempotencyKey).toMatch(uuid)
    expect(second.idempotencyKey).toMatch(uuid)
    expect(first.idempotencyKey).not.toBe(second.idempotencyKey)
  })

  test('gets a key where crypto.randomUUID is lacking, as on a page served by http', async () => {
    vi.stubGlobal('crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) })
    const { idempotencyKey } = await createClient().virtualAccounts.deactivate(account)
    vi.unstubAllGlobals()
    expect(idempotencyKey).toMatch(uuid)
  })

  test("carries the caller's key, also on the retry", async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    service.fail({ with: () => new Response(null, { status: 503 }) })
    const result = await createClient().virtualAccounts.deactivate(account, { idempotencyKey: 'job-17' })
    expect(service.requests.map(({ headers }) => headers.get('Idempotency-Key'))).toEqual([
      'job-17',
      'job-17',
    ])
    expect(result).toMatchObject({ idempotencyKey: 'job-17', attempts: 2 })
  })

  test.each(['', 'a'.repeat(256), 'ключ', 'a\nb', ' a', 'a ', null, 7])(
    'refuses the idempotency key %j',
    async idempotencyKey => {
      const call = createClient().virtualAccounts.deactivate(account, {
        idempotencyKey: idempotencyKey as string,
      })
      await expect(call).rejects.toThrow(
        new TypeError(
          'idempotencyKey: expected 1 to 255 printable ASCII characters, with no space at either end (not given: a fresh UUID)',
        ),
      )
      expect(service.requests).toEqual([])
    },
  )

  test('sends the body that is given as JSON', async () => {
    const body = { reason: 'ünter Prüfung', amounts: [1.5, null], when: new Date(0) }
    await createClient().virtualAccounts.deactivate(account, { body })
    expect(service.requests[0]?.body).toEqual({ ...body, when: '1970-01-01T00:00:00.000Z' })
  })

  test('may have a body that only looks like a stream', async () => {
    const body = { pipe: 'steel', size: 3, names: ['a'], odd: undefined }
    await createClient().virtualAccounts.deactivate(account, { body })
    expect(service.requests[0]?.body).toEqual({ pipe: 'steel', size: 3, names: ['a'] })
  })

  test.each([
    ['not Object', () => ({ pipe() {} })],
    ['not Object', () => ({ async *[Symbol.asyncIterator]() {} })],
    ['not Symbol', () => [Symbol('a')]],
    ['not Function', () => () => 1],
    ['not FormData', () => new FormData()],
    ['not ReadableStream', () => new ReadableStream()],
    ['not Blob', () => new Blob(['x'])],
    ['not URLSearchParams', () => new URLSearchParams('a=b')],
    ['not Uint8Array', () => new Uint8Array(2)],
    ['not Map', () => ({ a: new Map() })],
    ['not Number', () => [new Number(3)]],
    ['not Date', () => new Date(Number.NaN)],
    ['not Date', () => ({ when: new Date(Number.NaN) })],
    ['not Uint8Array', () => Object.assign(new Uint8Array(2), { toJSON: () => ({}) })],
    ['not Undefined', () => [1, undefined]],
    ['not Undefined', () => new Array(2)],
    ['not Undefined', () => ({ toJSON() {} })],
    ['which has no NaN', () => ({ amount: Number.NaN })],
    ['which has no bigint: send its digits as a string', () => ({ amount: 1n })],
    ['(it could not be written: circular, or a toJSON that throws)', circle],
    ['(it could not be written: circular, or a toJSON that throws)', throwing],
  ])('refuses a body that JSON cannot say: %s', async (why, body) => {
    const error = await failureOf(createClient().virtualAccounts.deactivate(account, { body: body() }))
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error).replace('data,', 'data')).toBe(`TypeError: body: expected JSON data ${why}`)
    expect(service.requests).toEqual([])
  })
})

function throwing(): unknown {
  return {
    toJSON() {
      throw new Error('no')
    },
  }
}

function circle(): unknown {
  const circle: { self?: unknown } = {}
  circle.self = circle
  return circle
}

describe('a list', () => {
  test('sends the key, the page and the limit, and no idempotency key', async () => {
    await createClient().transactions.list({ page: 2, limit: 10 })
    const [request] = service.requests
    expect(request).toMatchObject({ method: 'GET', path: '/transactions', query: { page: '2', limit: '10' } })
    expect(request?.headers.get('Api-Key')).toBe(service.apiKey)
    expect(request?.headers.get('Accept')).toBe('application/json')
    expect(request?.headers.has('Idempotency-Key')).toBe(false)
    expect(request?.headers.has('Content-Type')).toBe(false)
  })

  test('sends no limit that was not given, but always the page', async () => {
    await createClient().transactions.list()
    expect(service.requests[0]?.query).toEqual({ page: '1' })
  })

  test('sends more query parameters as they are given: an array repeats its name, undefined is left out', async () => {
    const fetch = vi.fn((url: string, init: RequestInit) => service.fetch(url, init))
    const query = { currency: ['AED', 'USD'], 'a b': 'ü&=', none: undefined, open: true, least: 0 }
    await createClient({ fetch }).transactions.list({ limit: 5, query })
    expect(fetch.mock.calls[0]?.[0]).toBe(
      `${service.baseUrl}/transactions?page=1&limit=5&currency=AED&currency=USD&a%20b=%C3%BC%26%3D&open=true&least=0`,
    )
  })

  test.each([
    [{ page: 0 }, 'page: expected a whole number of at least 1'],
    [{ page: 1.5 }, 'page: expected a whole number of at least 1'],
    [{ limit: Number.NaN }, 'limit: expected a whole number of at least 1'],
    [{ limit: '5' }, 'limit: expected a whole number of at least 1'],
    [{ page: null }, 'page: expected a whole number of at least 1'],
    [{ query: { page: 2 } }, 'query.page: expected none, as it has a parameter of its own: list({ page })'],
    [
      { query: { limit: 2 } },
      'query.limit: expected none, as it has a parameter of its own: list({ limit })',
    ],
    [{ query: { a: null } }, 'query.a: expected a string, a finite number, a boolean, or an array of these'],
    [
      { query: { a: Number.NaN } },
      'query.a: expected a string, a finite number, a boolean, or an array of these',
    ],
    [{ query: { a: '\ud800' } }, 'query.a: expected well-formed Unicode'],
    [null, 'params: expected a plain object'],
    [5, 'params: expected a plain object'],
    [{ query: new URLSearchParams('a=b') }, 'query: expected a plain object'],
  ])('throws at once for the params %j', (params, message) => {
    expect(() => createClient().transactions.list(params as object)).toThrow(new TypeError(message))
    expect(service.requests).toEqual([])
  })

  test.each([
    [{ maxItems: -1 }, 'maxItems: expected a whole number of at least 0'],
    [{ concurrency: 0 }, 'concurrency: expected a whole number of at least 1'],
    [{ onMissedItems: 'ignore' }, "onMissedItems: expected 'throw' or 'continue'"],
    [{ dedupeBy: 'id' }, 'dedupeBy: expected a function'],
    [{ signal: {} }, 'signal: expected an AbortSignal'],
    [{ signal: { aborted: false } }, 'signal: expected an AbortSignal'],
    [{ signal: new EventTarget() }, 'signal: expected an AbortSignal'],
    [{ schema: {} }, 'schema: expected a Standard Schema (zod, valibot, arktype …)'],
    [{ timeout: 0 }, 'timeout: expected milliseconds, more than 0 and at most 2147483647'],
    [null, 'options: expected a plain object'],
  ])('throws at once for the options %j', (options, message) => {
    expect(() => createClient().transactions.list({}, options as object)).toThrow(new TypeError(message))
  })

  test('of another endpoint needs a schema', () => {
    const list = createClient().list as (path: string) => unknown
    expect(() => list.call(createClient(), '/refunds')).toThrow(/^schema: expected one/)
  })
})

describe('an id', () => {
  test('stays one segment of the path, encoded once', async () => {
    await createClient().virtualAccounts.deactivate({ customerId: 'a/b?c#d', virtualAccountId: '50% ü..' })
    expect(service.requests[0]?.path).toBe(
      '/customers/a%2Fb%3Fc%23d/virtual_accounts/50%25%20%C3%BC../deactivate',
    )
    expect(service.isActive({ customerId: 'a/b?c#d', virtualAccountId: '50% ü..' })).toBe(false)
  })

  test.each([
    ['.', 'customerId: expected an id, not "."'],
    ['..', 'customerId: expected an id, not ".."'],
    ['', 'customerId: expected a non-empty string'],
    [null, 'customerId: expected a non-empty string'],
    [undefined, 'customerId: expected a non-empty string'],
    [7, 'customerId: expected a non-empty string'],
    ['\ud800', 'customerId: expected well-formed Unicode (it has a lone surrogate)'],
  ])('%j is refused before anything is sent', async (customerId, message) => {
    const call = createClient().virtualAccounts.deactivate({ ...account, customerId: customerId as string })
    await expect(call).rejects.toThrow(new TypeError(message))
    expect(service.requests).toEqual([])
  })

  test.each([undefined, null])('is missing where the account is %s', async given => {
    const call = createClient().virtualAccounts.deactivate(given as never)
    await expect(call).rejects.toThrow(new TypeError('deactivate: expected { customerId, virtualAccountId }'))
  })

  test('of an account is named when it is wrong', async () => {
    const call = createClient().virtualAccounts.deactivate({ ...account, virtualAccountId: '' })
    await expect(call).rejects.toThrow(new TypeError('virtualAccountId: expected a non-empty string'))
  })
})

describe('a path', () => {
  test.each([
    ['transactions', 'a path that starts with one "/"'],
    ['', 'a path that starts with one "/"'],
    [null, 'a path that starts with one "/"'],
    [['/a'], 'a path that starts with one "/"'],
    ['//evil.example', 'a path that starts with one "/"'],
    ['/a?b=c', 'a path without query and fragment (there is `query`)'],
    ['/a#b', 'a path without query and fragment (there is `query`)'],
    ['/a\\b', 'a path without backslashes, white space and control characters'],
    ['/a\tb', 'a path without backslashes, white space and control characters'],
    ['/a ', 'a path without backslashes, white space and control characters'],
    ['/a/../b', 'a path without "." and ".." segments'],
    ['/a/.', 'a path without "." and ".." segments'],
    ['/%2e%2E/b', 'a path without "." and ".." segments'],
    ['/.%2e', 'a path without "." and ".." segments'],
    ['/\ud800', 'well-formed Unicode'],
  ])('%j is refused', async (path, expected) => {
    const client = createClient()
    const refusal = new TypeError(`path: expected ${expected}`)
    await expect(client.request('GET', path as string)).rejects.toThrow(refusal)
    expect(() => client.list(path as string, {}, { schema: anything })).toThrow(refusal)
    expect(service.requests).toEqual([])
  })

  test.each(['/a.b/..c/d..', '/%2e%2e%2e', '/%2Fa'])('%j is sent as it is', async path => {
    await failureOf(createClient().request('GET', path))
    expect(service.requests[0]?.path).toBe(path)
  })
})

const anything = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const

describe('any other endpoint', () => {
  test('is asked with the same key, and query', async () => {
    service.serveList('/refunds', [{ id: 'r1' }])
    const result = await createClient().request('GET', '/refunds', { query: { limit: 3 } })
    expect(result).toMatchObject({ data: { data: [{ id: 'r1' }], limit: 3 }, idempotencyKey: undefined })
    expect(service.requests[0]?.headers.get('Api-Key')).toBe(service.apiKey)
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)('%s is a write', async method => {
    service.fail({ with: () => new Response('{"done":true}', { status: 201 }) })
    const result = await createClient().request(method, '/things', { body: { a: 1 } })
    expect(service.requests[0]?.headers.get('Idempotency-Key')).toBe(result.idempotencyKey)
    expect(service.requests[0]).toMatchObject({ method, body: { a: 1 } })
    expect(result).toMatchObject({ status: 201, data: { done: true } })
  })

  test('GET takes neither body nor idempotency key', async () => {
    const client = createClient()
    await expect(client.request('GET', '/a', { body: {} })).rejects.toThrow(/^body: expected none/)
    await expect(client.request('GET', '/a', { idempotencyKey: 'k' })).rejects.toThrow(
      /^idempotencyKey: expected none/,
    )
    await expect(client.request('get' as 'GET', '/a')).rejects.toThrow(/^method: expected one of GET, POST/)
    expect(service.requests).toEqual([])
  })

  test.each([
    [null, 'options: expected a plain object'],
    [{ query: 'a=b' }, 'query: expected a plain object'],
    [{ signal: {} }, 'signal: expected an AbortSignal'],
  ])('rejects for the options %j', async (options, message) => {
    const call = createClient().request('POST', '/refunds', options as object)
    await expect(call).rejects.toThrow(new TypeError(message))
    expect(service.requests).toEqual([])
  })
})

describe('headers', () => {
  test("of the client and of the call are merged, whatever their case; the call's win", async () => {
    const client = createClient({
      headers: { 'X-Team': 'a', 'x-trace': '1', ACCEPT: 'application/vnd.api+json' },
    })
    await client.transactions.list({}, { headers: [['x-team', 'b']] })
    const headers = service.requests[0]?.headers
    expect(headers?.get('X-Team')).toBe('b')
    expect(headers?.get('X-Trace')).toBe('1')
    expect(headers?.get('Accept')).toBe('application/vnd.api+json')
  })

  test.each([
    [{ 'api-KEY': 'x' }, /Api-Key.*apiKey/],
    [new Headers({ 'Idempotency-Key': 'x' }), /Idempotency-Key.*idempotencyKey/],
    [{ 'Content-Type': 'text/plain' }, /Content-Type: application\/json/],
    [{ 'X-Secret': 'line\nbreak' }, /^headers: expected Headers/],
    [{ 'X-Secret': undefined }, /^headers: expected Headers/],
    [{ 'no name': 'x' }, /^headers: expected Headers/],
    ['x: y', /^headers: expected Headers/],
    [null, /^headers: expected Headers/],
    [['xy'], /^headers: expected Headers/],
    [[[1, 'line']], /^headers: expected Headers/],
  ])('%o are refused, naming the option to use', async (headers, message) => {
    const given = { headers: headers as Record<string, string> }
    expect(() => createClient(given)).toThrow(message)
    const error = await failureOf(createClient().virtualAccounts.deactivate(account, given))
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toMatch(
      message.source.startsWith('^') ? new RegExp(message.source.slice(1)) : message,
    )
    expect(String(error)).not.toContain('line')
    expect(service.requests).toEqual([])
  })

  test('may repeat the content type of a write', async () => {
    await createClient({ headers: { 'content-type': 'application/json' } }).virtualAccounts.deactivate(
      account,
    )
    expect(service.requests[0]?.headers.get('Content-Type')).toBe('application/json')
  })
})

describe('the options of a client', () => {
  const wrong: [Partial<Record<keyof ClientOptions, unknown>>, RegExp][] = [
    [{ baseUrl: undefined }, /^baseUrl: expected an absolute https URL/],
    [{ baseUrl: 'api.example.com' }, /^baseUrl: expected an absolute https URL/],
    [{ baseUrl: 'ftp://api.example.com' }, /^baseUrl: expected an absolute https URL/],
    [{ baseUrl: 'http://api.example.com' }, /^baseUrl: expected https.*allowInsecureHttp/],
    [{ baseUrl: 'http://127.0.0.1.example.com' }, /^baseUrl: expected https/],
    [{ baseUrl: 'https://user:secret@api.example.com' }, /^baseUrl: expected no user and password/],
    [{ baseUrl: 'https://secret@api.example.com' }, /^baseUrl: expected no user and password/],
    [{ baseUrl: 'https://:secret@api.example.com' }, /^baseUrl: expected no user and password/],
    [{ baseUrl: { href: 5 } }, /^baseUrl: expected an absolute https URL/],
    [{ baseUrl: 'https://api.example.com?a=b' }, /^baseUrl: expected no query/],
    [{ baseUrl: 'https://api.example.com/#' }, /^baseUrl: expected no query/],
    [{ baseUrl: '//evil.example' }, /^baseUrl: expected a path that starts with one/],
    [{ baseUrl: '/\\evil.example' }, /^baseUrl: expected a path without backslashes/],
    [{ apiKey: undefined }, /^apiKey: expected a non-empty string, a function giving one, or null/],
    [{ apiKey: '' }, /^apiKey: expected a non-empty string/],
    [{ apiKey: 'secret\nkey' }, /^apiKey: expected a value that can be sent as a header/],
    [{ apiKey: ' secret' }, /^apiKey: expected a value that can be sent as a header/],
    [{ apiKey: 'ключ-secret' }, /^apiKey: expected a value that can be sent as a header/],
    [{ allowInsecureHttp: 'yes' }, /^allowInsecureHttp: expected true or false/],
    [{ timeout: -1 }, /^timeout: expected milliseconds/],
    [{ timeout: '5' }, /^timeout: expected milliseconds/],
    [{ timeout: 2 ** 31 }, /^timeout: expected milliseconds/],
    [{ totalTimeout: Number.NaN }, /^totalTimeout: expected milliseconds/],
    [{ maxRetries: 1.5 }, /^maxRetries: expected a whole number of at least 0/],
    [{ maxRetries: null }, /^maxRetries: expected a whole number of at least 0/],
    [{ concurrency: 0 }, /^concurrency: expected a whole number of at least 1/],
    [{ maxResponseBytes: 0 }, /^maxResponseBytes: expected a whole number of at least 1/],
    [{ fetch: 'node-fetch' }, /^fetch: expected a function/],
    [{ onEvent: {} }, /^onEvent: expected a function/],
  ]
  test.each(wrong)('%o are refused at construction', (options, message) => {
    const create = () => createClient(options as Partial<ClientOptions>)
    expect(create).toThrow(TypeError)
    expect(create).toThrow(message)
    expect(create).not.toThrow(/secret/)
    expect(() => createClient().withOptions({ ...options, timeout: options.timeout ?? 0 } as object)).toThrow(
      TypeError,
    )
  })

  test.each([
    'http://localhost:1',
    'http://127.0.0.1',
    'http://127.9.9.9',
    'http://127.10.20.30',
    'http://[::1]:8080',
    'http://a.localhost',
  ])('%s may be plain http', baseUrl => {
    expect(() => createClient({ baseUrl })).not.toThrow()
  })

  test('allow plain http elsewhere when told so', () => {
    expect(() => createClient({ baseUrl: 'http://10.0.0.1', allowInsecureHttp: true })).not.toThrow()
  })

  test.each([
    ['https://api.example.com', 'https://api.example.com/transactions?page=1'],
    ['https://api.example.com/', 'https://api.example.com/transactions?page=1'],
    ['https://api.example.com/v1/', 'https://api.example.com/v1/transactions?page=1'],
    ['https://api.example.com/v1//', 'https://api.example.com/v1/transactions?page=1'],
    // A URL of another realm is no instance of ours.
    [{ href: 'https://api.example.com/v1' } as URL, 'https://api.example.com/v1/transactions?page=1'],
    [new URL('https://api.example.com/v1'), 'https://api.example.com/v1/transactions?page=1'],
  ])('baseUrl %s is what paths follow', async (baseUrl, url) => {
    const fetch = vi.fn(async () => new Response(null, { status: 404 }))
    await failureOf(createClient({ baseUrl, fetch }).transactions.list())
    expect(fetch).toHaveBeenCalledWith(url, expect.anything())
  })

  test.each([undefined, null])('are required, not %s', options => {
    expect(() => new Client(options as never)).toThrow(
      /^options: expected an object with at least baseUrl and apiKey/,
    )
  })
})

describe('fetch', () => {
  test('is called with a URL string and a plain init, redirects not followed and nothing cached', async () => {
    const fetch = vi.fn((url: string, init: RequestInit) => service.fetch(url, init))
    await createClient({ fetch }).virtualAccounts.deactivate(account)
    const [url, init] = fetch.mock.calls[0] as [string, RequestInit]
    expect(typeof url).toBe('string')
    expect(Object.getPrototypeOf(init)).toBe(Object.prototype)
    expect(Object.getPrototypeOf(init.headers)).toBe(Object.prototype)
    expect(init).toMatchObject({ method: 'POST', redirect: 'manual', cache: 'no-store' })
    expect('body' in init).toBe(false)
  })

  test('is looked up at each call, so that patches made later are seen', async () => {
    const client = createClient()
    const patched = vi.spyOn(globalThis, 'fetch')
    await client.transactions.list()
    expect(patched).toHaveBeenCalledOnce()
  })
})

describe('apiKey', () => {
  test('null leaves the header to who sets it, and it is hidden all the same', async () => {
    const client = createClient({ apiKey: null, headers: { 'Api-Key': 'made_by_hand' } })
    service.fail({ with: () => new Response('no: made_by_hand', { status: 403 }) })
    const error = await failureOf(client.transactions.list({}, { headers: { 'X-A': 'b' } }))
    expect(service.requests[0]?.headers.get('Api-Key')).toBe('made_by_hand')
    expect(JSON.stringify(error)).not.toContain('made_by_hand')
    expect(() => client.withOptions({ apiKey: 'k' })).toThrow(/Api-Key.*apiKey/)
  })

  test('null sends none', async () => {
    await failureOf(createClient({ apiKey: null }).transactions.list())
    expect(service.requests[0]?.headers.has('Api-Key')).toBe(false)
  })

  test('as a function is asked before every attempt', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const apiKey = vi
      .fn<() => Promise<string>>()
      .mockResolvedValueOnce('old_key')
      .mockResolvedValue(service.apiKey)
    service.fail({ with: () => new Response(null, { status: 503 }) })
    await createClient({ apiKey }).transactions.list()
    expect(service.requests.map(({ headers }) => headers.get('Api-Key'))).toEqual(['old_key', service.apiKey])
  })

  test('as a function is asked once by calls that begin while it is pending', async () => {
    let answer = (_key: string) => {}
    const apiKey = vi.fn(
      () =>
        new Promise<string>(resolve => {
          answer = resolve
        }),
    )
    const client = createClient({ apiKey })
    const calls = [client.transactions.list(), client.withOptions({ timeout: 1000 }).transactions.list()].map(
      list => list.then(),
    )
    await vi.waitFor(() => expect(apiKey).toHaveBeenCalled())
    answer(service.apiKey)
    await Promise.all(calls)
    expect(apiKey).toHaveBeenCalledOnce()
    expect(service.requests).toHaveLength(2)
  })

  test('as a function may throw: its error comes out unchanged, and is not retried', async () => {
    const vaultIsSealed = new TypeError('fetch failed')
    const apiKey = vi.fn(() => {
      throw vaultIsSealed
    })
    expect(await failureOf(createClient({ apiKey }).transactions.list())).toBe(vaultIsSealed)
    expect(apiKey).toHaveBeenCalledOnce()
    expect(service.requests).toEqual([])
  })

  test.each(['', 'secret\r\n', undefined, null, 7])('as a function may not give %j', async key => {
    const error = await failureOf(createClient({ apiKey: () => key as string }).transactions.list())
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).not.toContain('secret')
    expect(service.requests).toEqual([])
  })
})

describe('withOptions', () => {
  test('may take another key', async () => {
    const client = createClient({ apiKey: 'wrong_key' })
    await client.withOptions({ apiKey: service.apiKey }).transactions.list()
    expect(service.requests[0]?.headers.get('Api-Key')).toBe(service.apiKey)
  })

  test.each([null, 'x'])('refuses %j', options => {
    expect(() => createClient().withOptions(options as never)).toThrow(
      new TypeError('options: expected an object'),
    )
  })

  test('keeps what headers were when the client was made', async () => {
    const headers: Record<string, string> = { 'X-Team': 'a' }
    const client = createClient({ headers })
    headers['X-Team'] = 'b'
    await client.withOptions({ maxRetries: 0 }).transactions.list()
    expect(service.requests[0]?.headers.get('X-Team')).toBe('a')
  })

  test('keeps what a URL was when the client was made', async () => {
    const baseUrl = new URL('https://api.example.com/v1')
    const fetch = vi.fn(async () => new Response(null, { status: 404 }))
    const client = createClient({ baseUrl, fetch })
    baseUrl.host = 'evil.example'
    await failureOf(client.withOptions({ timeout: 1000 }).transactions.list())
    expect(fetch).toHaveBeenCalledWith('https://api.example.com/v1/transactions?page=1', expect.anything())
  })

  test('replaces an option whole, headers too, and keeps what is undefined', async () => {
    const client = createClient({ headers: { 'X-A': '1', 'X-B': '2' }, maxRetries: 0 })
    const other = client.withOptions({ headers: { 'X-B': '3' }, maxRetries: undefined as never })
    service.fail({ times: 2, with: () => new Response(null, { status: 503 }) })
    await failureOf(other.transactions.list())
    await failureOf(client.transactions.list())
    const [first, second] = service.requests.map(({ headers }) => [headers.get('X-A'), headers.get('X-B')])
    expect(first).toEqual([null, '3'])
    expect(second).toEqual(['1', '2'])
    expect(service.requests).toHaveLength(2)
  })
})
