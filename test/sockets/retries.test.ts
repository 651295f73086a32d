import { Client } from 'virtual-accounts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  account,
  failureOf,
  type Happening,
  outcomeOf,
  passing,
  status,
  stubbed,
  useFakeTime,
} from './support.ts'

const ok = status(200)
const emptyPage = status(200, {}, '{"data":[],"page":1,"totalItems":0,"limit":20}')

beforeEach(() => useFakeTime())
afterEach(() => {
  vi.useRealTimers()
})

/** One write against a service that does one thing after another. */
function write(happenings: Happening[], options: Parameters<typeof stubbed>[1] = {}) {
  const service = stubbed(happenings, options)
  return { ...service, call: passing(service.client.virtualAccounts.deactivate(account)) }
}

describe('what is tried again', () => {
  const transient = [408, 425, 429, 500, 502, 503, 504, 506, 507, 508, 511, 520, 529, 599]

  test.each(transient)('a %i is, twice, and then told', async code => {
    const { call, requests, keys } = write([status(code)])

    const error = await failureOf('http', call)

    expect(error).toMatchObject({ status: code, attempts: 3 })
    expect(requests).toHaveLength(3)
    expect(new Set(keys())).toEqual(new Set([error.idempotencyKey]))
  })

  test.each(transient)('a %i is on a list, too', async code => {
    const { client, requests } = stubbed([status(code), emptyPage])

    const page = await passing(client.transactions.list())

    expect(page.totalItems).toBe(0)
    expect(requests).toHaveLength(2)
  })

  test.each([
    400, 401, 402, 403, 404, 405, 406, 409, 410, 411, 413, 415, 418, 421, 422, 423, 424, 426, 428, 431, 451,
  ])('a %i is not', async code => {
    const { call, requests } = write([status(code), ok])
    expect(outcomeOf(await failureOf('http', call))).toEqual({
      kind: 'http',
      status: code,
      attempts: 1,
      outcomeUnknown: false,
    })
    expect(requests).toHaveLength(1)
  })

  test.each([501, 505])('a %i is not: the service will not learn it', async code => {
    const { call, requests } = write([status(code), ok])
    expect(await failureOf('http', call)).toMatchObject({ status: code, attempts: 1 })
    expect(requests).toHaveLength(1)
  })

  test.each([300, 301, 302, 303, 304, 305, 307, 308])('a %i is not, and is not followed', async code => {
    const { call, requests } = write([status(code, { location: 'https://elsewhere.example/' }), ok])
    expect(await failureOf('http', call)).toMatchObject({ status: code, attempts: 1 })
    expect(requests).toHaveLength(1)
  })

  test.each(['lost', 'refused'] as const)('a connection that is %s is', async happening => {
    const { call, keys } = write([happening, happening, ok])
    const result = await call
    expect(result.attempts).toBe(3)
    expect(keys()).toEqual(Array(3).fill(result.idempotencyKey))
  })

  test('a refused TLS certificate is not: the next attempt would meet the same one', async () => {
    const { call, requests } = write(['certificate', ok])
    expect(outcomeOf(await failureOf('connection', call))).toEqual({
      kind: 'connection',
      attempts: 1,
      outcomeUnknown: false,
    })
    expect(requests).toHaveLength(1)
  })

  test('an attempt without an answer in time is', async () => {
    const { call, requests } = write(['hang', ok], { timeout: 1000 })
    expect((await call).attempts).toBe(2)
    expect(requests).toHaveLength(2)
  })

  test('a list that answers 2xx with something else than the interface shows is not', async () => {
    const { client, requests } = stubbed([status(200, {}, '{"data":[]}'), emptyPage])
    expect(await failureOf('response', passing(client.transactions.list()))).toMatchObject({ attempts: 1 })
    expect(requests).toHaveLength(1)
  })

  test('a proxy’s page in answer to a write is not, though nobody knows if the write was applied', async () => {
    const { call, requests } = write([status(200, { 'content-type': 'text/html' }, '<html>'), ok])
    expect(await failureOf('response', call)).toMatchObject({ attempts: 1, outcomeUnknown: true })
    expect(requests).toHaveLength(1)
  })

  test.each<[string, Happening]>([
    ['an attempt without an answer', 'lost'],
    ['an attempt that got no answer in time', 'hang'],
    ['a 500', status(500)],
    ['a 503', status(503)],
    ['a 408', status(408)],
  ])('a 409 is after %s, as it then means “still being processed”', async (_what, before) => {
    const { call, keys } = write([before, status(409), ok], { timeout: 1000 })
    const result = await call
    expect(result.attempts).toBe(3)
    expect(keys()).toEqual(Array(3).fill(result.idempotencyKey))
  })

  test.each<[string, Happening]>([
    ['a 429', status(429)],
    ['a 425', status(425)],
    ['a refused connection', 'refused'],
  ])('a 409 is not after %s, as nothing can be in progress', async (_what, before) => {
    const { call, requests } = write([before, status(409), ok])
    expect(outcomeOf(await failureOf('http', call))).toEqual({
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
  ])('with maxRetries %i a call makes %i attempts at most', async (maxRetries, attempts) => {
    for (const happening of [status(503), 'lost', 'hang'] as const) {
      const { call, requests } = write([happening], { maxRetries, timeout: 1000 })
      await call.catch(() => {})
      expect(requests).toHaveLength(attempts)
    }
  })

  test('maxRetries of a call goes before that of the client', async () => {
    const { client, requests } = stubbed([status(503)], { maxRetries: 5 })
    await failureOf('http', passing(client.virtualAccounts.deactivate(account, { maxRetries: 0 })))
    expect(requests).toHaveLength(1)
  })
})

describe('the wait before the next attempt', () => {
  const failing = [status(503)]

  test('doubles from half a second to 8 seconds, and is half as long at least', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call, waits } = write(failing, { maxRetries: 7 })
    await failureOf('http', call)
    expect(waits()).toEqual([250, 500, 1000, 2000, 4000, 4000, 4000])
  })

  test('is as long at most', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1 - Number.EPSILON)
    const { call, waits } = write(failing, { maxRetries: 7 })
    await failureOf('http', call)
    expect(waits().map(wait => Math.round(wait))).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000])
    expect(Math.max(...waits())).toBeLessThanOrEqual(8000)
  })

  test('is the same whatever failed', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call, waits } = write(['lost', 'hang', 'refused', status(500), ok], {
      maxRetries: 4,
      timeout: 50,
    })
    await call
    expect(waits()).toEqual([250, 500, 1000, 2000])
  })

  test('is really waited', async () => {
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
  /** The wait after an answer with this Retry-After, where the backoff alone would be 250 ms. */
  async function waitAfter(headers: Record<string, string>, code = 503): Promise<number | undefined> {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call, waits } = write([status(code, headers), ok])
    await call
    return waits()[0]
  }

  test.each([429, 503, 500, 408])('in seconds is waited on a %i', async code => {
    expect(await waitAfter({ 'retry-after': '7' }, code)).toBe(7000)
  })

  test.each([
    ['1.25', 1250],
    ['0.5', 500],
    ['2.0001', 2001],
  ])('in fractions of a second (%s) is waited, too', async (seconds, wait) => {
    expect(await waitAfter({ 'retry-after': seconds })).toBe(wait)
  })

  test('of a minute is the longest that is waited', async () => {
    expect(await waitAfter({ 'retry-after': '60' })).toBe(60_000)
  })

  test('that is shorter than the backoff does not shorten it', async () => {
    expect(await waitAfter({ 'retry-after': '0' })).toBe(250)
  })

  test('as a date is measured against the answer’s own date, so that a wrong clock does no harm', async () => {
    expect(
      await waitAfter({
        date: 'Tue, 06 Feb 2001 10:00:00 GMT',
        'retry-after': 'Tue, 06 Feb 2001 10:00:09 GMT',
      }),
    ).toBe(9000)
    expect(
      await waitAfter({
        date: 'Sat, 06 Feb 2100 10:00:00 GMT',
        'retry-after': 'Sat, 06 Feb 2100 10:00:09 GMT',
      }),
    ).toBe(9000)
  })

  test.each([
    'Sun, 06 Nov 2094 08:49:37 GMT',
    'Saturday, 06-Nov-94 08:49:37 GMT',
    'Sat Nov  6 08:49:37 2094',
    'Sat Nov 16 08:49:37 2094',
  ])('as a date may have any of the three forms of HTTP: %s', async date => {
    const year = date.includes('-94') ? 1994 : 2094
    const day = date.includes('16') ? 16 : 6
    const until = Date.UTC(year, 10, day, 8, 49, 37)
    const sent = { date: new Date(until - 9000).toUTCString(), 'retry-after': date }
    expect(await waitAfter(sent)).toBe(9000)
  })

  test('as a date that does not exist is ignored', async () => {
    expect(await waitAfter({ 'retry-after': 'Sun, 99 Nov 2094 08:49:37 GMT' })).toBe(250)
    expect(await waitAfter({ 'retry-after': 'Sun, 06 Foo 2094 08:49:37 GMT' })).toBe(250)
  })

  test('as a date without one of the answer is measured against the clock here', async () => {
    vi.setSystemTime('2026-03-01T12:00:00Z')
    expect(await waitAfter({ 'retry-after': 'Sun, 01 Mar 2026 12:00:05 GMT' })).toBe(5000)
  })

  test('as a date in the past does not shorten the backoff', async () => {
    expect(await waitAfter({ 'retry-after': 'Tue, 06 Feb 2001 10:00:09 GMT' })).toBe(250)
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
    '١٠',
    '',
    '5, 7',
    'Tue',
    '2026-03-01',
  ])('that is garbage (%j) is ignored', async garbage => {
    const headers = new Headers()
    // What cannot be a header cannot arrive.
    try {
      headers.set('retry-after', garbage)
    } catch {
      return
    }
    expect(await waitAfter({ 'retry-after': garbage })).toBe(250)
    const { call } = write([status(400, { 'retry-after': garbage })])
    expect((await failureOf('http', call)).retryAfterMs).toBeUndefined()
  })

  test('is the only such header that counts', async () => {
    expect(
      await waitAfter({
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
  ])('of %s seconds is too long to wait: the answer is told at once', async (seconds, retryAfterMs) => {
    const { call, requests } = write([status(503, { 'retry-after': seconds }), ok])
    expect(await failureOf('http', call)).toMatchObject({ status: 503, attempts: 1, retryAfterMs })
    expect(requests).toHaveLength(1)
  })

  test('beyond totalTimeout is not waited: the answer is told at once, not a timeout', async () => {
    const { call, requests, waits } = write([status(429, { 'retry-after': '5' }), ok], { totalTimeout: 4000 })
    const error = await failureOf('http', call)
    expect(error).toMatchObject({ status: 429, attempts: 1, retryAfterMs: 5000 })
    expect(error.message).toContain('5000 ms')
    expect(requests).toHaveLength(1)
    expect(waits()).toEqual([])
  })
})

describe('totalTimeout', () => {
  test('does not hide a 503 when there is no time left for the wait', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call, requests } = write([status(503)], { totalTimeout: 700, maxRetries: 9 })
    // 250 ms, and then 500 ms would cross it.
    expect(await failureOf('http', call)).toMatchObject({ status: 503, attempts: 2 })
    expect(requests).toHaveLength(2)
  })

  test('does not hide a lost connection either', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call } = write(['lost'], { totalTimeout: 200 })
    expect(await failureOf('connection', call)).toMatchObject({ attempts: 1, outcomeUnknown: true })
  })

  test('bounds all attempts together', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { client, requests } = stubbed(['hang'], { timeout: 1000, totalTimeout: 2000, maxRetries: 9 })
    const error = await failureOf('timeout', passing(client.virtualAccounts.deactivate(account)))
    // One whole second, a wait of 250 ms, and an attempt that is cut short.
    expect(error).toMatchObject({ attempts: 2, timeoutMs: 2000, outcomeUnknown: true })
    expect(error.message).toContain('totalTimeout')
    expect(requests).toHaveLength(2)
  })

  test('names timeout when that is what was crossed', async () => {
    const { call } = write(['hang'], { timeout: 1000, maxRetries: 0 })
    const error = await failureOf('timeout', call)
    expect(error.timeoutMs).toBe(1000)
    expect(error.message).not.toContain('totalTimeout')
  })

  test('bounds a schema that never comes to an end; the write may have been applied', async () => {
    const validate = () => new Promise<never>(() => {})
    const schema = { '~standard': { version: 1 as const, vendor: 'test', validate } }
    const { client, requests } = stubbed([status(200, {}, '{}')], { totalTimeout: 2000 })
    const error = await failureOf('timeout', passing(client.request('POST', '/x', { schema })))
    expect(error).toMatchObject({ attempts: 1, timeoutMs: 2000, outcomeUnknown: true })
    expect(requests).toHaveLength(1)
  })

  test('counts for each page of a walk, not for the walk', async () => {
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

  /** How many requests each of so many calls took. */
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

  test('of 500 tokens pays for 35 retries at 14; then first attempts still go out, retries do not', async () => {
    const service = stubbed([status(503)], { maxRetries: 1 })

    expect(await requestsOfCalls(40, service)).toEqual([...times(35, 2), ...times(5, 1)])

    const error = await failureOf('http', deactivate(service.client))
    expect(error).toMatchObject({ status: 503, attempts: 1, outcomeUnknown: true })
    expect(error.message).toContain('retry budget')
    expect(error.message).not.toContain('\n')
  })

  test('does not say so in the errors of calls that were tried again', async () => {
    const { call } = write([status(503)])
    expect((await failureOf('http', call)).message).not.toContain('budget')
  })

  test('pays for 100 retries after a 429, at 5 tokens', async () => {
    const service = stubbed([status(429)], { maxRetries: 1 })
    expect(await requestsOfCalls(103, service)).toEqual([...times(100, 2), ...times(3, 1)])
  })

  test('pays for retries after lost connections, too', async () => {
    const service = stubbed(['lost'], { maxRetries: 1 })
    expect(await requestsOfCalls(37, service)).toEqual([...times(35, 2), ...times(2, 1)])
    expect((await failureOf('connection', deactivate(service.client))).message).toContain('retry budget')
  })

  test('gets back what a retry cost that succeeds', async () => {
    const service = stubbed(Array.from({ length: 400 }, (_, at) => status(at % 2 ? 200 : 503)))
    expect(await requestsOfCalls(200, service)).toEqual(times(200, 2))
  })

  test('gets back one token for each call that succeeds at once', async () => {
    const failures = Array.from({ length: 70 }, () => status(503))
    const successes = Array.from({ length: 3 }, () => ok)
    const service = stubbed([...failures, ...successes, status(503), ok, status(503)], { maxRetries: 1 })
    // 490 of 500 are spent on 35 retries: 10 are left.
    expect(await requestsOfCalls(35, service)).toEqual(times(35, 2))
    // 13 do not pay for another, 14 do.
    expect(await requestsOfCalls(3 + 1, service)).toEqual(times(4, 1))
    expect(await requestsOfCalls(1 + 1, service)).toEqual([1, 2])
  })

  test('never holds more than 500', async () => {
    const service = stubbed([...Array.from({ length: 300 }, () => ok), status(503)], { maxRetries: 1 })
    await requestsOfCalls(300, service)
    expect(await requestsOfCalls(37, service)).toEqual([...times(35, 2), ...times(2, 1)])
  })

  test('is one for a client and those derived from it', async () => {
    const service = stubbed([status(503)], { maxRetries: 1 })
    const derived = service.client.withOptions({ timeout: 5000 })
    const derivedTwice = derived.withOptions({ apiKey: 'another_key_of_ours' })
    expect(await requestsOfCalls(20, service, derivedTwice)).toEqual(times(20, 2))
    expect(await requestsOfCalls(15, service)).toEqual(times(15, 2))
    expect(await requestsOfCalls(2, service, derived)).toEqual([1, 1])
    expect(await requestsOfCalls(2, service)).toEqual([1, 1])
  })

  test('of one client is not that of another', async () => {
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
  const misfit = status(200, { 'content-type': 'text/html' }, '<html>')

  test.each<[boolean, string, Happening[]]>([
    [false, 'a 400', [status(400)]],
    [false, 'a 401', [status(401)]],
    [false, 'a 404', [status(404)]],
    [false, 'a 409 alone', [status(409)]],
    [false, 'a 422', [status(422)]],
    [false, 'nothing but 429s', [status(429)]],
    [false, 'nothing but 425s', [status(425)]],
    [false, 'nothing but refused connections', ['refused']],
    [false, 'a refused certificate', ['certificate']],
    [false, 'a refused connection, then a 400', ['refused', status(400)]],
    [false, 'a refused connection, then a refused certificate', ['refused', 'certificate']],
    [false, 'a 429, then a 400', [status(429), status(400)]],
    [true, 'nothing but lost connections', ['lost']],
    [true, 'a lost connection, then a 400', ['lost', status(400)]],
    [true, 'a lost connection, then a 404', ['lost', status(404)]],
    [true, 'a lost connection, then a 409', ['lost', status(409)]],
    [true, 'a lost connection, then a 429', ['lost', status(429)]],
    [true, 'a lost connection, then refused ones', ['lost', 'refused']],
    [true, 'a lost connection, then a refused certificate', ['lost', 'certificate']],
    [true, 'a lost connection, then a redirect', ['lost', status(302)]],
    [true, 'refused connections, then a lost one', ['refused', 'refused', 'lost']],
    [true, 'no answer in time', ['hang']],
    [true, 'no answer in time, then a 400', ['hang', status(400)]],
    [true, 'a 500', [status(500)]],
    [true, 'a 500, then a 422', [status(500), status(422)]],
    [true, 'a 501', [status(501)]],
    [true, 'a 503, then a 429, then a 400', [status(503), status(429), status(400)]],
    [true, 'a 505', [status(505)]],
    [true, 'a 408', [status(408)]],
    [true, 'a 408, then a 400', [status(408), status(400)]],
    [true, 'a 2xx that is a ResponseError', [misfit]],
    [true, 'a 429, then a 2xx that is a ResponseError', [status(429), misfit]],
  ])('is %j after %s', async (outcomeUnknown, _what, happenings) => {
    const { call } = write(happenings, { timeout: 1000 })
    const error = await rejected(call)
    expect(error.outcomeUnknown).toBe(outcomeUnknown)
    expect(error.message.includes('It may have been applied')).toBe(outcomeUnknown)
    expect(error.message).not.toMatch(/[\r\n]/)
    expect(error.message).toMatch(
      /^POST \/customers\/c1\/virtual_accounts\/v1\/deactivate: .+ \(\d attempts?\)\./,
    )
  })

  test('is true for each write method, and never for GET', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const) {
      for (const happening of ['lost', 'hang', status(500), misfit] as const) {
        const { client } = stubbed([happening], { timeout: 50, maxRetries: 0 })
        const error = await rejected(passing(client.request(method, '/anything')))
        expect(error.outcomeUnknown).toBe(method !== 'GET')
        expect(typeof error.idempotencyKey).toBe(method === 'GET' ? 'undefined' : 'string')
      }
    }
  })

  test('is true when the body of an answer was cut, and a 404 came then', async () => {
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
    expect(await failureOf('http', call)).toMatchObject({ attempts: 2, outcomeUnknown: true })
  })

  test('is false when no attempt came beyond asking for the key', async () => {
    const { client, requests } = stubbed([ok], { apiKey: () => new Promise<string>(() => {}), timeout: 1000 })
    const error = await failureOf('timeout', passing(client.virtualAccounts.deactivate(account)))
    expect(error).toMatchObject({ attempts: 3, outcomeUnknown: false })
    expect(requests).toHaveLength(0)
  })

  async function rejected(call: Promise<unknown>) {
    const error = await call.then(
      () => {
        throw new Error('it did not reject')
      },
      (error: unknown) => error,
    )
    const { isApiError } = await import('virtual-accounts')
    if (!isApiError(error)) throw error
    return error
  }
})

test('no timer is left behind by a call, however it ended', async () => {
  const cut = () =>
    new Response(new ReadableStream({ start: controller => controller.error(new Error('cut')) }))
  for (const happenings of [
    [ok],
    [status(404)],
    ['lost', ok],
    ['hang', ok],
    [cut],
    [status(503)],
  ] as Happening[][]) {
    const { call } = write(happenings, { timeout: 1000 })
    await call.catch(() => {})
    expect(vi.getTimerCount()).toBe(0)
  }
  const keyless = write([ok], { apiKey: () => Promise.reject(new Error('no key')) })
  await keyless.call.catch(() => {})
  expect(vi.getTimerCount()).toBe(0)
})

describe('events', () => {
  test('tell of no request where the key came too late for one', async () => {
    const key = Promise.withResolvers<string>()
    const { call, events } = write([ok], { apiKey: () => key.promise, timeout: 1000, maxRetries: 0 })
    await failureOf('timeout', call)
    key.resolve('a_key_that_came_too_late')
    await vi.advanceTimersByTimeAsync(1000)
    expect(events.map(({ type }) => type)).toEqual(['failure'])
  })

  test('tell each attempt, each wait, and how the call failed, all under one name', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call, events } = write([status(503), 'lost', status(404)])
    const error = await failureOf('http', call)
    expect(events.map(({ type }) => type)).toEqual([
      'request',
      'response',
      'retry',
      'request',
      'retry',
      'request',
      'response',
      'failure',
    ])
    expect(new Set(events.map(event => event.call)).size).toBe(1)
    expect(events.flatMap(event => ('attempt' in event ? [event.attempt] : []))).toEqual([
      1, 1, 1, 2, 2, 3, 3, 3,
    ])
    expect(events[2]).toMatchObject({ delayMs: 250, error: { kind: 'http', status: 503, attempts: 1 } })
    expect(events[4]).toMatchObject({ delayMs: 500, error: { kind: 'connection', attempts: 2 } })
    expect(events.at(-1)).toMatchObject({ error })
  })

  test('of a listener that throws or rejects change nothing', async () => {
    for (const onEvent of [
      () => {
        throw new Error('listener')
      },
      async () => {
        throw new Error('async listener')
      },
    ]) {
      const { call } = write([status(503), ok], { onEvent })
      expect((await call).attempts).toBe(2)
    }
  })
})
