import { msPerRequest } from './drift.js'
import type { Key } from './known-items.js'
import { isShort, type ListSetup, type LoadedPage, loadPage, type Window } from './page.js'
import type { OverlapProblem } from './walk-errors.js'

/**
 * The window that will be read after another one that was requested so long ago, if the list goes on as it does; `undefined` if that is not
 * worth a guess.
 */
export type Plan = (after: Window, time: number) => Window | undefined

/** How things stood when a window was requested. */
interface Sent {
  readonly time: number
  /** Whether the one in front of it had not arrived: it may show an older state of the list. */
  readonly isAhead: boolean
  /** The largest total of those that had arrived. */
  readonly largestTotalBefore: number
}

interface Entry<T> {
  readonly window: Window
  readonly sent: Sent
  readonly promise: Promise<LoadedPage<T>>
  state: 'in flight' | 'arrived' | 'failed'
}

/** A response, as the readers need it. A page that does not exist is an empty one, however the service says that. */
export interface ListResponse<T = unknown> extends Omit<LoadedPage<T>, 'keys' | 'totalItems'>, Sent {
  /** The place of its first item in the list. */
  readonly start: number
  /** Empty where they do not tell items apart. */
  readonly keys: readonly (Key | undefined)[]
  /** `undefined` where it does not say. */
  readonly total: number | undefined
  /** It ends before its limit although its total says that more follows, also when requested again. */
  readonly isShort: boolean
  /** Why pages cannot overlap, if it shows that. */
  readonly problem: OverlapProblem | undefined
}

// Leaving a loop early should waste little. In flight or buffered: 1 when the first window is read, 2 for the second, 4 for the
// third, then all.
const slowStart = [1, 2, 4]
// Many services read rows and total in two statements: an item that is added in between makes a page look short.
const maxRequests = 3

let loops = 0

/** The requests of one loop: keeps some in flight ahead of the window that is read, and says what responses show of the list. */
export class Requests<T> {
  readonly #setup: ListSetup<T>
  /** Identifies the loop in events and errors. */
  readonly loop: number = ++loops
  /** First the window that the reader has now, then those that it will ask for, in that order. */
  #queue: Entry<T>[] = []
  /** Cancels what is in the queue. */
  #controller = new AbortController()
  #plan: Plan | undefined
  #reads = 0
  #maxInFlight: number
  /** How many requests had been sent when it slowed down. */
  #slowedDownAt = 0
  #largestTotal = 0
  /** How many were sent. */
  sent = 0
  /** One was short, and not longer when asked again: the service filters pages after it has cut them, or its total is wrong. */
  pagesAreShort = false
  /** The first response that was read, and the last. */
  first: ListResponse<T> | undefined
  last: ListResponse<T> | undefined

  /** All end when `closing` aborts. */
  constructor(setup: ListSetup<T>, closing: AbortSignal) {
    this.#setup = setup
    this.#maxInFlight = setup.concurrency
    closing.addEventListener('abort', () => void this.close())
    if (closing.aborted) void this.close()
  }

  /** Cancels what is in flight. Resolves when all of it has ended. */
  async close(): Promise<void> {
    this.#controller.abort()
    await Promise.allSettled(this.#queue.map(({ promise }) => promise))
  }

  /** The time of the next request. Movements are measured by it. */
  get time(): number {
    return performance.now() + msPerRequest * this.sent
  }

  /** The request for the next window, if that was requested ahead. */
  get planned(): Pick<Entry<T>, 'window' | 'sent'> | undefined {
    return this.#queue[1]
  }

  /**
   * Requests a window; the reader is done with the one before. `plan` says what will be read after it, if the list stays as it is: if
   * another one was requested ahead, all that was is dropped. Without a plan, what was requested ahead comes after this window.
   */
  async get(window: Window, plan?: Plan): Promise<ListResponse<T>> {
    this.#plan = plan
    this.#queue.shift()
    const next = this.#queue[0]?.window
    if (next?.page !== window.page || next.limit !== window.limit) {
      if (plan && next) this.#drop()
      while (this.#inFlight.length >= this.#maxInFlight)
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
    // A service that counts along with the rows of a page (`count(*) over ()`) says 0 for an empty one.
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

  /** One request at a time, and one more for each that arrives from here on. */
  slowDown(): void {
    this.#slowedDownAt = this.sent
    this.#maxInFlight = 1
  }

  #drop(): void {
    this.#controller.abort()
    this.#controller = new AbortController()
    this.#queue = []
  }

  #fill(): void {
    // With a concurrency of 1 nothing is requested before it is needed.
    const { concurrency } = this.#setup
    const maximum = concurrency === 1 ? 1 : 2 * concurrency
    const maxHeld = Math.min(maximum, slowStart[this.#reads - 1] ?? maximum)
    while (this.#queue.length < maxHeld && this.#inFlight.length < this.#maxInFlight) {
      const last = this.#queue.at(-1)
      const window = last && this.#plan?.(last.window, this.time - last.sent.time)
      // The reader will stop at one that failed.
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
    // A failure is thrown when the reader comes to the window, or never.
    entry.promise.then(
      ({ totalItems, response }) => {
        entry.state = 'arrived'
        this.#largestTotal = Math.max(this.#largestTotal, totalItems)
        // What failed may have been too much for the service: one at a time, and one more for each request from here on that arrives.
        if (response.report.failures > 0) {
          this.slowDown()
        } else if (number > this.#slowedDownAt) {
          this.#maxInFlight = Math.min(this.#setup.concurrency, this.#maxInFlight + 1)
        }
        // When a request settles, not when its response is read: one slow response must not idle the others.
        this.#fill()
      },
      () => {
        entry.state = 'failed'
      },
    )
    return entry
  }

  /** A response that contradicts itself is requested again. If it stays as short, the service filters pages after cutting them. */
  async #loadWhole(window: Window, signal: AbortSignal): Promise<LoadedPage<T>> {
    let lengthBefore = -1
    for (let request = 1; ; request++) {
      this.sent++
      const mayContradict = request < maxRequests && !this.pagesAreShort
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

export function isRefusal(status: unknown): boolean {
  return status === 400 || status === 422
}

function findKeyProblem(keys: readonly (Key | undefined)[] | undefined): OverlapProblem | undefined {
  if (keys === undefined || keys.includes(undefined)) return 'no-item-key'
  return new Set(keys).size < keys.length ? 'item-key-not-unique' : undefined
}
