import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createClient, respondWith, service, startService } from '../service.ts'
import { checkEach, rejectionOf } from '../support.ts'

startService()

describe('client.request', () => {
  test('reads any other endpoint with the same API key, and with a query', async () => {
    service.serveList('/refunds', [{ id: 'r1' }])
    const result = await createClient().request('GET', '/refunds', { query: { limit: 3 } })
    expect(result).toMatchObject({ data: { data: [{ id: 'r1' }], limit: 3 }, idempotencyKey: undefined })
    expect(service.requests[0]?.headers.get('Api-Key')).toBe(service.apiKey)
  })

  test('writes with POST, PUT, PATCH and DELETE, with an idempotency key', async () => {
    await checkEach(['POST', 'PUT', 'PATCH', 'DELETE'] as const, async method => {
      service.reset()
      service.fail({ with: () => new Response('{"done":true}', { status: 201 }) })
      const result = await createClient().request(method, '/things', { body: { a: 1 } })
      expect(service.requests[0]?.headers.get('Idempotency-Key')).toBe(result.idempotencyKey)
      expect(service.requests[0]).toMatchObject({ method, body: { a: 1 } })
      expect(result).toMatchObject({ status: 201, data: { done: true } })
    })
  })

  test('accepts a method in any case, and sends it in capitals', async () => {
    // A Request would write all but `patch` in capitals itself.
    const fetch = vi.fn(async (_url: string, _init: RequestInit) => new Response('{}'))
    await checkEach(['get', 'Post', 'put', 'patch', 'delete'], async method => {
      await createClient({ fetch }).request(method as 'GET', '/a')
      const init = fetch.mock.lastCall?.[1]
      expect(init?.method).toBe(method.toUpperCase())
      expect(new Headers(init?.headers).has('Idempotency-Key')).toBe(method !== 'get')
    })
  })

  test('works when it is destructured', async () => {
    respondWith('{"done":true}')
    const { request } = createClient()
    expect(await request('POST', '/a')).toMatchObject({ data: { done: true } })
  })

  test('sends a path that is well formed as it is', async () => {
    await checkEach(['/a.b/..c/d..', '/%2e%2e%2e', '/%2Fa'], async path => {
      service.reset()
      await rejectionOf(createClient().request('GET', path))
      expect(service.requests[0]?.path).toBe(path)
    })
  })

  test('rejects with a TypeError in a runtime without fetch', async () => {
    vi.stubGlobal('fetch', undefined)
    onTestFinished(() => void vi.unstubAllGlobals())
    const error = await rejectionOf(createClient().request('GET', '/a'))
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toContain('`fetch`')
  })
})

test('the global fetch is looked up at each call, so that later patches take effect', async () => {
  const client = createClient()
  const patched = vi.spyOn(globalThis, 'fetch')
  await client.transactions.list()
  expect(patched).toHaveBeenCalledOnce()
})
