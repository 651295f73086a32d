import fc from 'fast-check'
import { type Client, isApiError, type ListOptions } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { cases } from '../cases.ts'
import { createClient, createObservedClient, startService } from '../service.ts'
import { checkEach } from '../support.ts'
import {
  collect,
  collectWith,
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
  respondTo,
} from './lists.ts'

startService()

const schema = z.looseObject({ id: z.unknown() })
const itemKey = ({ id }: { id: unknown }) => id as string

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
    checkEach<[string, (item: { id: unknown }, place: number) => unknown, isOnOnePage?: boolean]>(
      [
        ['one key for all', () => 'same', true],
        ['a coarse key', (_, place) => ['AED', 'EUR', 'USD'][place % 3], true],
        ['two of a page share one', (_, place) => (place === 71 ? 70 : place), true],
        [
          'the same item at the end of one page and the beginning of the next',
          (_, place) => (place === 20 ? 19 : place),
        ],
      ],
      async ([, keyOf, isOnOnePage]) => {
        // `false` takes it for a moved item.
        for (const verified of isOnOnePage ? [undefined, false] : [undefined]) {
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
    }
  })

  test('where transactions are identified by their currency', async () => {
    const { list, all, events } = createList(250)
    expect(await collect(list({ limit: 20 }, { itemKey: ({ currency }) => currency }))).toEqual(all)
    expect(endOf(events)).toMatchObject({ items: 250, reason: 'item-key-not-unique' })
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
      async ([name, respond]) => {
        const status = Number(name) || undefined
        for (const concurrency of [1, 4]) {
          const { client, events } = createObservedClient()
          respondTo(respond)
          const list = () => client.transactions.list({ limit: 20 }, { concurrency })
          expect(await collect(list())).toEqual(items)
          expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'limit-not-honoured' })
          expect(endOf(events).requests).toBeLessThanOrEqual(5 + 1 + concurrency)
          // Prefetched pages were cancelled, but nothing failed.
          const failures = events.filter(event => event.type === 'failure')
          expect(failures.filter(({ error }) => !isApiError(error) || error.kind !== 'aborted')).toEqual([])
          const strict = client.transactions.list({ limit: 20 }, { verified: true, concurrency })
          const { error } = await iterateToError(strict)
          expect(error).toMatchObject(status ? { status } : { reason: 'limit-not-honoured' })
          expect(await collect(list())).toEqual(items)
        }
      },
    ))

  test('unless the service refuses only one request, which a verified loop sends again', () =>
    checkEach([400, 422], async status => {
      const { client, events } = createObservedClient()
      const requested: string[] = []
      respondTo((page, limit) => {
        requested.push(`${page}/${limit}`)
        return requested.length === 2 ? new Response(null, { status }) : envelopeOf(items, page, limit)
      })
      const list = client.transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
      expect(await collect(list)).toEqual(items)
      expect(requested.slice(1, 3)).toEqual(['2/19', '2/19'])
      expect(endOf(events)).toMatchObject({ items: 90, isComplete: true })
    }))

  test('where the service cuts pages by its own limit, whatever limit it says, after some wasted windows', async () => {
    const { client, events } = createObservedClient()
    let total = 90
    respondTo((page, limit) => {
      const data = items.slice((page - 1) * 20).slice(0, limit)
      return { data, page, limit, totalItems: limit === 20 ? 90 : total }
    })
    const list = client.transactions.list({ limit: 20 }, { concurrency: 1 })
    expect(await collect(list)).toEqual(items)
    expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'limit-not-honoured' })
    expect(endOf(events).requests).toBeLessThanOrEqual(5 + 2 * 4)
    // If its total depends on the limit, too, it looks like a list that changes.
    total = 91
    await iterateToPaginationError(list)
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
        // A true limit is no error, even if it is only repeated.
        const isHonest = echo === 'own' || (echo === 'requested' && (limit ?? pageSize) === pageSize)
        if (isHonest && verified !== true) expect(isFailed).toBe(false)
      }),
      { numRuns: cases(1_000) },
    )
  })

  test('of one page for any query end after each item was yielded once, in at most 5 requests', () =>
    checkEach([1, 3, 20, 100], async count => {
      const data = sampleTransactions(count)
      for (const asked of [20, 100, undefined]) {
        for (const limit of [20, 100, asked ?? 100].filter(limit => limit >= count)) {
          for (const isPageEchoed of [true, false]) {
            for (const verified of modes) {
              const { list, events, requested } = createServed((page, sent) => {
                const echoed = limit === asked ? sent : limit
                return { data, page: isPageEchoed ? page : 1, totalItems: count, limit: echoed }
              })
              const { before, error } = await iterateOrCollect(list({ limit: asked }, { verified }))
              expect(before).toEqual(data)
              expect(requested.length).toBeLessThanOrEqual(5)
              // A page that says its own length as its limit looks full: the service may have lowered the limit.
              const isProven = count < limit || verified === false
              expect(isApiError(error)).toBe(!isProven && verified === true)
              if (!isProven && !verified) expect(endOf(events).reason).toBe('limit-not-honoured')
            }
          }
        }
      }
    }))
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
        fc.pre(!options.verified || options.onMissedItems === 'throw')
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
        // In another order, an item that was read looks like another one with the same key.
        const areKeysRepeated = faults.some(({ what }) => /twice|order|ahead/.test(what))
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
      expect(before).toEqual(items.slice(100, verified === false ? undefined : 200))
      expect(error.message).toMatch(
        verified === false ? /^.*Pages may be counted from 0/ : /counts pages from 0/,
      )
    }
  })

  test('a list of one page that is counted from 0 is an error that says so', async () => {
    const { list } = createServed((page, limit) => ({
      ...envelopeOf(sampleTransactions(5), page + 1, limit),
      page,
    }))
    const { error } = await iterateToPaginationError(list())
    expect(error.message).toMatch(/page 1 is empty, although totalItems is 5 .* Pages may be counted from 0/)
  })

  test('a first page that is shorter than its total is an error, not the end', () =>
    checkEach([undefined, 10, 20], async limit => {
      const { list, requested } = createServed((page, limit) => ({
        ...envelopeOf(sampleTransactions(15), page, limit),
        totalItems: 18,
      }))
      const { before, error } = await iterateToPaginationError(list({ limit }))
      expect(before).toHaveLength(15)
      expect(error).toMatchObject({ reason: 'missed-items' })
      expect(requested.length).toBeLessThanOrEqual(10)
    }))

  test('a list whose offset is computed with one page size, whatever `limit` says, is read to its end', async () => {
    const items = sampleTransactions(100)
    const { list, events } = createServed((page, limit) => ({
      data: items.slice((page - 1) * 20).slice(0, limit),
      page,
      limit,
      totalItems: 100,
    }))
    expect(await collect(list({ limit: 50 }))).toEqual(items)
    expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'limit-not-honoured' })
  })

  test('a total that is 0 beyond the end, lags or is capped ends no loop whose pages overlap', () =>
    checkEach<[string, count: number, (right: Envelope, request: number) => number]>(
      [
        ['none', 0, () => 0],
        ['0 beyond the end', 100, ({ data }) => (data.length > 0 ? 100 : 0)],
        ['lags', 121, (_, request) => (request === 1 ? 20 : 121)],
        ['lags throughout', 121, () => 20],
        ['capped', 2_500, () => 1_000],
      ],
      async ([, count, totalOf]) => {
        const items = sampleTransactions(count)
        const { list, events } = createServed((page, limit, request) => {
          const right = envelopeOf(items, page, limit)
          return { ...right, totalItems: totalOf(right, request) }
        })
        for (const limit of [20, undefined]) {
          expect(await collect(list({ limit }, { verified: true }))).toEqual(items)
          expect(endOf(events)).toMatchObject({ isComplete: true, items: count })
        }
      },
    ))

  test('a full first page that reaches its total ends plain pages, without proof', async () => {
    for (const [options, reason] of [
      [{ verified: false }, 'verified-false'],
      [{ itemKey: () => undefined }, 'no-item-key'],
    ] as const) {
      const { list, events } = createServed(page => envelopeOf(sampleTransactions(20), page, 20))
      expect(await collect(list({ limit: 20 }, options))).toHaveLength(20)
      expect(endOf(events)).toMatchObject({ requests: 1, isComplete: false, reason })
    }
  })

  test("plain pages end at a capped total, and read on to the last page with onMissedItems: 'continue'", () =>
    checkEach([20, 100], async cap => {
      for (const options of [{ verified: false }, { itemKey: () => undefined }]) {
        const items = sampleTransactions(250)
        const { list, events } = createServed((page, limit) => ({
          ...envelopeOf(items, page, limit),
          totalItems: cap,
        }))
        expect(await collect(list({ limit: 20 }, options))).toEqual(items.slice(0, cap))
        const all = await collect(list({ limit: 20 }, { ...options, onMissedItems: 'continue' }))
        expect(all).toEqual(items)
        expect(endOf(events)).toMatchObject({ items: 250, isComplete: false })
      }
    }))

  test('a list whose rows are read before its count, and grows between, is read to its end', () =>
    checkEach([2, 3, 5], async every => {
      for (const limit of [20, 100]) {
        const items = sampleTransactions(250)
        const { list, events } = createServed((page, limit, count) => {
          const { data } = envelopeOf(items, page, limit)
          if (count % every === 0 && count <= 30) items.push(...sampleTransactions(1, count))
          return { data, page, limit, totalItems: items.length }
        })
        const seen = await collect(list({ limit }, { verified: true, concurrency: 1 }))
        expect(seen).toEqual(items.slice(0, Math.max(250, seen.length)))
        expect(endOf(events)).toMatchObject({ isComplete: true, items: seen.length })
      }
    }))

  test('a page that contradicts its total is requested again by a loop, twice at most', () =>
    checkEach<[string, times: number, verified: boolean | undefined, requested: string]>(
      [
        ['once', 1, undefined, '1/20 1/20 2/19 2/19 3/18 3/18'],
        ['twice', 2, undefined, '1/20 1/20 1/20 2/19 2/19 2/19 3/18'],
        // Then pages are known to be short.
        ['always', 9, undefined, '1/20 1/20 1/20 2/20 3/20 4/20 5/20 6/20'],
        ['in plain pages', 1, false, '1/20 1/20 2/20 2/20 3/20 3/20 4/20 4/20 5/20 5/20'],
      ],
      async ([, times, verified, expected]) => {
        const items = sampleTransactions(100)
        // Its pages are empty, or lack their last item.
        for (const shown of [0, -1]) {
          const asked = new Map<number, number>()
          const { list, requested } = createServed((page, limit) => {
            asked.set(page, (asked.get(page) ?? 0) + 1)
            const right = envelopeOf(items, page, limit)
            return (asked.get(page) ?? 0) > times ? right : { ...right, data: right.data.slice(0, shown) }
          })
          const options = { verified, concurrency: 1, onMissedItems: 'continue' } as const
          const { before, error } = await iterateOrCollect(list({ limit: 20 }, options))
          const isRepaired = times < 3
          if (isRepaired) expect(before).toEqual(items)
          expect(isApiError(error)).toBe(!isRepaired && shown === 0)
          if (!error) expect(requested.join(' ')).toMatch(expected)
        }
        const { list, requested } = createServed(page => ({ ...envelopeOf(items, page, 20), data: [] }))
        await expect(list({ limit: 20 })).rejects.toMatchObject({ kind: 'pagination' })
        expect(requested).toEqual(['1/20'])
      },
    ))

  test('an order that depends on the page and the limit, as of equal dates, is seen', () =>
    checkEach([0, 1, 2, 3, 4, 5], async seed => {
      const items = sampleTransactions(400).map((item, place) => ({ ...item, place }))
      const { list, events } = createServed((page, limit) => {
        const chance = (place: number) => (Math.imul(place + seed + page * limit, 0x9e3779b1) >>> 8) % 1_009
        const rank = ({ place }: { place: number }) => 2_000 * Math.floor(place / 20) + chance(place)
        const sorted = items.toSorted((a, b) => rank(a) - rank(b))
        return envelopeOf(sorted, page, limit)
      })
      for (const verified of [undefined, true]) {
        const { error } = await iterateToPaginationError(list({ limit: 20 }, { verified }))
        expect(error).toMatchObject({ reason: 'order-not-stable' })
        expect(error.message).toMatch(/in another order, .* pass `onMissedItems: 'continue'`\.$/)
      }
      await collect(list({ limit: 20 }, { onMissedItems: 'continue' }))
      expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'order-not-stable' })
    }))

  test('items that are added and removed between those that were read are no unstable order', async () => {
    // How fast this machine responds must not matter.
    vi.spyOn(performance, 'now').mockReturnValue(0)
    await checkEach([10, 20, 100], async limit => {
      for (let seed = 1; seed < 20; seed++) {
        const items = sampleTransactions(400)
        const { list } = createServed((page, limit, count) => {
          const envelope = envelopeOf(items, page, limit)
          const place = (number: number) => Math.imul(count * 7 + number, 0x9e3779b1 * seed) >>> 8
          for (let change = 0; change < 6; change++)
            items.splice(
              place(change) % items.length,
              change % 2,
              ...sampleTransactions(1, 9 * count + change),
            )
          return envelope
        })
        await collect(list({ limit }, { verified: true }))
      }
    })
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

  test('pages that are filtered after they were cut, far into the list, are seen by a page that stays short', () =>
    checkEach([20, 50, 100], async limit => {
      const items = sampleTransactions(900)
      const { list, events } = createServed((page, size) => {
        const { data, ...rest } = envelopeOf(items, page, size)
        // Those that are hidden belong to the total.
        return { ...rest, data: data.filter(item => (item as { id: string }).id.charCodeAt(7) % 9 > 0) }
      })
      const hidden = items.length - (await collect(list({ limit }))).length
      expect(hidden).toBeGreaterThan(0)
      expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'short-page' })
      await expect(collect(list({ limit }, { verified: true }))).rejects.toThrow(/is not full/)
    }))

  test('a cursor whose items are gone is an error also where the last page is shown beyond the end', async () => {
    const items = sampleTransactions(200)
    const { list, requested } = createServed((page, limit) => {
      const last = Math.ceil(items.length / limit)
      return { ...envelopeOf(items, Math.min(page, last), limit), page }
    })
    const [batch] = await collect(list({ limit: 20 }, { maxItems: 20 }).batches())
    items.splice(0, 200, ...sampleTransactions(200, 2))
    await expect(collect(list({ limit: 20 }, { after: batch?.cursor }))).rejects.toThrow(/Start over/)
    expect(requested.length).toBeLessThan(40)
  })

  test('a loop that maxItems ends is not complete, whatever the total says', async () => {
    const items = sampleTransactions(150)
    const { list, events } = createServed((page, limit) => ({
      ...envelopeOf(items, page, limit),
      totalItems: 149,
    }))
    await collect(list({ limit: 20 }, { maxItems: 149 }))
    expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'max-items' })
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

  test('a list that grew while it was read without overlap can be resumed from its last cursor', async () => {
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

  test('if the service lowers its largest limit in the middle of a list, a loop resumes with a smaller limit', async () => {
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

describe('the page size', () => {
  const items = sampleTransactions(150)
  const refusal = new Response(null, { status: 422 })

  test("of a loop without a limit is 100, or the service's own if it refuses or ignores 100", () =>
    checkEach<
      [string, first: string, later: string, (right: Envelope, count: number) => Partial<Envelope> | Response]
    >(
      [
        ['honoured', '1/100 2/99', '1/100 2/99', right => right],
        ['refused', '1/100 1/ 2/19', '1/ 2/19', right => (right.limit > 50 ? refusal.clone() : right)],
        [
          'only repeated',
          '1/100 1/100 1/100 1/ 2/19',
          '1/ 2/19',
          ({ page, limit }) => ({ data: envelopeOf(items, page, Math.min(20, limit)).data }),
        ],
        [
          'short at any limit',
          '1/100 1/100 1/100 1/ 2/',
          '1/100 1/100 1/100 1/ 2/',
          () => ({ totalItems: 999, data: items.slice(0, 9) }),
        ],
        [
          'short once',
          '1/100 1/100 2/99',
          '1/100 1/100 2/99',
          (_, count) => (count === 1 ? { data: [] } : {}),
        ],
      ],
      async ([, first, later, change]) => {
        const { client, requested } = createServed((page, limit, count) => {
          const right = envelopeOf(items, page, limit)
          const changed = change(right, count)
          return changed instanceof Response ? changed : { ...right, ...changed }
        })
        const derived = client.withOptions({ timeout: 5_000 })
        for (const [{ transactions }, expected] of [
          [client, first],
          [client, later],
          [derived, later],
        ] as const) {
          requested.length = 0
          await iterateOrCollect(transactions.list({}, { concurrency: 1 }))
          expect(`${requested.join(' ')} `).toMatch(new RegExp(`^${expected} `))
        }
        // Other first requests: another path, a page, a later loop.
        requested.length = 0
        await iterateOrCollect(client.list('/notes', {}, { schema, itemKey, maxItems: 1 }))
        await client.transactions.list()
        await iterateOrCollect(client.transactions.list({ page: 3 }, { maxItems: 1 }))
        expect(requested[0]).toBe('1/100')
        expect(requested.join(' ')).toMatch(/ 1\/( 3\/)+$/)
      },
    ))

  test("is not remembered as the service's own if the request without a limit also fails", async () => {
    const { list, requested } = createServed((page, limit, count) =>
      count < 3 ? refusal.clone() : envelopeOf(items, page, limit),
    )
    await expect(collect(list({}))).rejects.toMatchObject({ kind: 'http', status: 422 })
    expect(await collect(list({}))).toEqual(items)
    expect(requested.slice(0, 3)).toEqual(['1/100', '1/', '1/100'])
  })
})
