import type { ClientEvent } from 'virtual-accounts'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createClient, createObservedClient, respondWithPage, service, startService } from '../service.ts'
import { account, rejectionOf } from '../support.ts'

startService()

const respond503 = () => service.fail({ with: () => new Response(null, { status: 503 }) })

describe('a listener', () => {
  test('is called for the request, for its response and for the success of the call', async () => {
    const { client, events } = createObservedClient()
    const { idempotencyKey } = await client.virtualAccounts.deactivate(account)

    const callId = events[0]?.callId
    const base = {
      callId,
      method: 'POST',
      url: `${service.baseUrl}/customers/c1/virtual_accounts/v1/deactivate`,
      path: '/customers/c1/virtual_accounts/v1/deactivate',
      page: undefined,
      loop: undefined,
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
      { ...base, type: 'success', attempts: 1, durationMs: expect.any(Number) },
    ])
  })

  test('gets the full URL of a list, query included, and its path without it', async () => {
    service.serveList('/refunds', [])
    const schema = {
      '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
    } as const
    const { client, events } = createObservedClient()
    await client.transactions.list({ page: 2, limit: 10, query: { currency: 'AED' } })
    await client.list('/refunds', {}, { schema })
    await client.request('GET', '/refunds', { query: { limit: 3 } })
    const { baseUrl } = service
    expect(events.filter(({ type }) => type === 'request').map(({ url, path }) => [url, path])).toEqual([
      [`${baseUrl}/transactions?page=2&limit=10&currency=AED`, '/transactions'],
      [`${baseUrl}/refunds?page=1`, '/refunds'],
      [`${baseUrl}/refunds?limit=3`, '/refunds'],
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

    expect(events.map(({ type }) => type)).toEqual([
      'request',
      'response',
      'retry',
      'request',
      'response',
      'success',
    ])
    expect(events[2]).toMatchObject({
      attempt: 1,
      durationMs: expect.any(Number),
      delayMs: 250,
      page: 2,
      // What happened, without advice.
      error: { kind: 'http', status: 503, message: 'GET /transactions (page 2): HTTP 503.' },
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
    const aborted = await hanging
    expect(events.at(-1)).toMatchObject({ type: 'failure', error: aborted })
  })

  test('is called once at the end of every call, even if `break` cancels it', async () => {
    const { client, events } = createObservedClient()
    for await (const _ of client.transactions.list({ limit: 10 }).batches()) break
    await vi.waitFor(() => expect(callsOf(events, 'success', 'failure')).toEqual(callsOf(events, 'request')))
    const responses = new Set(callsOf(events, 'response'))
    expect(callsOf(events, 'failure').filter(call => responses.has(call))).toEqual([])
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

  test('that throws or rejects does not affect the call, and its first error is logged', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const error = new Error('listener')
    const throwing = () => {
      throw error
    }
    const rejecting = async () => throwing()
    for (const onEvent of [throwing, throwing, rejecting]) {
      const client = createClient({ onEvent })
      await client.withOptions({}).virtualAccounts.reactivate(account)
      expect(await client.virtualAccounts.deactivate(account)).toMatchObject({ status: 200 })
      await client.virtualAccounts.reactivate(account)
    }
    const logged = ['virtual-accounts: onEvent threw (only its first error is shown):', error]
    expect(log.mock.calls).toEqual([logged, logged, logged])
  })
})

/** The calls of these events, once for each event. */
const callsOf = (events: readonly ClientEvent[], ...types: ClientEvent['type'][]) =>
  events
    .filter(({ type }) => types.includes(type))
    .map(({ callId }) => callId)
    .sort()

describe('durationMs', () => {
  const takes = (ms: number, status: number) => () =>
    new Promise<Response>(resolve => setTimeout(() => resolve(new Response('{}', { status })), ms))

  test('is in milliseconds: of its attempt on a response and a retry, of the whole call on a failure', async () => {
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
      ['retry', 700],
      ['response', 300],
      ['failure', expect.closeTo(1250, -1)],
    ])
  })
})
