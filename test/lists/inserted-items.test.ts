import type { Transaction } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { createClient, createObservedClient, service, startService } from '../service.ts'
import { checkEach, rejectionOf } from '../support.ts'
import {
  collect,
  createStage,
  envelopeOf,
  fill,
  idle,
  ids,
  newest,
  refundNumber,
  requestedPages,
  respondTo,
} from './lists.ts'

startService()

describe('items inserted during an iteration', () => {
  test('do not affect the original items: each is yielded once', async () => {
    const all = fill(60)
    const { client, events } = createObservedClient()
    const seen: Transaction[] = []
    for await (const item of client.transactions.list({ limit: 10 }, { concurrency: 1 })) {
      seen.push(item)
      if (seen.length === 15) service.transactions.unshift(newest('new1'), newest('new2'))
    }
    expect(seen).toEqual(all)
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total', before: 60, after: 62, page: 3 },
      { change: 'duplicate', before: 2, after: 3, page: 3 },
      { change: 'duplicate', before: 2, after: 3, page: 3 },
    ])
  })

  test('at its head have no page fetched again, as nothing was removed', async () => {
    fill(200)
    const list = createClient().transactions.list({ limit: 10 })
    let count = 0
    for await (const _ of list)
      if (++count === 55) service.transactions.unshift(newest('new1'), newest('new2'))
    expect(count).toBe(200)
    expect(requestedPages()).toEqual(Array.from({ length: 21 }, (_, index) => index + 1))
  })

  test('at the end of the list are yielded, too', async () => {
    const all = fill(20)
    const seen: Transaction[] = []
    for await (const item of createClient().transactions.list({ limit: 10 })) {
      seen.push(item)
      if (seen.length === 5) service.transactions.push(newest('last'))
    }
    expect(seen).toEqual([...all, newest('last')])
    expect(requestedPages()).toEqual([1, 2, 3])
  })

  test('are recognised over at least 1,000 items, and over 8 pages', () =>
    checkEach(
      [
        ['1,000 items', { limit: 20, readBefore: 1_200, inserted: 1_000 }],
        ['8 pages', { limit: 200, readBefore: 2_000, inserted: 1_600 }],
      ],
      async ([, { limit, readBefore, inserted }]) => {
        const large = new FakeService({ transactions: sampleTransactions(readBefore + limit), maxLimit: 200 })
        const all = [...large.transactions]
        const client = createClient({ fetch: large.fetch })
        const seen: Transaction[] = []
        for await (const item of client.transactions.list({ limit }, { concurrency: 1 })) {
          seen.push(item)
          if (seen.length !== readBefore) continue
          large.transactions.unshift(...Array.from({ length: inserted }, (_, index) => newest(`new${index}`)))
        }
        expect(ids(seen)).toEqual(ids(all))
      },
    ))

  test('that move items further than is remembered may cause duplicates', async () => {
    const large = new FakeService({ transactions: sampleTransactions(5_000) })
    const all = [...large.transactions]
    const client = createClient({ fetch: large.fetch })
    const seen: Transaction[] = []
    for await (const item of client.transactions.list({ limit: 100 }, { concurrency: 1 })) {
      seen.push(item)
      if (seen.length !== 4_000) continue
      large.transactions.unshift(...Array.from({ length: 3_900 }, (_, index) => newest(`new${index}`)))
    }
    expect(seen.length).toBeGreaterThan(all.length)
    expect(new Set(ids(seen))).toEqual(new Set(ids(all)))
  })

  test('shift items that are yielded twice where nothing identifies them', async () => {
    const numbers = Array.from({ length: 20 }, (_, number) => ({ number }))
    service.serveList('/refunds', numbers)
    const options = { schema: z.looseObject({ number: z.number() }), concurrency: 1 }
    const seen: unknown[] = []
    for await (const refund of createClient().list('/refunds', { limit: 10 }, options)) {
      seen.push(refundNumber(refund))
      if (seen.length === 10) numbers.unshift({ number: -1 })
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
  })

  test('do not lose an item that moved, when a later page shows an older state', async () => {
    const stage = createStage(60)
    const { client, events } = createObservedClient({ fetch: stage.fetch })
    const iteration = collect(client.transactions.list())
    await stage.respond(1)
    const [two, three] = [await stage.of(2), await stage.of(3)]
    // Page 3 is served first, then the list grows at its head, then page 2 is served.
    three.serve()
    const original = [...stage.items]
    stage.items.unshift(newest('new'))
    two.respond()
    await idle()
    three.deliver()
    await stage.respondToAll()
    expect(await iteration).toEqual(original)
    expect(stage.pages.filter(page => page === 3)).toHaveLength(2)
    expect(stage.pages.toSorted()).toEqual([1, 2, 3, 3, 4, 5, 6, 7])
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total', before: 60, after: 61, page: 2 },
      { change: 'duplicate', before: 1, after: 2 },
    ])
  })

  test('cause each page of an older state to be fetched again, once', async () => {
    const stage = createStage(100)
    const iteration = collect(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.respond(1, 2, 3)
    const [four, ...later] = await Promise.all([4, 5, 6, 7].map(page => stage.of(page)))
    for (const request of later) request.serve()
    const original = [...stage.items]
    stage.items.unshift(newest('new'))
    for (const request of later) request.deliver()
    four?.respond()
    await stage.respondToAll()
    expect(await iteration).toEqual(original)
    for (const page of [5, 6, 7]) expect(stage.pages.filter(requested => requested === page)).toHaveLength(2)
  })

  test('cause pages to be fetched again within the concurrency', async () => {
    for (const concurrency of [2, 3, 4]) {
      const stage = createStage(200)
      const iteration = collect(createClient({ fetch: stage.fetch, concurrency }).transactions.list())
      const original = [...stage.items]
      await stage.respond(1)
      // Always the earliest page last, with an item inserted just before it.
      let inserted = 0
      for (await idle(); stage.inFlight.length > 0; await idle()) {
        const waiting = stage.requests.filter(({ isSettled }) => !isSettled).sort((a, b) => b.page - a.page)
        for (const request of waiting) {
          if (request === waiting.at(-1) && inserted < 10) stage.items.unshift(newest(`new${inserted++}`))
          request.respond()
          await idle()
        }
      }
      expect(await iteration).toEqual(original)
      expect(stage.mostInFlight).toBeLessThanOrEqual(concurrency)
    }
  })
})

describe('dedupeBy', () => {
  const shifted = (all: readonly unknown[], onPage: () => void) => {
    return respondTo(page => {
      if (page === 2) onPage()
      return envelopeOf(all, page)
    })
  }

  test('defaults to the id as it was received, even if the schema drops it', async () => {
    const all: unknown[] = sampleTransactions(20)
    const amounts = all.map(item => (item as Transaction).amount)
    shifted(all, () => all.unshift(newest('new')))
    const schema = z.object({ amount: z.number() })
    const seen = await collect(createClient().transactions.list({}, { schema, concurrency: 1 }))
    expect(seen).toEqual(amounts.map(amount => ({ amount })))
  })

  test('defaults to the id as it was received, even if the schema renames it', async () => {
    const all: unknown[] = sampleTransactions(20)
    const wanted = ids(all)
    shifted(all, () => all.unshift(newest('new')))
    const schema = z.pipe(
      z.looseObject({ id: z.string() }),
      z.transform(({ id }) => ({ reference: id, id: 'same' })),
    )
    const seen = await collect(createClient().transactions.list({}, { schema, concurrency: 1 }))
    expect(seen.map(({ reference }) => reference)).toEqual(wanted)
  })

  test('sees the output of the schema', async () => {
    const all: unknown[] = sampleTransactions(20)
    const wanted = ids(all)
    shifted(all, () => all.unshift(newest('new')))
    const schema = z.pipe(
      z.looseObject({ id: z.string() }),
      z.transform(({ id }) => ({ reference: id })),
    )
    const options = { schema, concurrency: 1, dedupeBy: (item: { reference: string }) => item.reference }
    const seen = await collect(createClient().transactions.list({}, options))
    expect(seen.map(({ reference }) => reference)).toEqual(wanted)
  })

  test('may return undefined, null or NaN: such items are never dropped', () =>
    checkEach([undefined, null, Number.NaN], async key => {
      const all = Array.from({ length: 20 }, () => newest('same'))
      respondTo(page => envelopeOf(all, page))
      const { client, events } = createObservedClient()
      const list = client.transactions.list({}, { dedupeBy: () => key })
      expect(await collect(list)).toHaveLength(20)
      expect(events.filter(({ type }) => type === 'drift')).toEqual([])
    }))

  test('yields items without an id where a schema accepts them', async () => {
    const all = Array.from({ length: 20 }, (_, index) => ({ index }))
    respondTo(page => envelopeOf(all, page))
    const schema = z.object({ index: z.number() })
    expect(await collect(createClient().transactions.list({}, { schema }))).toEqual(all)
  })

  test('yields every item whose id is null where a schema accepts them', async () => {
    const all = Array.from({ length: 20 }, (_, index) => ({ id: null, index }))
    respondTo(page => envelopeOf(all, page))
    const schema = z.object({ id: z.null(), index: z.number() })
    expect(await collect(createClient().transactions.list({}, { schema }))).toEqual(all)
  })

  test('must not be async: a promise is a TypeError, as it would identify nothing', () =>
    checkEach(
      [
        ['resolves', () => Promise.resolve('t1')],
        ['rejects', () => Promise.reject(new Error('unhandled'))],
      ] as const,
      async ([, dedupeBy]) => {
        fill(25)
        const error = await rejectionOf(collect(createClient().transactions.list({}, { dedupeBy })))
        expect(error).toBeInstanceOf(TypeError)
        expect(String(error)).toMatch(/^TypeError: dedupeBy: /)
      },
    ))

  test('is called once for each item', async () => {
    const dedupeBy = vi.fn(({ id }: Transaction) => id)
    const items = await collect(createClient().transactions.list({ limit: 10 }, { dedupeBy }))
    expect(dedupeBy.mock.calls).toEqual(items.map(item => [item]))
  })

  test('also de-duplicates within one page', async () => {
    const all = sampleTransactions(10)
    respondTo(page => envelopeOf(all, page))
    const list = createClient().transactions.list({}, { dedupeBy: ({ currency }) => currency })
    const currencies = (await collect(list)).map(({ currency }) => currency)
    expect(currencies).toEqual([...new Set(all.map(({ currency }) => currency))])
  })

  test('that throws ends the iteration with the same error', async () => {
    fill(25)
    const mine = new Error('no reference')
    const dedupeBy = () => {
      throw mine
    }
    const items = createClient().transactions.list({}, { dedupeBy })[Symbol.asyncIterator]()
    expect(await rejectionOf(items.next())).toBe(mine)
    expect(await items.next()).toEqual({ done: true, value: undefined })
  })
})
