import { isApiError, PaginationError, type Transaction } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createClient, createObservedClient, service, startService } from '../service.ts'
import { checkEach, rejectionOf } from '../support.ts'
import {
  collect,
  createStage,
  envelopeOf,
  fill,
  filterPages,
  idle,
  iterateToError,
  iterateToPaginationError,
  newest,
  refundNumber,
  requestedPages,
  requestedQueries,
  respondTo,
} from './lists.ts'

startService()

describe('the limit', () => {
  test('is not sent when not given, and the echoed one takes effect', async () => {
    const all = fill(45)
    expect(await collect(createClient().transactions.list())).toEqual(all)
    expect(requestedQueries()).toEqual([{ page: '1' }, { page: '2' }, { page: '3' }])
  })

  test('may be lowered by the service: the echoed one takes effect, and the query stays as given', async () => {
    const all = fill(250)
    expect(await collect(createClient().transactions.list({ limit: 1000 }))).toEqual(all)
    expect(requestedQueries()).toEqual([
      { page: '1', limit: '1000' },
      { page: '2', limit: '1000' },
      { page: '3', limit: '1000' },
    ])
  })

  test('is a PaginationError when it changes between two pages', async () => {
    const all = sampleTransactions(100)
    const requested = respondTo(page => envelopeOf(all, page, page < 3 ? 10 : 5))
    const { before, error } = await iterateToPaginationError(createClient().transactions.list())
    expect(before).toEqual(all.slice(0, 20))
    // Nothing tells how pages of one limit and of another meet.
    expect(error).toMatchObject({ page: 1, kind: 'pagination', path: '/transactions' })
    expect(requested.slice(0, 3)).toEqual([1, 2, 3])
  })

  test('is a PaginationError when a page exceeds it', async () => {
    const all = sampleTransactions(100)
    respondTo(page => ({
      ...envelopeOf(all, page),
      data: all.slice((page - 1) * 10, page * 10 + (page === 2 ? 1 : 0)),
    }))
    const { before, error } = await iterateToPaginationError(createClient().transactions.list())
    expect(before).toEqual(all.slice(0, 10))
    expect(error.page).toBe(2)
    await expect(createClient().transactions.list({ page: 2 })).rejects.toBeInstanceOf(PaginationError)
  })
})

describe('an unusual page', () => {
  test('with a number that was not requested is a PaginationError, and yields nothing', async () => {
    const all = sampleTransactions(100)
    respondTo(page => ({ ...envelopeOf(all, page), page: page === 3 ? 2 : page }))
    const { before, error } = await iterateToPaginationError(createClient().transactions.list())
    expect(before).toEqual(all.slice(0, 20))
    expect(error.page).toBe(3)
  })

  test('with a number that was not requested is a PaginationError when awaited, too', async () => {
    respondTo(() => envelopeOf(sampleTransactions(100), 1))
    await expect(createClient().transactions.list({ page: 7 })).rejects.toMatchObject({
      kind: 'pagination',
      page: 7,
    })
  })

  // Page 4 of 100 items, and the last page of 35.
  test('that is empty before the total is reached is a PaginationError, never a silent end', () =>
    checkEach([100, 35], async total => {
      const all = sampleTransactions(total)
      respondTo(page => (page === 4 ? { ...envelopeOf(all, page), data: [] } : envelopeOf(all, page)))
      for (const onMissedItems of ['throw', 'continue'] as const) {
        const list = createClient().transactions.list({}, { onMissedItems })
        const { before, error } = await iterateToPaginationError(list)
        expect(before).toEqual(all.slice(0, 30))
        // Nothing tells where the items went that the total counts.
        expect(error.page).toBe(1)
      }
      await expect(createClient().transactions.list({ page: 4 })).rejects.toBeInstanceOf(PaginationError)
    }))

  test('that is short in the middle does not end the iteration', async () => {
    const all = sampleTransactions(28)
    const data = [all.slice(0, 10), all.slice(10, 18), all.slice(18, 28)]
    const requested = respondTo(page => ({ data: data[page - 1] ?? [], page, totalItems: 28, limit: 10 }))
    expect(await collect(createClient().transactions.list())).toEqual(all)
    expect(requested).toEqual([1, 2, 3])
  })

  test('that repeats an earlier one does not end the iteration', async () => {
    const all = fill(50)
    const { client, events } = createObservedClient()
    const seen: Transaction[] = []
    for await (const item of client.transactions.list({ limit: 10 }, { concurrency: 1 })) {
      seen.push(item)
      if (seen.length !== 20) continue
      // A page of items before it is added, and one behind it removed: the total stays.
      service.transactions.splice(40, 10)
      for (let index = 0; index < 10; index++) service.transactions.unshift(newest(`new${index}`))
    }
    expect(seen).toEqual(all.slice(0, 40))
    expect(requestedPages()).toEqual([1, 2, 3, 4, 5])
    expect(
      events.filter(({ type }) => type === 'drift').map(event => 'change' in event && event.change),
    ).toEqual(Array(10).fill('duplicate'))
  })

  test('is a PaginationError when it and the one before it repeat earlier pages', async () => {
    const all = sampleTransactions(100)
    const requested = respondTo(page => ({ ...envelopeOf(all, 1), page }))
    const { before, error } = await iterateToPaginationError(createClient().transactions.list())
    expect(before).toEqual(all.slice(0, 10))
    expect(error.page).toBe(3)
    expect(new Set(requested).size).toBeLessThanOrEqual(6)
  })

  test('is a PaginationError when it came eight times in a row, however much the total grows', async () => {
    const all = sampleTransactions(10)
    respondTo(page => ({ ...envelopeOf(all, 1), page, totalItems: 10 * page + 10 }))
    const { before, error } = await iterateToPaginationError(createClient().transactions.list())
    expect(before).toEqual(all)
    expect(error.page).toBe(8)
  })

  test('that is the last and repeats an earlier one does not end the iteration silently', async () => {
    // The service ignores `page`, and the total fits twice the first one.
    const all = sampleTransactions(20)
    respondTo(page => ({ ...envelopeOf(all, 1), page }))
    const { before, error } = await iterateToPaginationError(createClient().transactions.list())
    expect(before).toEqual(all.slice(0, 10))
    expect(error.page).toBe(3)
  })

  test('beyond every total is compared as it came, whatever a schema makes of its items', async () => {
    const refunds = [{ number: 1 }, { number: 2 }, { number: 3 }, { number: 4 }]
    const list = (schema: z.ZodType) =>
      createClient().list('/refunds', {}, { schema, onMissedItems: 'continue' })
    respondTo(page => ({ ...envelopeOf(refunds, page, 2), totalItems: 1 }))
    expect(await collect(list(z.object({})))).toEqual([{}, {}, {}, {}])
    let row = 0
    respondTo(page => ({ ...envelopeOf(refunds, 1, 2), page, totalItems: 1 }))
    await iterateToPaginationError(list(z.transform(() => ++row)))
  })

  test('that repeats an earlier one is recognised by a custom dedupeBy', async () => {
    const refunds = Array.from({ length: 100 }, (_, number) => ({ number }))
    respondTo(page => ({ ...envelopeOf(refunds, 1), page }))
    const options = { schema: z.looseObject({ number: z.number() }), dedupeBy: refundNumber }
    const { before, error } = await iterateToPaginationError(createClient().list('/refunds', {}, options))
    expect(before).toHaveLength(10)
    expect(error.page).toBe(3)
  })

  test('that repeats an earlier one is accepted where nothing identifies an item', async () => {
    const refunds = [{ number: 1 }, { number: 1 }, { number: 1 }, { number: 1 }]
    const requested = respondTo(page => envelopeOf(refunds, page, 2))
    const schema = z.looseObject({ number: z.number() })
    expect(await collect(createClient().list('/refunds', {}, { schema }))).toEqual(refunds)
    expect(requested).toEqual([1, 2])
  })

  test('is a PaginationError even without identity, when two beyond every total repeat an earlier one', async () => {
    const refunds = Array.from({ length: 25 }, (_, number) => ({ number }))
    const requested = respondTo(page => ({ ...envelopeOf(refunds, 1), page }))
    const schema = z.looseObject({ number: z.number() })
    const { before, error } = await iterateToPaginationError(createClient().list('/refunds', {}, { schema }))
    expect(before).toHaveLength(40)
    expect(error.page).toBe(5)
    expect(requested).toEqual([1, 2, 3, 4, 5])
  })

  test('that begins with the same item as those before it, but goes on with others, does not count as repeated', async () => {
    const [pinned, ...others] = sampleTransactions(13)
    const data = [0, 4, 8].map(start => [pinned, ...others.slice(start, start + 4)])
    respondTo(page => ({ data: data[page - 1] ?? [], page, totalItems: 15, limit: 5 }))
    const items = await collect(createClient().transactions.list({}, { concurrency: 1 }))
    expect(items).toEqual([pinned, ...others])
  })

  test('that begins with the same item, but goes on with others that nothing identifies, does not count as repeated', async () => {
    const all = ['pinned', 1, 2, 'pinned', 3, 4, 'pinned', 5, 6].map(number => ({ number }))
    respondTo(page => envelopeOf(all, page, 3))
    const schema = z.looseObject({ number: z.unknown() })
    const dedupeBy = ({ number }: { number: unknown }) => (number === 'pinned' ? number : undefined)
    const list = createClient().list('/refunds', {}, { schema, dedupeBy, concurrency: 1 })
    expect((await collect(list)).map(refundNumber)).toEqual(['pinned', 1, 2, 3, 4, 5, 6])
  })

  test('that comes after the total, but differs from the page before it, does not count as repeated', async () => {
    const refunds = Array.from({ length: 20 }, (_, number) => ({ number }))
    respondTo(page => ({ ...envelopeOf(refunds, page, 5), totalItems: 3 }))
    const schema = z.looseObject({ number: z.number() })
    expect(await collect(createClient().list('/refunds', {}, { schema }))).toEqual(refunds)
  })

  test('that comes after the total is read even if it is the first', async () => {
    const refunds = Array.from({ length: 20 }, (_, number) => ({ number }))
    respondTo(page => ({ ...envelopeOf(refunds, page, 5), totalItems: 10 }))
    const schema = z.looseObject({ number: z.number() })
    const list = createClient().list('/refunds', { page: 3 }, { schema })
    expect(await collect(list)).toEqual(refunds.slice(10))
  })

  test('that comes right after the total and repeats an earlier one counts as repeated even without identity', async () => {
    const refunds = Array.from({ length: 10 }, (_, number) => ({ number }))
    // The total is not reached by page 2, as page 1 is short: page 3 is the first after it.
    const data = [refunds.slice(0, 4), refunds.slice(5)]
    respondTo(page => ({ data: data[Math.min(page, 2) - 1] ?? [], page, totalItems: 10, limit: 5 }))
    const schema = z.looseObject({ number: z.number() })
    const { error } = await iterateToPaginationError(createClient().list('/refunds', {}, { schema }))
    expect(error.page).toBe(4)
  })

  test('may repeat an earlier one after a page of items was inserted', async () => {
    const all = fill(40)
    const { client, events } = createObservedClient()
    const seen: Transaction[] = []
    for await (const item of client.transactions.list({ limit: 10 }, { concurrency: 1 })) {
      seen.push(item)
      if (seen.length === 20) {
        for (let index = 0; index < 10; index++) service.transactions.unshift(newest(`new${index}`))
      }
    }
    expect(seen).toEqual(all)
    expect(requestedPages()).toEqual([1, 2, 3, 4, 5])
    expect(events.filter(({ type }) => type === 'drift')).toHaveLength(1 + 10)
  })

  test('may repeat the one before it when a page of items was inserted before each', async () => {
    const all = sampleTransactions(40)
    const inserted = Array.from({ length: 20 }, (_, index) => newest(`new${index}`))
    respondTo(page =>
      envelopeOf([...inserted.slice(0, 10 * Math.min(2, Math.max(0, page - 2))), ...all], page),
    )
    expect(await collect(createClient().transactions.list({}, { concurrency: 1 }))).toEqual(all)
  })

  test('that fails ends the iteration, and a new one can resume there', async () => {
    const all = sampleTransactions(95)
    let isBroken = true
    respondTo(page => (page === 4 && isBroken ? new Response(null, { status: 404 }) : envelopeOf(all, page)))
    const client = createClient()
    const list = client.transactions.list({ limit: 10 })
    const items = list[Symbol.asyncIterator]()
    const before: Transaction[] = []
    const error = await rejectionOf(
      (async () => {
        for (let next = await items.next(); !next.done; next = await items.next()) before.push(next.value)
      })(),
    )
    if (!isApiError(error) || error.kind !== 'http') throw error
    expect(error).toMatchObject({ status: 404, page: 4 })
    expect(before).toEqual(all.slice(0, 30))
    expect(await items.next()).toEqual({ done: true, value: undefined })
    isBroken = false
    const rest = await collect(client.transactions.list({ page: error.page, limit: 10 }))
    expect([...before, ...rest]).toEqual(all)
  })

  test('that fails is reported after the pages before it, even if they arrive later', async () => {
    const stage = createStage(100)
    const iteration = iterateToError(createClient({ fetch: stage.fetch, maxRetries: 0 }).transactions.list())
    await stage.respond(1, 2, 3)
    ;(await stage.of(6)).lose()
    await idle()
    // No page after it is needed.
    expect(stage.inFlight).toEqual([4, 5, 7])
    await stage.respond(5, 4)
    const { before, error } = await iteration
    expect(before).toEqual(stage.items.slice(0, 50))
    expect(error).toMatchObject({ kind: 'connection', page: 6 })
    await idle()
    expect(stage.requests.find(({ page }) => page === 7)?.isAborted).toBe(true)
    expect(stage.pages).toHaveLength(7)
  })

  test('that fails and is never needed has no effect', async () => {
    const stage = createStage(100)
    const list = createClient({ fetch: stage.fetch, maxRetries: 0 }).transactions.list()
    const iteration = (async () => {
      for await (const { id } of list) if (id === stage.items[15]?.id) break
    })()
    await stage.respond(1)
    ;(await stage.of(3)).lose()
    await stage.respond(2)
    await iteration
    await idle()
    expect(stage.pages).toEqual([1, 2, 3])
  })

  test('that breaks the interface is an InvalidResponseError with its page number', async () => {
    const all = sampleTransactions(30)
    respondTo(page => (page === 2 ? { ...envelopeOf(all, 2), data: [{ id: 7 }] } : envelopeOf(all, page)))
    const { before, error } = await iterateToError(createClient().transactions.list())
    expect(before).toEqual(all.slice(0, 10))
    expect(error).toMatchObject({ kind: 'invalid-response', page: 2 })
  })
})

describe('a wrong total', () => {
  test('that is too small does not end the iteration before an empty page', async () => {
    const all = sampleTransactions(25)
    const requested = respondTo(page => ({ ...envelopeOf(all, page), totalItems: 12 }))
    expect(await collect(createClient().transactions.list())).toEqual(all)
    expect(requested).toEqual([1, 2, 3, 4])
  })

  test('that is too small by less than a page does not end the iteration either', async () => {
    const all = sampleTransactions(25)
    const requested = respondTo(page => ({ ...envelopeOf(all, page), totalItems: 22 }))
    const { client, events } = createObservedClient()
    expect(await collect(client.transactions.list())).toEqual(all)
    expect(requested).toEqual([1, 2, 3, 4])
    expect(events.filter(({ type }) => type === 'drift')).toEqual([])
  })

  test('that is too large is a PaginationError when an empty page shows it', async () => {
    const all = sampleTransactions(25)
    const requested = respondTo(page => ({ ...envelopeOf(all, page), totalItems: 29 }))
    const { client, events } = createObservedClient()
    const { before, error } = await iterateToPaginationError(client.transactions.list())
    expect(before).toEqual(all)
    expect(requested).toEqual([1, 2, 3, 4])
    expect(error.page).toBe(1)
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'missing', before: 29, after: 25, path: '/transactions', method: 'GET', page: 4 },
    ])
  })

  test("that is too large is accepted with onMissedItems: 'continue', with a drift event", async () => {
    const all = sampleTransactions(25)
    respondTo(page => ({ ...envelopeOf(all, page), totalItems: 29 }))
    const { client, events } = createObservedClient()
    const list = client.transactions.list({}, { onMissedItems: 'continue' })
    expect(await collect(list)).toEqual(all)
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([{ change: 'missing' }])
  })

  test('that is not reached because of a short page lets a new iteration resume before the first possible gap', async () => {
    const all = sampleTransactions(27)
    const data = [all.slice(0, 10), all.slice(10, 18), all.slice(18, 27)]
    const requested = respondTo(page => ({ data: data[page - 1] ?? [], page, totalItems: 29, limit: 10 }))
    const { before, error } = await iterateToPaginationError(createClient().transactions.list())
    expect(before).toEqual(all)
    expect(requested).toEqual([1, 2, 3, 4])
    expect(error.page).toBe(1)
  })
})

test('a list that begins at a later page is read to its end although its pages are short', () =>
  checkEach([2, 3, 4, 5, 6], async page => {
    // A service that leaves items out after it has cut the pages.
    const shown = filterPages(33, index => index % 5 === 0)
    const list = createClient().transactions.list({ page, limit: 5 })
    const [first] = (await list).data
    expect(await collect(list)).toEqual(shown.slice(shown.findIndex(({ id }) => id === first?.id)))
  }))

test('a list whose pages are short is resumed at page 1, as later pages begin further on than their number says', async () => {
  const isHidden = (index: number) => index < 20 && index % 2 === 0
  const shown = filterPages(60, isHidden, start => start === 20)
  const { before, error } = await iterateToError(createClient().transactions.list({ limit: 10 }))
  expect(before).toEqual(shown.slice(0, 10))
  expect(error).toMatchObject({ kind: 'http', page: 1 })
})

test('a larger total is believed although a page is shorter than the requested limit', async () => {
  // The service lowers the limit: "shorter than the limit" would stop after the first page.
  const all = sampleTransactions(25)
  const requested = respondTo(page => envelopeOf(all, page, 4))
  expect(await collect(createClient().transactions.list({ limit: 100 }))).toEqual(all)
  expect(requested).toHaveLength(7)
})
