import type { LoadedPage } from './page.js'
import type { Window } from './windows.js'

/** A response that has arrived. */
export interface Fetched<T> extends LoadedPage<T> {
  /** Whether it was requested before the one in front of it had arrived. */
  readonly isAhead: boolean
  /** The largest total of all responses that had arrived when this one was requested. */
  readonly largestTotalBefore: number
}

export interface PrefetcherOptions<T> {
  /** `onThrottled` must be called as soon as the service asks for fewer requests. */
  readonly load: (window: Window, signal: AbortSignal, onThrottled: () => void) => Promise<LoadedPage<T>>
  /** The window that will be read after this one if the list stays as it is; undefined if that is not worth a guess. */
  readonly plan: (after: Window) => Window | undefined
  readonly concurrency: number
}

class Entry<T> {
  readonly window: Window
  readonly controller: AbortController = new AbortController()
  readonly promise: Promise<Fetched<T>>
  isInFlight = true
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
  #maxInFlight: number
  /** How many requests had been sent when it slowed down. */
  #slowedDownAt = 0
  #isCancelled = false
  /** How many requests were sent. */
  requests = 0
  /** Of all responses that have arrived. */
  largestTotal = 0

  constructor(options: PrefetcherOptions<T>) {
    this.#options = options
    this.#maxInFlight = options.concurrency
  }

  /** The response to a window; the reader is done with the one before. What was planned after another window is dropped. */
  get(window: Window): Promise<Fetched<T>> {
    this.#queue.shift()
    let [head] = this.#queue
    if (head?.window.page !== window.page || head.window.limit !== window.limit) {
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
  }

  #fill(): void {
    const { concurrency, plan } = this.#options
    // With a concurrency of 1 nothing is requested before it is needed.
    const maximum = concurrency === 1 ? 1 : 2 * concurrency
    const maxHeld = Math.min(maximum, slowStart[this.#reads - 1] ?? maximum)
    while (this.#hasRoom && this.#queue.length < maxHeld) {
      const last = this.#queue.at(-1)
      const window = last && plan(last.window)
      if (window === undefined) return
      this.#request(window)
    }
  }

  /** Whether one more may be requested ahead. None after a failed request, where the reader will stop. */
  get #hasRoom(): boolean {
    const inFlight = this.#queue.filter(({ isInFlight }) => isInFlight)
    const hasFailed = this.#queue.some(({ isInFlight, fetched }) => !isInFlight && !fetched)
    return !hasFailed && inFlight.length < this.#maxInFlight
  }

  #request(window: Window): Entry<T> {
    const entry = new Entry<T>(window, sent => this.#send(sent))
    this.#queue.push(entry)
    return entry
  }

  async #send(entry: Entry<T>): Promise<Fetched<T>> {
    const { window, controller } = entry
    if (this.#isCancelled) controller.abort()
    const number = ++this.requests
    const { largestTotal: largestTotalBefore } = this
    const inFront = this.#queue.at(-1)
    const isAhead = inFront !== undefined && inFront.fetched === undefined
    try {
      const loaded = await this.#options.load(window, controller.signal, () => this.#slowDown())
      if (number > this.#slowedDownAt)
        this.#maxInFlight = Math.min(this.#options.concurrency, this.#maxInFlight + 1)
      this.largestTotal = Math.max(this.largestTotal, loaded.totalItems)
      entry.fetched = { ...loaded, isAhead, largestTotalBefore }
      return entry.fetched
    } finally {
      entry.isInFlight = false
      // When a request settles, not when its response is read: one slow response must not idle the others.
      this.#fill()
    }
  }

  /** One at a time, and one more for each request from here on that arrives. */
  #slowDown(): void {
    this.#slowedDownAt = this.requests
    this.#maxInFlight = 1
  }
}
