import type { ApiError, Client, ClientEvent, List, Page, Transaction } from 'virtual-accounts'
import { isApiError, PaginationError } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod/mini'
import { createClient, createObservedClient, service, startService } from '../service.ts'
import { account, rejectionOf } from '../support.ts'
import {
  collect,
  createStage,
  envelopeOf,
  fill,
  idle,
  ids,
  iterateToError,
  iterateToPaginationError,
  newest,
  pageOf,
  refundNumber,
  requestedPages,
  requestedQueries,
  respondTo,
} from './lists.ts'

startService()

describe('iterating a list', () => {
  test('yields every item in order, each once', async () => {
    const all = fill(95)
    expect(await collect(createClient().transactions.list({ limit: 10 }))).toEqual(all)
    expect(requestedPages()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  test('keeps the order in whatever order the responses arrive', async () => {
    const stage = createStage(60)
    const iteration = collect(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.respond(1, 3, 2, 6, 5, 4)
    expect(await iteration).toEqual(stage.items)
  })

  test.each([0, 1, 9, 10, 11, 20, 25, 99, 100, 101])(
    'requests exactly the pages of a list of %i items, whatever the concurrency',
    async count => {
      const all = fill(count)
      for (const concurrency of [1, 2, 3, 4, 7, 16]) {
        service.reset()
        fill(count)
        const list = createClient({ concurrency, fetch: service.fetch }).transactions.list({ limit: 10 })
        expect(await collect(list)).toEqual(all)
        expect(requestedPages()).toEqual(
          Array.from({ length: Math.max(1, Math.ceil(count / 10)) }, (_, i) => i + 1),
        )
      }
    },
  )

  test('begins at the page given in params', async () => {
    const all = fill(45)
    expect(await collect(createClient().transactions.list({ page: 3, limit: 10 }))).toEqual(all.slice(20))
    expect(requestedPages()).toEqual([3, 4, 5])
  })

  test('yields nothing beyond the end, with one request', async () => {
    fill(20)
    const client = createClient()
    expect(await collect(client.transactions.list({ page: 3, limit: 10 }))).toEqual([])
    expect(await collect(client.transactions.list({ page: 90, limit: 10 }))).toEqual([])
    expect(requestedPages()).toEqual([3, 90])
  })

  test('sends the same query with every page', async () => {
    fill(25)
    const query = { status: 'settled', tag: ['a', 'b'] }
    await collect(createClient().transactions.list({ limit: 10, query }))
    expect(requestedQueries()).toEqual(
      [1, 2, 3].map(page => ({ page: String(page), limit: '10', status: 'settled', tag: 'a,b' })),
    )
  })

  test('is not affected by later changes to params and options', async () => {
    const all = fill(25)
    const tag = ['a']
    const params = { page: 1, limit: 10, query: { tag } }
    const options = { maxItems: 15 }
    const list = createClient().transactions.list(params, options)
    const seen: unknown[] = []
    for await (const item of list) {
      seen.push(item)
      Object.assign(params, { page: 9, limit: 1, query: { other: 1 } })
      tag.push('b')
      options.maxItems = 1
    }
    expect(seen).toEqual(all.slice(0, 15))
    expect(requestedQueries()).toEqual([
      { page: '1', limit: '10', tag: 'a' },
      { page: '2', limit: '10', tag: 'a' },
    ])
  })

  test('works in the same way for any other list endpoint', async () => {
    const refunds = Array.from({ length: 25 }, (_, number) => ({ number }))
    service.serveList('/refunds', refunds)
    const schema = z.looseObject({ number: z.number() })
    expect(await collect(createClient().list('/refunds', { limit: 10 }, { schema }))).toEqual(refunds)
    expect(service.requests.map(({ path, query }) => `${path} ${query.page}`).toSorted()).toEqual([
      '/refunds 1',
      '/refunds 2',
      '/refunds 3',
    ])
  })

  test('shares nothing with another iteration of the same list', async () => {
    const all = fill(25)
    const list = createClient().transactions.list({ limit: 10 })
    expect(await Promise.all([collect(list), collect(list)])).toEqual([all, all])
    expect(requestedPages()).toEqual([1, 1, 2, 2, 3, 3])
  })
})

describe('the slow start', () => {
  test.each([
    ['inside page 1', 5, [1]],
    ['at the end of page 1', 10, [1]],
    ['inside page 2', 15, [1, 2, 3]],
    ['at the end of page 2', 20, [1, 2, 3]],
    ['inside page 3', 25, [1, 2, 3, 4, 5, 6]],
    ['at the end of page 3', 30, [1, 2, 3, 4, 5, 6]],
  ])('lets a loop that stops %s request few pages', async (_where, items, pages) => {
    fill(1000)
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
  })

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
  test.each([1, 2, 3, 5, 8])(
    'keeps no more pages in flight than its concurrency of %i',
    async concurrency => {
      const stage = createStage(400)
      const client = createClient({ fetch: stage.fetch, concurrency: 11 })
      const iteration = collect(client.transactions.list({}, { concurrency }))
      await stage.respondToAll()
      expect(await iteration).toEqual(stage.items)
      expect(stage.mostInFlight).toBe(concurrency)
    },
  )

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

  test.each([429, 503])(
    'falls to one page after a %i, and grows by one with each page that arrives',
    async status => {
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
    },
  )

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

describe('leaving an iteration', () => {
  /** Four pages are in flight, and the items of page 3 are being read. */
  async function midway(read: (list: List<Transaction>) => Promise<unknown>, signal?: AbortSignal) {
    const stage = createStage(300)
    const client = createClient({ fetch: stage.fetch })
    const outcome = read(client.transactions.list({}, signal ? { signal } : {})).then(
      value => ({ value }),
      (error: unknown) => ({ error }),
    )
    await stage.respond(1, 2, 3)
    return { stage, outcome }
  }

  test('by break cancels requests in flight, and sends none more', async () => {
    const { stage, outcome } = await midway(async list => {
      let read = 0
      for await (const _item of list) if (++read === 25) break
    })
    expect(await outcome).toEqual({ value: undefined })
    await idle()
    expect(stage.pages).toEqual([1, 2, 3, 4, 5, 6])
    expect(stage.requests.filter(({ isAborted }) => isAborted).map(({ page }) => page)).toEqual([4, 5, 6])
  })

  test('by throwing cancels requests in flight, and propagates the error', async () => {
    const mine = new Error('enough')
    const { stage, outcome } = await midway(async list => {
      let read = 0
      for await (const _item of list) if (++read === 25) throw mine
    })
    expect(await outcome).toEqual({ error: mine })
    await idle()
    expect(stage.inFlight).toEqual([])
    expect(stage.pages).toHaveLength(6)
  })

  test('by break in pages() cancels requests in flight', async () => {
    const { stage, outcome } = await midway(async list => {
      for await (const page of list.pages()) if (page.page === 3) break
    })
    await outcome
    await idle()
    expect(stage.requests.filter(({ isAborted }) => isAborted).map(({ page }) => page)).toEqual([4, 5, 6])
  })

  test.each(['items', 'pages'] as const)(
    'by abort while %s are awaited rejects with the reason, and cancels requests in flight',
    async what => {
      const controller = new AbortController()
      const { stage, outcome } = await midway(
        list => collect<unknown>(what === 'items' ? list : list.pages()),
        controller.signal,
      )
      expect(stage.inFlight).toEqual([4, 5, 6, 7])
      const reason = new Error('the tab was closed')
      controller.abort(reason)
      expect(await outcome).toEqual({ error: reason })
      await idle()
      expect(stage.inFlight).toEqual([])
      expect(stage.pages).toHaveLength(7)
    },
  )

  test.each([false, true])(
    'by abort with the error of another call leaves that error as it is (verified: %s)',
    async verified => {
      service.fail({ method: 'POST', with: new Response(null, { status: 404 }) })
      const reason = (await rejectionOf(createClient().virtualAccounts.deactivate(account))) as ApiError
      const { message, stack } = reason
      fill(60)
      const controller = new AbortController()
      const onEvent = ({ type, page }: ClientEvent) => {
        if (type === 'request' && page === 2) controller.abort(Object.freeze(reason))
      }
      const { signal } = controller
      const list = createClient({ onEvent }).transactions.list({ limit: 20 }, { verified, signal })
      expect((await iterateToError(list)).error).toBe(reason)
      expect(reason).toMatchObject({ message, stack, page: undefined })
    },
  )

  test('by an apiKey function that throws the error of another call leaves that error as it is', async () => {
    service.fail({ method: 'POST', with: new Response(null, { status: 404 }) })
    const mine = (await rejectionOf(createClient().virtualAccounts.deactivate(account))) as ApiError
    const { message, stack } = mine
    fill(60)
    let keys = 0
    const apiKey = () => {
      if (++keys > 1) throw Object.freeze(mine)
      return service.apiKey
    }
    const list = createClient({ apiKey }).transactions.list({ limit: 20 }, { verified: true })
    expect((await iterateToError(list)).error).toBe(mine)
    expect(mine).toMatchObject({ message, stack, page: undefined })
  })

  test.each([false, true])(
    'by return() yields nothing more, even if the next page has arrived (verified: %s)',
    async verified => {
      const stage = createStage(60)
      const list = createClient({ fetch: stage.fetch }).transactions.list({ limit: 20 }, { verified })
      const items = list[Symbol.asyncIterator]()
      const first = items.next()
      await stage.respond(1)
      await first
      for (let read = 1; read < 20; read++) await items.next()
      await stage.respondToAll()
      const next = items.next()
      await items.return()
      expect(await next).toEqual({ done: true, value: undefined })
    },
  )

  test('by abort in the middle of a page yields no further item of it', async () => {
    fill(25)
    const controller = new AbortController()
    const list = createClient().transactions.list({ limit: 10 }, { signal: controller.signal })
    let read = 0
    const iteration = (async () => {
      for await (const _item of list) if (++read === 3) controller.abort()
    })()
    const error = await rejectionOf(iteration)
    expect(error).toBe(controller.signal.reason)
    expect(error).toMatchObject({ name: 'AbortError' })
    expect(read).toBe(3)
    expect(requestedPages()).toEqual([1])
  })

  test('by return() settles a pending next(), and cancels its request', async () => {
    const stage = createStage(100)
    const items = createClient({ fetch: stage.fetch }).transactions.list()[Symbol.asyncIterator]()
    const waiting = [items.next(), items.next()]
    await stage.of(1)
    expect(await items.return?.()).toEqual({ done: true, value: undefined })
    expect(await Promise.all(waiting)).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ])
    expect(await items.next()).toEqual({ done: true, value: undefined })
    expect(stage.requests.map(({ isAborted }) => isAborted)).toEqual([true])
  })

  test('by return() of pages() settles a pending next(), and cancels its request', async () => {
    const stage = createStage(100)
    const pages = createClient({ fetch: stage.fetch }).transactions.list().pages()[Symbol.asyncIterator]()
    const waiting = pages.next()
    await stage.of(1)
    expect(await pages.return?.()).toEqual({ done: true, value: undefined })
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(stage.requests.map(({ isAborted }) => isAborted)).toEqual([true])
  })

  test.each(['items', 'pages'] as const)(
    'by abort yields no more %s, even if they have arrived',
    async what => {
      const stage = createStage(60)
      const controller = new AbortController()
      const list = createClient({ fetch: stage.fetch }).transactions.list({}, { signal: controller.signal })
      const iteration = (what === 'items' ? list : list.pages())[Symbol.asyncIterator]()
      const first = iteration.next()
      await stage.respond(1)
      await first
      const rest = what === 'items' ? Array.from({ length: 10 }, () => iteration.next()) : [iteration.next()]
      await stage.respond(2, 3)
      await Promise.all(rest)
      expect(stage.pages).toContain(3)

      controller.abort('enough')
      expect(await rejectionOf(iteration.next())).toBe('enough')
      expect(await iteration.next()).toEqual({ done: true, value: undefined })
    },
  )

  test('by abort after the end changes nothing', async () => {
    fill(5)
    const controller = new AbortController()
    const { signal } = controller
    const items = createClient().transactions.list({}, { signal })[Symbol.asyncIterator]()
    await Promise.all(Array.from({ length: 6 }, () => items.next()))
    controller.abort()
    expect(await items.next()).toEqual({ done: true, value: undefined })
  })
})

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
    expect(error.message).toMatch(/^GET \/transactions \(page 3\): the limit in effect changed from 10 to 5/)
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
    expect(error.message).toMatch(/11 items.*limit of 10/)
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
    expect(error.message).toMatch(/page 3 was requested, but page 2 was returned/)
  })

  test('with a number that was not requested is a PaginationError when awaited, too', async () => {
    respondTo(() => envelopeOf(sampleTransactions(100), 1))
    await expect(createClient().transactions.list({ page: 7 })).rejects.toMatchObject({
      kind: 'pagination',
      page: 7,
    })
  })

  // Page 4 of 100 items, and the last page of 35.
  test.each([100, 35])(
    'that is empty before the total of %i is reached is a PaginationError, never a silent end',
    async total => {
      const all = sampleTransactions(total)
      respondTo(page => (page === 4 ? { ...envelopeOf(all, page), data: [] } : envelopeOf(all, page)))
      for (const onMissedItems of ['throw', 'continue'] as const) {
        const list = createClient().transactions.list({}, { onMissedItems })
        const { before, error } = await iterateToPaginationError(list)
        expect(before).toEqual(all.slice(0, 30))
        // Nothing tells where the items went that the total counts.
        expect(error.page).toBe(1)
        expect(error.message).toMatch(/\(page 4\): page 4 is empty/)
      }
      await expect(createClient().transactions.list({ page: 4 })).rejects.toBeInstanceOf(PaginationError)
    },
  )

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
    expect(error.message).toMatch(/page 3 repeats page 2, and so did the page before it/)
    expect(error.message).toContain('The service seems to ignore the requested page')
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
    expect(error.message).toMatch(/repeats/)
  })

  test('beyond every total may hold what JSON cannot', async () => {
    const refunds = [{ number: 1 }, { number: 2 }, { number: 3 }, { number: 4 }]
    respondTo(page => ({ ...envelopeOf(refunds, page, 2), totalItems: 1 }))
    const schema = z.pipe(
      z.object({ number: z.number() }),
      z.transform(({ number }) => BigInt(number)),
    )
    const options = { schema, onMissedItems: 'continue' } as const
    expect(await collect(createClient().list('/refunds', {}, options))).toEqual([1n, 2n, 3n, 4n])
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
    expect(error.message).toMatch(/page 5 repeats page 4/)
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
    expect(error.message).toMatch(/page 4 repeats page 3/)
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
    expect(error.message).toMatch(/after 25 of 29 items.*4 may have been missed/)
    expect(error.message).toContain('`verified: true`')
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

test('a larger total is believed although a page is shorter than the requested limit', async () => {
  // The service lowers the limit: "shorter than the limit" would stop after the first page.
  const all = sampleTransactions(25)
  const requested = respondTo(page => envelopeOf(all, page, 4))
  expect(await collect(createClient().transactions.list({ limit: 100 }))).toEqual(all)
  expect(requested).toHaveLength(7)
})

describe('items inserted during an iteration', () => {
  test('do not affect the original items: each is yielded once', async () => {
    const all = fill(60)
    const { client, events } = createObservedClient()
    const seen: Transaction[] = []
    for await (const item of client.transactions.list({ limit: 10 }, { concurrency: 1 })) {
      seen.push(item)
      if (seen.length === 15) service.transactions.unshift(newest('new1'), newest('new2'))
    }
    expect(seen).toEqual(all)
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total', before: 60, after: 62, page: 3 },
      { change: 'duplicate', before: 2, after: 3, page: 3 },
      { change: 'duplicate', before: 2, after: 3, page: 3 },
    ])
  })

  test('at the end of the list are yielded, too', async () => {
    const all = fill(20)
    const seen: Transaction[] = []
    for await (const item of createClient().transactions.list({ limit: 10 })) {
      seen.push(item)
      if (seen.length === 5) service.transactions.push(newest('last'))
    }
    expect(seen).toEqual([...all, newest('last')])
    expect(requestedPages()).toEqual([1, 2, 3])
  })

  test.each([
    ['1,000 items', { limit: 20, readBefore: 1_200, inserted: 1_000 }],
    ['8 pages', { limit: 200, readBefore: 2_000, inserted: 1_600 }],
  ])('are recognised over at least %s', async (_what, { limit, readBefore, inserted }) => {
    const large = new FakeService({ transactions: sampleTransactions(readBefore + limit), maxLimit: 200 })
    const all = [...large.transactions]
    const client = createClient({ fetch: large.fetch })
    const seen: Transaction[] = []
    for await (const item of client.transactions.list({ limit }, { concurrency: 1 })) {
      seen.push(item)
      if (seen.length !== readBefore) continue
      large.transactions.unshift(...Array.from({ length: inserted }, (_, index) => newest(`new${index}`)))
    }
    expect(ids(seen)).toEqual(ids(all))
  })

  test('that move items further than is remembered may cause duplicates', async () => {
    const large = new FakeService({ transactions: sampleTransactions(5_000) })
    const all = [...large.transactions]
    const client = createClient({ fetch: large.fetch })
    const seen: Transaction[] = []
    for await (const item of client.transactions.list({ limit: 100 }, { concurrency: 1 })) {
      seen.push(item)
      if (seen.length !== 4_000) continue
      large.transactions.unshift(...Array.from({ length: 3_900 }, (_, index) => newest(`new${index}`)))
    }
    expect(seen.length).toBeGreaterThan(all.length)
    expect(new Set(ids(seen))).toEqual(new Set(ids(all)))
  })

  test('shift items that are yielded twice where nothing identifies them', async () => {
    const numbers = Array.from({ length: 20 }, (_, number) => ({ number }))
    service.serveList('/refunds', numbers)
    const options = { schema: z.looseObject({ number: z.number() }), concurrency: 1 }
    const seen: unknown[] = []
    for await (const refund of createClient().list('/refunds', { limit: 10 }, options)) {
      seen.push(refundNumber(refund))
      if (seen.length === 10) numbers.unshift({ number: -1 })
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
  })

  test('do not lose an item that moved, when a later page shows an older state', async () => {
    const stage = createStage(60)
    const { client, events } = createObservedClient({ fetch: stage.fetch })
    const iteration = collect(client.transactions.list())
    await stage.respond(1)
    const [two, three] = [await stage.of(2), await stage.of(3)]
    // Page 3 is served first, then the list grows at its head, then page 2 is served.
    three.serve()
    const original = [...stage.items]
    stage.items.unshift(newest('new'))
    two.respond()
    await idle()
    three.deliver()
    await stage.respondToAll()
    expect(await iteration).toEqual(original)
    expect(stage.pages.filter(page => page === 3)).toHaveLength(2)
    expect(stage.pages.toSorted()).toEqual([1, 2, 3, 3, 4, 5, 6, 7])
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total', before: 60, after: 61, page: 2 },
      { change: 'duplicate', before: 1, after: 2 },
    ])
  })

  test('cause each page of an older state to be fetched again, once', async () => {
    const stage = createStage(100)
    const iteration = collect(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.respond(1, 2, 3)
    const [four, ...later] = await Promise.all([4, 5, 6, 7].map(page => stage.of(page)))
    for (const request of later) request.serve()
    const original = [...stage.items]
    stage.items.unshift(newest('new'))
    for (const request of later) request.deliver()
    four?.respond()
    await stage.respondToAll()
    expect(await iteration).toEqual(original)
    for (const page of [5, 6, 7]) expect(stage.pages.filter(requested => requested === page)).toHaveLength(2)
  })

  test('cause pages to be fetched again within the concurrency', async () => {
    for (const concurrency of [2, 3, 4]) {
      const stage = createStage(200)
      const iteration = collect(createClient({ fetch: stage.fetch, concurrency }).transactions.list())
      const original = [...stage.items]
      await stage.respond(1)
      // Always the earliest page last, with an item inserted just before it.
      let inserted = 0
      for (await idle(); stage.inFlight.length > 0; await idle()) {
        const waiting = stage.requests.filter(({ isSettled }) => !isSettled).sort((a, b) => b.page - a.page)
        for (const request of waiting) {
          if (request === waiting.at(-1) && inserted < 10) stage.items.unshift(newest(`new${inserted++}`))
          request.respond()
          await idle()
        }
      }
      expect(await iteration).toEqual(original)
      expect(stage.mostInFlight).toBeLessThanOrEqual(concurrency)
    }
  })
})

describe('items removed during an iteration', () => {
  test.each([
    ['with', ({ id }: Transaction) => id, true],
    ['without', undefined, false],
  ])('are an error that advises a verified walk for a list %s identity', async (_, dedupeBy, isAdvised) => {
    const all = sampleTransactions(60)
    respondTo((page, _limit, count) => envelopeOf(count > 3 ? all.slice(12) : all, page))
    const options = { schema: z.custom<Transaction>(), concurrency: 1, dedupeBy }
    const { error } = await iterateToPaginationError(createClient().list('/refunds', { limit: 10 }, options))
    expect(error.message).toContain("onMissedItems: 'continue'")
    expect(error.message.includes('`verified: true`')).toBe(isAdvised)
  })

  test('are a PaginationError whose page is early enough to resume', async () => {
    const all = fill(60)
    const { client, events } = createObservedClient()
    const before: Transaction[] = []
    const iteration = (async () => {
      for await (const item of client.transactions.list({ limit: 10 }, { concurrency: 1 })) {
        before.push(item)
        if (before.length === 25) service.transactions.splice(0, 12)
      }
    })()
    const error = await rejectionOf(iteration)
    if (!isApiError(error)) throw error
    expect(error).toBeInstanceOf(PaginationError)
    expect(error.message).toMatch(/from 60 to 48 items.*up to 12 may have been missed/)
    expect(error.message).toContain(`list({ page: ${error.page}, limit: 10 })`)
    // The page that shows it is not yielded.
    expect(before).toEqual(all.slice(0, 30))
    const rest = await collect(client.transactions.list({ page: error.page, limit: 10 }))
    expect(new Set([...ids(before), ...ids(rest)])).toEqual(new Set(ids(all)))
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total', before: 60, after: 48, page: 4 },
    ])
  })

  test.each([1, 9, 10, 11, 20, 29, 30])(
    'let a resumed iteration miss nothing when %i were removed',
    async deleted => {
      const all = fill(60)
      const client = createClient()
      const before: Transaction[] = []
      const iteration = (async () => {
        for await (const item of client.transactions.list({ limit: 10 }, { concurrency: 1 })) {
          before.push(item)
          if (before.length === 30) service.transactions.splice(0, deleted)
        }
      })()
      const error = await rejectionOf(iteration)
      if (!isApiError(error)) throw error
      const rest = await collect(client.transactions.list({ page: error.page, limit: 10 }))
      expect(new Set([...ids(before), ...ids(rest)])).toEqual(new Set(ids(all)))
    },
  )

  test('further on are detected by prefetched pages, so that a resumed iteration has no gap', async () => {
    const stage = createStage(100)
    const yielded: Transaction[] = []
    const error = iterateToPaginationError(createClient({ fetch: stage.fetch }).transactions.list()).then(
      ({ before, error }) => {
        yielded.push(...before)
        return error
      },
    )
    // Page 3 first: those after it are requested when it has arrived, so none counts as older.
    await stage.respond(1, 3, 2)
    const [four, five] = await Promise.all([stage.of(4), stage.of(5)])
    stage.items.splice(0, 10)
    four.serve()
    stage.items.splice(0, 10)
    five.respond()
    await idle()
    four.deliver()

    const failure = await error
    expect(failure.message).toMatch(/shrank from 100 to 80 items.*up to 20 may have been missed/)
    const resumed = collect(
      createClient({ fetch: stage.fetch }).transactions.list({ page: failure.page ?? 0 }),
    )
    await stage.respondToAll()
    const seen = new Set(ids([...yielded, ...(await resumed)]))
    expect(ids(stage.items).filter(id => !seen.has(id))).toEqual([])
  })

  test("are accepted with onMissedItems: 'continue', with a drift event", async () => {
    const all = fill(60)
    const { client, events } = createObservedClient()
    const options = { concurrency: 1, onMissedItems: 'continue' } as const
    const seen: Transaction[] = []
    for await (const item of client.transactions.list({ limit: 10 }, options)) {
      seen.push(item)
      if (seen.length === 25) service.transactions.splice(0, 3)
    }
    expect(seen).toEqual([...all.slice(0, 30), ...all.slice(33)])
    expect(requestedPages()).toEqual([1, 2, 3, 4, 5, 6])
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total', before: 60, after: 57 },
    ])
  })

  test("end the iteration with onMissedItems: 'continue' when the next page is empty", async () => {
    const all = fill(60)
    const seen: Transaction[] = []
    const options = { concurrency: 1, onMissedItems: 'continue' } as const
    for await (const item of createClient().transactions.list({ limit: 10 }, options)) {
      seen.push(item)
      if (seen.length === 30) service.transactions.splice(0, 40)
    }
    expect(seen).toEqual(all.slice(0, 30))
    expect(requestedPages()).toEqual([1, 2, 3, 4])
  })

  test('are reported at once when an earlier response had a larger total', async () => {
    const stage = createStage(60)
    const iteration = iterateToPaginationError(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.respond(1)
    const [two, three] = [await stage.of(2), await stage.of(3)]
    two.serve()
    stage.items.splice(0, 1)
    three.respond()
    await idle()
    two.deliver()
    await stage.respondToAll()
    const { before, error } = await iteration
    expect(before).toHaveLength(20)
    // Page 2 arrived after page 3 was requested: its total may already have recovered.
    expect(error.page).toBe(1)
    expect(stage.pages.filter(page => page === 3)).toHaveLength(1)
  })

  test('are reported even if the total has recovered', async () => {
    const stage = createStage(5, 2)
    const client = createClient({ fetch: stage.fetch, concurrency: 2 })
    const all = [...stage.items]
    const iteration = iterateToPaginationError(client.transactions.list())
    await stage.respond(1)
    const [two, three] = [await stage.of(2), await stage.of(3)]
    two.serve()
    stage.items.splice(0, 1)
    three.serve()
    stage.items.push(newest('t6'))
    two.deliver()
    await idle()
    three.deliver()
    await stage.respondToAll()
    const { before, error } = await iteration
    expect(ids(before)).toEqual(ids(all.slice(0, 4)))
    const rest = collect(client.transactions.list({ page: error.page }))
    await stage.respondToAll()
    expect(new Set(ids([...before, ...(await rest)]))).toEqual(new Set([...ids(all), 't6']))
  })

  test('are detected when an item repeats although the total did not grow', async () => {
    const stage = createStage(5, 2)
    const client = createClient({ fetch: stage.fetch, concurrency: 2 })
    const all = [...stage.items]
    const iteration = iterateToPaginationError(client.transactions.list())
    await stage.respond(1)
    const [two, three] = [await stage.of(2), await stage.of(3)]
    three.serve()
    stage.items.unshift(newest('new'))
    stage.items.pop()
    two.serve()
    three.deliver()
    await idle()
    two.deliver()
    await stage.respondToAll()
    const { before, error } = await iteration
    expect(ids(before)).toEqual(ids(all.slice(0, 3)))
    // Page 3 was requested before page 2 arrived, so it is fetched again, and its item is not there any more.
    expect(stage.pages.filter(page => page === 3)).toHaveLength(2)
    const rest = collect(client.transactions.list({ page: error.page }))
    await stage.respondToAll()
    expect(ids(await rest)).toEqual(expect.arrayContaining(ids(all.slice(3, 4))))
  })

  test('move error.page back when a later page reveals them', async () => {
    const stage = createStage(6, 2)
    const client = createClient({ fetch: stage.fetch, concurrency: 2, maxRetries: 0 })
    const all = [...stage.items]
    const iteration = iterateToError(client.transactions.list())
    await stage.respond(1)
    stage.items.splice(0, 1)
    await stage.respond(3)
    ;(await stage.of(2)).respondWith(new Response(null, { status: 404 }))
    const { before, error } = await iteration
    expect(ids(before)).toEqual(ids(all.slice(0, 2)))
    // The third item has moved to page 1.
    expect(error).toMatchObject({ kind: 'http', status: 404, page: 1 })
    expect((error as Error).message).toContain('list({ page: 1, limit: 2 })')
  })

  test('are reported without another request when pages are fetched one by one', async () => {
    fill(60)
    const iteration = (async () => {
      let read = 0
      for await (const _item of createClient().transactions.list({ limit: 10 }, { concurrency: 1 })) {
        if (++read === 15) service.transactions.splice(0, 1)
      }
    })()
    await rejectionOf(iteration)
    expect(requestedPages()).toEqual([1, 2, 3])
  })

  test('are a PaginationError of pages(), too', async () => {
    fill(60)
    const pages: number[] = []
    const iteration = (async () => {
      for await (const page of createClient().transactions.list({ limit: 10 }, { concurrency: 1 }).pages()) {
        pages.push(page.page)
        if (page.page === 2) service.transactions.splice(0, 1)
      }
    })()
    expect(await rejectionOf(iteration)).toMatchObject({ kind: 'pagination', page: 1 })
    expect(pages).toEqual([1, 2])
  })
})

describe('dedupeBy', () => {
  const shifted = (all: readonly unknown[], onPage: () => void) => {
    return respondTo(page => {
      if (page === 2) onPage()
      return envelopeOf(all, page)
    })
  }

  test('defaults to the id as it was received, even if the schema drops it', async () => {
    const all: unknown[] = sampleTransactions(20)
    const amounts = all.map(item => (item as Transaction).amount)
    shifted(all, () => all.unshift(newest('new')))
    const schema = z.object({ amount: z.number() })
    const seen = await collect(createClient().transactions.list({}, { schema, concurrency: 1 }))
    expect(seen).toEqual(amounts.map(amount => ({ amount })))
  })

  test('defaults to the id as it was received, even if the schema renames it', async () => {
    const all: unknown[] = sampleTransactions(20)
    const wanted = ids(all)
    shifted(all, () => all.unshift(newest('new')))
    const schema = z.pipe(
      z.looseObject({ id: z.string() }),
      z.transform(({ id }) => ({ reference: id, id: 'same' })),
    )
    const seen = await collect(createClient().transactions.list({}, { schema, concurrency: 1 }))
    expect(seen.map(({ reference }) => reference)).toEqual(wanted)
  })

  test('sees the output of the schema', async () => {
    const all: unknown[] = sampleTransactions(20)
    const wanted = ids(all)
    shifted(all, () => all.unshift(newest('new')))
    const schema = z.pipe(
      z.looseObject({ id: z.string() }),
      z.transform(({ id }) => ({ reference: id })),
    )
    const options = { schema, concurrency: 1, dedupeBy: (item: { reference: string }) => item.reference }
    const seen = await collect(createClient().transactions.list({}, options))
    expect(seen.map(({ reference }) => reference)).toEqual(wanted)
  })

  test.each([undefined, null, Number.NaN])('may return %s: such items are never dropped', async key => {
    const all = Array.from({ length: 20 }, () => newest('same'))
    respondTo(page => envelopeOf(all, page))
    const { client, events } = createObservedClient()
    const list = client.transactions.list({}, { dedupeBy: () => key })
    expect(await collect(list)).toHaveLength(20)
    expect(events.filter(({ type }) => type === 'drift')).toEqual([])
  })

  test('yields items without an id where a schema accepts them', async () => {
    const all = Array.from({ length: 20 }, (_, index) => ({ index }))
    respondTo(page => envelopeOf(all, page))
    const schema = z.object({ index: z.number() })
    expect(await collect(createClient().transactions.list({}, { schema }))).toEqual(all)
  })

  test('yields every item whose id is null where a schema accepts them', async () => {
    const all = Array.from({ length: 20 }, (_, index) => ({ id: null, index }))
    respondTo(page => envelopeOf(all, page))
    const schema = z.object({ id: z.null(), index: z.number() })
    expect(await collect(createClient().transactions.list({}, { schema }))).toEqual(all)
  })

  test.each([
    ['resolves', () => Promise.resolve('t1')],
    ['rejects', () => Promise.reject(new Error('unhandled'))],
  ])(
    'must not be async: a promise that %s is a TypeError, as it would identify nothing',
    async (_, dedupeBy) => {
      fill(25)
      const list = createClient().transactions.list({}, { dedupeBy })
      expect(await rejectionOf(collect(list))).toEqual(
        new TypeError(
          'dedupeBy: expected it to return a string or a number, got a Promise (is an await missing?)',
        ),
      )
    },
  )

  test('is called once for each item', async () => {
    const dedupeBy = vi.fn(({ id }: Transaction) => id)
    const items = await collect(createClient().transactions.list({ limit: 10 }, { dedupeBy }))
    expect(dedupeBy.mock.calls).toEqual(items.map(item => [item]))
  })

  test('also de-duplicates within one page', async () => {
    const all = sampleTransactions(10)
    respondTo(page => envelopeOf(all, page))
    const list = createClient().transactions.list({}, { dedupeBy: ({ currency }) => currency })
    const currencies = (await collect(list)).map(({ currency }) => currency)
    expect(currencies).toEqual([...new Set(all.map(({ currency }) => currency))])
  })

  test('that throws ends the iteration with the same error', async () => {
    fill(25)
    const mine = new Error('no reference')
    const dedupeBy = () => {
      throw mine
    }
    const items = createClient().transactions.list({}, { dedupeBy })[Symbol.asyncIterator]()
    expect(await rejectionOf(items.next())).toBe(mine)
    expect(await items.next()).toEqual({ done: true, value: undefined })
  })
})

describe('maxItems', () => {
  test.each([
    [1, [1]],
    [9, [1]],
    [10, [1]],
    [11, [1, 2]],
    [20, [1, 2]],
    [21, [1, 2, 3]],
    [45, [1, 2, 3, 4, 5]],
    [95, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
    [1000, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
    [Number.POSITIVE_INFINITY, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
  ])('of %d yields so many items, and requests no page beyond the last of them', async (maxItems, pages) => {
    const all = fill(95)
    for (const concurrency of [1, 4, 16]) {
      service.reset()
      fill(95)
      const list = createClient().transactions.list({ limit: 10 }, { maxItems, concurrency })
      expect(await collect(list)).toEqual(all.slice(0, maxItems))
      expect(requestedPages()).toEqual(pages)
    }
  })

  test('of 0 requests nothing', async () => {
    const list = createClient().transactions.list({}, { maxItems: 0 })
    expect(await collect(list)).toEqual([])
    expect(await collect(list.pages())).toEqual([])
    expect(service.requests).toEqual([])
  })

  test('counts items that are yielded, not duplicates', async () => {
    const all = fill(60)
    const seen: Transaction[] = []
    for await (const item of createClient().transactions.list(
      { limit: 10 },
      { maxItems: 30, concurrency: 1 },
    )) {
      seen.push(item)
      if (seen.length === 10) service.transactions.unshift(newest('new'))
    }
    expect(seen).toEqual(all.slice(0, 30))
    expect(requestedPages()).toEqual([1, 2, 3, 4])
  })

  test('requests the same pages for pages(), none of them cut', async () => {
    fill(95)
    const pages = await collect(createClient().transactions.list({ limit: 10 }, { maxItems: 15 }).pages())
    expect(pages.map(({ data }) => data.length)).toEqual([10, 10])
    expect(requestedPages()).toEqual([1, 2])
  })

  test('emits no drift event for items that it leaves out', async () => {
    fill(95)
    const { client, events } = createObservedClient()
    await collect(client.transactions.list({ limit: 10 }, { maxItems: 15 }))
    expect(events.filter(({ type }) => type === 'drift')).toEqual([])
  })
})

describe('next() called in parallel', () => {
  test('is served in order, and no page is requested twice', async () => {
    const all = fill(35)
    const items = createClient().transactions.list({ limit: 10 })[Symbol.asyncIterator]()
    const results = await Promise.all(Array.from({ length: 40 }, () => items.next()))
    expect(results.slice(0, 35)).toEqual(all.map(value => ({ done: false, value })))
    expect(results.slice(35)).toEqual(Array.from({ length: 5 }, () => ({ done: true, value: undefined })))
    expect(requestedPages()).toEqual([1, 2, 3, 4])
  })

  test('is served in order when some calls are awaited', async () => {
    const all = fill(35)
    const items = createClient().transactions.list({ limit: 10 })[Symbol.asyncIterator]()
    const seen: unknown[] = []
    for (let round = 0; seen.length < 35; round++) {
      const results = await Promise.all(Array.from({ length: 1 + (round % 4) }, () => items.next()))
      for (const { done, value } of results) if (!done) seen.push(value)
    }
    expect(seen).toEqual(all)
  })

  test('is served after pending calls, even if one of them has settled', async () => {
    const all = fill(20)
    const items = createClient().transactions.list({ limit: 10 })[Symbol.asyncIterator]()
    const first = items.next()
    const others = [items.next(), items.next()]
    const late = first.then(() => items.next())
    const results = await Promise.all([first, ...others, late])
    expect(results.map(({ value }) => value)).toEqual(all.slice(0, 4))
  })

  test('is served in order by pages(), too', async () => {
    fill(35)
    const pages = createClient().transactions.list({ limit: 10 }).pages()[Symbol.asyncIterator]()
    const results = await Promise.all(Array.from({ length: 5 }, () => pages.next()))
    expect(results.map(({ value }) => (value as Page<Transaction> | undefined)?.page)).toEqual([
      1,
      2,
      3,
      4,
      undefined,
    ])
  })

  test('rejects once, and the other calls are done', async () => {
    fill(35)
    service.fail({ with: new Response(null, { status: 404 }) })
    const items = createClient().transactions.list({ limit: 10 })[Symbol.asyncIterator]()
    const [first, ...others] = await Promise.allSettled([items.next(), items.next(), items.next()])
    expect(first).toMatchObject({ status: 'rejected', reason: { status: 404 } })
    for (const other of others) expect(other).toMatchObject({ status: 'fulfilled', value: { done: true } })
    expect(service.requests).toHaveLength(1)
  })
})

describe('pages()', () => {
  test('yields the pages as they came, in order', async () => {
    const all = fill(25)
    const pages = await collect(createClient().transactions.list({ limit: 10 }).pages())
    expect(pages.map(page => page.toJSON())).toEqual([1, 2, 3].map(page => pageOf(all, page)))
    expect(pages.map(({ hasNextPage, pageCount, status }) => ({ hasNextPage, pageCount, status }))).toEqual([
      { hasNextPage: true, pageCount: 3, status: 200 },
      { hasNextPage: true, pageCount: 3, status: 200 },
      { hasNextPage: false, pageCount: 3, status: 200 },
    ])
    expect(requestedPages()).toEqual([1, 2, 3])
  })

  test('yields one page of an empty list', async () => {
    fill(0)
    const pages = await collect(createClient().transactions.list().pages())
    expect(pages.map(({ data, pageCount, hasNextPage }) => ({ data, pageCount, hasNextPage }))).toEqual([
      { data: [], pageCount: 0, hasNextPage: false },
    ])
  })

  test('drops no duplicates, but emits the drift events', async () => {
    fill(20)
    const { client, events } = createObservedClient()
    const lengths: number[] = []
    for await (const page of client.transactions.list({ limit: 10 }, { concurrency: 1 }).pages()) {
      lengths.push(page.data.length)
      if (page.page === 1) service.transactions.unshift(newest('new'))
    }
    expect(lengths).toEqual([10, 10, 1])
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total' },
      { change: 'duplicate' },
    ])
  })
})

describe('awaiting a list', () => {
  test('gives one page', async () => {
    const all = fill(25)
    const page = await createClient().transactions.list({ page: 2, limit: 10 })
    expect(page.data).toEqual(all.slice(10, 20))
    expect(page).toMatchObject({ page: 2, totalItems: 25, limit: 10, pageCount: 3, hasNextPage: true })
    expect(page.headers.get('content-type')).toContain('json')
    expect(JSON.parse(JSON.stringify(page))).toEqual(pageOf(all, 2))
    expect(requestedPages()).toEqual([2])
  })

  test('gives the empty page beyond the end as it came', async () => {
    fill(25)
    const page = await createClient().transactions.list({ page: 9, limit: 10 })
    expect(page).toMatchObject({ data: [], page: 9, totalItems: 25, hasNextPage: false })
    expect(await page.nextPage()).toBeUndefined()
    expect(requestedPages()).toEqual([9])
  })

  test('gives pages whose nextPage() has the same signal', async () => {
    fill(25)
    const controller = new AbortController()
    const page = await createClient().transactions.list({ limit: 10 }, { signal: controller.signal })
    controller.abort(new Error('enough'))
    expect(await rejectionOf(page.nextPage())).toBe(controller.signal.reason)
    expect(requestedPages()).toEqual([1])
  })

  test('gives a nextPage() that rejects with a PaginationError when its limit differs', async () => {
    const all = sampleTransactions(30)
    respondTo(page => envelopeOf(all, page, page === 1 ? 10 : 5))
    const { client, events } = createObservedClient()
    const page = await client.transactions.list()
    const error = await rejectionOf(page.nextPage())
    expect(error).toBeInstanceOf(PaginationError)
    expect(error).toMatchObject({
      page: 2,
      message:
        'GET /transactions (page 2): the limit in effect changed from 10 to 5 between two pages. Start over with a limit that the service allows.',
    })
    expect(events.at(-1)).toMatchObject({ type: 'failure', page: 2, error })
  })

  test('gives no next page where the total fills the last one', async () => {
    fill(20)
    const page = await createClient().transactions.list({ page: 2, limit: 10 })
    expect(page.hasNextPage).toBe(false)
    expect(await page.nextPage()).toBeUndefined()
    expect(requestedPages()).toEqual([2])
  })

  test('gives the same next pages as pages()', async () => {
    fill(45)
    for await (const page of createClient().transactions.list({ limit: 10 }).pages()) {
      expect((await page.nextPage())?.page).toBe(page.page < 5 ? page.page + 1 : undefined)
    }
  })
})

describe('a list', () => {
  test('sends nothing before it is used', async () => {
    const list = createClient().transactions.list()
    list.pages()
    list[Symbol.asyncIterator]()
    list.pages()[Symbol.asyncIterator]()
    expect(Object.prototype.toString.call(list)).toBe('[object List]')
    await idle()
    expect(service.requests).toEqual([])
  })

  test('is fetched once when awaited twice', async () => {
    const list = createClient().transactions.list()
    const [first, second] = await Promise.all([list, list])
    expect(await list).toBe(first)
    expect(second).toBe(first)
    expect(service.requests).toHaveLength(1)
  })

  test('is fetched once when awaited twice and failing', async () => {
    service.fail({ with: new Response(null, { status: 404 }) })
    const list = createClient().transactions.list()
    expect(await rejectionOf(list)).toBe(await rejectionOf(list))
    expect(service.requests).toHaveLength(1)
  })

  test('is fetched again for each iteration', async () => {
    fill(15)
    const list = createClient().transactions.list({ limit: 10 })
    await list
    expect((await collect(list)).length).toBe(15)
    service.transactions.pop()
    expect((await collect(list)).length).toBe(14)
    expect(requestedPages()).toEqual([1, 1, 1, 2, 2])
  })

  test('that fails unobserved causes no unhandled rejection', async () => {
    // vitest fails the run on one.
    service.fail({ times: 9, with: new Response(null, { status: 404 }) })
    const list = createClient().transactions.list()
    list.pages()
    list[Symbol.asyncIterator]()
    await list.catch(() => {})
    await list.then(undefined, () => {})
    await list.finally(() => {}).catch(() => {})
    await idle()
    expect(service.requests).toHaveLength(1)
  })

  test('that is left while prefetched pages fail causes no unhandled rejection', async () => {
    const stage = createStage(100)
    const client = createClient({ fetch: stage.fetch, maxRetries: 0 })
    const items = client.transactions.list()[Symbol.asyncIterator]()
    const wanted = Array.from({ length: 21 }, () => items.next())
    await stage.respond(1, 2, 3)
    await Promise.all(wanted)
    for (const request of stage.requests) if (!request.isSettled) request.lose()
    await idle()
    await items.return?.()
    await idle()
    expect(stage.inFlight).toEqual([])
  })

  test('has all methods of a promise', async () => {
    const list = createClient().transactions.list({ limit: 10 })
    const settled = vi.fn()
    const first: string[] = await list.then(page => page.data.map(({ id }) => id))
    expect(first).toHaveLength(10)
    expect(await list.catch(() => 'failed')).toBe(await list)
    expect(await list.finally(settled)).toBe(await list)
    expect(settled).toHaveBeenCalledOnce()
    expect(service.requests).toHaveLength(1)
  })

  test('works with Promise.all', async () => {
    const { transactions } = createClient()
    const [first, third, plain] = await Promise.all([
      transactions.list({ limit: 10 }),
      transactions.list({ page: 3, limit: 10 }),
      7,
    ])
    expect([first.data.length, third.data.length, plain]).toEqual([10, 5, 7])
  })

  test('works with Array.fromAsync', async () => {
    const all = fill(25)
    const { fromAsync } = Array as unknown as { fromAsync<T>(items: AsyncIterable<T>): Promise<T[]> }
    const { transactions } = createClient()
    expect(await fromAsync.call(Array, transactions.list({ limit: 10 }))).toEqual(all)
    expect(await fromAsync.call(Array, transactions.list({ limit: 10 }).pages())).toHaveLength(3)
  })

  test('can be returned from an async function, whose caller gets the page', async () => {
    const load = async (client: Client) => client.transactions.list({ limit: 10 })
    expect((await load(createClient())).data).toHaveLength(10)
  })

  test('works in an infinite query as TanStack Query runs it', async () => {
    const all = fill(25)
    const client = createClient()
    const query = {
      initialPageParam: 1,
      queryFn: ({ pageParam, signal }: { pageParam: number; signal: AbortSignal }) =>
        client.transactions.list({ page: pageParam, limit: 10 }, { signal }),
      getNextPageParam: (last: Page<Transaction>) => (last.hasNextPage ? last.page + 1 : undefined),
    }
    const pages: Page<Transaction>[] = []
    let pageParam: number | undefined = query.initialPageParam
    while (pageParam !== undefined) {
      const { signal } = new AbortController()
      // It awaits what the function returns, and reads from it later.
      const page: Page<Transaction> = await Promise.resolve(query.queryFn({ pageParam, signal }))
      pages.push(page)
      pageParam = query.getNextPageParam(page)
    }
    expect(pages.flatMap(({ data }) => data)).toEqual(all)
    // It may keep pages as JSON.
    expect(JSON.parse(JSON.stringify(pages[2]))).toEqual(pageOf(all, 3))
  })
})

describe('events of an iteration', () => {
  test('give each page a callId of its own', async () => {
    fill(25)
    const { client, events } = createObservedClient()
    await collect(client.transactions.list({ limit: 10 }))
    const calls = Map.groupBy(events, ({ callId }) => callId)
    expect(calls.size).toBe(3)
    for (const [, emitted] of calls) expect(emitted.map(({ type }) => type)).toEqual(['request', 'response'])
    expect([...calls.values()].map(emitted => emitted[0]?.page).toSorted()).toEqual([1, 2, 3])
  })

  test('include no drift while nothing changes', async () => {
    fill(95)
    const { client, events } = createObservedClient()
    await collect(client.transactions.list({ limit: 10 }))
    expect(events.filter(({ type }) => type !== 'request' && type !== 'response')).toEqual([])
  })
})

describe('iterating a page', () => {
  test('yields its items and all that follow, without fetching it again', async () => {
    const all = fill(45)
    const page = await createClient().transactions.list({ limit: 10 })
    expect(await collect(page)).toEqual(all)
    expect(requestedPages()).toEqual([1, 2, 3, 4, 5])
    expect(await collect(page)).toEqual(all)
    expect(requestedPages()).toEqual([1, 2, 2, 3, 3, 4, 4, 5, 5])
  })

  test.each([false, true])(
    'yields its items and all that follow even if its data was taken out of it (verified: %s)',
    async verified => {
      const all = fill(45)
      const page = await createClient().transactions.list({ limit: 20 }, { verified })
      page.data.splice(0)
      expect(await collect(page)).toEqual(all)
    },
  )

  test('works for pages of pages()', async () => {
    const all = fill(25)
    const client = createClient()
    for await (const page of client.transactions.list({ limit: 10 }, { concurrency: 1 }).pages()) {
      expect(await collect(page)).toEqual(all.slice((page.page - 1) * 10))
    }
  })

  test('works for a list that was returned from an async function', async () => {
    const all = fill(25)
    const load = async () => createClient().transactions.list({ limit: 10 })
    const seen: Transaction[] = []
    for await (const item of await load()) seen.push(item)
    expect(seen).toEqual(all)
    expect(requestedPages()).toEqual([1, 2, 3])
  })

  test('has the options of the list: maxItems', async () => {
    const all = fill(45)
    const page = await createClient().transactions.list({ limit: 10 }, { maxItems: 15 })
    expect(await collect(page)).toEqual(all.slice(0, 15))
    expect(requestedPages()).toEqual([1, 2])
  })

  test('has the options of the list: query, schema and dedupeBy', async () => {
    const all = fill(25)
    const schema = z.pipe(
      z.looseObject({ id: z.string() }),
      z.transform(({ id }) => ({ reference: id })),
    )
    const seen: unknown[] = []
    const page = await createClient().transactions.list(
      { limit: 10, query: { status: 'settled' } },
      { schema, concurrency: 1, dedupeBy: ({ reference }) => reference },
    )
    for await (const { reference } of page) {
      seen.push(reference)
      if (seen.length === 10) service.transactions.unshift(newest('new'))
    }
    expect(seen).toEqual(ids(all))
    expect(requestedQueries().map(({ status }) => status)).toEqual(['settled', 'settled', 'settled'])
  })

  test('has the options of the list: signal', async () => {
    fill(45)
    const controller = new AbortController()
    const page = await createClient().transactions.list({ limit: 10 }, { signal: controller.signal })
    let read = 0
    const iteration = (async () => {
      for await (const _item of page) if (++read === 3) controller.abort('enough')
    })()
    expect(await rejectionOf(iteration)).toBe('enough')
    expect(read).toBe(3)
    expect(requestedPages()).toEqual([1])
  })

  test('has the options of the list: verified', async () => {
    const all = fill(100)
    const page = await createClient().transactions.list({ limit: 20 }, { verified: true, concurrency: 1 })
    const seen: Transaction[] = []
    for await (const item of page) {
      seen.push(item)
      if (seen.length === 20) service.transactions.splice(0, 5)
    }
    expect(seen).toEqual(all)
    expect(service.requests.filter(({ query }) => query.page === '1' && query.limit === '20')).toHaveLength(1)
  })

  test('yields nothing for a page beyond the end', async () => {
    fill(5)
    const page = await createClient().transactions.list({ page: 9, limit: 10 })
    expect(await collect(page)).toEqual([])
    expect(requestedPages()).toEqual([9])
  })
})

describe('the iterators of a list', () => {
  test('are async generators', async () => {
    fill(25)
    const list = createClient().transactions.list({ limit: 10 })
    const page = await list
    const prototype = Object.getPrototypeOf(async function* () {}.prototype)
    for (const iterator of [list[Symbol.asyncIterator](), list.pages(), page[Symbol.asyncIterator]()]) {
      expect(Object.prototype.isPrototypeOf.call(prototype, iterator)).toBe(true)
      expect(iterator[Symbol.asyncIterator]()).toBe(iterator)
      expect(await iterator.return()).toEqual({ done: true, value: undefined })
      expect(await iterator.next()).toEqual({ done: true, value: undefined })
    }
    expect(requestedPages()).toEqual([1])
  })

  test('cancel requests in flight when they are disposed of', async () => {
    const stage = createStage(300)
    const items = createClient({ fetch: stage.fetch }).transactions.list()[Symbol.asyncIterator]()
    const wanted = Array.from({ length: 21 }, () => items.next())
    await stage.respond(1, 2, 3)
    await Promise.all(wanted)
    expect(stage.inFlight).toEqual([4, 5, 6])
    // What `await using` calls.
    await items[Symbol.asyncDispose]()
    expect(stage.inFlight).toEqual([])
    expect(await items.next()).toEqual({ done: true, value: undefined })
  })

  test('end by throw() with its error, and cancel requests in flight', async () => {
    const stage = createStage(300)
    const items = createClient({ fetch: stage.fetch }).transactions.list()[Symbol.asyncIterator]()
    const wanted = Array.from({ length: 21 }, () => items.next())
    await stage.respond(1, 2, 3)
    await Promise.all(wanted)
    expect(stage.inFlight).toEqual([4, 5, 6])
    const mine = new Error('mine')
    expect(await rejectionOf(items.throw(mine))).toBe(mine)
    expect(stage.inFlight).toEqual([])
  })
})
