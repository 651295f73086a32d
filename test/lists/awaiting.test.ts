import { type Client, type Page, PaginationError, type Transaction } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test, vi } from 'vitest'
import { createClient, createObservedClient, service, startService } from '../service.ts'
import { rejectionOf } from '../support.ts'
import { collect, createStage, envelopeOf, fill, idle, pageOf, requestedPages, respondTo } from './lists.ts'

startService()

describe('awaiting a list', () => {
  test('gives one page', async () => {
    const all = fill(25)
    const page = await createClient().transactions.list({ page: 2, limit: 10 })
    expect(page.data).toEqual(all.slice(10, 20))
    expect(page).toMatchObject({ page: 2, totalItems: 25, limit: 10, pageCount: 3, hasNextPage: true })
    expect(page.headers.get('content-type')).toContain('json')
    expect(JSON.parse(JSON.stringify(page))).toEqual(pageOf(all, 2))
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

  test('gives the same next pages as pages()', async () => {
    fill(45)
    for await (const page of createClient().transactions.list({ limit: 10 }).pages()) {
      expect((await page.nextPage())?.page).toBe(page.page < 5 ? page.page + 1 : undefined)
    }
  })
})

describe('a list', () => {
  test('sends nothing before it is used', async () => {
    const list = createClient().transactions.list()
    list.pages()
    list[Symbol.asyncIterator]()
    list.pages()[Symbol.asyncIterator]()
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

  test('is fetched again for each iteration', async () => {
    fill(15)
    const list = createClient().transactions.list({ limit: 10 })
    await list
    expect((await collect(list)).length).toBe(15)
    service.transactions.pop()
    expect((await collect(list)).length).toBe(14)
    expect(requestedPages()).toEqual([1, 1, 1, 2, 2])
  })

  test('that fails unobserved causes no unhandled rejection', async () => {
    // vitest fails the run on one.
    service.fail({ times: 9, with: new Response(null, { status: 404 }) })
    const list = createClient().transactions.list()
    list.pages()
    list[Symbol.asyncIterator]()
    await list.catch(() => {})
    await list.then(undefined, () => {})
    await list.finally(() => {}).catch(() => {})
    await idle()
    expect(service.requests).toHaveLength(1)
  })

  test('that is left while prefetched pages fail causes no unhandled rejection', async () => {
    const stage = createStage(100)
    const client = createClient({ fetch: stage.fetch, maxRetries: 0 })
    const items = client.transactions.list()[Symbol.asyncIterator]()
    const wanted = Array.from({ length: 21 }, () => items.next())
    await stage.respond(1, 2, 3)
    await Promise.all(wanted)
    for (const request of stage.requests) if (!request.isSettled) request.lose()
    await idle()
    await items.return?.()
    await idle()
    expect(stage.inFlight).toEqual([])
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
    expect(await fromAsync.call(Array, transactions.list({ limit: 10 }).pages())).toHaveLength(3)
  })

  test('can be returned from an async function, whose caller gets the page', async () => {
    const load = async (client: Client) => client.transactions.list({ limit: 10 })
    expect((await load(createClient())).data).toHaveLength(10)
  })

  test('works in an infinite query as TanStack Query runs it', async () => {
    const all = fill(25)
    const client = createClient()
    const query = {
      initialPageParam: 1,
      queryFn: ({ pageParam, signal }: { pageParam: number; signal: AbortSignal }) =>
        client.transactions.list({ page: pageParam, limit: 10 }, { signal }),
      getNextPageParam: (last: Page<Transaction>) => (last.hasNextPage ? last.page + 1 : undefined),
    }
    const pages: Page<Transaction>[] = []
    let pageParam: number | undefined = query.initialPageParam
    while (pageParam !== undefined) {
      const { signal } = new AbortController()
      // It awaits what the function returns, and reads from it later.
      const page: Page<Transaction> = await Promise.resolve(query.queryFn({ pageParam, signal }))
      pages.push(page)
      pageParam = query.getNextPageParam(page)
    }
    expect(pages.flatMap(({ data }) => data)).toEqual(all)
    // It may keep pages as JSON.
    expect(JSON.parse(JSON.stringify(pages[2]))).toEqual(pageOf(all, 3))
  })
})
