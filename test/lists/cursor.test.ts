import { Client, type ListOptions, type ListParams, type Transaction } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createClient, createObservedClient, service, startService } from '../service.ts'
import { checkEach, rejectionOf } from '../support.ts'
import {
  collect,
  createList,
  createStage,
  endOf,
  envelopeOf,
  fill,
  idle,
  ids,
  iterateToError,
  iterateToPaginationError,
  modes,
  newItems,
  respondTo,
} from './lists.ts'

startService()

type Fetch = typeof globalThis.fetch

/** Goes on in what could be another process: another client, and the cursor as text. */
function goOn(
  fetch: Fetch,
  cursor: string | undefined,
  params: ListParams = {},
  options: ListOptions<Transaction> = {},
) {
  const { baseUrl, apiKey } = service
  const client = new Client({ baseUrl, apiKey, fetch })
  return client.transactions.list(params, { after: cursor && JSON.parse(JSON.stringify(cursor)), ...options })
}

/** Reads this many batches. Returns their items, and the cursor of the last. */
async function readBatches(list: ReturnType<typeof goOn>, count: number) {
  const items: Transaction[] = []
  let cursor: string | undefined
  for await (const batch of list.batches()) {
    items.push(...batch.items)
    cursor = batch.cursor
    if (--count === 0) break
  }
  return { items, cursor }
}

describe('a cursor', () => {
  test('goes on after its batch, in another client, cut anywhere and any number of times', () =>
    checkEach([0, 1, 20, 41, 60, 250], async count => {
      for (const verified of modes) {
        for (const cut of [1, 2, 3]) {
          const { fake, all } = createList(count)
          const read: Transaction[] = []
          let cursor: string | undefined
          for (;;) {
            const run = await readBatches(goOn(fake.fetch, cursor, { limit: 20 }, { verified }), cut)
            if (run.cursor === undefined) break
            read.push(...run.items)
            cursor = run.cursor
          }
          expect(read).toEqual(all)
        }
      }
    }))

  test('goes on after its batch, whatever was added and removed meanwhile', () =>
    checkEach<[string, (items: Transaction[]) => unknown]>(
      [
        ['items added at the head', items => items.unshift(...newItems(70))],
        ['items removed at the head', items => items.splice(0, 35)],
        ['the last item read removed', items => items.splice(37, 1)],
        ['one removed and one added at once', items => items.push(...newItems(items.splice(0, 1).length))],
        ['items added at the end', items => items.push(...newItems(30))],
      ],
      async ([, change]) => {
        const { fake, all } = createList(200)
        const first = await readBatches(goOn(fake.fetch, undefined, { limit: 20 }), 2)
        change(fake.transactions)
        const rest = await collect(goOn(fake.fetch, first.cursor, { limit: 20 }))
        const old = [...first.items, ...rest].filter(({ id }) => !id.startsWith('new'))
        expect(ids(old)).toEqual(ids(all))
        expect(rest.slice(-20)).toEqual(fake.transactions.slice(-20))
      },
    ))

  test('knows items that were read and moved on, while the loop reads those in their place', () =>
    checkEach([6, 7, 8, 9], async cut => {
      const { fake, all } = createList(400)
      const read: Transaction[] = []
      let cursor: string | undefined
      let batches = 0
      for await (const batch of goOn(fake.fetch, undefined, { limit: 20 }, { concurrency: 1 }).batches()) {
        read.push(...batch.items)
        cursor = batch.cursor
        batches++
        // The total stays, so the loop finds no known item except the first.
        if (batches === 3) {
          fake.transactions.splice(-130)
          fake.transactions.splice(1, 0, ...newItems(130))
        }
        if (batches === 3 + cut) break
      }
      read.push(...(await collect(goOn(fake.fetch, cursor, { limit: 20 }))))
      expect(new Set(ids(read)).size).toBe(read.length)
      expect(ids(read.filter(({ id }) => !id.startsWith('new')))).toEqual(ids(all.slice(0, 270)))
    }))

  test('works with another limit, a smaller or a larger one, and with none', () =>
    checkEach([20, 25, 100, undefined], async limit => {
      const { fake, all } = createList(300)
      const { items, cursor } = await readBatches(goOn(fake.fetch, undefined, { limit: 50 }), 2)
      const rest = await collect(goOn(fake.fetch, cursor, { limit }))
      expect([...items, ...rest]).toEqual(all)
      const limits = fake.requests.slice(2).map(({ query }) => Number(query.limit))
      expect(Math.max(...limits.slice(1))).toBeLessThanOrEqual(limit ?? 50)
    }))

  test('of the last batch finds what was added behind it since, and nothing otherwise', async () => {
    const { fake, all } = createList(45)
    let { cursor } = await readBatches(goOn(fake.fetch, undefined, { limit: 20 }), 99)
    const sent = fake.requests.length
    expect(await collect(goOn(fake.fetch, cursor))).toEqual([])
    expect(fake.requests).toHaveLength(sent + 1)
    // A job that runs every minute.
    const seen = [...all]
    for (let minute = 0; minute < 4; minute++) {
      const added = newItems(25 * minute).map(item => ({ ...item, id: `${minute}-${item.id}` }))
      fake.transactions.push(...added)
      const run = await readBatches(goOn(fake.fetch, cursor), 99)
      expect(run.items).toEqual(added)
      seen.push(...run.items)
      cursor = run.cursor ?? cursor
    }
    expect(seen).toEqual(fake.transactions)
  })

  test('undefined begins at the beginning', async () => {
    const { fake, all } = createList(30)
    expect(await collect(goOn(fake.fetch, undefined))).toEqual(all)
  })

  test('is printable, short, and holds neither an item nor the API key', async () => {
    const { fake, client } = createList(400)
    const { cursor = '' } = await readBatches(client.transactions.list({ limit: 100 }), 4)
    expect(cursor).toMatch(/^[\w.-]{100,1500}$/)
    for (const secret of [service.apiKey, ...ids(fake.transactions)]) expect(cursor).not.toContain(secret)
  })

  test('is as short after the loop has gone back, and knows what was read before', async () => {
    const { fake, client, all } = createList(600)
    const reading = client.transactions.list({ limit: 100 }, { concurrency: 1 }).batches()
    const read: Transaction[] = []
    for (let batches = 0; batches < 3; batches++) read.push(...(await reading.next()).value!.items)
    // Of what was read, only the beginning is left: the loop goes back to it.
    const [head, again, added] = [all.slice(0, 40), read.slice(-40), newItems(120)]
    fake.transactions.splice(0, read.length, ...head, ...added)
    const items = [...(await reading.next()).value!.items]
    const { items: more, cursor } = (await reading.next()).value!
    await reading.return()
    items.push(...more)
    expect(items.slice(0, 120)).toEqual(added)
    expect(cursor.length).toBeLessThanOrEqual(1_500)
    // A replica that is behind shows some of it again.
    fake.transactions.splice(160, 0, ...again)
    const rest = await collect(goOn(fake.fetch, cursor, { limit: 100 }))
    expect([...items, ...rest]).toEqual([...added, ...all.slice(read.length)])
  })

  test('tells the number 1 from the string "1"', async () => {
    const rows = Array.from({ length: 60 }, (_, index) => ({ number: index }))
    const strings = rows.map(({ number }) => ({ number: String(number) }))
    const schema = z.looseObject({ number: z.unknown() })
    const itemKey = ({ number }: { number: unknown }) => number as number
    const list = (after?: string) =>
      createClient().list('/refunds', { limit: 20 }, { schema, itemKey, concurrency: 1, after })
    service.serveList('/refunds', rows)
    let cursor: string | undefined
    for await (const batch of list().batches()) {
      cursor = batch.cursor
      break
    }
    service.serveList('/refunds', strings)
    await iterateToPaginationError(list(cursor))
  })

  test('throws when none of its items is left, after it has looked for them in the whole list', async () => {
    const { fake } = createList(200)
    const { cursor } = await readBatches(goOn(fake.fetch, undefined, { limit: 20 }), 3)
    fake.transactions.splice(0, 200, ...sampleTransactions(200, 2))
    const sent = fake.requests.length
    const { before, error } = await iterateToPaginationError(goOn(fake.fetch, cursor, {}, { concurrency: 1 }))
    expect(before).toEqual([])
    expect(fake.requests.length - sent).toBeLessThanOrEqual(14)
    expect(error.message).toMatch(/Start over, without `after`\.$/)
    expect(error.cursor).toBeTypeOf('string')
  })

  test('is looked for where the total places it, then back to page 1, then on to the end, each once', () =>
    checkEach<[string, batches: number, (items: Transaction[]) => unknown, pages: number[]]>(
      [
        ['moved back, with the total', 6, items => items.splice(0, 60), [4]],
        ['moved back', 6, items => items.push(...items.splice(0, 60)), [4]],
        ['moved on', 6, items => items.unshift(...items.splice(-110)), [4, 1]],
        ['gone, near the beginning', 1, items => items.splice(0, 200, ...newItems(100)), [1, 2, 3, 4, 5, 6]],
        [
          'gone, in the middle',
          6,
          items => items.splice(0, 200, ...newItems(200)),
          [4, 1, 6, 7, 8, 9, 10, 11],
        ],
        ['gone, near the end', 9, items => items.splice(0, 200, ...newItems(200)), [6, 3, 1, 8, 9, 10, 11]],
      ],
      async ([name, batches, change, pages]) => {
        const isGone = name.startsWith('gone')
        const { fake } = createList(200)
        const { cursor } = await readBatches(goOn(fake.fetch, undefined, { limit: 20 }), batches)
        change(fake.transactions)
        const sent = fake.requests.length
        // Items that were read come again elsewhere: the order is not stable.
        const options = { concurrency: 1, onMissedItems: 'continue' } as const
        const reading = collect(goOn(fake.fetch, cursor, {}, options))
        if (isGone) await expect(reading).rejects.toMatchObject({ kind: 'pagination' })
        else await reading
        const full = fake.requests.slice(sent).filter(({ query }) => query.limit === '20')
        const searched = full.map(({ query }) => Number(query.page))
        expect(isGone ? searched : searched.slice(0, pages.length)).toEqual(pages)
      },
    ))

  test('is the next page where pages cannot overlap, and the end event says that it is not proven', async () => {
    const refunds = Array.from({ length: 90 }, (_, number) => ({ number }))
    const schema = z.looseObject({ number: z.number() })
    service.serveList('/refunds', refunds)
    const { client, events } = createObservedClient()
    const list = (after?: string) => client.list('/refunds', { limit: 20 }, { schema, after })
    const read: unknown[] = []
    let cursor: string | undefined
    for await (const batch of list().batches()) {
      read.push(...batch.items)
      cursor = batch.cursor
      if (read.length === 40) break
    }
    read.push(...(await collect(list(cursor))))
    expect(read).toEqual(refunds)
    expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'no-item-key' })
    const itemKey = ({ number }: { number: number }) => number
    const verified = { schema, itemKey, verified: true, after: cursor } as const
    expect(() => client.list('/refunds', { limit: 20 }, verified)).toThrow(TypeError)
  })

  test("makes the next loop's end event say what its own loop could not prove", async () => {
    const { client, events, fake } = createList(100)
    const { cursor } = await readBatches(client.transactions.list({ limit: 20 }, { verified: false }), 2)
    expect(await collect(client.transactions.list({}, { after: cursor }))).toEqual(
      fake.transactions.slice(40),
    )
    expect(endOf(events)).toMatchObject({ isComplete: false, reason: 'verified-false' })
  })

  test('of a proven loop that maxItems ended makes both loops together complete', async () => {
    const { client, events, all } = createList(100)
    const { items, cursor } = await readBatches(client.transactions.list({ limit: 20 }, { maxItems: 50 }), 9)
    expect(endOf(events)).toMatchObject({ items: 50, isComplete: false, reason: 'max-items' })
    expect([...items, ...(await collect(client.transactions.list({}, { after: cursor })))]).toEqual(all)
    expect(endOf(events)).toMatchObject({ items: 50, isComplete: true, reason: undefined })
  })
})

describe('a wrong cursor is a TypeError before anything is sent', () => {
  test('of a list with the same values of one filter in another order, such as fields to sort by', async () => {
    fill(100)
    const { list } = createClient().transactions
    const [batch] = await collect(list({ query: { sort: ['date', 'id'] } }, { maxItems: 20 }).batches())
    const after = batch?.cursor
    expect(() => list({ query: { sort: ['id', 'date'] } }, { after })).toThrow(/other filters/)
    expect(await collect(list({ query: { sort: ['date', 'id'] } }, { after }))).toHaveLength(80)
  })

  const read = async () => {
    fill(100)
    const { cursor = '' } = await readBatches(
      createClient().transactions.list({ limit: 20, query: { a: 1, b: 2 } }),
      2,
    )
    const sent = service.requests.length
    return { cursor, sent }
  }
  const schema = z.looseObject({ id: z.string() })

  test('of another list, of other filters, of another version, or damaged', async () => {
    const { cursor, sent } = await read()
    const query = { a: 1, b: 2 }
    const client = createClient()
    const list = (after: string, params: ListParams = { query }) =>
      client.transactions.list(params, { after })
    // Filters in another order: the same list.
    expect(await collect(list(cursor, { query: { b: 2, a: 1 } }))).not.toEqual([])
    const { length } = service.requests
    expect(length).toBeGreaterThan(sent)
    await checkEach<[string, RegExp, () => unknown]>(
      [
        [
          'path',
          /^after: .* another list/,
          () => client.list('/refunds', { query }, { schema, after: cursor }),
        ],
        ['filters', /^after: .* other filters/, () => list(cursor, { query: { a: 1, b: 3 } })],
        [
          'filters with exchanged values',
          /^after: .* other filters/,
          () => list(cursor, { query: { a: 2, b: 1 } }),
        ],
        ['no filters', /^after: .* other filters/, () => list(cursor, {})],
        ['version', /^after: .* version/, () => list(cursor.replace(/^va\d+/, 'va99'))],
        ['cut off', /^after: .* damaged/, () => list(cursor.slice(0, -1))],
        ['a letter changed', /^after: .* damaged/, () => list(`${cursor.slice(0, 60)}!${cursor.slice(61)}`)],
        ['longer', /^after: .* damaged/, () => list(`${cursor}0`)],
        ['with another part', /^after: .* damaged/, () => list(`${cursor}.0`)],
        ['with a version and more', /^after: .* damaged/, () => list(cursor.replace('.', 'x.'))],
        ['empty', /^after: .* damaged/, () => list('')],
        ['an id', /^after: .* damaged/, () => list(service.transactions[3]?.id ?? '')],
        ['null', /^after: expected a cursor.* got null/, () => list(null as never)],
        ['a number', /^after: expected a cursor.* got/, () => list(3 as never)],
        ['with a page', /^page: cannot be combined with `after`/, () => list(cursor, { query, page: 2 })],
      ],
      ([, message, call]) => {
        const error = (() => {
          try {
            return call()
          } catch (error) {
            return error
          }
        })()
        expect(error).toBeInstanceOf(TypeError)
        expect((error as Error).message).toMatch(message)
      },
    )
    expect(service.requests).toHaveLength(length)
  })

  test('never takes any other text for a cursor, and never crashes', async () => {
    const { cursor } = await read()
    const list = (after: string) => createClient().transactions.list({ query: { a: 1, b: 2 } }, { after })
    for (let index = 0; index < cursor.length; index += 7) {
      for (const other of ['A', '0', '.', '', '%']) {
        const damaged = cursor.slice(0, index) + other + cursor.slice(index + 1)
        if (damaged !== cursor) expect(() => list(damaged)).toThrow(TypeError)
      }
    }
  })

  test('awaiting a list that goes on after a cursor rejects, as it has no page', async () => {
    const { cursor, sent } = await read()
    const list = createClient().transactions.list({ query: { a: 1, b: 2 } }, { after: cursor })
    expect(await rejectionOf(list)).toBeInstanceOf(TypeError)
    expect(service.requests).toHaveLength(sent)
  })
})

describe('the error of a loop', () => {
  test('has the cursor after the last item, and the page and limit of the request that failed', () =>
    checkEach([2, 3, 5, 9], async failing => {
      const all = sampleTransactions(300)
      const sent: { page: number; limit: number }[] = []
      respondTo((page, limit, count) => {
        sent.push({ page, limit })
        return count === failing ? new Response(null, { status: 403 }) : envelopeOf(all, page, limit)
      })
      const list = createClient().transactions.list({ limit: 20 }, { concurrency: 1 })
      const { before, error } = await iterateToError(list)
      expect(error).toMatchObject({ kind: 'http', status: 403, ...sent.at(-1) })
      expect(before).toEqual(all.slice(0, before.length))
      const rest = await collect(createClient().transactions.list({ limit: 20 }, { after: error.cursor }))
      expect([...before, ...rest]).toEqual(all)
    }))

  test('has a cursor that knows nothing of the response that showed another order', async () => {
    // Nothing has moved around the last item read, yet an item of page 1 follows it.
    const all = sampleTransactions(100)
    const moved = [all[30], ...all.slice(1, 25), all[0], ...all.slice(25, 30), ...all.slice(31)]
    respondTo((page, limit, count) => envelopeOf(count > 1 ? moved : all, page, limit))
    const client = createClient()
    const options = { verified: true, concurrency: 1 }
    const { before, error } = await iterateToPaginationError(client.transactions.list({ limit: 20 }, options))
    expect(error).toMatchObject({ reason: 'order-not-stable' })
    const goOn = { after: error.cursor, onMissedItems: 'continue' } as const
    const rest = await collect(client.transactions.list({ limit: 20 }, goOn))
    const stayed = all.filter(({ id }, place) => place > 0 && id !== all[30]?.id)
    expect(ids([...before, ...rest])).toEqual(expect.arrayContaining(ids(stayed)))
  })

  test('has the cursor given before the first item, or none', async () => {
    fill(100)
    const client = createClient()
    const { cursor } = await readBatches(client.transactions.list({ limit: 20 }), 1)
    service.fail({ with: new Response(null, { status: 403 }) })
    const { error } = await iterateToError(client.transactions.list({}, { after: cursor }))
    const rest = await collect(client.transactions.list({}, { after: error.cursor }))
    expect(rest).toEqual(service.transactions.slice(20))
    service.fail({ with: new Response(null, { status: 403 }) })
    const first = await iterateToError(client.transactions.list({ limit: 30 }))
    expect(first.error).toMatchObject({ page: 1, limit: 30, cursor: undefined })
  })

  test('has no cursor outside of a loop: when awaiting, and in nextPage()', async () => {
    fill(100)
    const page = await createClient().transactions.list()
    service.fail({ times: 2, with: new Response(null, { status: 403 }) })
    expect(await rejectionOf(page.nextPage())).toMatchObject({ page: 2, cursor: undefined })
    expect(await rejectionOf(createClient().transactions.list())).toMatchObject({
      page: 1,
      cursor: undefined,
    })
  })

  test('comes after all items before it, even if they arrive later; the loop is then done', async () => {
    const stage = createStage(400)
    const client = createClient({ fetch: stage.fetch, maxRetries: 0 })
    const items = client.transactions.list({ limit: 20 })[Symbol.asyncIterator]()
    const reading = iterateToError({ [Symbol.asyncIterator]: () => items })
    await stage.respond(3)
    stage.inFlight.at(-1)?.lose()
    await idle()
    const sent = stage.requests.length
    while (stage.inFlight.length > 0) await stage.respond()
    const { before, error } = await reading
    expect(before.length).toBeGreaterThan(54)
    expect(before).toEqual(stage.items.slice(0, before.length))
    expect(error).toMatchObject({ kind: 'connection' })
    // No page after it is needed.
    expect(stage.requests).toHaveLength(sent)
    expect(await items.next()).toEqual({ done: true, value: undefined })
  })

  test('is not thrown for a page that is never needed', async () => {
    const stage = createStage(400)
    const list = createClient({ fetch: stage.fetch, maxRetries: 0 }).transactions.list({ limit: 20 })
    const reading = (async () => {
      let read = 0
      for await (const _ of list) if (++read === 30) break
    })()
    await stage.respond()
    stage.inFlight.at(-1)?.lose()
    await stage.respond()
    await reading
  })
})
