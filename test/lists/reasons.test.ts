import { HttpError, type IncompleteReason, type ListOptions, type Transaction } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import { checkEach } from '../support.ts'
import {
  collect,
  createList,
  createServed,
  type Envelope,
  endOf,
  envelopeOf,
  ids,
  iterateOrCollect,
  iterateToError,
  iterateToPaginationError,
  modes,
  newItems,
} from './lists.ts'

// What a loop says when it cannot be complete, or has no end. What changing lists need is in changing-lists.test.ts and pressure.test.ts.

describe('equal dates whose order depends on the limit', () => {
  /** As PostgreSQL sorts equal dates: the order depends on the limit, and on nothing else. */
  const tied = (count: number) => {
    const rows = sampleTransactions(count)
    return (page: number, limit: number): Envelope => {
      const rank = (place: number) => Math.imul(place + 1, 0x9e3779b1 * (limit + 1)) >>> 0
      const sorted = rows
        .map((row, place) => ({ row, order: rank(place) }))
        .toSorted((a, b) => a.order - b.order)
        .map(({ row }) => row)
      return envelopeOf(sorted, page, limit)
    }
  }

  test('are an error, with the smallest list and window, too', () =>
    checkEach(
      [
        [6, 3],
        [90, 50],
        [180, 100],
        [330, 100],
      ] as const,
      async ([count, limit]) => {
        for (const verified of [undefined, true]) {
          const { list } = createServed(tied(count))
          const { error } = await iterateToPaginationError(list({ limit }, { verified }))
          expect(error).toMatchObject({ reason: 'order-not-stable' })
        }
      },
    ))

  test("are read on with onMissedItems: 'continue', and the end event says so", async () => {
    const { list, events } = createServed(tied(180))
    await collect(list({ limit: 100 }, { onMissedItems: 'continue' }))
    expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'order-not-stable' })
  })

  test('are an error if only requests that reach the end sort differently, or no row is lost', () =>
    checkEach([2, 5, 20, 1_000], async ties => {
      const outcomes = new Set<boolean>()
      for (let seed = 1; seed <= 30; seed++) {
        const rows = sampleTransactions([30, 120, 205][seed % 3] as number)
        const sortBy = (salt: number) => {
          const rank = (place: number) =>
            Math.floor(place / ties) * 2 ** 32 + (Math.imul(place + 1, 0x9e3779b1 * (salt + 2 * seed)) >>> 0)
          return rows.toSorted((a, b) => rank(rows.indexOf(a)) - rank(rows.indexOf(b)))
        }
        // PostgreSQL keeps the first rows on a heap where it needs few of them, and sorts all of them where it needs most.
        const heap = sortBy(1)
        const quick = sortBy(2)
        const { list, events } = createServed((page, limit) =>
          envelopeOf(page * limit < rows.length ? heap : quick, page, limit),
        )
        const { before, error } = await iterateOrCollect(list({ limit: seed % 2 ? 10 : 20 }))
        if (error === undefined) expect(new Set(before)).toHaveLength(rows.length)
        else expect(error).toMatchObject({ reason: 'order-not-stable' })
        outcomes.add(error === undefined)
        await collect(list({ limit: 10 }, { onMissedItems: 'continue' }))
        expect([undefined, 'order-not-stable']).toContain(endOf(events).reason)
      }
      expect(outcomes).toContain(false)
    }))

  test('look like two items with one key on different pages, which also cause an error', async () => {
    const rows = sampleTransactions(90).map((row, place) => ({ ...row, id: `key${place % 45}` }))
    const { list, events } = createServed((page, limit) => envelopeOf(rows, page, limit))
    const { error } = await iterateToPaginationError(list({ limit: 20 }))
    expect(error).toMatchObject({ reason: 'order-not-stable' })
    expect(error.message).toContain('or two of them have the same key')
    await collect(list({ limit: 20 }, { onMissedItems: 'continue' }))
    expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'order-not-stable' })
  })

  test('are not suspected where responses come from two replicas in turn', async () => {
    const old = sampleTransactions(60)
    const moved = [...old.slice(1), ...newItems(1)]
    const replicas = createServed((page, limit, count) => envelopeOf(count % 2 ? old : moved, page, limit))
    const read = await collect(replicas.list({ limit: 20 }))
    expect(ids(read).filter(id => id !== 'new0')).toEqual(ids(old))
  })
})

describe('a loop `until` a cursor', () => {
  const newestFirst = async (count: number) => {
    const created = createList(count)
    const [batch] = await collect(created.list({}, { maxItems: 100 }).batches())
    return { ...created, until: batch?.cursor }
  }

  test('yields what was committed late between the items that the cursor names', async () => {
    const { fake, list, events, until } = await newestFirst(300)
    const [first, late, later] = newItems(3)
    fake.transactions.splice(30, 0, late as never)
    fake.transactions.splice(80, 0, later as never)
    fake.transactions.unshift(first as never)
    const batches = await collect(list({}, { until }).batches())
    expect(batches.flatMap(({ items }) => ids(items))).toEqual(['new0', 'new1', 'new2'])
    expect(endOf(events)).toMatchObject({ isComplete: true, items: 3 })
    expect(await collect(list({}, { until: batches[0]?.cursor }))).toEqual([])
  })

  test('yields any number of rows committed late between them, however pages cut these, and no row twice', () =>
    checkEach(
      [20, 100].flatMap(limit =>
        modes.flatMap(verified => [1, 10, 50, 300].map(count => ({ limit, verified, count }))),
      ),
      async ({ limit, verified, count }) => {
        for (const place of [1, limit / 2, limit - 1]) {
          const { fake, list, events } = createList(300)
          const job = (until?: string) => collect(list({ limit }, { until, verified }).batches())
          const [batch] = await job()
          const [head, ...late] = newItems(count + 1)
          fake.transactions.splice(place, 0, ...late)
          fake.transactions.unshift(head as never)
          const batches = await job(batch?.cursor)
          expect(batches.flatMap(({ items }) => ids(items))).toEqual(ids([head, ...late]))
          expect(endOf(events).isComplete).toBe(verified !== false)
          expect(await job(batches[0]?.cursor)).toEqual([])
        }
      },
    ))

  test('ends after two more requests if the last items of its cursor are gone', () =>
    checkEach(modes, async verified => {
      const { fake, list, events } = createList(300)
      const [batch] = await collect(list({ limit: 20 }, { verified }).batches())
      fake.transactions.splice(15, 5)
      fake.transactions.unshift(...(newItems(2) as never[]))
      const read = await collect(list({ limit: 20 }, { until: batch?.cursor, verified, concurrency: 1 }))
      expect(ids(read)).toEqual(['new0', 'new1'])
      expect(endOf(events).requests).toBe(3)
    }))

  test("is complete if one page is left of the list, and the cursor's last item is gone", () =>
    checkEach(modes, async verified => {
      const { fake, list, events, until } = await newestFirst(300)
      fake.transactions.splice(40, 220)
      fake.transactions.unshift(...(newItems(2) as never[]))
      expect(ids(await collect(list({}, { until, verified })))).toEqual(['new0', 'new1'])
      expect(endOf(events)).toMatchObject({ isComplete: true, items: 2 })
    }))

  test("of a run with several batches yields none of the run's items again", async () => {
    const { fake, list, until } = await newestFirst(300)
    const added = newItems(250)
    fake.transactions.unshift(...added)
    const batches = await collect(list({}, { until }).batches())
    expect(batches.flatMap(({ items }) => items)).toEqual(added)
    expect(await collect(list({}, { until: batches[0]?.cursor }))).toEqual([])
  })
})

describe('a list that grows where a loop does not read', () => {
  const grow = (where: 'at the beginning' | 'at the end', items: unknown[]) =>
    where === 'at the end' ? items.push(...newItems(30)) : items.unshift(...newItems(30))

  test('is not complete, and with `verified: true` the error names the other option', () =>
    checkEach(
      [
        ['until', 'at the end'],
        ['after', 'at the beginning'],
      ] as const,
      async ([option, where]) => {
        const { fake, list, events } = createList(300)
        const batches = await collect(list().batches())
        const cursor = batches.at(option === 'until' ? 0 : -1)?.cursor
        grow(where, fake.transactions)
        expect(await collect(list({}, { [option]: cursor }))).toEqual([])
        expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'added-elsewhere' })
        const { error } = await iterateToPaginationError(list({}, { [option]: cursor, verified: true }))
        expect(error).toMatchObject({ reason: 'added-elsewhere' })
        expect(error.message).toMatch(/has grown, .* \(30 more items\)\. Does the list grow at its other end/)
        expect(error.message).toContain(option === 'until' ? 'Pass `after`' : 'Pass `until`')
      },
    ))

  test('is seen however many items were added', () =>
    checkEach([101, 1_000], async count => {
      for (const limit of [20, 100]) {
        const { fake, list } = createList(250)
        const cursor = (await collect(list({ limit }).batches())).at(-1)?.cursor
        fake.transactions.unshift(...newItems(count))
        const { error } = await iterateToPaginationError(list({}, { after: cursor, verified: true }))
        expect(error).toMatchObject({ reason: 'added-elsewhere' })
      }
    }))

  test('is complete after the cursor of a loop that was interrupted at its last item', async () => {
    const { fake, list, events } = createList(198)
    const controller = new AbortController()
    let count = 0
    const interrupted = iterateToError(list({ limit: 100 }, { signal: controller.signal }), () => {
      if (++count === 198) controller.abort()
    })
    const { error } = await interrupted
    grow('at the beginning', fake.transactions)
    expect(await collect(list({}, { after: error.cursor, verified: true }))).toEqual([])
    expect(endOf(events)).toMatchObject({ isComplete: true })
  })

  test('is complete if the loop finds all additions, or there are none', () =>
    checkEach(
      [
        ['until', 'at the beginning'],
        ['after', 'at the end'],
      ] as const,
      async ([option, where]) => {
        const { fake, list, events } = createList(300)
        const batches = await collect(list().batches())
        const cursor = batches.at(option === 'until' ? 0 : -1)?.cursor
        const options = { [option]: cursor, verified: true }
        expect(await collect(list({}, options))).toEqual([])
        grow(where, fake.transactions)
        expect(await collect(list({}, options))).toHaveLength(30)
        expect(endOf(events)).toMatchObject({ isComplete: true })
      },
    ))
})

describe('a service that contradicts itself', () => {
  const all = sampleTransactions(300)

  test('that counts rows after it reads the page is read completely', async () => {
    const rows = sampleTransactions(250)
    const { list, events } = createServed((page, limit) => {
      const { data } = envelopeOf(rows, page, limit)
      if (rows.length < 256) rows.push(...sampleTransactions(1, 1_000 + rows.length))
      return { data, page, limit, totalItems: rows.length }
    })
    const read = await collect(list({ limit: 100 }, { verified: true, concurrency: 1 }))
    expect(read.slice(0, 250)).toEqual(rows.slice(0, 250))
    expect(endOf(events)).toMatchObject({ isComplete: true })
  })

  test('whose count is always one row ahead of its page is read completely', () =>
    checkEach([5, 40, 150], async count => {
      for (const limit of [undefined, 10]) {
        const rows = sampleTransactions(count)
        const { list, events, requested } = createServed((page, limit) => {
          const { data } = envelopeOf(rows, page, limit)
          rows.push(...sampleTransactions(1, 1_000 + rows.length))
          return { data, page, limit, totalItems: rows.length }
        })
        const read = await collect(list({ limit }, { verified: true }))
        expect(read).toEqual(rows.slice(0, read.length))
        expect(endOf(events)).toMatchObject({ isComplete: true })
        expect(requested.length).toBeLessThanOrEqual(80)
      }
    }))

  test('whose last page says its own length as limit, or 0, is read to its end', () =>
    checkEach(modes, async verified => {
      for (const limitOfLast of [
        (length: number) => length,
        (length: number, limit: number) => length && limit,
      ]) {
        const { client } = createServed((page, limit) => {
          const envelope = envelopeOf(all.slice(0, 90), page, limit)
          const { length } = envelope.data
          return length < limit ? { ...envelope, limit: limitOfLast(length, limit) } : envelope
        })
        const { list } = client.transactions
        expect(await collect(list({ limit: 20 }, { verified }))).toEqual(all.slice(0, 90))
        const page = await list({ page: 4, limit: 20 })
        expect(await page.nextPage()).toMatchObject({ page: 5, limit: 20 })
      }
    }))

  test('that has one page size, and no page beyond the end, is read to its end, and again after a cursor', () =>
    checkEach(
      [
        [20, 404],
        [20, 422],
        [40, 404],
      ] as const,
      async ([count, status]) => {
        const { list, events } = createServed(page =>
          (page - 1) * 20 >= count
            ? new Response(null, { status })
            : envelopeOf(all.slice(0, count), page, 20),
        )
        let cursor: string | undefined
        for await (const batch of list().batches()) cursor = batch.cursor
        expect(await collect(list({}, { after: cursor }))).toEqual([])
        const ends = events.filter(event => event.type === 'end')
        expect(ends.map(({ items, reason }) => [items, reason])).toEqual([
          [count, 'limit-not-honoured'],
          [0, 'limit-not-honoured'],
        ])
      },
    ))

  test('that returns page 1 whatever the page, and says so, is said to ignore it', () =>
    checkEach(modes, async verified => {
      const { list } = createServed((_, limit) => envelopeOf(all, 1, limit))
      const { error } = await iterateToError(list({}, { verified }))
      expect(error.message).toBe(
        'GET /transactions (page 2): page 2 was requested, but page 1 was returned. The service ignores `page`, or your own proxy drops the query.',
      )
    }))

  test('that lowers its limit, so that a page looks like the last one, makes a loop throw', () =>
    checkEach([undefined, true], async verified => {
      let requests = 0
      const { list, events } = createServed((page, limit) => {
        const [length, most] = requests++ === 0 ? [140, 100] : [149, 50]
        return envelopeOf(all.slice(0, length), page, Math.min(limit, most))
      })
      const { before, error } = await iterateToError(list({}, { verified }))
      expect(error).toMatchObject({ kind: 'pagination' })
      expect(before).toEqual(all.slice(0, before.length))
      expect(events.filter(({ type }) => type === 'end')).toEqual([])
    }))

  test('whose total and lowered limit agree by chance on page 1 is read to its end', () =>
    checkEach([undefined, true], async verified => {
      const { list, events } = createServed((page, limit) => {
        const envelope = envelopeOf(all, page, Math.min(limit, 20))
        // The total of page 1 was cached when the list was that long.
        return page === 1 && limit > 20 ? { ...envelope, totalItems: 20 } : envelope
      })
      expect(await collect(list({ limit: 100 }, { verified }))).toEqual(all)
      expect(endOf(events)).toMatchObject({ isComplete: true })
    }))

  test('that refuses pages too far into a list is quoted', () =>
    checkEach(modes, async verified => {
      const { list } = createServed((page, limit) =>
        page * limit > 200 && (page - 1) * limit < 300
          ? Response.json({ message: 'page too deep' }, { status: 400 })
          : envelopeOf(all, page, limit),
      )
      const { before, error } = await iterateToError(list({ limit: 20 }, { verified, concurrency: 1 }))
      expect(error).toBeInstanceOf(HttpError)
      expect(error.message).toContain('HTTP 400: "page too deep"')
      expect(before.length).toBeGreaterThan(150)
    }))

  test('that has no page in the middle of a list fails with that page, in few requests', () =>
    checkEach(modes, async verified => {
      for (const onMissedItems of verified ? (['throw'] as const) : (['throw', 'continue'] as const)) {
        const { list, requested } = createServed((page, limit) =>
          (page - 1) * limit < 110 && page * limit > 105
            ? new Response(null, { status: 404 })
            : envelopeOf(all, page, limit),
        )
        const { before, error } = await iterateToError(list({ limit: 20 }, { verified, onMissedItems }))
        expect(error).toMatchObject({ status: 404 })
        expect(before).toEqual(all.slice(0, before.length))
        expect((error.page as number) * (error.limit as number)).toBeGreaterThan(105)
        expect(requested.length).toBeLessThanOrEqual(20)
      }
    }))

  test('that has an empty page in the middle of a list is an error that says so', () =>
    checkEach(modes, async verified => {
      const { list } = createServed((page, limit) => {
        const envelope = envelopeOf(all, page, limit)
        return page * limit > 110 && (page - 1) * limit < 140 ? { ...envelope, data: [] } : envelope
      })
      const { error } = await iterateToPaginationError(list({ limit: 20 }, { verified, concurrency: 1 }))
      expect(error).toMatchObject({ reason: 'contradiction' })
      expect(error.message).toMatch(/page \d+ is empty, although totalItems is 300/)
    }))

  test('that accepts only one limit, 1 or 2, is read to its end', () =>
    checkEach([1, 2], async known => {
      for (const verified of [undefined, false]) {
        const { list } = createServed((page, limit) =>
          limit === known ? envelopeOf(all.slice(0, 7), page, limit) : new Response(null, { status: 422 }),
        )
        expect(await collect(list({ limit: known }, { verified }))).toEqual(all.slice(0, 7))
      }
    }))

  test('that filters pages after cutting them is never reported as complete, even by resumed runs', async () => {
    const shown = all.slice(0, 70).filter((_, place) => place % 5 > 0)
    const { list, events } = createServed((page, limit) => ({
      ...envelopeOf(all.slice(0, 70), page, limit),
      data: all.slice((page - 1) * limit, Math.min(70, page * limit)).filter(item => shown.includes(item)),
    }))
    const { error } = await iterateToPaginationError(list({ limit: 7 }, { verified: true }))
    expect(error).toMatchObject({ reason: 'short-page' })
    await collect(list({ limit: 7 }, { after: error.cursor, onMissedItems: 'continue' }))
    expect(endOf(events).isComplete).toBe(false)
  })
})

describe('a loop has an end', () => {
  const fresh = (count: number, page: number, limit: number, totalItems: number): Envelope => ({
    data: sampleTransactions(limit, count),
    page,
    limit,
    totalItems,
  })
  const growing = (count: number) => sampleTransactions(8_000).slice(-4_000 - 4 * count)

  test('although a service ignores `page`, whatever its ids are', () =>
    checkEach<
      [
        string,
        (page: number, limit: number, count: number) => Envelope,
        ListOptions<Transaction>,
        string,
        number,
      ]
    >(
      [
        [
          'new ids',
          (page, limit, count) => fresh(count, page, limit, 50),
          { verified: false },
          'contradiction',
          40,
        ],
        ['one limit, new ids', (page, _, count) => fresh(count, page, 20, 50), {}, 'contradiction', 40],
        [
          'no keys',
          (page, limit, count) => fresh(count, page, limit, 50),
          { itemKey: () => undefined },
          'contradiction',
          40,
        ],
        [
          'new ids and a growing total',
          (page, limit, count) => fresh(count, page, limit, 50 + 30 * count),
          { verified: false },
          'no-progress',
          80,
        ],
        [
          'the same page while its total grows',
          (page, limit, count) => fresh(1, page, limit, 40 + 4 * count),
          { verified: false },
          'item-key-not-unique',
          80,
        ],
        [
          'the newest items of a list that grows',
          (page, limit, count) => ({ ...envelopeOf(growing(count), 1, limit), page }),
          { verified: false },
          'no-progress',
          80,
        ],
        [
          'the same page, no keys',
          (page, limit) => ({ ...envelopeOf(sampleTransactions(100), 1, limit), page }),
          { itemKey: () => undefined },
          'contradiction',
          10,
        ],
        [
          'the same page twice, no keys',
          (page, limit) => ({ ...envelopeOf(sampleTransactions(40), 1, limit), page }),
          { itemKey: () => undefined },
          'contradiction',
          10,
        ],
      ],
      async ([, respond, options, reason, most]) => {
        const { list, requested } = createServed(respond)
        const { error } = await iterateToPaginationError(list({ limit: 20 }, options))
        expect(error).toMatchObject({ reason: reason as IncompleteReason })
        expect(requested.length).toBeLessThanOrEqual(most)
      },
    ))

  test('although a list gains as much as a page with each request', () =>
    checkEach(
      [
        [9, false],
        [5, undefined],
      ] as const,
      async ([gain, verified]) => {
        const rows = sampleTransactions(50)
        const { list, requested } = createServed((page, limit) => {
          rows.push(...sampleTransactions(gain, rows.length))
          return { ...envelopeOf(rows, page, limit), totalItems: rows.length + 5 }
        })
        const { error } = await iterateToPaginationError(list({ limit: 5 }, { verified }))
        expect(error).toMatchObject({ reason: 'no-progress' })
        expect(requested.length).toBeLessThanOrEqual(100)
      },
    ))

  test('behind the last item only, if a total is capped', async () => {
    const rows = sampleTransactions(2_500)
    const respond = (page: number, limit: number) => ({ ...envelopeOf(rows, page, limit), totalItems: 550 })
    expect(await collect(createServed(respond).list({ limit: 100 }))).toEqual(rows)
    const plain = (onMissedItems: 'throw' | 'continue') =>
      createServed(respond).list({ limit: 100 }, { verified: false, onMissedItems })
    expect((await iterateToPaginationError(plain('throw'))).error).toMatchObject({ reason: 'contradiction' })
    expect(await collect(plain('continue'))).toEqual(rows)
  })

  test('after all items if its total is capped far below', async () => {
    const rows = sampleTransactions(6_000)
    const { list, events } = createServed((page, limit) => ({
      ...envelopeOf(rows, page, limit),
      totalItems: 200,
    }))
    expect(await collect(list({ limit: 20 }))).toHaveLength(6_000)
    expect(endOf(events)).toMatchObject({ isComplete: true })
  })
})
