import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { apiKey, passing, status, stubbed, useFakeTime } from '../http/stub.ts'
import { createClient, service, startService } from '../service.ts'
import { account, apiErrorOf, checkEach, rejectionOf } from '../support.ts'

startService()

describe('apiKey', () => {
  test('null sends no Api-Key header', async () => {
    await rejectionOf(createClient({ apiKey: null }).transactions.list())
    expect(service.requests[0]?.headers.has('Api-Key')).toBe(false)
  })

  test('as a function is called before every attempt', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const apiKey = vi
      .fn<() => Promise<string>>()
      .mockResolvedValueOnce('old_key')
      .mockResolvedValue(service.apiKey)
    service.fail({ with: () => new Response(null, { status: 503 }) })
    await createClient({ apiKey }).transactions.list()
    expect(service.requests.map(({ headers }) => headers.get('Api-Key'))).toEqual(['old_key', service.apiKey])
  })
})

describe('an apiKey function', () => {
  const problem = { vault: 'sealed' }
  // Looks like a lost connection, which is retried.
  const fetchFailed = new TypeError('fetch failed')

  test('that throws or rejects lets the call reject with the same error, and nothing is retried', async () => {
    const throwing = () => {
      throw fetchFailed
    }
    await checkEach<[how: string, problem: unknown, getKey: () => string | Promise<string>]>(
      [
        ['throws', fetchFailed, throwing],
        ['rejects', problem, () => Promise.reject(problem)],
      ],
      async ([, problem, getKey]) => {
        const getApiKey = vi.fn(getKey)
        const { client, requests, events } = stubbed([status(200)], { apiKey: getApiKey })
        expect(await rejectionOf(client.virtualAccounts.deactivate(account))).toBe(problem)
        expect(await rejectionOf(client.transactions.list())).toBe(problem)
        expect(getApiKey).toHaveBeenCalledTimes(2)
        expect(requests).toEqual([])
        expect(events.map(({ type }) => type)).toEqual(['failure', 'failure'])
      },
    )
  })

  test('that fails once is called again by the next call', async () => {
    let calls = 0
    const { client } = stubbed([status(204)], {
      apiKey: async () => {
        if (++calls === 1) throw problem
        return apiKey
      },
    })
    expect(await rejectionOf(client.virtualAccounts.deactivate(account))).toBe(problem)
    expect((await client.virtualAccounts.deactivate(account)).status).toBe(204)
  })

  test('that returns an invalid key causes a TypeError that does not show it, and nothing is sent', async () => {
    await checkEach(
      [
        'secret_with\nline_break',
        'secret_with\0zero',
        ' secret_with_space',
        'secret_with_space\t',
        'secret_beyond_latin_€',
        '',
        undefined,
        null,
        42_424_242,
        { secret: 'secret_in_object' },
        ['secret_in_array'],
      ],
      async value => {
        const { client, requests } = stubbed([status(200)], { apiKey: () => value as string })
        const error = await rejectionOf(client.virtualAccounts.deactivate(account))
        expect(error).toBeInstanceOf(TypeError)
        expect((error as Error).message).toMatch(/^apiKey: /)
        expect(String((error as Error).stack)).not.toMatch(/secret_|42424242/)
        expect(requests).toEqual([])
      },
    )
  })

  test('that is slow causes a TimeoutError, and a key that arrives too late sends nothing', async () => {
    useFakeTime()
    onTestFinished(() => void vi.useRealTimers())
    const key = Promise.withResolvers<string>()
    const { client, requests, events } = stubbed([status(204)], {
      apiKey: () => key.promise,
      timeout: 1000,
      maxRetries: 0,
    })
    const error = await apiErrorOf('timeout', passing(client.virtualAccounts.deactivate(account)))
    expect(error).toMatchObject({ attempts: 1, outcomeUnknown: false, timeoutMs: 1000 })
    key.resolve(apiKey)
    await vi.advanceTimersByTimeAsync(1000)
    expect(requests).toEqual([])
    expect(events.map(({ type }) => type)).toEqual(['failure'])
  })

  test('shares the timeout with its request', async () => {
    useFakeTime()
    onTestFinished(() => void vi.useRealTimers())
    // Each arrives within the timeout, but not both.
    const delayed = <T>(ms: number, value: T) =>
      new Promise<T>(resolve => setTimeout(() => resolve(value), ms))
    const fetch = () => delayed(100, new Response())
    const { client } = stubbed([], { apiKey: () => delayed(100, apiKey), fetch, timeout: 150, maxRetries: 0 })
    const error = await apiErrorOf('timeout', passing(client.virtualAccounts.deactivate(account), 10))
    expect(error.outcomeUnknown).toBe(true)
  })
})
