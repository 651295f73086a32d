import { PaginationError } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createClient, startService } from '../service.ts'
import { checkEach } from '../support.ts'
import {
  collect,
  type Envelope,
  envelopeOf,
  iterateToError,
  iterateToPaginationError,
  modes,
  respondTo,
} from './lists.ts'

startService()

const all = sampleTransactions(100)
const one = { concurrency: 1 }
/** Its items have no key. */
const schema = z.looseObject({ id: z.string() })
type Respond = Parameters<typeof respondTo>[0]

describe('a service that contradicts itself is a PaginationError, and nothing of that response is yielded', () => {
  const wrongFrom = (count: number, wrong: (right: Envelope) => Partial<Envelope>): Respond => {
    return (page, limit, requests) => {
      const right = envelopeOf(all, page, limit)
      return requests < count ? right : { ...right, ...wrong(right) }
    }
  }

  test('while iterating', () =>
    checkEach<[string, Respond, yielded: number]>(
      [
        ['another page', wrongFrom(3, ({ page }) => ({ page: page + 1 })), 40],
        ['another limit', wrongFrom(3, () => ({ limit: 10 })), 40],
        ['more items than the limit', wrongFrom(3, () => ({ data: all.slice(40, 61) })), 40],
        ['an empty first page', wrongFrom(1, () => ({ data: [] })), 0],
        ['an empty page before the end', wrongFrom(3, () => ({ data: [] })), 40],
        ['an empty last page', wrongFrom(5, () => ({ data: [] })), 80],
      ],
      async ([, respond, yielded]) => {
        respondTo(respond)
        const list = createClient().transactions.list({ limit: 20 }, { verified: false, ...one })
        expect((await iterateToPaginationError(list)).before).toEqual(all.slice(0, yielded))
      },
    ))

  test("while iterating with onMissedItems: 'continue', as nothing tells where the items of an empty page went", () =>
    checkEach([undefined, false], async verified => {
      respondTo(wrongFrom(1, () => ({ data: [] })))
      const options = { verified, onMissedItems: 'continue' } as const
      const { before } = await iterateToPaginationError(
        createClient().transactions.list({ limit: 20 }, options),
      )
      expect(before).toEqual([])
    }))

  test('when awaited', () =>
    checkEach<[string, Respond]>(
      [
        ['another page', wrongFrom(1, () => ({ page: 1 }))],
        ['more items than the limit', wrongFrom(1, () => ({ data: all.slice(0, 21) }))],
        ['an empty page before the end', wrongFrom(1, () => ({ data: [] }))],
      ],
      async ([, respond]) => {
        respondTo(respond)
        const page = createClient().transactions.list({ page: 2, limit: 20 })
        await expect(page).rejects.toBeInstanceOf(PaginationError)
      },
    ))

  test('a response that breaks the interface is an InvalidResponseError with its page', async () => {
    respondTo(wrongFrom(2, () => ({ data: [{ id: 7 }] })))
    const { before, error } = await iterateToError(createClient().transactions.list({ limit: 20 }, one))
    expect(before).toEqual(all.slice(0, 20))
    expect(error).toMatchObject({ kind: 'invalid-response', page: 2 })
  })
})

describe('a service that ignores the page', () => {
  const sameItems: Respond = (page, limit) => ({ ...envelopeOf(all, 1, limit), page })
  const growing: Respond = (page, limit, count) => ({
    ...envelopeOf(all, 1, limit),
    page,
    totalItems: 50 * count,
  })
  const newIds: Respond = (page, limit, count) => ({
    ...envelopeOf(sampleTransactions(100, count), 1, limit),
    page,
  })
  const twice: Respond = (page, limit) => ({ ...envelopeOf(all, 1, limit), page, totalItems: 2 * limit })

  test('is a PaginationError, whatever its total and its ids are, after a few requests', () =>
    checkEach<[string, Respond]>(
      [
        ['the same items', sameItems],
        ['a total that grows', growing],
        ['new ids each time', newIds],
        ['a total of two pages', twice],
      ],
      async ([, respond]) => {
        for (const verified of [undefined, true]) {
          respondTo(respond)
          await iterateToPaginationError(createClient().transactions.list({ limit: 20 }, { verified }))
          // How many more are requested ahead depends on the moment.
          const requested = respondTo(respond)
          const options = { verified, concurrency: 1 }
          await iterateToPaginationError(createClient().transactions.list({ limit: 20 }, options))
          expect(requested.length).toBeLessThanOrEqual(respond === growing ? 80 : 40)
        }
      },
    ))

  test('is a PaginationError, too, if its items have no key and its total grows', async () => {
    const requested = respondTo(growing)
    const { before } = await iterateToPaginationError(
      createClient().list('/rows', { limit: 20 }, { schema, ...one }),
    )
    expect(before.length).toBeGreaterThanOrEqual(50)
    expect(requested.length).toBeLessThanOrEqual(20)
  })

  test('is a PaginationError with `verified: false`, too, if its ids stay the same', () =>
    checkEach<[string, Respond]>(
      [
        ['the same items', sameItems],
        ['a total that grows', growing],
        ['a total of two pages', twice],
      ],
      async ([, respond]) => {
        const requested = respondTo(respond)
        const options = { verified: false, concurrency: 1 }
        await iterateToPaginationError(createClient().transactions.list({ limit: 20 }, options))
        expect(requested.length).toBeLessThanOrEqual(20)
      },
    ))
})

describe('the end', () => {
  /** The response beyond the end, if it is no empty page. */
  const beyond = {
    404: () => new Response(null, { status: 404 }),
    'its last page': (limit: number) => envelopeOf(all, Math.ceil(100 / limit), limit),
  }

  test('is a 404 or a repeated last page, whatever the total says', () =>
    checkEach(Object.entries(beyond), async ([, respond]) => {
      // `false` takes a falling total for a removal.
      for (const verified of [undefined, true]) {
        // Larger in every second response: another page has to be requested.
        respondTo((page, limit, count) =>
          (page - 1) * limit < 100
            ? { ...envelopeOf(all, page, limit), totalItems: 100 - (count % 2) * 3 }
            : respond(limit),
        )
        const list = createClient().transactions.list({ limit: 20 }, { verified, ...one })
        expect(await collect(list)).toEqual(all)
      }
    }))

  test('is an empty page where there are more items than any total says', () =>
    checkEach([0, 3, 50, 99], async totalItems => {
      for (const verified of modes) {
        respondTo((page, limit) => ({ ...envelopeOf(all, page, limit), totalItems }))
        const list = createClient().transactions.list({ limit: 20 }, { verified })
        expect(await collect(list)).toEqual(all)
      }
    }))

  test('is a missing page, also where items have no key', async () => {
    respondTo((page, limit) =>
      (page - 1) * limit < 100 ? { ...envelopeOf(all, page, limit), totalItems: 70 } : beyond[404](),
    )
    expect(await collect(createClient().list('/rows', { limit: 20 }, { schema }))).toEqual(all)
  })

  test('is not where `page` times `limit` reaches the total, if pages are always short', async () => {
    // Ten items a page, whatever it says of its limit.
    respondTo(page => ({ ...envelopeOf(all.slice(0, 40), page, 10), limit: 20 }))
    expect(await collect(createClient().transactions.list({ limit: 20 }))).toEqual(all.slice(0, 40))
  })

  const countFromZero: Respond = (page, limit) => ({ ...envelopeOf(all, page + 1, limit), page })
  const tooLarge: Respond = (page, limit) => ({
    ...envelopeOf(all.slice(0, 95), page, limit),
    totalItems: 130,
  })

  const tooLargeThenMissing: Respond = (page, limit, count) =>
    (page - 1) * limit < 95 ? tooLarge(page, limit, count) : new Response(null, { status: 404 })

  test('is a PaginationError where the total says more: pages counted from 0, or a wrong total', () =>
    checkEach([countFromZero, tooLarge, tooLargeThenMissing], async respond => {
      for (const verified of modes) {
        respondTo(respond)
        const { error } = await iterateToError(createClient().transactions.list({ limit: 20 }, { verified }))
        // A page missing below the total is an HttpError.
        if (respond === tooLargeThenMissing && verified === false)
          expect(error).toMatchObject({ status: 404, page: 6 })
        // Pages that overlap in the wrong place look like an order that depends on the request.
        else
          expect((error as PaginationError).reason).toMatch(
            /^(?:missed-items|order-not-stable|contradiction)$/,
          )
      }
    }))

  test("is where its pages end with onMissedItems: 'continue'", async () => {
    const list = () => createClient().transactions.list({ limit: 20 }, { onMissedItems: 'continue' })
    respondTo(countFromZero)
    expect(await collect(list())).toEqual(all.slice(20))
    for (const respond of [tooLarge, tooLargeThenMissing]) {
      respondTo(respond)
      expect(await collect(list())).toEqual(all.slice(0, 95))
    }
  })

  test('is accepted if one of the last two totals agrees', () =>
    checkEach([6, 7, 8], async wrong => {
      const items = all.slice(0, 95)
      respondTo((page, limit, count) => ({
        ...envelopeOf(items, page, limit),
        totalItems: count === wrong ? 130 : 95,
      }))
      expect(await collect(createClient().transactions.list({ limit: 20 }, one))).toEqual(items)
    }))

  test('is not at a short page if items were added after it', async () => {
    respondTo((page, limit, count) => ({
      ...envelopeOf(count < 4 ? all.slice(0, 45) : all, page, limit),
      totalItems: 100,
    }))
    expect(await collect(createClient().transactions.list({ limit: 20 }, one))).toEqual(all)
  })
})
