import { type AnyApiError, Client, type ClientOptions } from 'virtual-accounts'
import { FakeService } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { account, apiErrorOf, checkEach, rejectionOf } from '../support.ts'
import {
  apiKey,
  failedFetch,
  ok,
  passing,
  type StubStep,
  status,
  stub,
  stubbed,
  useFakeTime,
  write,
} from './stub.ts'

beforeEach(useFakeTime)
afterEach(() => void vi.useRealTimers())

const accounts = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ ...account, virtualAccountId: `v${at}` }))

/** A client of a fake service, and what it received when. */
function limited(perSecond: number, options: Partial<ClientOptions> = {}) {
  const service = new FakeService({ latency: 20 })
  service.limit({ perSecond })
  const { baseUrl, apiKey, fetch } = service
  return { service, client: new Client({ baseUrl, apiKey, fetch, ...options }) }
}

/** Number of requests sent after this time has passed. */
async function sentAfter(requests: readonly unknown[], ms: number): Promise<number> {
  await vi.advanceTimersByTimeAsync(ms)
  return requests.length
}

const busy = status(429, { 'retry-after': '2' })

describe('a service that limits the rate', () => {
  test('gets all of 200 writes that are started at once, each applied once', async () => {
    const { service, client } = limited(50)
    const all = accounts(200)
    const writes = Promise.all(all.map(account => client.virtualAccounts.deactivate(account)))
    const results = await passing(writes)
    expect(results.map(({ status }) => status)).toEqual(Array(200).fill(200))
    expect(all.some(account => service.isActive(account))).toBe(false)
  })

  test('gets all writes of a batch with few retries', async () => {
    const { service, client } = limited(5, { maxRetries: 1 })
    const remaining = accounts(50).values()
    const work = async () => {
      for (const account of remaining) await client.virtualAccounts.deactivate(account)
    }
    await passing(Promise.all(Array.from({ length: 10 }, work)))
    expect(accounts(50).some(account => service.isActive(account))).toBe(false)
  })
})

/** Calls that are refused in a row, so that others wait too. */
function refusedCalls(client: Client, count = 2) {
  return accounts(count).map(account => client.virtualAccounts.deactivate(account))
}

describe('a 429 among responses', () => {
  test('concerns its call alone, which backs off', async () => {
    const { client, requests } = stubbed([busy, ok])
    const first = client.virtualAccounts.deactivate(account)
    await vi.advanceTimersByTimeAsync(0)
    await client.virtualAccounts.deactivate(account)
    expect(await sentAfter(requests, 1_900)).toBe(2)
    await passing(first)
    expect(requests).toHaveLength(3)
  })

  test('ends its call after more than a minute of delays, and says why', async () => {
    const { call, requests } = write([status(429, { 'retry-after': '25' })])
    const error = await apiErrorOf('http', call)
    expect(error.message).toMatch(
      /HTTP 429, rate limited \(5 attempts\)\. Not retried: it was rate limited for more than a minute\. Retry after 25 s\.$/,
    )
    expect(requests).toHaveLength(5)
  })

  test('ends later calls at once, until one succeeds', async () => {
    const steps: StubStep[] = Array(7).fill(status(429, { 'retry-after': '25' }))
    const { client, requests } = stubbed([...steps.slice(0, 6), ok, status(429, { 'retry-after': '25' }), ok])
    const write = () => client.virtualAccounts.deactivate(account)
    await passing(write().catch(() => {}))
    await passing(write().catch(() => {}))
    expect(requests).toHaveLength(6)
    await passing(write())
    expect((await passing(write())).attempts).toBe(2)
  })

  test('counts neither against `maxRetries` nor the retry budget', async () => {
    const refusals = Array<StubStep>(9).fill(status(429))
    const { call, requests } = write([...refusals, ok], { maxRetries: 1 })
    expect((await call).attempts).toBe(10)
    expect(requests).toHaveLength(10)
  })

  test('whose delay exceeds 80 s ends its call at once, and delays no other', async () => {
    const { client, requests } = stubbed([status(429, { 'retry-after': '81' }), ok])
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ attempts: 1, retryAfterMs: 81_000 })
    await client.virtualAccounts.deactivate(account)
    expect(requests).toHaveLength(2)
  })

  test('is treated like a 403 or 503 with Retry-After, but only the 503 counts against `maxRetries`', async () => {
    const after = { 'retry-after': '1' }
    const { call } = write([...Array<StubStep>(4).fill(status(403, after)), ok])
    expect((await call).attempts).toBe(5)
    const error = await apiErrorOf('http', write([status(503, after)]).call)
    expect(error).toMatchObject({ status: 503, attempts: 3 })
    for (const seconds of ['0', '81']) {
      const { call } = write([status(403, { 'retry-after': seconds })])
      expect(await apiErrorOf('http', call)).toMatchObject({ status: 403, attempts: 1 })
    }
  })

  test('is treated like a lack of file descriptors (EMFILE)', async () => {
    const none = failedFetch('EMFILE', { syscall: 'connect' })
    const { call } = write([...Array<StubStep>(5).fill(none), ok])
    expect(await call).toMatchObject({ status: 200, attempts: 6 })
  })
})

describe('several 429 in a row', () => {
  const sentWhileClosed = async ({ client, requests }: ReturnType<typeof stubbed>, other = client) => {
    const first = refusedCalls(client)
    await vi.advanceTimersByTimeAsync(0)
    const later = other.virtualAccounts.reactivate(account)
    const sent = await sentAfter(requests, 1_900)
    await passing(Promise.all([...first, later]))
    return sent
  }

  test('let all calls of the client wait until one has passed', async () => {
    expect(await sentWhileClosed(stubbed([busy, busy, ok]))).toBe(2)
    const unavailable = status(503, { 'retry-after': '2' })
    expect(await sentWhileClosed(stubbed([unavailable, unavailable, ok]))).toBe(2)
  })

  test('concern derived clients with the same key and URL, and no others', async () => {
    const service = stubbed([busy, busy, ok])
    expect(await sentWhileClosed(service, service.client.withOptions({ timeout: 5_000 }))).toBe(2)
    for (const options of [{ apiKey: 'the key of a tenant' }, { baseUrl: 'https://api.example.org' }]) {
      const service = stubbed([busy, busy, ok])
      expect(await sentWhileClosed(service, service.client.withOptions(options))).toBe(3)
    }
  })

  test('concern only one key of an apiKey function', async () => {
    let key = 'the key of tenant A'
    const responses = [...Array<StubStep>(20).fill(ok), busy, busy, ok]
    const service = stubbed(responses, { apiKey: async () => key })
    // A repeated key is no token.
    for (let call = 0; call < 20; call++) await service.client.virtualAccounts.reactivate(account)
    const first = refusedCalls(service.client)
    await vi.advanceTimersByTimeAsync(0)
    key = 'the key of tenant B'
    await passing(service.client.virtualAccounts.reactivate(account))
    expect(service.requests).toHaveLength(23)
    key = 'the key of tenant A'
    const waiting = service.client.virtualAccounts.deactivate(account)
    expect(await sentAfter(service.requests, 1_500)).toBe(23)
    await passing(Promise.all([...first, waiting]))
  })

  test('concern one tenant, even if the function returned the keys of many others before', async () => {
    let key = ''
    const { client, requests } = stubbed([...Array<StubStep>(24).fill(ok), busy, busy, ok], {
      apiKey: () => key,
    })
    const use = (tenant: number) => {
      key = `the key of tenant ${tenant}`
      return client.virtualAccounts.reactivate(account)
    }
    for (let call = 0; call < 24; call++) await use(call % 12)
    key = 'the key of tenant 10'
    const first = refusedCalls(client)
    await vi.advanceTimersByTimeAsync(0)
    await use(11)
    expect(requests).toHaveLength(27)
    key = 'the key of tenant 10'
    await passing(Promise.all(first))
  })

  test('let calls wait before their apiKey function is called', async () => {
    let key = 'an old key'
    const { client, requests } = stubbed([busy, busy, ok], { apiKey: () => key })
    const first = refusedCalls(client)
    await vi.advanceTimersByTimeAsync(0)
    const later = client.virtualAccounts.deactivate(account)
    await vi.advanceTimersByTimeAsync(1_000)
    key = 'a new key'
    await passing(Promise.all([...first, later]))
    const sent = requests.map(({ headers }) => headers.get('api-key'))
    expect(sent).toEqual([...Array(2).fill('an old key'), ...Array(3).fill('a new key')])
  })

  test('do not concern a call without retries', async () => {
    const { client, requests } = stubbed([busy, busy, busy, ok])
    const first = refusedCalls(client)
    await vi.advanceTimersByTimeAsync(0)
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account, { maxRetries: 0 }))
    expect(error).toMatchObject({ status: 429, attempts: 1, retryAfterMs: 2_000 })
    expect(await sentAfter(requests, 1_900)).toBe(3)
    await passing(Promise.all(first))
  })

  test('fail the waiting calls when none has passed for more than a minute, and name the refused call', async () => {
    const { client, requests } = stubbed([status(429, { 'retry-after': '45' })])
    const first = refusedCalls(client).map(call => call.catch(error => error))
    await vi.advanceTimersByTimeAsync(0)
    const others = Array.from({ length: 9 }, () =>
      client.virtualAccounts.reactivate(account).catch(error => error),
    )
    const errors = await passing(Promise.all([...first, ...others]))
    expect(requests).toHaveLength(4)
    // The two that were sent had not been refused before, so they went first.
    const unsent = errors.filter(({ attempts }) => attempts === 0)
    expect(unsent).toHaveLength(7)
    for (const error of unsent) {
      expect(error).toMatchObject({ kind: 'http', status: 429, retryAfterMs: 45_000, outcomeUnknown: false })
      expect(error.message).toMatch(
        /reactivate: HTTP 429, rate limited\. Not sent: no call got through for more than a minute\. The last to be refused was POST .*\/reactivate\. Retry after 45 s\.$/,
      )
      expect(error.idempotencyKey).toEqual(expect.any(String))
    }
    // A later call is sent, and fails at its first refusal.
    expect(await rejectionOf(passing(client.virtualAccounts.deactivate(account)))).toMatchObject({
      attempts: 1,
    })
  })

  test('delay no later call if they are few among many calls', async () => {
    const { client, requests } = stubbed([...Array<StubStep>(9).fill(ok), busy, busy, ok])
    const first = accounts(11).map(account => client.virtualAccounts.deactivate(account))
    await vi.advanceTimersByTimeAsync(0)
    expect(requests).toHaveLength(11)
    await client.virtualAccounts.deactivate(account)
    expect(requests).toHaveLength(12)
    await passing(Promise.all(first))
  })

  test("leave a write's outcome unknown if it may have been applied before", async () => {
    const { client } = stubbed(['lost', status(429, { 'retry-after': '40' })])
    const error = await rejectionOf(passing(client.virtualAccounts.deactivate(account)))
    expect(error).toMatchObject({ kind: 'http', status: 429, outcomeUnknown: true })
  })

  test('leave no timer behind when the calls that wait are aborted', async () => {
    const { client } = stubbed([busy])
    const controller = new AbortController()
    const call = () => client.virtualAccounts.deactivate(account, { signal: controller.signal })
    const first = [rejectionOf(call()), rejectionOf(call())]
    await vi.advanceTimersByTimeAsync(0)
    const later = rejectionOf(call())
    await vi.advanceTimersByTimeAsync(100)
    controller.abort('enough')
    for (const error of await Promise.all([...first, later]))
      expect(error).toMatchObject({ kind: 'aborted', cause: 'enough' })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('are forgotten in an outage: calls then fail as fast as without them', async () => {
    const { client } = stubbed([...Array<StubStep>(50).fill(busy), 'lost'])
    const calls = accounts(500).map(account => rejectionOf(client.virtualAccounts.deactivate(account)))
    const startedAt = performance.now()
    await passing(Promise.all(calls))
    expect(performance.now() - startedAt).toBeLessThan(10_000)
  })

  test('show in events: each call of a batch waits or is retried', async () => {
    const { service, client } = limited(40)
    const events: string[] = []
    const observed = client.withOptions({ onEvent: ({ type }) => void events.push(type) })
    await passing(Promise.all(accounts(300).map(account => observed.virtualAccounts.deactivate(account))))
    const count = (type: string) => events.filter(each => each === type).length
    expect(count('retry')).toBeLessThan(100)
    expect(count('wait')).toBeGreaterThan(200)
    expect(service.requests).toHaveLength(300 + count('retry'))
  })

  test('show in events: `retry` for refused calls, `wait` once for others, with the refusal that they wait for', async () => {
    const { client, events } = stubbed([busy, busy, ok])
    const first = refusedCalls(client)
    await vi.advanceTimersByTimeAsync(0)
    await passing(Promise.all([...first, client.virtualAccounts.reactivate(account)]))
    const shown = events.map(({ type, path }) => `${type} ${path.slice(path.lastIndexOf('/') + 1)}`)
    expect(shown.filter(line => /retry|wait/.test(line))).toEqual([
      'retry deactivate',
      'retry deactivate',
      'wait reactivate',
    ])
    for (const event of events) {
      if (event.type !== 'retry' && event.type !== 'wait') continue
      expect(event).toMatchObject({ attempt: 1, error: { status: 429 } })
      expect(event.delayMs).toBeGreaterThanOrEqual(1_999)
    }
    const [wait] = events.filter(event => event.type === 'wait')
    expect(wait?.error.message).toMatch(/^POST .*\/deactivate: HTTP 429, rate limited\.$/)
    expect(JSON.stringify(wait)).not.toContain(apiKey)
  })
})

describe('maxInFlight', () => {
  /** A fetch that never responds by itself. */
  function held(options: Partial<ClientOptions> = {}) {
    const open: ((response: Response) => void)[] = []
    const fetch = () => new Promise<Response>(resolve => open.push(resolve))
    const client = new Client({ baseUrl: 'https://api.example.com', apiKey, fetch, ...options })
    const respond = async () => {
      open.shift()?.(new Response(null))
      await vi.advanceTimersByTimeAsync(0)
    }
    return { client, open, respond }
  }

  test('is 50 by default; other requests wait in order, and their timeout starts when sent', async () => {
    const { client, open, respond } = held({ timeout: 1_000, maxRetries: 0 })
    const outcomes: number[] = []
    const calls = accounts(60).map((account, at) =>
      client.virtualAccounts.deactivate(account).then(() => outcomes.push(at)),
    )
    await vi.advanceTimersByTimeAsync(900)
    expect(open).toHaveLength(50)
    for (let call = 0; call < 50; call++) await respond()
    await vi.advanceTimersByTimeAsync(900)
    for (let call = 0; call < 10; call++) await respond()
    await Promise.all(calls)
    expect(outcomes).toEqual(Array.from({ length: 60 }, (_, at) => at))
  })

  test('is shared with derived clients, each of which may set its own', async () => {
    const { client, open, respond } = held({ maxInFlight: 2 })
    const tenant = client.withOptions({ apiKey: 'the key of a tenant' })
    const calls = [client, client, tenant].map(each => each.virtualAccounts.deactivate(account))
    await vi.advanceTimersByTimeAsync(0)
    expect(open).toHaveLength(2)
    calls.push(client.withOptions({ maxInFlight: 3 }).virtualAccounts.deactivate(account))
    calls.push(client.withOptions({ maxInFlight: Infinity }).virtualAccounts.deactivate(account))
    await vi.advanceTimersByTimeAsync(0)
    expect(open).toHaveLength(4)
    for (let call = 0; call < 5; call++) await respond()
    await Promise.all(calls)
  })

  test('is shared by tenants in turn, however many calls one has', async () => {
    const { client, open, respond } = held({ maxInFlight: 1 })
    const tenant = client.withOptions({ apiKey: 'the key of a tenant' })
    const ended: string[] = []
    const start = (name: string, each: Client) =>
      each.virtualAccounts.deactivate(account).then(() => ended.push(name))
    const calls = [...accounts(9).map(() => start('one', client)), start('other', tenant)]
    await vi.advanceTimersByTimeAsync(0)
    for (let call = 0; call < 4; call++) await respond()
    expect(ended).toContain('other')
    while (open.length > 0) await respond()
    await Promise.all(calls)
  })

  test('leaves no call waiting for itself: an apiKey function, a listener and a loop body may use the client', async () => {
    const page = status(200, {}, '{"data":[{"id":"1"}],"page":1,"totalItems":1,"limit":20}')
    const { fetch } = stub(page)
    const inner = () => client.withOptions({ apiKey: 'another key' }).request('GET', '/token')
    let nested = 0
    const client = new Client({
      baseUrl: 'https://api.example.com',
      maxInFlight: 1,
      fetch,
      apiKey: async () => {
        await inner()
        // A function that calls itself, once.
        if (nested++ === 0) await client.request('GET', '/token')
        return apiKey
      },
      onEvent: async ({ type, path }) => {
        if (type === 'request' && path === '/item') await inner()
      },
    })
    const loops = accounts(100).map(async () => {
      const schema = z.looseObject({ id: z.string() })
      for await (const _ of client.list('/items', {}, { schema })) await client.request('GET', '/item')
    })
    const startedAt = performance.now()
    await passing(Promise.all(loops))
    expect(performance.now() - startedAt).toBeLessThan(10_000)
  })

  test('lets an apiKey function run only when its call goes next', async () => {
    let reads = 0
    const read = async () => {
      reads++
      return apiKey
    }
    const { client, respond } = held({ maxInFlight: 2, apiKey: read })
    const calls = accounts(10).map(account => client.virtualAccounts.deactivate(account))
    await vi.advanceTimersByTimeAsync(0)
    for (let call = 0; call < 10; call++) {
      // Two are in flight, and one more may read its key.
      expect(reads).toBeLessThanOrEqual(call + 3)
      await respond()
    }
    await Promise.all(calls)
  })

  test('goes first to a call whose apiKey function has returned', async () => {
    const { client, open, respond } = held({ maxInFlight: 1 })
    const read = () => new Promise<string>(resolve => void setTimeout(resolve, 150, apiKey))
    const ended: string[] = []
    const start = (name: string, each: Client) =>
      each.virtualAccounts.deactivate(account).then(() => ended.push(name))
    const calls = [start('reads its key', client.withOptions({ apiKey: read }))]
    calls.push(...accounts(5).map(() => start('knows its key', client)))
    await vi.advanceTimersByTimeAsync(200)
    while (open.length > 0) await respond()
    await Promise.all(calls)
    expect(ended.indexOf('reads its key')).toBe(1)
  })

  test('is not used up by apiKey functions, and timeouts do not run while calls wait for it', async () => {
    const slow = (ms: number) => new Promise<void>(resolve => void setTimeout(resolve, ms))
    const sent: string[] = []
    const fetch = async (_url: string, { headers }: { headers: Record<string, string> }) => {
      sent.push(headers['api-key']!)
      await slow(700)
      return new Response(null)
    }
    const baseUrl = 'https://api.example.com'
    const read = async () => {
      await slow(150)
      return apiKey
    }
    const client = new Client({ baseUrl, apiKey: read, fetch, timeout: 1_000, maxRetries: 0 })
    const calls = accounts(300).map(account => client.virtualAccounts.deactivate(account))
    await vi.advanceTimersByTimeAsync(50)
    calls.push(client.withOptions({ apiKey: 'another key' }).virtualAccounts.reactivate(account))
    await passing(Promise.all(calls))
    expect(sent).toHaveLength(301)
    expect(sent[0]).toBe('another key')
  })

  test('is not used by calls that have timed out', async () => {
    const { client, requests } = stubbed(['hang'], { maxInFlight: 10 })
    const timedOut = new DOMException('', 'TimeoutError')
    for (const limit of ['totalTimeout', 'signal']) {
      const calls = accounts(100).map(account => {
        const controller = new AbortController()
        if (limit === 'signal') setTimeout(() => controller.abort(timedOut), 500)
        const options = limit === 'signal' ? { signal: controller.signal } : { totalTimeout: 500 }
        return rejectionOf(client.virtualAccounts.deactivate(account, options))
      })
      const before = requests.length
      const errors = (await passing(Promise.all(calls))) as AnyApiError[]
      expect(requests.length - before).toBe(10)
      expect(errors.filter(({ outcomeUnknown }) => outcomeUnknown)).toHaveLength(10)
      expect(errors.filter(({ attempts }) => attempts === 0)).toHaveLength(90)
    }
  })

  test('lets calls wait for a slow apiKey function, without concluding that the service hangs', async () => {
    const options = {
      maxInFlight: 2,
      timeout: 150,
      maxRetries: 0,
      apiKey: () => new Promise<never>(() => {}),
    }
    const { client } = stubbed([ok], options)
    const calls = accounts(20).map(account => rejectionOf(client.virtualAccounts.deactivate(account)))
    for (const error of await passing(Promise.all(calls)))
      expect((error as Error).message).toContain('the apiKey function needs longer')
  })

  test('does not conclude that the service hangs if some calls get a response', async () => {
    const slow = (ms: number) => new Promise<void>(resolve => void setTimeout(resolve, ms))
    const fetch = (url: string) =>
      url.endsWith('/hangs') ? new Promise<never>(() => {}) : slow(20).then(() => new Response(null))
    const options = { baseUrl: 'https://api.example.com', apiKey, fetch, maxInFlight: 2, maxRetries: 0 }
    const client = new Client({ ...options, timeout: 1_000 })
    const paths = ['/hangs', '/passes', '/hangs', ...Array<string>(5).fill('/passes')]
    const calls = paths.map(path => client.request('POST', path).catch(error => error))
    const failed = (await passing(Promise.all(calls), 1)).filter(result => result instanceof Error)
    expect(failed.map(error => (error as AnyApiError).attempts)).toEqual([1, 1])
  })

  test('lets calls that wait fail unsent once nothing in flight gets a response', async () => {
    const { client, requests } = stubbed(['hang'], { timeout: 1_000, maxRetries: 1 })
    const errors = await passing(
      Promise.all(accounts(200).map(account => rejectionOf(client.virtualAccounts.deactivate(account)))),
    )
    const unsent = errors.filter(error => (error as AnyApiError).attempts === 0)
    expect(unsent.length + new Set(requests.map(({ url }) => url)).size).toBe(200)
    for (const error of unsent)
      expect(error).toMatchObject({
        kind: 'timeout',
        outcomeUnknown: false,
        idempotencyKey: expect.any(String),
      })
  })
})

test('a lone call that was refused once delays no later call', async () => {
  const { client, requests } = stubbed([status(429), ok])
  await passing(client.virtualAccounts.deactivate(account))
  for (let call = 0; call < 3; call++) await client.virtualAccounts.deactivate(account)
  expect(requests).toHaveLength(5)
})

describe('fake timers that leave performance.now alone', () => {
  test('release a call that was refused, and those that wait', async () => {
    vi.useRealTimers()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await checkEach([undefined, '30'], async retryAfter => {
      const refusal = status(429, retryAfter ? { 'retry-after': retryAfter } : {})
      const { client } = stubbed([refusal, refusal, refusal, refusal, ok])
      const calls = Promise.all([0, 1, 2, 3].map(() => client.virtualAccounts.deactivate(account)))
      // Like a user's test that expects one delay.
      for (let timers = 0; timers < 10; timers++) await vi.advanceTimersToNextTimerAsync()
      expect((await calls).map(({ status }) => status)).toEqual([200, 200, 200, 200])
      expect(vi.getTimerCount()).toBe(0)
    })
  })

  test('release a lone refused call with one timer', async () => {
    vi.useRealTimers()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { client, requests } = stubbed([busy, ok])
    const call = client.virtualAccounts.deactivate(account)
    await vi.advanceTimersByTimeAsync(0)
    await vi.advanceTimersToNextTimerAsync()
    await vi.advanceTimersByTimeAsync(0)
    expect(requests).toHaveLength(2)
    await call
  })
})
