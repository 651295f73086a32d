import type { LoadedPage } from './page.js'
import { isSameWindow, type Window } from './windows.js'

/** A response that has arrived. Requests and arrivals are counted, so that earlier and later can be told apart. */
export interface Fetched<T> extends LoadedPage<T> {
  readonly requestedAt: number
  readonly arrivedAt: number
  /** The largest total of all responses that had arrived when this one was requested. */
  readonly largestTotalBefore: number
}

export interface PrefetcherOptions<T> {
  /** `onThrottled` must be called as soon as the service asks for fewer requests. */
  readonly load: (window: Window, signal: AbortSignal, onThrottled: () => void) => Promise<LoadedPage<T>>
  /** The window that will be read after this one if the list stays as it is; undefined if that is not worth a guess. */
  readonly plan: (after: Window) => Window | undefined
  readonly concurrency: number
  /** Of what was read before. */
  readonly largestTotal: number
}

class Entry<T> {
  readonly window: Window
  readonly controller: AbortController = new AbortController()
  readonly promise: Promise<Fetched<T>>
  /** Once it has arrived. */
  fetched: Fetched<T> | undefined

  constructor(window: Window, send: (entry: Entry<T>) => Promise<Fetched<T>>) {
    this.window = window
    this.promise = send(this)
    // A failure is thrown when the reader comes to the window, or never.
    this.promise.catch(() => {})
  }
}

// Leaving a loop early should waste little. In flight or buffered: 1 when the first window is read, 2 for the second, 4 for the
// third, then all.
const slowStart = [1, 2, 4]

/** Keeps requests in flight ahead of the window that is read. It knows windows and totals, not items. */
export class Prefetcher<T> {
  readonly #options: PrefetcherOptions<T>
  /** First the window that the reader has now, then those that it will ask for, in that order. */
  #queue: Entry<T>[] = []
  #reads = 0
  /** Those that were aborted count until they have ended. */
  #inFlight = 0
  #maxInFlight: number
  /** Sends the request that the reader waits for, when there is room. */
  #onRoom: (() => void) | undefined
  /** Counts requests and arrivals. */
  #sequence = 0
  #slowedDownAt = 0
  #isCancelled = false
  /** Then nothing is requested ahead: the reader will stop at that window, unless it is dropped before. */
  #hasFailed = false
  /** How many requests were sent. */
  requests = 0
  /** Of all responses that have arrived. */
  largestTotal: number

  constructor(options: PrefetcherOptions<T>) {
    this.#options = options
    this.#maxInFlight = options.concurrency
    this.largestTotal = options.largestTotal
  }

  /** The response to a window; the reader is done with the one before. What was planned after another window is dropped. */
  get(window: Window): Promise<Fetched<T>> {
    this.#queue.shift()
    let [head] = this.#queue
    if (head === undefined || !isSameWindow(head.window, window)) {
      this.#drop()
      head = this.#request(window)
    }
    this.#reads++
    this.#fill()
    return head.promise
  }

  /** Drops everything that was requested, as it may be out of date, and goes on with one request at a time. Returns what came. */
  startOver(): readonly Fetched<T>[] {
    const dropped = this.#queue.flatMap(({ fetched }) => fetched ?? [])
    this.#drop()
    this.#slowDown()
    return dropped
  }

  cancel(): void {
    this.#isCancelled = true
    this.#drop()
  }

  #drop(): void {
    for (const { controller } of this.#queue) controller.abort()
    this.#queue = []
    this.#onRoom = undefined
    this.#hasFailed = false
  }

  get #hasRoom(): boolean {
    return this.#inFlight < this.#maxInFlight
  }

  #fill(): void {
    if (this.#hasRoom) this.#onRoom?.()
    const { concurrency, plan } = this.#options
    // With a concurrency of 1 nothing is requested before it is needed.
    const maximum = concurrency === 1 ? 1 : 2 * concurrency
    const maxHeld = Math.min(maximum, slowStart[this.#reads - 1] ?? maximum)
    while (this.#hasRoom && !this.#hasFailed && this.#queue.length < maxHeld) {
      const last = this.#queue.at(-1)
      const window = last && plan(last.window)
      if (window === undefined) return
      this.#request(window)
    }
  }

  #request(window: Window): Entry<T> {
    const entry = new Entry<T>(window, sent => this.#send(sent))
    this.#queue.push(entry)
    return entry
  }

  async #send(entry: Entry<T>): Promise<Fetched<T>> {
    const { window, controller } = entry
    const { signal } = controller
    if (this.#isCancelled) controller.abort()
    if (this.#hasRoom) this.#inFlight++
    else await this.#waitForRoom(signal)
    this.requests++
    const requestedAt = ++this.#sequence
    const largestTotalBefore = this.largestTotal
    try {
      const loaded = await this.#options.load(window, signal, () => this.#slowDown())
      if (requestedAt > this.#slowedDownAt)
        this.#maxInFlight = Math.min(this.#options.concurrency, this.#maxInFlight + 1)
      this.largestTotal = Math.max(this.largestTotal, loaded.totalItems)
      entry.fetched = { ...loaded, requestedAt, arrivedAt: ++this.#sequence, largestTotalBefore }
      return entry.fetched
    } catch (error) {
      if (!signal.aborted) this.#hasFailed = true
      throw error
    } finally {
      this.#inFlight--
      // When a request settles, not when its response is read: one slow response must not idle the others.
      this.#fill()
    }
  }

  /** Waits until there is room for a request, and takes it. */
  #waitForRoom(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onRoom = () => {
        this.#onRoom = undefined
        this.#inFlight++
        resolve()
      }
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  }

  /** One at a time, and one more for each request from here on that arrives. */
  #slowDown(): void {
    this.#slowedDownAt = this.#sequence
    this.#maxInFlight = 1
  }
}
