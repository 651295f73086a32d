import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Transaction } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { expect, test } from 'vitest'
import { createClient, failureOf } from './service.ts'

function createList(count: number) {
  const service = new FakeService({ transactions: sampleTransactions(count) })
  return { service, list: createClient({ fetch: service.fetch }).transactions.list({ limit: 10 }) }
}

test('a list is a source of a Node stream', async () => {
  const { service, list } = createList(95)
  const seen: Transaction[] = []
  for await (const item of Readable.from(list)) seen.push(item)
  expect(seen).toEqual(service.transactions)
  expect(service.requests).toHaveLength(10)
})

test('a list goes through a pipeline, whose end ends the walk', async () => {
  const { service, list } = createList(1000)
  let left = 25
  const some = new Transform({
    objectMode: true,
    highWaterMark: 1,
    transform(item, _encoding, done) {
      if (left-- > 0) done(null, item)
      else done(new Error('enough'))
    },
  })
  expect(await failureOf(pipeline(Readable.from(list), some.resume()))).toMatchObject({ message: 'enough' })
  const asked = service.requests.length
  expect(asked).toBeLessThan(30)
  await new Promise(resolve => setTimeout(resolve, 20))
  expect(service.requests).toHaveLength(asked)
})

test('a stream that is destroyed ends the walk', async () => {
  const { service, list } = createList(1000)
  const stream = Readable.from(list)
  for await (const _item of stream) break
  expect(stream.destroyed).toBe(true)
  const asked = service.requests.length
  await new Promise(resolve => setTimeout(resolve, 20))
  expect(service.requests).toHaveLength(asked)
})

test('a list that fails ends a stream with its error', async () => {
  const { service, list } = createList(25)
  service.fail({ with: new Response(null, { status: 404 }) })
  const stream = Readable.from(list)
  expect(await failureOf(stream.toArray())).toMatchObject({ kind: 'http', status: 404, page: 1 })
})

test('what was read is let go: a walk remembers the ids of a few pages only', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const service = new FakeService({ transactions: sampleTransactions(2000) })
  const client = createClient({ fetch: service.fetch })
  const keys: WeakRef<object>[] = []
  const dedupeBy = () => {
    const key = {}
    keys.push(new WeakRef(key))
    return key
  }
  let read = 0
  for await (const _item of client.transactions.list({ limit: 10 }, { dedupeBy })) {
    if (++read < 1900) continue
    await new Promise(resolve => setTimeout(resolve, 10))
    collectGarbage()
    break
  }
  const held = keys.filter(key => key.deref() !== undefined).length
  expect(keys.length).toBeGreaterThanOrEqual(1900)
  // Those of eight pages, and some that the engine has not got round to.
  expect(held).toBeLessThan(300)
})
