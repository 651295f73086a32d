import { type Batch, type Client, PaginationError, type Transaction } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test, vi } from 'vitest'
import { createClient, createObservedClient, service, startService } from '../service.ts'
import { checkEach, rejectionOf } from '../support.ts'
import { envelopeOf, fill, idle, requestedPages, respondTo } from './lists.ts'

startService()

describe('awaiting a list', () => {
  test('gives one page', async () => {
    const all = fill(25)
    const page = await createClient().transactions.list({ page: 2, limit: 10 })
    expect(page.data).toEqual(all.slice(10, 20))
    expect(page).toMatchObject({ page: 2, totalItems: 25, limit: 10, pageCount: 3, hasNextPage: true })
    expect(page.headers.get('content-type')).toContain('json')
    expect(JSON.parse(JSON.stringify(page))).toEqual({
      ...envelopeOf(all, 2, 10),
      pageCount: 3,
      hasNextPage: true,
    })
    expect(requestedPages()).toEqual([2])
  })

  test('gives the empty page beyond the end as it came', async () => {
    fill(25)
    const page = await createClient().transactions.list({ page: 9, limit: 10 })
    expect(page).toMatchObject({ data: [], page: 9, totalItems: 25, hasNextPage: false })
    expect(await page.nextPage()).toBeUndefined()
    expect(requestedPages()).toEqual([9])
  })

  test('gives pages whose nextPage() has the same signal', async () => {
    fill(25)
    const controller = new AbortController()
    const page = await createClient().transactions.list({ limit: 10 }, { signal: controller.signal })
    controller.abort(new Error('enough'))
    expect(await rejectionOf(page.nextPage())).toBe(controller.signal.reason)
    expect(requestedPages()).toEqual([1])
  })

  test('gives a nextPage() that rejects with a PaginationError when its limit differs', async () => {
    const all = sampleTransactions(30)
    respondTo(page => envelopeOf(all, page, page === 1 ? 10 : 5))
    const { client, events } = createObservedClient()
    const page = await client.transactions.list()
    const error = await rejectionOf(page.nextPage())
    expect(error).toBeInstanceOf(PaginationError)
    expect(error).toMatchObject({ page: 2 })
    expect(events.at(-1)).toMatchObject({ type: 'failure', page: 2, error })
  })

  test('gives no next page where the total fills the last one', async () => {
    fill(20)
    const page = await createClient().transactions.list({ page: 2, limit: 10 })
    expect(page.hasNextPage).toBe(false)
    expect(await page.nextPage()).toBeUndefined()
    expect(requestedPages()).toEqual([2])
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

  test('is fetched once when awaited twice', async () => {
    const list = createClient().transactions.list()
    const [first, second] = await Promise.all([list, list])
    expect(await list).toBe(first)
    expect(second).toBe(first)
    expect(service.requests).toHaveLength(1)
  })

  test('is fetched once when awaited twice and failing', async () => {
    service.fail({ with: new Response(null, { status: 404 }) })
    const list = createClient().transactions.list()
    expect(await rejectionOf(list)).toBe(await rejectionOf(list))
    expect(service.requests).toHaveLength(1)
  })

  test('that fails unobserved causes no unhandled rejection', async () => {
    // vitest fails the run on one.
    service.fail({ times: 9, with: new Response(null, { status: 404 }) })
    const list = createClient().transactions.list()
    list.batches()
    list[Symbol.asyncIterator]()
    await list.catch(() => {})
    await list.then(undefined, () => {})
    await list.finally(() => {}).catch(() => {})
    await idle()
    expect(service.requests).toHaveLength(1)
  })

  test('has all methods of a promise', async () => {
    const list = createClient().transactions.list({ limit: 10 })
    const settled = vi.fn()
    const first: string[] = await list.then(page => page.data.map(({ id }) => id))
    expect(first).toHaveLength(10)
    expect(await list.catch(() => 'failed')).toBe(await list)
    expect(await list.finally(settled)).toBe(await list)
    expect(settled).toHaveBeenCalledOnce()
    expect(service.requests).toHaveLength(1)
  })

  test('works with Promise.all', async () => {
    const { transactions } = createClient()
    const [first, third, plain] = await Promise.all([
      transactions.list({ limit: 10 }),
      transactions.list({ page: 3, limit: 10 }),
      7,
    ])
    expect([first.data.length, third.data.length, plain]).toEqual([10, 5, 7])
  })

  test('works with Array.fromAsync', async () => {
    const all = fill(25)
    const { fromAsync } = Array as unknown as { fromAsync<T>(items: AsyncIterable<T>): Promise<T[]> }
    const { transactions } = createClient()
    expect(await fromAsync.call(Array, transactions.list({ limit: 10 }))).toEqual(all)
    expect(await fromAsync.call(Array, transactions.list({ limit: 20 }).batches())).toHaveLength(2)
  })

  test('can be returned from an async function, whose caller gets the page', async () => {
    const load = async (client: Client) => client.transactions.list({ limit: 10 })
    expect((await load(createClient())).data).toHaveLength(10)
  })

  test('works in an infinite query as TanStack Query runs it, by batches', async () => {
    const all = fill(65)
    const client = createClient()
    const loadBatch = async ({
      pageParam,
      signal,
    }: {
      pageParam: string | undefined
      signal: AbortSignal
    }) => {
      const list = client.transactions.list({ limit: 20 }, { after: pageParam, signal, concurrency: 1 })
      for await (const batch of list.batches()) return batch
      return undefined
    }
    const batches: Batch<Transaction>[] = []
    let pageParam: string | undefined
    do {
      const batch = await loadBatch({ pageParam, signal: new AbortController().signal })
      // It may keep them as JSON.
      if (batch) batches.push(JSON.parse(JSON.stringify(batch)))
      pageParam = batch?.hasMore ? batch.cursor : undefined
    } while (pageParam !== undefined)
    expect(batches.flatMap(({ items }) => items)).toEqual(all)
  })
})

test('a list that is used as an array says what to write instead', () =>
  checkEach<[string, (list: never) => unknown]>(
    [
      ['for … of', list => [...(list as Iterable<unknown>)]],
      ['Array.from', list => Array.from(list)],
      ['new Set', list => new Set(list)],
      ['JSON.stringify', list => JSON.stringify({ list })],
      ['data', list => (list as { data: unknown }).data],
      ['length', list => (list as { length: unknown }).length],
      ['map', list => (list as unknown[]).map(String)],
    ],
    ([, use]) => {
      const list = createClient().transactions.list()
      expect(() => use(list as never)).toThrow(
        /^list[.\w]*: items arrive asynchronously: use `for await`, or `\(await list\).data`$/,
      )
      expect(Object.keys(list)).toEqual([])
    },
  ))
