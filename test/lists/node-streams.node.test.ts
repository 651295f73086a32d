import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Transaction } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { expect, onTestFinished, test } from 'vitest'
import { createClient, startService } from '../service.ts'
import { checkEach, rejectionOf } from '../support.ts'
import { idle } from './lists.ts'

startService()

function createList(count: number) {
  const service = new FakeService({ transactions: sampleTransactions(count) })
  return { service, list: createClient({ fetch: service.fetch }).transactions.list({ limit: 10 }) }
}

test('a list can be the source of a Node stream', async () => {
  const { service, list } = createList(95)
  const seen: Transaction[] = []
  for await (const item of Readable.from(list)) seen.push(item)
  expect(seen).toEqual(service.transactions)
  expect(service.requests).toHaveLength(15)
})

test('an error in a pipeline ends the iteration of its list', async () => {
  const { list, stage } = createSlowList()
  let left = 25
  const some = new Transform({
    objectMode: true,
    highWaterMark: 1,
    transform(item, _encoding, done) {
      if (left-- > 0) done(null, item)
      else done(new Error('enough'))
    },
  })
  const source = Readable.from(list)
  const running = rejectionOf(pipeline(source, some.resume()))
  expect(await running).toMatchObject({ message: 'enough' })
  await idle(20)
  expectCancelled(stage)
})

test('destroying a stream ends the iteration of its list', async () => {
  const { list, stage } = createSlowList()
  const stream = Readable.from(list)
  for await (const _item of stream) if (stage.received() >= 6) break
  expect(stream.destroyed).toBe(true)
  await idle(20)
  expectCancelled(stage)
})

/** A list whose pages after the third never arrive: only cancelling ends their requests. */
function createSlowList() {
  const service = new FakeService({ transactions: sampleTransactions(1000) })
  let received = 0
  let inFlight = 0
  let cancelled = 0
  const fetch: typeof service.fetch = async (input, init) => {
    received++
    if (Number(new URL(String(input)).searchParams.get('page')) <= 3) return service.fetch(input, init)
    inFlight++
    return new Promise((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => {
        inFlight--
        cancelled++
        reject(init.signal?.reason)
      })
    })
  }
  const list = createClient({ fetch }).transactions.list({ limit: 10 })
  return { list, stage: { received: () => received, inFlight: () => inFlight, cancelled: () => cancelled } }
}

function expectCancelled(stage: ReturnType<typeof createSlowList>['stage']): void {
  expect(stage.cancelled()).toBeGreaterThan(0)
  expect(stage.inFlight()).toBe(0)
  expect(stage.received()).toBeLessThan(10)
}

test('a list that fails destroys its stream with the error', async () => {
  const { service, list } = createList(25)
  service.fail({ with: new Response(null, { status: 404 }) })
  const stream = Readable.from(list)
  expect(await rejectionOf(stream.toArray())).toMatchObject({ kind: 'http', status: 404, page: 1 })
})

async function readToPage3(generator: AsyncIterator<unknown>, what: 'items' | 'batches'): Promise<void> {
  for (let count = what === 'items' ? 25 : 3; count > 0; count--) await generator.next()
}

test('`await using` cancels requests in flight, also where generators cannot be disposed of (Node 22)', () =>
  checkEach(['items', 'batches'] as const, async what => {
    const prototype = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}.prototype))
    const own = Object.getOwnPropertyDescriptor(prototype, Symbol.asyncDispose)
    onTestFinished(() => {
      if (own) Object.defineProperty(prototype, Symbol.asyncDispose, own)
    })
    delete prototype[Symbol.asyncDispose]
    const { list, stage } = createSlowList()
    const generator = (what === 'items' ? list : list.batches())[Symbol.asyncIterator]()
    {
      await using disposed = generator as typeof generator & AsyncDisposable
      await readToPage3(disposed, what)
    }
    await idle(20)
    expectCancelled(stage)
    expect(await generator.next()).toEqual({ done: true, value: undefined })
  }))
