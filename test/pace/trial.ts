import { Client } from 'virtual-accounts'
import { Random } from '../simulation/random.ts'
import { VirtualTime } from '../simulation/virtual-time.ts'
import { createLimiter, idealMs, type Limit } from './limits.ts'

/** A service, and what is asked of it. */
export interface Scenario {
  readonly name: string
  readonly limit: Limit
  /** Milliseconds from a request to its response, 10 % more or less. 20 if not given. */
  readonly latency?: number
  /** How a refusal says when to send again: in whole seconds, as a date, or not at all. */
  readonly retryAfter?: 'seconds' | 'date' | 'none'
  readonly status?: 429 | 503
  /** How late the client's timers fire, as on a busy machine. */
  readonly lateMs?: number
  /** Refused whatever the others do, by the number of the call. */
  readonly isRefusedAlone?: (call: number) => boolean
  /** What happens to all requests of a time. */
  readonly outage?: (now: number) => 503 | 'lost' | undefined
  readonly calls: number
  /** So many at a time; all if not given. */
  readonly atATime?: number
  /** Calls start so long one after the other, rather than at once. */
  readonly everyMs?: number
  /** Clients that share the service. */
  readonly clients?: number
  /** Loops of each client over a list of 2,000 items beside its calls. */
  readonly loops?: number
}

export interface Outcome {
  readonly succeeded: number
  readonly failed: number
  /** When the last call succeeded, and when all had ended, in seconds. */
  readonly seconds: number
  readonly endedAt: number
  readonly ideal: number
  readonly requests: number
  /** Refused requests, but for those of the first moment. */
  readonly refusals: number
  /** Items that the loops yielded. */
  readonly items: number
  /** Timers that were left behind. */
  readonly timers: number
}

const listed = 2_000
const anything = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const

/** Runs a scenario in virtual time. The same seed gives the same outcome. */
export async function run(scenario: Scenario, seed = 'pace'): Promise<Outcome> {
  const {
    limit,
    latency = 20,
    calls,
    atATime = calls,
    everyMs,
    clients = 1,
    loops = 0,
    lateMs = 0,
  } = scenario
  const time = new VirtualTime()
  const random = new Random(seed)
  const service = new LimitedService(scenario, time, random)
  const restore = time.install(random)
  const { setTimeout } = globalThis
  globalThis.setTimeout = ((action: () => void, ms: number) => setTimeout(action, ms + lateMs)) as never
  let succeeded = 0
  let failed = 0
  let succeededAt = 0
  let items = 0
  const attempt = async (work: () => Promise<unknown>) => {
    try {
      await work()
      succeeded++
      succeededAt = time.now
    } catch {
      failed++
    }
  }
  const work = async (first: number) => {
    const { fetch } = service
    const client = new Client({ baseUrl: 'https://simulation.test', apiKey: 'test_key', fetch })
    const numbers = Array.from({ length: calls / clients }, (_, at) => first + at).values()
    const deactivate = (call: number) =>
      attempt(() => client.virtualAccounts.deactivate({ customerId: 'c', virtualAccountId: `${call}` }))
    const worker = async () => {
      for (const call of numbers) await deactivate(call)
    }
    const loop = async () => {
      const list = client.list(
        '/list',
        { limit: 100 },
        { schema: anything, itemKey: item => (item as { id: string }).id },
      )
      for await (const _ of list) items++
    }
    const started: Promise<unknown>[] = Array.from({ length: loops }, loop)
    if (everyMs === undefined)
      started.push(...Array.from({ length: Math.min(atATime, calls / clients) }, worker))
    else
      for (const call of numbers) {
        started.push(deactivate(call))
        await time.pause(everyMs)
      }
    await Promise.all(started)
  }
  try {
    let isOver = false
    const all = Array.from({ length: clients }, (_, client) => work((client * calls) / clients))
    void Promise.all(all).then(() => {
      isOver = true
    })
    await time.run(() => isOver)
    const endedAt = time.now
    // What is left behind does nothing, but would keep a process alive.
    let timers = 0
    await time.run(() => ++timers > 100)
    const pages = loops * Math.ceil(listed / 99)
    return {
      succeeded,
      failed,
      seconds: succeededAt / 1_000,
      endedAt: endedAt / 1_000,
      ideal: idealMs(limit, latency, calls + pages, everyMs ? calls : atATime * clients) / 1_000,
      requests: service.requests,
      refusals: service.refusals,
      items,
      timers: timers - 1,
    }
  } finally {
    restore()
  }
}

class LimitedService {
  requests = 0
  refusals = 0
  #inFlight = 0
  readonly #scenario: Scenario
  readonly #time: VirtualTime
  readonly #random: Random

  constructor(scenario: Scenario, time: VirtualTime, random: Random) {
    this.#scenario = scenario
    this.#time = time
    this.#random = random
    this.#take = createLimiter(scenario.limit)
  }

  readonly #take: ReturnType<typeof createLimiter>

  readonly fetch = async (url: string, { signal }: { signal: AbortSignal }): Promise<Response> => {
    const { latency = 20, outage, isRefusedAlone } = this.#scenario
    const time = this.#time
    const isFirst = time.now === 0
    const way = latency * (0.9 + 0.2 * this.#random.fraction())
    this.requests++
    await time.pause(way / 3)
    signal.throwIfAborted()
    const failure = outage?.(time.now)
    if (failure === 'lost')
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('lost'), { code: 'ECONNRESET' }) })
    if (failure) return new Response(null, { status: failure })
    const call = Number(/\/(\d+)\/deactivate$/.exec(url)?.[1] ?? Number.NaN)
    const seconds = isRefusedAlone?.(call) ? 1 : this.#take(time.now, this.#inFlight)
    if (seconds === undefined) this.#inFlight++
    else if (!isFirst) this.refusals++
    await time.pause((way * 2) / 3)
    if (seconds !== undefined) return this.#refuse(seconds)
    this.#inFlight--
    return url.includes('/list') ? page(new URL(url).searchParams) : new Response(null)
  }

  #refuse(seconds: number): Response {
    const { status = 429, retryAfter = 'seconds' } = this.#scenario
    const headers = new Headers()
    if (retryAfter === 'seconds') headers.set('retry-after', String(Math.ceil(seconds)))
    if (retryAfter === 'date') {
      const now = Date.UTC(2026, 10, 1) + Math.floor(this.#time.now / 1_000) * 1_000
      headers.set('date', new Date(now).toUTCString())
      headers.set('retry-after', new Date(now + Math.ceil(seconds) * 1_000).toUTCString())
    }
    return new Response(null, { status, headers })
  }
}

function page(query: URLSearchParams): Response {
  const [number, limit] = [Number(query.get('page')), Number(query.get('limit'))]
  const ids = Array.from({ length: listed }, (_, at) => ({ id: `i${at}` }))
  const data = ids.slice((number - 1) * limit, number * limit)
  return Response.json({ data, page: number, totalItems: listed, limit })
}
