import { FakeService, type Fault, sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { account, checkEach, rejectionOf } from '../support.ts'
import { deactivate, durationOf, get, post, reactivate, requestFor } from './requests.ts'

// Latencies take no real time.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }))
afterEach(() => void vi.useRealTimers())

describe('a fault', () => {
  const unavailable = () => new Response('busy', { status: 503, headers: { 'Retry-After': '1' } })

  test('affects the next request only', async () => {
    const service = new FakeService()
    service.fail({ with: unavailable() })

    const response = await get(service, '/transactions')
    expect(response.status).toBe(503)
    expect(response.headers.get('Retry-After')).toBe('1')
    expect(await response.text()).toBe('busy')
    expect((await get(service, '/transactions')).status).toBe(200)
  })

  test('affects as many requests as `times` says, each with its own body', async () => {
    const service = new FakeService()
    service.fail({ times: 2, with: unavailable() })

    for (let i = 0; i < 2; i++) expect(await (await get(service, '/transactions')).text()).toBe('busy')
    expect((await get(service, '/transactions')).status).toBe(200)
  })

  test('can last until the service is reset', async () => {
    const service = new FakeService()
    service.fail({ times: Infinity, with: unavailable() })

    for (let i = 0; i < 5; i++) expect((await get(service, '/transactions')).status).toBe(503)
    service.reset()
    expect((await get(service, '/transactions')).status).toBe(200)
  })

  test('can be a function that creates a response for each request', async () => {
    const service = new FakeService()
    let made = 0
    service.fail({ times: 2, with: () => new Response(`${++made}`, { status: 500 }) })

    expect(await (await get(service, '/transactions')).text()).toBe('1')
    expect(await (await get(service, '/transactions')).text()).toBe('2')
    expect((await get(service, '/transactions')).status).toBe(200)
  })

  test('can be a function that returns the same response again', async () => {
    const service = new FakeService()
    const response = new Response('busy', { status: 503 })
    service.fail({ times: 2, with: () => response })

    expect(await (await get(service, '/transactions')).text()).toBe('busy')
    expect(await (await get(service, '/transactions')).text()).toBe('busy')
  })

  test('can be a function that throws: fetch and handle reject with its error', async () => {
    const service = new FakeService()
    const error = Object.assign(new TypeError('fetch failed'), { code: 'ECONNRESET' })
    const thrown = () => {
      throw error
    }
    service.fail({ times: 2, with: thrown })

    expect(await rejectionOf(get(service, '/transactions'))).toBe(error)
    expect(await rejectionOf(service.handle(requestFor(service, '/transactions')))).toBe(error)
  })

  test('can be Response.error(): fetch rejects', async () => {
    const service = new FakeService()
    service.fail({ with: () => Response.error() })

    expect(await rejectionOf(get(service, '/transactions'))).toBeInstanceOf(TypeError)
  })

  test('replaces a write: nothing is applied, and its key is not used up', async () => {
    const service = new FakeService()
    service.fail({ with: unavailable() })

    expect((await post(service, deactivate, 'k1')).status).toBe(503)
    expect(service.isActive(account)).toBe(true)
    expect(service.requests).toHaveLength(1)

    expect((await post(service, deactivate, 'k1')).status).toBe(200)
    expect(service.isActive(account)).toBe(false)
  })

  test('takes precedence over the check of the API key', async () => {
    const service = new FakeService()
    service.fail({ with: unavailable() })

    expect((await get(service, '/transactions', { headers: {} })).status).toBe(503)
  })

  test('waits for its method, in upper or lower case', async () => {
    const service = new FakeService()
    service.fail({ method: 'post', with: unavailable() })

    expect((await get(service, '/transactions')).status).toBe(200)
    expect((await post(service, deactivate, 'k1')).status).toBe(503)
  })

  test('waits for its path: the whole of it, without the query', async () => {
    const service = new FakeService()
    service.serveList('/transactions/archived', [])
    service.fail({ path: '/transactions', with: unavailable() })

    expect((await get(service, '/transactions/archived')).status).toBe(200)
    expect((await get(service, '/transactions?page=2')).status).toBe(503)
  })

  test('waits for a path that matches, whatever the flags of the pattern', () =>
    checkEach([/\/deactivate$/, /\/deactivate$/g, /\/customers\/c1/y], async path => {
      const service = new FakeService()
      service.fail({ path, times: 2, with: unavailable() })

      expect((await post(service, '/customers/c2/virtual_accounts/v1/reactivate', 'k0')).status).toBe(200)
      expect((await post(service, deactivate, 'k1')).status).toBe(503)
      expect((await post(service, deactivate, 'k2')).status).toBe(503)
      expect(path.lastIndex).toBe(0)
    }))

  test('waits for its turn: faults queue in the order in which they were added', async () => {
    const service = new FakeService()
    service.fail({ with: new Response(null, { status: 500 }) })
    service.fail({ method: 'POST', with: new Response(null, { status: 502 }) })
    service.fail({ times: 2, with: new Response(null, { status: 503 }) })

    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await get(service, '/transactions')).status)
    expect(statuses).toEqual([500, 503, 503, 200])
    expect((await post(service, deactivate, 'k1')).status).toBe(502)
  })

  test('has a body that fails when the signal aborts, also in sandboxes without TransformStream', async () => {
    vi.stubGlobal('TransformStream', undefined)
    onTestFinished(() => void vi.unstubAllGlobals())
    const service = new FakeService()
    const endless = new ReadableStream({ start: c => c.enqueue(new TextEncoder().encode('{"data":[')) })
    service.fail({ with: new Response(endless, { status: 200, headers: { 'X-Slow': 'yes' } }) })
    const controller = new AbortController()
    const reason = new Error('enough')

    const response = await get(service, '/transactions', { signal: controller.signal })
    expect(response.status).toBe(200)
    expect(response.headers.get('X-Slow')).toBe('yes')
    const reader = response.body!.getReader()
    await reader.read()
    const rest = reader.read()
    controller.abort(reason)

    expect(await rejectionOf(rest)).toBe(reason)
  })

  test('network-error: the request is recorded, and nothing is applied', async () => {
    const service = new FakeService()
    service.fail({ times: 2, with: 'network-error' })

    expect(await rejectionOf(post(service, deactivate, 'k1'))).toBeInstanceOf(TypeError)
    expect((await service.handle(requestFor(service, '/transactions'))).type).toBe('error')
    expect(service.requests).toHaveLength(2)
    expect(service.isActive(account)).toBe(true)

    expect((await post(service, deactivate, 'k1')).status).toBe(200)
  })

  test('truncate: the request is applied first', () =>
    checkEach(['deactivated', 'listed'], async what => {
      const service = new FakeService({ transactions: sampleTransactions(5) })
      service.fail({ with: 'truncate' })

      const response = await (what === 'listed'
        ? get(service, '/transactions')
        : post(service, deactivate, 'k1'))

      expect(response.status).toBe(200)
      expect(await rejectionOf(response.text())).toBeInstanceOf(TypeError)
      expect(service.requests).toHaveLength(1)
      expect(service.isActive(account)).toBe(what === 'listed')
    }))

  test('truncate: half of the response gets through', async () => {
    const service = new FakeService({ transactions: sampleTransactions(5) })
    const whole = await (await get(service, '/transactions')).text()
    service.fail({ with: 'truncate' })

    const response = await get(service, '/transactions')
    expect(response.headers.get('Content-Type')).toBe('application/json')
    const reader = response.body!.getReader()
    const value = new TextDecoder().decode((await reader.read()).value)

    expect(value.length).toBeGreaterThan(whole.length / 3)
    expect(whole.startsWith(value)).toBe(true)
    expect(value).not.toBe(whole)
    expect(await rejectionOf(reader.read())).toBeInstanceOf(TypeError)
  })

  test('truncate: a retry with the same key gets the whole response', async () => {
    const service = new FakeService()
    service.fail({ with: 'truncate' })
    await rejectionOf((await post(service, deactivate, 'k1')).text())
    await post(service, reactivate, 'k2')

    const again = await post(service, deactivate, 'k1')

    expect(again.status).toBe(200)
    expect(await again.text()).toBe('')
    expect(service.isActive(account)).toBe(true)
  })

  test('hang: there is no response until the signal aborts', async () => {
    const service = new FakeService()
    service.fail({ times: 2, with: 'hang' })
    const controller = new AbortController()
    const reason = new Error('enough')
    let settled = 0

    const viaFetch = post(service, deactivate, 'k1', { signal: controller.signal })
    const viaHandle = service.handle(requestFor(service, '/transactions', { signal: controller.signal }))
    for (const response of [viaFetch, viaHandle]) response.catch(() => {}).finally(() => settled++)
    await vi.advanceTimersByTimeAsync(1_000_000)

    expect(settled).toBe(0)
    expect(service.requests).toHaveLength(2)
    expect(service.isActive(account)).toBe(true)

    controller.abort(reason)
    expect(await rejectionOf(viaFetch)).toBe(reason)
    expect((await viaHandle).type).toBe('error')
  })

  test('takes as long as the latency', async () => {
    const service = new FakeService({ latency: 30_000 })
    service.fail({ with: unavailable() })
    expect(await durationOf(get(service, '/transactions'))).toBe(30_000)
    expect(service.requests).toHaveLength(1)
  })

  test('that makes no sense is refused, by the name of what is wrong', () =>
    checkEach<[name: string, fault: unknown]>(
      [
        ['times', { times: 0, with: 'hang' }],
        ['method', { method: 1, with: 'hang' }],
        ['method', { method: 'deactivate', with: 'hang' }],
        ['pathh: unknown option. Did you mean `path', { pathh: '/transactions', with: 'hang' }],
        ['path', { path: '/transactions?page=2', with: 'hang' }],
        ['path', { path: 1, with: 'hang' }],
        ['with', {}],
        ['with', { with: { status: 503 } }],
      ],
      ([name, fault]) => {
        const fail = () => new FakeService().fail(fault as Fault)
        expect(fail).toThrow(TypeError)
        expect(fail).toThrow(new RegExp(`^${name}\\b`))
      },
    ))

  test('has all its options in one argument', () => {
    const service = new FakeService()
    expect(() => Reflect.apply(service.fail, service, [{ with: 'hang' }, { times: 2 }])).toThrow(
      'too many arguments: expected fail({ times, method, path, with',
    )
  })

  test('cannot be a function that returns no Response', async () => {
    const service = new FakeService()
    service.fail({ with: () => ({ status: 503 }) as Response })
    expect(String(await rejectionOf(get(service, '/transactions')))).toMatch(/^TypeError: with: /)
  })

  test('cannot be a Response whose body was read', async () => {
    const response = new Response('busy', { status: 503 })
    await response.text()

    expect(() => new FakeService().fail({ with: response })).toThrow(/^with: .*\(pass a function/)
  })
})

test('faults that no request has met are listed, with how many requests each would still fail', async () => {
  const service = new FakeService()
  const never = { path: /typo$/, with: 'hang' } as const
  service.fail({ path: '/transactions', times: 3, with: 'network-error' })
  service.fail(never)
  service.fail({ method: 'PUT', times: Number.POSITIVE_INFINITY, with: 'truncate' })
  expect(service.unusedFaults.map(({ times }) => times)).toEqual([3, 1, Number.POSITIVE_INFINITY])
  await get(service, '/transactions').catch(() => {})
  await service.handle(new Request(`${service.baseUrl}/x`, { method: 'PUT' }))
  expect(service.unusedFaults).toEqual([
    { path: '/transactions', times: 2, with: 'network-error' },
    { ...never, times: 1 },
  ])
  service.reset()
  expect(service.unusedFaults).toEqual([])
})

describe('a rate limit', () => {
  test('refuses extra requests, with the time until the next is accepted', async () => {
    const service = new FakeService()
    service.limit({ perSecond: 2 })
    expect((await post(service, deactivate, 'k1')).status).toBe(200)
    expect((await get(service, '/transactions')).status).toBe(200)
    const refused = await post(service, reactivate, 'k2')
    expect(refused.status).toBe(429)
    expect(refused.headers.get('Retry-After')).toBe('1')
    expect(await refused.json()).toEqual({ error: { message: 'Too many requests.' } })
    expect(service.isActive(account)).toBe(false)
    vi.advanceTimersByTime(500)
    expect((await post(service, reactivate, 'k2')).status).toBe(200)
    expect((await get(service, '/transactions')).status).toBe(429)
  })

  test('may be one request in several seconds', async () => {
    const service = new FakeService()
    service.limit({ perSecond: 0.1 })
    expect((await get(service, '/transactions')).status).toBe(200)
    expect((await get(service, '/transactions')).headers.get('Retry-After')).toBe('10')
    vi.advanceTimersByTime(10_000)
    expect((await get(service, '/transactions')).status).toBe(200)
  })

  test('does not count faults, and ends with reset()', async () => {
    const service = new FakeService()
    service.limit({ perSecond: 1 })
    service.fail({ times: 3, with: new Response(null, { status: 503 }) })
    for (const status of [503, 503, 503, 200, 429]) {
      expect((await get(service, '/transactions')).status).toBe(status)
    }
    service.reset()
    for (let i = 0; i < 3; i++) expect((await get(service, '/transactions')).status).toBe(200)
  })

  test('needs a number above 0', async () => {
    const service = new FakeService()
    await checkEach([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5', undefined], perSecond => {
      expect(() => service.limit({ perSecond: perSecond as number })).toThrow(/^perSecond: expected a number/)
    })
    expect(() => service.limit({ perMinute: 3 } as never)).toThrow(TypeError)
    expect(() => service.limit(5 as never)).toThrow(
      'limit: expected an object such as { perSecond: 50 }, got 5',
    )
  })
})
