import {
  FakeService,
  type FakeServiceOptions,
  type Fault,
  sampleTransactions,
} from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'

const account = { customerId: 'c1', virtualAccountId: 'v1' }
const deactivate = '/customers/c1/virtual_accounts/v1/deactivate'
const reactivate = '/customers/c1/virtual_accounts/v1/reactivate'

/** Asks for a path below the service's base URL, with the right key. */
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

/** What a promise rejects with, or a failure of the test. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it did not reject')
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

  test('is empty when no transactions were given', async () => {
    const response = await get(new FakeService(), '/transactions')

    expect(await response.json()).toEqual({ data: [], page: 1, totalItems: 0, limit: 20 })
  })

  test('begins with page 1 and pages of 20 when nothing is asked for', async () => {
    const service = new FakeService({ transactions: sampleTransactions(25) })

    const body = await (await get(service, '/transactions')).json()

    expect(body).toMatchObject({ page: 1, limit: 20, totalItems: 25 })
    expect(body.data).toHaveLength(20)
  })

  test('lowers a limit over the maximum, and echoes the lowered one', async () => {
    const service = new FakeService({ transactions: sampleTransactions(250) })

    const body = await (await get(service, '/transactions?limit=1000')).json()

    expect(body.limit).toBe(100)
    expect(body.data).toHaveLength(100)
  })

  test('pages by the limits the fake was given', async () => {
    const service = new FakeService({ transactions: sampleTransactions(50), defaultLimit: 7, maxLimit: 9 })

    expect((await (await get(service, '/transactions')).json()).limit).toBe(7)
    expect((await (await get(service, '/transactions?limit=10')).json()).limit).toBe(9)
  })

  test('never has a page longer than the maximum, not even by default', async () => {
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
  ])('refuses %s with 400', async query => {
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
    const service = new FakeService({ transactions: sampleTransactions(3), latency: 5 })

    const answer = get(service, '/transactions')
    service.transactions.length = 0

    expect((await (await answer).json()).totalItems).toBe(3)
  })

  test('can be served at another path, and is paged alike', async () => {
    const service = new FakeService()
    const customers = [{ id: 'c1' }, { id: 'c2' }, { id: 'c3' }]
    service.serveList('/customers', customers)

    const body = await (await get(service, '/customers?page=2&limit=2')).json()
    expect(body).toEqual({ data: [{ id: 'c3' }], page: 2, totalItems: 3, limit: 2 })

    customers.push({ id: 'c4' })
    expect((await (await get(service, '/customers')).json()).totalItems).toBe(4)
    expect((await get(service, '/customers?page=0')).status).toBe(400)
  })

  test('at a path with special characters is found where a URL puts them', async () => {
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

  test('is made of an array', () => {
    expect(() => new FakeService().serveList('/customers', {} as unknown[])).toThrow(
      /items: expected an array/,
    )
  })
})

describe('an account', () => {
  test('exists and is active before anything happened', () => {
    expect(new FakeService().isActive({ customerId: 'anyone', virtualAccountId: 'any' })).toBe(true)
  })

  test('is deactivated and reactivated, each answered with 200 and no body', async () => {
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

  test('that is deactivated can be deactivated again', async () => {
    const service = new FakeService()
    await post(service, deactivate, 'k1')

    expect((await post(service, deactivate, 'k2')).status).toBe(200)
    expect(service.isActive(account)).toBe(false)
  })

  test('is its own: others of the same customer, or of the same id, stay active', async () => {
    const service = new FakeService()
    await post(service, deactivate, 'k1')

    expect(service.isActive({ customerId: 'c1', virtualAccountId: 'v2' })).toBe(true)
    expect(service.isActive({ customerId: 'c2', virtualAccountId: 'v1' })).toBe(true)
  })

  test('is known by its ids as they were before they were encoded', async () => {
    const service = new FakeService()
    const odd = { customerId: 'a/b?é', virtualAccountId: '100%' }
    const ids = Object.values(odd).map(encodeURIComponent)

    await post(service, `/customers/${ids[0]}/virtual_accounts/${ids[1]}/deactivate`, 'k1')

    expect(service.isActive(odd)).toBe(false)
    expect(service.requests[0]!.path).toBe(`/customers/${ids[0]}/virtual_accounts/${ids[1]}/deactivate`)
  })

  test('is asked for with both ids', () => {
    const service = new FakeService()
    expect(() => service.isActive({ customerId: 'c1' } as never)).toThrow(TypeError)
    expect(() => service.isActive(null as never)).toThrow(TypeError)
  })
})

describe('an idempotency key', () => {
  test('sent again gets the same answer, and nothing is applied twice', async () => {
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
  ])('sent with another %s is refused with 422', async (_, path, body) => {
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

  test('that came with the wrong Api-Key is not used up', async () => {
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
  ])('with %s key is answered 401', async (_, headers) => {
    const service = new FakeService()

    for (const path of ['/transactions', '/nowhere']) {
      const response = await get(service, path, { headers })
      expect(response.status).toBe(401)
      expect(await errorBody(response)).toContain('Api-Key')
    }
    expect((await post(service, deactivate, 'k1', { headers })).status).toBe(401)
    expect(service.isActive(account)).toBe(true)
  })

  test('with the key the fake was given is answered', async () => {
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
  ])('for the unknown path %s is answered 404', async path => {
    const response = await get(new FakeService(), path)
    expect(response.status).toBe(404)
    await errorBody(response)
  })

  test('with another method than the path knows is answered 405', async () => {
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

  test('is recorded in the order of arrival, also when it is refused', async () => {
    const service = new FakeService({ latency: 2 })
    await Promise.all([1, 2, 3].map(page => get(service, `/transactions?page=${page}`, { headers: {} })))

    expect(service.requests.map(request => request.query.page)).toEqual(['1', '2', '3'])
  })
})

describe('the base URL', () => {
  test('has a default', () => {
    expect(new FakeService().baseUrl).toBe('https://virtual-accounts.test')
  })

  test('may have a path and a slash at its end', async () => {
    const service = new FakeService({
      baseUrl: 'https://bank.test/api/v1/',
      transactions: sampleTransactions(1),
    })

    expect(service.baseUrl).toBe('https://bank.test/api/v1')
    expect((await get(service, '/transactions')).status).toBe(200)
    expect(service.requests[0]!.path).toBe('/transactions')
  })

  test.each(['/transactions', '/api/v10/transactions', '/api'])(
    'decides what is the service: %s is outside, a 404 and not recorded',
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

  test('of another origin cannot be reached by fetch, and is a 404 of handle', async () => {
    const service = new FakeService()
    const elsewhere = 'https://elsewhere.test/transactions'

    const error = await rejection(service.fetch(elsewhere))
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toMatch(/elsewhere\.test.*virtual-accounts\.test/)

    const response = await service.handle(new Request(elsewhere))
    expect(response.status).toBe(404)
    expect(service.requests).toEqual([])
  })
})

describe('fetch', () => {
  test('works without its object', async () => {
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

  test('rejects with the reason of a signal that has aborted, and nothing is received', async () => {
    const service = new FakeService()
    const reason = new Error('changed my mind')
    const signal = AbortSignal.abort(reason)

    expect(await rejection(get(service, '/transactions', { signal }))).toBe(reason)
    expect(await rejection(service.fetch(requestFor(service, '/transactions', { signal })))).toBe(reason)
    expect(await rejection(service.fetch('https://elsewhere.test/', { signal }))).toBe(reason)
    expect(service.requests).toEqual([])
  })

  test.each([0, 60_000])(
    'rejects with the reason at once when aborted within a latency of %i ms',
    async latency => {
      const service = new FakeService({ latency })
      const controller = new AbortController()
      const reason = new Error('changed my mind')

      const answers = [
        get(service, '/transactions', { signal: controller.signal }),
        service.fetch(requestFor(service, '/transactions', { signal: controller.signal })),
        post(service, deactivate, 'k1', { signal: controller.signal }),
        post(service, deactivate, 'k2', { signal: controller.signal, body: '{}' }),
      ]
      controller.abort(reason)

      for (const answer of answers) expect(await rejection(answer)).toBe(reason)
    },
  )

  test('rejects with an AbortError when no reason was given', async () => {
    const service = new FakeService({ latency: 60_000 })
    const controller = new AbortController()

    const answer = get(service, '/transactions', { signal: controller.signal })
    controller.abort()

    expect(await rejection(answer)).toHaveProperty('name', 'AbortError')
  })

  test('takes as long as the latency says', async () => {
    const service = new FakeService({ latency: 30 })
    const start = performance.now()
    await get(service, '/transactions')

    expect(performance.now() - start).toBeGreaterThan(25)
  })
})

describe('a fault', () => {
  const unavailable = () => new Response('busy', { status: 503, headers: { 'Retry-After': '1' } })

  test('hits the next request, and only that', async () => {
    const service = new FakeService()
    service.fail({ with: unavailable() })

    const response = await get(service, '/transactions')
    expect(response.status).toBe(503)
    expect(response.headers.get('Retry-After')).toBe('1')
    expect(await response.text()).toBe('busy')
    expect((await get(service, '/transactions')).status).toBe(200)
  })

  test('hits as many as it is told to, each with a body of its own', async () => {
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

  test('can be made anew each time', async () => {
    const service = new FakeService()
    let made = 0
    service.fail({ times: 2, with: () => new Response(`${++made}`, { status: 500 }) })

    expect(await (await get(service, '/transactions')).text()).toBe('1')
    expect(await (await get(service, '/transactions')).text()).toBe('2')
    expect((await get(service, '/transactions')).status).toBe(200)
  })

  test('that throws rejects with what it threw', async () => {
    const service = new FakeService()
    const error = Object.assign(new TypeError('fetch failed'), { code: 'ECONNRESET' })
    const thrown = () => {
      throw error
    }
    service.fail({ times: 2, with: thrown })

    expect(await rejection(get(service, '/transactions'))).toBe(error)
    expect(await rejection(service.handle(requestFor(service, '/transactions')))).toBe(error)
  })

  test('that is a network error of the platform makes fetch reject', async () => {
    const service = new FakeService()
    service.fail({ with: () => Response.error() })

    expect(await rejection(get(service, '/transactions'))).toBeInstanceOf(TypeError)
  })

  test('hits a write instead of its answer: nothing is applied, and its key is not used up', async () => {
    const service = new FakeService()
    service.fail({ with: unavailable() })

    expect((await post(service, deactivate, 'k1')).status).toBe(503)
    expect(service.isActive(account)).toBe(true)
    expect(service.requests).toHaveLength(1)

    expect((await post(service, deactivate, 'k1')).status).toBe(200)
    expect(service.isActive(account)).toBe(false)
  })

  test('comes before the check of the key', async () => {
    const service = new FakeService()
    service.fail({ with: unavailable() })

    expect((await get(service, '/transactions', { headers: {} })).status).toBe(503)
  })

  test('waits for its method, in any case', async () => {
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
    'waits for a path that fits %s',
    async path => {
      const service = new FakeService()
      service.fail({ path, times: 2, with: unavailable() })

      expect((await post(service, '/customers/c2/virtual_accounts/v1/reactivate', 'k0')).status).toBe(200)
      expect((await post(service, deactivate, 'k1')).status).toBe(503)
      expect((await post(service, deactivate, 'k2')).status).toBe(503)
      expect(path.lastIndex).toBe(0)
    },
  )

  test('waits for its turn: they queue in the order given', async () => {
    const service = new FakeService()
    service.fail({ with: new Response(null, { status: 500 }) })
    service.fail({ method: 'POST', with: new Response(null, { status: 502 }) })
    service.fail({ times: 2, with: new Response(null, { status: 503 }) })

    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await get(service, '/transactions')).status)
    expect(statuses).toEqual([500, 503, 503, 200])
    expect((await post(service, deactivate, 'k1')).status).toBe(502)
  })

  test('ends its body when the signal aborts', async () => {
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

    expect(await rejection(rest)).toBe(reason)
  })

  test('of the network is noted as sent, and nothing is applied', async () => {
    const service = new FakeService()
    service.fail({ times: 2, with: 'network-error' })

    expect(await rejection(post(service, deactivate, 'k1'))).toBeInstanceOf(TypeError)
    expect((await service.handle(requestFor(service, '/transactions'))).type).toBe('error')
    expect(service.requests).toHaveLength(2)
    expect(service.isActive(account)).toBe(true)

    expect((await post(service, deactivate, 'k1')).status).toBe(200)
  })

  test.each(['deactivated', 'listed'])(
    'that cuts off the answer comes after the work was done: %s',
    async what => {
      const service = new FakeService({ transactions: sampleTransactions(5) })
      service.fail({ with: 'truncate' })

      const response = await (what === 'listed'
        ? get(service, '/transactions')
        : post(service, deactivate, 'k1'))

      expect(response.status).toBe(200)
      expect(await rejection(response.text())).toBeInstanceOf(TypeError)
      expect(service.requests).toHaveLength(1)
      expect(service.isActive(account)).toBe(what === 'listed')
    },
  )

  test('that cuts off the answer lets half of it through', async () => {
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
    expect(await rejection(reader.read())).toBeInstanceOf(TypeError)
  })

  test('that cut off the answer of a write: its key gets the whole answer when it comes again', async () => {
    const service = new FakeService()
    service.fail({ with: 'truncate' })
    await rejection((await post(service, deactivate, 'k1')).text())
    await post(service, reactivate, 'k2')

    const again = await post(service, deactivate, 'k1')

    expect(again.status).toBe(200)
    expect(await again.text()).toBe('')
    expect(service.isActive(account)).toBe(true)
  })

  test('that hangs never answers, and ends when the signal aborts', async () => {
    const service = new FakeService()
    service.fail({ times: 2, with: 'hang' })
    const controller = new AbortController()
    const reason = new Error('enough')
    let settled = 0

    const viaFetch = post(service, deactivate, 'k1', { signal: controller.signal })
    const viaHandle = service.handle(requestFor(service, '/transactions', { signal: controller.signal }))
    for (const answer of [viaFetch, viaHandle]) answer.catch(() => {}).finally(() => settled++)
    await new Promise(resolve => setTimeout(resolve, 20))

    expect(settled).toBe(0)
    expect(service.requests).toHaveLength(2)
    expect(service.isActive(account)).toBe(true)

    controller.abort(reason)
    expect(await rejection(viaFetch)).toBe(reason)
    expect((await viaHandle).type).toBe('error')
  })

  test('waits as long as the latency says', async () => {
    const service = new FakeService({ latency: 30 })
    service.fail({ with: unavailable() })
    const start = performance.now()

    expect((await get(service, '/transactions')).status).toBe(503)
    expect(performance.now() - start).toBeGreaterThan(25)
  })

  test.each<[string, unknown]>([
    ['object', null],
    ['object', 'hang'],
    ['times', { times: 0, with: 'hang' }],
    ['times', { times: 1.5, with: 'hang' }],
    ['times', { times: null, with: 'hang' }],
    ['method', { method: 1, with: 'hang' }],
    ['path', { path: 'transactions', with: 'hang' }],
    ['path', { path: '/transactions?page=2', with: 'hang' }],
    ['path', { path: 1, with: 'hang' }],
    ['with', {}],
    ['with', { with: 'timeout' }],
    ['with', { with: { status: 503 } }],
    ['with', { with: null }],
  ])('that does not fit is a TypeError about %s: %j', (word, fault) => {
    expect(() => new FakeService().fail(fault as Fault)).toThrow(TypeError)
    expect(() => new FakeService().fail(fault as Fault)).toThrow(word)
  })

  test('cannot be a Response that was read already', async () => {
    const response = new Response('busy', { status: 503 })
    await response.text()

    expect(() => new FakeService().fail({ with: response })).toThrow(/unread/)
  })
})

describe('handle', () => {
  test('answers a Request as fetch does', async () => {
    const service = new FakeService({ transactions: sampleTransactions(3) })

    const response = await service.handle(requestFor(service, '/transactions?limit=2'))

    expect((await response.json()).data).toHaveLength(2)
    expect(service.requests).toHaveLength(1)
  })

  test('settles at once when the signal aborts within the latency', async () => {
    const service = new FakeService({ latency: 60_000 })
    const controller = new AbortController()
    const answer = service.handle(requestFor(service, '/transactions', { signal: controller.signal }))
    controller.abort()

    expect((await answer).type).toBe('error')
  })
})

describe('reset', () => {
  test('restores the transactions that were given, in the same array', async () => {
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

describe('an option', () => {
  test('is not needed', () => {
    const service = new FakeService()
    expect(service.apiKey).toBe('test_key')
    expect(service.transactions).toEqual([])
    expect(service.requests).toEqual([])
  })

  test('of transactions is copied: changing the fake leaves the array alone', () => {
    const transactions = sampleTransactions(2)
    const service = new FakeService({ transactions })
    service.transactions[0]!.description = 'changed'
    service.transactions.pop()

    expect(transactions).toEqual(sampleTransactions(2))
  })

  test.each<[string, unknown]>([
    ['options', null],
    ['options', 'https://bank.test'],
    ['baseUrl', { baseUrl: '' }],
    ['baseUrl', { baseUrl: '/api' }],
    ['baseUrl', { baseUrl: 'ftp://bank.test' }],
    ['baseUrl', { baseUrl: 'https://me:secret@bank.test' }],
    ['baseUrl', { baseUrl: 'https://bank.test/?a=1' }],
    ['baseUrl', { baseUrl: 'https://bank.test/#a' }],
    ['baseUrl', { baseUrl: null }],
    ['apiKey', { apiKey: '' }],
    ['apiKey', { apiKey: ' key' }],
    ['apiKey', { apiKey: 'a\nb' }],
    ['apiKey', { apiKey: null }],
    ['transactions', { transactions: {} }],
    ['transactions', { transactions: null }],
    ['defaultLimit', { defaultLimit: 0 }],
    ['defaultLimit', { defaultLimit: '20' }],
    ['maxLimit', { maxLimit: 1.5 }],
    ['maxLimit', { maxLimit: Infinity }],
    ['latency', { latency: -1 }],
    ['latency', { latency: Number.NaN }],
    ['latency', { latency: 2 ** 31 }],
    ['latency', { latency: '5' }],
  ])('that does not fit is a TypeError about %s: %j', (name, options) => {
    expect(() => new FakeService(options as FakeServiceOptions)).toThrow(TypeError)
    expect(() => new FakeService(options as FakeServiceOptions)).toThrow(`${name}: expected`)
  })
})

describe('sample transactions', () => {
  test('are the same for the same seed, and others for another', () => {
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

  test('begin alike however many are asked for', () => {
    expect(sampleTransactions(10, 1)).toEqual(sampleTransactions(20, 1).slice(0, 10))
    expect(sampleTransactions(0)).toEqual([])
  })

  test('have ids of many digits, no two alike', () => {
    const ids = sampleTransactions(20_000).map(({ id }) => id)

    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[1-9]\d{22}$/)
  })

  test('have positive amounts of at most two decimals, and whole ones in yen', () => {
    for (const { amount, currency } of sampleTransactions(20_000)) {
      expect(String(amount)).toMatch(currency === 'JPY' ? /^[1-9]\d*$/ : /^\d+(\.\d{1,2})?$/)
      expect(amount).toBeGreaterThan(0)
    }
  })

  test('have several currencies and a description', () => {
    const transactions = sampleTransactions(200)

    expect(new Set(transactions.map(({ currency }) => currency))).toContain('AED')
    expect(new Set(transactions.map(({ currency }) => currency)).size).toBeGreaterThan(3)
    for (const { currency, description } of transactions) {
      expect(currency).toMatch(/^[A-Z]{3}$/)
      expect(description).not.toBe('')
    }
  })

  test.each([-1, 1.5, Number.NaN, '3', undefined])('cannot be %j many', count => {
    expect(() => sampleTransactions(count as number)).toThrow(/count: expected a whole number/)
  })

  test.each([1.5, Number.NaN, '3', null])('cannot have the seed %j', seed => {
    expect(() => sampleTransactions(1, seed as number)).toThrow(/seed: expected a whole number/)
  })
})
