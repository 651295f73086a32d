import { describe, expect, test, vi } from 'vitest'
import { createClient, createObservedClient, service, startService } from '../service.ts'
import { checkEach } from '../support.ts'
import { collect, createStage, fill, idle } from './lists.ts'

startService()

describe('the slow start', () => {
  test('lets a loop that stops early request few pages', () =>
    checkEach<[where: string, items: number, pages: number[]]>(
      [
        ['inside page 1', 5, [1]],
        ['at the end of page 1', 10, [1]],
        ['inside page 2', 15, [1, 2, 3]],
        ['at the end of page 2', 20, [1, 2, 3]],
        ['inside page 3', 25, [1, 2, 3, 4, 5, 6]],
        ['at the end of page 3', 30, [1, 2, 3, 4, 5, 6]],
      ],
      async ([, items, pages]) => {
        for (const lingers of [false, true]) {
          fill(1000)
          const { client, events } = createObservedClient({ fetch: service.fetch, concurrency: 16 })
          let read = 0
          for await (const _item of client.transactions.list({ limit: 10 })) {
            if (++read < items) continue
            // Prefetched pages arrive meanwhile, and must not make room for more.
            if (lingers) await idle()
            break
          }
          await idle()
          const sent = events.filter(({ type }) => type === 'request').map(({ page }) => page)
          // An immediate break may cancel some of them before they are sent.
          expect(sent).toEqual(lingers ? pages : pages.slice(0, sent.length))
        }
      },
    ))

  test('ends with the fourth page, from which the window is full', async () => {
    const stage = createStage(300)
    const pages = createClient({ fetch: stage.fetch, concurrency: 6 }).transactions.list().pages()
    const next = pages[Symbol.asyncIterator]()
    void next.next()
    await idle()
    expect(stage.pages).toEqual([1])
    await stage.respond(1)
    expect(stage.pages).toEqual([1])
    void next.next()
    await idle()
    expect(stage.pages).toEqual([1, 2, 3])
    await stage.respond(2, 3)
    expect(stage.pages).toEqual([1, 2, 3])
    void next.next()
    await idle()
    expect(stage.pages).toEqual([1, 2, 3, 4, 5, 6])
    void next.next()
    await idle()
    expect(stage.inFlight).toEqual([4, 5, 6, 7, 8, 9])
  })

  test('never exceeds the concurrency', async () => {
    const stage = createStage(100)
    const iteration = collect(createClient({ fetch: stage.fetch, concurrency: 2 }).transactions.list())
    await stage.respond(1, 2, 3)
    expect(stage.inFlight).toEqual([4, 5])
    await stage.respondToAll()
    expect(await iteration).toEqual(stage.items)
    expect(stage.mostInFlight).toBe(2)
  })
})

describe('prefetching', () => {
  test('keeps no more pages in flight than its concurrency', () =>
    checkEach([1, 2, 3, 5, 8], async concurrency => {
      const stage = createStage(300)
      const client = createClient({ fetch: stage.fetch, concurrency: 11 })
      const iteration = collect(client.transactions.list({}, { concurrency }))
      await stage.respondToAll()
      expect(await iteration).toEqual(stage.items)
      expect(stage.mostInFlight).toBe(concurrency)
    }))

  test('requests no page before it is needed with a concurrency of 1', async () => {
    const stage = createStage(60)
    const pages = createClient({ fetch: stage.fetch, concurrency: 1 }).transactions.list().pages()
    const next = pages[Symbol.asyncIterator]()
    for (let page = 1; page <= 6; page++) {
      const wanted = next.next()
      await stage.respond(page)
      await wanted
      expect(stage.pages).toHaveLength(page)
    }
  })

  test('goes on while one page is slow, up to twice the concurrency in flight or buffered', async () => {
    const stage = createStage(300)
    const iteration = collect(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.respond(1, 2, 3)
    expect(stage.inFlight).toEqual([4, 5, 6, 7])
    await stage.respond(5)
    expect(stage.inFlight).toEqual([4, 6, 7, 8])
    await stage.respond(6, 7, 8, 9, 10, 11)
    // Page 4 is in flight, and 5 to 11 are buffered.
    expect(stage.inFlight).toEqual([4])
    await stage.respond(4)
    expect(stage.inFlight).toHaveLength(4)
    await stage.respondToAll()
    expect(await iteration).toEqual(stage.items)
  })

  test('sends the next request when one settles, even if nothing is consumed', async () => {
    const stage = createStage(300)
    const next = createClient({ fetch: stage.fetch }).transactions.list().pages()[Symbol.asyncIterator]()
    for (let page = 1; page <= 4; page++) {
      const wanted = next.next()
      while (!stage.requests.some(request => request.page === page && request.isSettled))
        await stage.respond(page)
      await wanted
    }
    // Page 4 was read, and the reader pauses.
    const sent = stage.pages.length
    await stage.respond(stage.inFlight[0] as number)
    expect(stage.pages.length).toBe(sent + 1)
    await stage.respondToAll()
    expect(stage.pages.length - 4).toBeLessThanOrEqual(8)
    expect(stage.pages.length - 4).toBeGreaterThanOrEqual(7)
  })

  test('does not go beyond the end according to the total', async () => {
    const stage = createStage(45)
    const iteration = collect(createClient({ fetch: stage.fetch, concurrency: 16 }).transactions.list())
    await stage.respond(1, 3, 2)
    expect(stage.pages).toEqual([1, 2, 3, 4, 5])
    await stage.respondToAll()
    await iteration
    expect(stage.pages).toEqual([1, 2, 3, 4, 5])
  })

  test('falls to one page after a 429 or 503, and grows by one with each page that arrives', () =>
    checkEach([429, 503], async status => {
      vi.spyOn(Math, 'random').mockReturnValue(0)
      const stage = createStage(300)
      const iteration = collect(createClient({ fetch: stage.fetch }).transactions.list())
      await stage.respond(1, 2, 3)
      expect(stage.inFlight).toEqual([4, 5, 6, 7])
      ;(await stage.of(4)).respondWith(new Response(null, { status }))
      await stage.respond(5, 6, 7)
      // Page 4 waits for its retry, and all others for page 4.
      expect(stage.inFlight).toEqual([])
      await stage.respond(4)
      expect(stage.inFlight).toEqual([8])
      await stage.respond(8)
      expect(stage.inFlight).toEqual([9, 10])
      await stage.respond(9)
      expect(stage.inFlight).toEqual([10, 11, 12])
      await stage.respond(10)
      expect(stage.inFlight).toEqual([11, 12, 13, 14])
      await stage.respond(11)
      expect(stage.inFlight).toEqual([12, 13, 14, 15])
      await stage.respondToAll()
      expect(await iteration).toEqual(stage.items)
    }))

  test('does not slow down after a 500', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const stage = createStage(300)
    const iteration = collect(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.respond(1, 2, 3)
    ;(await stage.of(4)).respondWith(new Response(null, { status: 500 }))
    await stage.respond(5)
    expect(stage.inFlight).toEqual([6, 7, 8])
    await stage.respond(4)
    await stage.respondToAll()
    expect(await iteration).toEqual(stage.items)
  })
})
