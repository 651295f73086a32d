import {
  FakeService,
  type FakeServiceOptions,
  type Fault,
  sampleTransactions,
} from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

// Latencies take no real time.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }))
afterEach(() => void vi.useRealTimers())

const account = { customerId: 'c1', virtualAccountId: 'v1' }
const deactivate = '/customers/c1/virtual_accounts/v1/deactivate'
const reactivate = '/customers/c1/virtual_accounts/v1/reactivate'

/** Gets a path below the base URL of the service, with the right API key. */
function get(service: FakeService, path: string, init?: RequestInit): Promise<Response> {
  return service.fetch(service.baseUrl + path, { headers: { 'Api-Key': service.apiKey }, ...init })
}

function post(service: FakeService, path: string, idempotencyKey: string, init?: RequestInit) {
  const headers = {
    'Api-Key': service.apiKey,
    'Idempotency-Key': idempotencyKey,
    'Content-Type': 'application/json',
  }
  return service.fetch(service.baseUrl + path, { method: 'POST', headers, ...init })
}

function requestFor(service: FakeService, path: string, init?: RequestInit): Request {
  return new Request(service.baseUrl + path, { headers: { 'Api-Key': service.apiKey }, ...init })
}

/** What a promise rejects with. */
async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('expected a rejection')
}

/** How long a promise takes, in virtual milliseconds. */
async function durationOf(promise: Promise<unknown>): Promise<number> {
  const start = Date.now()
  const duration = promise.then(() => Date.now() - start)
  await vi.advanceTimersByTimeAsync(100_000)
  return duration
}

async function errorBody(response: Response) {
  expect(response.headers.get('Content-Type')).toBe('application/json')
  const body = await response.json()
  expect(body).toEqual({ error: { message: expect.any(String) } })
  return body.error.message
}

describe('a list', () => {
  test('is served in pages of the envelope', async () => {
    const transactions = sampleTransactions(25)
    const service = new FakeService({ transactions })

    const response = await get(service, '/transactions?page=2&limit=10')

    expect(response.status).toBe(200)
    expect(response.headers.get('Content-Type')).toBe('application/json')
    expect(await response.json()).toEqual({
      data: transactions.slice(10, 20),
      page: 2,
      totalItems: 25,
      limit: 10,
    })
  })

  test('is empty without transactions', async () => {
    const response = await get(new FakeService(), '/transactions')

    expect(await response.json()).toEqual({ data: [], page: 1, totalItems: 0, limit: 20 })
  })

  test('begins with page 1, in pages of 20, if the query says nothing else', async () => {
    const service = new FakeService({ transactions: sampleTransactions(25) })

    const body = await (await get(service, '/transactions')).json()

    expect(body).toMatchObject({ page: 1, limit: 20, totalItems: 25 })
    expect(body.data).toHaveLength(20)
  })

  test('lowers a limit over the maximum, and says so in the response', async () => {
    const service = new FakeService({ transactions: sampleTransactions(250) })

    const body = await (await get(service, '/transactions?limit=1000')).json()

    expect(body.limit).toBe(100)
    expect(body.data).toHaveLength(100)
  })

  test('pages by the limits of its options', async () => {
    const service = new FakeService({ transactions: sampleTransactions(50), defaultLimit: 7, maxLimit: 9 })

    expect((await (await get(service, '/transactions')).json()).limit).toBe(7)
    expect((await (await get(service, '/transactions?limit=10')).json()).limit).toBe(9)
  })

  test('never has a page over the maximum, not even by default', async () => {
    const service = new FakeService({ maxLimit: 5 })

    expect((await (await get(service, '/transactions')).json()).limit).toBe(5)
  })

  test('has a shorter last page', async () => {
    const service = new FakeService({ transactions: sampleTransactions(25) })

    expect((await (await get(service, '/transactions?page=3&limit=10')).json()).data).toHaveLength(5)
  })

  test('is empty beyond its end, with the true total', async () => {
    const service = new FakeService({ transactions: sampleTransactions(25) })

    const response = await get(service, '/transactions?page=4&limit=10')

    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ data: [], page: 4, totalItems: 25, limit: 10 })
  })

  test.each([
    'page=0',
    'page=-1',
    'page=1.5',
    'page=1.0',
    'page=1e2',
    'page=',
    'page=one',
    'page=+1',
    'page=1&page=2',
    'page=9007199254740993',
    'limit=0',
    'limit=-5',
    'limit=2.5',
    'limit=',
    'limit=all',
  ])('rejects %s with 400', async query => {
    const response = await get(new FakeService(), `/transactions?${query}`)

    expect(response.status).toBe(400)
    expect(await errorBody(response)).toContain(query.split('=')[0])
  })

  test('drifts when the transactions change', async () => {
    const service = new FakeService({ transactions: sampleTransactions(3) })
    const [inserted] = sampleTransactions(1, 2)

    service.transactions.unshift(inserted!)
    const body = await (await get(service, '/transactions')).json()

    expect(body.totalItems).toBe(4)
    expect(body.data[0]).toEqual(inserted)
  })

  test('shows the transactions as they were when the request arrived', async () => {
    const service = new FakeService({ transactions: sampleTransactions(3), latency: 5_000 })

    const response = get(service, '/transactions')
    service.transactions.length = 0

    await vi.advanceTimersByTimeAsync(5_000)
    expect((await (await response).json()).totalItems).toBe(3)
  })

  test('can be served at another path, paged in the same way', async () => {
    const service = new FakeService()
    const customers = [{ id: 'c1' }, { id: 'c2' }, { id: 'c3' }]
    service.serveList('/customers', customers)

    const body = await (await get(service, '/customers?page=2&limit=2')).json()
    expect(body).toEqual({ data: [{ id: 'c3' }], page: 2, totalItems: 3, limit: 2 })

    customers.push({ id: 'c4' })
    expect((await (await get(service, '/customers')).json()).totalItems).toBe(4)
    expect((await get(service, '/customers?page=0')).status).toBe(400)
  })

  test('is found at a path with special characters, encoded or not', async () => {
    const service = new FakeService()
    service.serveList('/customers/café/notes', ['a'])

    expect((await get(service, '/customers/café/notes')).status).toBe(200)
    expect((await get(service, '/customers/caf%C3%A9/notes')).status).toBe(200)
  })

  test.each(['customers', '', '/customers?x=1', '/customers#x', '//customers', '/transactions', null, 7])(
    'cannot be served at %j',
    path => {
      expect(() => new FakeService().serveList(path as string, [])).toThrow(TypeError)
    },
  )

  test('at a wrong path is rejected with what was got', () => {
    const { serveList } = FakeService.prototype
    const serve = (path: unknown) => () => serveList.call(new FakeService(), path as string, [])
    const expected =
      'path: expected the path after baseUrl, which starts with one "/" and has no query and no fragment'
    expect(serve('refunds')).toThrow(new TypeError(`${expected}, got "refunds"`))
    expect(serve(7)).toThrow(new TypeError(`${expected}, got 7`))
    expect(serve('/transactions')).toThrow(
      new TypeError('path: /transactions is already a list: change `service.transactions` instead'),
    )
  })

  test('needs an array of items', () => {
    expect(() => new FakeService().serveList('/customers', {} as unknown[])).toThrow(
      new TypeError('items: expected an array, got an object'),
    )
  })
})

describe('an account', () => {
  test('exists and is active at first', () => {
    expect(new FakeService().isActive({ customerId: 'anyone', virtualAccountId: 'any' })).toBe(true)
  })

  test('is deactivated and reactivated, each with 200 and no body', async () => {
    const service = new FakeService()

    const first = await post(service, deactivate, 'k1')
    expect(first.status).toBe(200)
    expect(await first.text()).toBe('')
    expect(service.isActive(account)).toBe(false)

    const second = await post(service, reactivate, 'k2')
    expect(second.status).toBe(200)
    expect(await second.text()).toBe('')
    expect(service.isActive(account)).toBe(true)
  })

  test('can be deactivated twice', async () => {
    const service = new FakeService()
    await post(service, deactivate, 'k1')

    expect((await post(service, deactivate, 'k2')).status).toBe(200)
    expect(service.isActive(account)).toBe(false)
  })

  test('is independent of others with the same customer or the same id', async () => {
    const service = new FakeService()
    await post(service, deactivate, 'k1')

    expect(service.isActive({ customerId: 'c1', virtualAccountId: 'v2' })).toBe(true)
    expect(service.isActive({ customerId: 'c2', virtualAccountId: 'v1' })).toBe(true)
  })

  test('is identified by its ids before they were encoded', async () => {
    const service = new FakeService()
    const odd = { customerId: 'a/b?é', virtualAccountId: '100%' }
    const ids = Object.values(odd).map(encodeURIComponent)

    await post(service, `/customers/${ids[0]}/virtual_accounts/${ids[1]}/deactivate`, 'k1')

    expect(service.isActive(odd)).toBe(false)
    expect(service.requests[0]!.path).toBe(`/customers/${ids[0]}/virtual_accounts/${ids[1]}/deactivate`)
  })

  test('is identified by both ids', () => {
    const service = new FakeService()
    const expected = 'account: expected { customerId, virtualAccountId }, both strings'
    expect(() => service.isActive({ customerId: 'c1' } as never)).toThrow(
      new TypeError(`${expected}, got { customerId: a string, virtualAccountId: undefined }`),
    )
    expect(() => service.isActive(null as never)).toThrow(new TypeError(`${expected}, got null`))
  })
})

describe('an idempotency key', () => {
  test('gets the same response when it is sent again, and nothing is applied twice', async () => {
    const service = new FakeService()
    await post(service, deactivate, 'k1')
    await post(service, reactivate, 'k2')

    const again = await post(service, deactivate, 'k1')

    expect(again.status).toBe(200)
    expect(service.isActive(account)).toBe(true)
  })

  test.each([
    ['path', reactivate, undefined],
    ['body', deactivate, '{"reason":"lost"}'],
  ])('is rejected with 422 for another %s', async (_, path, body) => {
    const service = new FakeService()
    await post(service, deactivate, 'k1')

    const response = await post(service, path, 'k1', body === undefined ? {} : { body })

    expect(response.status).toBe(422)
    await errorBody(response)
    expect(service.isActive(account)).toBe(false)
  })

  test('is required on a write', async () => {
    const service = new FakeService()

    const response = await get(service, deactivate, { method: 'POST' })

    expect(response.status).toBe(400)
    expect(await errorBody(response)).toContain('Idempotency-Key')
    expect(service.isActive(account)).toBe(true)
  })

  test('is not used up by a request with a wrong API key', async () => {
    const service = new FakeService()
    const headers = { 'Api-Key': 'wrong', 'Idempotency-Key': 'k1' }
    await post(service, reactivate, 'k1', { headers })

    expect((await post(service, deactivate, 'k1')).status).toBe(200)
  })
})

describe('a request', () => {
  test.each([
    ['no', {}],
    ['a wrong', { 'Api-Key': 'wrong' }],
  ])('with %s API key gets 401', async (_, headers) => {
    const service = new FakeService()

    for (const path of ['/transactions', '/nowhere']) {
      const response = await get(service, path, { headers })
      expect(response.status).toBe(401)
      expect(await errorBody(response)).toContain('Api-Key')
    }
    expect((await post(service, deactivate, 'k1', { headers })).status).toBe(401)
    expect(service.isActive(account)).toBe(true)
  })

  test('with the API key of the options is accepted', async () => {
    const service = new FakeService({ apiKey: 'another key' })

    expect(service.apiKey).toBe('another key')
    expect((await get(service, '/transactions')).status).toBe(200)
  })

  test.each([
    '/',
    '/nowhere',
    '/transactions/',
    '/customers/c1',
    '/customers/%E0%A4%A/virtual_accounts/v1/deactivate',
  ])('for the unknown path %s gets 404', async path => {
    const response = await get(new FakeService(), path)
    expect(response.status).toBe(404)
    await errorBody(response)
  })

  test('with a method that its path does not allow gets 405', async () => {
    const service = new FakeService()

    const write = await post(service, '/transactions', 'k1')
    expect(write.status).toBe(405)
    expect(write.headers.get('Allow')).toBe('GET')
    await errorBody(write)

    const read = await get(service, deactivate)
    expect(read.status).toBe(405)
    expect(read.headers.get('Allow')).toBe('POST')
    expect(service.isActive(account)).toBe(true)
  })

  test('is recorded with method, path, query, headers and body', async () => {
    const service = new FakeService()
    await get(service, '/transactions?page=2&limit=10&status=a&status=b')
    await post(service, deactivate, 'k1', { body: '{"reason":"lost"}' })
    await post(service, reactivate, 'k2', { body: 'not JSON' })

    expect(service.requests).toHaveLength(3)
    const [list, first, second] = service.requests
    expect(list).toMatchObject({ method: 'GET', path: '/transactions', body: undefined })
    expect(list!.query).toEqual({ page: '2', limit: '10', status: 'a,b' })
    expect(list!.headers.get('api-key')).toBe('test_key')
    expect(first).toMatchObject({ method: 'POST', path: deactivate, query: {}, body: { reason: 'lost' } })
    expect(first!.headers.get('idempotency-key')).toBe('k1')
    expect(second!.body).toBe('not JSON')
  })

  test('is recorded in the order of arrival, also if it is rejected', async () => {
    const service = new FakeService({ latency: 2_000 })
    const responses = [1, 2, 3].map(page => get(service, `/transactions?page=${page}`, { headers: {} }))
    await vi.advanceTimersByTimeAsync(2_000)
    await Promise.all(responses)

    expect(service.requests.map(request => request.query.page)).toEqual(['1', '2', '3'])
  })
})

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

  test.each(['/transactions', '/api/v10/transactions', '/api'])(
    'bounds the service: %s is outside, gets 404 and is not recorded',
    async path => {
      const service = new FakeService({ baseUrl: 'https://bank.test/api/v1' })
      service.fail({ with: 'network-error' })
      const headers = { 'Api-Key': service.apiKey }

      const response = await service.fetch(`https://bank.test${path}`, { headers })

      expect(response.status).toBe(404)
      expect(await errorBody(response)).toContain('https://bank.test/api/v1')
      expect(service.requests).toEqual([])
    },
  )

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

  test.each([0, 60_000])(
    'rejects with the reason immediately when it is aborted during a latency of %i ms',
    async latency => {
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
    },
  )

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

describe('a fault', () => {
  const faultShape = "fault: expected an object such as { with: 'network-error' }"
  const pathShape =
    'path: expected the path after baseUrl, which starts with one "/" and has no query and no fragment'
  const outcomeShape =
    "with: expected a Response, a function that returns one, 'network-error', 'hang' or 'truncate'"

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

  test.each([/\/deactivate$/, /\/deactivate$/g, /\/customers\/c1/y])(
    'waits for a path that matches %s',
    async path => {
      const service = new FakeService()
      service.fail({ path, times: 2, with: unavailable() })

      expect((await post(service, '/customers/c2/virtual_accounts/v1/reactivate', 'k0')).status).toBe(200)
      expect((await post(service, deactivate, 'k1')).status).toBe(503)
      expect((await post(service, deactivate, 'k2')).status).toBe(503)
      expect(path.lastIndex).toBe(0)
    },
  )

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

  test('has a body that fails when the signal aborts', async () => {
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

  test.each(['deactivated', 'listed'])('truncate: the request is applied first (%s)', async what => {
    const service = new FakeService({ transactions: sampleTransactions(5) })
    service.fail({ with: 'truncate' })

    const response = await (what === 'listed'
      ? get(service, '/transactions')
      : post(service, deactivate, 'k1'))

    expect(response.status).toBe(200)
    expect(await rejectionOf(response.text())).toBeInstanceOf(TypeError)
    expect(service.requests).toHaveLength(1)
    expect(service.isActive(account)).toBe(what === 'listed')
  })

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

  test.each<[string, unknown]>([
    [`${faultShape}, got null`, null],
    [`${faultShape}, got a string`, 'hang'],
    ['times: expected a whole number of at least 1, or Infinity, got 0', { times: 0, with: 'hang' }],
    ['times: expected a whole number of at least 1, or Infinity, got 1.5', { times: 1.5, with: 'hang' }],
    ['times: expected a whole number of at least 1, or Infinity, got null', { times: null, with: 'hang' }],
    ['method: expected a string, got 1', { method: 1, with: 'hang' }],
    [`${pathShape}, got "transactions"`, { path: 'transactions', with: 'hang' }],
    [`${pathShape}, got "/transactions?page=2"`, { path: '/transactions?page=2', with: 'hang' }],
    [`${pathShape}, got 1`, { path: 1, with: 'hang' }],
    [`${outcomeShape}, got undefined`, {}],
    [`${outcomeShape}, got 'timeout'`, { with: 'timeout' }],
    [`${outcomeShape}, got an object`, { with: { status: 503 } }],
    [`${outcomeShape}, got null`, { with: null }],
    ['time: unknown option. Options of a fault are: method, path, times, with', { time: 2, with: 'hang' }],
  ])('is rejected with the message "%s"', (message, fault) => {
    expect(() => new FakeService().fail(fault as Fault)).toThrow(new TypeError(message))
  })

  test('may have an unknown option that is undefined, which is ignored', () => {
    const fault = { with: 'hang', time: undefined } as Fault
    expect(() => new FakeService().fail(fault)).not.toThrow()
  })

  test('cannot be a function that returns no Response', async () => {
    const service = new FakeService()
    service.fail({ with: () => ({ status: 503 }) as Response })
    expect(await rejectionOf(get(service, '/transactions'))).toEqual(
      new TypeError('with: expected the function to return a Response, got an object'),
    )
  })

  test('cannot be a Response whose body was read', async () => {
    const response = new Response('busy', { status: 503 })
    await response.text()

    expect(() => new FakeService().fail({ with: response })).toThrow(
      new TypeError(
        'with: expected a Response with an unread body, got one that was read (pass a function that creates a new one)',
      ),
    )
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

describe('reset', () => {
  test('restores the original transactions, in the same array', async () => {
    const transactions = sampleTransactions(3)
    const given = structuredClone(transactions)
    const service = new FakeService({ transactions })
    const live = service.transactions

    live[0]!.amount = -1
    live.pop()
    transactions.length = 0
    service.reset()

    expect(service.transactions).toBe(live)
    expect(live).toEqual(given)
    expect((await (await get(service, '/transactions')).json()).data).toEqual(given)

    live[0]!.amount = -1
    service.reset()
    expect(live).toEqual(given)
  })

  test('forgets requests, faults, deactivations, keys and other lists', async () => {
    const service = new FakeService()
    const { requests } = service
    service.serveList('/customers', [])
    await post(service, deactivate, 'k1')
    service.fail({ with: 'hang' })

    service.reset()

    expect(requests).toEqual([])
    expect(service.requests).toBe(requests)
    expect(service.isActive(account)).toBe(true)
    expect((await get(service, '/transactions')).status).toBe(200)
    expect((await get(service, '/customers')).status).toBe(404)
    expect((await post(service, reactivate, 'k1')).status).toBe(200)
  })
})

describe('the options', () => {
  const baseUrl = 'baseUrl: expected an absolute http or https URL without user info, query or fragment'
  const apiKey = 'apiKey: expected a non-empty string of printable ASCII without white space around it'

  test('are optional', () => {
    const service = new FakeService()
    expect(service.apiKey).toBe('test_key')
    expect(service.transactions).toEqual([])
    expect(service.requests).toEqual([])
  })

  test('are copied: changing `transactions` of the service leaves the given array unchanged', () => {
    const transactions = sampleTransactions(2)
    const service = new FakeService({ transactions })
    service.transactions[0]!.description = 'changed'
    service.transactions.pop()

    expect(transactions).toEqual(sampleTransactions(2))
  })

  test.each<[string, unknown]>([
    ['options: expected a plain object, got null', null],
    ['options: expected a plain object, got a string', 'https://bank.test'],
    [`${baseUrl}, got an empty string`, { baseUrl: '' }],
    [`${baseUrl}, got a string that breaks this rule`, { baseUrl: '/api' }],
    [`${baseUrl}, got a string that breaks this rule`, { baseUrl: 'ftp://bank.test' }],
    [`${baseUrl}, got a string that breaks this rule`, { baseUrl: 'https://me:secret@bank.test' }],
    [`${baseUrl}, got a string that breaks this rule`, { baseUrl: 'https://bank.test/?a=1' }],
    [`${baseUrl}, got a string that breaks this rule`, { baseUrl: 'https://bank.test/#a' }],
    [`${baseUrl}, got null`, { baseUrl: null }],
    [`${apiKey}, got an empty string`, { apiKey: '' }],
    [`${apiKey}, got a string that breaks this rule`, { apiKey: ' key' }],
    [`${apiKey}, got a string that breaks this rule`, { apiKey: 'a\nb' }],
    [`${apiKey}, got null`, { apiKey: null }],
    ['transactions: expected an array, got an object', { transactions: {} }],
    ['transactions: expected an array, got null', { transactions: null }],
    ['defaultLimit: expected a whole number of at least 1, got 0', { defaultLimit: 0 }],
    ['defaultLimit: expected a whole number of at least 1, got a string', { defaultLimit: '20' }],
    ['maxLimit: expected a whole number of at least 1, got 1.5', { maxLimit: 1.5 }],
    ['maxLimit: expected a whole number of at least 1, got Infinity', { maxLimit: Infinity }],
    ['latency: expected milliseconds from 0 to 2147483647, got -1', { latency: -1 }],
    ['latency: expected milliseconds from 0 to 2147483647, got NaN', { latency: Number.NaN }],
    ['latency: expected milliseconds from 0 to 2147483647, got 2147483648', { latency: 2 ** 31 }],
    ['latency: expected milliseconds from 0 to 2147483647, got a string', { latency: '5' }],
    [
      'delay: unknown option. FakeService options are: apiKey, baseUrl, defaultLimit, latency, maxLimit, transactions',
      { delay: 5 },
    ],
  ])('are rejected with the message "%s": %j', (message, options) => {
    expect(() => new FakeService(options as FakeServiceOptions)).toThrow(new TypeError(message))
  })

  test('may have an unknown name whose value is undefined, which is ignored', () => {
    expect(() => new FakeService({ delay: undefined } as FakeServiceOptions)).not.toThrow()
  })
})

describe('sample transactions', () => {
  test('are the same for the same seed, and different for another', () => {
    expect(sampleTransactions(50, 7)).toEqual(sampleTransactions(50, 7))
    expect(sampleTransactions(50)).toEqual(sampleTransactions(50, 1))
    expect(sampleTransactions(50, 7)).not.toEqual(sampleTransactions(50, 8))
  })

  test('are the same in every runtime', () => {
    expect(sampleTransactions(2)).toEqual([
      {
        id: '10246215274470382904834',
        amount: 4841890,
        currency: 'JPY',
        description: 'Refund for order 65155',
      },
      { id: '48321729948229390559155', amount: 97.76, currency: 'CHF', description: 'Order 46337' },
    ])
  })

  test('begin with the same ones, however many are generated', () => {
    expect(sampleTransactions(10, 1)).toEqual(sampleTransactions(20, 1).slice(0, 10))
    expect(sampleTransactions(0)).toEqual([])
  })

  test('have unique ids of 23 digits', () => {
    const ids = sampleTransactions(20_000).map(({ id }) => id)

    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[1-9]\d{22}$/)
  })

  test('have positive amounts with at most two decimals, and none in yen', () => {
    for (const { amount, currency } of sampleTransactions(20_000)) {
      expect(String(amount)).toMatch(currency === 'JPY' ? /^[1-9]\d*$/ : /^\d+(\.\d{1,2})?$/)
      expect(amount).toBeGreaterThan(0)
    }
  })

  test('have several currencies, and a description each', () => {
    const transactions = sampleTransactions(200)

    expect(new Set(transactions.map(({ currency }) => currency))).toContain('AED')
    expect(new Set(transactions.map(({ currency }) => currency)).size).toBeGreaterThan(3)
    for (const { currency, description } of transactions) {
      expect(currency).toMatch(/^[A-Z]{3}$/)
      expect(description).not.toBe('')
    }
  })

  test.each([
    [-1, '-1'],
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    ['3', 'a string'],
    [undefined, 'undefined'],
  ])('cannot have the count %j', (count, got) => {
    expect(() => sampleTransactions(count as number)).toThrow(
      new TypeError(`count: expected a whole number of at least 0, got ${got}`),
    )
  })

  test.each([
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    ['3', 'a string'],
    [null, 'null'],
  ])('cannot have the seed %j', (seed, got) => {
    expect(() => sampleTransactions(1, seed as number)).toThrow(
      new TypeError(`seed: expected a whole number, got ${got}`),
    )
  })
})
