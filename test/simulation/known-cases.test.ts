import { expect, test } from 'vitest'
import { ByHand, resumed } from './by-hand.ts'

// Lists that lost items once, response by response.

test('a shrink that a page showed is not forgotten when the page is fetched again and its total has recovered', async () => {
  const service = new ByHand(2)
  const walked = service.walk({}, { concurrency: 2 })
  await service.requested(1)
  await service.respond(1, 't1 t2', 5)
  await service.requested(2, 3)
  // Page 2 is served; t1 is removed; page 3 is served; t6 is appended.
  await service.respond(2, 't3 t4', 5)
  await service.respond(3, '', 4)
  await respondIfRequested(service, 3, 't6', 5)
  expect(await walked.ended).toMatchObject({ kind: 'pagination' })
  expect(await resumed(walked, 't2 t3 t4 t5 t6', 2)).toEqual(expect.arrayContaining(['t2', 't3', 't4', 't5']))
})

test('a page that was requested before an item repeated without growth is fetched again', async () => {
  const service = new ByHand(2)
  const walked = service.walk({}, { concurrency: 2 })
  await service.requested(1)
  await service.respond(1, 't1 t2', 5)
  await service.requested(2, 3)
  // Page 3 is served; n1 is inserted at the head and t5 removed; page 2 is served.
  await service.respond(3, 't5', 5)
  await service.respond(2, 't2 t3', 5)
  await service.requested(3)
  await service.respond(3, 't4', 5)
  await walked.ended
  expect(walked.items.slice(0, 3)).toEqual(['t1', 't2', 't3'])
  expect(await resumed(walked, 'n1 t1 t2 t3 t4', 2)).toContain('t4')
})

test('an item of a dropped page that never comes again counts as missing', async () => {
  const service = new ByHand(2)
  const walked = service.walk({}, { concurrency: 2 })
  await service.requested(1)
  await service.respond(1, 't1 t2', 6)
  await service.requested(2, 3)
  // Page 3 is served; n1 is inserted at the head; page 2 is served.
  await service.respond(3, 't5 t6', 6)
  await service.respond(2, 't2 t3', 7)
  await service.requested(3, 4)
  // n1 and t1 are removed, n2 and n3 appended: [t2 t3 t4 t5 t6 n2 n3].
  await service.respond(4, 'n3', 7)
  await service.respond(3, 't6 n2', 7)
  expect(await walked.ended).toMatchObject({ kind: 'pagination' })
  expect(await resumed(walked, 't2 t3 t4 t5 t6 n2 n3', 2)).toEqual(
    expect.arrayContaining(['t2', 't3', 't4', 't5', 't6']),
  )
})

test('error.page of a failed request moves back when a later page showed a shrink', async () => {
  const service = new ByHand(2)
  const walked = service.walk({}, { concurrency: 2 })
  await service.requested(1)
  await service.respond(1, 't1 t2', 5)
  await service.requested(2, 3)
  // t1 is removed.
  await service.respond(3, '', 4)
  await service.fail(2, 500)
  expect(await walked.ended).toMatchObject({ kind: 'http', page: 1 })
  expect(await resumed(walked, 't2 t3 t4 t5', 2)).toEqual(['t1', 't2', 't3', 't4', 't5'])
})

test('when a list shrinks before its total does, resuming at error.page misses nothing', async () => {
  const service = new ByHand(3)
  const walked = service.walk({}, { concurrency: 1 })
  await service.requested(1)
  await service.respond(1, 't1 t2 t3', 9)
  // t1 and t2 are removed; the total goes on to say 9.
  await service.requested(2)
  await service.respond(2, 't6 t7 t8', 9)
  await service.requested(3)
  await service.respond(3, 't9', 9)
  await respondIfRequested(service, 4, '', 9)
  expect(await walked.ended).toMatchObject({ kind: 'pagination', page: 1 })
  expect(await resumed(walked, 't3 t4 t5 t6 t7 t8 t9', 3)).toEqual(expect.arrayContaining(['t4', 't5']))
})

test('when a list ends short, error.page is early enough for the missing items', async () => {
  const service = new ByHand(2)
  const walked = service.walk({}, { concurrency: 1 })
  await service.requested(1)
  await service.respond(1, 't1 t2', 6)
  await service.requested(2)
  await service.respond(2, 't3', 6)
  await service.requested(3)
  await service.respond(3, 't5 t6', 6)
  await respondIfRequested(service, 4, '', 6)
  expect(await walked.ended).toMatchObject({ kind: 'pagination' })
  expect(await resumed(walked, 't1 t2 t3 t4 t5 t6', 2)).toContain('t4')
})

test('a list in which ids occur twice is read to its end', async () => {
  const service = new ByHand(3)
  const walked = service.walk({}, { concurrency: 1 })
  await service.requested(1)
  await service.respond(1, 't5 t7 t8', 9)
  await service.requested(2)
  await service.respond(2, 't7 t8 t8', 9)
  await service.requested(3)
  await service.respond(3, 't9 t10 t11', 9)
  expect(await walked.ended).toBeUndefined()
  expect(walked.items).toEqual(['t5', 't7', 't8', 't9', 't10', 't11'])
})

/** Whether the walk ends at once or looks further is its own choice. */
async function respondIfRequested(
  service: ByHand,
  page: number,
  ids: string,
  totalItems: number,
): Promise<void> {
  const isRequested = await service.requested(page).then(
    () => true,
    () => false,
  )
  if (isRequested) await service.respond(page, ids, totalItems)
}

test('a shrink is counted back from before the pages that were in flight with it', async () => {
  const service = new ByHand(3)
  const walked = service.walk({}, { concurrency: 2 })
  await service.requested(1)
  await service.respond(1, 't1 t2 t3', 11)
  await service.requested(2, 3)
  // t1 is removed; page 3 is served; n1 is appended; page 2 is served.
  await service.respond(3, 't8 t9 t10', 10)
  await service.respond(2, 't5 t6 t7', 11)
  expect(await walked.ended).toMatchObject({ kind: 'pagination', page: 1 })
  expect(await resumed(walked, 't2 t3 t4 t5 t6 t7 t8 t9 t10 t11 n1', 3)).toContain('t4')
})
