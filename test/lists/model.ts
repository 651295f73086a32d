import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { Client, type ClientEvent, isApiError, type Page, type Transaction } from 'virtual-accounts'
import { expect } from 'vitest'

// fast-check chooses the service, its list and how that changes, the order of responses, and the reader.

export type Change = { insert: number; count: number } | { remove: number; count: number }
type Fault = 'lost' | 503 | 404

export interface Scenario {
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

export const still: Scenario = {
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

export const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

export const paging = {
  total: fc.nat(70),
  limit: maybe(fc.integer({ min: 1, max: 12 })),
  ownLimit: fc.integer({ min: 1, max: 12 }),
  maxLimit: fc.integer({ min: 1, max: 12 }),
  concurrency: fc.integer({ min: 1, max: 6 }),
}
export const reading = {
  mode: fc.constantFrom('items' as const, 'pages' as const),
  stride: fc.integer({ min: 1, max: 15 }),
  parallel: fc.boolean(),
  choices: fc.array(fc.nat(30), { maxLength: 120 }),
}
export const leaving = {
  leave: maybe(fc.record({ after: fc.nat(50), by: fc.constantFrom('return' as const, 'abort' as const) })),
}
export const insert = fc.record({ insert: fc.nat(100), count: fc.integer({ min: 1, max: 8 }) })
export const remove = fc.record({ remove: fc.nat(100), count: fc.integer({ min: 1, max: 8 }) })

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

export interface Run {
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

export async function run(scenario: Scenario): Promise<Run> {
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

export function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0
  for (const one of part) {
    while (at < whole.length && whole[at] !== one) at++
    if (at++ === whole.length) return false
  }
  return true
}

export function without(all: readonly string[], some: readonly string[]): string[] {
  const those = new Set(some)
  return all.filter(one => !those.has(one))
}

export function numbers(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
}

/** What holds for every iteration, whatever the service does. */
export function expectSane(scenario: Scenario, done: Run): void {
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
