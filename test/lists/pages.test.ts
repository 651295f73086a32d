import {
  type Batch,
  type Client,
  isApiError,
  type Page,
  PaginationError,
  type Transaction,
} from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { createClient, createObservedClient, service, startService } from '../service.ts'
import { abortReasonOf, account, checkEach, rejectionOf } from '../support.ts'
import { collect, envelopeOf, fill, idle, requestedPages, respondTo } from './lists.ts'

startService()

describe('awaiting a list', () => {
  test('gives one page', async () => {
    const all = fill(25)
    const page = await createClient().transactions.list({ page: 2, limit: 10 })
    expect(page).toEqual({ ...envelopeOf(all, 2, 10), pageCount: 3, hasNextPage: true })
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toContain('json')
    expect(requestedPages()).toEqual([2])
  })

  test('gives the empty page beyond the end as it came', async () => {
    fill(25)
    const page = await createClient().transactions.list({ page: 9, limit: 10 })
    expect(page).toMatchObject({ data: [], page: 9, totalItems: 25, hasNextPage: false })
    expect(await page.nextPage()).toBeUndefined()
    expect(requestedPages()).toEqual([9])
  })

  test('fetches once, however often it is awaited, also when it fails', async () => {
    const list = createClient().transactions.list()
    const [first, second] = await Promise.all([list, list])
    expect(await list).toBe(first)
    expect(second).toBe(first)
    service.fail({ with: new Response(null, { status: 404 }) })
    const failing = createClient().transactions.list()
    expect(await rejectionOf(failing)).toBe(await rejectionOf(failing))
    expect(service.requests).toHaveLength(2)
  })

  test('works as a promise does, with its methods, Promise.all and async functions', async () => {
    const list = createClient().transactions.list({ limit: 10 })
    const settled = vi.fn()
    const first: string[] = await list.then(page => page.data.map(({ id }) => id))
    expect(first).toHaveLength(10)
    expect(await list.catch(() => 'failed')).toBe(await list)
    expect(await list.finally(settled)).toBe(await list)
    expect(settled).toHaveBeenCalledOnce()
    const load = async (client: Client) => client.transactions.list({ page: 3, limit: 10 })
    const [page, last, plain] = await Promise.all([list, load(createClient()), 7])
    expect([page.data.length, last.data.length, plain]).toEqual([10, 5, 7])
  })

  test('causes no unhandled rejection where it fails unobserved', async () => {
    // An unhandled one fails the run.
    service.fail({ times: 9, with: new Response(null, { status: 404 }) })
    const list = createClient().transactions.list()
    await list.catch(() => {})
    await list.then(undefined, () => {})
    await list.finally(() => {}).catch(() => {})
    await idle()
    expect(service.requests).toHaveLength(1)
  })
})

describe('a list', () => {
  test('sends nothing before it is used', async () => {
    const list = createClient().transactions.list()
    list.batches()
    list[Symbol.asyncIterator]()
    expect(Object.prototype.toString.call(list)).toBe('[object List]')
    await idle()
    expect(service.requests).toEqual([])
  })

  test('works with Array.fromAsync', async () => {
    const all = fill(25)
    const { fromAsync } = Array as unknown as { fromAsync<T>(items: AsyncIterable<T>): Promise<T[]> }
    const list = createClient().transactions.list({ limit: 20 })
    expect(await fromAsync.call(Array, list)).toEqual(all)
    expect(await fromAsync.call(Array, list.batches())).toHaveLength(2)
  })

  test('works in an infinite query as TanStack Query runs it, by batches', async () => {
    const all = fill(65)
    const client = createClient()
    const loadBatch = async (after: string | undefined) => {
      for await (const batch of client.transactions.list({ limit: 20 }, { after }).batches()) return batch
      return undefined
    }
    const batches: Batch<Transaction>[] = []
    let after: string | undefined
    do {
      const batch = await loadBatch(after)
      // It may keep them as JSON.
      if (batch) batches.push(JSON.parse(JSON.stringify(batch)))
      after = batch?.hasMore ? batch.cursor : undefined
    } while (after !== undefined)
    expect(batches.flatMap(({ items }) => items)).toEqual(all)
  })

  test('that is used as an array says what to write instead', () =>
    checkEach<[string, (list: never) => unknown]>(
      [
        ['for … of', list => [...(list as Iterable<unknown>)]],
        ['Array.from', list => Array.from(list)],
        ['new Set', list => new Set(list)],
        ['JSON.stringify', list => JSON.stringify({ list })],
        ['data', list => (list as { data: unknown }).data],
      ],
      ([, use]) => {
        const list = createClient().transactions.list()
        expect(() => use(list as never)).toThrow(
          /^list[.\w]*: .* use `for await`, or `\(await list\)\.data`$/,
        )
        expect(Object.keys(list)).toEqual([])
      },
    ))
})

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

describe('a page', () => {
  test('is plain data for structuredClone, JSON and spreading', async () => {
    const page = await createClient().transactions.list({ page: 2, limit: 10 })
    const plain = { ...envelopeOf(service.transactions, 2, 10), pageCount: 3, hasNextPage: true }
    expect(structuredClone(page)).toEqual(plain)
    expect(JSON.parse(JSON.stringify(page))).toEqual(plain)
    expect({ ...page }).toEqual(plain)
    expect(page.toJSON()).toEqual(plain)
  })

  test('works behind proxies, as in the ref of Vue', () =>
    checkEach([deepProxy, bindingProxy], async wrap => {
      const page = wrap<Page<Transaction>>(await createClient().transactions.list({ limit: 10 }))
      expect(page.headers.get('content-type')).toBe('application/json')
      expect((await page.nextPage())?.data).toEqual(service.transactions.slice(10, 20))
    }))
})

describe('nextPage()', () => {
  test('keeps the options of its list: the schema, the query, the headers and the signal', async () => {
    const controller = new AbortController()
    const schema = z.object({ id: z.string() }).transform(({ id }) => ({ key: id }))
    const options = { schema, headers: { 'X-Team': 'a' }, signal: controller.signal }
    const first = await createClient().transactions.list({ limit: 10, query: { currency: 'AED' } }, options)
    const third = await (await first.nextPage())?.nextPage()
    expect(third?.data).toEqual(service.transactions.slice(20).map(({ id }) => ({ key: id })))
    expect(await third?.nextPage()).toBeUndefined()
    expect(service.requests.map(({ query, headers }) => [query, headers.get('X-Team')])).toEqual(
      ['1', '2', '3'].map(page => [{ page, limit: '10', currency: 'AED' }, 'a']),
    )
    controller.abort('enough')
    expect(await abortReasonOf(first.nextPage())).toBe('enough')
  })

  test('rejects with a PaginationError, and a failure event, when its limit differs', async () => {
    const all = sampleTransactions(30)
    respondTo(page => envelopeOf(all, page, page === 1 ? 10 : 5))
    const { client, events } = createObservedClient()
    const error = await rejectionOf((await client.transactions.list()).nextPage())
    expect(error).toBeInstanceOf(PaginationError)
    expect(events.at(-1)).toMatchObject({ type: 'failure', page: 2, error })
  })
})

test('a client behind a proxy lists, iterates and writes', () =>
  checkEach([deepProxy, bindingProxy], async wrap => {
    service.serveList('/refunds', [{ id: 'r1' }])
    const client = wrap(createClient())
    expect((await client.list('/refunds', {}, { schema: z.object({ id: z.string() }) })).totalItems).toBe(1)
    expect(await collect(client.transactions.list())).toEqual(service.transactions)
    await client.virtualAccounts.deactivate(account)
    expect(service.isActive(account)).toBe(false)
    const error = await rejectionOf(client.withOptions({ apiKey: null }).transactions.list())
    expect(isApiError(error) && error.kind === 'http' && error.status).toBe(401)
  }))
