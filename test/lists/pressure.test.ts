import type { ListOptions, ListParams, Transaction } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { createClient } from '../service.ts'
import { checkEach } from '../support.ts'
import { collect, collectWith, createList, createServed, endOf, envelopeOf, ids, modes } from './lists.ts'

// Lists that change all the time, or much at once, and what that may cost.

const pool = sampleTransactions(20_000)

/** A list of `size` items. After each response, the first `changes` of them go, and `added` come at the end. */
function createRotatingList(size: number, changes: number, added = changes) {
  let next = size
  const fake = new FakeService({ transactions: pool.slice(0, size) })
  const fetch = async (url: string, init: RequestInit) => {
    const response = await fake.fetch(url, init)
    fake.transactions.splice(0, changes)
    fake.transactions.push(...pool.slice(next, next + added))
    next += added
    return response
  }
  const list = (params: ListParams, options?: ListOptions<Transaction>) =>
    createClient({ fetch }).transactions.list(params, options)
  return { fake, list }
}

/** Whether each item that is still there was yielded, in order, and none twice. */
function expectComplete(seen: readonly unknown[], before: readonly unknown[], after: readonly unknown[]) {
  const left = new Set(ids(after))
  const kept = new Set(ids(before).filter(id => left.has(id)))
  expect(ids(seen).filter(id => kept.has(id))).toEqual([...kept])
  expect(new Set(ids(seen)).size).toBe(seen.length)
}

test.each([
  [100, 1, 1, 62],
  [100, 4, 1, 62],
  [100, 4, 3, 68],
  [100, 4, 10, 95],
  [50, 4, 3, 80],
  [20, 4, 1, 85],
  [20, 1, 3, 97],
  [10, 4, 1, 220],
])(
  'a list that turns over is complete: limit %i, concurrency %i, %i items a response, at most %i requests',
  async (limit, concurrency, changes, maxRequests) => {
    // How fast this machine responds must not matter.
    vi.spyOn(performance, 'now').mockReturnValue(0)
    const { fake, list } = createRotatingList(50 * limit, changes)
    const seen = await collect(list({ limit }, { concurrency, verified: true }))
    expectComplete(seen, pool.slice(0, 50 * limit), fake.transactions)
    expect(fake.requests.length).toBeLessThanOrEqual(maxRequests)
  },
)

test('a list that loses two fifths of a page with each response is read before it is gone', () =>
  checkEach([20, 50, 100], async limit => {
    vi.spyOn(performance, 'now').mockReturnValue(0)
    const { fake, list } = createRotatingList(30 * limit, 0.4 * limit, 0)
    const seen = await collect(list({ limit }, { verified: true }))
    expectComplete(seen, pool.slice(0, 30 * limit), fake.transactions)
    expect(fake.requests.length).toBeLessThanOrEqual(55)
    expect(seen.length).toBeGreaterThan(0.9 * 30 * limit)
  }))

test('a list that grows at its beginning by half a page with each response is read to its end', () =>
  checkEach([20, 50, 100], async limit => {
    vi.spyOn(performance, 'now').mockReturnValue(0)
    const before = pool.slice(0, 30 * limit)
    const { list } = createServed((page, size, count) => {
      const from = before.length + (count * limit) / 2
      const added = pool.slice(before.length, from).reverse()
      return envelopeOf([...added, ...before], page, size)
    })
    const seen = await collect(list({ limit }, { verified: true, concurrency: 1 }))
    expectComplete(seen, before, before)
  }))

test('a list that changes is complete at any limit, however small', () =>
  checkEach([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], async limit => {
    for (const concurrency of [1, 4]) {
      const { fake, list } = createRotatingList(200, 0)
      const seen: Transaction[] = []
      for await (const item of list({ limit }, { concurrency, verified: true })) {
        if (seen.push(item) > 50 || seen.length % (2 * limit) > 0) continue
        fake.transactions.shift()
        fake.transactions.push(pool[1_000 + seen.length] as Transaction)
      }
      expectComplete(seen, fake.transactions, fake.transactions)
    }
  }))

test('a loop may remove what it reads', () =>
  checkEach([100, 20, 10], async limit => {
    for (const concurrency of [1, 4]) {
      const { fake, list, all, events } = createList(20 * limit)
      const seen: Transaction[] = []
      for await (const item of list({ limit }, { concurrency })) {
        seen.push(item)
        expect(fake.transactions.shift()).toEqual(item)
      }
      expect(seen).toEqual(all)
      expect(endOf(events)).toMatchObject({ isComplete: true, items: 20 * limit })
    }
  }))

test('a cursor finds its items again however far they have moved, and hardly a page is requested twice', () =>
  checkEach([400, 700, 1_500, 2_900, 2_999], async changes => {
    for (const concurrency of [1, 4]) {
      const { fake, list } = createList(3_000, { maxLimit: 100 })
      let after: string | undefined
      for await (const { cursor } of list({}).batches()) after = cursor
      fake.transactions.splice(0, changes)
      const added = pool.slice(3_000, 3_000 + changes)
      fake.transactions.push(...added)
      const sent = fake.requests.length
      expect(ids(await collect(list({}, { after, concurrency })))).toEqual(ids(added))
      const requested = fake.requests.slice(sent).map(({ query }) => `${query.page}/${query.limit}`)
      // The end of the list is looked at again when the loop gets there, and its order is checked once.
      const searched = requested.slice(0, -1)
      if (concurrency === 1) expect(new Set(searched).size).toBeGreaterThanOrEqual(searched.length - 2)
      expect(requested.length).toBeLessThanOrEqual((1.5 * changes) / 100 + 10)
    }
  }))

test('a list of more than 100,000 items loses none and doubles none, although the first are forgotten in the middle of a page', () =>
  checkEach<[string, at: number, (items: { id: number }[]) => unknown, isGone?: boolean]>(
    [
      ['one goes and one comes', 100_001, items => items.push(...items.splice(0, 1).map(() => ({ id: -1 })))],
      ['it moves back', 120_000, items => items.splice(5_000, 70_000)],
      [
        'it moves on',
        100_500,
        items => items.unshift(...Array.from({ length: 900 }, (_, id) => ({ id: -1 - id }))),
      ],
      ['all that was read goes', 49_000, items => items.splice(0, 49_000)],
      ['more goes than is remembered', 120_000, items => items.splice(0, 122_000), true],
    ],
    async ([, at, change, isGone]) => {
      const items = Array.from({ length: 130_000 }, (_, id) => ({ id }))
      const all = [...items]
      const { client } = createServed((page, limit) => envelopeOf(items, page, limit))
      const schema = z.looseObject({ id: z.number() })
      const options = { schema, itemKey: ({ id }: { id: number }) => id, verified: true, concurrency: 1 }
      const reading = collectWith(client.list('/rows', { limit: 1_000 }, options), at, () => change(items))
      if (isGone) await expect(reading).rejects.toThrow(/Start over/)
      else expectComplete(await reading, all, items)
    },
  ))

describe('`until`', () => {
  /** A list with the newest first, and the cursor of its first batch. */
  async function createGrowing(count: number, params: ListParams = {}) {
    const created = createList(count)
    const [batch] = await collect(created.list(params, { maxItems: params.limit ?? 100 }).batches())
    return { ...created, until: batch?.cursor }
  }

  test('lets a repeated job read only new items, each once', () =>
    checkEach([20, 100, 250, undefined], async limit => {
      for (const concurrency of [1, 4]) {
        const { fake, list, events, all } = createList(700)
        let until: string | undefined
        for (const count of [0, 0, 1, 99, 150, 300]) {
          const added = pool.slice(fake.transactions.length + 1_000).slice(0, count)
          fake.transactions.unshift(...added)
          const batches = await collect(list({ limit }, { until, concurrency }).batches())
          const read = batches.flatMap(({ items }) => items)
          expect(read).toEqual(until === undefined ? all : added)
          expect(endOf(events)).toMatchObject({ isComplete: true, items: read.length })
          if (until && count === 0) expect(endOf(events).requests).toBe(1)
          until = batches[0]?.cursor ?? until
        }
      }
    }))

  test('ends wherever its first item is on a page, also after a page with nothing left to read', () =>
    checkEach(modes, async verified => {
      for (const count of [19, 20, 21, 39, 40, 58, 59, 60]) {
        const { fake, list, events, until } = await createGrowing(10, { limit: 20 })
        const added = pool.slice(5_000, 5_000 + count)
        fake.transactions.unshift(...added)
        expect(await collect(list({ limit: 20 }, { until, verified }))).toEqual(added)
        expect(endOf(events).items).toBe(count)
      }
    }))

  test('reads the whole list where none of its items is left, and the next job goes on from there', () =>
    checkEach(modes, async verified => {
      const { fake, list, events, until } = await createGrowing(700, { limit: 50 })
      fake.transactions.splice(0, 50, ...pool.slice(5_000, 5_010))
      const batches = await collect(list({ limit: 50 }, { until, verified }).batches())
      expect(batches.flatMap(({ items }) => items)).toEqual(fake.transactions)
      expect(endOf(events)).toMatchObject({ isComplete: verified !== false })
      expect(await collect(list({ limit: 50 }, { until: batches[0]?.cursor, verified }))).toEqual([])
    }))

  test('works even if the newest items that the last run found are gone', async () => {
    const { fake, list, until } = await createGrowing(300)
    fake.transactions.unshift(...pool.slice(5_000, 5_002))
    const [batch] = await collect(list({}, { until }).batches())
    // The cursor also names older items.
    fake.transactions.splice(0, 2, ...pool.slice(5_002, 5_005))
    expect(await collect(list({}, { until: batch?.cursor }))).toEqual(pool.slice(5_002, 5_005))
  })

  test('is not possible beside `after`, and a wrong cursor is a TypeError before anything is sent', async () => {
    const { fake, list, until } = await createGrowing(30)
    const { length } = fake.requests
    for (const [params, options, message] of [
      [{}, { after: until, until }, /^until: cannot be combined with `after`/],
      [{ page: 2 }, { until }, /^page: cannot be combined with `until`/],
      [{}, { until, maxItems: 5 }, /^until: cannot be combined with `maxItems`/],
      [{ query: { a: 1 } }, { until }, /^until: .* other filters/],
      [{}, { until: `${until}0` }, /^until: .* damaged/],
      [{}, { until: null as never }, /^until: expected a cursor.* got null/],
    ] as const) {
      expect(() => list(params, options)).toThrow(TypeError)
      expect(() => list(params, options)).toThrow(message)
    }
    expect(fake.requests).toHaveLength(length)
  })
})
