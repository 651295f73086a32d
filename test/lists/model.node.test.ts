import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { Client, type ClientEvent, isApiError, type Page, type Transaction } from 'virtual-accounts'
import { expect, test } from 'vitest'
import { cases } from '../cases.ts'

// fast-check chooses the service, its list and how that changes, the order of responses, and the reader.

type Change = { insert: number; count: number } | { remove: number; count: number }
type Fault = 'lost' | 503 | 404

interface Scenario {
  total: number
  /** The limit requested; undefined: none. */
  limit: number | undefined
  ownLimit: number
  maxLimit: number
  startPage: number
  concurrency: number
  maxItems: number | undefined
  onMissedItems: 'throw' | 'continue'
  changes: Change[]
  /** Added to the total, one for each response, the last one for all that follow. */
  lies: number[]
  /** Nothing identifies an item. */
  isAnonymous: boolean
  /** The service returns page 1, whatever page is requested. */
  ignoresPage: boolean
  /** Number of items left out at the end of a page. */
  short: { page: number; by: number } | undefined
  fault: { page: number; what: Fault } | undefined
  mode: 'items' | 'pages'
  /** Number of items or pages the reader takes at a time, and whether by parallel calls of next(). */
  stride: number
  parallel: boolean
  leave: { after: number; by: 'return' | 'abort' } | undefined
  /** Which of the possible next steps is taken; when used up, the first. */
  choices: number[]
}

const still: Scenario = {
  total: 0,
  limit: undefined,
  ownLimit: 5,
  maxLimit: 100,
  startPage: 1,
  concurrency: 4,
  maxItems: undefined,
  onMissedItems: 'throw',
  changes: [],
  lies: [],
  isAnonymous: false,
  ignoresPage: false,
  short: undefined,
  fault: undefined,
  mode: 'items',
  stride: 1,
  parallel: false,
  leave: undefined,
  choices: [],
}

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

const paging = {
  total: fc.nat(70),
  limit: maybe(fc.integer({ min: 1, max: 12 })),
  ownLimit: fc.integer({ min: 1, max: 12 }),
  maxLimit: fc.integer({ min: 1, max: 12 }),
  concurrency: fc.integer({ min: 1, max: 6 }),
}
const reading = {
  mode: fc.constantFrom('items' as const, 'pages' as const),
  stride: fc.integer({ min: 1, max: 15 }),
  parallel: fc.boolean(),
  choices: fc.array(fc.nat(30), { maxLength: 120 }),
}
const leaving = {
  leave: maybe(fc.record({ after: fc.nat(50), by: fc.constantFrom('return' as const, 'abort' as const) })),
}
const insert = fc.record({ insert: fc.nat(100), count: fc.integer({ min: 1, max: 8 }) })
const remove = fc.record({ remove: fc.nat(100), count: fc.integer({ min: 1, max: 8 }) })

interface ServedPage {
  page: number
  version: number
}

interface InFlight {
  page: number
  envelope: { data: Transaction[]; page: number; totalItems: number; limit: number } | undefined
  version: number
  settle(response: Response | Error): void
}

interface Run {
  yielded: string[]
  pagesRead: number
  outcome: 'done' | 'left' | 'failed'
  error: unknown
  requested: number[]
  /** The last response for each page. */
  served: Map<number, ServedPage>
  /** The ids of the list after so many changes. */
  versions: string[][]
  drift: (ClientEvent & { type: 'drift' })[]
  mostInFlight: number
  mostAhead: number
  /** Number of requests in flight after the end. */
  leftOver: number
  limit: number
}

const reason = new Error('the reader left')

async function run(scenario: Scenario): Promise<Run> {
  const limit = Math.min(scenario.limit ?? scenario.ownLimit, scenario.maxLimit)
  const item = (id: string): Transaction => ({ id, amount: 1, currency: 'EUR', description: '' })
  let ids = Array.from({ length: scenario.total }, (_, index) => `a${index}`)
  const versions = [ids]
  const changes = [...scenario.changes]
  const lies = [...scenario.lies]
  let inserted = 0
  let { fault } = scenario

  const flying = new Set<InFlight>()
  const served = new Map<number, ServedPage>()
  const result: Run = {
    yielded: [],
    pagesRead: 0,
    outcome: 'done',
    error: undefined,
    requested: [],
    served,
    versions,
    drift: [],
    mostInFlight: 0,
    mostAhead: 0,
    leftOver: 0,
    limit,
  }
  const delivered = new Set<number>()

  const fetch = (url: string, { signal }: RequestInit) =>
    new Promise<Response>((resolve, reject) => {
      const page = Number(new URL(url).searchParams.get('page'))
      const request: InFlight = {
        page,
        envelope: undefined,
        version: 0,
        settle(response) {
          if (!flying.delete(request)) return
          if (response instanceof Error) reject(response)
          else resolve(response)
        },
      }
      signal?.addEventListener('abort', () => request.settle(signal.reason))
      flying.add(request)
      // Fetched again, it is no longer buffered.
      delivered.delete(page)
      result.requested.push(page)
      result.mostInFlight = Math.max(result.mostInFlight, flying.size)
      const waiting = delivered.size - pagesBegun()
      result.mostAhead = Math.max(result.mostAhead, flying.size + waiting)
    })

  /** Number of pages that the reader has begun. */
  const pagesBegun = () =>
    scenario.mode === 'pages' ? result.pagesRead : Math.ceil(result.yielded.length / limit)

  const serve = (request: InFlight) => {
    const page = scenario.ignoresPage ? 1 : request.page
    let data = ids.slice((page - 1) * limit, page * limit)
    if (scenario.short?.page === page) data = data.slice(0, Math.max(1, data.length - scenario.short.by))
    const lie = (lies.length > 1 ? lies.shift() : lies[0]) ?? 0
    const totalItems = Math.max(0, ids.length + lie)
    request.envelope = { data: data.map(item), page: request.page, totalItems, limit }
    request.version = versions.length - 1
  }
  const deliver = (request: InFlight) => {
    if (fault?.page === request.page) {
      const { what } = fault
      if (what !== 404) fault = undefined
      request.settle(what === 'lost' ? new TypeError('lost') : new Response(null, { status: what }))
      return
    }
    served.set(request.page, { page: request.page, version: request.version })
    delivered.add(request.page)
    request.settle(Response.json(request.envelope))
  }
  const change = () => {
    const next = changes.shift() as Change
    ids = [...ids]
    if ('insert' in next) {
      const added = Array.from({ length: next.count }, () => `b${inserted++}`)
      ids.splice(Math.floor((next.insert / 100) * ids.length), 0, ...added)
    } else {
      ids.splice(Math.floor((next.remove / 100) * ids.length), next.count)
    }
    versions.push(ids)
  }

  const controller = new AbortController()
  const client = new Client({
    baseUrl: 'https://model.test',
    apiKey: 'key',
    maxRetries: 0,
    fetch,
    onEvent: event => {
      if (event.type === 'drift') result.drift.push(event)
    },
  })
  const { startPage: page, concurrency, maxItems, onMissedItems } = scenario
  const list = client.transactions.list(
    { page, limit: scenario.limit },
    {
      concurrency,
      onMissedItems,
      signal: controller.signal,
      maxItems,
      dedupeBy: scenario.isAnonymous ? () => undefined : undefined,
    },
  )
  const iterator: AsyncIterator<Transaction | Page<Transaction>> =
    scenario.mode === 'pages' ? list.pages()[Symbol.asyncIterator]() : list[Symbol.asyncIterator]()

  let isOver = false
  let reading = 0
  const finish = (outcome: Run['outcome'], error?: unknown) => {
    if (!isOver) Object.assign(result, { outcome, error })
    isOver = true
  }
  const next = async () => {
    reading++
    try {
      const { done, value } = await iterator.next()
      if (done) finish('done')
      else if ('data' in value) {
        result.pagesRead++
        result.yielded.push(...(value as Page<Transaction>).data.map(({ id }) => id))
      } else result.yielded.push(value.id)
    } catch (error) {
      finish(error === reason ? 'left' : 'failed', error)
    } finally {
      reading--
    }
  }
  const read = async () => {
    if (scenario.parallel) {
      await Promise.all(Array.from({ length: scenario.stride }, next))
    } else {
      for (let count = 0; count < scenario.stride && !isOver; count++) await next()
    }
  }
  const leave = async () => {
    if (scenario.leave?.by === 'abort') {
      controller.abort(reason)
      await next()
    } else {
      finish('left')
      await iterator.return?.()
    }
  }

  const choices = [...scenario.choices]
  let stuck = 0
  let isLeaving = false
  while (!isOver || reading > 0) {
    await turn()
    if (!isOver && scenario.leave && !isLeaving && result.yielded.length >= scenario.leave.after) {
      // An abort may happen at any moment; a loop is left between two reads.
      if (scenario.leave.by === 'abort' || reading === 0) {
        isLeaving = true
        void leave()
        continue
      }
    }
    const possible: (() => void)[] = []
    if (reading === 0 && !isOver) possible.push(() => void read())
    for (const request of flying) {
      possible.push(() => {
        if (!request.envelope) serve(request)
        deliver(request)
      })
    }
    for (const request of flying) if (!request.envelope) possible.push(() => serve(request))
    if (changes.length > 0) possible.push(change)
    const chosen = possible[(choices.shift() ?? 0) % possible.length]
    if (chosen) stuck = 0
    else if (++stuck > 100) throw new Error('stuck: nothing in flight, and a reader waits')
    chosen?.()
    if (result.requested.length > 1000) throw new Error('endless: 1000 requests')
  }
  await turn()
  await turn()
  result.leftOver = flying.size
  return result
}

function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0
  for (const one of part) {
    while (at < whole.length && whole[at] !== one) at++
    if (at++ === whole.length) return false
  }
  return true
}

function without(all: readonly string[], some: readonly string[]): string[] {
  const those = new Set(some)
  return all.filter(one => !those.has(one))
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
}

/** What holds for every iteration, whatever the service does. */
function expectSane(scenario: Scenario, done: Run): void {
  expect(done.mostInFlight).toBeLessThanOrEqual(scenario.concurrency)
  expect(done.leftOver).toBe(0)
  // The items of a list that changes do not tell which pages were read.
  if (scenario.mode === 'pages') expect(done.mostAhead).toBeLessThanOrEqual(2 * scenario.concurrency)
  if (done.outcome === 'failed') expect(isApiError(done.error), String(done.error)).toBe(true)
  if (scenario.mode === 'items' && !scenario.isAnonymous) {
    expect(new Set(done.yielded).size, 'each once').toBe(done.yielded.length)
    if (scenario.maxItems !== undefined) expect(done.yielded.length).toBeLessThanOrEqual(scenario.maxItems)
  }
}

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
