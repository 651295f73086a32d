import { describe, expect, test, vi } from 'vitest'
import { account, answerWithPage, createClient, createObservedClient, failureOf, service } from './service.ts'

const answer503 = () => service.fail({ with: () => new Response(null, { status: 503 }) })

describe('a listener', () => {
  test('is told of the request and of its answer', async () => {
    const { client, events } = createObservedClient()
    const { idempotencyKey } = await client.virtualAccounts.deactivate(account)

    const call = events[0]?.call
    const about = {
      call,
      method: 'POST',
      path: '/customers/c1/virtual_accounts/v1/deactivate',
      page: undefined,
    }
    expect(call).toEqual(expect.any(String))
    expect(events).toEqual([
      { ...about, type: 'request', attempt: 1, idempotencyKey },
      { ...about, type: 'response', attempt: 1, status: 200, durationMs: expect.any(Number) },
    ])
  })

  test('is told of a retry: which attempt failed, with what, and how long the wait is', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    answer503()
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
    expect(new Set(events.map(({ call }) => call)).size).toBe(1)
  })

  test('is told last of the failure of every call that rejects', async () => {
    answer503()
    const { client, events } = createObservedClient({ maxRetries: 0 })
    const error = await failureOf(client.transactions.list())
    expect(events.at(-1)).toMatchObject({
      type: 'failure',
      attempt: 1,
      error,
      durationMs: expect.any(Number),
    })

    answerWithPage('7')
    const misfit = await failureOf(client.transactions.list())
    expect(events.at(-1)).toMatchObject({ type: 'failure', attempt: 1, error: misfit })

    const controller = new AbortController()
    service.fail({ with: 'hang' })
    const hanging = failureOf(client.transactions.list({}, { signal: controller.signal }))
    controller.abort('enough')
    expect(await hanging).toBe('enough')
    expect(events.at(-1)).toMatchObject({ type: 'failure', error: 'enough' })
  })

  test('is told of a next page that is refused', async () => {
    const { client, events } = createObservedClient()
    const page = await client.transactions.list({ limit: 10 })
    answerWithPage('', '"page":2,"totalItems":5,"limit":5')
    const error = await failureOf(page.nextPage())
    expect(events.at(-1)).toMatchObject({ type: 'failure', page: 2, error })
  })

  test('is told nothing of misuse', async () => {
    const { client, events } = createObservedClient()
    await failureOf(client.virtualAccounts.deactivate({ ...account, customerId: '' }))
    expect(() => client.transactions.list({ page: 0 })).toThrow()
    expect(events).toEqual([])
  })

  test('gets a call of its own for each page of a walk', async () => {
    const { client, events } = createObservedClient()
    for await (const _ of client.transactions.list({ limit: 10 }));
    const pages = events.filter(({ type }) => type === 'request').map(({ page }) => page)
    expect(pages).toEqual([1, 2, 3])
    expect(new Set(events.map(({ call }) => call)).size).toBe(3)
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
  ])('that %s does no harm', async (_what, onEvent) => {
    const { status } = await createClient({ onEvent }).virtualAccounts.deactivate(account)
    expect(status).toBe(200)
  })
})

describe('a failure says which call, what was found, and what to do', () => {
  const deactivate = (options?: object) =>
    createClient({ maxRetries: 0, ...options }).virtualAccounts.deactivate(account)
  const call = 'POST /customers/c1/virtual_accounts/v1/deactivate'
  const applied = 'It may have been applied: repeat it with the same idempotencyKey.'

  test.each([
    [400, `the service answered 400 (1 attempt). The service's reason, if it gave one, is in error.body.`],
    [401, 'the service answered 401 (1 attempt). Check apiKey, and that it belongs to this baseUrl.'],
    [404, 'the service answered 404 (1 attempt). Check the ids and the path of baseUrl.'],
    [
      302,
      'the service answered 302 (1 attempt). Redirects are not followed: set baseUrl to where the service answers itself.',
    ],
    [500, `the service answered 500 (1 attempt). ${applied} The service is in trouble: try again later.`],
  ])('%i', async (status, message) => {
    const fetch = async () => new Response(null, { status })
    expect(await failureOf(deactivate({ fetch }))).toMatchObject({ message: `${call}: ${message}`, status })
  })

  test('a lost connection', async () => {
    service.fail({ with: 'truncate' })
    const { fetch } = service
    expect(await failureOf(deactivate({ fetch }))).toMatchObject({
      name: 'ConnectionError',
      message: `${call}: connection lost while reading the answer (1 attempt). ${applied}`,
      outcomeUnknown: true,
    })
    expect(service.isActive(account)).toBe(false)
  })

  test('a timeout', async () => {
    service.fail({ with: 'hang' })
    const { fetch } = service
    expect(await failureOf(deactivate({ timeout: 20, fetch }))).toMatchObject({
      name: 'TimeoutError',
      message: `${call}: no complete answer within the timeout of 20 ms (1 attempt). ${applied} Raise timeout if it needs longer.`,
      timeoutMs: 20,
    })
  })

  test('as JSON, for logs, with all but headers', async () => {
    const fetch = async () => Response.json({ code: 'frozen' }, { status: 422 })
    const error = await failureOf(deactivate({ fetch }))
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'HttpError',
      kind: 'http',
      message: `${call}: the service answered 422 (1 attempt). The service's reason, if it gave one, is in error.body.`,
      method: 'POST',
      path: '/customers/c1/virtual_accounts/v1/deactivate',
      attempts: 1,
      idempotencyKey: (error as { idempotencyKey: string }).idempotencyKey,
      outcomeUnknown: false,
      status: 422,
      body: { code: 'frozen' },
    })
  })
})

describe('the cause of a ConnectionError', () => {
  test('is what lay beneath: name, message, code and stack, down to the fourth', async () => {
    const depths = ['fifth', 'fourth', 'third', 'second', 'first']
    const beneath = depths.reduce<Error | undefined>((cause, name) => {
      const code = name === 'second' ? 'ECONNRESET' : `not a code: ${name}`
      return Object.assign(new RangeError(name, cause && { cause }), { code })
    }, undefined)
    const fetch = async () => {
      throw beneath
    }
    const error = await failureOf(createClient({ fetch, maxRetries: 0 }).transactions.list())

    const told: string[] = []
    let at = error as Error & { code?: string }
    for (;;) {
      if (!at.cause) break
      at = at.cause as Error
      told.push(`${at.name} ${at.message} ${at.code}`)
      expect(at.stack).toContain(at.message)
    }
    expect(told).toEqual([
      'RangeError first ECONNRESET',
      'RangeError second ECONNRESET',
      'RangeError third undefined',
      'RangeError fourth undefined',
    ])
  })

  test('may be anything that was thrown', async () => {
    for (const [thrown, message] of [
      ['a string', 'a string'],
      [7, '[object Number]'],
      [null, '[object Null]'],
    ]) {
      const fetch = () => Promise.reject(thrown)
      const error = await failureOf(createClient({ fetch, maxRetries: 0 }).transactions.list())
      expect(error).toMatchObject({ kind: 'connection', cause: { message } })
    }
  })
})

test('a timeout tells its limit in JSON, too', async () => {
  const { fetch } = service
  service.fail({ with: 'hang' })
  const error = await failureOf(createClient({ fetch, timeout: 10, maxRetries: 0 }).transactions.list())
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({ kind: 'timeout', method: 'GET', timeoutMs: 10 })
  expect(String(error)).toContain('Raise timeout if it needs longer.')
})

test('an apiKey function that gives no key in time says so', async () => {
  const apiKey = () => new Promise<string>(() => {})
  const error = await failureOf(
    createClient({ apiKey, timeout: 10, maxRetries: 0 }).virtualAccounts.deactivate(account),
  )
  expect(error).toMatchObject({ kind: 'timeout', outcomeUnknown: false })
  expect(String(error)).toContain('no key from apiKey within the timeout of 10 ms')
})

test('a schema that never settles ends with totalTimeout', async () => {
  const schema = {
    '~standard': { version: 1, vendor: 'test', validate: () => new Promise<never>(() => {}) },
  } as const
  const call = createClient({ totalTimeout: 30 }).virtualAccounts.deactivate(account, { schema })
  const error = await failureOf(call)
  expect(error).toMatchObject({ kind: 'timeout', timeoutMs: 30, outcomeUnknown: true })
  expect(String(error)).toContain('no verdict of the schema within the totalTimeout of 30 ms')
})
