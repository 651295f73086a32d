import type { Client } from 'virtual-accounts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf } from '../support.ts'
import { ok, passing, status, stubbed, useFakeTime } from './stub.ts'

beforeEach(useFakeTime)
afterEach(() => void vi.useRealTimers())

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

  test('pays for 500 retries; then only first attempts are sent', async () => {
    const service = stubbed([status(503)], { maxRetries: 1 })

    expect(await requestsOfCalls(505, service)).toEqual([...times(500, 2), ...times(5, 1)])

    const error = await apiErrorOf('http', deactivate(service.client))
    expect(error).toMatchObject({ status: 503, attempts: 1, outcomeUnknown: true })
  })

  test('pays for retries of lost connections, too', async () => {
    const service = stubbed(['lost'], { maxRetries: 1 })
    expect(await requestsOfCalls(502, service)).toEqual([...times(500, 2), ...times(2, 1)])
    expect(await apiErrorOf('connection', deactivate(service.client))).toMatchObject({ attempts: 1 })
  })

  test('gets back what a successful retry cost', async () => {
    const service = stubbed(Array.from({ length: 400 }, (_, at) => status(at % 2 ? 200 : 503)))
    expect(await requestsOfCalls(200, service)).toEqual(times(200, 2))
  })

  test('gets back a tenth of a retry for each call that succeeds', async () => {
    const failures = Array.from({ length: 1000 }, () => status(503))
    const successes = Array.from({ length: 11 }, () => ok)
    const service = stubbed([...failures, ...successes, status(503), ok, status(503)], { maxRetries: 1 })
    expect(await requestsOfCalls(500, service)).toEqual(times(500, 2))
    expect(await requestsOfCalls(11, service)).toEqual(times(11, 1))
    // A retry that succeeds costs nothing, and its call gives a tenth more: not enough for another.
    expect(await requestsOfCalls(2, service)).toEqual([2, 2])
    expect(await requestsOfCalls(1, service)).toEqual([1])
  })

  test('is full again when a call succeeds after ten seconds without a retry', async () => {
    let isDown = true
    const service = stubbed([() => (isDown ? status(503)() : ok())], { maxRetries: 1 })
    const afterQuiet = async (ms: number) => {
      isDown = true
      await requestsOfCalls(501, service)
      isDown = false
      await vi.advanceTimersByTimeAsync(ms)
      await requestsOfCalls(1, service)
      isDown = true
      return requestsOfCalls(1, service)
    }
    expect(await afterQuiet(9_000)).toEqual([1])
    expect(await afterQuiet(10_001)).toEqual([2])
  })

  test('does not run out where a third of the attempts fail', async () => {
    let attempt = 0
    const service = stubbed([() => (++attempt % 3 === 0 ? status(503) : ok)()])
    const counts = await requestsOfCalls(500, service)
    expect(counts.every(count => count <= 2)).toBe(true)
    expect(service.events.filter(({ type }) => type === 'failure')).toEqual([])
  })

  test('never holds more than 500 retries', async () => {
    const service = stubbed([...Array.from({ length: 300 }, () => ok), status(503)], { maxRetries: 1 })
    await requestsOfCalls(300, service)
    expect(await requestsOfCalls(502, service)).toEqual([...times(500, 2), ...times(2, 1)])
  })

  test('is shared by a client and those derived from it', async () => {
    const service = stubbed([status(503)], { maxRetries: 1 })
    const derived = service.client.withOptions({ timeout: 5000 })
    const derivedTwice = derived.withOptions({ apiKey: 'another_key_of_ours' })
    expect(await requestsOfCalls(20, service, derivedTwice)).toEqual(times(20, 2))
    expect(await requestsOfCalls(480, service)).toEqual(times(480, 2))
    expect(await requestsOfCalls(2, service, derived)).toEqual([1, 1])
    expect(await requestsOfCalls(2, service)).toEqual([1, 1])
  })

  test('is not shared by independent clients', async () => {
    const service = stubbed([status(503)], { maxRetries: 1 })
    await requestsOfCalls(501, service)
    const other = stubbed([status(503)], { maxRetries: 1 })
    expect(await requestsOfCalls(1, other)).toEqual([2])
  })
})
