import type { RequestOptions } from 'virtual-accounts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf, checkEach, rejectionOf } from '../support.ts'
import { emptyPage, ok, passing, type StubStep, status, stubbed, useFakeTime } from './stub.ts'

beforeEach(useFakeTime)
afterEach(() => void vi.useRealTimers())

const totalTimeout = 3_000

function deactivate(steps: StubStep[], options: RequestOptions = {}) {
  const service = stubbed(steps, { totalTimeout })
  return { ...service, call: passing(service.client.virtualAccounts.deactivate(account, options), 50) }
}

describe('totalTimeout', () => {
  test('ends a call wherever it is, with its key, and says whether a write may have been applied', async () => {
    const busy = status(429, { 'retry-after': '5' })
    await checkEach<[where: string, steps: StubStep[], expected: object, cause: unknown]>(
      [
        ['no response', ['hang'], { attempts: 1, outcomeUnknown: true }, undefined],
        [
          'a delay after a 503',
          [status(503, { 'retry-after': '5' })],
          { attempts: 1, outcomeUnknown: true },
          503,
        ],
        ['a wait for its turn', [busy], { attempts: 1, outcomeUnknown: false }, 429],
        ['no response after a 429', [status(429), 'hang'], { attempts: 2, outcomeUnknown: true }, 429],
        ['a wait after a 500', [status(500), busy], { attempts: 2, outcomeUnknown: true }, 429],
      ],
      async ([, steps, expected, cause]) => {
        const { call, keys, events } = deactivate(steps)
        const startedAt = performance.now()
        const error = await apiErrorOf('timeout', call)
        expect(performance.now() - startedAt).toBe(totalTimeout)
        expect(error).toMatchObject({ ...expected, timeoutMs: totalTimeout, idempotencyKey: keys()[0] })
        expect((error.cause as { status?: number } | undefined)?.status).toBe(cause)
        expect(error.message).toMatch(/: not finished within the totalTimeout of 3000 ms/)
        // At its end, it waited after a refusal.
        const isRefused = steps.at(-1) === busy
        expect(error.message.includes('because POST')).toBe(isRefused)
        expect(events.at(-1)).toMatchObject({ type: 'failure', error })
        expect(vi.getTimerCount()).toBe(0)
      },
    )
  })

  test('allows no retry after it, even if a blocked event loop fires timers in any order', async () => {
    const { client, requests } = stubbed([status(503), ok])
    const call = rejectionOf(client.virtualAccounts.deactivate(account, { totalTimeout }))
    await vi.advanceTimersByTimeAsync(0)
    const { now } = performance
    vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + totalTimeout)
    expect(await passing(call)).toMatchObject({ kind: 'timeout', attempts: 1, outcomeUnknown: true })
    expect(requests).toHaveLength(1)
  })

  test('knows that nothing was sent if apiKey is slow, or if the call waited because others were refused', async () => {
    const slow = stubbed([ok], { totalTimeout, apiKey: () => new Promise(() => {}) })
    const error = await apiErrorOf('timeout', passing(slow.client.virtualAccounts.deactivate(account)))
    expect(error).toMatchObject({ attempts: 0, outcomeUnknown: false })
    const busy = status(429, { 'retry-after': '50' })
    const { client } = stubbed([busy, busy, ok])
    const first = Promise.all([1, 2].map(() => client.virtualAccounts.deactivate(account)))
    await vi.advanceTimersByTimeAsync(0)
    const waiting = client.virtualAccounts.deactivate(account, { totalTimeout })
    const waited = await apiErrorOf('timeout', passing(waiting))
    expect(waited).toMatchObject({ attempts: 0, outcomeUnknown: false, cause: { status: 429 } })
    expect(waited.message).toMatch(/It was still waiting, because POST .*\/deactivate was refused\./)
    await passing(first)
    const busyClient = stubbed(['hang'], { totalTimeout, maxInFlight: 1 }).client
    const hanging = rejectionOf(busyClient.virtualAccounts.deactivate(account, { totalTimeout: 10_000 }))
    const behind = await apiErrorOf('timeout', passing(busyClient.virtualAccounts.deactivate(account)))
    expect(behind.message).toContain('It was still waiting, because maxInFlight (1) was reached.')
    await passing(hanging)
  })

  test('takes the outcome from the status, even if the body stalls', async () => {
    const stalled = (code: number) => () => new Response(new ReadableStream({}), { status: code })
    await checkEach(
      [
        [422, false],
        [500, true],
        [200, true],
      ] as const,
      async ([code, outcomeUnknown]) => {
        const { call } = deactivate([stalled(code)])
        expect(await apiErrorOf('timeout', call)).toMatchObject({ outcomeUnknown })
      },
    )
  })

  test('of a call takes precedence over that of the client, and `timeout` still ends an attempt', async () => {
    const { call } = deactivate(['hang'], { totalTimeout: 1_000 })
    expect(await apiErrorOf('timeout', call)).toMatchObject({ timeoutMs: 1_000 })
    const retried = deactivate(['hang', ok], { timeout: 500 })
    expect((await retried.call).attempts).toBe(2)
  })

  test('is for each page of a loop', async () => {
    const slowly: StubStep[] = Array.from({ length: 3 }, (_, at) => page(at + 1))
    const { client, requests } = stubbed(slowly, { totalTimeout })
    const ids: string[] = []
    const reading = (async () => {
      for await (const { id } of client.transactions.list(
        { limit: 20 },
        { verified: false, concurrency: 1 },
      )) {
        ids.push(id)
        await vi.advanceTimersByTimeAsync(100)
      }
    })()
    await reading
    expect(ids).toHaveLength(60)
    expect(requests).toHaveLength(3)
    expect(performance.now()).toBeGreaterThan(totalTimeout)
    expect(await passing(stubbed([emptyPage], { totalTimeout }).client.transactions.list())).toBeDefined()
  })

  test('yields to the signal of the caller, which rejects with an AbortError', async () => {
    const { client } = stubbed(['hang'], { totalTimeout })
    const signal = AbortSignal.abort('enough')
    await expect(client.virtualAccounts.deactivate(account, { signal })).rejects.toMatchObject({
      kind: 'aborted',
      cause: 'enough',
    })
    expect(vi.getTimerCount()).toBe(0)
  })
})

/** One of three pages of 20. */
function page(number: number): () => Response {
  const ids = Array.from({ length: 20 }, (_, at) => `${number}-${at}`)
  const data = ids.map(id => ({ id, amount: 1, currency: 'EUR', description: '' }))
  return () => Response.json({ data, page: number, totalItems: 60, limit: 20 })
}
