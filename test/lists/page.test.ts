import { isApiError, type Page, type Transaction } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createClient, service, startService } from '../service.ts'
import { account, checkEach, rejectionOf } from '../support.ts'
import { collect, fill, ids, newItems, requestedPages } from './lists.ts'

startService()

/** Wraps an object, and the objects and arrays that are read from it, as Vue's `ref` does. */
function deepProxy<T extends object>(target: T): T {
  return new Proxy(target, {
    get(target, key, receiver) {
      const value: unknown = Reflect.get(target, key, receiver)
      const type = Object.prototype.toString.call(value)
      return type === '[object Object]' || type === '[object Array]' ? deepProxy(Object(value)) : value
    },
  })
}

/** Wraps an object so that its methods come bound, as libraries for tracing do. */
function bindingProxy<T extends object>(target: T): T {
  return new Proxy(target, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const plainOf = ({ data, page, totalItems, limit, pageCount, hasNextPage }: Page<Transaction>) => ({
  data,
  page,
  totalItems,
  limit,
  pageCount,
  hasNextPage,
})

describe('a page', () => {
  test('survives structuredClone, with pageCount and hasNextPage', async () => {
    const page = await createClient().transactions.list({ page: 2, limit: 10 })
    const copy = structuredClone(page)
    expect(copy).toEqual(plainOf(page))
    expect(copy).toMatchObject({ page: 2, totalItems: 25, limit: 10, pageCount: 3, hasNextPage: true })
  })

  test('survives JSON, with pageCount and hasNextPage', async () => {
    const page = await createClient().transactions.list({ page: 3, limit: 10 })
    const copy = JSON.parse(JSON.stringify(page))
    expect(copy).toEqual(plainOf(page))
    expect(copy).toMatchObject({ pageCount: 3, hasNextPage: false })
    expect(page.toJSON()).toEqual(plainOf(page))
  })

  test('survives being spread, as state libraries do', async () => {
    const page = await createClient().transactions.list({ limit: 10 })
    expect(Object.keys(page)).toEqual(['data', 'page', 'totalItems', 'limit', 'pageCount', 'hasNextPage'])
    expect({ ...page }).toEqual(plainOf(page))
  })

  test('works behind a proxy, as in the ref of Vue', async () => {
    const page = deepProxy(await createClient().transactions.list({ limit: 10 }))
    expect(page.headers.get('content-type')).toBe('application/json')
    expect(JSON.parse(JSON.stringify(page))).toMatchObject({ page: 1, hasNextPage: true })
    const next = await page.nextPage()
    expect(next?.data).toEqual(service.transactions.slice(10, 20))
    expect(await collect(page)).toEqual(service.transactions)
  })

  test('works behind a proxy that binds methods', async () => {
    const page = bindingProxy(await createClient().transactions.list({ limit: 10 }))
    expect((await page.nextPage())?.page).toBe(2)
    expect(await collect(page)).toEqual(service.transactions)
  })
})

describe('iterating a page', () => {
  test('yields its items and all that follow, without fetching it again', async () => {
    const all = fill(45)
    const page = await createClient().transactions.list({ limit: 10 })
    expect(await collect(page)).toEqual(all)
    expect(requestedPages()).toEqual([1, 2, 3, 4, 5])
    expect(await collect(page)).toEqual(all)
    expect(requestedPages()).toEqual([1, 2, 2, 3, 3, 4, 4, 5, 5])
  })

  test('yields its items and all that follow even if its data was taken out of it', () =>
    checkEach([false, true], async verified => {
      const all = fill(45)
      const page = await createClient().transactions.list({ limit: 20 }, { verified })
      page.data.splice(0)
      expect(await collect(page)).toEqual(all)
    }))

  test('works for a list that was returned from an async function', async () => {
    const all = fill(25)
    const load = async () => createClient().transactions.list({ limit: 10 })
    const seen: Transaction[] = []
    for await (const item of await load()) seen.push(item)
    expect(seen).toEqual(all)
    expect(requestedPages()).toEqual([1, 2, 3])
  })

  test('has the options of the list: maxItems', async () => {
    const all = fill(45)
    const page = await createClient().transactions.list({ limit: 10 }, { maxItems: 15 })
    expect(await collect(page)).toEqual(all.slice(0, 15))
    expect(requestedPages()).toEqual([1, 2])
  })

  test('has the options of the list: query, schema and itemKey', async () => {
    const all = fill(25)
    const schema = z.pipe(
      z.looseObject({ id: z.string() }),
      z.transform(({ id }) => ({ reference: id })),
    )
    const seen: unknown[] = []
    const page = await createClient().transactions.list(
      { limit: 10, query: { status: 'settled' } },
      { schema, concurrency: 1, itemKey: ({ reference }) => reference },
    )
    for await (const { reference } of page) {
      seen.push(reference)
      if (seen.length === 10) service.transactions.unshift(...newItems(1))
    }
    expect(seen).toEqual(ids(all))
    for (const { query } of service.requests) expect(query.status).toBe('settled')
  })

  test('has the options of the list: signal', async () => {
    fill(45)
    const controller = new AbortController()
    const page = await createClient().transactions.list({ limit: 10 }, { signal: controller.signal })
    let read = 0
    const iteration = (async () => {
      for await (const _item of page) if (++read === 3) controller.abort('enough')
    })()
    expect(await rejectionOf(iteration)).toBe('enough')
    expect(read).toBe(3)
    expect(requestedPages()).toEqual([1])
  })

  test('has the options of the list: verified', async () => {
    const all = fill(100)
    const page = await createClient().transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
    const seen: Transaction[] = []
    for await (const item of page) {
      seen.push(item)
      if (seen.length === 20) service.transactions.splice(0, 5)
    }
    expect(seen).toEqual(all)
  })

  test('yields nothing for a page beyond the end', async () => {
    fill(5)
    const page = await createClient().transactions.list({ page: 9, limit: 10 })
    expect(await collect(page)).toEqual([])
    expect(requestedPages()).toEqual([9])
  })
})

describe('nextPage', () => {
  test('keeps the options of its list: the schema, the query and the headers', async () => {
    const schema = z.object({ id: z.string() }).transform(({ id }) => ({ key: `#${id}` }))
    const options = { schema, headers: { 'X-Team': 'a' } }
    const first = await createClient().transactions.list({ limit: 10, query: { currency: 'AED' } }, options)
    const second = await first.nextPage()
    const third = await second?.nextPage()
    expect(second?.data).toEqual(service.transactions.slice(10, 20).map(({ id }) => ({ key: `#${id}` })))
    expect(third?.data).toEqual(service.transactions.slice(20).map(({ id }) => ({ key: `#${id}` })))
    expect(await third?.nextPage()).toBe(undefined)
    expect(service.requests.map(({ query, headers }) => [query, headers.get('X-Team')])).toEqual([
      [{ page: '1', limit: '10', currency: 'AED' }, 'a'],
      [{ page: '2', limit: '10', currency: 'AED' }, 'a'],
      [{ page: '3', limit: '10', currency: 'AED' }, 'a'],
    ])
  })

  test('can be aborted by the signal of its list', async () => {
    const controller = new AbortController()
    const page = await createClient().transactions.list({ limit: 10 }, { signal: controller.signal })
    controller.abort('enough')
    expect(await rejectionOf(page.nextPage())).toBe('enough')
  })
})

describe('a client behind a proxy', () => {
  test('lists, iterates and writes', async () => {
    const client = deepProxy(createClient())
    expect((await client.transactions.list({ limit: 10 })).data).toHaveLength(10)
    expect(await collect(client.transactions.list())).toEqual(service.transactions)
    await client.virtualAccounts.deactivate(account)
    expect(service.isActive(account)).toBe(false)
  })

  test('works if the proxy binds methods', async () => {
    const client = bindingProxy(createClient())
    expect((await client.request('GET', '/transactions')).status).toBe(200)
    expect((await client.withOptions({ timeout: 1000 }).transactions.list()).page).toBe(1)
  })

  test('calls other endpoints, and changes options', async () => {
    service.serveList('/refunds', [{ id: 'r1' }])
    const client = deepProxy(createClient())
    const schema = z.object({ id: z.string() })
    expect((await client.list('/refunds', {}, { schema })).data).toEqual([{ id: 'r1' }])
    expect((await client.request('GET', '/refunds')).data).toMatchObject({ totalItems: 1 })
    const keyless = client.withOptions({ apiKey: null })
    const error = await rejectionOf(keyless.transactions.list())
    expect(isApiError(error) && error.kind === 'http' && error.status).toBe(401)
  })
})
