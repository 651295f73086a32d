import { network } from 'virtual:msw'
import { HttpResponse, http } from 'msw'
import type { Client, List, Page, Transaction } from 'virtual-accounts'
import { isApiError, PaginationError } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod/mini'
import { createClient, createObservedClient, failureOf, service } from './service.ts'

afterEach(() => network.resetHandlers())

/** Gives the service another list. */
function fill(count: number): Transaction[] {
  service.transactions.length = 0
  service.transactions.push(...sampleTransactions(count))
  return [...service.transactions]
}

/** By number: side by side they may overtake each other on the way. */
function pagesAsked(): number[] {
  return service.requests.map(({ query }) => Number(query.page)).toSorted((a, b) => a - b)
}

function queriesAsked(): Record<string, string>[] {
  return service.requests.map(({ query }) => query).toSorted((a, b) => Number(a.page) - Number(b.page))
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** What came before a walk failed, and with what it failed. */
async function walkToFailure<T>(items: AsyncIterable<T>): Promise<{ before: T[]; error: unknown }> {
  const before: T[] = []
  try {
    for await (const item of items) before.push(item)
  } catch (error) {
    return { before, error }
  }
  throw new Error('expected the walk to fail')
}

function walkToContradiction<T>(items: AsyncIterable<T>): Promise<{ before: T[]; error: PaginationError }> {
  return walkToFailure(items).then(({ before, error }) => {
    expect(error).toBeInstanceOf(PaginationError)
    return { before, error: error as PaginationError }
  })
}

/** Until nothing moves any more without a push from outside. */
async function idle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setTimeout(resolve))
}

interface Envelope {
  data: unknown[]
  page: number
  totalItems: number
  limit: number
}

/** Answers by hand: what the interface rules out, or leaves open, the fake service does not do. Gives the pages asked. */
function serve(answer: (page: number, limit: number, count: number) => Envelope | Response): number[] {
  const asked: number[] = []
  network.use(
    http.get(`${service.baseUrl}/*`, ({ request }) => {
      const query = new URL(request.url).searchParams
      const page = Number(query.get('page'))
      asked.push(page)
      asked.sort((a, b) => a - b)
      const answered = answer(page, Number(query.get('limit') ?? 10), asked.length)
      return answered instanceof Response ? answered : HttpResponse.json({ ...answered })
    }),
  )
  return asked
}

function pageOf(items: readonly unknown[], page: number, limit = 10): Envelope {
  return { data: items.slice((page - 1) * limit, page * limit), page, totalItems: items.length, limit }
}

interface Asked {
  readonly page: number
  isAborted: boolean
  isSettled: boolean
  /** Makes the answer from the list as it is now, and lets it arrive now or when `deliver` is called. */
  serve(): void
  deliver(): void
  /** Both. */
  answer(): void
  respond(response: Response): void
  lose(): void
}

/** A service whose every answer waits to be let go, so that a test decides what arrives when. */
function createStage(count: number, limit = 10) {
  const items = sampleTransactions(count)
  const asked: Asked[] = []
  let mostInFlight = 0
  const inFlight = () => asked.filter(({ isSettled }) => !isSettled)
  const fetch = (url: string, { signal }: RequestInit) =>
    new Promise<Response>((resolve, reject) => {
      const page = Number(new URL(url).searchParams.get('page'))
      let envelope: Envelope | undefined
      const settle = (how: () => void) => {
        request.isSettled = true
        how()
      }
      const request: Asked = {
        page,
        isAborted: false,
        isSettled: false,
        serve: () => {
          envelope = pageOf(items, page, limit)
        },
        deliver: () => settle(() => resolve(Response.json(envelope))),
        answer: () => {
          request.serve()
          request.deliver()
        },
        respond: response => settle(() => resolve(response)),
        lose: () => settle(() => reject(new TypeError('lost'))),
      }
      signal?.addEventListener('abort', () => {
        if (request.isSettled) return
        request.isAborted = true
        settle(() => reject(signal.reason))
      })
      asked.push(request)
      mostInFlight = Math.max(mostInFlight, inFlight().length)
    })
  return {
    fetch,
    items,
    asked,
    get pages() {
      return asked.map(({ page }) => page)
    },
    get mostInFlight() {
      return mostInFlight
    },
    get inFlight() {
      return inFlight().map(({ page }) => page)
    },
    /** The request for this page that waits for its answer. */
    async of(page: number): Promise<Asked> {
      const found = () => asked.find(request => request.page === page && !request.isSettled)
      await vi.waitFor(() => expect(found(), `page ${page} in flight`).toBeDefined(), { interval: 1 })
      return found() as Asked
    },
    /** Answers these pages, one after the other, and waits for what comes of it. */
    async answer(...pages: number[]): Promise<void> {
      for (const page of pages) {
        ;(await this.of(page)).answer()
        await idle()
      }
    },
    /** Answers whatever is asked, until nothing is. */
    async answerAll(): Promise<void> {
      for (await idle(); inFlight().length > 0; await idle()) {
        for (const request of inFlight()) request.answer()
      }
    },
  }
}

function ids(items: readonly unknown[]): unknown[] {
  return items.map(item => (item as { id: unknown }).id)
}

/** An item in front of all others. */
function newest(id: string): Transaction {
  return { id, amount: 1, currency: 'EUR', description: 'new' }
}

describe('a walk', () => {
  test('yields every item in order, each once', async () => {
    const all = fill(95)
    expect(await collect(createClient().transactions.list({ limit: 10 }))).toEqual(all)
    expect(pagesAsked()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  test('keeps the order however the answers come', async () => {
    const stage = createStage(60)
    const walk = collect(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.answer(1, 3, 2, 6, 5, 4)
    expect(await walk).toEqual(stage.items)
  })

  test.each([0, 1, 9, 10, 11, 20, 25, 99, 100, 101])(
    'of %i items asks for exactly the pages that there are, whatever the concurrency',
    async count => {
      const all = fill(count)
      for (const concurrency of [1, 2, 3, 4, 7, 16]) {
        service.reset()
        fill(count)
        const list = createClient({ concurrency, fetch: service.fetch }).transactions.list({ limit: 10 })
        expect(await collect(list)).toEqual(all)
        expect(pagesAsked()).toEqual(
          Array.from({ length: Math.max(1, Math.ceil(count / 10)) }, (_, i) => i + 1),
        )
      }
    },
  )

  test('begins at the page that was asked for', async () => {
    const all = fill(45)
    expect(await collect(createClient().transactions.list({ page: 3, limit: 10 }))).toEqual(all.slice(20))
    expect(pagesAsked()).toEqual([3, 4, 5])
  })

  test('beyond the end yields nothing, with one request', async () => {
    fill(20)
    const client = createClient()
    expect(await collect(client.transactions.list({ page: 3, limit: 10 }))).toEqual([])
    expect(await collect(client.transactions.list({ page: 90, limit: 10 }))).toEqual([])
    expect(pagesAsked()).toEqual([3, 90])
  })

  test('sends the same query with every page', async () => {
    fill(25)
    const query = { status: 'settled', tag: ['a', 'b'] }
    await collect(createClient().transactions.list({ limit: 10, query }))
    expect(queriesAsked()).toEqual(
      [1, 2, 3].map(page => ({ page: String(page), limit: '10', status: 'settled', tag: 'a,b' })),
    )
  })

  test('is not changed by what the caller does to params and options afterwards', async () => {
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
    expect(queriesAsked()).toEqual([
      { page: '1', limit: '10', tag: 'a' },
      { page: '2', limit: '10', tag: 'a' },
    ])
  })

  test('of any other list endpoint goes the same way', async () => {
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

  test('in parallel with another of the same list shares nothing with it', async () => {
    const all = fill(25)
    const list = createClient().transactions.list({ limit: 10 })
    expect(await Promise.all([collect(list), collect(list)])).toEqual([all, all])
    expect(pagesAsked()).toEqual([1, 1, 2, 2, 3, 3])
  })
})

describe('a slow start', () => {
  test.each([
    ['inside page 1', 5, [1]],
    ['at the end of page 1', 10, [1]],
    ['inside page 2', 15, [1, 2, 3]],
    ['at the end of page 2', 20, [1, 2, 3]],
    ['inside page 3', 25, [1, 2, 3, 4, 5, 6]],
    ['at the end of page 3', 30, [1, 2, 3, 4, 5, 6]],
  ])('makes a loop that stops %s ask for little', async (_where, items, pages) => {
    fill(1000)
    for (const lingers of [false, true]) {
      fill(1000)
      const { client, events } = createObservedClient({ fetch: service.fetch, concurrency: 16 })
      let read = 0
      for await (const _item of client.transactions.list({ limit: 10 })) {
        if (++read < items) continue
        // What was asked ahead arrives meanwhile, and must not make room for more.
        if (lingers) await idle()
        break
      }
      await idle()
      const sent = events.filter(({ type }) => type === 'request').map(({ page }) => page)
      // Who leaves at once may stop some of them before they are sent.
      expect(sent).toEqual(lingers ? pages : pages.slice(0, sent.length))
    }
  })

  test('is over with the fourth page: from there the window is full', async () => {
    const stage = createStage(300)
    const pages = createClient({ fetch: stage.fetch, concurrency: 6 }).transactions.list().pages()
    const next = pages[Symbol.asyncIterator]()
    void next.next()
    await idle()
    expect(stage.pages).toEqual([1])
    await stage.answer(1)
    expect(stage.pages).toEqual([1])
    void next.next()
    await idle()
    expect(stage.pages).toEqual([1, 2, 3])
    await stage.answer(2, 3)
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
    const walk = collect(createClient({ fetch: stage.fetch, concurrency: 2 }).transactions.list())
    await stage.answer(1, 2, 3)
    expect(stage.inFlight).toEqual([4, 5])
    await stage.answerAll()
    expect(await walk).toEqual(stage.items)
    expect(stage.mostInFlight).toBe(2)
  })
})

describe('pages side by side', () => {
  test('are at most four, when nothing else is said', async () => {
    const stage = createStage(200)
    const walk = collect(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.answerAll()
    expect(await walk).toEqual(stage.items)
    expect(stage.mostInFlight).toBe(4)
  })

  test.each([1, 2, 3, 5, 8])('are at most %i, when so many are allowed', async concurrency => {
    const stage = createStage(400)
    const client = createClient({ fetch: stage.fetch, concurrency: 11 })
    const walk = collect(client.transactions.list({}, { concurrency }))
    await stage.answerAll()
    expect(await walk).toEqual(stage.items)
    expect(stage.mostInFlight).toBe(concurrency)
  })

  test('one at a time means that no page is asked before it is wanted', async () => {
    const stage = createStage(60)
    const pages = createClient({ fetch: stage.fetch, concurrency: 1 }).transactions.list().pages()
    const next = pages[Symbol.asyncIterator]()
    for (let page = 1; page <= 6; page++) {
      const wanted = next.next()
      await stage.answer(page)
      await wanted
      expect(stage.pages).toHaveLength(page)
    }
  })

  test('go on while one is slow, until twice as many are in flight or waiting', async () => {
    const stage = createStage(300)
    const walk = collect(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.answer(1, 2, 3)
    expect(stage.inFlight).toEqual([4, 5, 6, 7])
    await stage.answer(5)
    expect(stage.inFlight).toEqual([4, 6, 7, 8])
    await stage.answer(6, 7, 8, 9, 10, 11)
    // Page 4 in flight, and 5 to 11 waiting.
    expect(stage.inFlight).toEqual([4])
    await stage.answer(4)
    expect(stage.inFlight).toHaveLength(4)
    await stage.answerAll()
    expect(await walk).toEqual(stage.items)
  })

  test('leave when one settles, though nothing is read', async () => {
    const stage = createStage(300)
    const next = createClient({ fetch: stage.fetch }).transactions.list().pages()[Symbol.asyncIterator]()
    for (let page = 1; page <= 4; page++) {
      const wanted = next.next()
      while (!stage.asked.some(request => request.page === page && request.isSettled))
        await stage.answer(page)
      await wanted
    }
    // Page 4 was read, and the reader wants no more for now.
    const sent = stage.pages.length
    await stage.answer(stage.inFlight[0] as number)
    expect(stage.pages.length).toBe(sent + 1)
    await stage.answerAll()
    expect(stage.pages.length - 4).toBeLessThanOrEqual(8)
    expect(stage.pages.length - 4).toBeGreaterThanOrEqual(7)
  })

  test('do not go beyond the end that the total tells', async () => {
    const stage = createStage(45)
    const walk = collect(createClient({ fetch: stage.fetch, concurrency: 16 }).transactions.list())
    await stage.answer(1, 3, 2)
    expect(stage.pages).toEqual([1, 2, 3, 4, 5])
    await stage.answerAll()
    await walk
    expect(stage.pages).toEqual([1, 2, 3, 4, 5])
  })

  test.each([429, 503])('become one at a time after a %i, and more again with each page', async status => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const stage = createStage(300)
    const walk = collect(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.answer(1, 2, 3)
    expect(stage.inFlight).toEqual([4, 5, 6, 7])
    ;(await stage.of(4)).respond(new Response(null, { status }))
    await stage.answer(5, 6, 7)
    // Page 4 waits for its next attempt, and all others for page 4.
    expect(stage.inFlight).toEqual([])
    await stage.answer(4)
    expect(stage.inFlight).toEqual([8])
    await stage.answer(8)
    expect(stage.inFlight).toEqual([9, 10])
    await stage.answer(9)
    expect(stage.inFlight).toEqual([10, 11, 12])
    await stage.answer(10)
    expect(stage.inFlight).toEqual([11, 12, 13, 14])
    await stage.answer(11)
    expect(stage.inFlight).toEqual([12, 13, 14, 15])
    await stage.answerAll()
    expect(await walk).toEqual(stage.items)
  })

  test('do not become fewer after a 500', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const stage = createStage(300)
    const walk = collect(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.answer(1, 2, 3)
    ;(await stage.of(4)).respond(new Response(null, { status: 500 }))
    await stage.answer(5)
    expect(stage.inFlight).toEqual([6, 7, 8])
    await stage.answer(4)
    await stage.answerAll()
    expect(await walk).toEqual(stage.items)
  })
})

describe('leaving a walk', () => {
  /** Where four pages are in flight, and the first items of page 3 are being read. */
  async function midway(read: (list: List<Transaction>) => Promise<unknown>, signal?: AbortSignal) {
    const stage = createStage(300)
    const client = createClient({ fetch: stage.fetch })
    const outcome = read(client.transactions.list({}, signal ? { signal } : {})).then(
      value => ({ value }),
      (error: unknown) => ({ error }),
    )
    await stage.answer(1, 2, 3)
    return { stage, outcome }
  }

  test('by break cancels what is in flight, and asks for nothing more', async () => {
    const { stage, outcome } = await midway(async list => {
      let read = 0
      for await (const _item of list) if (++read === 25) break
    })
    expect(await outcome).toEqual({ value: undefined })
    await idle()
    expect(stage.pages).toEqual([1, 2, 3, 4, 5, 6])
    expect(stage.asked.filter(({ isAborted }) => isAborted).map(({ page }) => page)).toEqual([4, 5, 6])
  })

  test('by throwing cancels what is in flight, and the error is the thrown one', async () => {
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

  test('by break in pages() cancels what is in flight', async () => {
    const { stage, outcome } = await midway(async list => {
      for await (const page of list.pages()) if (page.page === 3) break
    })
    await outcome
    await idle()
    expect(stage.asked.filter(({ isAborted }) => isAborted).map(({ page }) => page)).toEqual([4, 5, 6])
  })

  test.each(['items', 'pages'] as const)(
    'by abort while %s are waited for rejects with the reason, and cancels what is in flight',
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

  test('by abort inside a page yields no item of it any more', async () => {
    fill(25)
    const controller = new AbortController()
    const list = createClient().transactions.list({ limit: 10 }, { signal: controller.signal })
    let read = 0
    const walk = (async () => {
      for await (const _item of list) if (++read === 3) controller.abort()
    })()
    const error = await failureOf(walk)
    expect(error).toBe(controller.signal.reason)
    expect(error).toMatchObject({ name: 'AbortError' })
    expect(read).toBe(3)
    expect(pagesAsked()).toEqual([1])
  })

  test('by abort before it began sends nothing', async () => {
    const signal = AbortSignal.abort(new Error('too late'))
    const list = createClient().transactions.list({}, { signal })
    expect(await failureOf(collect(list))).toBe(signal.reason)
    expect(await failureOf(collect(list.pages()))).toBe(signal.reason)
    expect(await failureOf(list)).toBe(signal.reason)
    expect(service.requests).toEqual([])
  })

  test('by return() ends a next() that waits', async () => {
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
    expect(stage.asked.map(({ isAborted }) => isAborted)).toEqual([true])
  })

  test('by return() of pages() ends a next() that waits', async () => {
    const stage = createStage(100)
    const pages = createClient({ fetch: stage.fetch }).transactions.list().pages()[Symbol.asyncIterator]()
    const waiting = pages.next()
    await stage.of(1)
    expect(await pages.return?.()).toEqual({ done: true, value: undefined })
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(stage.asked.map(({ isAborted }) => isAborted)).toEqual([true])
  })

  test.each(['items', 'pages'] as const)(
    'by abort yields no more %s, though they have arrived already',
    async what => {
      const stage = createStage(60)
      const controller = new AbortController()
      const list = createClient({ fetch: stage.fetch }).transactions.list({}, { signal: controller.signal })
      const walk = (what === 'items' ? list : list.pages())[Symbol.asyncIterator]()
      const first = walk.next()
      await stage.answer(1)
      await first
      const rest = what === 'items' ? Array.from({ length: 10 }, () => walk.next()) : [walk.next()]
      await stage.answer(2, 3)
      await Promise.all(rest)
      expect(stage.pages).toContain(3)

      controller.abort('enough')
      expect(await failureOf(walk.next())).toBe('enough')
      expect(await walk.next()).toEqual({ done: true, value: undefined })
    },
  )

  test('is over: an abort that comes after the end changes nothing', async () => {
    fill(5)
    const controller = new AbortController()
    const { signal } = controller
    const items = createClient().transactions.list({}, { signal })[Symbol.asyncIterator]()
    await Promise.all(Array.from({ length: 6 }, () => items.next()))
    controller.abort()
    expect(await items.next()).toEqual({ done: true, value: undefined })
  })

  test('leaves no listener on a signal that lives on', async () => {
    fill(100)
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    const list = createClient().transactions.list({ limit: 10 }, { signal })
    await collect(list)
    for await (const page of list.pages()) if (page.page === 3) break
    await list
    await idle()
    expect(added.mock.calls.length).toBeGreaterThan(0)
    expect(removed.mock.calls.length).toBe(added.mock.calls.length)
  })
})

describe('the limit', () => {
  test('is not sent when not given, and the echoed one counts', async () => {
    const all = fill(45)
    expect(await collect(createClient().transactions.list())).toEqual(all)
    expect(queriesAsked()).toEqual([{ page: '1' }, { page: '2' }, { page: '3' }])
  })

  test('may be clamped: the echoed one counts, and the query stays as asked', async () => {
    const all = fill(250)
    expect(await collect(createClient().transactions.list({ limit: 1000 }))).toEqual(all)
    expect(queriesAsked()).toEqual([
      { page: '1', limit: '1000' },
      { page: '2', limit: '1000' },
      { page: '3', limit: '1000' },
    ])
  })

  test('that changes between two pages ends the walk', async () => {
    const all = sampleTransactions(100)
    const asked = serve(page => pageOf(all, page, page < 3 ? 10 : 5))
    const { before, error } = await walkToContradiction(createClient().transactions.list())
    expect(before).toEqual(all.slice(0, 20))
    expect(error).toMatchObject({ page: 3, kind: 'pagination', path: '/transactions' })
    expect(error.message).toMatch(/limit.*10 to 5/)
    expect(asked.slice(0, 3)).toEqual([1, 2, 3])
  })

  test('is never exceeded by a page', async () => {
    const all = sampleTransactions(100)
    serve(page => ({
      ...pageOf(all, page),
      data: all.slice((page - 1) * 10, page * 10 + (page === 2 ? 1 : 0)),
    }))
    const { before, error } = await walkToContradiction(createClient().transactions.list())
    expect(before).toEqual(all.slice(0, 10))
    expect(error.page).toBe(2)
    expect(error.message).toMatch(/11 items.*limit of 10/)
    await expect(createClient().transactions.list({ page: 2 })).rejects.toBeInstanceOf(PaginationError)
  })
})

describe('a page', () => {
  test('that says it is another one ends the walk, and nothing of it is yielded', async () => {
    const all = sampleTransactions(100)
    serve(page => ({ ...pageOf(all, page), page: page === 3 ? 2 : page }))
    const { before, error } = await walkToContradiction(createClient().transactions.list())
    expect(before).toEqual(all.slice(0, 20))
    expect(error.page).toBe(3)
    expect(error.message).toMatch(/page 3 was asked for.*page 2/)
  })

  test('that says it is another one is refused by await, too', async () => {
    serve(() => pageOf(sampleTransactions(100), 1))
    await expect(createClient().transactions.list({ page: 7 })).rejects.toMatchObject({
      kind: 'pagination',
      page: 7,
    })
  })

  test('that is empty though the total says more is never a silent end', async () => {
    const all = sampleTransactions(100)
    serve(page => (page === 4 ? { ...pageOf(all, page), data: [] } : pageOf(all, page)))
    for (const onMissedItems of ['throw', 'continue'] as const) {
      const list = createClient().transactions.list({}, { onMissedItems })
      const { before, error } = await walkToContradiction(list)
      expect(before).toEqual(all.slice(0, 30))
      expect(error.page).toBe(4)
      expect(error.message).toMatch(/page 4 is empty/)
    }
    await expect(createClient().transactions.list({ page: 4 })).rejects.toBeInstanceOf(PaginationError)
  })

  test('that is short in the middle is no end', async () => {
    const all = sampleTransactions(28)
    const data = [all.slice(0, 10), all.slice(10, 18), all.slice(18, 28)]
    const asked = serve(page => ({ data: data[page - 1] ?? [], page, totalItems: 28, limit: 10 }))
    expect(await collect(createClient().transactions.list())).toEqual(all)
    expect(asked).toEqual([1, 2, 3])
  })

  test('that repeats an earlier one under a new number ends the walk', async () => {
    const all = sampleTransactions(100)
    const asked = serve(page => ({ ...pageOf(all, 1), page }))
    const { before, error } = await walkToContradiction(createClient().transactions.list())
    expect(before).toEqual(all.slice(0, 10))
    expect(error.page).toBe(2)
    expect(error.message).toMatch(/page 2 repeats page 1/)
    expect(asked.length).toBeLessThanOrEqual(3)
  })

  test('that repeats an earlier one is seen by the dedupeBy that was given', async () => {
    const refunds = Array.from({ length: 100 }, (_, number) => ({ number }))
    serve(page => ({ ...pageOf(refunds, 1), page }))
    const options = { schema: z.looseObject({ number: z.number() }), dedupeBy: refundNumber }
    const { before, error } = await walkToContradiction(createClient().list('/refunds', {}, options))
    expect(before).toHaveLength(10)
    expect(error.page).toBe(2)
  })

  test('that repeats an earlier one is not looked for where nothing identifies an item', async () => {
    const refunds = [{ number: 1 }, { number: 1 }, { number: 1 }, { number: 1 }]
    const asked = serve(page => pageOf(refunds, page, 2))
    const schema = z.looseObject({ number: z.number() })
    expect(await collect(createClient().list('/refunds', {}, { schema }))).toEqual(refunds)
    expect(asked).toEqual([1, 2])
  })

  test('that repeats an earlier one past the end ends the walk, though nothing identifies an item', async () => {
    const refunds = Array.from({ length: 25 }, (_, number) => ({ number }))
    const asked = serve(page => ({ ...pageOf(refunds, 1), page }))
    const schema = z.looseObject({ number: z.number() })
    const { before, error } = await walkToContradiction(createClient().list('/refunds', {}, { schema }))
    expect(before).toHaveLength(30)
    expect(error.message).toMatch(/page 4 repeats page 3/)
    expect(asked).toEqual([1, 2, 3, 4])
  })

  test('that repeats an earlier one is right when a page was inserted ahead meanwhile', async () => {
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
    expect(pagesAsked()).toEqual([1, 2, 3, 4, 5])
    expect(events.filter(({ type }) => type === 'drift')).toHaveLength(1 + 10)
  })

  test('that fails ends the walk where a new one can go on', async () => {
    const all = sampleTransactions(95)
    let isBroken = true
    serve(page => (page === 4 && isBroken ? new Response(null, { status: 404 }) : pageOf(all, page)))
    const client = createClient()
    const list = client.transactions.list({ limit: 10 })
    const items = list[Symbol.asyncIterator]()
    const before: Transaction[] = []
    const error = await failureOf(
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

  test('that fails lets those before it come first, though they arrive later', async () => {
    const stage = createStage(100)
    const walk = walkToFailure(createClient({ fetch: stage.fetch, maxRetries: 0 }).transactions.list())
    await stage.answer(1, 2, 3)
    ;(await stage.of(6)).lose()
    await idle()
    // Nothing after it is of use.
    expect(stage.inFlight).toEqual([4, 5, 7])
    await stage.answer(5, 4)
    const { before, error } = await walk
    expect(before).toEqual(stage.items.slice(0, 50))
    expect(error).toMatchObject({ kind: 'connection', page: 6 })
    await idle()
    expect(stage.asked.find(({ page }) => page === 7)?.isAborted).toBe(true)
    expect(stage.pages).toHaveLength(7)
  })

  test('that fails after all and is never wanted does no harm', async () => {
    const stage = createStage(100)
    const list = createClient({ fetch: stage.fetch, maxRetries: 0 }).transactions.list()
    const walk = (async () => {
      for await (const { id } of list) if (id === stage.items[15]?.id) break
    })()
    await stage.answer(1)
    ;(await stage.of(3)).lose()
    await stage.answer(2)
    await walk
    await idle()
    expect(stage.pages).toEqual([1, 2, 3])
  })

  test('that does not fit the interface ends the walk with a ResponseError that names it', async () => {
    const all = sampleTransactions(30)
    serve(page => (page === 2 ? { ...pageOf(all, 2), data: [{ id: 7 }] } : pageOf(all, page)))
    const { before, error } = await walkToFailure(createClient().transactions.list())
    expect(before).toEqual(all.slice(0, 10))
    expect(error).toMatchObject({ kind: 'response', page: 2 })
  })
})

function refundNumber(refund: unknown): unknown {
  return (refund as { number: unknown }).number
}

describe('a total', () => {
  test('that is too small is not the end: only an empty page is', async () => {
    const all = sampleTransactions(25)
    const asked = serve(page => ({ ...pageOf(all, page), totalItems: 12 }))
    expect(await collect(createClient().transactions.list())).toEqual(all)
    expect(asked).toEqual([1, 2, 3, 4])
  })

  test('that is too small by less than a page is found out on the last one', async () => {
    const all = sampleTransactions(25)
    const asked = serve(page => ({ ...pageOf(all, page), totalItems: 22 }))
    const { client, events } = createObservedClient()
    expect(await collect(client.transactions.list())).toEqual(all)
    expect(asked).toEqual([1, 2, 3, 4])
    expect(events.filter(({ type }) => type === 'drift')).toEqual([])
  })

  test('that is too large is told, when an empty page shows it', async () => {
    const all = sampleTransactions(25)
    const asked = serve(page => ({ ...pageOf(all, page), totalItems: 29 }))
    const { client, events } = createObservedClient()
    const { before, error } = await walkToContradiction(client.transactions.list())
    expect(before).toEqual(all)
    expect(asked).toEqual([1, 2, 3, 4])
    expect(error.message).toMatch(/after 25 of 29 items.*4 may have been missed/)
    expect(error.page).toBe(3)
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'missing', before: 29, after: 25, path: '/transactions', method: 'GET', page: 4 },
    ])
  })

  test('that is too large is accepted when told so, and told all the same', async () => {
    const all = sampleTransactions(25)
    serve(page => ({ ...pageOf(all, page), totalItems: 29 }))
    const { client, events } = createObservedClient()
    const list = client.transactions.list({}, { onMissedItems: 'continue' })
    expect(await collect(list)).toEqual(all)
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([{ change: 'missing' }])
  })

  test('that a short page in the middle does not fill up sends back to that page', async () => {
    const all = sampleTransactions(27)
    const data = [all.slice(0, 10), all.slice(10, 18), all.slice(18, 27)]
    const asked = serve(page => ({ data: data[page - 1] ?? [], page, totalItems: 29, limit: 10 }))
    const { before, error } = await walkToContradiction(createClient().transactions.list())
    expect(before).toEqual(all)
    expect(asked).toEqual([1, 2, 3, 4])
    expect(error.page).toBe(2)
  })

  test('that speaks of another page further on is no end, though this one is short', async () => {
    // The service clamps what was asked: "shorter than the limit" would stop after the first page.
    const all = sampleTransactions(25)
    const asked = serve(page => pageOf(all, page, 4))
    expect(await collect(createClient().transactions.list({ limit: 100 }))).toEqual(all)
    expect(asked).toHaveLength(7)
  })
})

describe('items inserted while a list is walked', () => {
  test('leave every original item yielded once', async () => {
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
    expect(pagesAsked()).toEqual([1, 2, 3])
  })

  test('are recognised over the last eight pages', async () => {
    const all = fill(20)
    const seen: Transaction[] = []
    for await (const item of createClient().transactions.list({ limit: 1 }, { concurrency: 1 })) {
      seen.push(item)
      if (seen.length === 9) {
        for (let index = 0; index < 8; index++) service.transactions.unshift(newest(`new${index}`))
      }
    }
    expect(seen).toEqual(all)
  })

  test('far ahead of what is remembered come twice: memory is bounded', async () => {
    const all = fill(400)
    const seen: Transaction[] = []
    for await (const item of createClient().transactions.list({ limit: 2 }, { concurrency: 1 })) {
      seen.push(item)
      if (seen.length === 300) {
        for (let index = 0; index < 298; index++) service.transactions.unshift(newest(`new${index}`))
      }
    }
    expect(seen.length).toBeGreaterThan(all.length)
    expect(new Set(ids(seen))).toEqual(new Set(ids(all)))
  })

  test('are yielded twice where nothing identifies an item', async () => {
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

  test('do not make a page of an older state lose the item that moved', async () => {
    const stage = createStage(60)
    const { client, events } = createObservedClient({ fetch: stage.fetch })
    const walk = collect(client.transactions.list())
    await stage.answer(1)
    const [two, three] = [await stage.of(2), await stage.of(3)]
    // Page 3 is served first, then the list grows at its head, then page 2 is served.
    three.serve()
    const original = [...stage.items]
    stage.items.unshift(newest('new'))
    two.answer()
    await idle()
    three.deliver()
    await stage.answerAll()
    expect(await walk).toEqual(original)
    expect(stage.pages.filter(page => page === 3)).toHaveLength(2)
    expect(stage.pages.toSorted()).toEqual([1, 2, 3, 3, 4, 5, 6, 7])
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total', before: 60, after: 61, page: 2 },
      { change: 'duplicate', before: 1, after: 2 },
    ])
  })

  test('make all pages of an older state be asked again, each once', async () => {
    const stage = createStage(100)
    const walk = collect(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.answer(1, 2, 3)
    const [four, ...later] = await Promise.all([4, 5, 6, 7].map(page => stage.of(page)))
    for (const request of later) request.serve()
    const original = [...stage.items]
    stage.items.unshift(newest('new'))
    for (const request of later) request.deliver()
    four?.answer()
    await stage.answerAll()
    expect(await walk).toEqual(original)
    for (const page of [5, 6, 7]) expect(stage.pages.filter(asked => asked === page)).toHaveLength(2)
  })

  test('and the pages asked again for it stay within the concurrency', async () => {
    for (const concurrency of [2, 3, 4]) {
      const stage = createStage(200)
      const walk = collect(createClient({ fetch: stage.fetch, concurrency }).transactions.list())
      const original = [...stage.items]
      await stage.answer(1)
      // Always the earliest page last, with an item inserted just before it.
      let inserted = 0
      for (await idle(); stage.inFlight.length > 0; await idle()) {
        const waiting = stage.asked.filter(({ isSettled }) => !isSettled).sort((a, b) => b.page - a.page)
        for (const request of waiting) {
          if (request === waiting.at(-1) && inserted < 10) stage.items.unshift(newest(`new${inserted++}`))
          request.answer()
          await idle()
        }
      }
      expect(await walk).toEqual(original)
      expect(stage.mostInFlight).toBeLessThanOrEqual(concurrency)
    }
  })
})

describe('items deleted while a list is walked', () => {
  test('end the walk, as items may have been missed, at a page that is early enough to resume', async () => {
    const all = fill(60)
    const { client, events } = createObservedClient()
    const before: Transaction[] = []
    const walk = (async () => {
      for await (const item of client.transactions.list({ limit: 10 }, { concurrency: 1 })) {
        before.push(item)
        if (before.length === 25) service.transactions.splice(0, 12)
      }
    })()
    const error = await failureOf(walk)
    if (!isApiError(error)) throw error
    expect(error).toBeInstanceOf(PaginationError)
    expect(error.message).toMatch(/from 60 to 48 items.*up to 12 may have been missed/)
    expect(error.message).toContain(`list({ page: ${error.page}, limit: 10 })`)
    // The page that shows it is not yielded.
    expect(before).toEqual(all.slice(0, 30))
    expect(error.page).toBe(2)
    const rest = await collect(client.transactions.list({ page: error.page, limit: 10 }))
    expect(new Set([...ids(before), ...ids(rest)])).toEqual(new Set(ids(all)))
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total', before: 60, after: 48, page: 4 },
    ])
  })

  test.each([1, 9, 10, 11, 20, 29, 30])(
    'let a new walk miss nothing, when %i were deleted',
    async deleted => {
      const all = fill(60)
      const client = createClient()
      const before: Transaction[] = []
      const walk = (async () => {
        for await (const item of client.transactions.list({ limit: 10 }, { concurrency: 1 })) {
          before.push(item)
          if (before.length === 30) service.transactions.splice(0, deleted)
        }
      })()
      const error = await failureOf(walk)
      if (!isApiError(error)) throw error
      const rest = await collect(client.transactions.list({ page: error.page, limit: 10 }))
      expect(new Set([...ids(before), ...ids(rest)])).toEqual(new Set(ids(all)))
    },
  )

  test('further on than the page shows are known from pages that came before it: a new walk has no gap', async () => {
    const stage = createStage(100)
    const walked: Transaction[] = []
    const error = walkToContradiction(createClient({ fetch: stage.fetch }).transactions.list()).then(
      ({ before, error }) => {
        walked.push(...before)
        return error
      },
    )
    // Page 3 first, so that those after it are asked for when it has arrived, and none counts as older.
    await stage.answer(1, 3, 2)
    const [four, five] = await Promise.all([stage.of(4), stage.of(5)])
    stage.items.splice(0, 10)
    four.serve()
    stage.items.splice(0, 10)
    five.answer()
    await idle()
    four.deliver()

    const failure = await error
    expect(failure.message).toMatch(/shrank from 100 to 80 items.*up to 20 may have been missed/)
    const resumed = collect(
      createClient({ fetch: stage.fetch }).transactions.list({ page: failure.page ?? 0 }),
    )
    await stage.answerAll()
    const seen = new Set(ids([...walked, ...(await resumed)]))
    expect(ids(stage.items).filter(id => !seen.has(id))).toEqual([])
  })

  test("are accepted with onMissedItems: 'continue', and told all the same", async () => {
    const all = fill(60)
    const { client, events } = createObservedClient()
    const options = { concurrency: 1, onMissedItems: 'continue' } as const
    const seen: Transaction[] = []
    for await (const item of client.transactions.list({ limit: 10 }, options)) {
      seen.push(item)
      if (seen.length === 25) service.transactions.splice(0, 3)
    }
    expect(seen).toEqual([...all.slice(0, 30), ...all.slice(33)])
    expect(pagesAsked()).toEqual([1, 2, 3, 4, 5, 6])
    expect(events.filter(({ type }) => type === 'drift')).toMatchObject([
      { change: 'total', before: 60, after: 57 },
    ])
  })

  test("and with 'continue' so many that the next page is empty: that is the end", async () => {
    const all = fill(60)
    const seen: Transaction[] = []
    const options = { concurrency: 1, onMissedItems: 'continue' } as const
    for await (const item of createClient().transactions.list({ limit: 10 }, options)) {
      seen.push(item)
      if (seen.length === 30) service.transactions.splice(0, 40)
    }
    expect(seen).toEqual(all.slice(0, 30))
    expect(pagesAsked()).toEqual([1, 2, 3, 4])
  })

  test('are asked about again, once, where the page may have been of an older state', async () => {
    const stage = createStage(60)
    const walk = walkToContradiction(createClient({ fetch: stage.fetch }).transactions.list())
    await stage.answer(1)
    const [two, three] = [await stage.of(2), await stage.of(3)]
    two.serve()
    stage.items.splice(0, 1)
    three.answer()
    await idle()
    two.deliver()
    await stage.answerAll()
    const { before, error } = await walk
    expect(before).toHaveLength(20)
    expect(error.page).toBe(2)
    expect(stage.pages.filter(page => page === 3)).toHaveLength(2)
  })

  test('are not asked about again, where the page was asked after the one before it', async () => {
    fill(60)
    const walk = (async () => {
      let read = 0
      for await (const _item of createClient().transactions.list({ limit: 10 }, { concurrency: 1 })) {
        if (++read === 15) service.transactions.splice(0, 1)
      }
    })()
    await failureOf(walk)
    expect(pagesAsked()).toEqual([1, 2, 3])
  })

  test('and pages() fails the same way', async () => {
    fill(60)
    const pages: number[] = []
    const walk = (async () => {
      for await (const page of createClient().transactions.list({ limit: 10 }, { concurrency: 1 }).pages()) {
        pages.push(page.page)
        if (page.page === 2) service.transactions.splice(0, 1)
      }
    })()
    expect(await failureOf(walk)).toMatchObject({ kind: 'pagination', page: 2 })
    expect(pages).toEqual([1, 2])
  })
})

describe('dedupeBy', () => {
  const shifted = (all: readonly unknown[], onPage: () => void) => {
    return serve(page => {
      if (page === 2) onPage()
      return pageOf(all, page)
    })
  }

  test('by default looks at the id that came, though the schema drops it', async () => {
    const all: unknown[] = sampleTransactions(20)
    const amounts = all.map(item => (item as Transaction).amount)
    shifted(all, () => all.unshift(newest('new')))
    const schema = z.object({ amount: z.number() })
    const seen = await collect(createClient().transactions.list({}, { schema, concurrency: 1 }))
    expect(seen).toEqual(amounts.map(amount => ({ amount })))
  })

  test('by default looks at the id that came, though the schema renames it', async () => {
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

  test('that is given sees what the schema puts out', async () => {
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

  test('that gives undefined identifies nothing', async () => {
    const all = Array.from({ length: 20 }, () => newest('same'))
    serve(page => pageOf(all, page))
    const { client, events } = createObservedClient()
    const list = client.transactions.list({}, { dedupeBy: () => undefined })
    expect(await collect(list)).toHaveLength(20)
    expect(events.filter(({ type }) => type === 'drift')).toEqual([])
  })

  test('by default lets items without an id pass, where a schema accepts them', async () => {
    const all = Array.from({ length: 20 }, (_, index) => ({ index }))
    serve(page => pageOf(all, page))
    const schema = z.object({ index: z.number() })
    expect(await collect(createClient().transactions.list({}, { schema }))).toEqual(all)
  })

  test('yields one item of several that stand for the same on one page', async () => {
    const all = sampleTransactions(10)
    serve(page => pageOf(all, page))
    const list = createClient().transactions.list({}, { dedupeBy: ({ currency }) => currency })
    const currencies = (await collect(list)).map(({ currency }) => currency)
    expect(currencies).toEqual([...new Set(all.map(({ currency }) => currency))])
  })

  test('that throws ends the walk with what it threw', async () => {
    fill(25)
    const mine = new Error('no reference')
    const dedupeBy = () => {
      throw mine
    }
    const items = createClient().transactions.list({}, { dedupeBy })[Symbol.asyncIterator]()
    expect(await failureOf(items.next())).toBe(mine)
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
  ])('%d yields so many, and asks for no page beyond the last of them', async (maxItems, pages) => {
    const all = fill(95)
    for (const concurrency of [1, 4, 16]) {
      service.reset()
      fill(95)
      const list = createClient().transactions.list({ limit: 10 }, { maxItems, concurrency })
      expect(await collect(list)).toEqual(all.slice(0, maxItems))
      expect(pagesAsked()).toEqual(pages)
    }
  })

  test('0 asks for nothing', async () => {
    const list = createClient().transactions.list({}, { maxItems: 0 })
    expect(await collect(list)).toEqual([])
    expect(await collect(list.pages())).toEqual([])
    expect(service.requests).toEqual([])
  })

  test('counts what is yielded, not what is dropped', async () => {
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
    expect(pagesAsked()).toEqual([1, 2, 3, 4])
  })

  test('with pages() asks for the same pages, none of them cut', async () => {
    fill(95)
    const pages = await collect(createClient().transactions.list({ limit: 10 }, { maxItems: 15 }).pages())
    expect(pages.map(({ data }) => data.length)).toEqual([10, 10])
    expect(pagesAsked()).toEqual([1, 2])
  })

  test('does not turn an early end into a missing item', async () => {
    fill(95)
    const { client, events } = createObservedClient()
    await collect(client.transactions.list({ limit: 10 }, { maxItems: 15 }))
    expect(events.filter(({ type }) => type === 'drift')).toEqual([])
  })
})

describe('next() called in parallel', () => {
  test('is served in order, and no page is asked twice', async () => {
    const all = fill(35)
    const items = createClient().transactions.list({ limit: 10 })[Symbol.asyncIterator]()
    const results = await Promise.all(Array.from({ length: 40 }, () => items.next()))
    expect(results.slice(0, 35)).toEqual(all.map(value => ({ done: false, value })))
    expect(results.slice(35)).toEqual(Array.from({ length: 5 }, () => ({ done: true, value: undefined })))
    expect(pagesAsked()).toEqual([1, 2, 3, 4])
  })

  test('is served in order, mixed with waiting for each', async () => {
    const all = fill(35)
    const items = createClient().transactions.list({ limit: 10 })[Symbol.asyncIterator]()
    const seen: unknown[] = []
    for (let round = 0; seen.length < 35; round++) {
      const results = await Promise.all(Array.from({ length: 1 + (round % 4) }, () => items.next()))
      for (const { done, value } of results) if (!done) seen.push(value)
    }
    expect(seen).toEqual(all)
  })

  test('is served after those that wait, though one of them has settled', async () => {
    const all = fill(20)
    const items = createClient().transactions.list({ limit: 10 })[Symbol.asyncIterator]()
    const first = items.next()
    const others = [items.next(), items.next()]
    const late = first.then(() => items.next())
    const results = await Promise.all([first, ...others, late])
    expect(results.map(({ value }) => value)).toEqual(all.slice(0, 4))
  })

  test('on pages() is served in order, too', async () => {
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

  test('fails once, and the others are then done', async () => {
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
    expect(pagesAsked()).toEqual([1, 2, 3])
  })

  test('of an empty list yields its one page', async () => {
    fill(0)
    const pages = await collect(createClient().transactions.list().pages())
    expect(pages.map(({ data, pageCount, hasNextPage }) => ({ data, pageCount, hasNextPage }))).toEqual([
      { data: [], pageCount: 0, hasNextPage: false },
    ])
  })

  test('drops nothing where items stand twice, and tells of the drift all the same', async () => {
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

describe('a list that is awaited', () => {
  test('is one page', async () => {
    const all = fill(25)
    const page = await createClient().transactions.list({ page: 2, limit: 10 })
    expect(page.data).toEqual(all.slice(10, 20))
    expect(page).toMatchObject({ page: 2, totalItems: 25, limit: 10, pageCount: 3, hasNextPage: true })
    expect(page.headers.get('content-type')).toContain('json')
    expect(JSON.parse(JSON.stringify(page))).toEqual(pageOf(all, 2))
    expect(pagesAsked()).toEqual([2])
  })

  test('beyond the end is the empty page as it came', async () => {
    fill(25)
    const page = await createClient().transactions.list({ page: 9, limit: 10 })
    expect(page).toMatchObject({ data: [], page: 9, totalItems: 25, hasNextPage: false })
    expect(await page.nextPage()).toBeUndefined()
    expect(pagesAsked()).toEqual([9])
  })

  test('gives the next page, until there is none', async () => {
    const all = fill(25)
    const seen: Transaction[] = []
    let page: Page<Transaction> | undefined = await createClient().transactions.list({
      limit: 10,
      query: { status: 'settled' },
    })
    while (page) {
      seen.push(...page.data)
      page = await page.nextPage()
    }
    expect(seen).toEqual(all)
    expect(queriesAsked()).toEqual(['1', '2', '3'].map(page => ({ page, limit: '10', status: 'settled' })))
  })

  test('gives a next page under the same signal', async () => {
    fill(25)
    const controller = new AbortController()
    const page = await createClient().transactions.list({ limit: 10 }, { signal: controller.signal })
    controller.abort(new Error('enough'))
    expect(await failureOf(page.nextPage())).toBe(controller.signal.reason)
    expect(pagesAsked()).toEqual([1])
  })

  test('gives no next page whose limit is another', async () => {
    const all = sampleTransactions(30)
    serve(page => pageOf(all, page, page === 1 ? 10 : 5))
    const page = await createClient().transactions.list()
    const error = await failureOf(page.nextPage())
    expect(error).toBeInstanceOf(PaginationError)
    expect(error).toMatchObject({
      page: 2,
      message:
        'GET /transactions: the limit in effect changed from 10 to 5 between two pages (1 attempt). Begin anew with a limit that the service allows.',
    })
  })

  test('has no next page where the total fills the last one', async () => {
    fill(20)
    const page = await createClient().transactions.list({ page: 2, limit: 10 })
    expect(page.hasNextPage).toBe(false)
    expect(await page.nextPage()).toBeUndefined()
    expect(pagesAsked()).toEqual([2])
  })

  test('yields the pages that pages() yields, from any of them on', async () => {
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

  test('awaited twice asks once', async () => {
    const list = createClient().transactions.list()
    const [first, second] = await Promise.all([list, list])
    expect(await list).toBe(first)
    expect(second).toBe(first)
    expect(service.requests).toHaveLength(1)
  })

  test('awaited twice fails twice, and asks once', async () => {
    service.fail({ with: new Response(null, { status: 404 }) })
    const list = createClient().transactions.list()
    expect(await failureOf(list)).toBe(await failureOf(list))
    expect(service.requests).toHaveLength(1)
  })

  test('iterated twice walks twice', async () => {
    fill(15)
    const list = createClient().transactions.list({ limit: 10 })
    await list
    expect((await collect(list)).length).toBe(15)
    service.transactions.pop()
    expect((await collect(list)).length).toBe(14)
    expect(pagesAsked()).toEqual([1, 1, 1, 2, 2])
  })

  test('that fails and that nobody looks at is no unhandled rejection', async () => {
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

  test('that is left while pages ahead fail is no unhandled rejection', async () => {
    const stage = createStage(100)
    const client = createClient({ fetch: stage.fetch, maxRetries: 0 })
    const items = client.transactions.list()[Symbol.asyncIterator]()
    const wanted = Array.from({ length: 21 }, () => items.next())
    await stage.answer(1, 2, 3)
    await Promise.all(wanted)
    for (const request of stage.asked) if (!request.isSettled) request.lose()
    await idle()
    await items.return?.()
    await idle()
    expect(stage.inFlight).toEqual([])
  })

  test('is a promise in all its methods', async () => {
    const list = createClient().transactions.list({ limit: 10 })
    const settled = vi.fn()
    const first: string[] = await list.then(page => page.data.map(({ id }) => id))
    expect(first).toHaveLength(10)
    expect(await list.catch(() => 'failed')).toBe(await list)
    expect(await list.finally(settled)).toBe(await list)
    expect(settled).toHaveBeenCalledOnce()
    expect(service.requests).toHaveLength(1)
  })

  test('goes together with Promise.all', async () => {
    const { transactions } = createClient()
    const [first, third, plain] = await Promise.all([
      transactions.list({ limit: 10 }),
      transactions.list({ page: 3, limit: 10 }),
      7,
    ])
    expect([first.data.length, third.data.length, plain]).toEqual([10, 5, 7])
  })

  test('goes together with Array.fromAsync', async () => {
    const all = fill(25)
    const { fromAsync } = Array as unknown as { fromAsync<T>(items: AsyncIterable<T>): Promise<T[]> }
    const { transactions } = createClient()
    expect(await fromAsync.call(Array, transactions.list({ limit: 10 }))).toEqual(all)
    expect(await fromAsync.call(Array, transactions.list({ limit: 10 }).pages())).toHaveLength(3)
  })

  test('is what an async function may return: its caller gets the page', async () => {
    const load = async (client: Client) => client.transactions.list({ limit: 10 })
    expect((await load(createClient())).data).toHaveLength(10)
  })

  test('goes together with an infinite query, as TanStack Query runs it', async () => {
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
      // It resolves whatever the function gives, and reads from it later.
      const page: Page<Transaction> = await Promise.resolve(query.queryFn({ pageParam, signal }))
      pages.push(page)
      pageParam = query.getNextPageParam(page)
    }
    expect(pages.flatMap(({ data }) => data)).toEqual(all)
    // And it may keep pages as JSON.
    expect(JSON.parse(JSON.stringify(pages[2]))).toEqual(pageOf(all, 3))
  })
})

describe('what a walk tells its listener', () => {
  test('is one call for each page, by its own name', async () => {
    fill(25)
    const { client, events } = createObservedClient()
    await collect(client.transactions.list({ limit: 10 }))
    const calls = Map.groupBy(events, ({ call }) => call)
    expect(calls.size).toBe(3)
    for (const [, told] of calls) expect(told.map(({ type }) => type)).toEqual(['request', 'response'])
    expect([...calls.values()].map(told => told[0]?.page).toSorted()).toEqual([1, 2, 3])
  })

  test('is nothing of drift while nothing drifts', async () => {
    fill(95)
    const { client, events } = createObservedClient()
    await collect(client.transactions.list({ limit: 10 }))
    expect(events.filter(({ type }) => type !== 'request' && type !== 'response')).toEqual([])
  })
})
