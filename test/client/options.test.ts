import { Client, type ClientOptions } from 'virtual-accounts'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createClient, respondWith, service, startService } from '../service.ts'
import { account, rejectionOf } from '../support.ts'

startService()

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('a write', () => {
  test.each(['deactivate', 'reactivate'] as const)('%s sends its three headers and no body', async change => {
    const result = await createClient().virtualAccounts[change](account)

    const [request] = service.requests
    expect(request).toMatchObject({ method: 'POST', path: `/customers/c1/virtual_accounts/v1/${change}` })
    expect(request?.headers.get('Api-Key')).toBe(service.apiKey)
    expect(request?.headers.get('Content-Type')).toBe('application/json')
    expect(request?.headers.get('Idempotency-Key')).toBe(result.idempotencyKey)
    expect(request?.query).toEqual({})
    expect(request?.body).toBeUndefined()
    expect(result).toMatchObject({ status: 200, data: undefined, attempts: 1 })
  })

  test('is applied by the service', async () => {
    const client = createClient()
    await client.virtualAccounts.deactivate(account)
    expect(service.isActive(account)).toBe(false)
    await client.virtualAccounts.reactivate(account)
    expect(service.isActive(account)).toBe(true)
  })

  test('gets a fresh UUID v4 as its idempotency key', async () => {
    const client = createClient()
    const first = await client.virtualAccounts.deactivate(account)
    const second = await client.virtualAccounts.deactivate(account)
    expect(first.idempotencyKey).toMatch(uuid)
    expect(second.idempotencyKey).toMatch(uuid)
    expect(first.idempotencyKey).not.toBe(second.idempotencyKey)
  })

  test('gets a key without crypto.randomUUID, which pages served over http lack', async () => {
    vi.stubGlobal('crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) })
    const { idempotencyKey } = await createClient().virtualAccounts.deactivate(account)
    vi.unstubAllGlobals()
    expect(idempotencyKey).toMatch(uuid)
  })

  test("sends the caller's idempotency key on every attempt", async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    service.fail({ with: () => new Response(null, { status: 503 }) })
    const result = await createClient().virtualAccounts.deactivate(account, { idempotencyKey: 'job-17' })
    expect(service.requests.map(({ headers }) => headers.get('Idempotency-Key'))).toEqual([
      'job-17',
      'job-17',
    ])
    expect(result).toMatchObject({ idempotencyKey: 'job-17', attempts: 2 })
  })

  test.each([
    ['', 'an empty string'],
    ['a'.repeat(256), 'a string that breaks this rule'],
    ['ключ', 'a string that breaks this rule'],
    ['a\nb', 'a string that breaks this rule'],
    [' a', 'a string that breaks this rule'],
    ['a ', 'a string that breaks this rule'],
    [null, 'null'],
    [7, '7'],
  ])('rejects the idempotency key %j before anything is sent', async (idempotencyKey, got) => {
    const call = createClient().virtualAccounts.deactivate(account, {
      idempotencyKey: idempotencyKey as string,
    })
    await expect(call).rejects.toThrow(
      new TypeError(
        `idempotencyKey: expected 1 to 255 printable ASCII characters without a space at either end, got ${got} (leave it out for a fresh UUID)`,
      ),
    )
    expect(service.requests).toEqual([])
  })

  test('sends its body as JSON', async () => {
    const body = { reason: 'ünter Prüfung', amounts: [1.5, null], when: new Date(0) }
    await createClient().virtualAccounts.deactivate(account, { body })
    expect(service.requests[0]?.body).toEqual({ ...body, when: '1970-01-01T00:00:00.000Z' })
  })

  test('accepts a body that only looks like a stream', async () => {
    const body = { pipe: 'steel', size: 3, names: ['a'], odd: undefined }
    await createClient().virtualAccounts.deactivate(account, { body })
    expect(service.requests[0]?.body).toEqual({ pipe: 'steel', size: 3, names: ['a'] })
  })

  test.each([
    ['an object', () => ({ pipe() {} })],
    ['an object', () => ({ async *[Symbol.asyncIterator]() {} })],
    ['a symbol at "0"', () => [Symbol('a')]],
    ['a function', () => () => 1],
    ['a FormData', () => new FormData()],
    ['a ReadableStream', () => new ReadableStream()],
    ['a Blob', () => new Blob(['x'])],
    ['a URLSearchParams', () => new URLSearchParams('a=b')],
    ['a Uint8Array', () => new Uint8Array(2)],
    ['a Map at "a"', () => ({ a: new Map() })],
    ['a Number at "0"', () => [new Number(3)]],
    ['a Date', () => new Date(Number.NaN)],
    ['a Date at "when"', () => ({ when: new Date(Number.NaN) })],
    ['a Uint8Array', () => Object.assign(new Uint8Array(2), { toJSON: () => ({}) })],
    ['undefined at "1"', () => [1, undefined]],
    ['undefined at "0"', () => new Array(2)],
    ['undefined', () => ({ toJSON() {} })],
    ['NaN at "amount"', () => ({ amount: Number.NaN })],
    ['a bigint at "amount": send its digits as a string', () => ({ amount: 1n })],
    ['an object that cannot be written (circular, or its toJSON throws)', circle],
    ['an object that cannot be written (circular, or its toJSON throws)', throwing],
  ])('rejects a body that JSON cannot represent: %s', async (got, body) => {
    const error = await rejectionOf(createClient().virtualAccounts.deactivate(account, { body: body() }))
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toBe(`TypeError: body: expected JSON data, got ${got}`)
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
  test('sends the API key, the page and the limit, and no idempotency key', async () => {
    await createClient().transactions.list({ page: 2, limit: 10 })
    const [request] = service.requests
    expect(request).toMatchObject({ method: 'GET', path: '/transactions', query: { page: '2', limit: '10' } })
    expect(request?.headers.get('Api-Key')).toBe(service.apiKey)
    expect(request?.headers.get('Accept')).toBe('application/json')
    expect(request?.headers.has('Idempotency-Key')).toBe(false)
    expect(request?.headers.has('Content-Type')).toBe(false)
  })

  test('always sends the page, and the limit only if it is given', async () => {
    await createClient().transactions.list()
    expect(service.requests[0]?.query).toEqual({ page: '1' })
  })

  test('sends further query parameters: an array repeats its name, undefined is left out', async () => {
    const fetch = vi.fn((url: string, init: RequestInit) => service.fetch(url, init))
    const query = { currency: ['AED', 'USD'], 'a b': 'ü&=', none: undefined, open: true, least: 0 }
    await createClient({ fetch }).transactions.list({ limit: 5, query })
    expect(fetch.mock.calls[0]?.[0]).toBe(
      `${service.baseUrl}/transactions?page=1&limit=5&currency=AED&currency=USD&a%20b=%C3%BC%26%3D&open=true&least=0`,
    )
  })

  test.each([
    [{ page: 0 }, 'page: expected a whole number of at least 1, got 0'],
    [{ page: 1.5 }, 'page: expected a whole number of at least 1, got 1.5'],
    [{ limit: Number.NaN }, 'limit: expected a whole number of at least 1, got NaN'],
    [{ limit: '5' }, 'limit: expected a whole number of at least 1, got a string'],
    [{ page: null }, 'page: expected a whole number of at least 1, got null'],
    [{ query: { page: 2 } }, 'query.page: pass it as a parameter of its own, list({ page })'],
    [{ query: { limit: 2 } }, 'query.limit: pass it as a parameter of its own, list({ limit })'],
    [
      { query: { a: null } },
      'query.a: expected a string, a finite number, a boolean, or an array of these, got null',
    ],
    [
      { query: { a: Number.NaN } },
      'query.a: expected a string, a finite number, a boolean, or an array of these, got NaN',
    ],
    [
      { query: { a: { b: 1 } } },
      'query.a: expected a string, a finite number, a boolean, or an array of these, got an object',
    ],
    [{ query: null }, 'query: expected a plain object, got null'],
    [{ query: { a: '\ud800' } }, 'query.a: expected well-formed Unicode'],
    [null, 'params: expected a plain object, got null'],
    [5, 'params: expected a plain object, got 5'],
    [{ query: new URLSearchParams('a=b') }, 'query: expected a plain object, got a URLSearchParams'],
  ])('throws immediately for the params %j', (params, message) => {
    expect(() => createClient().transactions.list(params as object)).toThrow(new TypeError(message))
    expect(service.requests).toEqual([])
  })

  test.each([
    [{ maxItems: -1 }, 'maxItems: expected a whole number of at least 0, got -1'],
    [{ concurrency: 0 }, 'concurrency: expected a whole number of at least 1, got 0'],
    [{ onMissedItems: 'ignore' }, "onMissedItems: expected 'throw' or 'continue', got a string"],
    [{ dedupeBy: 'id' }, 'dedupeBy: expected a function, got a string'],
    [{ signal: {} }, 'signal: expected an AbortSignal, got an object'],
    [{ signal: { aborted: false } }, 'signal: expected an AbortSignal, got an object'],
    [{ signal: new EventTarget() }, 'signal: expected an AbortSignal, got an EventTarget'],
    // Its listener could never be removed again.
    [{ signal: { aborted: false, addEventListener() {} } }, 'signal: expected an AbortSignal, got an object'],
    [
      { signal: new AbortController() },
      'signal: expected an AbortSignal, got an AbortController (pass controller.signal)',
    ],
    [{ verified: 'yes' }, 'verified: expected true or false, got a string'],
    [
      { schema: {} },
      'schema: expected a Standard Schema (zod 3.24, valibot 1, arktype 2 or later, …), got an object',
    ],
    [{ timeout: 0 }, 'timeout: expected milliseconds, more than 0 and at most 2147483647, got 0'],
    [null, 'options: expected a plain object, got null'],
  ])('throws immediately for the options %j', (options, message) => {
    expect(() => createClient().transactions.list({}, options as object)).toThrow(new TypeError(message))
  })

  test('of another endpoint needs a schema', () => {
    const list = createClient().list as (path: string) => unknown
    expect(() => list.call(createClient(), '/refunds')).toThrow(
      new TypeError(
        'schema: expected one in the third argument, list(path, params, { schema }), as nothing is known about the items of this list',
      ),
    )
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
    ['.', 'customerId: expected an id, got "."'],
    ['..', 'customerId: expected an id, got ".."'],
    ['', 'customerId: expected a non-empty string, got an empty string'],
    [null, 'customerId: expected a non-empty string, got null'],
    [undefined, 'deactivate: customerId: expected a non-empty string, got undefined'],
    [7, 'customerId: expected a non-empty string, got 7'],
    ['\ud800', 'customerId: expected well-formed Unicode, got a lone surrogate'],
  ])('%j is rejected before anything is sent', async (customerId, message) => {
    const call = createClient().virtualAccounts.deactivate({ ...account, customerId: customerId as string })
    await expect(call).rejects.toThrow(new TypeError(message))
    expect(service.requests).toEqual([])
  })

  test.each([undefined, null])('is missing if the account is %s', async given => {
    const call = createClient().virtualAccounts.deactivate(given as never)
    await expect(call).rejects.toThrow(
      new TypeError(`deactivate: expected { customerId, virtualAccountId }, got ${given}`),
    )
  })

  test('may come with other properties of its account, as people pass whole records', async () => {
    await createClient().virtualAccounts.deactivate({ ...account, iban: 'x', id: 7 } as typeof account)
    expect(service.requests[0]?.path).toBe('/customers/c1/virtual_accounts/v1/deactivate')
  })

  test('may come with the idempotency key of the call, but not with one that would be ignored', async () => {
    const record = { ...account, idempotencyKey: 'job-17' }
    const { deactivate } = createClient().virtualAccounts
    await expect(deactivate(record)).rejects.toThrow(
      new TypeError('account.idempotencyKey: pass it in the second argument'),
    )
    expect(service.requests).toEqual([])
    await deactivate(record, { idempotencyKey: record.idempotencyKey })
    expect(service.requests[0]?.headers.get('Idempotency-Key')).toBe('job-17')
  })

  test('is named when it is wrong', async () => {
    const call = createClient().virtualAccounts.deactivate({ ...account, virtualAccountId: '' })
    await expect(call).rejects.toThrow(
      new TypeError('virtualAccountId: expected a non-empty string, got an empty string'),
    )
  })
})

describe('a path', () => {
  test.each([
    ['transactions', 'a path that starts with one "/", got "transactions"'],
    ['', 'a path that starts with one "/", got ""'],
    [null, 'a path that starts with one "/", got null'],
    [['/a'], 'a path that starts with one "/", got an array'],
    ['//evil.example', 'a path that starts with one "/", got "//evil.example"'],
    ['/a?b=c', 'no query or fragment (pass `query` instead)'],
    ['/a#b', 'no query or fragment (pass `query` instead)'],
    ['/a\\b', 'no backslashes, white space or control characters'],
    ['/a\tb', 'no backslashes, white space or control characters'],
    ['/a ', 'no backslashes, white space or control characters'],
    ['/a/../b', 'no "." or ".." segments'],
    ['/a/.', 'no "." or ".." segments'],
    ['/%2e%2E/b', 'no "." or ".." segments'],
    ['/.%2e', 'no "." or ".." segments'],
    ['/\ud800', 'well-formed Unicode'],
  ])('%j is rejected', async (path, expected) => {
    const client = createClient()
    const rejection = new TypeError(`path: expected ${expected}`)
    await expect(client.request('GET', path as string)).rejects.toThrow(rejection)
    expect(() => client.list(path as string, {}, { schema: anything })).toThrow(rejection)
    expect(service.requests).toEqual([])
  })

  test.each(['/a.b/..c/d..', '/%2e%2e%2e', '/%2Fa'])('%j is sent unchanged', async path => {
    await rejectionOf(createClient().request('GET', path))
    expect(service.requests[0]?.path).toBe(path)
  })
})

const anything = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const

describe('any other endpoint', () => {
  test('is called with the same API key, and with a query', async () => {
    service.serveList('/refunds', [{ id: 'r1' }])
    const result = await createClient().request('GET', '/refunds', { query: { limit: 3 } })
    expect(result).toMatchObject({ data: { data: [{ id: 'r1' }], limit: 3 }, idempotencyKey: undefined })
    expect(service.requests[0]?.headers.get('Api-Key')).toBe(service.apiKey)
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)(
    'is written to with %s, which sends an idempotency key',
    async method => {
      service.fail({ with: () => new Response('{"done":true}', { status: 201 }) })
      const result = await createClient().request(method, '/things', { body: { a: 1 } })
      expect(service.requests[0]?.headers.get('Idempotency-Key')).toBe(result.idempotencyKey)
      expect(service.requests[0]).toMatchObject({ method, body: { a: 1 } })
      expect(result).toMatchObject({ status: 201, data: { done: true } })
    },
  )

  test('is read with GET, which takes neither a body nor an idempotency key', async () => {
    const client = createClient()
    await expect(client.request('GET', '/a', { body: {} })).rejects.toThrow(
      new TypeError('body: expected none, as GET sends no body'),
    )
    await expect(client.request('GET', '/a', { idempotencyKey: 'k' })).rejects.toThrow(
      new TypeError('idempotencyKey: expected none, as GET is not a write'),
    )
    expect(service.requests).toEqual([])
  })

  test('rejects with a TypeError in a runtime without fetch', async () => {
    vi.stubGlobal('fetch', undefined)
    onTestFinished(() => void vi.unstubAllGlobals())
    await expect(createClient().request('GET', '/a')).rejects.toThrow(
      new TypeError('fetch: this runtime has none, so pass one as the option `fetch`'),
    )
  })

  test.each(['get', 'Post', 'put', 'patch', 'delete'])(
    'accepts the method %s, and sends it in capitals',
    async method => {
      // A Request would write all but `patch` in capitals itself.
      const fetch = vi.fn(async (_url: string, _init: RequestInit) => new Response('{}'))
      await createClient({ fetch }).request(method as 'GET', '/a')
      const headers = new Headers(fetch.mock.calls[0]?.[1].headers)
      expect(fetch.mock.calls[0]?.[1].method).toBe(method.toUpperCase())
      expect(headers.has('Idempotency-Key')).toBe(method !== 'get')
    },
  )

  test.each([
    ['HEAD', '"HEAD"'],
    ['', '""'],
    [undefined, 'undefined'],
    [['GET'], 'an array'],
  ])('rejects the method %j', async (method, got) => {
    await expect(createClient().request(method as 'GET', '/a')).rejects.toThrow(
      new TypeError(`method: expected one of GET, POST, PUT, PATCH, DELETE, got ${got}`),
    )
    expect(service.requests).toEqual([])
  })

  test('works when `request` is destructured', async () => {
    respondWith('{"done":true}')
    const { request } = createClient()
    expect(await request('POST', '/a')).toMatchObject({ data: { done: true } })
  })

  test.each([
    [null, 'options: expected a plain object, got null'],
    [{ query: 'a=b' }, 'query: expected a plain object, got a string'],
    [{ signal: {} }, 'signal: expected an AbortSignal, got an object'],
  ])('rejects for the options %j', async (options, message) => {
    const call = createClient().request('POST', '/refunds', options as object)
    await expect(call).rejects.toThrow(new TypeError(message))
    expect(service.requests).toEqual([])
  })
})

const headersShape = 'headers: expected Headers, an array of [name, value] pairs or an object'
const cannotBeSent =
  'cannot be sent: expected a valid header name, and a Latin-1 value without line breaks or other control characters (the value is not shown)'

describe('headers', () => {
  test("of the client and of the call are merged in any case; the call's take precedence", async () => {
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
    [{ 'api-KEY': 'x' }, 'headers: "Api-Key" is set by the client option apiKey'],
    [
      new Headers({ 'Idempotency-Key': 'x' }),
      'headers: "Idempotency-Key" is set by the option idempotencyKey of a call',
    ],
    [{ 'Content-Length': '2' }, 'headers: "Content-Length" is set by fetch'],
    [
      { 'Content-Type': 'text/plain' },
      'headers: expected no Content-Type other than "application/json", which all writes are sent with',
    ],
    [{ 'X-Secret': 'line\nbreak' }, `headers["X-Secret"]: ${cannotBeSent}`],
    [{ 'X-Secret': 'a line\u0001' }, `headers["X-Secret"]: ${cannotBeSent}`],
    [{ 'X-Secret': 'a line\u007f' }, `headers["X-Secret"]: ${cannotBeSent}`],
    [{ 'X-Secret': 'a line ключ' }, `headers["X-Secret"]: ${cannotBeSent}`],
    [{ 'no name': 'x' }, `headers["no name"]: ${cannotBeSent}`],
    [{ 'X-Count': 5 }, 'headers["X-Count"]: expected a string, got a number'],
    [{ 'X-List': ['line'] }, 'headers["X-List"]: expected a string, got an array'],
    ['x: y', `${headersShape}, got a string`],
    [null, `${headersShape}, got null`],
    [['xy'], `${headersShape}, got a string among the pairs`],
    [[[1, 'line']], `${headersShape}, got an array among the pairs`],
  ])('%o are rejected: the message names the header, or the option to use', async (headers, message) => {
    const given = { headers: headers as Record<string, string> }
    expect(() => createClient(given)).toThrow(new TypeError(message))
    const call = createClient().virtualAccounts.deactivate(account, given)
    await expect(call).rejects.toThrow(new TypeError(message))
    expect(message.replace('line breaks', '')).not.toContain('line')
    expect(service.requests).toEqual([])
  })

  test('whose value is undefined are skipped', async () => {
    const headers = { 'X-Trace': undefined, 'X-Team': 'a' } as unknown as Record<string, string>
    await createClient({ headers }).transactions.list({}, { headers })
    expect(service.requests[0]?.headers.has('X-Trace')).toBe(false)
    expect(service.requests[0]?.headers.get('X-Team')).toBe('a')
  })

  test('may contain the content type of a write, if it is the same', async () => {
    await createClient({ headers: { 'content-type': 'application/json' } }).virtualAccounts.deactivate(
      account,
    )
    expect(service.requests[0]?.headers.get('Content-Type')).toBe('application/json')
  })
})

describe('the options of a client', () => {
  const baseUrl = 'baseUrl: expected an absolute https URL ("https://api.example.com/v1") or a path ("/api")'
  const apiKey = 'apiKey: expected a non-empty string, a function that returns one, or null to send none'
  const isSet = '(is the environment variable set?)'
  const keyCannotBeSent =
    'apiKey: cannot be sent as a header: expected Latin-1 without line breaks or other control characters, and no white space around it (the key is not shown; a key read from a file often ends with a line break: trim it)'
  const insecure =
    'baseUrl: expected https, as over http anyone on the network can read the API key (allowInsecureHttp: true allows it)'
  const userInfo = 'baseUrl: expected no user or password in it (pass `apiKey` instead)'
  const repaired = 'baseUrl: expected no backslashes, white space or control characters'
  const wrong: [Partial<Record<keyof ClientOptions, unknown>>, string][] = [
    [{ baseUrl: undefined }, `${baseUrl}, got undefined ${isSet}`],
    [{ baseUrl: '' }, `${baseUrl}, got an empty string ${isSet}`],
    [{ baseUrl: null }, `${baseUrl}, got null`],
    [{ baseUrl: 'api.example.com' }, `${baseUrl}, got a string that is neither (is "https://" missing?)`],
    [{ baseUrl: 'ftp://api.example.com' }, `${baseUrl}, got the scheme "ftp:"`],
    [{ baseUrl: 'http://api.example.com' }, insecure],
    [{ baseUrl: 'http://127.0.0.1.example.com' }, insecure],
    [{ baseUrl: 'https://user:secret@api.example.com' }, userInfo],
    [{ baseUrl: 'https://secret@api.example.com' }, userInfo],
    [{ baseUrl: 'https://:secret@api.example.com' }, userInfo],
    [{ baseUrl: 'https://@api.example.com' }, userInfo],
    [{ baseUrl: { href: 5 } }, `${baseUrl}, got an object`],
    [{ baseUrl: 'https://api.example.com?a=b' }, 'baseUrl: expected no query or fragment'],
    [{ baseUrl: 'https://api.example.com/#' }, 'baseUrl: expected no query or fragment'],
    [{ baseUrl: 'https://api.example.com\\v1' }, repaired],
    [{ baseUrl: 'https://api.example.com/v\t1' }, repaired],
    [{ baseUrl: 'https://api.example.com/v1\n' }, repaired],
    [{ baseUrl: ' https://api.example.com' }, repaired],
    [{ baseUrl: 'https://api.example.com/v\x7f1' }, repaired],
    [{ baseUrl: 'https://api.example.com/v\xa01' }, repaired],
    [{ baseUrl: 'https://api.example.com/\ud800' }, 'baseUrl: expected well-formed Unicode'],
    [{ baseUrl: 'https:api.example.com' }, 'baseUrl: expected "//" after the scheme'],
    [{ baseUrl: 'https:/api.example.com' }, 'baseUrl: expected "//" after the scheme'],
    [{ baseUrl: 'https:///api.example.com' }, 'baseUrl: expected "//" after the scheme'],
    [{ baseUrl: 'https://api.example.com/a/../b' }, 'baseUrl: expected no "." or ".." segments'],
    [{ baseUrl: 'https://api.example.com/%2E%2e/b' }, 'baseUrl: expected no "." or ".." segments'],
    [{ baseUrl: 'https://api.example.com/a/.' }, 'baseUrl: expected no "." or ".." segments'],
    [
      { baseUrl: '//evil.example' },
      'baseUrl: expected a path that starts with one "/", got "//evil.example"',
    ],
    [{ baseUrl: '/\\evil.example' }, 'baseUrl: expected no backslashes, white space or control characters'],
    [{ apiKey: undefined }, `${apiKey}, got undefined ${isSet}`],
    [{ apiKey: '' }, `${apiKey}, got an empty string ${isSet}`],
    [{ apiKey: 7 }, `${apiKey}, got a number`],
    [{ apiKey: Promise.resolve('secret') }, `${apiKey}, got a Promise (is an await missing?)`],
    [{ apiKey: 'secret\nkey' }, keyCannotBeSent],
    [{ apiKey: ' secret' }, keyCannotBeSent],
    [{ apiKey: 'ключ-secret' }, keyCannotBeSent],
    [{ allowInsecureHttp: 'yes' }, 'allowInsecureHttp: expected true or false, got a string'],
    [{ timeout: -1 }, 'timeout: expected milliseconds, more than 0 and at most 2147483647, got -1'],
    [{ timeout: '5' }, 'timeout: expected milliseconds, more than 0 and at most 2147483647, got a string'],
    [
      { timeout: 2 ** 31 },
      'timeout: expected milliseconds, more than 0 and at most 2147483647, got 2147483648',
    ],
    [
      { totalTimeout: Number.NaN },
      'totalTimeout: expected milliseconds, more than 0 and at most 2147483647, got NaN',
    ],
    [{ maxRetries: 1.5 }, 'maxRetries: expected a whole number of at least 0, got 1.5'],
    [{ maxRetries: null }, 'maxRetries: expected a whole number of at least 0, got null'],
    [{ concurrency: 0 }, 'concurrency: expected a whole number of at least 1, got 0'],
    [{ maxResponseBytes: 0 }, 'maxResponseBytes: expected a whole number of at least 1, got 0'],
    [{ fetch: 'node-fetch' }, 'fetch: expected a function, got a string'],
    [{ onEvent: {} }, 'onEvent: expected a function, got an object'],
  ]
  test.each(wrong)('%o are rejected at construction', (options, message) => {
    const create = () => createClient(options as Partial<ClientOptions>)
    expect(create).toThrow(new TypeError(message))
    expect(create).not.toThrow(/secret/)
    const isReplaced = Object.values(options).some(value => value !== undefined)
    const derive = () => createClient().withOptions(options as Partial<ClientOptions>)
    if (isReplaced) expect(derive).toThrow(new TypeError(message))
    else expect(derive).not.toThrow()
  })

  test.each([
    'http://localhost:1',
    'http://127.0.0.1',
    'http://127.9.9.9',
    'http://127.10.20.30',
    'http://[::1]:8080',
    'http://a.localhost',
  ])('accept plain http for %s, which is loopback', baseUrl => {
    expect(() => createClient({ baseUrl })).not.toThrow()
  })

  test('accept plain http elsewhere with allowInsecureHttp', () => {
    expect(() => createClient({ baseUrl: 'http://10.0.0.1', allowInsecureHttp: true })).not.toThrow()
  })

  test.each([
    ['https://api.example.com', 'https://api.example.com/transactions?page=1'],
    ['https://api.example.com/', 'https://api.example.com/transactions?page=1'],
    ['HTTPS://API.example.com/v1', 'https://api.example.com/v1/transactions?page=1'],
    ['https://api.example.com/v1/', 'https://api.example.com/v1/transactions?page=1'],
    ['https://api.example.com/v1//', 'https://api.example.com/v1/transactions?page=1'],
    // A URL of another realm is no instance of ours.
    [{ href: 'https://api.example.com/v1' } as URL, 'https://api.example.com/v1/transactions?page=1'],
    [new URL('https://api.example.com/v1'), 'https://api.example.com/v1/transactions?page=1'],
  ])('put paths after the baseUrl %s', async (baseUrl, url) => {
    const fetch = vi.fn(async () => new Response(null, { status: 404 }))
    await rejectionOf(createClient({ baseUrl, fetch }).transactions.list())
    expect(fetch).toHaveBeenCalledWith(url, expect.anything())
  })

  test.each([undefined, null])('are required: %s is rejected', options => {
    expect(() => new Client(options as never)).toThrow(
      new TypeError(`options: expected an object with at least baseUrl and apiKey, got ${options}`),
    )
  })
})

describe('options', () => {
  test('may be inherited, and a misspelt name is found there, too', async () => {
    const shared = { idempotencyKey: 'k1', maxRetries: 0 }
    await createClient().virtualAccounts.deactivate(account, Object.create(shared) as object)
    expect(service.requests[0]?.headers.get('Idempotency-Key')).toBe('k1')
    const misspelt = Object.create({ idempotency_key: 'k1' }) as object
    await expect(createClient().virtualAccounts.deactivate(account, misspelt)).rejects.toThrow(
      /^idempotency_key: unknown option/,
    )
  })

  test('may be accessors of a class', async () => {
    class Options {
      get limit() {
        return 7
      }
    }
    await createClient().transactions.list(new Options())
    expect(service.requests[0]?.query).toEqual({ page: '1', limit: '7' })
  })

  test('are read once each', async () => {
    let read = 0
    const options = {
      get idempotencyKey() {
        return `k${++read}`
      },
    }
    const { idempotencyKey } = await createClient().virtualAccounts.deactivate(account, options)
    expect(idempotencyKey).toBe('k1')
    expect(service.requests[0]?.headers.get('Idempotency-Key')).toBe('k1')
  })
})

describe('fetch', () => {
  test('is looked up at each call, so that later patches take effect', async () => {
    const client = createClient()
    const patched = vi.spyOn(globalThis, 'fetch')
    await client.transactions.list()
    expect(patched).toHaveBeenCalledOnce()
  })
})

describe('apiKey', () => {
  test('null allows the header in `headers`, and it is redacted in the same way', async () => {
    const client = createClient({ apiKey: null, headers: { 'Api-Key': 'made_by_hand' } })
    service.fail({ with: () => new Response('no: made_by_hand', { status: 403 }) })
    const error = await rejectionOf(client.transactions.list({}, { headers: { 'X-A': 'b' } }))
    expect(service.requests[0]?.headers.get('Api-Key')).toBe('made_by_hand')
    expect(JSON.stringify(error)).not.toContain('made_by_hand')
    expect(() => client.withOptions({ apiKey: 'k' })).toThrow(
      new TypeError('headers: "Api-Key" is set by the client option apiKey'),
    )
  })

  test('null sends no Api-Key header', async () => {
    await rejectionOf(createClient({ apiKey: null }).transactions.list())
    expect(service.requests[0]?.headers.has('Api-Key')).toBe(false)
  })

  test('as a function is called before every attempt', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const apiKey = vi
      .fn<() => Promise<string>>()
      .mockResolvedValueOnce('old_key')
      .mockResolvedValue(service.apiKey)
    service.fail({ with: () => new Response(null, { status: 503 }) })
    await createClient({ apiKey }).transactions.list()
    expect(service.requests.map(({ headers }) => headers.get('Api-Key'))).toEqual(['old_key', service.apiKey])
  })

  test('as a function is called once by calls that begin while it is pending', async () => {
    let giveKey = (_key: string) => {}
    const apiKey = vi.fn(
      () =>
        new Promise<string>(resolve => {
          giveKey = resolve
        }),
    )
    const client = createClient({ apiKey })
    const calls = [client.transactions.list(), client.withOptions({ timeout: 1000 }).transactions.list()].map(
      list => list.then(),
    )
    await vi.waitFor(() => expect(apiKey).toHaveBeenCalled())
    giveKey(service.apiKey)
    await Promise.all(calls)
    expect(apiKey).toHaveBeenCalledOnce()
    expect(service.requests).toHaveLength(2)
  })

  const expected = 'expected the function to return a non-empty string'
  test.each([
    ['', `${expected}, got an empty string (is the environment variable set?)`],
    [
      'secret\r\n',
      'cannot be sent as a header: expected Latin-1 without line breaks or other control characters, and no white space around it (the key is not shown; a key read from a file often ends with a line break: trim it)',
    ],
    [undefined, `${expected}, got undefined (is the environment variable set?)`],
    [null, `${expected}, got null`],
    [7, `${expected}, got a number`],
  ])('as a function may not return %j', async (key, message) => {
    const error = await rejectionOf(createClient({ apiKey: () => key as string }).transactions.list())
    expect(error).toEqual(new TypeError(`apiKey: ${message}`))
    expect(service.requests).toEqual([])
  })
})

describe('withOptions', () => {
  test('replaces the API key', async () => {
    const client = createClient({ apiKey: 'wrong_key' })
    await client.withOptions({ apiKey: service.apiKey }).transactions.list()
    expect(service.requests[0]?.headers.get('Api-Key')).toBe(service.apiKey)
  })

  test.each([
    [null, 'null'],
    ['x', 'a string'],
  ])('rejects %j', (options, got) => {
    expect(() => createClient().withOptions(options as never)).toThrow(
      new TypeError(`options: expected an object, got ${got}`),
    )
  })

  test("leaves its parent's options unchanged, for the parent's calls and for further clients", async () => {
    const apiKey = vi.fn(async () => service.apiKey)
    const client = createClient({ apiKey, headers: { 'X-A': '1' }, maxRetries: 0 })
    const other = client.withOptions({ apiKey: 'wrong_key', headers: { 'X-B': '2' }, maxRetries: 1 })
    await rejectionOf(other.transactions.list())
    await client.transactions.list()
    await client.withOptions({ timeout: 1000 }).transactions.list()
    expect(service.requests.map(({ headers }) => ['X-A', 'X-B', 'Api-Key'].map(n => headers.get(n)))).toEqual(
      [
        [null, '2', 'wrong_key'],
        ['1', null, service.apiKey],
        ['1', null, service.apiKey],
      ],
    )
    expect(apiKey).toHaveBeenCalledTimes(2)
  })

  test('keeps the headers as they were when the client was created', async () => {
    const headers: Record<string, string> = { 'X-Team': 'a' }
    const client = createClient({ headers })
    headers['X-Team'] = 'b'
    await client.withOptions({ maxRetries: 0 }).transactions.list()
    expect(service.requests[0]?.headers.get('X-Team')).toBe('a')
  })

  test('keeps the baseUrl as it was when the client was created', async () => {
    const baseUrl = new URL('https://api.example.com/v1')
    const fetch = vi.fn(async () => new Response(null, { status: 404 }))
    const client = createClient({ baseUrl, fetch })
    baseUrl.host = 'evil.example'
    await rejectionOf(client.withOptions({ timeout: 1000 }).transactions.list())
    expect(fetch).toHaveBeenCalledWith('https://api.example.com/v1/transactions?page=1', expect.anything())
  })

  test('replaces an option entirely, headers too, and keeps it for undefined', async () => {
    const client = createClient({ headers: { 'X-A': '1', 'X-B': '2' }, maxRetries: 0 })
    const other = client.withOptions({ headers: { 'X-B': '3' }, maxRetries: undefined as never })
    service.fail({ times: 2, with: () => new Response(null, { status: 503 }) })
    await rejectionOf(other.transactions.list())
    await rejectionOf(client.transactions.list())
    const [first, second] = service.requests.map(({ headers }) => [headers.get('X-A'), headers.get('X-B')])
    expect(first).toEqual([null, '3'])
    expect(second).toEqual(['1', '2'])
    expect(service.requests).toHaveLength(2)
  })
})
