import type { DriftEvent, ListOptions } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import { ByHand } from './simulation/by-hand.ts'

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

describe('a page that was requested before its predecessor arrived, and is out of date,', () => {
  /** Page 3 is served, then n1 is inserted at the head, then page 2 is served: t5 and t6 may have moved. */
  async function fetchAgain(options: ListOptions = {}) {
    const drifts: DriftEvent[] = []
    const service = new ByHand(2, { onEvent: event => event.type === 'drift' && drifts.push(event) })
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

  test('ends the iteration as soon as one of its items appears again, and an earlier one has not', async () => {
    const { service, walked } = await fetchAgain()
    await service.respond(3, 't4 t6', 21)
    expect(await walked.ended).toMatchObject({
      kind: 'pagination',
      page: 1,
      message: expect.stringContaining('and 1 of the items of an earlier response did not appear again'),
    })
  })

  test('ends the iteration as soon as its items would have appeared again if they were still there', async () => {
    const { service, walked } = await fetchAgain()
    await service.respond(3, 't4 x1', 22)
    await service.respond(4, 'x2 x3', 22)
    // The list grew by two since the page was served, so its items would be on pages 3 and 4.
    expect(walked.items.at(-1)).toBe('x3')
    await service.respond(5, 'x4 x5', 22)
    expect(await walked.ended).toMatchObject({
      kind: 'pagination',
      page: 1,
      message: expect.stringContaining('and 2 of the items of an earlier response did not appear again'),
    })
  })

  test("reports its missing items once with onMissedItems: 'continue'", async () => {
    const { service, walked, drifts } = await fetchAgain({ onMissedItems: 'continue' })
    await service.respond(3, 't4 t6', 21)
    await service.respond(4, 't7 t8', 21)
    await service.respond(5, 't9 t10', 21)
    expect(walked.items.slice(-2)).toEqual(['t9', 't10'])
    const missing = drifts.filter(({ change }) => change === 'missing')
    expect(missing).toMatchObject([{ page: 3, before: 21, after: 20 }])
  })

  test('has a later failure resume at page 1 while its items have not appeared again', async () => {
    const { service, walked } = await fetchAgain()
    await service.respond(3, 't4 x1', 21)
    await service.fail(4, 500)
    expect(await walked.ended).toMatchObject({ kind: 'http', page: 1 })
  })

  test('has a later failure resume at its own page once its items have appeared again', async () => {
    const { service, walked } = await fetchAgain()
    await service.respond(3, 't5 t6', 21)
    await service.fail(4, 500)
    expect(await walked.ended).toMatchObject({ kind: 'http', page: 4 })
  })

  test('is the page to resume from when it fails', async () => {
    const { service, walked } = await fetchAgain()
    await service.fail(3, 500)
    expect(await walked.ended).toMatchObject({ kind: 'http', page: 3 })
  })
})

describe('a page with an item that has moved although the list did not grow', () => {
  test.each(['t6 t7', 'x1 t6'])(
    'has the page after it fetched again although it has arrived (%s)',
    async ids => {
      const { service } = await toPage4()
      await service.respond(5, 't8 t9', 20)
      await service.requested(4, 6)
      await service.respond(4, ids, 20)
      // Page 7 was requested when page 4 arrived.
      await service.requested(5, 7)
    },
  )

  test('has no page fetched again that was requested after it arrived', async () => {
    const { service, walked } = await toPage4()
    await service.respond(4, 't6 t7', 20)
    await service.requested(5, 6)
    await service.respond(6, 't10 t11', 20)
    await service.requested(5, 7)
    await service.respond(5, 't8 t9', 20)
    expect(walked.items).toEqual(Array.from({ length: 11 }, (_, index) => `t${index + 1}`))
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
    const { service, walked } = await fetchAgain('t2 t3')
    await service.requested(3, 4, 5, 6)
    await service.respond(3, 't3 t4', 21)
    await service.respond(4, 't5 t6', 21)
    expect(walked.items).toEqual(['t1', 't2', 't3', 't4', 't5', 't6'])
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
    const drifts: DriftEvent[] = []
    const service = new ByHand(2, { onEvent: event => event.type === 'drift' && drifts.push(event) })
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
    return { service, walked, drifts }
  }

  test('ends the iteration if it has moved on when the page is fetched again', async () => {
    const { service, walked, drifts } = await fetchAgain('t6 t7')
    await service.respond(4, 't8 t9', 20)
    const message =
      'PaginationError: GET /transactions (page 4): the list changed while it was read, so up to 1 may have been missed. ' +
      'Resume with list({ page: 2, limit: 2 }) and all else unchanged'
    expect(String(await walked.ended)).toContain(message)
    expect(drifts).toMatchObject([{ change: 'missing', page: 4, before: 20, after: 19 }])
  })

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
  expect(await walked.ended).toMatchObject({
    kind: 'pagination',
    message: expect.stringContaining('the list shrank from 20 to 19 items'),
  })
})

test('a page that is fetched again ends the iteration if its items have moved towards the beginning', async () => {
  const { service, walked } = await toPage3()
  await service.respond(6, 't11 t12', 20)
  await service.respond(3, 't5 t6', 20)
  await service.requested(4, 5, 7, 8)
  // One item was added before t5: pages 5 and 6 are fetched again.
  await service.respond(4, 't6 t7', 20)
  await service.respond(7, 't12 t13', 20)
  await service.respond(4, 't6 t7', 20)
  // Two were removed before t8, which is on page 4 now, as is t9. Others were added at the end, so the total stays.
  await service.respond(5, 't10 t11', 20)
  await service.respond(6, 't12 t13', 20)
  expect(await walked.ended).toMatchObject({ kind: 'pagination', page: 1 })
})

describe('a page that fails while a later one has arrived', () => {
  test('is the page to resume from if both show the same total', async () => {
    const { service, walked } = await toPage3()
    await service.respond(5, 't9 t10', 20)
    await service.respond(3, 't5 t6', 20)
    await service.fail(4, 500)
    expect(await walked.ended).toMatchObject({ kind: 'http', page: 4 })
  })

  test('resumes earlier if the list was larger before', async () => {
    const service = new ByHand(2)
    const walked = service.walk({}, { concurrency: 4, onMissedItems: 'continue' })
    await service.requested(1)
    await service.respond(1, 't1 t2', 20)
    await service.respond(2, 't3 t4', 19)
    await service.requested(3, 4, 5, 6)
    await service.respond(4, 't7 t8', 19)
    await service.fail(3, 500)
    expect(await walked.ended).toMatchObject({ kind: 'http', page: 2 })
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

test('an empty page that shows that the list shrank has the iteration resume where items may have been removed first', async () => {
  const service = new ByHand(10)
  const walked = service.walk({}, { concurrency: 1 })
  const ids = (page: number) => Array.from({ length: 10 }, (_, index) => `t${page}${index}`).join(' ')
  for (const page of [1, 2, 3]) {
    await service.requested(page)
    await service.respond(page, ids(page), 40)
  }
  await service.requested(4)
  await service.respond(4, '', 39)
  expect(await walked.ended).toMatchObject({ kind: 'pagination', page: 1 })
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
