import { Client } from 'virtual-accounts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf } from '../support.ts'
import { outcomeOf, passing, type StubStep, status, stubbed, useFakeTime } from './stub.ts'

const ok = status(200)
const emptyPage = status(200, {}, '{"data":[],"page":1,"totalItems":0,"limit":20}')

beforeEach(() => useFakeTime())
afterEach(() => {
  vi.useRealTimers()
})

/** One write to a service that takes one step after another. */
function write(steps: StubStep[], options: Parameters<typeof stubbed>[1] = {}) {
  const service = stubbed(steps, options)
  return { ...service, call: passing(service.client.virtualAccounts.deactivate(account)) }
}

describe('the retry policy', () => {
  const transient = [408, 425, 429, 500, 502, 503, 504, 506, 507, 508, 511, 520, 529, 599]

  test.each(transient)('retries a %i twice, then throws HttpError', async code => {
    const { call, requests, keys } = write([status(code)])

    const error = await apiErrorOf('http', call)

    expect(error).toMatchObject({ status: code, attempts: 3 })
    expect(requests).toHaveLength(3)
    expect(new Set(keys())).toEqual(new Set([error.idempotencyKey]))
  })

  test.each(transient)('retries a %i of a list', async code => {
    const { client, requests } = stubbed([status(code), emptyPage])

    const page = await passing(client.transactions.list())

    expect(page.totalItems).toBe(0)
    expect(requests).toHaveLength(2)
  })

  test.each([
    400, 401, 402, 403, 404, 405, 406, 410, 411, 413, 415, 418, 421, 422, 423, 424, 426, 428, 431, 451,
  ])('does not retry a %i', async code => {
    const { call, requests } = write([status(code), ok])
    expect(outcomeOf(await apiErrorOf('http', call))).toEqual({
      kind: 'http',
      status: code,
      attempts: 1,
      outcomeUnknown: false,
    })
    expect(requests).toHaveLength(1)
  })

  test.each([501, 505])('does not retry a %i, as the service does not support the request', async code => {
    const { call, requests } = write([status(code), ok])
    expect(await apiErrorOf('http', call)).toMatchObject({ status: code, attempts: 1 })
    expect(requests).toHaveLength(1)
  })

  test.each(['lost', 'refused'] as const)('retries a connection that is %s', async step => {
    const { call, keys } = write([step, step, ok])
    const result = await call
    expect(result.attempts).toBe(3)
    expect(keys()).toEqual(Array(3).fill(result.idempotencyKey))
  })

  test('does not retry a refused TLS certificate, as the next attempt would meet the same', async () => {
    const { call, requests } = write(['certificate', ok])
    expect(outcomeOf(await apiErrorOf('connection', call))).toEqual({
      kind: 'connection',
      attempts: 1,
      outcomeUnknown: false,
    })
    expect(requests).toHaveLength(1)
  })

  test('retries an attempt that timed out', async () => {
    const { call, requests } = write(['hang', ok], { timeout: 1000 })
    expect((await call).attempts).toBe(2)
    expect(requests).toHaveLength(2)
  })

  test('does not retry a list whose 2xx response breaks the interface', async () => {
    const { client, requests } = stubbed([status(200, {}, '{"data":[]}'), emptyPage])
    expect(await apiErrorOf('invalid-response', passing(client.transactions.list()))).toMatchObject({
      attempts: 1,
    })
    expect(requests).toHaveLength(1)
  })

  test('does not retry a write that gets a proxy’s page, and leaves its outcome unknown', async () => {
    const { call, requests } = write([status(200, { 'content-type': 'text/html' }, '<html>'), ok])
    expect(await apiErrorOf('invalid-response', call)).toMatchObject({ attempts: 1, outcomeUnknown: true })
    expect(requests).toHaveLength(1)
  })

  test.each<[string, StubStep]>([
    ['a lost connection', 'lost'],
    ['a timeout', 'hang'],
    ['a 500', status(500)],
    ['a 503', status(503)],
    ['a 408', status(408)],
  ])('retries a 409 after %s, as it then means “still being processed”', async (_what, before) => {
    const { call, keys } = write([before, status(409), ok], { timeout: 1000 })
    const result = await call
    expect(result.attempts).toBe(3)
    expect(keys()).toEqual(Array(3).fill(result.idempotencyKey))
  })

  test.each<[string, StubStep]>([
    ['a 429', status(429)],
    ['a 425', status(425)],
    ['a refused connection', 'refused'],
  ])('does not retry a 409 after %s, as nothing can be in progress', async (_what, before) => {
    const { call, requests } = write([before, status(409), ok])
    expect(outcomeOf(await apiErrorOf('http', call))).toEqual({
      kind: 'http',
      status: 409,
      attempts: 2,
      outcomeUnknown: false,
    })
    expect(requests).toHaveLength(2)
  })

  test.each([
    [0, 1],
    [1, 2],
    [2, 3],
    [5, 6],
  ])('with maxRetries %i makes at most %i attempts', async (maxRetries, attempts) => {
    for (const step of [status(503), 'lost', 'hang'] as const) {
      const { call, requests } = write([step], { maxRetries, timeout: 1000 })
      await call.catch(() => {})
      expect(requests).toHaveLength(attempts)
    }
  })

  test.each([
    [5, 0],
    [0, 5],
    [undefined, 4],
  ])('instead of the maxRetries %s of the client uses the %i of a call', async (ofClient, maxRetries) => {
    const { client, requests } = stubbed([status(503)], { maxRetries: ofClient })
    await apiErrorOf('http', passing(client.virtualAccounts.deactivate(account, { maxRetries })))
    expect(requests).toHaveLength(maxRetries + 1)
  })

  test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const)('retries %s', async method => {
    const { client, requests, keys } = stubbed([status(503), 'lost', ok])
    const { attempts, idempotencyKey } = await passing(client.request(method, '/a'))
    expect(attempts).toBe(3)
    expect(requests.map(({ init }) => init.method)).toEqual(Array(3).fill(method))
    expect(keys()).toEqual(Array(3).fill(idempotencyKey ?? null))
  })
})

describe('a 409', () => {
  const idempotencyKey = 'payout-17'
  const writeWithKey = (steps: StubStep[], options: Parameters<typeof stubbed>[1] = {}) => {
    const service = stubbed(steps, options)
    const call = passing(service.client.virtualAccounts.deactivate(account, { idempotencyKey }))
    return { ...service, call }
  }

  test('is retried with the caller’s key, as another call with it may be in progress', async () => {
    const { call, keys } = writeWithKey([status(409), status(409), ok])
    expect((await call).attempts).toBe(3)
    expect(keys()).toEqual(Array(3).fill(idempotencyKey))
  })

  test('that persists leaves the outcome of a call with the caller’s key unknown', async () => {
    const { call } = writeWithKey([status(409)])
    const error = await apiErrorOf('http', call)
    expect(outcomeOf(error)).toEqual({ kind: 'http', status: 409, attempts: 3, outcomeUnknown: true })
  })

  test.each([400, 404, 422])('leaves the outcome unknown even if a later response is a %i', async code => {
    const { call } = writeWithKey([status(409), status(code)])
    const error = await apiErrorOf('http', call)
    expect(outcomeOf(error)).toEqual({ kind: 'http', status: code, attempts: 2, outcomeUnknown: true })
  })

  test('leaves the outcome unknown if the next connection is refused, as that tells nothing', async () => {
    const { call } = writeWithKey([status(409), 'refused'], { maxRetries: 1 })
    expect(await apiErrorOf('connection', call)).toMatchObject({ attempts: 2, outcomeUnknown: true })
  })

  test('leaves the outcome unknown if the next response is a 429, as that tells nothing', async () => {
    const { call } = writeWithKey([status(409), status(429)], { maxRetries: 1 })
    expect(await apiErrorOf('http', call)).toMatchObject({ status: 429, attempts: 2, outcomeUnknown: true })
  })

  test('with a fresh key is not retried, and nothing is in progress', async () => {
    const { call, requests } = write([status(409), ok])
    const error = await apiErrorOf('http', call)
    expect(outcomeOf(error)).toEqual({ kind: 'http', status: 409, attempts: 1, outcomeUnknown: false })
    expect(error.message).not.toContain('in progress')
    expect(requests).toHaveLength(1)
  })
})

describe('an apiKey function that throws after an attempt', () => {
  const sealed = new Error('the vault is sealed')
  const failingAfter = (calls: number) => {
    let called = 0
    return () => (called++ < calls ? Promise.resolve('a_key_of_the_vault') : Promise.reject(sealed))
  }

  test.each<[string, StubStep, object]>([
    ['a lost connection', 'lost', { kind: 'connection' }],
    ['a 500', status(500), { kind: 'http', status: 500 }],
    ['a timeout', 'hang', { kind: 'timeout' }],
  ])('does not hide that a write may have been applied: %s', async (_what, step, expected) => {
    const { call, requests, events } = write([step], { apiKey: failingAfter(1), timeout: 1000 })
    const error = await call.then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(error).toMatchObject({ ...expected, attempts: 1, outcomeUnknown: true, cause: sealed })
    expect(String(error)).toMatch(/ Not retried: the apiKey function failed, see error\.cause\./)
    expect(error).toHaveProperty('idempotencyKey', requests[0]?.headers.get('idempotency-key'))
    expect(events.at(-1)).toMatchObject({ type: 'failure', error })
  })

  test('propagates unchanged when the write cannot have been applied', async () => {
    const { call } = write(['refused'], { apiKey: failingAfter(1) })
    await expect(call).rejects.toBe(sealed)
  })

  test('propagates unchanged for a list', async () => {
    const { client } = stubbed(['lost'], { apiKey: failingAfter(1) })
    await expect(passing(client.transactions.list())).rejects.toBe(sealed)
  })
})

describe('the backoff', () => {
  const failing = [status(503)]

  test('doubles from 0.5 s to 8 s, and is at least half of that', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call, delays } = write(failing, { maxRetries: 7 })
    await apiErrorOf('http', call)
    expect(delays()).toEqual([250, 500, 1000, 2000, 4000, 4000, 4000])
  })

  test('is at most 0.5 s doubled up to 8 s', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1 - Number.EPSILON)
    const { call, delays } = write(failing, { maxRetries: 7 })
    await apiErrorOf('http', call)
    expect(delays().map(delay => Math.round(delay))).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000])
    expect(Math.max(...delays())).toBeLessThanOrEqual(8000)
  })

  test('is the same for every kind of failure', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call, delays } = write(['lost', 'hang', 'refused', status(500), ok], {
      maxRetries: 4,
      timeout: 50,
    })
    await call
    expect(delays()).toEqual([250, 500, 1000, 2000])
  })

  test('delays the next attempt', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { client, requests } = stubbed([status(503), ok])
    const call = client.virtualAccounts.deactivate(account)
    await vi.advanceTimersByTimeAsync(249)
    expect(requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(2)
    expect(requests).toHaveLength(2)
    await call
  })
})

describe('Retry-After', () => {
  /** The delay after a response with these headers, where the backoff alone would be 250 ms. */
  async function delayAfter(headers: Record<string, string>, code = 503): Promise<number | undefined> {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call, delays } = write([status(code, headers), ok])
    await call
    return delays()[0]
  }

  test.each([429, 503, 500, 408])('in seconds delays the retry of a %i', async code => {
    expect(await delayAfter({ 'retry-after': '7' }, code)).toBe(7000)
  })

  test.each([
    ['1.25', 1250],
    ['0.5', 500],
    ['2.0001', 2001],
  ])('in fractions of a second (%s) delays the retry, too', async (seconds, delay) => {
    expect(await delayAfter({ 'retry-after': seconds })).toBe(delay)
  })

  test('is waited for up to 60 seconds', async () => {
    expect(await delayAfter({ 'retry-after': '60' })).toBe(60_000)
  })

  test('that is shorter than the backoff does not shorten it', async () => {
    expect(await delayAfter({ 'retry-after': '0' })).toBe(250)
  })

  test('as a date is measured against the Date of the response, so that a wrong clock is harmless', async () => {
    expect(
      await delayAfter({
        date: 'Tue, 06 Feb 2001 10:00:00 GMT',
        'retry-after': 'Tue, 06 Feb 2001 10:00:09 GMT',
      }),
    ).toBe(9000)
    expect(
      await delayAfter({
        date: 'Sat, 06 Feb 2100 10:00:00 GMT',
        'retry-after': 'Sat, 06 Feb 2100 10:00:09 GMT',
      }),
    ).toBe(9000)
  })

  test('as an HTTP date is measured against the Date of the response', async () => {
    const until = Date.UTC(2094, 10, 6, 8, 49, 37)
    const sent = {
      date: new Date(until - 9000).toUTCString(),
      'retry-after': 'Sat, 06 Nov 2094 08:49:37 GMT',
    }
    expect(await delayAfter(sent)).toBe(9000)
  })

  test.each([
    'Sun, 99 Nov 2026 08:49:37 GMT',
    'Sun, 06 Foo 2026 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
    'Sun, 01 Nov 2026 25:00:00 GMT',
  ])('as a date that does not exist, or in another form, is ignored: %s', async date => {
    const headers = { date: 'Sun, 01 Nov 2026 08:49:30 GMT', 'retry-after': date }
    expect(await delayAfter(headers)).toBe(250)
    const { call } = write([status(400, headers)])
    expect((await apiErrorOf('http', call)).retryAfterMs).toBeUndefined()
  })

  test('as a date is measured against the local clock when the response has no Date', async () => {
    vi.setSystemTime('2026-03-01T12:00:00Z')
    expect(await delayAfter({ 'retry-after': 'Sun, 01 Mar 2026 12:00:05 GMT' })).toBe(5000)
  })

  test('as a date in the past does not shorten the backoff', async () => {
    expect(await delayAfter({ 'retry-after': 'Tue, 06 Feb 2001 10:00:09 GMT' })).toBe(250)
  })

  test.each([
    'soon',
    '-5',
    '5 seconds',
    '5.',
    '.5',
    '1.5.2',
    '1e3',
    '0x10',
    '+5',
    'Infinity',
    'NaN',
    // What Latin-1 makes of Arabic digits in UTF-8: other characters cannot be in a header.
    '\xd9\xa1\xd9\xa0',
    '\xb2',
    '',
    '5, 7',
    'Tue',
    '2026-03-01',
  ])('is ignored when it is garbage: %j', async garbage => {
    expect(await delayAfter({ 'retry-after': garbage })).toBe(250)
    const { call } = write([status(400, { 'retry-after': garbage })])
    expect((await apiErrorOf('http', call)).retryAfterMs).toBeUndefined()
  })

  test('is the only header of its kind that is read', async () => {
    expect(
      await delayAfter({
        'retry-after-ms': '30000',
        'x-ratelimit-reset': '1893456000',
        'ratelimit-reset': '30',
        'x-retry-after': '30',
        'x-should-retry': 'false',
      }),
    ).toBe(250)
  })

  test.each([
    ['61', 61_000],
    ['86400', 86_400_000],
    ['9'.repeat(30), expect.any(Number)],
  ])('of %s seconds is too long: the HttpError is thrown immediately', async (seconds, retryAfterMs) => {
    const { call, requests } = write([status(503, { 'retry-after': seconds }), ok])
    expect(await apiErrorOf('http', call)).toMatchObject({ status: 503, attempts: 1, retryAfterMs })
    expect(requests).toHaveLength(1)
  })

  test('beyond totalTimeout throws the HttpError immediately, not a TimeoutError', async () => {
    const { call, requests, delays } = write([status(429, { 'retry-after': '5' }), ok], {
      totalTimeout: 4000,
    })
    const error = await apiErrorOf('http', call)
    expect(error).toMatchObject({ status: 429, attempts: 1, retryAfterMs: 5000 })
    expect(error.message).toContain('Retry after 5 s')
    expect(requests).toHaveLength(1)
    expect(delays()).toEqual([])
  })
})

describe('totalTimeout', () => {
  test('does not hide a 503 when no time is left for the backoff', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call, requests } = write([status(503)], { totalTimeout: 700, maxRetries: 9 })
    // 250 ms, and then 500 ms would cross it.
    expect(await apiErrorOf('http', call)).toMatchObject({ status: 503, attempts: 2 })
    expect(requests).toHaveLength(2)
  })

  test('does not hide a lost connection when no time is left for the backoff', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call } = write(['lost'], { totalTimeout: 200 })
    expect(await apiErrorOf('connection', call)).toMatchObject({ attempts: 1, outcomeUnknown: true })
  })

  test('bounds all attempts together', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { client, requests } = stubbed(['hang'], { timeout: 1000, totalTimeout: 2000, maxRetries: 9 })
    const error = await apiErrorOf('timeout', passing(client.virtualAccounts.deactivate(account)))
    // One whole second, a backoff of 250 ms, and an attempt that is cut short.
    expect(error).toMatchObject({ attempts: 2, timeoutMs: 2000, outcomeUnknown: true })
    expect(error.message).toContain('totalTimeout')
    expect(requests).toHaveLength(2)
  })

  test('is not named when timeout was exceeded', async () => {
    const { call } = write(['hang'], { timeout: 1000, maxRetries: 0 })
    const error = await apiErrorOf('timeout', call)
    expect(error.timeoutMs).toBe(1000)
    expect(error.message).not.toContain('totalTimeout')
  })

  test.each([
    ['after other attempts, advises to raise it', 2000, 'Raise `totalTimeout` if'],
    ['in the first attempt, advises to raise it', 800, 'Raise `totalTimeout` if'],
  ])('that ends a call %s', async (_what, totalTimeout, advice) => {
    const { call } = write(['hang'], { timeout: 1000, totalTimeout, maxRetries: 5 })
    const error = await apiErrorOf('timeout', call)
    expect(error.timeoutMs).toBe(totalTimeout)
    expect(error.message).toContain(`${advice} the service needs longer.`)
  })

  test('bounds a schema that never settles, and the write may have been applied', async () => {
    const validate = () => new Promise<never>(() => {})
    const schema = { '~standard': { version: 1 as const, vendor: 'test', validate } }
    const { client, requests } = stubbed([status(200, {}, '{}')], { totalTimeout: 2000 })
    const error = await apiErrorOf('timeout', passing(client.request('POST', '/x', { schema })))
    expect(error).toMatchObject({ attempts: 1, timeoutMs: 2000, outcomeUnknown: true })
    expect(error.message).toContain(
      ': the schema did not finish within the totalTimeout of 2000 ms (1 attempt). The request may have been applied: retry with the same idempotencyKey. Raise `totalTimeout`, or make the schema faster.',
    )
    expect(requests).toHaveLength(1)
  })

  test('applies to each page of an iteration, not to the iteration', async () => {
    let page = 0
    const slowly = () => {
      page++
      return Response.json({ data: [{ n: page }], page, totalItems: 5, limit: 1 })
    }
    const { client, requests } = stubbed([slowly], { totalTimeout: 1000 })
    const schema = {
      '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) },
    }
    for await (const _ of client.list('/numbers', { limit: 1 }, { schema, concurrency: 1 })) {
      await vi.advanceTimersByTimeAsync(900)
    }
    expect(requests).toHaveLength(5)
  })
})

describe('the retry budget', () => {
  const deactivate = (client: Client) => passing(client.virtualAccounts.deactivate(account))

  /** Number of requests of each of `count` calls. */
  async function requestsOfCalls(
    count: number,
    service: ReturnType<typeof stubbed>,
    client = service.client,
  ) {
    const counts: number[] = []
    for (let call = 0; call < count; call++) {
      const before = service.requests.length
      await deactivate(client).catch(() => {})
      counts.push(service.requests.length - before)
    }
    return counts
  }

  const times = (count: number, value: number) => Array<number>(count).fill(value)

  test('pays for 35 retries; then only first attempts are sent', async () => {
    const service = stubbed([status(503)], { maxRetries: 1 })

    expect(await requestsOfCalls(40, service)).toEqual([...times(35, 2), ...times(5, 1)])

    const error = await apiErrorOf('http', deactivate(service.client))
    expect(error).toMatchObject({ status: 503, attempts: 1, outcomeUnknown: true })
    expect(error.message).toContain('retry budget')
    expect(error.message).not.toContain('\n')
  })

  test('is not mentioned in the errors of calls that were retried', async () => {
    const { call } = write([status(503)])
    expect((await apiErrorOf('http', call)).message).not.toContain('budget')
  })

  test('pays for 105 retries of a 429, each of which counts as a third', async () => {
    const service = stubbed([status(429)], { maxRetries: 1 })
    expect(await requestsOfCalls(108, service)).toEqual([...times(105, 2), ...times(3, 1)])
  })

  test('pays for retries of lost connections, too', async () => {
    const service = stubbed(['lost'], { maxRetries: 1 })
    expect(await requestsOfCalls(37, service)).toEqual([...times(35, 2), ...times(2, 1)])
    expect((await apiErrorOf('connection', deactivate(service.client))).message).toContain('retry budget')
  })

  test('gets back what a successful retry cost', async () => {
    const service = stubbed(Array.from({ length: 400 }, (_, at) => status(at % 2 ? 200 : 503)))
    expect(await requestsOfCalls(200, service)).toEqual(times(200, 2))
  })

  test('gets back a tenth of a retry for each call that succeeds without one', async () => {
    const failures = Array.from({ length: 70 }, () => status(503))
    const successes = Array.from({ length: 9 }, () => ok)
    const service = stubbed([...failures, ...successes, status(503), ok, status(503)], { maxRetries: 1 })
    expect(await requestsOfCalls(35, service)).toEqual(times(35, 2))
    // Nine tenths do not pay for another retry, ten do.
    expect(await requestsOfCalls(9 + 1, service)).toEqual(times(10, 1))
    expect(await requestsOfCalls(1 + 1, service)).toEqual([1, 2])
  })

  test('never holds more than 35 retries', async () => {
    const service = stubbed([...Array.from({ length: 300 }, () => ok), status(503)], { maxRetries: 1 })
    await requestsOfCalls(300, service)
    expect(await requestsOfCalls(37, service)).toEqual([...times(35, 2), ...times(2, 1)])
  })

  test('is shared by a client and those derived from it', async () => {
    const service = stubbed([status(503)], { maxRetries: 1 })
    const derived = service.client.withOptions({ timeout: 5000 })
    const derivedTwice = derived.withOptions({ apiKey: 'another_key_of_ours' })
    expect(await requestsOfCalls(20, service, derivedTwice)).toEqual(times(20, 2))
    expect(await requestsOfCalls(15, service)).toEqual(times(15, 2))
    expect(await requestsOfCalls(2, service, derived)).toEqual([1, 1])
    expect(await requestsOfCalls(2, service)).toEqual([1, 1])
  })

  test('gets back the cost of a retry that is aborted during its backoff', async () => {
    const service = stubbed([status(503)], { maxRetries: 1 })
    for (let call = 0; call < 40; call++) {
      const controller = new AbortController()
      const settled = passing(
        service.client.virtualAccounts.deactivate(account, { signal: controller.signal }),
        50,
      ).catch((reason: unknown) => reason)
      await vi.advanceTimersByTimeAsync(100)
      controller.abort('enough')
      expect(await settled).toBe('enough')
    }
    expect(service.requests).toHaveLength(40)
    expect(await requestsOfCalls(36, service)).toEqual([...times(35, 2), 1])
  })

  test('gets back the cost of a retry for which the apiKey function gives no key', async () => {
    let calls = 0
    const apiKey = () => (++calls % 2 ? 'a_key_of_the_vault' : Promise.reject(new Error('sealed')))
    const service = stubbed([status(503)], { maxRetries: 1, apiKey })
    expect(await requestsOfCalls(40, service)).toEqual(times(40, 1))
    const derived = service.client.withOptions({ apiKey: 'another_key_of_ours' })
    expect(await requestsOfCalls(36, service, derived)).toEqual([...times(35, 2), 1])
  })

  test('is not shared by independent clients', async () => {
    const service = stubbed([status(503)], { maxRetries: 1 })
    await requestsOfCalls(36, service)
    const { fetch } = stubbedFetch(service)
    const other = new Client({ baseUrl: 'https://api.example.com', apiKey: 'k', fetch, maxRetries: 1 })
    expect(await requestsOfCalls(1, service, other)).toEqual([2])
  })

  function stubbedFetch({ requests }: ReturnType<typeof stubbed>) {
    const fetch = async (url: string, init: RequestInit) => {
      requests.push({ url, init, headers: new Headers(init.headers) })
      return new Response(null, { status: 503 })
    }
    return { fetch }
  }
})

describe('outcomeUnknown of a write', () => {
  // What `redirect: 'manual'` gives in a browser.
  const opaqueRedirect = () =>
    Object.defineProperties(new Response(), {
      status: { value: 0 },
      type: { value: 'opaqueredirect' },
    })
  const invalid = status(200, { 'content-type': 'text/html' }, '<html>')

  test.each<[boolean, string, StubStep[]]>([
    [false, 'a 400', [status(400)]],
    [false, 'a 401', [status(401)]],
    [false, 'a 404', [status(404)]],
    [false, 'a 409 alone', [status(409)]],
    [false, 'a 422', [status(422)]],
    [false, 'only 429s', [status(429)]],
    [false, 'only 425s', [status(425)]],
    [false, 'only refused connections', ['refused']],
    [false, 'a refused certificate', ['certificate']],
    [false, 'a refused connection, then a 400', ['refused', status(400)]],
    [false, 'a refused connection, then a refused certificate', ['refused', 'certificate']],
    [false, 'a 429, then a 400', [status(429), status(400)]],
    [true, 'only lost connections', ['lost']],
    [true, 'a lost connection, then a 400', ['lost', status(400)]],
    [true, 'a lost connection, then a 404', ['lost', status(404)]],
    [true, 'a lost connection, then a 409', ['lost', status(409)]],
    [true, 'a lost connection, then a 429', ['lost', status(429)]],
    [true, 'a lost connection, then refused ones', ['lost', 'refused']],
    [true, 'a lost connection, then a refused certificate', ['lost', 'certificate']],
    [true, 'a lost connection, then a redirect', ['lost', status(302)]],
    [true, 'refused connections, then a lost one', ['refused', 'refused', 'lost']],
    [true, 'a timeout', ['hang']],
    [true, 'a timeout, then a 400', ['hang', status(400)]],
    [true, 'a 500', [status(500)]],
    [true, 'a 500, then a 422', [status(500), status(422)]],
    [true, 'a 501', [status(501)]],
    [true, 'a 503, then a 429, then a 400', [status(503), status(429), status(400)]],
    [true, 'a 505', [status(505)]],
    [true, 'a 301', [status(301)]],
    [true, 'a 302', [status(302)]],
    [true, 'a 303', [status(303)]],
    [false, 'a 307', [status(307)]],
    [false, 'a 308', [status(308)]],
    [false, 'a 300', [status(300)]],
    [false, 'a 304', [status(304)]],
    [true, 'an opaque redirect', [opaqueRedirect]],
    [true, 'a 408', [status(408)]],
    [true, 'a 408, then a 400', [status(408), status(400)]],
    [true, 'an InvalidResponseError', [invalid]],
    [true, 'a 429, then an InvalidResponseError', [status(429), invalid]],
  ])('is %j after %s', async (outcomeUnknown, _what, steps) => {
    const { call } = write(steps, { timeout: 1000 })
    const error = await rejected(call)
    expect(error.outcomeUnknown).toBe(outcomeUnknown)
    expect(error.message.includes('may have been applied')).toBe(outcomeUnknown)
    expect(error.message).not.toMatch(/[\r\n]/)
    expect(error.message).toMatch(/^POST \/customers\/c1\/virtual_accounts\/v1\/deactivate: /)
    // What is never retried does not say that it was tried once.
    const isNeverRetried = error.kind === 'invalid-response' && error.attempts === 1
    expect(/ \(\d attempts?\)\./.test(error.message)).toBe(!isNeverRetried)
  })

  test('is true for each write method, and never for GET', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const) {
      for (const step of ['lost', 'hang', status(500), invalid] as const) {
        const { client } = stubbed([step], { timeout: 50, maxRetries: 0 })
        const error = await rejected(passing(client.request(method, '/anything')))
        expect(error.outcomeUnknown).toBe(method !== 'GET')
        expect(typeof error.idempotencyKey).toBe(method === 'GET' ? 'undefined' : 'string')
      }
    }
  })

  test('is true when a response body was cut off and the retry got a 404', async () => {
    const cut = () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode('{"sta'))
            controller.error(new TypeError('terminated'))
          },
        }),
      )
    const { call } = write([cut, status(404)])
    expect(await apiErrorOf('http', call)).toMatchObject({ attempts: 2, outcomeUnknown: true })
  })

  test('is false when no attempt got beyond apiKey', async () => {
    const { client, requests } = stubbed([ok], { apiKey: () => new Promise<string>(() => {}), timeout: 1000 })
    const error = await apiErrorOf('timeout', passing(client.virtualAccounts.deactivate(account)))
    expect(error).toMatchObject({ attempts: 3, outcomeUnknown: false })
    expect(requests).toHaveLength(0)
  })

  async function rejected(call: Promise<unknown>) {
    const error = await call.then(
      () => {
        throw new Error('expected a rejection')
      },
      (error: unknown) => error,
    )
    const { isApiError } = await import('virtual-accounts')
    if (!isApiError(error)) throw error
    return error
  }
})

test('a call leaves no timer behind, however it ended', async () => {
  const cut = () =>
    new Response(new ReadableStream({ start: controller => controller.error(new Error('cut')) }))
  for (const steps of [
    [ok],
    [status(404)],
    ['lost', ok],
    ['hang', ok],
    [cut],
    [status(503)],
  ] as StubStep[][]) {
    const { call } = write(steps, { timeout: 1000 })
    await call.catch(() => {})
    expect(vi.getTimerCount()).toBe(0)
  }
  const keyless = write([ok], { apiKey: () => Promise.reject(new Error('no key')) })
  await keyless.call.catch(() => {})
  expect(vi.getTimerCount()).toBe(0)
})

describe('events', () => {
  test('include no request when apiKey took too long', async () => {
    const key = Promise.withResolvers<string>()
    const { call, events } = write([ok], { apiKey: () => key.promise, timeout: 1000, maxRetries: 0 })
    await apiErrorOf('timeout', call)
    key.resolve('a_key_that_arrives_too_late')
    await vi.advanceTimersByTimeAsync(1000)
    expect(events.map(({ type }) => type)).toEqual(['failure'])
  })
})
