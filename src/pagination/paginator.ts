import { ApiError, PaginationError } from '../errors.js'
import type { DriftEvent } from '../events.js'
import { ItemMemory } from './item-memory.js'
import { describeEmptyPage, describeLimitChange, type LoadedPage, limitChangeHint } from './page.js'
import { type FetchedPage, PagePrefetcher } from './prefetcher.js'
import { RepeatedPages } from './repeated-pages.js'
import type { Batch, Walk, WalkOptions } from './walk.js'

/** A page on which an item was seen. */
interface Sighting {
  readonly page: number
  readonly totalItems: number
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
  #nextPage: number
  #previous: FetchedPage<T> | undefined
  /** Pages requested before this point may show an older state of the list, and are fetched again. */
  #trustedSince = 0
  /** Items that only a discarded page has shown: they must appear again. */
  readonly #awaited = new Set<unknown>()
  /** Position in the list after the last page read. Repeated items count, as the total counts them, too. */
  #position = 0
  readonly #repeated = new RepeatedPages()
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
    const batch = this.#read(await this.#fetch(this.#nextPage))
    this.#nextPage++
    return batch
  }

  cancel(): void {
    this.#isDone = true
    this.#prefetcher.cancel()
  }

  /**
   * A page that was requested before its predecessor arrived may show an older state of the list: page 3 served before an
   * insert and page 2 after it lack the item that moved from 2 to 3. The page is fetched again, once, if its total is smaller,
   * or if a response that arrived after the request, its own included, has an item that moved further than the list grew.
   */
  async #fetch(number: number): Promise<FetchedPage<T>> {
    const fetched = await this.#receive(() => this.#prefetcher.get(number))
    const previous = this.#previous
    const isConcurrent = previous !== undefined && fetched.requestedAt < previous.arrivedAt
    const isOlder =
      fetched.requestedAt < this.#trustedSince || fetched.totalItems < (previous?.totalItems ?? 0)
    // A page that shows a shrink is not fetched again, as it might not show it any more.
    if (this.#isDone || !isConcurrent || !isOlder || this.#mustThrowShrink(fetched)) return fetched
    this.#reportShrink(fetched)
    for (const key of fetched.keys() ?? []) {
      if (!this.#reportIfSeen(fetched, key) && key !== undefined) this.#awaited.add(key)
    }
    return this.#receive(() => this.#prefetcher.refetch(number))
  }

  async #receive(request: () => Promise<FetchedPage<T>>): Promise<FetchedPage<T>> {
    const fetched = await this.#request(request)
    // Responses to earlier requests may show the list as it was before.
    if (this.#hasMoved(fetched)) this.#trustedSince = Math.max(this.#trustedSince, fetched.arrivedAt)
    return fetched
  }

  async #request(request: () => Promise<FetchedPage<T>>): Promise<FetchedPage<T>> {
    try {
      return await request()
    } catch (error) {
      const { largestTotal, smallestTotal } = this.#prefetcher
      const isUnchanged = largestTotal <= smallestTotal && this.#awaited.size === 0 && !this.#hasShortPages
      if (isUnchanged || !(error instanceof ApiError)) throw error
      throw error.resumedAt(this.#options.site, ...this.#resumeAt(0))
    }
  }

  /**
   * Whether an item has moved back by more places than the list grew since it was read: something before it was added and
   * something else removed.
   */
  #hasMoved({ page, limit, totalItems, keys }: LoadedPage<T>): boolean {
    return (keys() ?? []).some((key, index) => {
      const earlier = this.#memory.find(key)
      if (earlier === undefined) return false
      const movedBy = (page - earlier.page) * limit + index - earlier.keys.indexOf(key)
      return movedBy > totalItems - earlier.totalItems
    })
  }

  /** Whether the list shrank for certain, as a page that arrived before this one was requested had more, and that is an error. */
  #mustThrowShrink({ totalItems, largestTotalBefore }: FetchedPage<T>): boolean {
    return this.#options.onMissedItems === 'throw' && totalItems < largestTotalBefore
  }

  #read(fetched: FetchedPage<T>): Batch<T> {
    const { data, page, limit, totalItems } = fetched
    this.#checkTotal(fetched)
    this.#assertNotCut(fetched)
    this.#assertNotEndless(fetched)
    const items = this.#newItemsOf(fetched).slice(0, this.#remaining)
    if (this.#previous === undefined) this.#position = (page - 1) * limit
    this.#position += data.length
    this.#remaining -= items.length
    this.#previous = fetched
    if (this.#isEnd(fetched)) {
      this.#checkComplete(fetched)
      this.cancel()
    }
    const wanted = Math.ceil(this.#remaining / limit)
    this.#prefetcher.lastPage = Math.min(Math.ceil(totalItems / limit), page + wanted)
    return { page: fetched, items }
  }

  #checkTotal(fetched: FetchedPage<T>): void {
    const { limit, totalItems, largestTotalBefore } = fetched
    const previous = this.#previous
    if (previous === undefined) return
    if (limit !== previous.limit) {
      throw this.#error(fetched, describeLimitChange(previous.limit, limit), limitChangeHint, 1)
    }
    if (this.#mustThrowShrink(fetched)) {
      this.#reportShrink(fetched)
      const problem = `the list shrank from ${largestTotalBefore} to ${totalItems} items while it was read`
      this.#throwMissed(fetched, problem, largestTotalBefore - totalItems)
    }
    if (totalItems !== previous.totalItems) this.#emitDrift(fetched, 'total', previous.totalItems, totalItems)
  }

  /** An empty page before the position reaches the total: the list ended early, or its total is out of date. */
  #assertNotCut(loaded: LoadedPage<T>): void {
    const { data, page, limit, totalItems } = loaded
    if (data.length > 0 || (page - 1) * limit >= totalItems) return
    const hint = 'The service counts pages from 0, or its total is wrong: report it to its owner.'
    throw this.#error(loaded, describeEmptyPage(loaded), hint, 1)
  }

  #assertNotEndless(loaded: LoadedPage<T>): void {
    const { page, limit } = loaded
    this.#repeated.add(loaded, this.#previous, (page - 1) * limit >= this.#prefetcher.largestTotal)
    if (!this.#repeated.isEndless) return
    throw this.#error(
      loaded,
      `page ${page} repeats page ${page - 1}, and so did the page before it`,
      "The service seems to ignore the requested page: report it to the service's owner.",
    )
  }

  #newItemsOf(loaded: LoadedPage<T>): readonly T[] {
    const { data, page, totalItems } = loaded
    const keys = loaded.keys()
    if (keys === undefined) return data
    const sighting: Sighting = { page, totalItems, keys }
    const newItems = data.filter((_, index) => {
      const key = keys[index]
      const isSeen = this.#reportIfSeen(loaded, key)
      this.#memory.add(key, sighting)
      this.#awaited.delete(key)
      return !isSeen
    })
    this.#memory.endPage()
    return newItems
  }

  /** Whether an item was on a page that was read: then it is reported. */
  #reportIfSeen(loaded: LoadedPage<T>, key: unknown): boolean {
    const earlier = this.#memory.find(key)
    if (earlier) this.#emitDrift(loaded, 'duplicate', earlier.page, loaded.page)
    return earlier !== undefined
  }

  /** The interface has no "more" flag: the end follows from the limit in effect, the total and what was received. */
  #isEnd({ data, page, limit, totalItems }: LoadedPage<T>): boolean {
    if (this.#remaining <= 0 || data.length === 0) return true
    // After a repeated page, the next one tells whether the service ignores `page`.
    if (this.#repeated.hasRepeated) return false
    // The pages before the first one may have been short, too.
    if (this.#options.firstPage > 1 && this.#position < (page - 1) * limit + data.length) return false
    // If fewer or more items came than a total says, it is wrong: then only an empty page proves the end.
    return this.#position >= totalItems && this.#position <= this.#prefetcher.largestTotal
  }

  #checkComplete(loaded: LoadedPage<T>): void {
    const { totalItems } = loaded
    const lacking = totalItems - this.#position
    const missed = Math.max(lacking, this.#awaited.size)
    if (this.#remaining <= 0 || missed <= 0) return
    this.#emitDrift(loaded, 'missing', totalItems, totalItems - missed)
    const problem =
      lacking > 0
        ? `the list ended after ${this.#position} of ${totalItems} items`
        : 'the list changed while it was read, and items of an earlier response did not appear again'
    this.#throwMissed(loaded, problem, missed)
  }

  #throwMissed(loaded: LoadedPage<T>, problem: string, missed: number): void {
    if (this.#options.onMissedItems === 'continue') return
    const repair =
      loaded.keys() === undefined
        ? ''
        : '`verified: true` would have repaired it, unless totalItems or limit is wrong. '
    const hint = `${repair}To accept missed items, pass onMissedItems: 'continue'.`
    // Where the list has ended, nothing tells where they were.
    const [page] = loaded.data.length === 0 ? [1] : this.#resumeAt(missed)
    throw this.#error(loaded, `${problem}, so ${missed} or more may have been missed`, hint, page)
  }

  #reportShrink(fetched: FetchedPage<T>): void {
    const { totalItems, largestTotalBefore } = fetched
    if (totalItems < largestTotalBefore) this.#emitDrift(fetched, 'total', largestTotalBefore, totalItems)
  }

  #emitDrift(loaded: LoadedPage<T>, change: DriftEvent['change'], before: number, after: number): void {
    loaded.response.report.emit({ type: 'drift', change, before, after })
  }

  #error({ response, limit }: LoadedPage<T>, problem: string, hint: string, page?: number): PaginationError {
    const resumeAt = page === undefined ? undefined : { page, limit }
    return new PaginationError({ info: response.report.info, problem, hint, resumeAt })
  }

  /** The page and limit to resume with: before all that can have been in flight, and before what may have been missed. */
  #resumeAt(missed: number): [page: number, limit: number] {
    const { limit = 1 } = this.#previous ?? {}
    const { largestTotal, smallestTotal } = this.#prefetcher
    const lost = Math.max(missed, largestTotal - smallestTotal)
    const page = this.#nextPage - 2 * this.#options.concurrency - Math.ceil(lost / limit)
    return [this.#awaited.size > 0 || this.#hasShortPages ? 1 : Math.max(1, page), limit]
  }

  /** Whether a page was not full although the list goes on: page numbers then do not tell how many items are before a page. */
  get #hasShortPages(): boolean {
    return this.#position < (this.#nextPage - 1) * (this.#previous?.limit ?? 0)
  }
}
