import { type ApiError, isNew, PaginationError, setResumePage } from '../errors.js'
import type { EventDetails } from '../events.js'
import { DroppedPages } from './dropped-pages.js'
import { ItemMemory } from './item-memory.js'
import { contradictionHint, describeEmptyPage, type LoadedPage, type Page, type PageRequest } from './page.js'
import { type FetchedPage, PagePrefetcher } from './prefetcher.js'

/** A page, and those of its items that are yielded. */
export interface Batch<T> {
  readonly page: Page<T>
  readonly items: readonly T[]
}

/** One walk: a full traversal of a list, page by page. */
export interface Walk<T> {
  /** The next batch, or undefined at the end. Must not be called again before it has settled. */
  next(): Promise<Batch<T> | undefined>
  /** Ends the walk, and cancels its requests in flight. */
  cancel(): void
}

/** Options of a walk. */
export interface WalkOptions<T> {
  readonly load: (request: PageRequest) => Promise<LoadedPage<T>>
  readonly firstPage: number
  readonly concurrency: number
  readonly maxItems: number
  /** No effect on a verified walk. */
  readonly onMissedItems: 'throw' | 'continue'
}

/** The page on which an item was last seen. */
interface Sighting {
  readonly page: number
  readonly totalItems: number
  /** Position of its first item in the list, from 0. */
  readonly start: number
  readonly keys: readonly unknown[]
}

/**
 * Iterates a list page by page. It yields every item once and in order, or throws when the responses show that items may have
 * been missed. docs/decisions/four-pages-at-once.md tells why each rule is needed.
 */
export class Paginator<T> implements Walk<T> {
  readonly #options: WalkOptions<T>
  readonly #prefetcher: PagePrefetcher<T>
  readonly #memory = new ItemMemory<Sighting>()
  readonly #dropped = new DroppedPages()
  #nextPage: number
  /** The last page read. */
  #previous: FetchedPage<T> | undefined
  /** Arrival and start of the last pages read, as many as can have been in flight together. */
  readonly #readPages: { readonly arrivedAt: number; readonly start: number }[] = []
  /** Items that a page fetched again had in common with the page before it, and how far they had moved. */
  #overlap: { readonly keys: readonly unknown[]; readonly movedBy: number } | undefined
  /** Position in the list after the last page read. Repeated items count, as the total counts them, too. */
  #position = 0
  #largestTotal = 0
  #repeatedPages = 0
  #remaining: number
  #isDone: boolean

  constructor(options: WalkOptions<T>) {
    const { load, firstPage, concurrency, maxItems } = options
    this.#options = options
    this.#nextPage = firstPage
    this.#remaining = maxItems
    this.#isDone = maxItems === 0
    this.#prefetcher = new PagePrefetcher(
      (page, signal, onThrottled) => load({ page, mayBeEmpty: true, signal, onThrottled }),
      firstPage,
      concurrency,
    )
  }

  async next(): Promise<Batch<T> | undefined> {
    if (this.#isDone) return undefined
    try {
      const fetched = await this.#fetch(this.#nextPage)
      if (this.#isDone) return undefined
      const batch = this.#read(fetched)
      this.#nextPage++
      return batch
    } catch (error) {
      // The iterator was closed: the page's error is irrelevant.
      if (this.#isDone) return undefined
      if (isNew(error)) this.#moveResumePage(error)
      throw error
    }
  }

  cancel(): void {
    this.#isDone = true
    this.#prefetcher.cancel()
  }

  /**
   * A page that was requested before its predecessor arrived may show an older state of the list: page 3 served before an
   * insert and page 2 after it lack the item that moved from 2 to 3. A smaller total shows that, and so does an item of both
   * pages although the total did not grow. The page is fetched again, once.
   */
  async #fetch(number: number): Promise<FetchedPage<T>> {
    const fetched = await this.#prefetcher.get(number)
    const previous = this.#previous
    const isConcurrent = previous !== undefined && fetched.requestedAt < previous.arrivedAt
    if (this.#isDone || !isConcurrent || this.#mustThrowShrink(fetched)) return fetched
    const overlap = this.#findOverlap(fetched)
    if (fetched.page.totalItems >= previous.page.totalItems && overlap === undefined) return fetched
    this.#overlap = overlap
    this.#drop(fetched)
    return this.#prefetcher.refetch(number)
  }

  /** The items of a page that were read before, although the list did not grow by as much as they have moved. */
  #findOverlap(loaded: LoadedPage<T>): { keys: readonly unknown[]; movedBy: number } | undefined {
    let movedBy = 0
    const repeated = (loaded.keys() ?? []).filter((key, index) => {
      const earlier = this.#memory.find(key)
      if (earlier === undefined) return false
      const excess = movedBeyondGrowth(loaded.page, index, key, earlier)
      movedBy = Math.max(movedBy, excess)
      return excess > 0
    })
    return repeated.length === 0 ? undefined : { keys: repeated, movedBy }
  }

  /** Whether the list certainly shrank, and that is an error: an earlier response had a larger total. */
  #mustThrowShrink({ page, largestTotalBefore }: FetchedPage<T>): boolean {
    return this.#options.onMissedItems === 'throw' && page.totalItems < largestTotalBefore
  }

  #read(fetched: FetchedPage<T>): Batch<T> {
    const { page } = fetched
    const { data, limit, totalItems } = page
    this.#largestTotal = Math.max(this.#largestTotal, totalItems)
    if (this.#previous === undefined) {
      this.#position = (page.page - 1) * limit
    } else {
      this.#assertSameLimit(fetched, this.#previous)
      this.#checkTotal(fetched, this.#previous)
    }
    this.#assertNotCut(fetched)
    const keys = fetched.keys()
    this.#checkOverlap(fetched, keys ?? [])
    this.#assertNotRepeated(fetched, keys)
    const items = this.#findNewItems(fetched, keys).slice(0, this.#remaining)
    this.#position += data.length
    this.#remaining -= items.length
    const isEnd = this.#isEnd(page)
    this.#checkDropped(fetched, isEnd)
    if (isEnd) {
      this.#checkComplete(fetched)
      this.cancel()
    }
    this.#previous = fetched
    this.#readPages.push({ arrivedAt: fetched.arrivedAt, start: this.#position - data.length })
    if (this.#readPages.length > 2 * this.#options.concurrency) this.#readPages.shift()
    const wanted = Math.ceil(this.#remaining / limit)
    this.#prefetcher.lastPage = Math.min(Math.ceil(totalItems / limit), page.page + wanted)
    return { page, items }
  }

  #assertSameLimit(loaded: LoadedPage<T>, { page: previous }: LoadedPage<T>): void {
    const { limit, totalItems } = loaded.page
    if (limit === previous.limit) return
    const shrunkBy = Math.max(0, previous.totalItems - totalItems)
    const largest = Math.max(limit, previous.limit)
    throw PaginationError.create(
      loaded.response.info,
      `the limit in effect changed from ${previous.limit} to ${limit} between two pages`,
      'Start over with a limit that the service allows.',
      // In pages of the larger limit: a page of a smaller one begins earlier.
      this.#resumePage(this.#position - 1 - shrunkBy, largest),
    )
  }

  #checkTotal(fetched: FetchedPage<T>, previous: LoadedPage<T>): void {
    if (this.#mustThrowShrink(fetched)) this.#throwShrink(fetched)
    const before = previous.page.totalItems
    const { totalItems } = fetched.page
    if (totalItems !== before) emitDrift(fetched, 'total', before, totalItems)
  }

  /** An empty page before the position reaches the total: the list ended early, or its total is out of date. */
  #assertNotCut(loaded: LoadedPage<T>): void {
    const { data, page, limit, totalItems } = loaded.page
    if (data.length > 0 || (page - 1) * limit >= totalItems) return
    throw PaginationError.create(
      loaded.response.info,
      describeEmptyPage(loaded.page),
      contradictionHint,
      this.#resumePageOfShortList(totalItems, limit),
    )
  }

  /** What a page had in common with the page before it is gone: items before it were removed, and others moved there. */
  #checkOverlap(loaded: LoadedPage<T>, keys: readonly unknown[]): void {
    const overlap = this.#overlap
    this.#overlap = undefined
    if (overlap === undefined || overlap.keys.some(key => keys.includes(key))) return
    const { page, totalItems, limit } = loaded.page
    emitDrift(loaded, 'missing', totalItems, totalItems - overlap.movedBy)
    this.#throwMissed(
      loaded,
      `the list changed while it was read, so up to ${overlap.movedBy} may have been missed`,
      this.#resumePage((page - 2) * limit - overlap.movedBy, limit),
    )
  }

  /** One repeated page can be an insert before it and a removal after it; two in a row are a service that ignores `page`. */
  #assertNotRepeated(loaded: LoadedPage<T>, keys: readonly unknown[] | undefined): void {
    const { page } = loaded.page
    const earlierPage = this.#findRepeatedPage(loaded.page, keys ?? [])
    this.#repeatedPages = earlierPage === undefined ? 0 : this.#repeatedPages + 1
    if (this.#repeatedPages < 2) return
    throw PaginationError.create(
      loaded.response.info,
      `page ${page} repeats page ${earlierPage}, and so did the page before it`,
      "The service seems to ignore the requested page: report it to the service's owner.",
    )
  }

  /** The earlier page that this one repeats item by item, unless the list grew by a page and so moved it. */
  #findRepeatedPage(
    { data, page, limit, totalItems }: Page<T>,
    keys: readonly unknown[],
  ): number | undefined {
    const earlier = this.#memory.find(keys[0])
    const isRepeated =
      earlier?.keys.length === keys.length &&
      totalItems - earlier.totalItems < limit &&
      keys.every((key, index) => key !== undefined && key === earlier.keys[index])
    if (isRepeated) return earlier.page
    // Past every total only an empty page ends a list, and a service that ignores `page` has none.
    const isPastEnd = (page - 1) * limit >= this.#largestTotal
    const previous = this.#previous?.page
    return isPastEnd && JSON.stringify(data) === JSON.stringify(previous?.data) ? previous?.page : undefined
  }

  /** The items that no recent page has shown. */
  #findNewItems(fetched: FetchedPage<T>, keys: readonly unknown[] | undefined): readonly T[] {
    const { data, page, limit, totalItems } = fetched.page
    if (keys === undefined) return data
    const start = (page - 1) * limit
    const current: Sighting = { page, totalItems, start, keys }
    let hasMoved = false
    const sightings = keys.map(key => this.#memory.find(key))
    this.#memory.startPage()
    const items = data.filter((_, index) => {
      const key = keys[index]
      const isNew = this.#memory.add(key, current)
      // A key that is not new, although no earlier page had it, occurs twice on this page.
      const earlier = sightings[index] ?? (isNew ? undefined : current)
      if (earlier === undefined) return true
      emitDrift(fetched, 'duplicate', earlier.page, page)
      // On one page, too, an item may appear twice.
      if (earlier !== current && movedBeyondGrowth(fetched.page, index, key, earlier) > 0) hasMoved = true
      return false
    })
    this.#dropped.markSeen(start, keys)
    // It moved further than the list grew: something was added before it, and something else removed.
    if (hasMoved) this.#dropPagesRequestedBefore(fetched)
    return items
  }

  #dropPagesRequestedBefore({ page, arrivedAt }: FetchedPage<T>): void {
    for (const fetched of this.#prefetcher.drop(page.page, arrivedAt)) {
      if (this.#mustThrowShrink(fetched)) this.#throwShrink(fetched)
      this.#drop(fetched)
    }
  }

  #drop(fetched: FetchedPage<T>): void {
    const { page, limit, totalItems } = fetched.page
    const keys = fetched.keys() ?? []
    const unknownKeys = keys.filter(key => key !== undefined && this.#memory.find(key) === undefined)
    const start = (page - 1) * limit
    this.#dropped.add({ start, end: start + keys.length, totalItems }, unknownKeys)
  }

  #checkDropped(loaded: LoadedPage<T>, isEnd: boolean): void {
    if (this.#remaining <= 0) return
    const missing = this.#dropped.takeMissing(this.#position, this.#largestTotal, isEnd)
    if (missing === 0) return
    const { totalItems } = loaded.page
    emitDrift(loaded, 'missing', totalItems, totalItems - missing)
    this.#throwMissed(
      loaded,
      `the list changed while it was read, and ${missing} of the items of an earlier response did not appear again`,
      // Nothing tells how far they have moved.
      1,
    )
  }

  /** The interface has no "more" flag: the end follows from the limit in effect, the total and what was received. */
  #isEnd({ data, totalItems }: Page<T>): boolean {
    if (this.#remaining <= 0 || data.length === 0) return true
    // After one repeated page, the next one tells whether the service ignores `page`.
    if (this.#repeatedPages > 0) return false
    // Fewer than the total, or more than any total: one of them is wrong, and only an empty page proves the end.
    return this.#position >= totalItems && this.#position <= this.#largestTotal
  }

  #checkComplete(loaded: LoadedPage<T>): void {
    const { limit, totalItems } = loaded.page
    const missing = totalItems - this.#position
    if (this.#remaining <= 0 || missing <= 0) return
    emitDrift(loaded, 'missing', totalItems, this.#position)
    this.#throwMissed(
      loaded,
      `the list ended after ${this.#position} of ${totalItems} items, so up to ${missing} may have been missed`,
      this.#resumePageOfShortList(totalItems, limit),
    )
  }

  /** An outdated total does not tell after which page items were removed: it may have been the first. */
  #resumePageOfShortList(totalItems: number, limit: number): number {
    return this.#resumePage(this.#options.firstPage * limit - (totalItems - this.#position), limit)
  }

  #throwShrink(fetched: FetchedPage<T>): void {
    const { data, totalItems, limit } = fetched.page
    const before = fetched.largestTotalBefore
    emitDrift(fetched, 'total', before, totalItems)
    const smallest = Math.min(totalItems, ...this.#prefetcher.buffered.map(({ page }) => page.totalItems))
    const missed = before - smallest
    // What came after the removed items has moved towards the beginning, by at most as many places.
    const resumePage = this.#resumePage(this.#positionBefore(fetched.requestedAt) - missed, limit)
    this.#throwMissed(
      fetched,
      `the list shrank from ${before} to ${smallest} items while it was read, so up to ${missed} may have been missed`,
      data.length === 0 ? Math.min(resumePage, this.#resumePageOfShortList(totalItems, limit)) : resumePage,
    )
  }

  /**
   * How much of the list was received when a page was requested. What was read since then may already be from the state that
   * this page shows.
   */
  #positionBefore(requestedAt: number): number {
    return this.#readPages.find(({ arrivedAt }) => arrivedAt > requestedAt)?.start ?? this.#position
  }

  /** Moves the resume page of a failed request back by the items that other pages show to be missing before it. */
  #moveResumePage(error: ApiError): void {
    if (this.#previous === undefined) return
    const { totalItems, limit } = this.#previous.page
    const positions = this.#prefetcher.buffered
      .map(({ page, largestTotalBefore, requestedAt }) => ({
        missed: Math.max(totalItems, largestTotalBefore) - page.totalItems,
        received: this.#positionBefore(requestedAt),
      }))
      .filter(({ missed }) => missed > 0)
      .map(({ missed, received }) => received - missed)
    const resumePage = this.#dropped.hasMissingBefore(this.#position)
      ? 1
      : this.#resumePage(Math.min(...positions), limit)
    if (resumePage < (error.page ?? 0)) setResumePage(error, resumePage, limit)
  }

  #resumePage(position: number, limit: number): number {
    return Math.max(1, Math.floor(position / limit) + 1)
  }

  #throwMissed(loaded: LoadedPage<T>, problem: string, safePage: number): void {
    if (this.#options.onMissedItems === 'continue') return
    const { limit } = loaded.page
    const resumePage = this.#dropped.hasMissingBefore(this.#position) ? 1 : safePage
    const verifiedAdvice = loaded.keys() === undefined ? '' : 'start over with `verified: true`, '
    const hint = `Resume with list({ page: ${resumePage}, limit: ${limit} }) and all else unchanged, ${verifiedAdvice}or accept missed items with onMissedItems: 'continue'.`
    throw PaginationError.create(loaded.response.info, problem, hint, resumePage)
  }
}

/** By how many places an item has moved back more than the list grew since it was read. */
function movedBeyondGrowth<T>(
  { page, limit, totalItems }: Page<T>,
  index: number,
  key: unknown,
  earlier: Sighting,
): number {
  const movedBy = (page - 1) * limit + index - (earlier.start + earlier.keys.indexOf(key))
  return movedBy - (totalItems - earlier.totalItems)
}

function emitDrift<T>(
  { response }: LoadedPage<T>,
  change: Extract<EventDetails, { type: 'drift' }>['change'],
  before: number,
  after: number,
): void {
  response.emit({ type: 'drift', change, before, after })
}
