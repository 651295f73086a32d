import { Random } from './random.ts'
import type { Ceaseless, Change, Scenario } from './scenario.ts'
import type { VirtualTime } from './virtual-time.ts'

/** One request and what became of it. Moments are positions in the walk's log. */
export interface Exchange {
  readonly number: number
  readonly page: number
  readonly requestedLimit: number | undefined
  /** When the page was first requested: a retry belongs to the call that it repeats. */
  readonly requestedAt: number
  /** When this attempt was sent. */
  readonly sentAt: number
  servedAt?: number
  arrivedAt?: number
  /** The state that was served. */
  version?: number
  replica?: number
  status?: number
  body?: { data: { id: string }[]; page: number; totalItems: number; limit: number }
  /** Counts the items when the response leaves. */
  countLater?: (() => number) | undefined
  isCancelled?: boolean
}

export type LogEntry =
  | { type: 'change'; at: number; version: number; what: string }
  | { type: 'request' | 'serve' | 'arrive' | 'cancel'; at: number; exchange: Exchange }
  | { type: 'yield'; at: number; id: string }
  | { type: 'resume'; at: number; cursor: string }
  | { type: 'end'; at: number; how: string }

/** A list that changes, behind an HTTP service that takes its time. */
export class SimulatedService {
  /** The ids of the list, by number of changes. */
  readonly states: string[][]
  readonly exchanges: Exchange[] = []
  readonly log: LogEntry[] = []
  mostInFlight = 0
  readonly #scenario: Scenario
  readonly #time: VirtualTime
  readonly #changedAt = [Number.NEGATIVE_INFINITY]
  readonly #inFlight = new Map<Exchange, (response: Response | Error) => void>()
  #brokenPage: string | undefined
  #isRepaired = false
  #isAtRest = false
  #inserted = 0
  /** Chooses the ceaseless changes. */
  readonly #random: Random
  /** The items that have moved. */
  readonly moved = new Set<string>()

  constructor(scenario: Scenario, time: VirtualTime) {
    this.#scenario = scenario
    this.#time = time
    this.states = [initialIds(scenario)]
    for (const change of scenario.changes) time.after(change.at, () => this.#change(change))
    const { ceaseless, seed } = scenario
    this.#random = new Random(`ceaseless ${seed}`)
    const goOn = (ms: number) =>
      time.after(ms, () => {
        this.#changeAgain()
        if (!this.#isAtRest) goOn(ms)
      })
    if (ceaseless && ceaseless.every !== 'response') goOn(ceaseless.every.ms)
  }

  /** Nothing changes any more. */
  rest(): void {
    this.#isAtRest = true
  }

  remove(id: string): void {
    const ids = this.states.at(-1) as string[]
    this.#note(
      ids.filter(other => other !== id),
      `remove ${id}, which was read`,
    )
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  /** From now on, no request fails permanently. */
  repair(): void {
    this.#isRepaired = true
  }

  record(
    entry: { type: 'yield'; id: string } | { type: 'resume'; cursor: string } | { type: 'end'; how: string },
  ): void {
    this.log.push({ ...entry, at: this.#time.now })
  }

  readonly fetch = (url: string, { signal }: RequestInit): Promise<Response> =>
    new Promise((resolve, reject) => {
      const query = new URL(url).searchParams
      const page = Number(query.get('page'))
      const requestedLimit = query.has('limit') ? Number(query.get('limit')) : undefined
      const failed = this.exchanges.findLast(
        earlier => earlier.page === page && earlier.requestedLimit === requestedLimit,
      )
      const isRetry = failed?.status !== undefined && failed.status !== 200
      const exchange: Exchange = {
        number: this.exchanges.length + 1,
        page,
        requestedLimit,
        requestedAt: isRetry ? failed.requestedAt : this.log.length,
        sentAt: this.log.length,
      }
      this.exchanges.push(exchange)
      this.#record('request', exchange)
      this.#inFlight.set(exchange, response => {
        if (!this.#inFlight.delete(exchange)) return
        if (response instanceof Response) resolve(response)
        else reject(response)
      })
      this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight.size)
      signal?.addEventListener('abort', () => this.#cancel(exchange, signal.reason))
      const { routes } = this.#scenario
      const { serveMs, arriveMs, replica } = routes[(exchange.number - 1) % routes.length] ?? immediate
      this.#time.after(serveMs, () => {
        if (exchange.isCancelled) return
        this.#serve(exchange, replica)
        this.#time.after(arriveMs, () => this.#arrive(exchange))
      })
    })

  /** The limit in effect for a request that is served now. */
  limitFor(requested: number | undefined): number {
    const { defaultLimit, maxLimit, limitChange, ignoresLimit } = this.#scenario.service
    const most = limitChange && this.#time.now >= limitChange.at ? limitChange.maxLimit : maxLimit
    return Math.min(ignoresLimit ? defaultLimit : (requested ?? defaultLimit), most)
  }

  #serve(exchange: Exchange, replica: number): void {
    const { service } = this.#scenario
    const { replicaLagsMs, totalLagMs, totalErrors, ignoresPage, countsFromZero, faults, brokenRequest } =
      service
    const { number, requestedLimit } = exchange
    const target = `${exchange.page} ${requestedLimit}`
    if (number === brokenRequest?.number) this.#brokenPage = target
    exchange.status = faults[number] ?? 200
    if (brokenRequest && !this.#isRepaired && this.#brokenPage === target)
      exchange.status = brokenRequest.status
    const lagMs = replicaLagsMs[replica % replicaLagsMs.length] ?? 0
    const version = this.#versionAt(this.#time.now - lagMs)
    const limit = this.limitFor(requestedLimit)
    const size = service.isFixture ? service.defaultLimit : limit
    if (service.refusesSmallerLimits && limit < service.defaultLimit) exchange.status = 422
    const page = ignoresPage ? 1 : exchange.page + Number(countsFromZero)
    const error = totalErrors[(number - 1) % totalErrors.length] ?? 0
    const count = () =>
      (this.states[this.#versionAt(this.#time.now - lagMs - totalLagMs)] as string[]).length + error
    exchange.version = version
    exchange.replica = replica % replicaLagsMs.length
    exchange.body = {
      data: this.#pageOf(this.states[version] as string[], page, size).map(toItem),
      page: exchange.page,
      totalItems: Math.max(0, count()),
      limit,
    }
    exchange.countLater = service.countsLater ? count : undefined
    exchange.servedAt = this.log.length
    this.#record('serve', exchange)
    if (this.#scenario.ceaseless?.every === 'response') this.#changeAgain()
  }

  #pageOf(ids: readonly string[], page: number, size: number): readonly string[] {
    const { hasRowNumbers, hidesEvery } = this.#scenario.service
    const cut = ids.slice((page - 1) * size, page * size)
    if (hasRowNumbers) return cut.map((_, index) => `t${index + 1}`)
    return hidesEvery ? cut.filter((_, index) => ((page - 1) * size + index) % hidesEvery > 0) : cut
  }

  #arrive(exchange: Exchange): void {
    if (exchange.isCancelled) return
    exchange.arrivedAt = this.log.length
    this.#record('arrive', exchange)
    const { status = 200, body, countLater } = exchange
    if (body && countLater) body.totalItems = countLater()
    const response = status === 200 ? Response.json(body) : new Response(null, { status })
    this.#inFlight.get(exchange)?.(response)
  }

  #cancel(exchange: Exchange, reason: Error): void {
    if (!this.#inFlight.has(exchange)) return
    exchange.isCancelled = true
    this.#record('cancel', exchange)
    this.#inFlight.get(exchange)?.(reason)
  }

  #changeAgain(): void {
    const { ceaseless } = this.#scenario
    if (ceaseless && !this.#isAtRest) this.#change(nextChange(ceaseless, this.#random))
  }

  #change({ remove, insert, moveToHead, move }: Omit<Change, 'at'>): void {
    const ids = [...(this.states.at(-1) as string[])]
    const what: string[] = []
    if (remove) {
      const from = Math.max(0, Math.min(Math.floor(remove.place * ids.length), ids.length - remove.count))
      const removed = ids.splice(from, remove.count)
      what.push(`remove ${removed.join(' ') || 'nothing'}`)
    }
    if (insert) {
      const added = Array.from({ length: insert.count }, () => `n${++this.#inserted}`)
      ids.splice(Math.floor(insert.place * (ids.length + 1)), 0, ...added)
      what.push(`insert ${added.join(' ')}`)
    }
    const from = moveToHead ?? move?.place
    if (from !== undefined && ids.length > 0) {
      const place = Math.min(Math.floor(from * ids.length), ids.length - 1)
      const [moved = ''] = ids.splice(place, 1)
      ids.splice(move ? Math.max(0, place + move.by) : 0, 0, moved)
      this.moved.add(moved)
      what.push(`move ${moved} ${move ? `by ${move.by}` : 'to the head'}`)
    }
    this.#note(ids, what.join(', '))
  }

  #note(ids: string[], what: string): void {
    this.states.push(ids)
    this.#changedAt.push(this.#time.now)
    this.log.push({ type: 'change', at: this.#time.now, version: this.states.length - 1, what })
  }

  #versionAt(time: number): number {
    return this.#changedAt.findLastIndex(changedAt => changedAt <= time)
  }

  #record(type: 'request' | 'serve' | 'arrive' | 'cancel', exchange: Exchange): void {
    this.log.push({ type, at: this.#time.now, exchange })
  }
}

function nextChange({ kind, count }: Ceaseless, random: Random): Omit<Change, 'at'> {
  if (kind === 'grows') return { insert: { place: 0, count } }
  if (kind === 'shrinks') return { remove: { place: 0, count } }
  if (kind === 'swaps')
    return { remove: { place: random.fraction(), count }, insert: { place: random.fraction(), count } }
  const goes = kind === 'rotates' ? 0 : 1
  return { remove: { place: goes, count }, insert: { place: 1 - goes, count } }
}

const immediate = { serveMs: 1, arriveMs: 1, replica: 0 }

function initialIds({ size, twinDistance }: Scenario): string[] {
  const ids = Array.from({ length: size }, (_, index) => `t${index + 1}`)
  if (twinDistance === undefined) return ids
  // Each id at its place, and again this many places further on.
  const places = ids.flatMap((id, index) => [
    { id, place: index },
    { id, place: index + twinDistance + 0.5 },
  ])
  return places.sort((a, b) => a.place - b.place).map(({ id }) => id)
}

function toItem(id: string): { id: string; amount: number; currency: string; description: string } {
  return { id, amount: 1, currency: 'EUR', description: '' }
}
