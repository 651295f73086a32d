import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { checkEach, rejectionOf } from '../support.ts'
import { deactivate, durationOf, errorBody, get, post, requestFor } from './requests.ts'

// Latencies take no real time.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }))
afterEach(() => void vi.useRealTimers())

describe('the base URL', () => {
  test('is https://virtual-accounts.test by default', () => {
    expect(new FakeService().baseUrl).toBe('https://virtual-accounts.test')
  })

  test('may have a path, and a slash at its end', async () => {
    const service = new FakeService({
      baseUrl: 'https://bank.test/api/v1/',
      transactions: sampleTransactions(1),
    })

    expect(service.baseUrl).toBe('https://bank.test/api/v1')
    expect((await get(service, '/transactions')).status).toBe(200)
    expect(service.requests[0]!.path).toBe('/transactions')
  })

  test('bounds the service: what is outside gets 404 and is not recorded', () =>
    checkEach(['/transactions', '/api/v10/transactions', '/api'], async path => {
      const service = new FakeService({ baseUrl: 'https://bank.test/api/v1' })
      service.fail({ with: 'network-error' })
      const headers = { 'Api-Key': service.apiKey }

      const response = await service.fetch(`https://bank.test${path}`, { headers })

      expect(response.status).toBe(404)
      expect(await errorBody(response)).toContain('https://bank.test/api/v1')
      expect(service.requests).toEqual([])
    }))

  test('is the only one that can be reached: at another origin, fetch rejects and handle gives a 404', async () => {
    const service = new FakeService()
    const elsewhere = 'https://elsewhere.test/transactions'

    const error = await rejectionOf(service.fetch(elsewhere))
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toMatch(/elsewhere\.test.*virtual-accounts\.test/)

    const response = await service.handle(new Request(elsewhere))
    expect(response.status).toBe(404)
    expect(service.requests).toEqual([])
  })
})

describe('fetch', () => {
  test('works when destructured', async () => {
    const service = new FakeService({ transactions: sampleTransactions(1) })
    const { fetch, baseUrl } = service

    expect((await fetch(`${baseUrl}/transactions`, { headers: { 'Api-Key': 'test_key' } })).status).toBe(200)
  })

  test('takes a string, a URL or a Request, with or without an init', async () => {
    const service = new FakeService()
    const url = new URL(`${service.baseUrl}/transactions`)
    const headers = { 'Api-Key': service.apiKey }

    expect((await service.fetch(url, { headers })).status).toBe(200)
    expect((await service.fetch(new Request(url, { headers }))).status).toBe(200)
    expect((await service.fetch(new Request(url), { headers })).status).toBe(200)
    expect((await service.fetch(new Request(url, { headers }), { method: 'DELETE' })).status).toBe(405)
  })

  test('rejects with the reason of a signal that is already aborted, and nothing is received', async () => {
    const service = new FakeService()
    const reason = new Error('changed my mind')
    const signal = AbortSignal.abort(reason)

    expect(await rejectionOf(get(service, '/transactions', { signal }))).toBe(reason)
    expect(await rejectionOf(service.fetch(requestFor(service, '/transactions', { signal })))).toBe(reason)
    expect(await rejectionOf(service.fetch('https://elsewhere.test/', { signal }))).toBe(reason)
    expect(service.requests).toEqual([])
  })

  test('rejects with the reason immediately when it is aborted, whatever the latency', () =>
    checkEach([0, 60_000], async latency => {
      const service = new FakeService({ latency })
      const controller = new AbortController()
      const reason = new Error('changed my mind')

      const responses = [
        get(service, '/transactions', { signal: controller.signal }),
        service.fetch(requestFor(service, '/transactions', { signal: controller.signal })),
        post(service, deactivate, 'k1', { signal: controller.signal }),
        post(service, deactivate, 'k2', { signal: controller.signal, body: '{}' }),
      ]
      controller.abort(reason)

      for (const response of responses) expect(await rejectionOf(response)).toBe(reason)
    }))

  test('rejects with an AbortError if the abort has no reason', async () => {
    const service = new FakeService({ latency: 60_000 })
    const controller = new AbortController()

    const response = get(service, '/transactions', { signal: controller.signal })
    controller.abort()

    expect(await rejectionOf(response)).toHaveProperty('name', 'AbortError')
  })

  test('takes as long as the latency', async () => {
    const service = new FakeService({ latency: 30_000 })
    expect(await durationOf(get(service, '/transactions'))).toBe(30_000)
  })
})

describe('handle', () => {
  test('responds to a Request as fetch does', async () => {
    const service = new FakeService({ transactions: sampleTransactions(3) })

    const response = await service.handle(requestFor(service, '/transactions?limit=2'))

    expect((await response.json()).data).toHaveLength(2)
    expect(service.requests).toHaveLength(1)
  })

  test('settles immediately when the signal aborts during the latency', async () => {
    const service = new FakeService({ latency: 60_000 })
    const controller = new AbortController()
    const response = service.handle(requestFor(service, '/transactions', { signal: controller.signal }))
    controller.abort()

    expect((await response).type).toBe('error')
  })
})
