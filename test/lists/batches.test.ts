import type { Batch, Transaction } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import { createClient, service, startService } from '../service.ts'
import { checkEach, rejectionOf } from '../support.ts'
import { collect, createList, envelopeOf, fill, modes, newItems, respondTo } from './lists.ts'

startService()

describe('batches()', () => {
  test('yields the same items as the list, in order, at least one in each batch', () =>
    checkEach([0, 1, 20, 21, 57, 60, 250], async count => {
      for (const verified of modes) {
        const { list, all } = createList(count)
        const batches = await collect(list({ limit: 20 }, { verified }).batches())
        expect(batches.flatMap(({ items }) => items)).toEqual(all)
        for (const { items } of batches) expect(items).not.toEqual([])
      }
    }))

  test('says of each batch how many items there are, whether there are more, and what the response was', async () => {
    fill(57)
    service.fail({ with: new Response(null, { status: 503, headers: { 'Retry-After': '0' } }) })
    const batches = await collect(createClient().transactions.list({ limit: 20 }).batches())
    expect(batches.map(({ items }) => items.length)).toEqual([20, 18, 16, 3])
    expect(batches.map(({ hasMore }) => hasMore)).toEqual([true, true, true, false])
    for (const { totalItems, status, headers, cursor } of batches) {
      expect({ totalItems, status }).toEqual({ totalItems: 57, status: 200 })
      expect(headers.get('content-type')).toBe('application/json')
      expect(cursor).toMatch(/^[\w.-]+$/)
    }
  })

  test('gives each batch the request id of its response', async () => {
    const { fake, client } = createList(30)
    let requests = 0
    const fetch = async (url: string, init: RequestInit) => {
      const response = await fake.fetch(url, init)
      response.headers.set('x-request-id', `r${++requests}`)
      return response
    }
    const { transactions } = client.withOptions({ fetch })
    const batches = await collect(transactions.list({ limit: 20 }).batches())
    expect(batches.map(({ requestId }) => requestId)).toEqual(['r1', 'r2'])
  })

  test('yields batches that survive JSON and structuredClone', async () => {
    const all = fill(25)
    const [batch] = (await collect(createClient().transactions.list({ limit: 20 }).batches())) as [
      Batch<Transaction>,
    ]
    const { cursor } = batch
    const plain = { items: all.slice(0, 20), cursor, totalItems: 25, hasMore: true }
    expect(JSON.parse(JSON.stringify(batch))).toEqual(plain)
    expect(structuredClone(batch)).toEqual(plain)
    expect({ ...batch }).toEqual(plain)
  })

  test('cuts the last batch at maxItems, and its cursor goes on after the last item given', () =>
    checkEach([1, 19, 20, 21, 39, 60], async maxItems => {
      const { list, all } = createList(100)
      const batches = await collect(list({ limit: 20 }, { maxItems }).batches())
      expect(batches.flatMap(({ items }) => items)).toEqual(all.slice(0, maxItems))
      const last = batches.at(-1)
      expect(last?.hasMore).toBe(true)
      expect(await collect(list({ limit: 20 }, { after: last?.cursor }))).toEqual(all.slice(maxItems))
    }))

  test('yields new items only while the list changes', async () => {
    const { fake, list, all } = createList(100)
    const seen: Transaction[] = []
    for await (const { items } of list({ limit: 20 }, { concurrency: 1 }).batches()) {
      seen.push(...items)
      if (seen.length === 20) fake.transactions.unshift(...newItems(30))
    }
    expect(seen).toEqual(all)
  })

  test('is served in order when next() is called in parallel', async () => {
    const { list, all } = createList(95)
    const batches = list({ limit: 20 }).batches()
    const results = await Promise.all(Array.from({ length: 12 }, () => batches.next()))
    expect(results.flatMap(({ value }) => value?.items ?? [])).toEqual(all)
    expect(results.at(-1)).toEqual({ done: true, value: undefined })
  })

  test('starts from the beginning each time, and sends nothing before', async () => {
    const { fake, list, all } = createList(45)
    const transactions = list({ limit: 20 })
    transactions.batches()
    expect(fake.requests).toEqual([])
    for (let times = 0; times < 2; times++) {
      const batches = await collect(transactions.batches())
      expect(batches.flatMap(({ items }) => items)).toEqual(all)
    }
  })

  test('throws what the list throws, after the batches before it', async () => {
    const all = sampleTransactions(100)
    respondTo((page, limit, count) =>
      count === 3 ? new Response(null, { status: 403 }) : envelopeOf(all, page, limit),
    )
    const list = createClient().transactions.list({ limit: 20 }, { concurrency: 1 })
    const seen: unknown[] = []
    const reading = (async () => {
      for await (const { items } of list.batches()) seen.push(...items)
    })()
    expect(await rejectionOf(reading)).toMatchObject({ kind: 'http', status: 403 })
    expect(seen).toEqual(all.slice(0, 38))
  })
})
