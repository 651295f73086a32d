import { Client, type ClientOptions } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

const mebibyte = 1024 * 1024

function createClient(fetch: () => Promise<Response>, options: Partial<ClientOptions> = {}): Client {
  return new Client({ baseUrl: 'https://api.example.com', apiKey: 'key', fetch, ...options })
}

/** How long a call takes in virtual time, and what it rejects with. */
async function timeToReject(call: PromiseLike<unknown>): Promise<{ ms: number; error: unknown }> {
  const startedAt = Date.now()
  const rejection = call.then(
    () => Promise.reject(new Error('expected a rejection')),
    (error: unknown) => ({ ms: Date.now() - startedAt, error }),
  )
  await vi.advanceTimersByTimeAsync(1_000_000)
  return rejection
}

beforeEach(() => {
  vi.useFakeTimers()
  vi.spyOn(Math, 'random').mockReturnValue(0)
})
afterEach(() => void vi.useRealTimers())

describe('by default', () => {
  const hang = () => new Promise<Response>(() => {})

  test('an attempt times out after 60 seconds', async () => {
    const client = createClient(hang, { maxRetries: 0 })
    const { ms, error } = await timeToReject(client.transactions.list())
    expect(error).toMatchObject({ kind: 'timeout', timeoutMs: 60_000, attempts: 1 })
    expect(ms).toBe(60_000)
  })

  test('a call is retried twice', async () => {
    const fetch = vi.fn(async () => new Response(null, { status: 503 }))
    const { error } = await timeToReject(createClient(fetch).transactions.list())
    expect(error).toMatchObject({ status: 503, attempts: 3 })
    expect(fetch).toHaveBeenCalledTimes(3)
  })

  test('iterating a list fetches 4 pages in parallel', async () => {
    const service = new FakeService({ transactions: sampleTransactions(40) })
    let inFlight = 0
    let peak = 0
    const fetch = async (url: string, init: RequestInit) => {
      peak = Math.max(peak, ++inFlight)
      await new Promise(resolve => setTimeout(resolve, 10))
      inFlight--
      return service.fetch(url, init)
    }
    const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey, fetch })
    const ids: string[] = []
    const walk = (async () => {
      for await (const { id } of client.transactions.list({ limit: 2 })) ids.push(id)
    })()
    await vi.advanceTimersByTimeAsync(10_000)
    await walk
    expect(ids).toEqual(service.transactions.map(({ id }) => id))
    expect(peak).toBe(4)
  })

  test('a response body may have 10 MiB, and not a byte more', async () => {
    const bodyOf = (bytes: number) => `"${'a'.repeat(bytes - 2)}"`
    const respond = (bytes: number) =>
      createClient(async () => new Response(bodyOf(bytes))).request('GET', '/large')
    expect((await respond(10 * mebibyte)).data).toHaveLength(10 * mebibyte - 2)
    await expect(respond(10 * mebibyte + 1)).rejects.toThrow(
      'GET /large: the response is not valid: expected at most 10485760 bytes. Raise `maxResponseBytes`, or request smaller pages of a list with `limit`.',
    )
  })
})
