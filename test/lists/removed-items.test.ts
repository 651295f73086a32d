import { isApiError, PaginationError, type Transaction } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import { createClient, createObservedClient, service, startService } from '../service.ts'
import { checkEach, rejectionOf } from '../support.ts'
import {
  collect,
  createStage,
  fill,
  idle,
  ids,
  iterateToError,
  iterateToPaginationError,
  newest,
  requestedPages,
} from './lists.ts'

startService()

describe('items removed during an iteration', () => {
  test('are a PaginationError whose page is early enough to resume', async () => {
    const all = fill(60)
    const { client, events } = createObservedClient()
    const before: Transaction[] = []
    const iteration = (async () => {
      for await (const item of client.transactions.list({ limit: 10 }, { concurrency: 1 })) {
        before.push(item)
        if (before.length === 25) service.transactions.splice(0, 12)
      }
    })()
    const error = await rejectionOf(iteration)
    if (!isApiError(error)) throw error
    expect(error).toBeInstanceOf(PaginationError)
    // The page that shows it is not yielded.
    expect(before).toEqual(all.slice(0, 30))
    const rest = await collect(client.transactions.list({ page: error.page, limit: 10 }))
    expect(new Set([...ids(before), ...ids(rest)])).toEqual(new Set(ids(all)))
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total', before: 60, after: 48, page: 4 },
    ])
  })

  test('let a resumed iteration miss nothing, however many they are', () =>
    checkEach([1, 9, 10, 11, 20, 29, 30], async deleted => {
      const all = fill(60)
      const client = createClient()
      const before: Transaction[] = []
      const iteration = (async () => {
        for await (const item of client.transactions.list({ limit: 10 }, { concurrency: 1 })) {
          before.push(item)
          if (before.length === 30) service.transactions.splice(0, deleted)
        }
      })()
      const error = await rejectionOf(iteration)
      if (!isApiError(error)) throw error
      const rest = await collect(client.transactions.list({ page: error.page, limit: 10 }))
      expect(new Set([...ids(before), ...ids(rest)])).toEqual(new Set(ids(all)))
    }))

  test('further on are detected by prefetched pages, so that a resumed iteration has no gap', async () => {
    const stage = createStage(100)
    const yielded: Transaction[] = []
    const error = iterateToPaginationError(createClient({ fetch: stage.fetch }).transactions.list()).then(
      ({ before, error }) => {
        yielded.push(...before)
        return error
      },
    )
    // Page 3 first: those after it are requested when it has arrived, so none counts as older.
    await stage.respond(1, 3, 2)
    const [four, five] = await Promise.all([stage.of(4), stage.of(5)])
    stage.items.splice(0, 10)
    four.serve()
    stage.items.splice(0, 10)
    five.respond()
    await idle()
    four.deliver()

    const failure = await error
    const resumed = collect(
      createClient({ fetch: stage.fetch }).transactions.list({ page: failure.page ?? 0 }),
    )
    await stage.respondToAll()
    const seen = new Set(ids([...yielded, ...(await resumed)]))
    expect(ids(stage.items).filter(id => !seen.has(id))).toEqual([])
  })

  test("are accepted with onMissedItems: 'continue', with a drift event", async () => {
    const all = fill(60)
    const { client, events } = createObservedClient()
    const options = { concurrency: 1, onMissedItems: 'continue' } as const
    const seen: Transaction[] = []
    for await (const item of client.transactions.list({ limit: 10 }, options)) {
      seen.push(item)
      if (seen.length === 25) service.transactions.splice(0, 3)
    }
    expect(seen).toEqual([...all.slice(0, 30), ...all.slice(33)])
    expect(requestedPages()).toEqual([1, 2, 3, 4, 5, 6])
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total', before: 60, after: 57 },
    ])
  })

  test("end the iteration with onMissedItems: 'continue' when the next page is empty", async () => {
    const all = fill(60)
    const seen: Transaction[] = []
    const options = { concurrency: 1, onMissedItems: 'continue' } as const
    for await (const item of createClient().transactions.list({ limit: 10 }, options)) {
      seen.push(item)
      if (seen.length === 30) service.transactions.splice(0, 40)
    }
    expect(seen).toEqual(all.slice(0, 30))
    expect(requestedPages()).toEqual([1, 2, 3, 4])
  })

  test('are reported at once when an earlier response had a larger total', async () => {
    const stage = createStage(60)
    const iteration = iterateToPaginationError(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.respond(1)
    const [two, three] = [await stage.of(2), await stage.of(3)]
    two.serve()
    stage.items.splice(0, 1)
    three.respond()
    await idle()
    two.deliver()
    await stage.respondToAll()
    const { before, error } = await iteration
    expect(before).toHaveLength(20)
    // Page 2 arrived after page 3 was requested: its total may already have recovered.
    expect(error.page).toBe(1)
    expect(stage.pages.filter(page => page === 3)).toHaveLength(1)
  })

  test('are reported even if the total has recovered', async () => {
    const stage = createStage(5, 2)
    const client = createClient({ fetch: stage.fetch, concurrency: 2 })
    const all = [...stage.items]
    const iteration = iterateToPaginationError(client.transactions.list())
    await stage.respond(1)
    const [two, three] = [await stage.of(2), await stage.of(3)]
    two.serve()
    stage.items.splice(0, 1)
    three.serve()
    stage.items.push(newest('t6'))
    two.deliver()
    await idle()
    three.deliver()
    await stage.respondToAll()
    const { before, error } = await iteration
    expect(ids(before)).toEqual(ids(all.slice(0, 4)))
    const rest = collect(client.transactions.list({ page: error.page }))
    await stage.respondToAll()
    expect(new Set(ids([...before, ...(await rest)]))).toEqual(new Set([...ids(all), 't6']))
  })

  test('are detected when an item repeats although the total did not grow', async () => {
    const stage = createStage(5, 2)
    const client = createClient({ fetch: stage.fetch, concurrency: 2 })
    const all = [...stage.items]
    const iteration = iterateToPaginationError(client.transactions.list())
    await stage.respond(1)
    const [two, three] = [await stage.of(2), await stage.of(3)]
    three.serve()
    stage.items.unshift(newest('new'))
    stage.items.pop()
    two.serve()
    three.deliver()
    await idle()
    two.deliver()
    await stage.respondToAll()
    const { before, error } = await iteration
    expect(ids(before)).toEqual(ids(all.slice(0, 3)))
    // Page 3 was requested before page 2 arrived, so it is fetched again, and its item is not there any more.
    expect(stage.pages.filter(page => page === 3)).toHaveLength(2)
    const rest = collect(client.transactions.list({ page: error.page }))
    await stage.respondToAll()
    expect(ids(await rest)).toEqual(expect.arrayContaining(ids(all.slice(3, 4))))
  })

  test('move error.page back when a later page reveals them', async () => {
    const stage = createStage(6, 2)
    const client = createClient({ fetch: stage.fetch, concurrency: 2, maxRetries: 0 })
    const all = [...stage.items]
    const iteration = iterateToError(client.transactions.list())
    await stage.respond(1)
    stage.items.splice(0, 1)
    await stage.respond(3)
    ;(await stage.of(2)).respondWith(new Response(null, { status: 404 }))
    const { before, error } = await iteration
    expect(ids(before)).toEqual(ids(all.slice(0, 2)))
    // The third item has moved to page 1.
    expect(error).toMatchObject({ kind: 'http', status: 404, page: 1 })
  })

  test('are reported without another request when pages are fetched one by one', async () => {
    fill(60)
    const iteration = (async () => {
      let read = 0
      for await (const _item of createClient().transactions.list({ limit: 10 }, { concurrency: 1 })) {
        if (++read === 15) service.transactions.splice(0, 1)
      }
    })()
    await rejectionOf(iteration)
    expect(requestedPages()).toEqual([1, 2, 3])
  })

  test('are a PaginationError of pages(), too', async () => {
    fill(60)
    const pages: number[] = []
    const iteration = (async () => {
      for await (const page of createClient().transactions.list({ limit: 10 }, { concurrency: 1 }).pages()) {
        pages.push(page.page)
        if (page.page === 2) service.transactions.splice(0, 1)
      }
    })()
    expect(await rejectionOf(iteration)).toMatchObject({ kind: 'pagination', page: 1 })
    expect(pages).toEqual([1, 2])
  })
})
