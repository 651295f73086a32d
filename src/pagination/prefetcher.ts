import type { LoadedPage, PageRequest } from './page.js'

/** A part of the list that one request asks for. */
export type Window = Pick<PageRequest, 'page' | 'limit' | 'expectedLimit' | 'overlaps'>

/** The window that will be read after another one if the list stays as it is; `undefined` if that is not worth a guess. */
export type Plan = (after: Window) => Window | undefined

/** A response that has arrived. */
export interface Fetched<T> extends LoadedPage<T> {
  /** Whether it was requested before the one in front of it had arrived: it may show an older state of the list. */
  readonly isAhead: boolean
  /** The largest total of those that had arrived before it was requested. */
  readonly largestTotalBefore: number
}

export type LoadWindow<T> = (window: Window, signal: AbortSignal) => Promise<LoadedPage<T>>

interface Entry<T> {
  readonly window: Window
  readonly controller: AbortController
  readonly promise: Promise<Fetched<T>>
  state: 'in flight' | 'arrived' | 'failed'
}

// Leaving a loop early should waste little. In flight or buffered: 1 when the first window is read, 2 for the second, 4 for the
// third, then all.
const slowStart = [1, 2, 4]

/** Keeps requests in flight ahead of the window that is read. It knows windows, not items. */
export class Prefetcher<T> {
  readonly #load: LoadWindow<T>
  readonly #concurrency: number
  readonly #closing: AbortSignal
  /** First the window that the reader has now, then those that it will ask for, in that order. */
  #queue: Entry<T>[] = []
  #plan: Plan | undefined
  #reads = 0
  #maxInFlight: number
  #requests = 0
  /** How many requests had been sent when it slowed down. */
  #slowedDownAt = 0
  #largestTotal = 0

  /** All requests end when `closing` aborts. */
  constructor(load: LoadWindow<T>, concurrency: number, closing: AbortSignal) {
    this.#load = load
    this.#concurrency = concurrency
    this.#maxInFlight = concurrency
    this.#closing = closing
    closing.addEventListener('abort', () => this.#drop())
  }

  /** What comes after the window that the reader has now. */
  get planned(): Window | undefined {
    return this.#queue[1]?.window
  }

  /**
   * The response to a window; the reader is done with the one before. If another one was planned, what was requested ahead is
   * dropped, or without a plan comes after this window.
   */
  async get(window: Window, plan?: Plan): Promise<Fetched<T>> {
    this.#plan = plan
    this.#queue.shift()
    const next = this.#queue[0]?.window
    if (next?.page !== window.page || next.limit !== window.limit) {
      if (plan) this.#drop()
      while (this.#inFlight.length >= this.#maxInFlight)
        await Promise.race(this.#inFlight.map(({ promise }) => promise.catch(() => {})))
      this.#queue.unshift(this.#request(window))
    }
    this.#reads++
    this.#fill()
    return (this.#queue[0] as Entry<T>).promise
  }

  #drop(): void {
    for (const { controller } of this.#queue) controller.abort()
    this.#queue = []
  }

  #fill(): void {
    // With a concurrency of 1 nothing is requested before it is needed.
    const maximum = this.#concurrency === 1 ? 1 : 2 * this.#concurrency
    const maxHeld = Math.min(maximum, slowStart[this.#reads - 1] ?? maximum)
    while (this.#queue.length < maxHeld && this.#hasRoom) {
      const last = this.#queue.at(-1)
      const window = last && this.#plan?.(last.window)
      if (window === undefined) return
      this.#queue.push(this.#request(window))
    }
  }

  /** Whether one more may be requested ahead. None after a failed request, where the reader will stop. */
  get #hasRoom(): boolean {
    return this.#inFlight.length < this.#maxInFlight && this.#queue.every(({ state }) => state !== 'failed')
  }

  get #inFlight(): Entry<T>[] {
    return this.#queue.filter(({ state }) => state === 'in flight')
  }

  #request(window: Window): Entry<T> {
    const number = ++this.#requests
    const inFront = this.#queue.at(-1)
    const isAhead = inFront !== undefined && inFront.state !== 'arrived'
    const largestTotalBefore = this.#largestTotal
    const controller = new AbortController()
    if (this.#closing.aborted) controller.abort()
    const promise = this.#load(window, controller.signal).then(loaded => {
      this.#largestTotal = Math.max(this.#largestTotal, loaded.totalItems)
      return { ...loaded, isAhead, largestTotalBefore }
    })
    const entry: Entry<T> = { window, controller, promise, state: 'in flight' }
    const settle = (state: Entry<T>['state'], failures = 0) => {
      entry.state = state
      // What failed may have been too much for the service.
      if (failures > 0) this.#slowDown()
      else if (state === 'arrived' && number > this.#slowedDownAt)
        this.#maxInFlight = Math.min(this.#concurrency, this.#maxInFlight + 1)
      // When a request settles, not when its response is read: one slow response must not idle the others.
      this.#fill()
    }
    // A failure is thrown when the reader comes to the window, or never.
    promise.then(
      ({ response }) => settle('arrived', response.report.failures),
      () => settle('failed'),
    )
    return entry
  }

  /** One at a time, and one more for each request from here on that arrives. */
  #slowDown(): void {
    this.#slowedDownAt = this.#requests
    this.#maxInFlight = 1
  }
}
