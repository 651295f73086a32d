import type { ApiError, ClientEvent, List, Transaction } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import { createClient, service, startService } from '../service.ts'
import { abortReasonOf, account, apiErrorOf, checkEach, rejectionOf } from '../support.ts'
import { collect, createStage, fill, idle, iterateToError } from './lists.ts'

startService()

const iterations = {
  items: (list: List<Transaction>): AsyncGenerator<unknown, void> => list[Symbol.asyncIterator](),
  batches: (list: List<Transaction>): AsyncGenerator<unknown, void> => list.batches(),
}
/** The number of values to read from three responses. More requests are in flight. */
const cases = [
  ['items', iterations.items, 45],
  ['batches', iterations.batches, 3],
] as const

function start(iterate: (list: List<Transaction>) => AsyncGenerator<unknown, void>) {
  const stage = createStage(400)
  const controller = new AbortController()
  const { signal } = controller
  const iteration = iterate(createClient({ fetch: stage.fetch }).transactions.list({ limit: 20 }, { signal }))
  return { stage, controller, iteration }
}

/** Reads this many from the first three responses. */
async function startAndRead(...[, iterate, count]: (typeof cases)[number]) {
  const started = start(iterate)
  const reading = Array.from({ length: count }, () => started.iteration.next())
  await started.stage.respond(3)
  await Promise.all(reading)
  expect(started.stage.inFlight).not.toEqual([])
  return started
}

async function expectCancelled({ inFlight, requests }: ReturnType<typeof createStage>): Promise<void> {
  expect(inFlight).toEqual([])
  expect(requests.some(({ isAborted }) => isAborted)).toBe(true)
  const sent = requests.length
  await idle()
  expect(requests).toHaveLength(sent)
}

describe('a loop is left', () => {
  test('by break: requests in flight are cancelled, and no more are sent', () =>
    checkEach(cases, async ([, iterate, count]) => {
      const { stage, iteration } = start(iterate)
      const looping = (async () => {
        let read = 0
        for await (const _ of iteration) if (++read === count) break
      })()
      await stage.respond(3)
      await looping
      await expectCancelled(stage)
    }))

  test('by throwing: the same, and the error propagates unchanged', () =>
    checkEach(cases, async ([, iterate, count]) => {
      const { stage, iteration } = start(iterate)
      const mine = new Error('enough')
      const looping = (async () => {
        let read = 0
        for await (const _ of iteration) if (++read === count) throw mine
      })()
      const outcome = rejectionOf(looping)
      await stage.respond(3)
      expect(await outcome).toBe(mine)
      await expectCancelled(stage)
    }))

  test('by abort: the same, and the loop rejects with an AbortError', () =>
    checkEach(cases, async given => {
      const { stage, iteration, controller } = await startAndRead(...given)
      const reason = new Error('the tab was closed')
      controller.abort(reason)
      expect(await abortReasonOf(iteration.next())).toBe(reason)
      expect(await iteration.next()).toEqual({ done: true, value: undefined })
      await expectCancelled(stage)
    }))

  test('by return(), throw() and disposal of its iterator: the same', () =>
    checkEach<[string, (iteration: AsyncGenerator<unknown, void>) => Promise<unknown>]>(
      [
        ['return', iteration => iteration.return()],
        ['throw', iteration => iteration.throw(new Error('mine')).catch(() => {})],
        ['dispose', async iteration => iteration[Symbol.asyncDispose]()],
      ],
      async ([, leave]) => {
        const { stage, iteration } = await startAndRead(...cases[0])
        await leave(iteration)
        await expectCancelled(stage)
        expect(await iteration.next()).toEqual({ done: true, value: undefined })
      },
    ))

  test('while next() is pending: it settles, without an error', () =>
    checkEach(cases, async ([, iterate]) => {
      const mine = new Error('mine')
      for (const leave of ['return', 'throw'] as const) {
        const stage = createStage(100)
        const iteration = iterate(createClient({ fetch: stage.fetch }).transactions.list())
        const pending = [iteration.next(), iteration.next()]
        await stage.of(1)
        if (leave === 'return') expect(await iteration.return()).toEqual({ done: true, value: undefined })
        else expect(await rejectionOf(iteration.throw(mine))).toBe(mine)
        expect(await Promise.all(pending)).toEqual(Array(2).fill({ done: true, value: undefined }))
        expect(stage.requests.map(({ isAborted }) => isAborted)).toEqual([true])
      }
    }))

  test('although the next page has arrived: it is not yielded', async () => {
    const stage = createStage(60)
    const items = iterations.items(createClient({ fetch: stage.fetch }).transactions.list({ limit: 20 }))
    const reading = Array.from({ length: 20 }, () => items.next())
    await stage.respondToAll()
    await Promise.all(reading)
    const next = items.next()
    await items.return()
    expect(await next).toEqual({ done: true, value: undefined })
  })

  test('while prefetched pages fail: no rejection is unhandled', async () => {
    // Unhandled ones fail the run.
    const { stage, iteration } = await startAndRead(...cases[0])
    for (const request of stage.inFlight) request.respondWith(new Response(null, { status: 404 }))
    await idle()
    await iteration.return()
    await idle()
    expect(stage.inFlight).toEqual([])
  })
})

describe('an abort', () => {
  test('in the middle of a page yields no further item of it', async () => {
    fill(60)
    const controller = new AbortController()
    const list = createClient().transactions.list({ limit: 20 }, { signal: controller.signal })
    let read = 0
    const looping = (async () => {
      for await (const _ of list) if (++read === 3) controller.abort()
    })()
    expect(await abortReasonOf(looping)).toBe(controller.signal.reason)
    expect(controller.signal.reason).toMatchObject({ name: 'AbortError' })
    expect(read).toBe(3)
    expect(service.requests).toHaveLength(1)
  })

  test('after any item has a cursor that resumes behind it, so that each item comes once', async () => {
    const all = fill(45)
    for (const verified of [undefined, false]) {
      for (let count = 1; count <= all.length; count++) {
        const controller = new AbortController()
        const { signal } = controller
        const { transactions } = createClient()
        const items: Transaction[] = []
        const looping = (async () => {
          for await (const item of transactions.list({ limit: 20 }, { verified, signal }))
            if (items.push(item) === count) controller.abort()
        })()
        const { cursor, page } = await apiErrorOf('aborted', looping)
        expect(page).toBeGreaterThan(0)
        for await (const item of transactions.list({ limit: 20 }, { verified, after: cursor }))
          items.push(item)
        expect(items).toEqual(all)
      }
    }
  })

  test('between two batches has the cursor of the last one that was given', async () => {
    fill(45)
    const controller = new AbortController()
    const batches = createClient().transactions.list({ limit: 20 }, { signal: controller.signal }).batches()
    const { value } = await batches.next()
    controller.abort()
    const { cursor } = await apiErrorOf('aborted', batches.next())
    expect(cursor).toBe(value?.cursor)
  })

  test('before the first item has no cursor, as nothing was yielded', async () => {
    fill(45)
    const controller = new AbortController()
    const onEvent = ({ type }: ClientEvent) => type === 'success' && controller.abort()
    const list = createClient({ onEvent: onEvent as () => void }).transactions.list(
      {},
      { signal: controller.signal },
    )
    expect((await apiErrorOf('aborted', collect(list))).cursor).toBeUndefined()
  })

  test('before the loop sends nothing', async () => {
    const list = createClient().transactions.list({}, { signal: AbortSignal.abort('early') })
    expect(await abortReasonOf(collect(list))).toBe('early')
    expect(service.requests).toEqual([])
  })

  test('after the end changes nothing', async () => {
    fill(5)
    const controller = new AbortController()
    const items = iterations.items(createClient().transactions.list({}, { signal: controller.signal }))
    await Promise.all(Array.from({ length: 6 }, () => items.next()))
    controller.abort()
    expect(await items.next()).toEqual({ done: true, value: undefined })
  })

  test('with the error of another call leaves that error unchanged, and so does an apiKey function that throws it', async () => {
    service.fail({ method: 'POST', with: new Response(null, { status: 404 }) })
    const reason = (await rejectionOf(createClient().virtualAccounts.deactivate(account))) as ApiError
    const { message, stack } = Object.freeze(reason)
    fill(60)
    const controller = new AbortController()
    const onEvent = ({ type, page }: ClientEvent) => {
      if (type === 'request' && page === 2) controller.abort(reason)
    }
    const aborted = createClient({ onEvent }).transactions.list({ limit: 20 }, { signal: controller.signal })
    expect((await iterateToError(aborted)).error).toMatchObject({ kind: 'aborted', page: 2, cause: reason })
    let keys = 0
    const apiKey = () => {
      if (++keys > 1) throw reason
      return service.apiKey
    }
    expect((await iterateToError(createClient({ apiKey }).transactions.list({ limit: 20 }))).error).toBe(
      reason,
    )
    expect(reason).toMatchObject({ message, stack, page: undefined, cursor: undefined })
  })
})

test('the iterators of a list are async generators', async () => {
  fill(25)
  const list = createClient().transactions.list({ limit: 20 })
  const prototype = Object.getPrototypeOf(async function* () {}.prototype)
  for (const iterator of [list[Symbol.asyncIterator](), list.batches()]) {
    expect(Object.prototype.isPrototypeOf.call(prototype, iterator)).toBe(true)
    expect(iterator[Symbol.asyncIterator]()).toBe(iterator)
    expect(await iterator.return()).toEqual({ done: true, value: undefined })
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
  }
  expect(service.requests).toEqual([])
})
