import type { ClientEvent, DriftEvent, List, Transaction } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createClient, createObservedClient, startService } from '../service.ts'
import { checkEach } from '../support.ts'
import {
  collect,
  collectWith,
  createList,
  createServed,
  createStage,
  endOf,
  envelopeOf,
  ids,
  iterateToPaginationError,
  modes,
  newItems,
  respondTo,
} from './lists.ts'

// Single changes at chosen moments; test/simulation has tens of thousands at random ones.

startService()

const isOld = ({ id }: Transaction) => !id.startsWith('new')
const proving = [undefined, true] as const
const one = { concurrency: 1 }

describe('a list that changes while it is read', () => {
  test('yields all items that were in it throughout, each once, in order', () =>
    checkEach<[string, (items: Transaction[]) => unknown]>(
      [
        ['one added at the head', items => items.unshift(...newItems(1))],
        ['many added at the head', items => items.unshift(...newItems(90))],
        ['one added before the last one read', items => items.splice(99, 0, ...newItems(1))],
        ['one removed at the head', items => items.splice(0, 1)],
        ['many removed at the head', items => items.splice(0, 70)],
        ['the last one read removed', items => items.splice(99, 1)],
        ['one removed and one added at the end', items => items.push(...newItems(items.splice(0, 1).length))],
        ['many removed and as many added', items => items.push(...newItems(items.splice(0, 80).length))],
        [
          'added at the head, removed further on',
          items => {
            items.splice(300, 10)
            items.unshift(...newItems(10))
          },
        ],
      ],
      async ([, change]) => {
        for (const verified of proving) {
          for (const concurrency of [1, 4]) {
            const { fake, list, all, events } = createList(400)
            const seen = await collectWith(list({ limit: 20 }, { verified, concurrency }), 100, () =>
              change(fake.transactions),
            )
            const kept = ids(all).filter(id => ids(fake.transactions).includes(id))
            const old = ids(seen.filter(isOld))
            expect(old.filter(id => kept.includes(id))).toEqual(kept)
            expect(new Set(ids(seen)).size).toBe(seen.length)
            expect(seen.at(-1)).toEqual(fake.transactions.at(-1))
            expect(endOf(events)).toMatchObject({ isComplete: true, reason: undefined, items: seen.length })
          }
        }
      },
    ))

  test('is complete although prefetched pages are older than what was read before them', async () => {
    const stage = createStage(1_000)
    const reading = collect(createClient({ fetch: stage.fetch }).transactions.list({ limit: 20 }))
    await stage.respond(2)
    for (let changes = 0; changes < 5; changes++) {
      const [first, ...others] = stage.inFlight
      first?.serve()
      stage.items.splice(0, 3)
      for (const request of others) request.respond()
      first?.deliver()
      await stage.respond()
    }
    await stage.respondToAll()
    const seen = await reading
    const kept = new Set(ids(stage.items))
    expect(ids(seen).filter(id => kept.has(id))).toEqual([...kept])
  })

  test('is complete although some responses come from a replica that is behind', async () => {
    const old = sampleTransactions(4_000)
    const added = newItems(1_150)
    const stateAfter = (count: number) => [...added.slice(added.length - count), ...old]
    // One replica is far ahead of the others, and responds twice.
    const addedAt = (count: number) => (count <= 11 ? 0 : count === 12 || count === 22 ? 1_150 : 130)
    respondTo((page, limit, count) => envelopeOf(stateAfter(addedAt(count)), page, limit))
    const seen = await collect(createClient().transactions.list({ limit: 125 }, one))
    expect(seen.filter(isOld)).toEqual(old)
    expect(new Set(ids(seen)).size).toBe(seen.length)
  })

  test('is proven although a replica with another total repeatedly shows none of the items read', async () => {
    const all = sampleTransactions(300)
    // The third request is for a window, the fourth for the page that holds the last item, and so on.
    const isBehind = (count: number) => count >= 3 && count <= 11 && count % 2 === 1
    respondTo((page, limit, count) => envelopeOf(isBehind(count) ? all.slice(100) : all, page, limit))
    const { client, events } = createObservedClient()
    expect(await collect(client.transactions.list({ limit: 20 }, one))).toEqual(all)
    expect(endOf(events)).toMatchObject({ isComplete: true, totalItems: 300 })
  })

  test('is complete in few requests after one bulk change, wherever that is', () =>
    checkEach([50, 198], async at => {
      for (const concurrency of [1, 4])
        for (const place of [0, 80, 200])
          for (const [removed, added] of [
            [30, 0],
            [200, 0],
            [0, 30],
            [0, 200],
            [30, 30],
            [200, 200],
          ] as const) {
            const { fake, list, events, all } = createList(200)
            const read = await collectWith(list({ limit: 10 }, { verified: true, concurrency }), at, () => {
              fake.transactions.splice(place, removed)
              fake.transactions.splice(fake.transactions.length - place, 0, ...newItems(added))
            })
            const seen = ids(read)
            const left = new Set(ids(fake.transactions))
            const kept = ids(all).filter(id => left.has(id))
            expect(seen.filter(id => kept.includes(id))).toEqual(kept)
            expect(new Set(seen)).toHaveLength(seen.length)
            expect(endOf(events)).toMatchObject({ isComplete: true })
            // 32 if nothing changes.
            expect(fake.requests.length).toBeLessThanOrEqual(added === 200 ? 125 : 90)
          }
    }))

  test('ends when it is emptied, also if it began at a later page', async () => {
    const { fake, list } = createList(200)
    const reading = collectWith(list({ page: 3, limit: 20 }, one), 20, () => fake.transactions.splice(0))
    expect(await reading).toHaveLength(20)
  })

  test('throws when all that was read was removed from a list that began at a later page', async () => {
    const { fake, list } = createList(200)
    const reading = collectWith(list({ page: 3, limit: 20 }, one), 20, () => fake.transactions.splice(0, 120))
    await expect(reading).rejects.toMatchObject({ kind: 'pagination' })
  })

  test('throws when it changes faster than it can be read', async () => {
    let first = 0
    respondTo((page, limit) => envelopeOf(sampleTransactions(100, ++first), page, limit))
    const { error } = await iterateToPaginationError(createClient().transactions.list({ limit: 20 }, one))
    expect(error.cursor).toBeTypeOf('string')
  })
})

describe('with `verified: false`', () => {
  const list = (of: ReturnType<typeof createList>, options = {}): List<Transaction> =>
    of.list({ limit: 20 }, { verified: false, ...one, ...options })

  test('added items cause no error, and visibly removed items cause one', async () => {
    const growing = createList(400)
    const { transactions } = growing.fake
    const seen = await collectWith(list(growing), 100, () => transactions.unshift(...newItems(30)))
    expect(seen.filter(isOld)).toEqual(growing.all)
    expect(endOf(growing.events)).toMatchObject({ isComplete: false, reason: 'verified-false' })
    for (const count of [1, 50]) {
      const shrinking = createList(400)
      const removed = () => shrinking.fake.transactions.splice(0, count)
      const message = expect.stringMatching(`shrank from 400 to ${400 - count} items .* ${count} or more`)
      await expect(collectWith(list(shrinking), 100, removed)).rejects.toMatchObject({ message })
    }
  })

  test('an error is thrown if an item moved farther than the total fell, because others may be lost', async () => {
    const changing = createList(400)
    const reading = collectWith(list(changing), 160, () => {
      const { transactions } = changing.fake
      transactions.push(...newItems(transactions.splice(0, 40).length - 1))
    })
    await expect(reading).rejects.toMatchObject({ kind: 'pagination' })
  })
})

describe('where pages cannot overlap', () => {
  /** A service that always uses its own limit. */
  const serve = (items: Transaction[]) => respondTo(page => envelopeOf(items, page, 20))
  const list = (options = {}) => createClient().transactions.list({ limit: 20 }, { ...one, ...options })

  test('items that are added are no error, and no item comes twice', async () => {
    const items = sampleTransactions(200)
    const all = [...items]
    serve(items)
    expect(await collectWith(list(), 60, () => items.unshift(...newItems(7)))).toEqual(all)
  })

  test('items that were removed are an error that says how many may have been missed', async () => {
    const items = sampleTransactions(200)
    serve(items)
    const reading = collectWith(list(), 60, () => items.splice(0, 7))
    await expect(reading).rejects.toMatchObject({
      kind: 'pagination',
      message: expect.stringMatching(/from 200 to 193 items .* 7 or more items may have been missed/),
    })
  })

  test("removed items cause no error with onMissedItems: 'continue', and drift and end events show them", async () => {
    const items = sampleTransactions(200)
    const all = [...items]
    serve(items)
    const { client, events } = createObservedClient()
    const reading = client.transactions.list({ limit: 20 }, { ...one, onMissedItems: 'continue' })
    expect(await collectWith(reading, 60, () => items.splice(0, 7))).toEqual([
      ...all.slice(0, 60),
      ...all.slice(67),
    ])
    expect(driftOf(events)).toMatchObject([
      { change: 'missing', before: 193, after: 186 },
      { change: 'total', before: 200, after: 193 },
    ])
    expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'missed-items', items: 193 })
  })

  /** A stage that refuses smaller limits. */
  function createRefusingStage(count: number) {
    const stage = createStage(count)
    const fetch = async (url: string, init: RequestInit) => {
      const isRefused = new URL(url).searchParams.get('limit') !== '20'
      return isRefused ? new Response(null, { status: 422 }) : stage.fetch(url, init)
    }
    return { stage, fetch }
  }

  test('a last page of known items ends a list in which new items replace old ones', async () => {
    const rows = sampleTransactions(41)
    const { list } = createServed((page, limit) => {
      const response = envelopeOf(rows, page, limit)
      if (page === 2) rows.splice(0, 41, ...newItems(1), ...rows.slice(0, 40))
      return response
    })
    expect(await collect(list({ limit: 20 }, { verified: false, concurrency: 1 }))).toHaveLength(40)
  })

  test('equal rows without ids are read if missed items are accepted', async () => {
    const rows = Array.from({ length: 20 }, () => ({ state: 'ok' }))
    const { client } = createServed((page, limit) => envelopeOf(rows, page, limit))
    const options = { schema: z.object({ state: z.string() }), onMissedItems: 'continue' } as const
    expect(await collect(client.list('/states', { limit: 5 }, options))).toEqual(rows)
  })

  test('many pages without new items cause no error if others have some', async () => {
    const items = sampleTransactions(400)
    // Every second request adds as many items as a page has.
    respondTo((page, _, count) => envelopeOf([...newItems(10 * (count - (count % 2))), ...items], page, 20))
    const seen = await collect(createClient().transactions.list({ limit: 20 }, { verified: false, ...one }))
    expect(seen.filter(isOld)).toEqual(items)
  })

  test('a prefetched page is fetched again when the one before it shows a change', async () => {
    const { stage, fetch } = createRefusingStage(200)
    const reading = collect(createClient({ fetch }).transactions.list({ limit: 20 }))
    const all = [...stage.items]
    await stage.respond(3)
    const [first, ...others] = stage.inFlight
    for (const request of others) request.serve()
    stage.items.unshift(...newItems(3))
    for (const request of others) request.deliver()
    first?.respond()
    await stage.respondToAll()
    expect(await reading).toEqual(all)
  })
})

describe('drift and end events', () => {
  test('say only that it is complete if a list does not change', () =>
    checkEach(modes, async verified => {
      const { list, events } = createList(100)
      await collect(list({ limit: 20 }, { verified }))
      expect(driftOf(events)).toEqual([])
      expect(events.filter(({ type }) => type === 'end')).toHaveLength(1)
      const isComplete = verified !== false
      expect(endOf(events)).toMatchObject({ items: 100, totalItems: 100, isComplete })
    }))

  test('say each change of the total', async () => {
    const { fake, list, events } = createList(100)
    await collectWith(list({ limit: 20 }, one), 20, () => fake.transactions.unshift(...newItems(5)))
    expect(driftOf(events)).toMatchObject([{ change: 'total', before: 100, after: 105 }])
  })

  test('are not emitted for the end after break, an error or an abort', async () => {
    const { list, events } = createList(100)
    for await (const _ of list({ limit: 20 })) break
    await collect(list({ limit: 20 }, { signal: AbortSignal.abort() })).catch(() => {})
    const failing = createObservedClient()
    respondTo(() => new Response(null, { status: 403 }))
    await collect(failing.client.transactions.list()).catch(() => {})
    for (const { type } of [...events, ...failing.events]) expect(type).not.toBe('end')
  })

  test('say that one response was complete, in every mode', () =>
    checkEach(modes, async verified => {
      const { list, events } = createList(15)
      await collect(list({ limit: 20 }, { verified }))
      expect(endOf(events)).toMatchObject({ requests: 1, isComplete: true, reason: undefined })
    }))

  test('say that a loop was cut by maxItems, unless the list ends there', () =>
    checkEach(
      [
        [40, 'max-items'],
        [100, undefined],
        [101, undefined],
      ] as const,
      async ([maxItems, reason]) => {
        const { list, events } = createList(100)
        await collect(list({ limit: 20 }, { maxItems }))
        expect(endOf(events)).toMatchObject({
          items: Math.min(100, maxItems),
          isComplete: reason === undefined,
          reason,
        })
      },
    ))
})

function driftOf(events: readonly ClientEvent[]): DriftEvent[] {
  return events.filter(event => event.type === 'drift')
}
