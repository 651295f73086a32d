import type { Transaction } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { createClient, createObservedClient, service, startService } from '../service.ts'
import { checkEach, rejectionOf } from '../support.ts'
import {
  collect,
  createStage,
  envelopeOf,
  filterPages,
  idle,
  ids,
  iterateToError,
  iterateToPaginationError,
  newest,
  refundNumber,
  respondTo,
} from './lists.ts'

startService()

function createVerifiedList(dedupeBy: (item: { id: string }) => unknown) {
  const { fetch } = new FakeService({ transactions: sampleTransactions(60) })
  return createClient({ fetch }).transactions.list({ limit: 20 }, { verified: true, dedupeBy })
}

async function iterate(list: AsyncIterable<unknown>): Promise<void> {
  for await (const _item of list);
}

test('a verified walk throws a TypeError where nothing identifies an item, instead of repeating the list', () =>
  checkEach([undefined, null, Number.NaN, {}], async key => {
    expect(await rejectionOf(iterate(createVerifiedList(() => key)))).toBeInstanceOf(TypeError)
  }))

test('a verified walk throws a PaginationError when two items of one page have the same identity', async () => {
  const error = await rejectionOf(iterate(createVerifiedList(() => 'same')))
  expect(error).toMatchObject({ kind: 'pagination' })
})

describe('a verified list', () => {
  /** A service with a list of `count` items, and a client of it. */
  function createService(count: number, maxLimit = 100) {
    const fake = new FakeService({ transactions: sampleTransactions(count), maxLimit })
    const { client, events } = createObservedClient({ fetch: fake.fetch })
    return {
      fake,
      client,
      all: [...fake.transactions],
      windows: () =>
        fake.requests.map(({ query }) => ({ page: Number(query.page), limit: Number(query.limit) })),
      drift: () => events.filter(event => event.type === 'drift'),
    }
  }

  /** Iterates a verified list, and calls `change` when `at` items were read. */
  async function collectWith<T>(list: AsyncIterable<T>, at: number, change: () => void): Promise<T[]> {
    const seen: T[] = []
    for await (const item of list) {
      seen.push(item)
      if (seen.length === at) change()
    }
    return seen
  }

  /** The end of the page that contains the item before `end` and reaches farthest. */
  function farthestEnd(end: number, maxLimit: number): number {
    const limits = Array.from({ length: maxLimit }, (_, index) => index + 1)
    return Math.max(...limits.map(limit => Math.ceil(end / limit) * limit))
  }

  test.each([1, 4])(
    'yields an unchanged list by pages that overlap and reach farthest (concurrency %i)',
    async concurrency => {
      const { client, all, windows, drift } = createService(500)
      expect(await collect(client.transactions.list({ limit: 20 }, { verified: true, concurrency }))).toEqual(
        all,
      )
      expect(drift()).toEqual([])
      let end = 0
      for (const { page, limit } of windows()) {
        expect(limit).toBeLessThanOrEqual(20)
        expect((page - 1) * limit).toBeLessThanOrEqual(Math.max(0, end - 1))
        expect(page * limit).toBe(end === 0 ? 20 : farthestEnd(end, 20))
        end = page * limit
      }
      expect(end).toBeGreaterThanOrEqual(500)
    },
  )

  test('takes few requests more than it has pages', () =>
    checkEach(
      [
        [100, 1.15],
        [50, 1.23],
        [20, 1.4],
      ],
      async ([limit, factor]) => {
        const { client, all, windows } = createService(10_000)
        expect(await collect(client.transactions.list({ limit }, { verified: true }))).toEqual(all)
        expect(windows().length / (10_000 / limit)).toBeLessThan(factor + 0.05)
      },
    ))

  test('repairs removals at the head between two pages', () =>
    checkEach([1, 10, 25, 90], async removed => {
      const { fake, client, all } = createService(400)
      const list = client.transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
      expect(await collectWith(list, 100, () => fake.transactions.splice(0, removed))).toEqual(all)
    }))

  test('repairs removals that a prefetched page has missed', async () => {
    const stage = createStage(400, 20)
    const all = [...stage.items]
    const iteration = collect(createClient({ fetch: stage.fetch }).transactions.list({}, { verified: true }))
    await stage.respond(1)
    for (let changes = 0; changes < 10; changes++) {
      await idle()
      const [first, ...others] = stage.requests.filter(({ isSettled }) => !isSettled)
      first?.serve()
      stage.items.splice(0, 3)
      for (const request of others) request.respond()
      first?.deliver()
    }
    await stage.respondToAll()
    // All but the ten times three that were removed had been in the list throughout.
    const seen = await iteration
    expect(seen).toEqual(expect.arrayContaining(stage.items))
    expect(new Set(ids(seen)).size).toBe(seen.length)
    expect(ids(all).filter(id => ids(seen).includes(id))).toEqual(ids(seen))
  })

  test('notices items that are swapped between two requests, which no total shows', () =>
    checkEach([1, 30], async count => {
      const { fake, client, all } = createService(400)
      const list = client.transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
      const added = Array.from({ length: count }, (_, index) => newest(`new${index}`))
      const seen = await collectWith(list, 100, () => {
        fake.transactions.splice(0, count)
        fake.transactions.push(...added)
      })
      expect(seen).toEqual([...all, ...added])
    }))

  test('yields each item once when items are inserted at the head', async () => {
    const { fake, client, all } = createService(400)
    const list = client.transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
    const seen = await collectWith(list, 100, () =>
      fake.transactions.unshift(...Array.from({ length: 50 }, (_, index) => newest(`new${index}`))),
    )
    expect(ids(seen).filter(id => !String(id).startsWith('new'))).toEqual(ids(all))
    expect(new Set(ids(seen)).size).toBe(seen.length)
  })

  test('may end exactly where a page ends', () =>
    checkEach([20, 39, 40, 57, 58, 60, 100], async count => {
      const { client, all } = createService(count)
      expect(await collect(client.transactions.list({ limit: 20 }, { verified: true }))).toEqual(all)
    }))

  test('may be empty, or begin beyond the end, with one request each', async () => {
    const empty = createService(0)
    expect(await collect(empty.client.transactions.list({}, { verified: true }))).toEqual([])
    expect(empty.windows()).toHaveLength(1)
    const short = createService(5)
    expect(await collect(short.client.transactions.list({ page: 7 }, { verified: true }))).toEqual([])
    expect(short.windows()).toHaveLength(1)
  })

  test('is complete although its total is wrong, or lags behind', () =>
    checkEach<[string, (totals: number[]) => number]>(
      [
        ['too small', () => 60],
        ['zero', () => 0],
        ['lagging behind', totals => totals.at(-3) ?? 400],
      ],
      async ([, lie]) => {
        const items = sampleTransactions(400)
        const all = [...items]
        const totals: number[] = []
        respondTo((page, limit) => {
          totals.push(items.length)
          return { ...envelopeOf(items, page, limit), totalItems: lie(totals) }
        })
        const list = createClient().transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
        expect(await collectWith(list, 200, () => items.splice(0, 30))).toEqual(all)
      },
    ))

  describe('of a service whose total is larger than what it shows', () => {
    /** As a service that counts pages from 0: its first page is never shown. */
    const countFromZero = () => {
      const all = sampleTransactions(250)
      respondTo((page, limit) => ({ ...envelopeOf(all, page + 1, limit), page }))
      return all
    }

    test('is a PaginationError', async () => {
      countFromZero()
      const list = createClient().transactions.list({ limit: 100 }, { verified: true })
      const { error } = await iterateToPaginationError(list)
      expect(error.page).toBe(1)
    })

    test("ends where its pages end with onMissedItems: 'continue'", async () => {
      const all = countFromZero()
      const options = { verified: true, onMissedItems: 'continue' } as const
      const list = createClient().transactions.list({ limit: 100 }, options)
      expect(await collect(list)).toEqual(all.slice(100))
    })
  })

  test('ends where its pages end if one of its last two responses has no larger total', () =>
    checkEach([3, 4], async tooLarge => {
      const all = sampleTransactions(45)
      respondTo((page, limit, count) => {
        const totalItems = count === tooLarge ? 60 : 45
        return { ...envelopeOf(all, page, limit), totalItems }
      })
      const list = createClient().transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
      expect(await collect(list)).toEqual(all)
    }))

  test('is complete although the service filters its pages after it has cut them', () =>
    checkEach([3, 4, 5, 6, 7, 8, 9, 10, 11, 12], async step => {
      const shown = filterPages(120, index => index % step === 0)
      const list = createClient().transactions.list({ limit: 20 }, { verified: true })
      expect(await collect(list)).toEqual(shown)
    }))

  test('ends where such a service has no page after the last one', async () => {
    const shown = filterPages(
      70,
      index => index % 35 === 0,
      start => start >= 68,
    )
    const list = createClient().transactions.list({ limit: 50 }, { verified: true })
    expect(await collect(list)).toEqual(shown)
  })

  test('resumes at page 1 where a page was short, as an item of it may be missing', async () => {
    const all = sampleTransactions(52)
    const requested = respondTo((page, limit) => {
      if (page === 3) return new Response(null, { status: 400 })
      const { data, ...envelope } = envelopeOf(all, page, limit)
      return { ...envelope, data: data.filter(item => item !== all[48]) }
    })
    const list = createClient().transactions.list({ limit: 50 }, { verified: true })
    const { before, error } = await iterateToError(list)
    expect(before).toHaveLength(51)
    expect(error).toMatchObject({ kind: 'http', page: 1 })
    expect(requested).toEqual([1, 2, 2, 3])
  })

  test('fails where such a service has no page after the last one, but has shown too few items', async () => {
    const shown = filterPages(
      21,
      index => [5, 7, 10, 11].includes(index),
      start => start >= 17,
    )
    const list = createClient().transactions.list({ limit: 10 }, { verified: true })
    const { before, error } = await iterateToError(list)
    expect(before).toEqual(shown.slice(0, -1))
    expect(error).toMatchObject({ kind: 'http', status: 404, page: 1 })
  })

  test('goes on after a short page when more was added behind it meanwhile', () =>
    checkEach(['throw', 'continue'] as const, async onMissedItems => {
      const all = sampleTransactions(100)
      respondTo((page, limit, count) => ({
        ...envelopeOf(all.slice(0, count < 4 ? 45 : 100), page, limit),
        totalItems: 100,
      }))
      const options = { verified: true, concurrency: 1, onMissedItems } as const
      expect(await collect(createClient().transactions.list({ limit: 20 }, options))).toEqual(all)
    }))

  test('is a PaginationError when the service does not honour smaller limits', async () => {
    const all = sampleTransactions(400)
    respondTo(page => envelopeOf(all, page, 20))
    const list = createClient().transactions.list({ limit: 20 }, { verified: true })
    const { before } = await iterateToPaginationError(list)
    expect(before).toEqual(all.slice(0, before.length))
  })

  test('yields each item once when a replica that is behind answers now and then', async () => {
    const old = sampleTransactions(4_000)
    const imported = Array.from({ length: 2_200 }, (_, index) => newest(`new${index}`))
    const afterImportOf = (count: number) => [...imported.slice(imported.length - count), ...old]
    // The up-to-date replica shows far more items at the head, twice: once before and once after the memory has moved on.
    const heads = (count: number) => (count <= 11 ? 0 : count === 12 ? 1_150 : count === 22 ? 2_200 : 130)
    respondTo((page, limit, count) => envelopeOf(afterImportOf(heads(count)), page, limit))
    const list = createClient().transactions.list({ limit: 125 }, { verified: true, concurrency: 1 })
    expect(ids(await collect(list))).toEqual(ids(old))
  })

  test('reads what was imported at its head, if it still remembers all of the list', () =>
    checkEach<[at: number, imported: number, concurrency: number]>(
      [
        [700, 900, 2],
        [900, 5_000, 4],
        [1_500, 3_000, 1],
      ],
      async ([at, imported, concurrency]) => {
        const { fake, client, all } = createService(3_000)
        const added = Array.from({ length: imported }, (_, index) => newest(`new${index}`))
        const list = client.transactions.list({ limit: 100 }, { verified: true, concurrency })
        const seen = await collectWith(list, at, () => fake.transactions.unshift(...added))
        expect(new Set(ids(seen)).size).toBe(seen.length)
        expect(seen.filter(({ id }) => !id.startsWith('new'))).toEqual(all)
      },
    ))

  test('goes on as before when the last item that was read was removed', async () => {
    const all = sampleTransactions(8_000)
    const seen: Transaction[] = []
    let current = all
    respondTo((page, limit, count) => {
      if (count === 4) current = current.filter(item => item.id !== seen.at(-1)?.id)
      // More than eight times in all, with new items between.
      if (count > 4 && count % 6 === 0) current = current.slice(150)
      return envelopeOf(current, page, limit)
    })
    const list = createClient().transactions.list({ limit: 100 }, { verified: true, concurrency: 1 })
    for await (const item of list) seen.push(item)
    expect(seen).toEqual(all)
  })

  test('does not block the program when the service echoes a huge limit but sends fewer items', async () => {
    const all = sampleTransactions(400)
    respondTo((page, limit) => ({ ...envelopeOf(all, page, Math.min(limit, 50)), limit }))
    const list = createClient().transactions.list({ limit: Number.MAX_SAFE_INTEGER }, { verified: true })
    const { before } = await iterateToPaginationError(list)
    expect(before).toEqual(all.slice(0, 50))
  })

  test('is a PaginationError where its limit is too small to overlap, and starts over with a larger one', () =>
    // The position is a multiple of every limit up to this one, so no window spans it.
    checkEach<[limit: number, position: number]>(
      [
        [1, 1],
        [2, 2],
        [3, 6],
        [5, 60],
      ],
      async ([limit, position]) => {
        const { fake, client } = createService(2_000)
        const list = client.transactions.list({ limit }, { verified: true })
        const { before, error } = await iterateToPaginationError(list)
        expect(before).toEqual(fake.transactions.slice(0, before.length))
        expect(error.page).toBe(1)
        expect(before.length).toBeGreaterThanOrEqual(position - limit)
      },
    ))

  test('is a PaginationError when no window would show that the end of the list was reached', async () => {
    const { fake, client } = createService(60)
    const list = (options = {}) => client.transactions.list({ limit: 5 }, { verified: true, ...options })
    await iterateToPaginationError(list())
    expect(await collect(list({ maxItems: 60 }))).toEqual(fake.transactions)
    fake.transactions.pop()
    expect(await collect(list())).toEqual(fake.transactions)
  })

  test('may begin where no window overlaps', async () => {
    // 60 is a multiple of every limit up to 5.
    const { fake, client } = createService(119)
    const list = client.transactions.list({ page: 13, limit: 5 }, { verified: true })
    expect(await collect(list)).toEqual(fake.transactions.slice(60))
  })

  test('is a PaginationError where no window overlaps in a list that grew', () =>
    checkEach([1, 4], async concurrency => {
      const { fake, client, all } = createService(55)
      const list = client.transactions.list({ limit: 5 }, { verified: true, concurrency })
      const added = Array.from({ length: 20 }, (_, index) => newest(`new${index}`))
      const read: Transaction[] = []
      const iteration = (async () => {
        for await (const item of list) {
          read.push(item)
          if (read.length === 20) fake.transactions.push(...added)
        }
      })()
      expect(await rejectionOf(iteration)).toMatchObject({ kind: 'pagination', page: 1 })
      expect(read.length).toBeGreaterThanOrEqual(55)
      expect(read).toEqual([...all, ...added].slice(0, read.length))
    }))

  test('leaves out an item that is inserted before the last one that was read', async () => {
    const { fake, client, all } = createService(40)
    const list = client.transactions.list({ limit: 5 }, { verified: true, concurrency: 1 })
    const seen = await collectWith(list, 5, () => fake.transactions.splice(4, 0, newest('new')))
    expect(seen).toEqual(all)
  })

  test('goes back farther each time until it finds an item that it knows, and reads on from there', async () => {
    const { fake, client, all, windows } = createService(2_000)
    const list = client.transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
    const added = Array.from({ length: 340 }, (_, index) => newest(`new${index}`))
    const starts = () => windows().map(({ page, limit }) => (page - 1) * limit)
    let requests = 0
    const seen = await collectWith(list, 600, () => {
      requests = windows().length
      // The total stays: nothing tells how far the items have moved.
      fake.transactions.splice(0, 340)
      fake.transactions.push(...added)
    })
    expect(seen).toEqual([...all, ...added])
    expect(windows()[requests - 1]).toEqual({ page: 34, limit: 18 })
    // 612 items were read, of which the last is at 271 now. The gap, then 20, 60, 140, 300 items before the window before.
    expect(starts().slice(requests, requests + 8)).toEqual([608, 600, 578, 513, 368, 60, 76, 90])
  })

  test('is a PaginationError when the service ignores the page', async () => {
    const all = sampleTransactions(100)
    respondTo((page, limit) => ({ ...envelopeOf(all, 1, limit), page }))
    const list = createClient().transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
    const { before, error } = await iterateToPaginationError(list)
    expect(before).toEqual(all.slice(0, 20))
    expect(error.page).toBe(1)
  })

  test('is a PaginationError when its first page is empty, although its total says more', async () => {
    respondTo(page => ({ data: [], page, totalItems: 25, limit: 20 }))
    const list = createClient().transactions.list({}, { verified: true })
    expect((await iterateToPaginationError(list)).before).toEqual([])
  })

  test('is a PaginationError when its first page becomes empty, but the second does not', async () => {
    let requests = 0
    respondTo((page, limit) => {
      const ids = page === 1 && requests > 0 ? [] : sampleTransactions(limit)
      const data = ids.map(item => ({ ...item, id: `${requests > 0}-${item.id}` }))
      requests++
      return { data, page, totalItems: 60, limit }
    })
    const list = createClient().transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
    await iterateToPaginationError(list)
    expect(requests).toBeLessThan(30)
  })

  test('resumes at its first page when that fails', async () => {
    respondTo(() => new Response(null, { status: 404 }))
    const list = createClient().transactions.list({ page: 3 }, { verified: true })
    expect((await iterateToError(list)).error).toMatchObject({ status: 404, page: 3 })
  })

  test('resumes at page 1 when a request fails while it looks for what it knows', async () => {
    const fake = new FakeService({ transactions: sampleTransactions(400) })
    let requestsLeft = Number.POSITIVE_INFINITY
    const fetch = async (url: string, init: RequestInit) =>
      requestsLeft-- > 0 ? fake.fetch(url, init) : new Response(null, { status: 404 })
    const list = createClient({ fetch }).transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
    const iteration = collectWith(list, 100, () => {
      fake.transactions.splice(0, 60)
      requestsLeft = 1
    })
    expect(await rejectionOf(iteration)).toMatchObject({ status: 404, page: 1 })
  })

  /** A walk over 400 items whose responses come when the test says so. */
  function walkByHand(limit: number, concurrency: number) {
    const stage = createStage(400, limit)
    const client = createClient({ fetch: stage.fetch, maxRetries: 0 })
    const walked = iterateToError(client.transactions.list({}, { verified: true, concurrency }))
    const inFlight = async () => {
      await idle()
      return stage.requests.filter(({ isSettled }) => !isSettled)
    }
    /** Responds so often to the request in flight that is this one by age. */
    const respond = async (times: number, index = 0) => {
      for (let time = 0; time < times; time++) (await inFlight())[index]?.respond()
    }
    const lose = async () => (await inFlight())[0]?.lose()
    return { ...stage, walked, respond, lose }
  }

  test('resumes at page 1 when a later page shows that the list shrank', async () => {
    const { items, walked, respond, lose } = walkByHand(20, 4)
    await respond(3)
    items.splice(0, 25)
    await respond(1, 1)
    await lose()
    const { before, error } = await walked
    expect(before.length).toBeGreaterThan(50)
    expect(error).toMatchObject({ kind: 'connection', page: 1 })
  })

  test.each([
    ['is shorter', 0],
    ['has other items instead of the first ones', 2],
  ])('resumes at page 1 when older states follow one that %s', async (_, added) => {
    const { items, walked, respond, lose } = walkByHand(10, 4)
    await respond(13)
    await respond(4, 1)
    const removed = items.splice(0, 2)
    items.push(...removed.slice(0, added).map(item => ({ ...item, id: `new-${item.id}` })))
    await respond(1)
    await lose()
    const { before, error } = await walked
    expect(before).toHaveLength(112)
    expect(error).toMatchObject({ kind: 'connection', page: 1 })
  })

  test.each([
    ['is not there', () => new Response(null, { status: 404 })],
    ['has another number', () => Response.json(envelopeOf(sampleTransactions(100), 1, 20))],
  ])('resumes at page 1 when a page that the total promised %s', async (_, respondInstead) => {
    let requests = 0
    const all = sampleTransactions(100)
    respondTo((page, limit) => (++requests < 4 ? envelopeOf(all, page, limit) : respondInstead()))
    const options = { verified: true, concurrency: 1 }
    const list = createClient().transactions.list({ limit: 20 }, options)
    const { before, error } = await iterateToError(list)
    expect(before.length).toBeGreaterThan(40)
    expect(error).toMatchObject({ page: 1 })
  })

  test('resumes at page 1 when it went back for a state that was newer than those that follow', async () => {
    const { items, walked, respond, lose } = walkByHand(10, 1)
    await respond(9)
    const older = [...items]
    items.push(...items.splice(0, 30).map(item => ({ ...item, id: `new-${item.id}` })))
    await respond(1)
    items.splice(0, 400, ...older)
    await respond(3)
    await lose()
    expect((await walked).error).toMatchObject({ kind: 'connection', page: 1 })
  })

  test('goes on at the beginning of the list when all items before it were removed', async () => {
    const { fake, client } = createService(100)
    const all = [...fake.transactions]
    const read: Transaction[] = []
    for await (const item of client.transactions.list({ limit: 20 }, { verified: true })) {
      read.push(item)
      if (read.length === 20) fake.transactions.splice(0, 50)
    }
    const later = read.slice(20)
    expect(later.slice(-50)).toEqual(all.slice(50))
    expect(new Set(read).size).toBe(read.length)
  })

  test('that began at a later page is a PaginationError when all items that it read were removed', async () => {
    const { fake, client } = createService(100)
    const list = client.transactions.list({ page: 2, limit: 20 }, { verified: true, concurrency: 1 })
    let read = 0
    const iteration = (async () => {
      for await (const _item of list) if (++read === 20) fake.transactions.splice(0, 60)
    })()
    const error = await rejectionOf(iteration)
    expect(error).toMatchObject({ kind: 'pagination', page: 1 })
  })

  test('recognises what it read seven of the longest pages ago', () =>
    checkEach([100, 500], async limit => {
      const { fake, client, all } = createService(20 * limit, limit)
      const list = client.transactions.list({ limit }, { verified: true, concurrency: 1 })
      const seen = await collectWith(list, 12 * limit, () => fake.transactions.splice(6 * limit, 7 * limit))
      expect(seen.slice(0, 6 * limit)).toEqual(all.slice(0, 6 * limit))
      expect(seen.slice(-7 * limit)).toEqual(all.slice(13 * limit))
      expect(new Set(seen).size).toBe(seen.length)
    }))

  test('is a PaginationError, rather than yields an item twice, when only items are left that it has forgotten', async () => {
    const { fake, client } = createService(4_000)
    const list = client.transactions.list({ limit: 100 }, { verified: true, concurrency: 1 })
    const seen: Transaction[] = []
    const iteration = (async () => {
      for await (const item of list) if (seen.push(item) === 2_500) fake.transactions.splice(500, 2_100)
    })()
    expect(await rejectionOf(iteration)).toMatchObject({ kind: 'pagination', page: 1 })
    expect(new Set(seen).size).toBe(seen.length)
  })

  test('is a PaginationError when none of the items that were read is left', async () => {
    const { fake, client } = createService(400)
    const list = client.transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
    const before: Transaction[] = []
    const iteration = (async () => {
      for await (const item of list) {
        before.push(item)
        // More than is remembered has been removed once the beginning of the list is new, too.
        if (before.length % 20 === 0) {
          fake.transactions.splice(0, fake.transactions.length, ...sampleTransactions(400, before.length))
          for (const item of fake.transactions) item.id += `-${before.length}`
        }
        if (before.length > 4_000) break
      }
    })()
    const error = await rejectionOf(iteration)
    expect(error).toMatchObject({ kind: 'pagination', page: 1 })
  })

  test('is a TypeError without identity, and has no pages()', async () => {
    const schema = z.looseObject({ number: z.number() })
    const client = createClient()
    expect(() => client.list('/refunds', {}, { schema, verified: true })).toThrow(/^verified: /)
    expect(() => client.transactions.list({}, { verified: true }).pages()).toThrow(TypeError)
    expect(service.requests).toEqual([])
    const refunds = Array.from({ length: 50 }, (_, number) => ({ number }))
    service.serveList('/refunds', refunds)
    const list = client.list('/refunds', { limit: 20 }, { schema, verified: true, dedupeBy: refundNumber })
    expect(await collect(list)).toEqual(refunds)
  })

  test('keeps no more pages in flight than its concurrency', () =>
    checkEach([1, 2, 4], async concurrency => {
      const stage = createStage(600, 20)
      const client = createClient({ fetch: stage.fetch, concurrency })
      const iteration = collect(client.transactions.list({ limit: 20 }, { verified: true }))
      await stage.respondToAll()
      expect(await iteration).toEqual(stage.items)
      expect(stage.mostInFlight).toBe(concurrency)
    }))

  test('yields at most maxItems items, and requests no page beyond', () =>
    checkEach([0, 1, 20, 21, 100, 399, 400, 500], async maxItems => {
      const { client, all, windows } = createService(400)
      const list = client.transactions.list({ limit: 20 }, { verified: true, maxItems })
      expect(await collect(list)).toEqual(all.slice(0, maxItems))
      for (const { page, limit } of windows()) expect((page - 1) * limit).toBeLessThan(maxItems)
    }))

  test('is cancelled by break', async () => {
    const stage = createStage(600, 20)
    const client = createClient({ fetch: stage.fetch })
    let read = 0
    const iteration = (async () => {
      for await (const _item of client.transactions.list({ limit: 20 }, { verified: true })) {
        if (++read === 45) break
      }
    })()
    for (let responses = 0; responses < 3; responses++) {
      await idle()
      stage.requests.find(({ isSettled }) => !isSettled)?.respond()
    }
    await iteration
    await idle()
    expect(stage.inFlight).toEqual([])
    expect(stage.requests.filter(({ isAborted }) => isAborted).length).toBeGreaterThan(0)
  })

  test('resumes from the page of an error, in units of the caller’s limit', () =>
    checkEach([2, 3, 7, 15], async failing => {
      const all = sampleTransactions(400)
      const limits: number[] = []
      respondTo((page, limit, count) => {
        limits.push(limit)
        return count === failing ? new Response(null, { status: 400 }) : envelopeOf(all, page, limit)
      })
      const client = createClient()
      const options = { verified: true, concurrency: 1 }
      const { before, error } = await iterateToError(client.transactions.list({ limit: 20 }, options))
      const { page = 0 } = error as { page?: number }
      expect(before).toEqual(all.slice(0, before.length))
      // The page of 20 that contains the last item read.
      expect(page).toBe(Math.ceil(before.length / 20))
      expect(limits.at(-1)).toBeLessThanOrEqual(20)
      const rest = await collect(client.transactions.list({ page, limit: 20 }, options))
      expect(new Set(ids([...before, ...rest]))).toEqual(new Set(ids(all)))
    }))

  test('fetches several windows at once again after one that failed was dropped', async () => {
    const items = sampleTransactions(400)
    const fake = new FakeService({ transactions: items })
    let requests = 0
    let inFlight = 0
    let most = 0
    const fetch: typeof fake.fetch = async (url, init) => {
      const number = ++requests
      // The window after page 1 shows that so much was removed that the walk must go back; the one after it has failed by then.
      if (number === 2) fake.transactions.splice(0, 60)
      if (number === 3) return new Response(null, { status: 500 })
      inFlight++
      if (number > 5) most = Math.max(most, inFlight)
      const response = await fake.fetch(url, init)
      await idle()
      inFlight--
      return response
    }
    const { baseUrl, apiKey } = fake
    const client = createClient({ baseUrl, apiKey, fetch, maxRetries: 0 })
    const seen = await collect(client.transactions.list({ limit: 20 }, { verified: true }))
    expect(ids(seen)).toEqual(ids([...items.slice(0, 20), ...items.slice(60)]))
    expect(most).toBe(4)
  })
})
