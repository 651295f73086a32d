import type { LoadedPage } from './page.js'

/** Fetches one page. `onThrottled` must be called as soon as the service asks for fewer requests. */
type FetchPage<T> = (page: number, signal: AbortSignal, onThrottled: () => void) => Promise<LoadedPage<T>>

/** A page that has arrived. The times are positions in the sequence of requests and arrivals. */
export interface FetchedPage<T> extends LoadedPage<T> {
  readonly requestedAt: number
  readonly arrivedAt: number
  /** The largest total of all pages that had arrived when this one was first requested. */
  readonly largestTotalBefore: number
}

interface PendingPage<T> {
  readonly promise: Promise<FetchedPage<T>>
  readonly controller: AbortController
}

// Leaving a loop early should waste little. Pages in flight or buffered: 1 for the first page, 2 for the second, 4 for the
// third, then all.
const slowStart = [1, 2, 4]

/** Keeps pages in flight ahead of the one that is read. It knows their numbers and totals, not their items. */
export class PagePrefetcher<T> {
  readonly #fetchPage: FetchPage<T>
  readonly #firstPage: number
  readonly #concurrency: number
  /** By number: the page that is read, and those after it that are in flight or have arrived. */
  readonly #pages = new Map<number, PendingPage<T>>()
  #inFlight = 0
  #maxInFlight: number
  /** How many pages may be in flight or buffered: fewer during the slow start. */
  #maxHeld = 1
  #nextPage: number
  /** The last page worth fetching before the reader asks for it. */
  lastPage: number
  /** The page that the reader waits for, requested as soon as there is room. */
  #wanted: (() => void) | undefined
  /** Counts requests and arrivals, so that earlier and later can be told apart. */
  #sequence = 0
  #throttledAt = 0
  /** Of all pages that have arrived. */
  largestTotal = 0
  smallestTotal: number = Number.POSITIVE_INFINITY
  #isCancelled = false

  constructor(fetchPage: FetchPage<T>, firstPage: number, concurrency: number) {
    this.#fetchPage = fetchPage
    this.#firstPage = firstPage
    this.#nextPage = firstPage
    this.lastPage = firstPage
    this.#concurrency = concurrency
    this.#maxInFlight = concurrency
  }

  /** The reader has finished the page before this one, and needs this one. */
  get(page: number): Promise<FetchedPage<T>> {
    this.#pages.delete(page - 1)
    // With a concurrency of 1 nothing is requested before it is needed.
    const maximum = this.#concurrency === 1 ? 1 : 2 * this.#concurrency
    this.#maxHeld = Math.min(maximum, slowStart[page - this.#firstPage] ?? maximum)
    const promise = this.#pages.get(page)?.promise ?? this.refetch(page)
    this.#fill()
    return promise
  }

  /** Fetches a page even if it has arrived. */
  refetch(page: number): Promise<FetchedPage<T>> {
    if (this.#inFlight < this.#maxInFlight) return this.#request(page)
    return new Promise(resolve => {
      this.#wanted = () => resolve(this.#request(page))
    })
  }

  /** Drops all pages after this one, which the reader has just read. */
  dropAfter(page: number): void {
    for (const { controller } of this.#pages.values()) controller.abort()
    this.#pages.clear()
    this.#nextPage = page + 1
    this.lastPage = page
  }

  cancel(): void {
    this.#isCancelled = true
    for (const { controller } of this.#pages.values()) controller.abort()
  }

  #fill(): void {
    if (this.#wanted && this.#inFlight < this.#maxInFlight) {
      this.#wanted()
      this.#wanted = undefined
    }
    while (
      !this.#isCancelled &&
      this.#nextPage <= this.lastPage &&
      this.#inFlight < this.#maxInFlight &&
      this.#pages.size < this.#maxHeld
    )
      void this.#request(this.#nextPage)
  }

  #request(page: number): Promise<FetchedPage<T>> {
    this.#nextPage = Math.max(this.#nextPage, page + 1)
    this.#inFlight++
    const controller = new AbortController()
    if (this.#isCancelled) controller.abort()
    const promise = this.#fetch(page, controller.signal)
    // A failure is thrown when the reader comes to the page, or never.
    promise.catch(() => {})
    this.#pages.set(page, { promise, controller })
    return promise
  }

  async #fetch(page: number, signal: AbortSignal): Promise<FetchedPage<T>> {
    const requestedAt = ++this.#sequence
    const largestTotalBefore = this.largestTotal
    try {
      const loaded = await this.#fetchPage(page, signal, () => this.#onThrottled())
      if (requestedAt > this.#throttledAt)
        this.#maxInFlight = Math.min(this.#concurrency, this.#maxInFlight + 1)
      this.largestTotal = Math.max(this.largestTotal, loaded.totalItems)
      this.smallestTotal = Math.min(this.smallestTotal, loaded.totalItems)
      return { ...loaded, requestedAt, arrivedAt: ++this.#sequence, largestTotalBefore }
    } catch (error) {
      // None after it is needed, unless it is dropped.
      if (!signal.aborted) this.#nextPage = Number.POSITIVE_INFINITY
      throw error
    } finally {
      this.#inFlight--
      // When a request settles, not when its page is read: one slow page must not idle the others.
      this.#fill()
    }
  }

  #onThrottled(): void {
    this.#throttledAt = ++this.#sequence
    this.#maxInFlight = 1
  }
}
