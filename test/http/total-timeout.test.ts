import type { ClientEvent } from 'virtual-accounts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf, checkEach } from '../support.ts'
import { passing, status, stubbed, useFakeTime, write } from './stub.ts'

beforeEach(useFakeTime)
afterEach(() => void vi.useRealTimers())

describe('totalTimeout', () => {
  test('does not hide a 503 when no time is left for the backoff', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { call, requests } = write([status(503)], { totalTimeout: 700, maxRetries: 9 })
    // 250 ms, and then 500 ms would cross it.
    expect(await apiErrorOf('http', call)).toMatchObject({ status: 503, attempts: 2 })
    expect(requests).toHaveLength(2)
  })

  test('does not hide a 503 when the program was too busy to retry in time, and sends nothing then', async () => {
    const now = performance.now()
    const onEvent = ({ type }: ClientEvent) => {
      if (type === 'retry') vi.spyOn(performance, 'now').mockReturnValue(now + 10_000)
    }
    const { call, requests } = write([status(503)], { totalTimeout: 5000, onEvent })
    const error = await apiErrorOf('http', call)
    expect(error).toMatchObject({ status: 503, attempts: 1 })
    expect(error.message).toContain('retry later')
    expect(requests).toHaveLength(1)
  })

  test('sends nothing when the program was too busy to get the key in time', async () => {
    const now = performance.now()
    const apiKey = () => {
      vi.spyOn(performance, 'now').mockReturnValue(now + 10_000)
      return 'test_key'
    }
    const { call, requests } = write([status(200)], { totalTimeout: 5000, apiKey })
    expect(await apiErrorOf('timeout', call)).toMatchObject({ timeoutMs: 5000, outcomeUnknown: false })
    expect(requests).toEqual([])
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
    // A longer totalTimeout alone would only give the second attempt its second.
    expect(error.message).toContain('Raise `timeout` and `totalTimeout` (milliseconds)')
    expect(requests).toHaveLength(2)
  })

  test('is the timeoutMs of the error that it causes, and timeout otherwise', async () => {
    await checkEach(
      [
        [{ timeout: 1000, maxRetries: 0 }, 1000],
        [{ timeout: 1000, totalTimeout: 800 }, 800],
        [{ timeout: 1000, totalTimeout: 2000, maxRetries: 5 }, 2000],
      ] as const,
      async ([options, timeoutMs]) => {
        expect((await apiErrorOf('timeout', write(['hang'], options).call)).timeoutMs).toBe(timeoutMs)
      },
    )
  })

  test('bounds a schema that never settles, and the write may have been applied', async () => {
    const validate = () => new Promise<never>(() => {})
    const schema = { '~standard': { version: 1 as const, vendor: 'test', validate } }
    const { client, requests } = stubbed([status(200, {}, '{}')], { totalTimeout: 2000 })
    const error = await apiErrorOf('timeout', passing(client.request('POST', '/x', { schema })))
    expect(error).toMatchObject({ attempts: 1, timeoutMs: 2000, outcomeUnknown: true })
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
