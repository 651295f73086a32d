import type { Random } from '../simulation/random.ts'
import type { VirtualTime } from '../simulation/virtual-time.ts'

/** How a service limits requests. */
export interface Limit {
  /**
   * - `bucket`: `burst` at once, refilled at the rate
   * - `fixed`, `sliding`: the quota in each window
   * - `in-flight`: the quota at the same time
   */
  readonly kind: 'bucket' | 'fixed' | 'sliding' | 'in-flight' | 'none'
  /** Requests in a window; those in flight for `in-flight`. */
  readonly quota: number
  readonly windowMs?: number
  /** When the first window began. */
  readonly phase?: number
  readonly burst?: number
}

/** How a service behaves. */
export interface Conditions {
  readonly limit: Limit
  /** Milliseconds from a request to its response, a fifth more or less. 50 if not given. */
  readonly latency?: number
  /** What `Retry-After` says: the right time in whole seconds, always the same, or nothing. */
  readonly retryAfter?: 'exact' | 'none' | number
  readonly status?: 429 | 503
  /** Whether a call, by its number, is over a quota of its own. -1 is a report. */
  readonly isRefusedAlone?: (call: number, now: number) => boolean
  /** How requests fail at this time, if they do. */
  readonly outage?: (now: number, lot: number) => 500 | 503 | 'lost' | 'refused' | 'hang' | false | undefined
  /** Number of file descriptors for requests in flight. */
  readonly sockets?: number
}

/** Takes a request, or says after how many milliseconds it may be sent again. */
function createLimiter({ kind, quota, windowMs = 1_000, phase = 0, burst = quota }: Limit) {
  let [window, taken, tokens, filledAt] = [-1, 0, burst, 0]
  const log: number[] = []
  return (now: number, inFlight: number): number | undefined => {
    switch (kind) {
      case 'none':
        return undefined
      case 'in-flight':
        return inFlight < quota ? undefined : 1_000
      case 'fixed': {
        const current = Math.floor((now + phase) / windowMs)
        if (current !== window) taken = 0
        window = current
        return taken++ < quota ? undefined : (current + 1) * windowMs - now - phase
      }
      case 'sliding':
        while (log.length > 0 && log[0]! <= now - windowMs) log.shift()
        return log.length < quota ? void log.push(now) : log[0]! + windowMs - now
      case 'bucket':
        tokens = Math.min(burst, tokens + ((now - filledAt) * quota) / windowMs)
        filledAt = now
        return tokens < 1 - 1e-9 ? ((1 - tokens) * windowMs) / quota : void tokens--
    }
  }
}

/** The minimum time of these calls, `atATime` of them in parallel. */
export function idealMs({ limit, latency = 50 }: Conditions, calls: number, atATime: number): number {
  const { kind, quota, windowMs = 1_000, phase = 0, burst = quota } = limit
  const windows = Math.floor((calls - 1) / quota) * windowMs - (calls > quota ? phase : 0)
  const byLimit = {
    none: 0,
    'in-flight': Math.ceil(calls / quota) * latency,
    bucket: (Math.max(0, calls - burst) * windowMs) / quota,
    fixed: windows,
    sliding: windows,
  }
  return Math.max(byLimit[kind], Math.ceil(calls / Math.min(atATime, calls)) * latency)
}

function failedFetch(code: string): TypeError {
  const details = code === 'ECONNRESET' ? { code } : { code, syscall: 'connect' }
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), details) })
}

export class LimitedService {
  requests = 0
  /** Number of refused requests, except those sent before the first refusal was known. */
  refusals = 0
  /** The most requests that were open at a time. */
  mostOpen = 0
  #open = 0
  #inFlight = 0
  #isRefusing = false
  readonly #conditions: Conditions
  readonly #time: VirtualTime
  readonly #random: Random
  readonly #take: ReturnType<typeof createLimiter>

  constructor(conditions: Conditions, time: VirtualTime, random: Random) {
    this.#conditions = conditions
    this.#time = time
    this.#random = random
    this.#take = createLimiter(conditions.limit)
  }

  readonly fetch = async (url: string, { signal }: { signal?: AbortSignal }): Promise<Response> => {
    this.requests++
    this.mostOpen = Math.max(this.mostOpen, ++this.#open)
    try {
      return await this.#respond(url, signal!)
    } finally {
      this.#open--
    }
  }

  async #respond(url: string, signal: AbortSignal): Promise<Response> {
    const { latency = 50, outage, isRefusedAlone, sockets } = this.#conditions
    const time = this.#time
    const isFirst = !this.#isRefusing
    const wayMs = (latency * (0.8 + 0.4 * this.#random.fraction())) / 2
    if (sockets && this.#open > sockets) throw failedFetch('EMFILE')
    const failure = outage?.(time.now, this.#random.fraction())
    if (failure === 'hang')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    if (failure === 'lost') throw failedFetch('ECONNRESET')
    if (failure === 'refused') throw failedFetch('ECONNREFUSED')
    await time.pause(wayMs)
    signal.throwIfAborted()
    const call = Number(/\/(\d+)\/deactivate$/.exec(url)?.[1] ?? -1)
    const ms = isRefusedAlone?.(call, time.now) ? 1_000 : this.#take(time.now, this.#inFlight)
    if (ms === undefined) this.#inFlight++
    else if (!isFirst) this.refusals++
    await time.pause(wayMs)
    if (ms === undefined) this.#inFlight--
    if (typeof failure === 'number') return new Response(null, { status: failure })
    return ms === undefined ? new Response(null) : this.#refuse(ms)
  }

  #refuse(ms: number): Response {
    const { status = 429, retryAfter = 'exact' } = this.#conditions
    this.#isRefusing = true
    const seconds = retryAfter === 'exact' ? Math.ceil(ms / 1_000) : retryAfter
    const headers: Record<string, string> = seconds === 'none' ? {} : { 'retry-after': `${seconds}` }
    return new Response(null, { status, headers })
  }
}
