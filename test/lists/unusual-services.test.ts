import fc from 'fast-check'
import { type Client, isApiError, type ListOptions } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { cases } from '../cases.ts'
import { createClient, createObservedClient, startService } from '../service.ts'
import { checkEach } from '../support.ts'
import {
  collect,
  collectWith,
  createList,
  type Envelope,
  endOf,
  envelopeOf,
  ids,
  iterateToPaginationError,
  modes,
  respondTo,
} from './lists.ts'

startService()

const schema = z.looseObject({ id: z.unknown() })
const itemKey = ({ id }: { id: unknown }) => id

/** Lists items that are no transactions, identified by their `id`. */
function listOf(client: Client, items: readonly unknown[], options: ListOptions = {}) {
  respondTo((page, limit) => envelopeOf(items, page, limit))
  return client.list('/notes', { limit: 20 }, { schema, itemKey, ...(options as object) })
}

describe('a list whose pages cannot overlap is read to its end, and the end event says why it is not proven', () => {
  const items = sampleTransactions(90)

  test('where nothing identifies its items, or not all of them', () =>
    checkEach<[string, ((item: { id: unknown }) => unknown) | undefined]>(
      [
        ['no itemKey', undefined],
        ['undefined', () => undefined],
        ['null', () => null],
        ['NaN', () => Number.NaN],
        ['one without a key', item => (item.id === items[50]?.id ? undefined : item.id)],
      ],
      async ([, itemKey]) => {
        const { client, events } = createObservedClient()
        expect(await collect(listOf(client, items, { itemKey } as never))).toEqual(items)
        expect(endOf(events)).toMatchObject({ items: 90, isComplete: false, reason: 'no-item-key' })
      },
    ))

  test('where its keys do not tell items apart', () =>
    checkEach<[string, (item: { id: unknown }, place: number) => unknown]>(
      [
        ['one key for all', () => 'same'],
        ['a coarse key', (_, place) => ['AED', 'EUR', 'USD'][place % 3]],
        ['two of a page share one', (_, place) => (place === 71 ? 70 : place)],
        [
          'the same item at the end of one page and the beginning of the next',
          (_, place) => (place === 20 ? 19 : place),
        ],
        ['far apart', (_, place) => place % 45],
      ],
      async ([, keyOf]) => {
        for (const verified of [undefined, false]) {
          for (const concurrency of [1, 4]) {
            const { client, events } = createObservedClient()
            const options = { verified, concurrency }
            const rows = items.map((item, place) => ({ ...item, id: keyOf(item, place) }))
            const list = listOf(client, rows, options)
            expect(await collect(list)).toEqual(rows)
            expect(endOf(events)).toMatchObject({ items: 90, isComplete: false })
            expect(endOf(events).requests).toBeLessThanOrEqual(2 * 5 + concurrency)
          }
        }
      },
    ))

  test('where an id is on a page twice: a, b, a, c', async () => {
    const rows = ['a', 'b', 'a', 'c'].map(id => ({ id }))
    for (const verified of [undefined, false]) {
      const { client, events } = createObservedClient()
      expect(await collect(listOf(client, rows, { verified }))).toEqual(rows)
      // One response is one state of the list, whatever its keys.
      expect(endOf(events)).toMatchObject({ isComplete: true })
      const page = await createClient().list('/notes', { limit: 20 }, { schema, itemKey })
      expect(await collect(page)).toEqual(rows)
    }
  })

  test('where transactions are identified by their currency', async () => {
    const { list, all, events } = createList(250)
    expect(await collect(list({ limit: 20 }, { itemKey: ({ currency }) => currency }))).toEqual(all)
    expect(endOf(events)).toMatchObject({ items: 250, reason: 'item-key-not-unique' })
  })

  test('where the limit is below 20', async () => {
    const { list, all, events } = createList(90)
    expect(await collect(list({ limit: 19 }))).toEqual(all)
    expect(endOf(events)).toMatchObject({ items: 90, isComplete: false, reason: 'limit-too-small' })
  })

  test('where the service refuses, changes or ignores smaller limits, at the price of one wasted window', () =>
    checkEach<[string, (page: number, limit: number) => Envelope | Response]>(
      [
        [
          '400',
          (page, limit) => (limit < 20 ? new Response(null, { status: 400 }) : envelopeOf(items, page, 20)),
        ],
        [
          '422',
          (page, limit) => (limit < 20 ? new Response(null, { status: 422 }) : envelopeOf(items, page, 20)),
        ],
        ['ignored', page => envelopeOf(items, page, 20)],
        ['rounded to tens', (page, limit) => envelopeOf(items, page, Math.ceil(limit / 10) * 10)],
        ['lowered', (page, limit) => envelopeOf(items, page, limit < 20 ? 10 : 20)],
        ['more items than the limit', (page, limit) => ({ ...envelopeOf(items, page, 20), limit })],
      ],
      async ([, respond]) => {
        for (const concurrency of [1, 4]) {
          const { client, events } = createObservedClient()
          respondTo(respond)
          const list = () => client.transactions.list({ limit: 20 }, { concurrency })
          expect(await collect(list())).toEqual(items)
          expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'limit-not-honoured' })
          expect(endOf(events).requests).toBeLessThanOrEqual(5 + 1 + concurrency)
          // Prefetched pages were cancelled, but nothing failed.
          expect(events.filter(event => event.type === 'failure' && isApiError(event.error))).toEqual([])
          await iterateToPaginationError(
            client.transactions.list({ limit: 20 }, { verified: true, concurrency }),
          )
          expect(await collect(list())).toEqual(items)
        }
      },
    ))

  test('where the service cuts pages by its own limit, whatever limit and total it says, after some wasted windows', () =>
    checkEach<[string, total: number, maxRequests: number]>(
      [
        ['the total that it says elsewhere', 90, 5 + 2 * 4],
        ['another total', 91, 5 + 3 * 9],
      ],
      async ([, total, maxRequests]) => {
        const { client, events } = createObservedClient()
        respondTo((page, limit) => {
          const start = (page - 1) * 20
          const data = items.slice(start, start + limit)
          return { data, page, limit, totalItems: limit === 20 ? 90 : total }
        })
        expect(await collect(client.transactions.list({ limit: 20 }, { concurrency: 1 }))).toEqual(items)
        expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'limit-not-honoured' })
        expect(endOf(events).requests).toBeLessThanOrEqual(maxRequests)
      },
    ))

  test('where a refusal of smaller limits is remembered for the list', async () => {
    const { client, events } = createObservedClient()
    respondTo((page, limit) =>
      limit < 20 ? new Response(null, { status: 422 }) : envelopeOf(items, page, limit),
    )
    const requests: number[] = []
    for (let times = 0; times < 3; times++) {
      await collect(client.transactions.list({ limit: 20 }, { concurrency: 1 }))
      requests.push(endOf(events).requests)
    }
    expect(requests).toEqual([6, 5, 5])
  })

  test('where pages are short throughout, as the service filters them after it has cut them', () =>
    checkEach([3, 7, 20], async every => {
      const cut = sampleTransactions(120)
      const shown = cut.filter((_, place) => place % every > 0)
      const { client, events } = createObservedClient()
      respondTo((page, limit) => ({
        ...envelopeOf(cut, page, limit),
        data: cut.slice((page - 1) * limit, page * limit).filter(item => shown.includes(item)),
      }))
      const list = client.transactions.list({ limit: 20 }, { onMissedItems: 'continue' })
      expect(await collect(list)).toEqual(shown)
      expect(endOf(events)).toMatchObject({ isComplete: false })
    }))

  test('a page in the middle that is short does not end the loop', async () => {
    const all = sampleTransactions(57)
    const data = [all.slice(0, 20), all.slice(20, 38), all.slice(38)]
    for (const verified of [undefined, false]) {
      respondTo((page, limit) =>
        limit === 20
          ? { data: data[page - 1] ?? [], page, totalItems: 57, limit }
          : new Response(null, { status: 422 }),
      )
      expect(await collect(createClient().transactions.list({ limit: 20 }, { verified }))).toEqual(all)
    }
  })
})

describe('with `verified: true`', () => {
  test('the loop throws where pages cannot overlap', () =>
    checkEach<[string, ListOptions<{ id: string }> | undefined, RegExp]>(
      [
        ['no key', { itemKey: () => undefined }, /no key|without/],
        ['one key for all', { itemKey: () => 'same' }, /same key/],
      ],
      async ([, options, message]) => {
        const list = listOf(createClient(), sampleTransactions(60), { ...options, verified: true } as never)
        const { before, error } = await iterateToPaginationError(list)
        expect(before).toEqual([])
        expect(error.message).toMatch(message)
      },
    ))

  test('without an itemKey the call throws a TypeError', () => {
    expect(() => createClient().list('/notes', {}, { schema, verified: true })).toThrow(TypeError)
  })

  test('the loop throws where limits are too small to overlap, and is proven if it does not get there', async () => {
    // At 2,520 every limit up to 10 begins a page.
    for (const [limit, count] of [
      [1, 50],
      [2, 50],
      [3, 50],
      [5, 250],
      [10, 3_000],
    ] as const) {
      const { list, all } = createList(count)
      const { before, error } = await iterateToPaginationError(list({ limit }, { verified: true }))
      expect(before).toEqual(all.slice(0, before.length))
      expect(error.message).toContain('larger `limit`')
    }
    for (const [limit, count, maxItems] of [
      [3, 5, undefined],
      [10, 2_500, undefined],
      [10, 3_000, 60],
    ] as const) {
      const { list, all, events } = createList(count)
      expect(await collect(list({ limit }, { verified: true, maxItems }))).toEqual(all.slice(0, maxItems))
      expect(endOf(events)).toMatchObject({ reason: maxItems && 'max-items' })
    }
  })

  test('a limit that was refused once is tried again', async () => {
    const all = sampleTransactions(100)
    const refusal = () => new Response(null, { status: 422 })
    respondTo((page, limit, count) => (count === 2 ? refusal() : envelopeOf(all, page, limit)))
    const { client, events } = createObservedClient()
    await collect(client.transactions.list({ limit: 20 }))
    await collect(client.transactions.list({ limit: 20 }))
    expect(endOf(events)).toMatchObject({ reason: 'limit-not-honoured' })
    expect(await collect(client.transactions.list({ limit: 20 }, { verified: true }))).toEqual(all)
    expect(endOf(events)).toMatchObject({ isComplete: true })
  })
})

describe('fixtures', () => {
  test('of any size, with fixed pages and any echo, lose no item and waste no more than a window', async () => {
    const fixture = fc.record({
      count: fc.integer({ min: 0, max: 120 }),
      pageSize: fc.integer({ min: 1, max: 60 }),
      limit: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
      echo: fc.constantFrom('requested', 'own', 'number of items'),
      concurrency: fc.constantFrom(1, 2, 4),
      verified: fc.constantFrom(...modes),
    })
    await fc.assert(
      fc.asyncProperty(fixture, async ({ count, pageSize, limit, echo, concurrency, verified }) => {
        const all = sampleTransactions(count)
        let requests = 0
        const fetch = async (url: string) => {
          requests++
          const query = new URL(url).searchParams
          const page = Number(query.get('page'))
          const envelope = envelopeOf(all, page, pageSize)
          const echoes = {
            requested: Number(query.get('limit') ?? pageSize),
            own: pageSize,
            'number of items': Math.max(1, envelope.data.length),
          }
          return Response.json({ ...envelope, limit: echoes[echo] })
        }
        const list = createClient({ fetch }).transactions.list({ limit }, { concurrency, verified })
        const { read, isFailed } = await collect(list).then(
          read => ({ read, isFailed: false }),
          error => ({ read: [], isFailed: error.kind === 'pagination' }),
        )
        if (!isFailed) expect(read).toEqual(all)
        expect(requests).toBeLessThanOrEqual(2 * Math.ceil(count / pageSize) + 1 + 2 * concurrency + 8)
        // Where it tells the truth, or repeats the limit that it has, nothing is wrong.
        const isHonest = echo === 'own' || (echo === 'requested' && (limit ?? pageSize) === pageSize)
        if (isHonest && verified !== true) expect(isFailed).toBe(false)
      }),
      { numRuns: cases(1_000) },
    )
  })

  test('of one full page cost one request', async () => {
    const requested = respondTo(page => envelopeOf(sampleTransactions(20), page, 20))
    expect(await collect(createClient().transactions.list())).toHaveLength(20)
    expect(requested).toEqual([1])
  })

  test('that repeat one page end where all items that the total promises were yielded', async () => {
    const all = sampleTransactions(20)
    respondTo((page, limit) => ({ ...envelopeOf(all, 1, limit), page }))
    for (const verified of modes) {
      const { before } = await iterateOrCollect(createClient().transactions.list({ limit: 20 }, { verified }))
      expect(before).toEqual(all)
    }
  })
})

describe('a service that is broken in places', () => {
  const all = sampleTransactions(400)
  const broken: Record<string, (envelope: Envelope) => Envelope | Response> = {
    'no items': envelope => ({ ...envelope, data: [] }),
    'no such page': () => new Response(null, { status: 404 }),
    'page 1': ({ limit }) => envelopeOf(all, 1, limit),
    'the last page': ({ limit }) => envelopeOf(all, Math.ceil(all.length / limit), limit),
    'items that are seven places ahead': ({ page, limit }) => ({
      ...envelopeOf(all.slice(7), page, limit),
      totalItems: all.length,
    }),
    'fewer items': envelope => ({ ...envelope, data: envelope.data.slice(3) }),
    'items in reverse order': envelope => ({ ...envelope, data: envelope.data.toReversed() }),
    'some items twice': envelope => ({
      ...envelope,
      data: [...envelope.data.slice(0, 5), ...envelope.data.slice(0, 5), ...envelope.data.slice(10)],
    }),
    'a smaller total': envelope => ({ ...envelope, totalItems: envelope.totalItems - 15 }),
    'a larger total': envelope => ({ ...envelope, totalItems: envelope.totalItems + 15 }),
    'another limit': envelope => ({ ...envelope, limit: Math.ceil(envelope.limit / 2) }),
  }

  test('gets no endless requests', async () => {
    const fault = fc.record({
      what: fc.constantFrom(...Object.keys(broken)),
      from: fc.integer({ min: 0, max: 300 }),
      length: fc.constantFrom(1, 10, 50, 1_000),
      isAtSmallerLimitsOnly: fc.boolean(),
    })
    const loop = fc.record({
      limit: fc.constantFrom(5, 20, 30, 50),
      concurrency: fc.constantFrom(1, 4),
      verified: fc.constantFrom(...modes),
      onMissedItems: fc.constantFrom('throw' as const, 'continue' as const),
    })
    await fc.assert(
      fc.asyncProperty(loop, fc.array(fault, { minLength: 1, maxLength: 3 }), async (loop, faults) => {
        const { limit, ...options } = loop
        let requests = 0
        const fetch = async (url: string) => {
          requests++
          if (requests > 20 * (all.length / limit) + 300) throw new Error('endless requests')
          const query = new URL(url).searchParams
          const envelope = envelopeOf(all, Number(query.get('page')), Number(query.get('limit')))
          const start = (envelope.page - 1) * envelope.limit
          const found = faults.find(
            ({ from, length, isAtSmallerLimitsOnly }) =>
              start >= from && start < from + length && (envelope.limit < limit || !isAtSmallerLimitsOnly),
          )
          const answer = broken[found?.what ?? '']?.(envelope) ?? envelope
          return answer instanceof Response ? answer : Response.json(answer)
        }
        const list = createClient({ fetch, maxRetries: 0 }).transactions.list({ limit }, options)
        const { before, error } = await iterateOrCollect(list)
        const isEachOnce = new Set(ids(before)).size === before.length
        const areKeysRepeated = faults.some(({ what }) => what === 'some items twice')
        expect(isEachOnce || areKeysRepeated).toBe(true)
        expect(isApiError(error) && error.kind).not.toBe('connection')
      }),
      { numRuns: cases(1_000) },
    )
  })

  test('fails where it shows nothing of a long list beyond some place, whatever it shows instead', () =>
    checkEach(['no items', 'no such page', 'page 1'] as const, async what => {
      for (const verified of modes) {
        respondTo((page, limit) => {
          const envelope = envelopeOf(all, page, limit)
          return (page - 1) * limit < 200 ? envelope : (broken[what]?.(envelope) as Envelope)
        })
        const list = createClient({ maxRetries: 0 }).transactions.list({ limit: 20 }, { verified })
        const { before, error } = await iterateOrCollect(list)
        expect(before).toEqual(all.slice(0, before.length))
        expect(before.length).toBeGreaterThanOrEqual(200)
        expect(isApiError(error)).toBe(true)
      }
    }))
})

describe('services as they are often written', () => {
  /** A total that is counted along with the items of a page: without items it is 0. */
  const countedWithItems = (envelope: Envelope) => ({
    ...envelope,
    totalItems: envelope.data.length > 0 ? envelope.totalItems : 0,
  })

  test('a list that is counted from 0 does not end silently, although the page beyond its end says total 0', async () => {
    const items = sampleTransactions(250)
    for (const verified of modes) {
      respondTo((page, limit) => countedWithItems({ ...envelopeOf(items, page + 1, limit), page }))
      const list = createClient().transactions.list({ limit: 100 }, { verified })
      const { before, error } = await iterateToPaginationError(list)
      expect(before).toEqual(items.slice(100))
      if (verified !== false) expect(error.message).toContain('although totalItems is 250')
    }
  })

  test('pages that are filtered after they were cut are read to an empty page that says total 0', async () => {
    const items = sampleTransactions(250)
    const shown = items.filter((_, place) => place % 7 > 0)
    const { client, events } = createObservedClient()
    respondTo((page, limit) => {
      const envelope = countedWithItems(envelopeOf(items, page, limit))
      return { ...envelope, data: envelope.data.filter(item => shown.includes(item as (typeof items)[0])) }
    })
    expect(await collect(client.transactions.list({ limit: 50 }))).toEqual(shown)
    expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'short-page' })
  })

  test('a list that shrinks is read to its end, whatever the service says to a page beyond it', () =>
    checkEach([400, 404, 422, 'total 0'] as const, async beyond => {
      const items = sampleTransactions(400)
      const { client, events } = createObservedClient()
      respondTo((page, limit) => {
        const envelope = countedWithItems(envelopeOf(items, page, limit))
        const isBeyond = page > 1 && envelope.data.length === 0
        return isBeyond && beyond !== 'total 0' ? new Response(null, { status: beyond }) : envelope
      })
      const list = client.transactions.list({ limit: 100 }, { concurrency: 1 })
      const kept = ids([...items.slice(0, 20), ...items.slice(270)])
      const read = ids(await collectWith(list, 301, () => items.splice(20, 250)))
      expect(read.filter(id => kept.includes(id))).toEqual(kept)
      expect(endOf(events)).toMatchObject({ isComplete: true })
      // The service is not taken for one that refuses smaller limits.
      await collect(client.transactions.list({ limit: 20 }))
      expect(endOf(events)).toMatchObject({ isComplete: true })
    }))

  test('a list that grew while it was read, without overlap, is gone on with from its last cursor', async () => {
    for (const [meanwhile, later] of [
      [0, 0],
      [5, 0],
      [0, 5],
      [5, 5],
    ] as const) {
      const items = sampleTransactions(250)
      respondTo((page, limit) =>
        limit === 100 ? envelopeOf(items, page, limit) : new Response(null, { status: 422 }),
      )
      const { list } = createClient().transactions
      let after: string | undefined
      for await (const { cursor } of list({ limit: 100 }).batches()) {
        if (after === undefined) items.unshift(...sampleTransactions(meanwhile, 7))
        after = cursor
      }
      const added = sampleTransactions(later, 8)
      items.push(...added)
      expect(await collect(list({ limit: 100 }, { after }))).toEqual(added)
    }
  })

  test('where the service lowers its largest limit in the middle of a list, a smaller limit goes on', async () => {
    const items = sampleTransactions(600)
    respondTo((page, limit, count) => envelopeOf(items, page, Math.min(limit, count > 2 ? 50 : 100)))
    const { list } = createClient().transactions
    const { before, error } = await iterateToPaginationError(list({ limit: 100 }, { concurrency: 1 }))
    const rest = await collect(list({ limit: 50 }, { after: error.cursor }))
    expect([...before, ...rest]).toEqual(items)
  })

  test('a loop that maxItems ends before the end of its list says so, also where pages cannot overlap', async () => {
    const items = sampleTransactions(250)
    for (const [limit, maxItems] of [
      [100, 10],
      [100, 205],
      [10, 245],
      [500, 10],
    ] as const) {
      const { client, events } = createObservedClient()
      const list = listOf(client, items, { itemKey: () => undefined, maxItems })
      respondTo((page, asked) => envelopeOf(items, page, asked === 20 ? limit : asked))
      expect(await collect(list)).toEqual(items.slice(0, maxItems))
      expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'max-items' })
    }
  })
})

async function iterateOrCollect<T>(items: AsyncIterable<T>): Promise<{ before: T[]; error?: unknown }> {
  const before: T[] = []
  try {
    for await (const item of items) before.push(item)
    return { before }
  } catch (error) {
    return { before, error }
  }
}
