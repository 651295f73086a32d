import { Client, type DriftEvent, type ListOptions } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { ByHand } from '../simulation/by-hand.ts'

/** A service whose client's drift events are collected. */
function watched() {
  const drifts: DriftEvent[] = []
  const service = new ByHand(2, { onEvent: event => event.type === 'drift' && drifts.push(event) })
  return { service, drifts }
}

/** Pages 1 and 2 are read, and the next four are in flight. */
async function toPage3(options: ListOptions = {}) {
  const service = new ByHand(2)
  const walked = service.walk({}, { concurrency: 4, ...options })
  await service.requested(1)
  await service.respond(1, 't1 t2', 20)
  await service.respond(2, 't3 t4', 20)
  await service.requested(3, 4, 5, 6)
  return { service, walked }
}

/** Page 4 is in flight, and page 5 was requested before it arrives. */
async function toPage4() {
  const service = new ByHand(2)
  const walked = service.walk({}, { concurrency: 2 })
  await service.requested(1)
  await service.respond(1, 't1 t2', 20)
  await service.requested(2, 3)
  await service.respond(3, 't5 t6', 20)
  await service.respond(2, 't3 t4', 20)
  await service.requested(4, 5)
  return { service, walked }
}

async function failAtPage11(service: ByHand) {
  for (let page = 4; page < 11; page++) await service.respond(page, `u${page} v${page}`, 21)
  await service.fail(11, 500)
}

describe('a page that was requested before its predecessor arrived, and is out of date,', () => {
  /** Page 3 is served, then n1 is inserted at the head, then page 2 is served: t5 and t6 may have moved. */
  async function fetchAgain(options: ListOptions = {}) {
    const { service, drifts } = watched()
    const walked = service.walk({}, { concurrency: 4, ...options })
    await service.requested(1)
    await service.respond(1, 't1 t2', 20)
    await service.requested(2, 3)
    await service.respond(3, 't5 t6', 20)
    await service.respond(2, 't2 t3', 21)
    await service.requested(3, 4, 5, 6)
    return { service, walked, drifts }
  }

  test('is fetched again, and its items are yielded once', async () => {
    const { service, walked } = await fetchAgain()
    await service.respond(3, 't4 t5', 21)
    expect(walked.items).toEqual(['t1', 't2', 't3', 't4', 't5'])
    await service.respond(4, 't6 t7', 21)
    expect(walked.items).toEqual(['t1', 't2', 't3', 't4', 't5', 't6', 't7'])
  })

  /** Page 3 is fetched again without t5, which was on it before. The list ends with page 4. */
  async function loseOne(options: ListOptions = {}) {
    const { service, drifts } = watched()
    const walked = service.walk({}, { concurrency: 2, ...options })
    await service.requested(1)
    await service.respond(1, 't1 t2', 7)
    await service.requested(2, 3)
    await service.respond(3, 't5 t6', 7)
    await service.respond(2, 't2 t3', 8)
    await service.requested(3, 4)
    await service.respond(3, 't4 t6', 8)
    await service.respond(4, 't7 t8', 8)
    return { walked, drifts }
  }

  test('ends the iteration with an error unless its items appear again', async () => {
    const { walked } = await loseOne()
    expect(await walked.ended).toMatchObject({ kind: 'pagination', page: 1 })
    expect(String(await walked.ended)).toContain('did not appear again')
  })

  test("reports its missing items with onMissedItems: 'continue'", async () => {
    const { walked, drifts } = await loseOne({ onMissedItems: 'continue' })
    expect(await walked.ended).toBeUndefined()
    expect(walked.items).toEqual(['t1', 't2', 't3', 't4', 't6', 't7', 't8'])
    const missing = drifts.filter(({ change }) => change === 'missing')
    expect(missing).toMatchObject([{ page: 4, before: 8, after: 7 }])
  })

  test('has a later failure resume at page 1 while its items have not appeared again', async () => {
    const { service, walked } = await fetchAgain()
    await service.respond(3, 't4 x1', 21)
    await service.fail(4, 500)
    expect(await walked.ended).toMatchObject({ kind: 'http', page: 1 })
  })

  test('has a later failure resume before all that was in flight once its items have appeared again', async () => {
    const { service, walked } = await fetchAgain()
    await service.respond(3, 't5 t6', 21)
    await failAtPage11(service)
    expect(await walked.ended).toMatchObject({ kind: 'http', page: 2 })
  })

  test('has the iteration resume at page 1 when it fails', async () => {
    const { service, walked } = await fetchAgain()
    await service.fail(3, 500)
    expect(await walked.ended).toMatchObject({ kind: 'http', page: 1 })
  })
})

test("a shrink that only an out-of-date page shows is a drift event with onMissedItems: 'continue'", async () => {
  const { service, drifts } = watched()
  const walked = service.walk({}, { concurrency: 2, onMissedItems: 'continue' })
  await service.requested(1)
  await service.respond(1, 't1 t2', 6)
  await service.requested(2, 3)
  await service.respond(2, 't3 t4', 6)
  // t1 was removed, then t7 is added.
  await service.respond(3, 't6', 5)
  await service.requested(3)
  await service.respond(3, 't6 t7', 6)
  expect(await walked.ended).toBeUndefined()
  expect(drifts).toMatchObject([{ change: 'total', before: 6, after: 5, page: 3 }])
})

describe('a page with an item that has moved although the list did not grow', () => {
  test.each(['t6 t7', 'x1 t6'])(
    'has the page after it fetched again although it has arrived (%s)',
    async ids => {
      const { service } = await toPage4()
      await service.respond(5, 't8 t9', 20)
      await service.requested(4, 6)
      await service.respond(4, ids, 20)
      // Page 7 was requested when page 4 arrived. Two may be in flight.
      await service.requested(6, 7)
      await service.respond(7, 't12 t13', 20)
      await service.requested(5, 6)
    },
  )

  test('is a drift event, also if it is fetched again without that item', async () => {
    const { service, drifts } = watched()
    const walked = service.walk({}, { concurrency: 2 })
    await service.requested(1)
    await service.respond(1, 't1 t2', 6)
    await service.requested(2, 3)
    // Page 3 is served, then t1 is removed and t7 is added, then page 2 is served.
    await service.respond(3, 't5 t6', 6)
    await service.respond(2, 't4 t5', 6)
    await service.requested(3)
    await service.respond(3, 't6 t7', 6)
    expect(await walked.ended).toBeUndefined()
    expect(walked.items).toEqual(['t1', 't2', 't4', 't5', 't6', 't7'])
    expect(drifts).toMatchObject([{ change: 'duplicate', before: 2, after: 3, page: 3 }])
  })

  test('has no page fetched again that was requested after it arrived', async () => {
    const { service, walked } = await toPage4()
    await service.respond(4, 't6 t7', 20)
    await service.requested(5, 6)
    await service.respond(5, 't9 t10', 20)
    await service.respond(6, 't10 t11', 20)
    await service.respond(5, 't8 t9', 20)
    expect(walked.items).toEqual(Array.from({ length: 11 }, (_, index) => `t${index + 1}`))
  })

  test('has each page fetched at most twice if the item only shares its identity', async () => {
    // Every page of an unchanged list repeats an item of the page before it.
    const items = Array.from({ length: 60 }, (_, index) => ({
      id: `t${index % 3 === 0 ? index - 1 : index}`,
    }))
    for (const concurrency of [1, 4, 16]) {
      let requests = 0
      const fetch = async (url: string) => {
        requests++
        const page = Number(new URL(url).searchParams.get('page'))
        return Response.json({ data: items.slice(3 * page - 3, 3 * page), page, totalItems: 60, limit: 3 })
      }
      const client = new Client({ baseUrl: 'https://api.example.com', apiKey: 'key', fetch })
      const schema = z.object({ id: z.string() })
      const list = client.list('/notes', {}, { schema, dedupeBy: ({ id }) => id, concurrency })
      const seen: string[] = []
      for await (const { id } of list) seen.push(id)
      expect(seen).toEqual([...new Set(items.map(({ id }) => id))])
      expect(requests).toBeLessThanOrEqual(2 * 20)
    }
  })
})

describe('an out-of-date page that shows', () => {
  /** Page 3 is served, then n1 is inserted at the head, then page 2 is served. Page 3 is fetched again. */
  async function fetchAgain(page3: string, options: ListOptions = {}) {
    const service = new ByHand(2)
    const walked = service.walk({}, options)
    await service.requested(1)
    await service.respond(1, 't1 t2', 20)
    await service.requested(2, 3)
    await service.respond(3, page3, 20)
    await service.respond(2, 't2 t3', 21)
    return { service, walked }
  }

  test('an item that was read before does not expect it again', async () => {
    const { service, walked } = await fetchAgain('t1 t2')
    await service.respond(3, 't4 t5', 21)
    await failAtPage11(service)
    expect(await walked.ended).toMatchObject({ kind: 'http', page: 2 })
  })

  test('an item that nothing identifies does not expect it again', async () => {
    const dedupeBy = ({ id }: { id: string }) => (id.startsWith('u') ? undefined : id)
    const { service, walked } = await fetchAgain('u1 t5', { dedupeBy } as ListOptions)
    await service.requested(3, 4, 5, 6)
    await service.respond(3, 't4 t5', 21)
    await service.respond(4, 't6 t7', 21)
    expect(walked.items).toEqual(['t1', 't2', 't3', 't4', 't5', 't6', 't7'])
  })

  test('an item that is beyond maxItems does not expect it again', async () => {
    const { service, walked } = await fetchAgain('t5 t6', { maxItems: 5 })
    await service.requested(3)
    await service.respond(3, 't4 t6', 21)
    expect(await walked.ended).toBeUndefined()
    expect(walked.items).toEqual(['t1', 't2', 't3', 't4', 't6'])
  })
})

describe('a page whose first item was on the page before it, although the list did not grow,', () => {
  /** Page 4 is served, then page 3, on which t7 is now. Page 4 is fetched again. */
  async function fetchAgain(page3: string) {
    const service = new ByHand(2)
    const walked = service.walk({}, { concurrency: 2 })
    await service.requested(1)
    await service.respond(1, 't1 t2', 20)
    await service.requested(2, 3)
    await service.respond(2, 't3 t4', 20)
    await service.requested(3, 4)
    await service.respond(4, 't7 t8', 20)
    await service.respond(3, page3, 20)
    // Two may be in flight.
    await service.requested(5, 6)
    await service.respond(5, 't10 t11', 20)
    await service.requested(4, 6)
    return { service, walked }
  }

  test('goes on if it is still there', async () => {
    const { service, walked } = await fetchAgain('t6 t7')
    await service.respond(4, 't7 t8', 20)
    expect(walked.items.slice(0, 7)).toEqual(['t1', 't2', 't3', 't4', 't6', 't7', 't8'])
  })

  test('goes on if one of several such items is still there', async () => {
    const { service, walked } = await fetchAgain('t7 t8')
    await service.respond(4, 't8 t9', 20)
    expect(walked.items.slice(0, 7)).toEqual(['t1', 't2', 't3', 't4', 't7', 't8', 't9'])
  })
})

test('a page that shows an item twice has no page fetched again', async () => {
  const service = new ByHand(2)
  const walked = service.walk({}, { concurrency: 2 })
  await service.requested(1)
  await service.respond(1, 't1 t2', 20)
  await service.requested(2, 3)
  await service.respond(3, 't5 t6', 20)
  await service.respond(2, 't3 t3', 20)
  await service.requested(4, 5)
  expect(walked.items).toEqual(['t1', 't2', 't3', 't5', 't6'])
})

test('a page that is fetched again ends the iteration if it showed that the list shrank', async () => {
  const { service, walked } = await toPage4()
  await service.respond(5, 't8 t9', 19)
  // t6 was on page 3.
  await service.respond(4, 't6 t7', 20)
  expect(await walked.ended).toMatchObject({ kind: 'pagination' })
})

describe('a page that fails while a later one has arrived', () => {
  test('is the page to resume from if both show the same total', async () => {
    const { service, walked } = await toPage3()
    await service.respond(5, 't9 t10', 20)
    await service.respond(3, 't5 t6', 20)
    await service.fail(4, 500)
    expect(await walked.ended).toMatchObject({ kind: 'http', page: 4 })
  })

  test('resumes before all that was in flight if the later page shows that the list shrank', async () => {
    const { service, walked } = await toPage3()
    await service.respond(5, 't9 t10', 16)
    await service.fail(3, 500)
    expect(await walked.ended).toMatchObject({ kind: 'http', page: 1 })
  })

  test('leaves the error of another call as it is, whatever the later page shows', async () => {
    const other = new ByHand(2)
    const failed = other.walk({ page: 9 })
    await other.requested(9)
    await other.fail(9, 500)
    const reason = await failed.ended
    const controller = new AbortController()
    const { service, walked } = await toPage3({ signal: controller.signal })
    await service.respond(4, 't7 t8', 16)
    controller.abort(reason)
    expect(await walked.ended).toBe(reason)
    expect(reason).toMatchObject({ page: 9 })
  })
})

describe('a page that shows that the list shrank', () => {
  const walkTo = async (lastPage: number) => {
    const service = new ByHand(10)
    const walked = service.walk({}, { concurrency: 1 })
    for (let page = 1; page < lastPage; page++) {
      await service.requested(page)
      const ids = Array.from({ length: 10 }, (_, index) => `t${page}${index}`).join(' ')
      await service.respond(page, ids, 100)
    }
    await service.requested(lastPage)
    return { service, walked }
  }

  test('has the iteration resume before all that may have been missed', async () => {
    const { service, walked } = await walkTo(8)
    await service.respond(8, 'a b c d e f g h i j', 89)
    // Two pages that can have been in flight, and two that hold eleven items.
    expect(await walked.ended).toMatchObject({ kind: 'pagination', page: 4 })
  })

  test('has it resume before what a later page shows to be removed', async () => {
    const service = new ByHand(1)
    const walked = service.walk({}, { concurrency: 2 })
    await service.requested(1)
    for (let page = 1; page < 20; page++) await service.respond(page, `t${page}`, 40)
    await service.requested(20, 21)
    await service.respond(21, 't21', 30)
    await service.respond(20, 't20', 39)
    expect(await walked.ended).toMatchObject({ kind: 'pagination', page: 6 })
  })

  test('has it resume at page 1 if it is empty, as nothing tells where items were removed', async () => {
    const { service, walked } = await walkTo(8)
    await service.respond(8, '', 99)
    expect(await walked.ended).toMatchObject({ kind: 'pagination', page: 1 })
  })
})

test('an iteration can be ended while its page waits for others to arrive before it is fetched again', async () => {
  const service = new ByHand(2)
  const list = service.client.transactions.list({ limit: 2 }, { concurrency: 2 })
  const iterator = list[Symbol.asyncIterator]()
  const read = async () => {
    for (let item = 0; item < 3; item++) await iterator.next()
  }
  const hasRead = read()
  await service.requested(1)
  await service.respond(1, 't1 t2', 20)
  await service.requested(2, 3)
  await service.respond(3, 't5 t6', 20)
  await service.respond(2, 't2 t3', 21)
  await hasRead
  const waiting = iterator.next()
  await service.requested(4, 5)
  await iterator.return?.()
  expect(await waiting).toEqual({ done: true, value: undefined })
  await service.requested()
})
