import { isApiError } from 'virtual-accounts'
import { describe, expect, test, vi } from 'vitest'
import { createClient, respondWith, service, startService } from '../service.ts'
import { account, checkEach, rejectionOf } from '../support.ts'

startService()

describe('an error', () => {
  test('has its name as a property that is not enumerable', async () => {
    respondWith(null, { status: 404 })
    const error = await rejectionOf(createClient().transactions.list())
    expect(Object.getOwnPropertyDescriptor(error, 'name')).toEqual({
      value: 'HttpError',
      enumerable: false,
      configurable: true,
      writable: true,
    })
  })

  test('shows no property that is empty, but has it', async () => {
    const { virtualAccounts } = createClient({ fetch: async () => new Response(null, { status: 422 }) })
    const error = await rejectionOf(virtualAccounts.deactivate(account))
    const shown = ['attempts', 'idempotencyKey', 'kind', 'method', 'outcomeUnknown', 'path', 'status']
    expect(Object.keys(error as object).sort()).toEqual(shown)
    expect(error).toMatchObject({ headers: new Headers(), body: undefined, requestId: undefined })
  })

  test('redacts a key of digits that a service echoes as a number, and leaves other numbers', async () => {
    respondWith('{"key":1234567890,"count":123456789}', { status: 403 })
    const error = await rejectionOf(createClient({ apiKey: '1234567890' }).transactions.list())
    expect(error).toMatchObject({ body: { key: '[api key]', count: 123_456_789 } })
  })

  test('nothing else is recognised as one', () =>
    checkEach([null, undefined, 'text', 7, {}, new Error('no')], value => {
      expect(isApiError(value)).toBe(false)
    }))
})

test('toJSON of an HttpError has everything except the headers', async () => {
  const headers = { 'X-Request-Id': 'r7' }
  const fetch = async () => Response.json({ code: 'frozen' }, { status: 422, headers })
  const error = await rejectionOf(createClient({ fetch, maxRetries: 0 }).virtualAccounts.deactivate(account))
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    name: 'HttpError',
    kind: 'http',
    message: (error as Error).message,
    method: 'POST',
    path: '/customers/c1/virtual_accounts/v1/deactivate',
    attempts: 1,
    idempotencyKey: (error as { idempotencyKey: string }).idempotencyKey,
    outcomeUnknown: false,
    requestId: 'r7',
    status: 422,
    body: { code: 'frozen' },
  })
})

const containsItself = new AggregateError([], 'closed')
containsItself.errors.push(containsItself)

test('toJSON of an AbortError has the reason, of whatever type that is', () =>
  checkEach<[reason: unknown, cause: unknown]>(
    [
      ['closed', 'closed'],
      [7, 7],
      [null, null],
      [7n, '7'],
      [new RangeError('closed'), { name: 'RangeError', message: 'closed' }],
      [Object.assign(new Error('closed'), { code: 7n, errors: { id: 'missing' } }), { message: 'closed' }],
      [new AggregateError([undefined, new Error('b')]), { errors: [null, { message: 'b' }] }],
      [containsItself, { errors: [{ name: 'AggregateError' }] }],
    ],
    async ([reason, cause]) => {
      const signal = AbortSignal.abort(reason)
      const error = await rejectionOf(createClient().virtualAccounts.deactivate(account, { signal }))
      expect(JSON.parse(JSON.stringify(error))).toMatchObject({ kind: 'aborted', cause, attempts: 0 })
    },
  ))

test('toJSON has nothing that others attached to an error', async () => {
  respondWith(null, { status: 404 })
  const error = await rejectionOf(createClient().transactions.list())
  Object.assign(error as object, { request: { headers: { authorization: 'secret' } }, itself: error })
  expect(JSON.stringify(error)).not.toMatch(/secret|itself/)
})

test('toJSON of a TimeoutError has its limit, too', async () => {
  const { fetch } = service
  service.fail({ with: 'hang' })
  const error = await rejectionOf(createClient({ fetch, timeout: 10, maxRetries: 0 }).transactions.list())
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({ kind: 'timeout', method: 'GET', timeoutMs: 10 })
})

describe('the cause of a ConnectionError', () => {
  test('has name, message, code and stack of the first four errors of the chain', async () => {
    const depths = ['fifth', 'fourth', 'third', 'second', 'first']
    const original = depths.reduce<Error | undefined>((cause, name) => {
      const code = name === 'second' ? 'ECONNRESET' : `not a code: ${name}`
      return Object.assign(new RangeError(name, cause && { cause }), { code })
    }, undefined)
    const fetch = async () => {
      throw original
    }
    const error = await rejectionOf(createClient({ fetch, maxRetries: 0 }).transactions.list())

    const causes: string[] = []
    let current = error as Error & { code?: string }
    while (current.cause) {
      current = current.cause as Error
      causes.push(`${current.name} ${current.message} ${current.code}`)
      expect(current.stack).toContain(current.message)
    }
    expect(causes).toEqual([
      'RangeError first ECONNRESET',
      'RangeError second ECONNRESET',
      'RangeError third undefined',
      'RangeError fourth undefined',
    ])
  })

  test('has no code that only a fifth error has, even if the chain is endless', async () => {
    const fifth = Object.assign(new Error('fifth'), { code: 'ECONNREFUSED' })
    const endless = new Error('endless')
    endless.cause = endless
    const chain = ['fourth', 'third', 'second', 'first'].reduce(
      (cause, name) => new Error(name, { cause }),
      fifth as Error,
    )
    for (const thrown of [chain, endless]) {
      const fetch = () => Promise.reject(thrown)
      const error = await rejectionOf(createClient({ fetch, maxRetries: 0 }).transactions.list())
      expect(String(error)).not.toContain('ECONNREFUSED')
    }
  })

  test('is { name, message, code } in the JSON of its error', async () => {
    const reset = Object.assign(new RangeError('read'), { code: 'ECONNRESET', errno: -104 })
    const fetch = async () => Promise.reject(reset)
    const error = await rejectionOf(createClient({ fetch, maxRetries: 0 }).transactions.list())
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({
      name: 'ConnectionError',
      cause: { name: 'RangeError', message: 'read', code: 'ECONNRESET' },
    })
    expect(JSON.parse(JSON.stringify(error)).cause).toEqual({
      name: 'RangeError',
      message: 'read',
      code: 'ECONNRESET',
    })
  })

  test('keeps the errors of an AggregateError, one for each address of the host', async () => {
    const refused = (address: string) =>
      Object.assign(new Error(`connect ${address} test_key`), { code: 'ECONNREFUSED' })
    const cause = new AggregateError([refused('::1'), refused('127.0.0.1')])
    const fetch = async () => Promise.reject(new TypeError('fetch failed', { cause }))
    const error = (await rejectionOf(createClient({ fetch, maxRetries: 0 }).transactions.list())) as Error
    const expected = ['::1', '127.0.0.1'].map(address => ({
      name: 'Error',
      message: `connect ${address} [api key]`,
      code: 'ECONNREFUSED',
    }))
    expect(error.cause).toMatchObject({ cause: { errors: expected } })
    expect(JSON.parse(JSON.stringify(error)).cause.errors).toEqual(expected)
  })

  test('is left out when reading it throws', async () => {
    const thrown = {
      get message() {
        throw new Error('no message')
      },
    }
    const fetch = () => Promise.reject(thrown)
    const error = await rejectionOf(createClient({ fetch, maxRetries: 0 }).transactions.list())
    expect(error).toMatchObject({ kind: 'connection' })
    expect(error).not.toHaveProperty('cause')
  })

  test('may be anything that was thrown', async () => {
    for (const [thrown, message] of [
      ['a string', 'a string'],
      [7, '7'],
      [null, 'null'],
    ]) {
      const fetch = () => Promise.reject(thrown)
      const error = await rejectionOf(createClient({ fetch, maxRetries: 0 }).transactions.list())
      expect(error).toMatchObject({ kind: 'connection', cause: { message } })
    }
  })
})

describe('the request id', () => {
  const page = '{"data":[],"page":1,"totalItems":0,"limit":20}'
  const respond = (body: string, status = 200, headers: HeadersInit = { 'X-Request-Id': 'r1' }) =>
    createClient({ maxRetries: 0, fetch: async () => new Response(body, { status, headers }) })

  test('is on pages and on results', async () => {
    expect((await respond(page).transactions.list()).requestId).toBe('r1')
    expect((await respond('').virtualAccounts.deactivate(account)).requestId).toBe('r1')
    expect((await respond('{}').request('GET', '/a')).requestId).toBe('r1')
  })

  test('is x-request-id, or else request-id', () =>
    checkEach<[headers: Record<string, string>, requestId: string | undefined]>(
      [
        [{ 'X-Request-Id': 'a', 'Request-Id': 'b' }, 'a'],
        [{ 'Request-Id': 'b' }, 'b'],
        [{ 'X-Request-Id': '', 'Request-Id': 'b' }, 'b'],
        [{ 'X-Amzn-RequestId': 'c' }, undefined],
      ],
      async ([headers, requestId]) => {
        expect((await respond(page, 200, headers).transactions.list()).requestId).toBe(requestId)
      },
    ))

  test('is on every error that has a response, and in its JSON', () =>
    checkEach(
      [
        ['HttpError', '', 404],
        ['InvalidResponseError', '[]', 200],
        ['PaginationError', page.replace('"page":1', '"page":2'), 200],
      ] as const,
      async ([name, body, status]) => {
        const error = await rejectionOf(respond(body, status).transactions.list())
        expect(error).toMatchObject({ name, requestId: 'r1' })
        expect(JSON.parse(JSON.stringify(error))).toMatchObject({ name, requestId: 'r1' })
      },
    ))

  test('is that of the last response if the last attempt got none', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const lost = async () => Promise.reject(new TypeError('fetch failed'))
    const fetch = vi
      .fn<() => Promise<Response>>(lost)
      .mockResolvedValueOnce(new Response('', { status: 503, headers: { 'X-Request-Id': 'r1' } }))
    const error = await rejectionOf(createClient({ fetch, maxRetries: 1 }).transactions.list())
    expect(error).toMatchObject({ kind: 'connection', requestId: 'r1' })
  })

  test('is undefined on an error of a call that got no response', async () => {
    const fetch = async () => Promise.reject(new TypeError('fetch failed'))
    const error = await rejectionOf(createClient({ fetch, maxRetries: 0 }).transactions.list())
    expect(isApiError(error) && 'requestId' in error && error.requestId).toBe(undefined)
  })

  test('is redacted where the service echoes the API key in it', async () => {
    const client = createClient({
      fetch: async () => new Response('', { status: 404, headers: { 'X-Request-Id': service.apiKey } }),
    })
    expect(await rejectionOf(client.transactions.list())).toMatchObject({ requestId: '[api key]' })
  })
})
