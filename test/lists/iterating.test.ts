import type { Page, Transaction } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createClient, createObservedClient, service, startService } from '../service.ts'
import { checkEach } from '../support.ts'
import { collect, createStage, fill, newest, pageOf, requestedPages, requestedQueries } from './lists.ts'

startService()

describe('iterating a list', () => {
  test('yields every item in order, each once', async () => {
    const all = fill(95)
    expect(await collect(createClient().transactions.list({ limit: 10 }))).toEqual(all)
    expect(requestedPages()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  test('keeps the order in whatever order the responses arrive', async () => {
    const stage = createStage(60)
    const iteration = collect(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.respond(1, 3, 2, 6, 5, 4)
    expect(await iteration).toEqual(stage.items)
  })

  test('requests exactly the pages of a list, whatever its length and the concurrency', () =>
    checkEach([0, 1, 9, 10, 11, 20, 25, 100, 101], async count => {
      for (const concurrency of [1, 2, 3, 4, 16]) {
        service.reset()
        const all = fill(count)
        const list = createClient({ concurrency, fetch: service.fetch }).transactions.list({ limit: 10 })
        expect(await collect(list)).toEqual(all)
        const pages = Math.max(1, Math.ceil(count / 10))
        expect(requestedPages()).toEqual(Array.from({ length: pages }, (_, index) => index + 1))
      }
    }))

  test('begins at the page given in params', async () => {
    const all = fill(45)
    expect(await collect(createClient().transactions.list({ page: 3, limit: 10 }))).toEqual(all.slice(20))
    expect(requestedPages()).toEqual([3, 4, 5])
  })

  test('yields nothing beyond the end, with one request', async () => {
    fill(20)
    const client = createClient()
    expect(await collect(client.transactions.list({ page: 3, limit: 10 }))).toEqual([])
    expect(await collect(client.transactions.list({ page: 90, limit: 10 }))).toEqual([])
    expect(requestedPages()).toEqual([3, 90])
  })

  test('sends the same query with every page', async () => {
    fill(25)
    const query = { status: 'settled', tag: ['a', 'b'] }
    await collect(createClient().transactions.list({ limit: 10, query }))
    expect(requestedQueries()).toEqual(
      [1, 2, 3].map(page => ({ page: String(page), limit: '10', status: 'settled', tag: 'a,b' })),
    )
  })

  test('is not affected by later changes to params and options', async () => {
    const all = fill(25)
    const tag = ['a']
    const params = { page: 1, limit: 10, query: { tag } }
    const options = { maxItems: 15 }
    const list = createClient().transactions.list(params, options)
    const seen: unknown[] = []
    for await (const item of list) {
      seen.push(item)
      Object.assign(params, { page: 9, limit: 1, query: { other: 1 } })
      tag.push('b')
      options.maxItems = 1
    }
    expect(seen).toEqual(all.slice(0, 15))
    expect(requestedQueries()).toEqual([
      { page: '1', limit: '10', tag: 'a' },
      { page: '2', limit: '10', tag: 'a' },
    ])
  })

  test('works in the same way for any other list endpoint', async () => {
    const refunds = Array.from({ length: 25 }, (_, number) => ({ number }))
    service.serveList('/refunds', refunds)
    const schema = z.looseObject({ number: z.number() })
    expect(await collect(createClient().list('/refunds', { limit: 10 }, { schema }))).toEqual(refunds)
    expect(service.requests.map(({ path, query }) => `${path} ${query.page}`).toSorted()).toEqual([
      '/refunds 1',
      '/refunds 2',
      '/refunds 3',
    ])
  })

  test('shares nothing with another iteration of the same list', async () => {
    const all = fill(25)
    const list = createClient().transactions.list({ limit: 10 })
    expect(await Promise.all([collect(list), collect(list)])).toEqual([all, all])
    expect(requestedPages()).toEqual([1, 1, 2, 2, 3, 3])
  })
})

describe('maxItems', () => {
  test('yields so many items, and requests no page beyond the last of them', () =>
    checkEach([1, 9, 10, 11, 20, 21, 45, 95, 1000, Number.POSITIVE_INFINITY], async maxItems => {
      const pages = Math.min(10, Math.ceil(maxItems / 10))
      for (const concurrency of [1, 4, 16]) {
        service.reset()
        const all = fill(95)
        const list = createClient().transactions.list({ limit: 10 }, { maxItems, concurrency })
        expect(await collect(list)).toEqual(all.slice(0, maxItems))
        expect(requestedPages()).toEqual(Array.from({ length: pages }, (_, index) => index + 1))
      }
    }))

  test('of 0 requests nothing', async () => {
    const list = createClient().transactions.list({}, { maxItems: 0 })
    expect(await collect(list)).toEqual([])
    expect(await collect(list.pages())).toEqual([])
    expect(service.requests).toEqual([])
  })

  test('counts items that are yielded, not duplicates', async () => {
    const all = fill(60)
    const seen: Transaction[] = []
    for await (const item of createClient().transactions.list(
      { limit: 10 },
      { maxItems: 30, concurrency: 1 },
    )) {
      seen.push(item)
      if (seen.length === 10) service.transactions.unshift(newest('new'))
    }
    expect(seen).toEqual(all.slice(0, 30))
    expect(requestedPages()).toEqual([1, 2, 3, 4])
  })

  test('requests the same pages for pages(), none of them cut', async () => {
    fill(95)
    const pages = await collect(createClient().transactions.list({ limit: 10 }, { maxItems: 15 }).pages())
    expect(pages.map(({ data }) => data.length)).toEqual([10, 10])
    expect(requestedPages()).toEqual([1, 2])
  })

  test('emits no drift event for items that it leaves out', async () => {
    fill(95)
    const { client, events } = createObservedClient()
    await collect(client.transactions.list({ limit: 10 }, { maxItems: 15 }))
    expect(events.filter(({ type }) => type === 'drift')).toEqual([])
  })
})

describe('pages()', () => {
  test('yields the pages as they came, in order', async () => {
    const all = fill(25)
    const pages = await collect(createClient().transactions.list({ limit: 10 }).pages())
    expect(pages.map(page => page.toJSON())).toEqual([1, 2, 3].map(page => pageOf(all, page)))
    expect(pages.map(({ hasNextPage, pageCount, status }) => ({ hasNextPage, pageCount, status }))).toEqual([
      { hasNextPage: true, pageCount: 3, status: 200 },
      { hasNextPage: true, pageCount: 3, status: 200 },
      { hasNextPage: false, pageCount: 3, status: 200 },
    ])
    expect(requestedPages()).toEqual([1, 2, 3])
  })

  test('yields one page of an empty list', async () => {
    fill(0)
    const pages = await collect(createClient().transactions.list().pages())
    expect(pages.map(({ data, pageCount, hasNextPage }) => ({ data, pageCount, hasNextPage }))).toEqual([
      { data: [], pageCount: 0, hasNextPage: false },
    ])
  })

  test('drops no duplicates, but emits the drift events', async () => {
    fill(20)
    const { client, events } = createObservedClient()
    const lengths: number[] = []
    for await (const page of client.transactions.list({ limit: 10 }, { concurrency: 1 }).pages()) {
      lengths.push(page.data.length)
      if (page.page === 1) service.transactions.unshift(newest('new'))
    }
    expect(lengths).toEqual([10, 10, 1])
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total' },
      { change: 'duplicate' },
    ])
  })
})

describe('next() called in parallel', () => {
  test('is served in order, and no page is requested twice', async () => {
    const all = fill(35)
    const items = createClient().transactions.list({ limit: 10 })[Symbol.asyncIterator]()
    const results = await Promise.all(Array.from({ length: 40 }, () => items.next()))
    expect(results.slice(0, 35)).toEqual(all.map(value => ({ done: false, value })))
    expect(results.slice(35)).toEqual(Array.from({ length: 5 }, () => ({ done: true, value: undefined })))
    expect(requestedPages()).toEqual([1, 2, 3, 4])
  })

  test('is served in order when some calls are awaited', async () => {
    const all = fill(35)
    const items = createClient().transactions.list({ limit: 10 })[Symbol.asyncIterator]()
    const seen: unknown[] = []
    for (let round = 0; seen.length < 35; round++) {
      const results = await Promise.all(Array.from({ length: 1 + (round % 4) }, () => items.next()))
      for (const { done, value } of results) if (!done) seen.push(value)
    }
    expect(seen).toEqual(all)
  })

  test('is served after pending calls, even if one of them has settled', async () => {
    const all = fill(20)
    const items = createClient().transactions.list({ limit: 10 })[Symbol.asyncIterator]()
    const first = items.next()
    const others = [items.next(), items.next()]
    const late = first.then(() => items.next())
    const results = await Promise.all([first, ...others, late])
    expect(results.map(({ value }) => value)).toEqual(all.slice(0, 4))
  })

  test('is served in order by pages(), too', async () => {
    fill(35)
    const pages = createClient().transactions.list({ limit: 10 }).pages()[Symbol.asyncIterator]()
    const results = await Promise.all(Array.from({ length: 5 }, () => pages.next()))
    expect(results.map(({ value }) => (value as Page<Transaction> | undefined)?.page)).toEqual([
      1,
      2,
      3,
      4,
      undefined,
    ])
  })

  test('rejects once, and the other calls are done', async () => {
    fill(35)
    service.fail({ with: new Response(null, { status: 404 }) })
    const items = createClient().transactions.list({ limit: 10 })[Symbol.asyncIterator]()
    const [first, ...others] = await Promise.allSettled([items.next(), items.next(), items.next()])
    expect(first).toMatchObject({ status: 'rejected', reason: { status: 404 } })
    for (const other of others) expect(other).toMatchObject({ status: 'fulfilled', value: { done: true } })
    expect(service.requests).toHaveLength(1)
  })
})

describe('events of an iteration', () => {
  test('give each page a callId of its own', async () => {
    fill(25)
    const { client, events } = createObservedClient()
    await collect(client.transactions.list({ limit: 10 }))
    const calls = Map.groupBy(events, ({ callId }) => callId)
    expect(calls.size).toBe(3)
    for (const [, emitted] of calls) expect(emitted.map(({ type }) => type)).toEqual(['request', 'response'])
    expect([...calls.values()].map(emitted => emitted[0]?.page).toSorted()).toEqual([1, 2, 3])
  })

  test('include no drift while nothing changes', async () => {
    fill(95)
    const { client, events } = createObservedClient()
    await collect(client.transactions.list({ limit: 10 }))
    expect(events.filter(({ type }) => type !== 'request' && type !== 'response')).toEqual([])
  })
})
