import fc from 'fast-check'
import { isApiError } from 'virtual-accounts'
import { expect, test } from 'vitest'
import { cases } from '../cases.ts'
import {
  type Change,
  expectSane,
  insert,
  isSubsequence,
  leaving,
  maybe,
  numbers,
  paging,
  type Run,
  reading,
  remove,
  run,
  type Scenario,
  still,
  without,
} from './model.ts'

function check<T>(arbitrary: fc.Arbitrary<T>, numRuns: number, property: (value: T) => Promise<void>) {
  return fc.assert(fc.asyncProperty(arbitrary, property), { numRuns: cases(numRuns) })
}

test('an unchanged list is yielded completely and in order, with one request per page', () => {
  const scenarios = fc.record({
    ...paging,
    ...reading,
    ...leaving,
    startPage: fc.integer({ min: 1, max: 4 }),
    maxItems: maybe(fc.nat(80)),
  })
  return check(scenarios, 1400, async given => {
    const scenario: Scenario = { ...still, ...given }
    const done = await run(scenario)
    expectSane(scenario, done)
    const { limit, yielded } = done
    const rest = (done.versions[0] as string[]).slice((scenario.startPage - 1) * limit)
    const wanted = Math.min(scenario.maxItems ?? rest.length, rest.length)
    const pages = scenario.maxItems === 0 ? 0 : Math.max(1, Math.ceil(wanted / limit))
    const last = scenario.startPage + pages - 1
    expect(done.outcome).not.toBe('failed')
    expect(done.drift).toEqual([])
    expect(done.mostAhead).toBeLessThanOrEqual(2 * scenario.concurrency)
    // No page twice, and none past the end.
    expect(done.requested).toEqual(
      numbers(scenario.startPage, scenario.startPage + done.requested.length - 1),
    )
    expect(done.requested.length).toBeLessThanOrEqual(pages)
    expect(yielded).toEqual(rest.slice(0, yielded.length))
    if (done.outcome !== 'done') return
    expect(yielded.length).toBe(scenario.mode === 'items' ? wanted : Math.min(rest.length, pages * limit))
    expect(done.requested).toEqual(numbers(scenario.startPage, last))
  })
}, 30_000)

test('a list that grows anywhere at any time loses no item, and yields none twice', () => {
  const scenarios = fc.record({ ...paging, ...reading, changes: fc.array(insert, { maxLength: 6 }) })
  return check(scenarios, 1400, async given => {
    // Items are recognised over eight pages at least: no more are inserted.
    const scenario: Scenario = { ...still, ...given, ...bounded(given, 7) }
    const done = await run(scenario)
    expectSane(scenario, done)
    expect(done.outcome).toBe('done')
    const original = done.versions[0] as string[]
    const seen = scenario.mode === 'items' ? done.yielded : [...new Set(done.yielded)]
    expect(seen.filter(id => id.startsWith('a'))).toEqual(original)
    expect(without(seen, done.versions.at(-1) as string[])).toEqual([])
    expect(done.requested.length).toBeLessThanOrEqual(
      2 * (Math.ceil((original.length + 48) / done.limit) + 2),
    )
  })
}, 30_000)

/** The changes, limited so that no item moves by more than `pages` pages. */
function bounded(
  given: { changes: Change[]; limit: number | undefined; ownLimit: number; maxLimit: number },
  pages: number,
) {
  let left = pages * Math.min(given.limit ?? given.ownLimit, given.maxLimit)
  const changes = given.changes.filter(change => {
    left -= change.count
    return left >= 0
  })
  return { changes }
}

test('a list that shrinks is yielded without a gap, or fails at a page from which resuming leaves none', () => {
  const scenarios = fc.record({ ...paging, ...reading, changes: fc.array(remove, { maxLength: 6 }) })
  return check(scenarios, 1400, async given => {
    const scenario: Scenario = { ...still, ...given }
    const done = await run(scenario)
    expectSane(scenario, done)
    expect(isSubsequence([...new Set(done.yielded)], done.versions[0] as string[])).toBe(true)
    if (done.outcome === 'done') {
      const kept = done.versions.at(-1) as string[]
      expect(without(kept, done.yielded), 'missed').toEqual([])
      return
    }
    if (!isApiError(done.error) || done.error.kind !== 'pagination') throw done.error
    // The list as it was when its shrink was seen: an item removed later is not a gap.
    const total = done.drift.at(-1)?.after
    const then = done.versions.find(ids => ids.length === total) as string[]
    // Another list of the same length: its item a7 stands for the one at index 7.
    const resumed = await run({
      ...still,
      total: then.length,
      limit: done.limit,
      startPage: done.error.page ?? 0,
    })
    expect(resumed.outcome).toBe('done')
    const both = [...done.yielded, ...resumed.yielded.map(id => then[Number(id.slice(1))] as string)]
    expect(without(then, both), 'missed after resuming').toEqual([])
    expect(done.requested.length).toBeLessThanOrEqual(2 * (Math.ceil(scenario.total / done.limit) + 2))
  })
}, 30_000)

test("a list that shrinks is iterated to its end with onMissedItems: 'continue', and a drift event reports missed items", () => {
  const scenarios = fc.record({ ...paging, ...reading, changes: fc.array(remove, { maxLength: 6 }) })
  return check(scenarios, 1000, async given => {
    const scenario: Scenario = { ...still, ...given, onMissedItems: 'continue' }
    const done = await run(scenario)
    expectSane(scenario, done)
    expect(done.outcome).toBe('done')
    const seen = [...new Set(done.yielded)]
    const original = done.versions[0] as string[]
    expect(without(seen, original)).toEqual([])
    // With concurrency, a page served before the removal may follow one served after it.
    if (scenario.concurrency === 1) expect(isSubsequence(seen, original)).toBe(true)
    const missed = without(done.versions.at(-1) as string[], done.yielded)
    if (missed.length > 0) expect(done.drift.map(({ change }) => change)).toContain('total')
  })
}, 30_000)

test('a list that grows and shrinks loses no item silently', () => {
  const changes = fc.array(fc.oneof(insert, remove), { maxLength: 8 })
  return check(fc.record({ ...paging, ...reading, changes }), 1800, async given => {
    const scenario: Scenario = { ...still, ...given, ...bounded(given, 7) }
    const done = await run(scenario)
    expectSane(scenario, done)
    if (done.outcome !== 'done') {
      expect(done.error).toMatchObject({ kind: 'pagination' })
      return
    }
    // A removal and an insertion between two pages cancel out in every total: without overlap nothing shows them.
    if (isMasked(scenario, done)) return
    const original = new Set(done.versions[0])
    const kept = (done.versions.at(-1) as string[]).filter(id => original.has(id))
    const seen = [...new Set(done.yielded)].filter(id => kept.includes(id))
    expect(seen).toEqual(kept)
  })
}, 30_000)

/** Whether, between the states that two neighbouring pages show, the list both grew and shrank. */
function isMasked(scenario: Scenario, done: Run): boolean {
  const versions = [...done.served.values()].sort((a, b) => a.page - b.page).map(({ version }) => version)
  return versions.some((version, index) => {
    const before = versions[index - 1] ?? version
    const between = scenario.changes.slice(Math.min(before, version), Math.max(before, version))
    return between.some(change => 'insert' in change) && between.some(change => 'remove' in change)
  })
}

test('a wrong total ends in an error, or in at least as many items', () => {
  const lies = fc.tuple(fc.integer({ min: -30, max: 30 }))
  const scenarios = fc.record({ ...paging, ...reading, lies })
  return check(scenarios, 1000, async given => {
    const scenario: Scenario = { ...still, ...given }
    const done = await run(scenario)
    expectSane(scenario, done)
    const all = done.versions[0] as string[]
    const claimed = Math.max(0, all.length + (given.lies[0] ?? 0))
    expect(done.yielded).toEqual(all.slice(0, done.yielded.length))
    expect(done.requested.length).toBeLessThanOrEqual(
      Math.ceil(Math.max(claimed, all.length) / done.limit) + 2,
    )
    if (done.outcome === 'failed') expect(done.error).toMatchObject({ kind: 'pagination' })
    else expect(done.yielded.length).toBeGreaterThanOrEqual(claimed)
    // Where the list goes on beyond its total, so does the iteration, to an empty page.
    if (done.outcome === 'done' && done.yielded.length > claimed) expect(done.yielded).toEqual(all)
  })
}, 30_000)

test('a service with a different total in each response is given up after a bounded number of requests', () => {
  const scenarios = fc.record({
    ...paging,
    ...reading,
    lies: fc.array(fc.integer({ min: -40, max: 40 }), { minLength: 2, maxLength: 12 }),
    onMissedItems: fc.constantFrom('throw' as const, 'continue' as const),
    isAnonymous: fc.boolean(),
    ignoresPage: fc.boolean(),
  })
  return check(scenarios, 800, async given => {
    const scenario: Scenario = { ...still, ...given }
    const done = await run(scenario)
    expectSane(scenario, done)
    expect(done.requested.length).toBeLessThanOrEqual(2 * (Math.ceil((scenario.total + 40) / done.limit) + 2))
    if (done.outcome === 'failed') expect(done.error).toMatchObject({ kind: 'pagination' })
  })
}, 30_000)

test('a short page loses no item silently', () => {
  const short = fc.record({ page: fc.integer({ min: 1, max: 8 }), by: fc.integer({ min: 1, max: 12 }) })
  return check(fc.record({ ...paging, ...reading, short }), 600, async given => {
    const scenario: Scenario = { ...still, ...given }
    const done = await run(scenario)
    expectSane(scenario, done)
    const all = done.versions[0] as string[]
    expect(isSubsequence(done.yielded, all)).toBe(true)
    if (done.outcome === 'failed') expect(done.error).toMatchObject({ kind: 'pagination' })
    else expect(done.yielded).toEqual(all)
  })
}, 30_000)

test('a service that ignores the requested page is recognised when two pages in a row repeat', () => {
  return check(fc.record({ ...paging, ...reading }), 400, async given => {
    const scenario: Scenario = { ...still, ...given, ignoresPage: true }
    const done = await run(scenario)
    expectSane(scenario, done)
    const { limit } = done
    // pages() yields the repeated page, too, as it came.
    const seen = scenario.mode === 'items' ? done.yielded : [...new Set(done.yielded)]
    expect(seen).toEqual((done.versions[0] as string[]).slice(0, limit))
    expect(done.outcome).toBe(scenario.total > limit ? 'failed' : 'done')
    if (done.outcome === 'failed') expect(done.error).toMatchObject({ kind: 'pagination', page: 3 })
    // The third page of the slow start, at most three more, and one that was requested before page 2 arrived.
    expect(done.requested.length).toBeLessThanOrEqual(7)
  })
}, 30_000)

test('a service that ignores the requested page is given up past the end where nothing identifies an item', () => {
  return check(fc.record({ ...paging, ...reading }), 200, async given => {
    const scenario: Scenario = { ...still, ...given, ignoresPage: true, isAnonymous: true }
    const done = await run(scenario)
    expectSane(scenario, done)
    const pages = Math.ceil(scenario.total / done.limit)
    expect(done.requested.length).toBeLessThanOrEqual(pages + 2)
    // Only where the pages fill up the total exactly is it like any other list.
    expect(done.outcome).toBe(
      scenario.total > done.limit && scenario.total % done.limit > 0 ? 'failed' : 'done',
    )
  })
}, 30_000)

test('a page that fails comes after all before it, and resuming there leaves no gap', () => {
  const fault = fc.record({
    page: fc.integer({ min: 1, max: 8 }),
    what: fc.constantFrom('lost' as const, 503 as const, 404 as const),
  })
  return check(fc.record({ ...paging, ...reading, ...leaving, fault }), 1000, async given => {
    const scenario: Scenario = { ...still, ...given }
    const done = await run(scenario)
    expectSane(scenario, done)
    const { limit, yielded } = done
    const all = done.versions[0] as string[]
    expect(yielded).toEqual(all.slice(0, yielded.length))
    if (done.outcome !== 'failed') {
      if (done.outcome === 'done') expect(yielded).toEqual(all)
      return
    }
    const { page, what } = scenario.fault as NonNullable<Scenario['fault']>
    expect(done.error).toMatchObject(
      what === 'lost' ? { kind: 'connection', page } : { kind: 'http', status: what, page },
    )
    expect(yielded).toEqual(all.slice(0, (page - 1) * limit))
    const rest = await run({ ...still, total: scenario.total, limit, startPage: page })
    expect([...yielded, ...rest.yielded]).toEqual(all)
  })
}, 30_000)
