import type { LoadedPage } from './page.js'
import { isSameWindow, type Window } from './windows.js'

/** A response that has arrived. The times are positions in the sequence of requests and arrivals. */
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

interface Entry<T> {
  readonly window: Window
  readonly controller: AbortController
  readonly promise: Promise<Fetched<T>>
  readonly resolve: (fetched: Promise<Fetched<T>>) => void
  state: 'waiting' | 'sent' | 'failed'
  /** Once it has arrived. */
  fetched?: Fetched<T>
}

// Leaving a loop early should waste little. In flight or buffered: 1 when the first window is read, 2 for the second, 4 for the
// third, then all.
const slowStart = [1, 2, 4]

/** Keeps requests in flight ahead of the window that is read. It knows windows and totals, not items. */
export class Prefetcher<T> {
  readonly #options: PrefetcherOptions<T>
  readonly #slots: Slots
  /** First the window that the reader has now, then those that it will ask for, in that order. */
  #queue: Entry<T>[] = []
  #reads = 0
  /** Counts requests and arrivals, so that earlier and later can be told apart. */
  #sequence = 0
  #isCancelled = false
  /** How many requests were sent. */
  requests = 0
  /** Of all responses that have arrived. */
  largestTotal: number

  constructor(options: PrefetcherOptions<T>) {
    this.#options = options
    this.#slots = new Slots(options.concurrency)
    this.largestTotal = options.largestTotal
  }

  /** The response to a window; the reader is done with the one before. What was planned after another window is dropped. */
  get(window: Window): Promise<Fetched<T>> {
    this.#queue.shift()
    const [head] = this.#queue
    const isPlanned = head !== undefined && isSameWindow(head.window, window)
    if (!isPlanned) this.#drop()
    const entry = isPlanned ? head : createEntry<T>(window)
    if (!isPlanned) this.#queue.push(entry)
    this.#reads++
    this.#fill()
    return entry.promise
  }

  /** Drops everything that was requested, as it may be out of date, and goes on with one request at a time. Returns what came. */
  startOver(): readonly Fetched<T>[] {
    const dropped = this.#queue.flatMap(({ fetched }) => fetched ?? [])
    this.#drop()
    this.#slots.slowDown()
    return dropped
  }

  cancel(): void {
    this.#isCancelled = true
    this.#drop()
  }

  #drop(): void {
    for (const entry of this.#queue) {
      entry.controller.abort()
      if (entry.state === 'waiting') entry.resolve(Promise.reject(entry.controller.signal.reason))
    }
    this.#queue = []
  }

  #fill(): void {
    while (this.#slots.isFree) {
      const entry = this.#queue.find(({ state }) => state === 'waiting') ?? this.#extend()
      if (entry === undefined) return
      entry.state = 'sent'
      entry.resolve(this.#send(entry))
    }
  }

  #extend(): Entry<T> | undefined {
    const { concurrency, plan } = this.#options
    // With a concurrency of 1 nothing is requested before it is needed.
    const maximum = concurrency === 1 ? 1 : 2 * concurrency
    const maxHeld = Math.min(maximum, slowStart[this.#reads - 1] ?? maximum)
    const last = this.#queue.at(-1)
    const hasFailed = this.#queue.some(({ state }) => state === 'failed')
    if (last === undefined || hasFailed || this.#queue.length >= maxHeld) return undefined
    const window = plan(last.window)
    if (window === undefined) return undefined
    const entry = createEntry<T>(window)
    this.#queue.push(entry)
    return entry
  }

  async #send(entry: Entry<T>): Promise<Fetched<T>> {
    const { window, controller } = entry
    const requestedAt = ++this.#sequence
    const largestTotalBefore = this.largestTotal
    const slot = this.#slots.take()
    this.requests++
    if (this.#isCancelled) controller.abort()
    try {
      const loaded = await this.#options.load(window, controller.signal, () => this.#slots.slowDown())
      slot.onArrived()
      this.largestTotal = Math.max(this.largestTotal, loaded.totalItems)
      entry.fetched = { ...loaded, requestedAt, arrivedAt: ++this.#sequence, largestTotalBefore }
      return entry.fetched
    } catch (error) {
      entry.state = 'failed'
      throw error
    } finally {
      slot.release()
      // When a request settles, not when its response is read: one slow response must not idle the others.
      this.#fill()
    }
  }
}

function createEntry<T>(window: Window): Entry<T> {
  let resolve: Entry<T>['resolve'] = () => {}
  const promise = new Promise<Fetched<T>>(settle => {
    resolve = settle
  })
  // A failure is thrown when the reader comes to the window, or never.
  promise.catch(() => {})
  return { window, controller: new AbortController(), promise, resolve, state: 'waiting' }
}

/**
 * How many requests may be in flight. When the service asks for fewer, only one, and one more for each later request that
 * arrives. Those that were aborted count until they have ended.
 */
class Slots {
  readonly #concurrency: number
  #maximum: number
  #taken = 0
  /** Counts requests. */
  #sent = 0
  /** The request that was sent last when it slowed down. */
  #throttledAt = 0

  constructor(concurrency: number) {
    this.#concurrency = concurrency
    this.#maximum = concurrency
  }

  get isFree(): boolean {
    return this.#taken < this.#maximum
  }

  /** One at a time, and one more for each request from here on that arrives. */
  slowDown(): void {
    this.#throttledAt = this.#sent
    this.#maximum = 1
  }

  take(): { onArrived: () => void; release: () => void } {
    this.#taken++
    const number = ++this.#sent
    return {
      onArrived: () => {
        if (number > this.#throttledAt) this.#maximum = Math.min(this.#concurrency, this.#maximum + 1)
      },
      release: () => {
        this.#taken--
      },
    }
  }
}
