import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf, checkEach } from '../support.ts'
import { ok, status, stubbed, useFakeTime, write } from './stub.ts'

beforeEach(useFakeTime)
afterEach(() => void vi.useRealTimers())

describe('the backoff', () => {
  const failing = [status(503)]

  test('doubles from 0.5 s to 8 s, and is at least half of that', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call, delays } = write(failing, { maxRetries: 7 })
    await apiErrorOf('http', call)
    expect(delays()).toEqual([250, 500, 1000, 2000, 4000, 4000, 4000])
  })

  test('is at most 0.5, 1, 2, 4, then 8 s', async () => {
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

  test('in seconds, also in fractions of one, delays the retry', async () => {
    await checkEach([429, 503, 500, 408], async code => {
      expect(await delayAfter({ 'retry-after': '7' }, code)).toBe(7000)
    })
    await checkEach(
      [
        ['1.25', 1250],
        ['0.5', 500],
        ['2.0001', 2001],
      ] as const,
      async ([seconds, delay]) => expect(await delayAfter({ 'retry-after': seconds })).toBe(delay),
    )
  })

  test('is waited for, such as 60 seconds, and never shortens the backoff', async () => {
    expect(await delayAfter({ 'retry-after': '60' })).toBe(60_000)
    expect(await delayAfter({ 'retry-after': '0' })).toBe(250)
    expect(await delayAfter({ 'retry-after': 'Tue, 06 Feb 2001 10:00:09 GMT' })).toBe(250)
  })

  test('as a date is measured against the Date of the response, so that a wrong clock is harmless', async () => {
    for (const year of ['Tue, 06 Feb 2001', 'Sat, 06 Feb 2100']) {
      const headers = { date: `${year} 10:00:00 GMT`, 'retry-after': `${year} 10:00:09 GMT` }
      expect(await delayAfter(headers)).toBe(9000)
    }
  })

  test('as a date is measured against the local clock when the response has no Date', async () => {
    vi.setSystemTime('2026-03-01T12:00:00Z')
    expect(await delayAfter({ 'retry-after': 'Sun, 01 Mar 2026 12:00:05 GMT' })).toBe(5000)
  })

  test('is ignored when it is neither seconds nor a date that exists', async () => {
    const garbage = [
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
      'Sun, 99 Nov 2026 08:49:37 GMT',
      'Sun, 06 Foo 2026 08:49:37 GMT',
      'Sunday, 06-Nov-94 08:49:37 GMT',
      'Sun Nov  6 08:49:37 1994',
      'Sun, 01 Nov 2026 25:00:00 GMT',
    ]
    await checkEach(garbage, async given => {
      const headers = { date: 'Sun, 01 Nov 2026 08:49:30 GMT', 'retry-after': given }
      expect(await delayAfter(headers)).toBe(250)
      const { call } = write([status(400, headers)])
      expect((await apiErrorOf('http', call)).retryAfterMs).toBeUndefined()
    })
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

  test('of more than 80 seconds is too long: the HttpError is thrown immediately', async () => {
    await checkEach<[seconds: string, retryAfterMs: unknown]>(
      [
        ['81', 81_000],
        ['86400', 86_400_000],
        ['9'.repeat(30), expect.any(Number)],
      ],
      async ([seconds, retryAfterMs]) => {
        const { call, requests } = write([status(503, { 'retry-after': seconds }), ok])
        expect(await apiErrorOf('http', call)).toMatchObject({ status: 503, attempts: 1, retryAfterMs })
        expect(requests).toHaveLength(1)
      },
    )
  })
})
