import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { createClient, createObservedClient, service, startService } from '../service.ts'
import { checkEach } from '../support.ts'
import { collect, createList, createStage, endOf, envelopeOf, fill, idle, modes, respondTo } from './lists.ts'

startService()

describe('iterating a list', () => {
  test('yields every item in order, whatever its size, limit, concurrency and mode', () =>
    checkEach([0, 1, 19, 20, 21, 40, 57, 60, 119, 399], async count => {
      for (const verified of modes) {
        for (const [concurrency, limit] of [
          [1, 20],
          [2, 25],
          [4, 50],
          [16, 20],
        ] as const) {
          const { list, all } = createList(count)
          expect(await collect(list({ limit }, { verified, concurrency }))).toEqual(all)
        }
      }
    }))

  test('rejects with what `apiKey` throws, even undefined', async () => {
    const apiKey = () => {
      throw undefined
    }
    await expect(collect(createClient({ apiKey }).transactions.list())).rejects.toBeUndefined()
  })

  test('yields nothing from an empty list or beyond the end, with one request', () =>
    checkEach(
      [
        [0, 1],
        [5, 7],
        [100, 9],
      ] as const,
      async ([count, page]) => {
        for (const verified of modes) {
          const { fake, list } = createList(count)
          expect(await collect(list({ page, limit: 20 }, { verified }))).toEqual([])
          expect(fake.requests).toHaveLength(1)
        }
      },
    ))

  test('begins at a later page, in any mode', () =>
    checkEach(modes, async verified => {
      const { list, all } = createList(130)
      expect(await collect(list({ page: 3, limit: 20 }, { verified }))).toEqual(all.slice(40))
    }))

  test('needs no more than the requests that overlap costs', () =>
    checkEach(
      [
        [100, 1.15],
        [50, 1.23],
        [20, 1.4],
      ] as const,
      async ([limit, factor]) => {
        const { fake, list, all } = createList(10_000)
        expect(await collect(list({ limit }))).toEqual(all)
        expect(fake.requests.length / (10_000 / limit)).toBeLessThanOrEqual(factor)
      },
    ))

  test('yields at most maxItems items, and requests no page beyond them', () =>
    checkEach([0, 1, 19, 20, 21, 100, 399, 400, 500, Number.POSITIVE_INFINITY], async maxItems => {
      for (const verified of modes) {
        const { fake, list, all } = createList(400)
        expect(await collect(list({ limit: 20 }, { maxItems, verified }))).toEqual(all.slice(0, maxItems))
        for (const { query } of fake.requests) {
          expect((Number(query.page) - 1) * Number(query.limit)).toBeLessThan(maxItems)
        }
      }
    }))

  test('starts from the beginning each time, with the items that are there then', async () => {
    fill(45)
    const list = createClient().transactions.list({ limit: 20 })
    expect(await collect(list)).toHaveLength(45)
    service.transactions.pop()
    expect(await collect(list)).toHaveLength(44)
  })

  test('sends the query with every request, and keeps params and options as they were given', async () => {
    const all = fill(60)
    const params = { limit: 20, query: { currency: ['AED'] } }
    const options = { maxItems: 50 }
    const list = createClient().transactions.list(params, options)
    params.limit = 1
    params.query.currency.push('USD')
    options.maxItems = 1
    expect(await collect(list)).toEqual(all.slice(0, 50))
    expect(service.requests.map(({ query }) => query.currency)).toEqual(service.requests.map(() => 'AED'))
  })

  test('validates each item by the schema, also an asynchronous one, and yields its output', async () => {
    const all = fill(45)
    const schema = z.object({ id: z.string() }).transform(async ({ id }) => ({ key: id }))
    const list = createClient().transactions.list({ limit: 20 }, { schema })
    expect(await collect(list)).toEqual(all.map(({ id }) => ({ key: id })))
  })

  test('gives all events of a loop its number, and each page a callId of its own', async () => {
    fill(60)
    const { client, events } = createObservedClient()
    const list = client.transactions.list({ limit: 20 })
    await collect(list)
    const loops = new Set(events.map(({ loop }) => loop))
    expect(loops.size).toBe(1)
    const calls = Map.groupBy(events.slice(0, -1), ({ callId }) => callId)
    expect(calls.size).toBe(service.requests.length)
    for (const [, emitted] of calls)
      expect(emitted.map(({ type }) => type)).toEqual(['request', 'response', 'success'])
    expect(endOf(events)).toMatchObject({ items: 60, requests: service.requests.length, isComplete: true })
    await collect(list)
    expect(loops).not.toContain(endOf(events).loop)
  })
})

describe('requests in flight', () => {
  test('are at most `concurrency`, and as many as that in a long list', () =>
    checkEach([1, 2, 4, 7], async concurrency => {
      for (const verified of modes) {
        const stage = createStage(500)
        const client = createClient({ fetch: stage.fetch, concurrency })
        const reading = collect(client.transactions.list({ limit: 20 }, { verified }))
        await stage.respondToAll()
        expect(await reading).toEqual(stage.items)
        expect(stage.mostInFlight).toBe(concurrency)
      }
    }))

  test('start slowly, so that leaving early wastes little', async () => {
    const stage = createStage(500)
    const items = createClient({ fetch: stage.fetch })
      .transactions.list({ limit: 20 })
      [Symbol.asyncIterator]()
    const read = async (count: number) => {
      const reading = Array.from({ length: count }, () => items.next())
      await stage.respond()
      await Promise.all(reading)
      await idle()
    }
    await read(1)
    expect(stage.requests).toHaveLength(1)
    for (let item = 1; item < 20; item++) await items.next()
    expect(stage.requests).toHaveLength(1)
    await read(1)
    expect(stage.requests).toHaveLength(3)
    await items.return()
  })

  test('start when one settles, not when its page is read; at most twice `concurrency` are held', async () => {
    const stage = createStage(2000)
    const client = createClient({ fetch: stage.fetch, concurrency: 3 })
    const reading = collect(client.transactions.list({ limit: 20 }, { verified: false }))
    await stage.respond(5)
    const [slow] = stage.inFlight
    // The reader waits for this page, while those after it arrive.
    for (let rounds = 0; rounds < 10; rounds++) {
      for (const request of stage.inFlight) if (request !== slow) request.respond()
      await idle()
    }
    expect(stage.inFlight).toEqual([slow])
    expect(stage.requests.filter(({ page }) => page > (slow?.page ?? 0))).toHaveLength(5)
    slow?.respond()
    await stage.respondToAll()
    expect(await reading).toEqual(stage.items)
  })

  test('are limited to one after a retried 503, and to one more for each response', async () => {
    const stage = createStage(2000)
    const client = createClient({ fetch: stage.fetch })
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const reading = collect(client.transactions.list({ limit: 20 }, { verified: false }))
    await stage.respond(6)
    expect(stage.inFlight).toHaveLength(4)
    const [failing] = stage.inFlight
    failing?.respondWith(new Response(null, { status: 503 }))
    const retry = await stage.of(failing?.page ?? 0)
    retry.respond()
    await idle()
    // The others in flight then arrive without being replaced.
    while (stage.inFlight.length > 1) await respondToLast()
    const most: number[] = []
    for (let arrived = 0; arrived < 4; arrived++) {
      await stage.respond()
      most.push(stage.inFlight.length)
    }
    expect(most.at(-1)).toBeLessThanOrEqual(4)
    expect(most).toEqual(most.toSorted())
    await stage.respondToAll()
    expect(await reading).toEqual(stage.items)

    async function respondToLast() {
      const sent = stage.requests.length
      stage.inFlight.at(-1)?.respond()
      await idle()
      expect(stage.requests).toHaveLength(sent)
    }
  })

  test('are not sent twice by parallel next(), which is served in order', () =>
    checkEach(modes, async verified => {
      const { fake, list, all } = createList(95)
      const items = list({ limit: 20 }, { verified })[Symbol.asyncIterator]()
      const results = await Promise.all(Array.from({ length: 100 }, () => items.next()))
      expect(results.slice(0, 95)).toEqual(all.map(value => ({ done: false, value })))
      expect(results.slice(95)).toEqual(Array(5).fill({ done: true, value: undefined }))
      const sent = fake.requests.map(({ query }) => JSON.stringify(query))
      expect(new Set(sent).size).toBe(sent.length)
    }))

  test('reject the first parallel next(), and end the others', async () => {
    service.fail({ with: new Response(null, { status: 404 }) })
    const items = createClient().transactions.list()[Symbol.asyncIterator]()
    const [first, ...others] = await Promise.allSettled([items.next(), items.next(), items.next()])
    expect(first).toMatchObject({ status: 'rejected', reason: { status: 404 } })
    for (const other of others) expect(other).toMatchObject({ status: 'fulfilled', value: { done: true } })
    expect(service.requests).toHaveLength(1)
  })

  test('that fail are resent if the loop goes back', async () => {
    const all = fill(400)
    let current = all
    respondTo((page, limit, count) => {
      // The window after page 1 shows that so much was removed that the loop goes back; the one after it fails.
      if (count === 2) current = all.slice(60)
      return count === 3 ? new Response(null, { status: 404 }) : envelopeOf(current, page, limit)
    })
    const items = await collect(createClient().transactions.list({ limit: 20 }))
    expect(items).toEqual([...all.slice(0, 20), ...all.slice(60)])
  })
})
