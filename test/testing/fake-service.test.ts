import { Client } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, checkEach } from '../support.ts'
import { deactivate, errorBody, get, post, reactivate } from './requests.ts'

// Latencies take no real time.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }))
afterEach(() => void vi.useRealTimers())

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

  test('is empty beyond its end, with the true total', async () => {
    const service = new FakeService({ transactions: sampleTransactions(25) })

    const response = await get(service, '/transactions?page=4&limit=10')

    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ data: [], page: 4, totalItems: 25, limit: 10 })
  })

  test('rejects a page or a limit that is no whole number of at least 1 with 400', () =>
    checkEach(
      [
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
      ],
      async query => {
        const response = await get(new FakeService(), `/transactions?${query}`)

        expect(response.status).toBe(400)
        expect(await errorBody(response)).toContain(query.split('=')[0])
      },
    ))

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

  test('cannot be served at a wrong path, and needs an array of items', async () => {
    const service = new FakeService()
    await checkEach(
      ['customers', '', '/customers?x=1', '/customers#x', '//customers', '/transactions', null, 7],
      path => {
        expect(() => service.serveList(path as string, [])).toThrow(TypeError)
        expect(() => service.serveList(path as string, [])).toThrow(/^path: /)
      },
    )
    expect(() => service.serveList('/customers', {} as unknown[])).toThrow(/^items: /)
  })
})

describe('an account', () => {
  test('exists and is active at first', () => {
    expect(new FakeService().isActive({ customerId: 'anyone', virtualAccountId: 'any' })).toBe(true)
  })

  test('knows no other write', async () => {
    const service = new FakeService()
    await post(service, deactivate, 'k1')
    const response = await post(service, '/customers/c1/virtual_accounts/v1/freeze', 'k2')
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('Operations of an account are: deactivate, reactivate.')
    expect(service.isActive(account)).toBe(false)
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

  test('is rejected with 422 for another path or another body', () =>
    checkEach(
      [
        ['path', reactivate, undefined],
        ['body', deactivate, '{"reason":"lost"}'],
      ],
      async ([, path, body]) => {
        const service = new FakeService()
        await post(service, deactivate, 'k1')

        const response = await post(service, path, 'k1', body === undefined ? {} : { body })

        expect(response.status).toBe(422)
        await errorBody(response)
        expect(service.isActive(account)).toBe(false)
      },
    ))

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
  test('without the right API key gets 401', () =>
    checkEach(
      [
        ['no', {}],
        ['a wrong', { 'Api-Key': 'wrong' }],
      ],
      async ([, headers]) => {
        const service = new FakeService()

        for (const path of ['/transactions', '/nowhere']) {
          const response = await get(service, path, { headers })
          expect(response.status).toBe(401)
          expect(await errorBody(response)).toContain('Api-Key')
        }
        expect((await post(service, deactivate, 'k1', { headers })).status).toBe(401)
        expect(service.isActive(account)).toBe(true)
      },
    ))

  test('with the API key of the options is accepted', async () => {
    const service = new FakeService({ apiKey: 'another key' })

    expect(service.apiKey).toBe('another key')
    expect((await get(service, '/transactions')).status).toBe(200)
  })

  test('for an unknown path gets 404', () =>
    checkEach(
      [
        '/',
        '/nowhere',
        '/transactions/',
        '/customers/c1',
        '/customers/%E0%A4%A/virtual_accounts/v1/deactivate',
      ],
      async path => {
        const response = await get(new FakeService(), path)
        expect(response.status).toBe(404)
        await errorBody(response)
      },
    ))

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

  test('that make no sense are refused by their names', () =>
    checkEach<[name: string, ...values: unknown[]]>(
      [
        ['baseUrl', 'https://me:secret@bank.test', 'https://bank.test/?a=1', null],
        ['apiKey', ''],
        ['defaultLimit', 0],
        ['maxLimit', Infinity],
      ],
      ([name, ...values]) => {
        for (const value of values) {
          const create = () => new FakeService({ [name]: value })
          expect(create).toThrow(TypeError)
          expect(create).toThrow(new RegExp(`^${name}: `))
        }
      },
    ))

  test('cannot be the transactions themselves', () => {
    const create = () => new FakeService(sampleTransactions(3) as never)
    expect(create).toThrow('options: expected an object such as { transactions }, got an array')
  })
})

test('an unknown query parameter has no effect, and a warning says so once', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue()
  const service = new FakeService({ transactions: sampleTransactions(3) })
  const { baseUrl, apiKey, fetch } = service
  const client = new Client({ baseUrl, apiKey, fetch })
  for (const currency of ['EUR', 'AED']) {
    expect((await client.transactions.list({ query: { currency } })).totalItems).toBe(3)
  }
  expect(warn.mock.calls).toEqual([
    ['FakeService: the query parameter currency has no effect, because the fake does not filter.'],
  ])
})
