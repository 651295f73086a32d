import { Client, type ClientOptions } from 'virtual-accounts'
import { FakeService } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf, checkEach, rejectionOf } from '../support.ts'
import { apiKey, ok, passing, type StubStep, status, stubbed, useFakeTime, write } from './stub.ts'

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

/** Requests that were sent so far; then those after so long. */
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

  test('gets all writes of a batch that is short of retries', async () => {
    const { service, client } = limited(5, { maxRetries: 1 })
    const remaining = accounts(50).values()
    const work = async () => {
      for (const account of remaining) await client.virtualAccounts.deactivate(account)
    }
    await passing(Promise.all(Array.from({ length: 10 }, work)))
    expect(accounts(50).some(account => service.isActive(account))).toBe(false)
  })
})

describe('after a 429', () => {
  const twice = async ({ client, requests }: ReturnType<typeof stubbed>, other = client) => {
    const first = client.virtualAccounts.deactivate(account)
    await vi.advanceTimersByTimeAsync(0)
    const second = other.virtualAccounts.deactivate(account)
    const sent = await sentAfter(requests, 1_900)
    await passing(Promise.all([first, second]))
    return sent
  }

  test('all calls of the client pause until it may be sent again', async () => {
    expect(await twice(stubbed([busy, ok]))).toBe(1)
    expect(await twice(stubbed([status(503, { 'retry-after': '2' }), ok]))).toBe(1)
  })

  test('so do those of derived clients with the same key and URL, and no others', async () => {
    const service = stubbed([busy, ok])
    expect(await twice(service, service.client.withOptions({ timeout: 5_000 }))).toBe(1)
    for (const options of [{ apiKey: 'the key of a tenant' }, { baseUrl: 'https://api.example.org' }]) {
      const service = stubbed([busy, ok])
      expect(await twice(service, service.client.withOptions(options))).toBe(2)
    }
  })

  test('keys that a function returns pause apart', async () => {
    let key = 'the key of tenant A'
    const service = stubbed([busy, ok], { apiKey: async () => key })
    const first = service.client.virtualAccounts.deactivate(account)
    await vi.advanceTimersByTimeAsync(0)
    key = 'the key of tenant B'
    await passing(service.client.virtualAccounts.reactivate(account))
    expect(service.requests).toHaveLength(2)
    key = 'the key of tenant A'
    const waiting = service.client.virtualAccounts.deactivate(account)
    expect(await sentAfter(service.requests, 1_500)).toBe(2)
    await passing(Promise.all([first, waiting]))
  })

  test('a function is called for the key again after waiting, as it may have expired', async () => {
    let keys = 0
    const { client, requests } = stubbed([busy, ok], {
      apiKey: () => `key number ${++keys}0`.replace(/ \d+$/, ''),
    })
    const fresh = client.withOptions({
      apiKey: () => (Date.now() < 2_000 + start ? 'an old key' : 'a new key'),
    })
    const start = Date.now()
    const first = fresh.virtualAccounts.deactivate(account)
    await vi.advanceTimersByTimeAsync(0)
    await passing(Promise.all([first, fresh.virtualAccounts.deactivate(account)]))
    expect(requests.map(({ headers }) => headers.get('api-key'))).toEqual([
      'an old key',
      'a new key',
      'a new key',
    ])
  })

  test('a call without retries waits for no turn, and delays no other', async () => {
    const { client, requests } = stubbed([busy, busy, busy, ok])
    const first = client.virtualAccounts.deactivate(account)
    await vi.advanceTimersByTimeAsync(0)
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account, { maxRetries: 0 }))
    expect(error).toMatchObject({ status: 429, attempts: 1, retryAfterMs: 2_000 })
    expect(await sentAfter(requests, 1_900)).toBe(2)
    await passing(first)
  })

  test('neither `maxRetries` nor the retry budget counts it', async () => {
    const refusals = Array<StubStep>(9).fill(status(429))
    const { call, requests } = write([...refusals, ok], { maxRetries: 1 })
    expect((await call).attempts).toBe(10)
    expect(requests).toHaveLength(10)
  })

  test('a call fails at its 11th refusal', async () => {
    const { call } = write([status(429, { 'retry-after': '1' })])
    expect(await apiErrorOf('http', call)).toMatchObject({ status: 429, attempts: 11, outcomeUnknown: false })
  })

  test('a call that is always refused fails after a minute, and says why', async () => {
    const { call, requests } = write([status(429, { 'retry-after': '25' })])
    const error = await apiErrorOf('http', call)
    expect(error.message).toMatch(
      /HTTP 429, rate limited \(4 attempts\)\. Not retried: no call got through for a minute\. Retry after 25 s\.$/,
    )
    expect(requests).toHaveLength(4)
  })

  test('those that wait fail unsent when none got through for a minute', async () => {
    const { client, requests } = stubbed([status(429, { 'retry-after': '25' })])
    const first = client.virtualAccounts.deactivate(account).catch(error => error)
    await vi.advanceTimersByTimeAsync(0)
    const others = Array.from({ length: 9 }, () =>
      client.virtualAccounts.reactivate(account).catch(error => error),
    )
    const errors = await passing(Promise.all([first, ...others]))
    expect(requests.length).toBeLessThanOrEqual(4)
    const unsent = errors.filter(({ attempts }) => attempts === 0)
    expect(unsent).toHaveLength(6)
    for (const error of unsent) {
      expect(error).toMatchObject({ kind: 'http', status: 429, retryAfterMs: 25_000, outcomeUnknown: false })
      expect(error.message).toMatch(/reactivate: HTTP 429, rate limited\. Not sent: no call got through/)
      expect(error.idempotencyKey).toEqual(expect.any(String))
    }
    // A later call is sent.
    await rejectionOf(passing(client.virtualAccounts.deactivate(account)))
  })

  test('the minute counts from when a call begins to wait, not from a refusal before that', async () => {
    await checkEach([40_000, 100_000], async ms => {
      const steps = [status(429, { 'retry-after': '50' }), status(429, { 'retry-after': '30' }), ok]
      const { client, requests } = stubbed(steps)
      await rejectionOf(passing(client.virtualAccounts.deactivate(account, { totalTimeout: 1_000 })))
      await vi.advanceTimersByTimeAsync(ms)
      const batch = Array.from({ length: 5 }, () => client.virtualAccounts.reactivate(account))
      await passing(Promise.all(batch))
      expect(requests).toHaveLength(7)
    })
  })

  test('its backoff grows also where each attempt has an API key of its own', async () => {
    let keys = 0
    const options = { apiKey: () => `a signed token ${++keys}` }
    const { client, delays } = stubbed([status(429)], options)
    await rejectionOf(passing(client.virtualAccounts.deactivate(account)))
    expect(delays()).toHaveLength(10)
    for (const [at, delayMs] of delays().entries())
      expect(delayMs).toBeGreaterThanOrEqual(Math.min(8_000, 500 * 2 ** at) / 2)
  })

  test('a success of what was sent before ends no pause', async () => {
    const { client, requests } = stubbed([...Array<StubStep>(9).fill(ok), busy, ok])
    const first = accounts(11).map(account => client.virtualAccounts.deactivate(account))
    await vi.advanceTimersByTimeAsync(0)
    expect(requests).toHaveLength(11)
    const later = client.virtualAccounts.deactivate(account)
    expect(await sentAfter(requests, 1_900)).toBe(11)
    await passing(Promise.all([...first, later]))
  })

  test('an attempt that may have been applied is not forgotten by a call that then waits in vain', async () => {
    const { client } = stubbed(['lost', status(429, { 'retry-after': '40' })])
    const error = await rejectionOf(passing(client.virtualAccounts.deactivate(account)))
    expect(error).toMatchObject({ kind: 'http', status: 429, outcomeUnknown: true })
  })

  test('a Retry-After of over a minute ends only its own call', async () => {
    const { client, requests } = stubbed([status(429, { 'retry-after': '61' }), ok])
    expect(await apiErrorOf('http', client.virtualAccounts.deactivate(account))).toMatchObject({
      attempts: 1,
    })
    await client.virtualAccounts.deactivate(account)
    expect(requests).toHaveLength(2)
  })

  test('an abort ends the wait at once, and leaves no timer', async () => {
    const { client } = stubbed([busy, ok])
    const controller = new AbortController()
    const call = () => client.virtualAccounts.deactivate(account, { signal: controller.signal })
    const first = rejectionOf(call())
    await vi.advanceTimersByTimeAsync(0)
    const second = rejectionOf(call())
    await vi.advanceTimersByTimeAsync(100)
    controller.abort('enough')
    expect(await Promise.all([first, second])).toMatchObject([{ cause: 'enough' }, { cause: 'enough' }])
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a call that waits for its turn', () => {
  test('says so once, with the delay and the call that was refused', async () => {
    const { client, events } = stubbed([busy, ok])
    const first = client.virtualAccounts.deactivate(account)
    await vi.advanceTimersByTimeAsync(0)
    await passing(Promise.all([first, client.virtualAccounts.reactivate(account)]))
    const shown = events.map(({ type, path }) => `${type} ${path.slice(path.lastIndexOf('/') + 1)}`)
    expect(shown).toEqual([
      'request deactivate',
      'response deactivate',
      'retry deactivate',
      'wait reactivate',
      'request reactivate',
      'response reactivate',
      'success reactivate',
      'request deactivate',
      'response deactivate',
      'success deactivate',
    ])
    const [wait] = events.filter(event => event.type === 'wait')
    expect(wait).toMatchObject({
      attempt: 1,
      error: { status: 429, path: expect.stringMatching(/\/deactivate$/) },
    })
    expect(wait?.delayMs).toBeGreaterThanOrEqual(2_000)
    expect(wait?.error.message).toMatch(/^POST .*\/deactivate: HTTP 429, rate limited\.$/)
    expect(JSON.stringify(wait)).not.toContain(apiKey)
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
      const { client } = stubbed([status(429, retryAfter ? { 'retry-after': retryAfter } : {}), ok])
      const calls = Promise.all([0, 1, 2, 3].map(() => client.virtualAccounts.deactivate(account)))
      // As a user's test does who knows of one delay.
      for (let timers = 0; timers < 10; timers++) await vi.advanceTimersToNextTimerAsync()
      expect((await calls).map(({ status }) => status)).toEqual([200, 200, 200, 200])
      expect(vi.getTimerCount()).toBe(0)
    })
  })

  test('release a lone call that was refused by one timer', async () => {
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
