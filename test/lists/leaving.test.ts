import type { ApiError, ClientEvent, List, Transaction } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import { createClient, service, startService } from '../service.ts'
import { account, checkEach, rejectionOf } from '../support.ts'
import { collect, createStage, fill, idle, iterateToError, requestedPages } from './lists.ts'

startService()

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

  test('by abort while items or pages are awaited rejects with the reason, and cancels requests in flight', () =>
    checkEach(['items', 'pages'] as const, async what => {
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
    }))

  test('by abort with the error of another call leaves that error as it is', () =>
    checkEach([false, true], async verified => {
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
    }))

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

  test('by return() yields nothing more, even if the next page has arrived', () =>
    checkEach([false, true], async verified => {
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
    }))

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

  test('by throw() settles a pending next(), and cancels its request', async () => {
    const stage = createStage(100)
    const items = createClient({ fetch: stage.fetch }).transactions.list()[Symbol.asyncIterator]()
    const waiting = items.next()
    await stage.of(1)
    const mine = new Error('mine')
    expect(await rejectionOf(items.throw(mine))).toBe(mine)
    expect(await waiting).toEqual({ done: true, value: undefined })
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

  test('by abort yields nothing more, even if it has arrived', () =>
    checkEach(['items', 'pages'] as const, async what => {
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
    }))

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
