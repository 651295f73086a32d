import { property } from '../internal/object.js'
import { msPerRequest } from './drift.js'
import type { Key } from './known-items.js'
import { isShort, type ListSetup, type LoadedPage, loadPage, type Window } from './page.js'
import type { OverlapProblem } from './walk-errors.js'

/**
 * Predicts the window after one that was requested `time` milliseconds before. `undefined` if the list probably ends with it.
 */
export type Plan = (after: Window, time: number) => Window | undefined

/** The state of a loop when it requested a window. */
interface Sent {
  readonly time: number
  /** Whether the window before it had not arrived, so it may show an older state of the list. */
  readonly isAhead: boolean
  /** The largest total of the responses that had arrived. */
  readonly largestTotalBefore: number
}

interface Entry<T> {
  readonly window: Window
  readonly sent: Sent
  readonly promise: Promise<LoadedPage<T>>
  state: 'in flight' | 'arrived' | 'failed'
}

/** A response, as the readers use it. A page that does not exist is an empty one, whatever the service responds. */
export interface ListResponse<T = unknown> extends Omit<LoadedPage<T>, 'keys' | 'totalItems'>, Sent {
  /** The place of its first item in the list. */
  readonly start: number
  /** Empty if two items of the page have the same key. */
  readonly keys: readonly (Key | undefined)[]
  /** `undefined` if the response has none. */
  readonly total: number | undefined
  /** Whether it has fewer items than its limit although its total promises more. It was then requested again. */
  readonly isShort: boolean
  /** Why pages cannot overlap, if the response shows it. */
  readonly problem: OverlapProblem | undefined
}

// The maximum in flight or buffered for the first, second and third window. A loop that is left early should waste little.
const slowStart = [1, 2, 4]
// Many services read rows and total in two statements. An item added in between makes a page look short.
const maxPerPage = 3

let loops = 0

/** Sends the requests of one loop, and prefetches the windows that it will probably read next. */
export class Requests<T> {
  readonly #setup: ListSetup<T>
  /** The number of the loop in events and errors. */
  readonly loop: number = ++loops
  /** The current window, then the prefetched ones in the order in which they will be read. */
  #queue: Entry<T>[] = []
  /** Cancels the requests in the queue. */
  #controller = new AbortController()
  #plan: Plan | undefined
  #reads = 0
  #maxInFlight: number
  /** By how much each success raises that. */
  #step = 1
  /** Number of requests sent before it slowed down. */
  #slowedDownAt = 0
  #largestTotal = 0
  /** Number of requests sent. */
  sent = 0
  /** Whether a page stayed short when requested again. The service filters after paginating, or its total is wrong. */
  pagesAreShort = false
  /** The first and the last response that the reader got. */
  first: ListResponse<T> | undefined
  last: ListResponse<T> | undefined

  /** When `closing` aborts, all requests are cancelled. */
  constructor(setup: ListSetup<T>, closing: AbortSignal) {
    this.#setup = setup
    this.#maxInFlight = setup.concurrency
    closing.addEventListener('abort', () => void this.close())
    if (closing.aborted) void this.close()
  }

  /** Cancels the requests in flight. Resolves when all have ended. */
  async close(): Promise<void> {
    this.#controller.abort()
    await Promise.allSettled(this.#queue.map(({ promise }) => promise))
  }

  /** The time of the next request, by which movements of the list are measured. */
  get time(): number {
    return performance.now() + msPerRequest * this.sent
  }

  /** The prefetched window that comes next, if there is one. */
  get planned(): Pick<Entry<T>, 'window' | 'sent'> | undefined {
    return this.#queue[1]
  }

  /**
   * Replaces the current window. `plan` predicts the windows after it, to prefetch them. If the next prefetched window is not
   * this one, all prefetched ones are dropped. Without a plan, they are kept, and follow this window.
   */
  async get(window: Window, plan?: Plan): Promise<ListResponse<T>> {
    this.#plan = plan
    this.#queue.shift()
    const next = this.#queue[0]?.window
    if (next?.page !== window.page || next.limit !== window.limit) {
      if (plan && next) this.#drop()
      while (this.#inFlight.length + 1 > this.#maxInFlight)
        await Promise.race(this.#inFlight.map(({ promise }) => promise.catch(() => {})))
      this.#queue.unshift(this.#request(window))
    }
    this.#reads++
    this.#fill()
    const { promise, sent } = this.#queue[0] as Entry<T>
    const loaded = await promise
    const { data, page, limit, totalItems } = loaded
    const keys = loaded.keys()
    const keyProblem = findKeyProblem(keys)
    const isOther = window.overlaps && (limit !== window.limit || data.length > limit)
    // A service that counts in the same query, `count(*) over ()`, returns 0 for an empty page.
    const hasTotal = page === 1 || data.length > 0 || totalItems > 0
    this.last = {
      ...loaded,
      ...sent,
      start: (page - 1) * limit,
      keys: keyProblem === 'item-key-not-unique' ? [] : (keys ?? []),
      total: hasTotal ? totalItems : undefined,
      isShort: isShort(loaded),
      problem: isOther ? 'limit-not-honoured' : keyProblem,
    }
    this.first ??= this.last
    return this.last
  }

  /**
   * Limits the loop to one request at a time, and one more for each later request that succeeds. A useless window, such as
   * one that missed the last item, halves this growth, because the list may change faster than prefetched windows arrive.
   */
  slowDown(isUseless = false): void {
    if (isUseless) this.#step /= 2
    this.#slowedDownAt = this.sent
    this.#maxInFlight = 1
  }

  #drop(): void {
    this.#controller.abort()
    this.#controller = new AbortController()
    this.#queue = []
  }

  #fill(): void {
    // With a concurrency of 1, nothing is prefetched.
    const { concurrency } = this.#setup
    const maximum = concurrency === 1 ? 1 : 2 * concurrency
    const most = Math.min(maximum, slowStart[this.#reads - 1] ?? maximum)
    while (this.#queue.length < most && this.#inFlight.length + 1 <= this.#maxInFlight) {
      const last = this.#queue.at(-1)
      const window = last && this.#plan?.(last.window, this.time - last.sent.time)
      // The reader will stop at a failed one.
      if (window === undefined || this.#queue.some(({ state }) => state === 'failed')) return
      this.#queue.push(this.#request(window))
    }
  }

  get #inFlight(): Entry<T>[] {
    return this.#queue.filter(({ state }) => state === 'in flight')
  }

  #request(window: Window): Entry<T> {
    const inFront = this.#queue.at(-1)
    const isAhead = inFront !== undefined && inFront.state !== 'arrived'
    const entry: Entry<T> = {
      window,
      sent: { time: this.time, isAhead, largestTotalBefore: this.#largestTotal },
      promise: this.#loadWhole(window, this.#controller.signal),
      state: 'in flight',
    }
    const number = this.sent
    // A failure is thrown only if the reader reaches the window.
    entry.promise.then(
      ({ totalItems, response }) => {
        entry.state = 'arrived'
        this.#largestTotal = Math.max(this.#largestTotal, totalItems)
        // Failures may mean that the service is overloaded.
        if (response.report.failures > 0) this.slowDown()
        else if (number > this.#slowedDownAt) {
          this.#maxInFlight = Math.min(this.#setup.concurrency, this.#maxInFlight + this.#step)
          this.#step = Math.min(1, 1.01 * this.#step)
        }
        // Here and not when the response is read, so that one slow response does not hold up the others.
        this.#fill()
      },
      error => {
        entry.state = 'failed'
        // It was cancelled in the client's queue.
        if (property(error, 'attempts') === 0) this.sent--
      },
    )
    return entry
  }

  /** Requests a window, and again if it is short. If it stays as short, the service filters after paginating. */
  async #loadWhole(window: Window, signal: AbortSignal): Promise<LoadedPage<T>> {
    let lengthBefore = -1
    for (let request = 1; ; request++) {
      this.sent++
      const mayContradict = request < maxPerPage && !this.pagesAreShort
      const loaded = await loadPage(this.#setup, window, { loop: this.loop, signal, mayContradict })
      const { length } = loaded.data
      if (!isShort(loaded)) return loaded
      if (!mayContradict) {
        this.pagesAreShort ||= length === lengthBefore
        return loaded
      }
      lengthBefore = length
    }
  }
}

export function isBadRequest(status: unknown): boolean {
  return status === 400 || status === 422
}

function findKeyProblem(keys: readonly (Key | undefined)[] | undefined): OverlapProblem | undefined {
  if (keys === undefined || keys.includes(undefined)) return 'no-item-key'
  return new Set(keys).size < keys.length ? 'item-key-not-unique' : undefined
}
