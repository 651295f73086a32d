import { ApiError, HttpError, PaginationError } from '../errors.js'
import type { LoadedPage } from './page.js'
import { type FetchedPage, PagePrefetcher } from './prefetcher.js'
import { ReadItems } from './read-items.js'
import type { Batch, Walk, WalkOptions } from './walk.js'

/** A part of the list: page `page` of pages of `limit` items. */
interface Window {
  readonly page: number
  readonly limit: number
  /** The window before it was short, but may not end the list: this one must be empty. */
  readonly isPastEnd?: boolean
}

const maxFruitless = 8

/**
 * Iterates a list by windows that overlap. A window is accepted only if it contains an item that was already read: what follows
 * that item in the same response is what comes next in the list, so nothing can be missed in between.
 * docs/decisions/verified-walks.md has the proof.
 */
export class VerifiedPaginator<T> implements Walk<T> {
  readonly #options: WalkOptions<T>
  /** Its page numbers are the steps of this walk, as windows of different sizes have no numbers in common. */
  readonly #prefetcher: PagePrefetcher<T>
  /** The windows of this step and of those ahead, planned as if the list did not change. */
  readonly #plan = new Map<number, Window>()
  readonly #read = new ReadItems()
  #step = 0
  #remaining: number
  /** The limit in effect for the caller's own request. */
  #limit = 1
  /** Position in the list after the last item of the last accepted window. */
  #end = 0
  #total = 0
  /** How many items were read, with those before the first page. */
  #count = 0
  /** Responses in a row that brought no progress. */
  #fruitless = 0
  /** The last item of the last window; undefined if that contained no known one: nothing tells where the walk is. */
  #lastKey: unknown
  /** A page was short, and the one after it was not empty. */
  #isSparse = false
  #isDone: boolean

  constructor(options: WalkOptions<T>) {
    const { load, firstPage, concurrency, maxItems } = options
    this.#options = options
    this.#remaining = maxItems
    this.#isDone = maxItems === 0
    this.#prefetcher = new PagePrefetcher(
      (step, signal, onThrottled) =>
        load({ ...(this.#plan.get(step) ?? { page: firstPage }), mayBeEmpty: step > 0, signal, onThrottled }),
      0,
      concurrency,
    )
  }

  async next(): Promise<Batch<T> | undefined> {
    while (!this.#isDone) {
      const loaded = await this.#fetch()
      if (loaded === undefined) break
      const batch = this.#step === 0 ? this.#readFirst(loaded) : this.#readNext(loaded)
      this.#plan.delete(this.#step)
      this.#step++
      if (batch) return batch
    }
    return undefined
  }

  /** The window of this step; `undefined` if the list has ended before it. */
  async #fetch(): Promise<FetchedPage<T> | undefined> {
    try {
      return await this.#prefetcher.get(this.#step)
    } catch (error) {
      if (!(error instanceof ApiError) || this.#step === 0) throw error
      // No page where the total promised one, or another one: the list has become shorter.
      const hasShrunk =
        error instanceof PaginationError || (error instanceof HttpError && error.status === 404)
      // Some services have no page where an empty one is expected.
      if (hasShrunk && this.#plan.get(this.#step)?.isPastEnd && this.#total <= this.#shown) {
        this.cancel()
        return undefined
      }
      throw error.resumedAt(this.#options.site, hasShrunk ? 1 : this.#resumePage, this.#limit)
    }
  }

  cancel(): void {
    this.#isDone = true
    this.#prefetcher.cancel()
  }

  #readFirst(loaded: LoadedPage<T>): Batch<T> {
    this.#limit = loaded.limit
    return this.#accept(loaded, loaded.data, this.#keysOf(loaded))
  }

  #readNext(loaded: LoadedPage<T>): Batch<T> | undefined {
    const { data, page, limit } = loaded
    const window = this.#plan.get(this.#step) as Window
    if (limit !== window.limit) {
      throw this.#createError(
        loaded,
        `a limit of ${window.limit} was requested, but the service used ${limit}`,
        'The service does not honour smaller limits, so pages cannot overlap: iterate without `verified`.',
      )
    }
    if (window.isPastEnd) return this.#checkEnd(loaded)
    const keys = this.#keysOf(loaded)
    const known = keys.findIndex(key => this.#read.find(key) !== undefined)
    // Nothing precedes page 1, so it needs no known item: but it may hold forgotten ones, or some before the walk's first page.
    const isBeginning = page === 1 && this.#options.firstPage === 1 && this.#read.mayBeginAgain
    if (known === -1 && !isBeginning) return this.#goBack(loaded)
    const anchor = Math.max(0, known)
    return this.#accept(loaded, data.slice(anchor), keys.slice(anchor))
  }

  /** Reads the items of an accepted window, beginning with one that is known unless it is the beginning of the list. */
  #accept(loaded: LoadedPage<T>, data: readonly T[], keys: readonly unknown[]): Batch<T> {
    const { page, limit, totalItems } = loaded
    const start = (page - 1) * limit
    // An empty page may begin beyond the end.
    const end = loaded.data.length > 0 ? start + loaded.data.length : Math.min(start, totalItems)
    // Progress is new items after a known one. A window without them must at least lead further than the last window did.
    const lastKey = keys.at(-1)
    const isForward =
      (this.#read.find(lastKey) ?? Number.POSITIVE_INFINITY) > (this.#read.find(this.#lastKey) ?? -1)
    const isNew = this.#read.merge(keys, end - keys.length)
    const newItems = data.filter((_, index) => isNew[index])
    this.#count += newItems.length + (this.#step === 0 ? start : 0)
    if (newItems.length > 0 && !isNew[0]) this.#fruitless = 0
    else if (!isForward) this.#countFruitless(loaded)
    this.#lastKey = lastKey
    const items = newItems.slice(0, this.#remaining)
    this.#remaining -= items.length
    this.#total = totalItems
    this.#end = end
    const isFull = loaded.data.length === limit
    if (this.#remaining <= 0 || (!isFull && totalItems === end && !this.#isSparse)) this.cancel()
    // A short page ends the list. Where its total is another, one of the two is wrong.
    else if (!isFull) this.#replan({ page: page + 1, limit, isPastEnd: true })
    else this.#planAhead(loaded)
    return { page: loaded, items }
  }

  /** What identifies the items of a window. Without it an item could never be recognised, and the walk would not end. */
  #keysOf(loaded: LoadedPage<T>): readonly unknown[] {
    const keys = loaded.keys() as readonly unknown[]
    if (keys.includes(undefined)) {
      throw new TypeError(
        'verified: expected every item to be identified by a string or a number, got one that is not (see `dedupeBy`)',
      )
    }
    if (new Set(keys).size === keys.length) return keys
    throw this.#createError(
      loaded,
      'one page holds two items with the same identity',
      'Identify items by something unique: see `dedupeBy`.',
    )
  }

  /**
   * The page after the end of the list must be empty. If both it and the short page before it say that there is more, a part of
   * the list was never shown: the first page, say, of a service that counts pages from 0.
   */
  #checkEnd(loaded: LoadedPage<T>): undefined {
    const { data, totalItems } = loaded
    if (data.length > 0) {
      this.#isSparse = true
      this.#countFruitless(loaded)
      this.#planAhead(loaded)
      return
    }
    const total = Math.min(totalItems, this.#total)
    if (total > this.#shown && this.#options.onMissedItems === 'throw') {
      throw this.#createError(
        loaded,
        `the list ended at position ${this.#shown}, although totalItems is ${total}`,
        "The service may count pages from 0, or its total may be out of date or ignore filters. To accept the end of the list instead of its total, pass onMissedItems: 'continue'.",
      )
    }
    this.cancel()
  }

  /** How many items the list has at its end. Where a page was short, there may be fewer than its position says. */
  get #shown(): number {
    return Math.min(this.#end, this.#count)
  }

  /** No item of this window is known: so many were removed that all of them have moved before it. */
  #goBack(loaded: LoadedPage<T>): undefined {
    const { page, limit, totalItems } = loaded
    const start = (page - 1) * limit
    if (start === 0) {
      throw this.#createError(
        loaded,
        'the list changed by more items than this walk remembers, so some may have been missed',
        'Iterate when fewer changes are made.',
      )
    }
    this.#countFruitless(loaded)
    this.#lastKey = undefined
    this.#read.hasMoved = true
    const shrunkBy = Math.max(0, this.#total - totalItems)
    // Farther each time: by 0 pages more, then 1, 3, 7 …
    const back = this.#limit * (2 ** (this.#fruitless - 1) - 1)
    this.#end = Math.max(1, Math.min(start - back, this.#end - shrunkBy))
    this.#replan()
    this.#planAhead(loaded)
  }

  #countFruitless(loaded: LoadedPage<T>): void {
    if (++this.#fruitless <= maxFruitless) return
    throw this.#createError(
      loaded,
      `the list changed faster than it could be read, or the service ignores page or limit, or filters pages after cutting them (more than ${maxFruitless} responses without progress)`,
      'Iterate when fewer changes are made, pass another limit, or iterate without `verified`.',
    )
  }

  /** Drops the windows planned before, as the list did not go on as expected. */
  #replan(next?: Window): void {
    this.#prefetcher.dropAfter(this.#step)
    this.#plan.clear()
    if (next) this.#plan.set(this.#step + 1, next)
  }

  /** Plans the next window, and those after it as if the list did not change. */
  #planAhead(loaded: LoadedPage<T>): void {
    const next = this.#step + 1
    const needed = Math.min(this.#total, this.#end + this.#remaining)
    let step = next
    // Where page 1 was empty, it is read again.
    let end = Math.max(1, this.#end)
    for (; step <= next + 2 * this.#options.concurrency && (step === next || end < needed); step++) {
      const window = this.#plan.get(step) ?? farthestWindow(end, this.#limit)
      if (window === undefined) {
        if (step > next) break
        throw this.#createError(
          loaded,
          `a limit of ${this.#limit} is too small for pages to overlap at item ${end}`,
          'Use a larger `limit`, such as 20. If the service lowers it, iterate without `verified`.',
        )
      }
      this.#plan.set(step, window)
      end = window.page * window.limit
    }
    this.#prefetcher.lastPage = step - 1
  }

  /** Where the walk cannot go on, it must start over: nothing tells where, or something else must be passed. */
  #createError(loaded: LoadedPage<T>, problem: string, hint: string): Error {
    const resumeAt = { page: 1, limit: this.#limit }
    return new PaginationError({ info: loaded.response.report.info, problem, hint, resumeAt })
  }

  /** The page of the caller's own limit that contains the last item read; 1 if what was read, or any total, shows another list. */
  get #resumePage(): number {
    const { largestTotal, smallestTotal } = this.#prefetcher
    const isShort = this.#isSparse || this.#count < this.#end
    if (this.#read.hasMoved || largestTotal !== smallestTotal || isShort) return 1
    return Math.floor(Math.max(0, this.#end - 1) / this.#limit) + 1
  }
}

/** The window that contains the item before `end` and reaches farthest; undefined where none reaches beyond it. */
function farthestWindow(end: number, maxLimit: number): Window | undefined {
  let best: Window | undefined
  let reach = end
  // No smaller limit reaches farther than `end - 1 + limit`. Without this a service's limit of a billion would take seconds.
  for (let limit = maxLimit; limit > 1 && end - 1 + limit > reach; limit--) {
    const page = Math.floor((end - 1) / limit) + 1
    if (page * limit <= reach) continue
    best = { page, limit }
    reach = page * limit
  }
  return best
}
