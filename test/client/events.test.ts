import { isApiError } from 'virtual-accounts'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createClient, createObservedClient, respondWithPage, service, startService } from '../service.ts'
import { account, rejectionOf } from '../support.ts'

startService()

const respond503 = () => service.fail({ with: () => new Response(null, { status: 503 }) })

describe('a listener', () => {
  test('is called for the request and for its response', async () => {
    const { client, events } = createObservedClient()
    const { idempotencyKey } = await client.virtualAccounts.deactivate(account)

    const callId = events[0]?.callId
    const base = {
      callId,
      method: 'POST',
      url: `${service.baseUrl}/customers/c1/virtual_accounts/v1/deactivate`,
      path: '/customers/c1/virtual_accounts/v1/deactivate',
      route: '/customers/{customerId}/virtual_accounts/{virtualAccountId}/deactivate',
      page: undefined,
    }
    expect(callId).toEqual(expect.any(String))
    expect(events).toEqual([
      { ...base, type: 'request', attempt: 1, idempotencyKey },
      {
        ...base,
        type: 'response',
        attempt: 1,
        status: 200,
        headers: expect.any(Headers),
        requestId: undefined,
        durationMs: expect.any(Number),
      },
    ])
  })

  test('gets the route of a request, so that metrics have one series for all ids', async () => {
    const { client, events } = createObservedClient({ fetch: async () => new Response('{}') })
    await client.request('GET', '/customers/c1/notes', { route: '/customers/{customerId}/notes' })
    expect(events[0]).toMatchObject({ path: '/customers/c1/notes', route: '/customers/{customerId}/notes' })
  })

  test('gets the full URL of a list, query included, and its path as the route', async () => {
    service.serveList('/refunds', [])
    const schema = {
      '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
    } as const
    const { client, events } = createObservedClient()
    await client.transactions.list({ page: 2, limit: 10, query: { currency: 'AED' } })
    await client.list('/refunds', {}, { schema })
    await client.request('GET', '/refunds', { query: { limit: 3 } })
    const { baseUrl } = service
    expect(
      events.filter(({ type }) => type === 'request').map(({ url, path, route }) => [url, path, route]),
    ).toEqual([
      [`${baseUrl}/transactions?page=2&limit=10&currency=AED`, '/transactions', '/transactions'],
      [`${baseUrl}/refunds?page=1`, '/refunds', '/refunds'],
      [`${baseUrl}/refunds?limit=3`, '/refunds', '/refunds'],
    ])
  })

  test('gets the headers and the request id of every response, whatever its status', async () => {
    const { client, events } = createObservedClient({ maxRetries: 0 })
    service.fail({
      with: () => new Response(null, { status: 503, headers: { 'X-Request-Id': 'r1', 'X-Node': 'a' } }),
    })
    service.fail({ with: () => new Response('{}', { headers: { 'Request-Id': 'r2', 'X-Node': 'b' } }) })
    await rejectionOf(client.request('GET', '/a'))
    await client.request('GET', '/a')
    const responses = events.filter(event => event.type === 'response')
    expect(responses.map(({ headers, requestId }) => [headers.get('x-node'), requestId])).toEqual([
      ['a', 'r1'],
      ['b', 'r2'],
    ])
  })

  test('never gets the API key: not in URLs, paths, headers, nor in request ids', async () => {
    const apiKey = 'key_that_is_echoed'
    const headers = { 'X-Request-Id': `of ${apiKey}`, 'X-Echo': apiKey }
    const fetch = async () => new Response('{}', { headers })
    const { client, events } = createObservedClient({ apiKey, fetch })
    await client.request('GET', `/keys/${apiKey}`, { query: { [apiKey]: apiKey } })

    const [request, response] = events
    expect(request).toMatchObject({
      url: `${service.baseUrl}/keys/[api key]?[api key]=[api key]`,
      path: '/keys/[api key]',
      route: '/keys/[api key]',
    })
    if (response?.type !== 'response') throw new Error('expected a response event')
    expect(response.requestId).toBe('of [api key]')
    expect([...response.headers].filter(([name]) => name !== 'content-type')).toEqual([
      ['x-echo', '[api key]'],
      ['x-request-id', 'of [api key]'],
    ])
  })

  test('is called for a retry: which attempt failed, with which error, and the delay', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    respond503()
    const { client, events } = createObservedClient()
    await client.transactions.list({ page: 2 })

    expect(events.map(({ type }) => type)).toEqual(['request', 'response', 'retry', 'request', 'response'])
    expect(events[2]).toMatchObject({
      attempt: 1,
      delayMs: 250,
      page: 2,
      error: { kind: 'http', status: 503 },
    })
    expect(events[3]).toMatchObject({ attempt: 2, page: 2, idempotencyKey: undefined })
    expect(new Set(events.map(({ callId }) => callId)).size).toBe(1)
  })

  test('is called last for the failure of every call that rejects', async () => {
    respond503()
    const { client, events } = createObservedClient({ maxRetries: 0 })
    const error = await rejectionOf(client.transactions.list())
    expect(events.at(-1)).toMatchObject({
      type: 'failure',
      attempt: 1,
      error,
      durationMs: expect.any(Number),
    })

    respondWithPage('7')
    const invalid = await rejectionOf(client.transactions.list())
    expect(events.at(-1)).toMatchObject({ type: 'failure', attempt: 1, error: invalid })

    const controller = new AbortController()
    service.fail({ with: 'hang' })
    const hanging = rejectionOf(client.transactions.list({}, { signal: controller.signal }))
    controller.abort('enough')
    expect(await hanging).toBe('enough')
    expect(events.at(-1)).toMatchObject({ type: 'failure', error: 'enough' })
  })

  test('is called for the failure of nextPage, too', async () => {
    const { client, events } = createObservedClient()
    const page = await client.transactions.list({ limit: 10 })
    respondWithPage('', '"page":2,"totalItems":5,"limit":5')
    const error = await rejectionOf(page.nextPage())
    expect(events.at(-1)).toMatchObject({ type: 'failure', page: 2, error })
  })

  test('is not called for misuse', async () => {
    const { client, events } = createObservedClient()
    await rejectionOf(client.virtualAccounts.deactivate({ ...account, customerId: '' }))
    expect(() => client.transactions.list({ page: 0 })).toThrow()
    expect(events).toEqual([])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('listener')
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('listener')
      },
    ],
  ])('that %s does not affect the call', async (_what, onEvent) => {
    const { status } = await createClient({ onEvent }).virtualAccounts.deactivate(account)
    expect(status).toBe(200)
  })
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

  test('is left out when reading it throws', async () => {
    const thrown = {
      get message() {
        throw new Error('no message')
      },
    }
    const fetch = () => Promise.reject(thrown)
    const error = await rejectionOf(createClient({ fetch, maxRetries: 0 }).transactions.list())
    expect(error).toMatchObject({ kind: 'connection' })
    expect((error as Error).cause).toBeUndefined()
  })

  test('may be anything that was thrown', async () => {
    for (const [thrown, message] of [
      ['a string', 'a string'],
      [7, '[object Number]'],
      [null, '[object Null]'],
    ]) {
      const fetch = () => Promise.reject(thrown)
      const error = await rejectionOf(createClient({ fetch, maxRetries: 0 }).transactions.list())
      expect(error).toMatchObject({ kind: 'connection', cause: { message } })
    }
  })
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

test('toJSON of a TimeoutError has its limit, too', async () => {
  const { fetch } = service
  service.fail({ with: 'hang' })
  const error = await rejectionOf(createClient({ fetch, timeout: 10, maxRetries: 0 }).transactions.list())
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({ kind: 'timeout', method: 'GET', timeoutMs: 10 })
  expect(String(error)).toContain('Raise `timeout` if the service needs longer.')
})

test('the message of a TimeoutError says when it was the apiKey function that gave no key in time', async () => {
  const apiKey = () => new Promise<string>(() => {})
  const error = await rejectionOf(
    createClient({ apiKey, timeout: 10, maxRetries: 0 }).virtualAccounts.deactivate(account),
  )
  expect(error).toMatchObject({ kind: 'timeout', outcomeUnknown: false })
  expect(String(error)).toContain(
    ': the apiKey function returned no key within the timeout of 10 ms (1 attempt). Raise `timeout` if apiKey needs longer.',
  )
})

describe('durationMs', () => {
  const takes = (ms: number, status: number) => () =>
    new Promise<Response>(resolve => setTimeout(() => resolve(new Response('{}', { status })), ms))

  test('is in milliseconds: of its own attempt on a response, of the whole call on a failure', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    vi.advanceTimersByTime(100_000)
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const fetch = vi.fn(takes(300, 503)).mockImplementationOnce(takes(700, 503))
    const { client, events } = createObservedClient({ fetch, maxRetries: 1 })
    const call = rejectionOf(client.request('GET', '/a'))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await call).toMatchObject({ status: 503, attempts: 2 })

    const durations = events.map(event => ('durationMs' in event ? [event.type, event.durationMs] : []))
    // The delay between the attempts is 250 ms; a timer of 0 ms takes 1.
    expect(durations.filter(({ length }) => length > 0)).toEqual([
      ['response', 700],
      ['response', 300],
      ['failure', expect.closeTo(1250, -1)],
    ])
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

  test.each<[string, Record<string, string>, string | undefined]>([
    ['x-request-id', { 'X-Request-Id': 'a', 'Request-Id': 'b' }, 'a'],
    ['request-id', { 'Request-Id': 'b' }, 'b'],
    ['request-id if x-request-id is empty', { 'X-Request-Id': '', 'Request-Id': 'b' }, 'b'],
    ['neither header', { 'X-Amzn-RequestId': 'c' }, undefined],
  ])('is that of %s', async (_name, headers, requestId) => {
    expect((await respond(page, 200, headers).transactions.list()).requestId).toBe(requestId)
  })

  test.each([
    ['HttpError', '', 404],
    ['InvalidResponseError', '[]', 200],
    ['PaginationError', page.replace('"page":1', '"page":2'), 200],
  ])('is on a %s, and in its JSON', async (name, body, status) => {
    const error = await rejectionOf(respond(body, status).transactions.list())
    expect(error).toMatchObject({ name, requestId: 'r1' })
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ name, requestId: 'r1' })
  })

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
    const client = respond(page, 200, { 'X-Request-Id': service.apiKey }).withOptions({
      apiKey: service.apiKey,
    })
    expect(
      await rejectionOf(respond('', 404, { 'X-Request-Id': service.apiKey }).transactions.list()),
    ).toMatchObject({
      requestId: '[api key]',
    })
    // The data of a success is never rewritten.
    expect((await client.transactions.list()).requestId).toBe(service.apiKey)
  })
})
