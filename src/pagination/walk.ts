import { ApiError, HttpError } from '../errors.js'
import type { EndEvent, IncompleteReason } from '../events.js'
import { type Bookmark, hashKey, type Position, writeCursor } from './cursor.js'
import { type Key, KnownItems } from './known-items.js'
import { isOtherPage, type LoadedPage, type PageRequest } from './page.js'
import { type Fetched, Prefetcher } from './prefetcher.js'
import {
  endsShort,
  keysRepeat,
  missedItems,
  noOverlap,
  noProgress,
  nothingKnown,
  rulesOutOverlap,
} from './walk-errors.js'
import {
  canOverlap,
  farthestWindow,
  minOverlapLimit,
  pageHolding,
  type Window,
  windowsAround,
} from './windows.js'

export interface WalkOptions<T> {
  readonly load: (request: PageRequest) => Promise<LoadedPage<T>>
  readonly firstPage: number
  readonly concurrency: number
  readonly maxItems: number
  readonly onMissedItems: 'throw' | 'continue'
  readonly verified: boolean | undefined
  /** Where an earlier walk stood. Keys are hashes then. */
  readonly after: Bookmark | undefined
  /** Of windows that overlap; at most the limit in effect. */
  readonly maxLimit: number
  /** Identifies the list in cursors. */
  readonly list: string
  /** Identifies the walk in events and errors. */
  readonly loop: number
  /** Lists of this client whose service has refused a smaller limit. */
  readonly refused: Set<string>
}

/** The new items of a response, and the response. */
export interface ReadBatch<T> {
  readonly items: readonly T[]
  readonly loaded: LoadedPage<T>
  /** Whether the list goes on after these items, by the total of the response. */
  readonly hasMore: boolean
  /** Goes on after these items. */
  readonly cursor: () => string
}

type State = { -readonly [K in keyof Position]: Position[K] } & {
  /** Yielded by this walk; `count` has those before it, too. */
  items: number
  firstTotal: number
  /** Where it began: what precedes it is not known. */
  start: number
  /** Whether windows overlap: now, only from the first change on, or not at all. */
  overlap: 'on' | 'after-change' | 'impossible'
  /** The total before windows began to overlap, as the list had changed; until the first of them is read. */
  totalAtTurn: number | undefined
  /** Responses in a row that brought nothing new. */
  fruitless: number
  /** Keys tell items apart: behind the first response one was new, or the last item read was where it had been. */
  keysHold: boolean
  /** Searches that found the last item where it had been, since one window brought something new without a search. */
  detours: number
}

const maxFruitless = 8

/**
 * Reads a list from one end to the other. It is always at a position: `end`, after the last item read.
 *
 * Where windows overlap, each begins at or before the last item read, and is accepted only if it shows an item that was read:
 * what follows that item there is what comes next in the list. Where they cannot overlap, pages are read one after the other,
 * and a page that shows a change is fetched again. docs/decisions/one-walk.md proves what this is worth.
 */
export class Walk<T> {
  readonly #options: WalkOptions<T>
  readonly #prefetcher: Prefetcher<T>
  readonly #at: State
  /** `undefined` where keys do not tell items apart. */
  #known: KnownItems | undefined
  /** Items of responses that were dropped, until they are read. */
  readonly #dropped = new Set<Key>()
  /** What to request next; `undefined` at the end. */
  #next: Window | undefined
  /** Where to look for an item that was read, as a window showed none. */
  #search: { readonly missed: Fetched<T>; readonly windows: Iterator<Window, undefined> } | undefined
  /** The last response that was accepted, and what was new in it. */
  #last: Fetched<T> | undefined
  #items: readonly T[] = []
  /** Why the walk ended: thrown, or emitted, once the items before it are read. */
  #failure: { readonly error: unknown } | undefined
  #end: Pick<EndEvent, 'isComplete' | 'reason'> | undefined

  constructor(options: WalkOptions<T>) {
    const { load, firstPage, concurrency, maxItems, verified, after } = options
    this.#options = options
    this.#known = new KnownItems(after?.keys)
    const { limit = 1, end = 0, count = 0, total = 0, gap } = after ?? {}
    this.#at = {
      limit,
      end,
      count,
      total,
      gap: gap ?? (verified === false ? 'verified-false' : undefined),
      items: 0,
      firstTotal: total,
      start: end - (after?.keys.chain.length ?? 0),
      overlap: rulesOutOverlap(gap) ? 'impossible' : verified === false && !after ? 'after-change' : 'on',
      totalAtTurn: undefined,
      fruitless: 0,
      keysHold: false,
      detours: 0,
    }
    this.#prefetcher = new Prefetcher({
      load: (window, signal, onThrottled) => load({ ...this.#toRequest(window), signal, onThrottled }),
      plan: window => this.#windowAfter(window),
      concurrency,
      largestTotal: total,
    })
    if (maxItems > 0) this.#next = after ? this.#windowAtEnd() : { page: firstPage, kind: 'page' }
  }

  /** The next items, at least one; `undefined` at the end. Must not be called again before it has settled. */
  async next(): Promise<ReadBatch<T> | undefined> {
    try {
      while (this.#next) {
        this.#items = []
        this.#tryRead(this.#next, await this.#fetch(this.#next))
        const { end, total } = this.#at
        if (this.#items.length > 0 && this.#last)
          return {
            items: this.#items,
            loaded: this.#last,
            hasMore: end < total,
            cursor: () => this.#writeCursor(),
          }
      }
      if (this.#failure) throw this.#failure.error
      this.#emitEnd()
      return undefined
    } catch (error) {
      const canGoOn = error instanceof ApiError && this.#hasBegun
      throw canGoOn ? error.inLoop(this.#options.loop, this.#writeCursor()) : error
    }
  }

  #tryRead(window: Window, response: Fetched<T> | ApiError): void {
    try {
      this.#read(window, response)
    } catch (error) {
      this.#failure = { error }
      this.cancel()
    }
  }

  cancel(): void {
    this.#next = undefined
    this.#prefetcher.cancel()
  }

  #toRequest({ page, limit, kind }: Window): PageRequest {
    const hasOwnLimit = limit === undefined || limit === this.#at.limit
    return {
      page,
      ...(limit === undefined ? {} : { limit }),
      ...(this.#hasBegun && hasOwnLimit ? { expectedLimit: this.#at.limit } : {}),
      mayBeEmpty: kind === 'overlapping' || kind === 'beyond-end',
      mayExceedLimit: !hasOwnLimit,
      expects: error => this.#isAnswer({ page, limit, kind }, error),
    }
  }

  /** The response, or an error that says something about the list: there is no such page, or no such limit. */
  async #fetch(window: Window): Promise<Fetched<T> | ApiError> {
    try {
      return await this.#prefetcher.get(window)
    } catch (error) {
      if (this.#isAnswer(window, error)) return error
      throw error
    }
  }

  #isAnswer({ page, limit = this.#at.limit, kind }: Window, error: unknown): error is ApiError {
    const { overlap, end, total } = this.#at
    const isRepairable = overlap === 'after-change' && this.#farthestWindow(end) !== undefined
    // Where windows cannot overlap, the missing page of a list that goes on is a failure like any other.
    const isFailure = kind === 'page' && !isRepairable && (page - 1) * limit < total
    const mayBeMissing = this.#hasBegun && page > 1 && !isFailure
    const mayBeRefused = kind === 'overlapping' && limit !== this.#at.limit
    return (mayBeMissing && isMissing(error)) || (mayBeRefused && isRefusal(error))
  }

  /** Reads the response to a window, and decides on the next one. */
  #read(window: Window, response: Fetched<T> | ApiError): undefined {
    if (window.kind === 'overlapping') return this.#readOverlapping(window, response)
    if (window.kind === 'beyond-end') return this.#readBeyondEnd(response)
    if (response instanceof ApiError) return this.#readMissingPage(window)
    return this.#hasBegun ? this.#readPage(response) : this.#readFirst(response)
  }

  #readFirst(response: Fetched<T>): undefined {
    const { data, page, limit, totalItems } = response
    const { verified, list, refused, maxItems, maxLimit } = this.#options
    // A page beyond the end is where the list ends.
    const start = Math.min((page - 1) * limit, totalItems)
    Object.assign(this.#at, {
      limit,
      start,
      end: start,
      count: start,
      total: totalItems,
      firstTotal: totalItems,
    })
    if (data.length === 0) {
      this.#accept(response, [])
      return this.#finish()
    }
    const keyProblem = findKeyProblem(response.keys())
    const goesOn = start + data.length < totalItems
    if (keyProblem) this.#giveUpOverlap(keyProblem, response)
    else if (goesOn && data.length < limit) this.#giveUpOverlap('short-page', response)
    else if (goesOn && verified !== true && refused.has(list))
      this.#giveUpOverlap('limit-not-honoured', response)
    else if (goesOn && limit < minOverlapLimit && verified === undefined) {
      // It may still repair what a change would have cost.
      this.#at.overlap = 'after-change'
      this.#at.gap = 'limit-too-small'
    } else if (goesOn && limit < minOverlapLimit && verified) {
      // The total may lag: it takes one more to see that nothing follows a full page.
      const end = Math.min(totalItems + 1, start + maxItems)
      if (!canOverlap(start + data.length, end, Math.min(limit, maxLimit)))
        this.#giveUpOverlap('limit-too-small', response)
    }
    this.#acceptPage(response)
  }

  // Pages, one after the other.

  #readPage(response: Fetched<T>): undefined {
    const at = this.#at
    const { totalItems, largestTotalBefore } = response
    const keyProblem = this.#known && findKeyProblem(response.keys())
    if (keyProblem === 'item-key-not-unique' || (keyProblem && at.overlap !== 'impossible'))
      return this.#giveUpOverlap(keyProblem, response)
    if (!this.#showsChange(response)) return this.#acceptPage(response)
    if (at.overlap === 'after-change' && this.#overlapFromHere()) return
    if (totalItems < largestTotalBefore) {
      const problem = `the list shrank from ${largestTotalBefore} to ${totalItems} items while it was read`
      this.#noteMissed(response, problem, largestTotalBefore - totalItems)
    }
    // Requested before the page in front of it had arrived, it may show an older state of the list.
    if (this.#last && response.requestedAt < this.#last.arrivedAt) return this.#startOver()
    return this.#acceptPage(response)
  }

  /** There is no such page: the list has ended, or shrunk. */
  #readMissingPage({ page }: Window): undefined {
    const { overlap, limit, total } = this.#at
    if (overlap === 'after-change' && (page - 1) * limit < total && this.#overlapFromHere()) return
    this.#endPages()
  }

  /** Begins to overlap where the walk stands, as the list has changed. `false` where pages cannot overlap. */
  #overlapFromHere(): boolean {
    const at = this.#at
    Object.assign(at, { overlap: 'on', totalAtTurn: at.total })
    this.#next = this.#windowAtEnd()
    if (this.#at.overlap !== 'on') return false
    this.#startOver()
    return true
  }

  /** Drops what was requested before the change was seen. What it showed has to come again. */
  #startOver(): undefined {
    for (const response of this.#prefetcher.startOver()) this.#noteDropped(response)
  }

  #noteDropped(response: Fetched<T>): void {
    const start = (response.page - 1) * response.limit
    for (const [place, key] of (response.keys() ?? []).entries()) {
      // What precedes the beginning of the walk is not its concern.
      if (key !== undefined && start + place >= this.#at.start && !this.#known?.has(key))
        this.#dropped.add(key)
    }
  }

  /** Whether the list has changed: its total is another, or an item was read further back, or not read although it is there. */
  #showsChange(response: Fetched<T>): boolean {
    const { end, total } = this.#at
    if (response.totalItems !== total) return true
    const start = (response.page - 1) * response.limit
    const isMoved = (key: Key | undefined, place: number) =>
      key !== undefined && this.#known?.has(key) !== start + place < end
    return this.#known !== undefined && response.keys()?.some(isMoved) === true
  }

  #acceptPage(response: Fetched<T>): undefined {
    const at = this.#at
    const { data, page, limit, totalItems } = response
    const start = (page - 1) * limit
    const repeatsPage =
      at.end >= at.firstTotal && JSON.stringify(this.#last?.raw) === JSON.stringify(response.raw)
    // A page may begin before the end of what was read, where other items may be by now: what follows a known item is taken.
    let from = 0
    while (from < data.length && start + from < at.end && !this.#known?.has(response.keys()?.[from])) from++
    const { items, cut } = this.#take(response, from)
    this.#accept(response, items)
    const isLast = page * limit >= totalItems
    // If more items came than any total says, it is wrong; if pages are short, they may be shorter than their limit says. Then only
    // an empty page proves the end.
    const isWrong = start + data.length > this.#prefetcher.largestTotal || at.gap === 'short-page'
    const isEnd = data.length === 0 || (isLast && !isWrong)
    // The next page is the one after this one, however short this one was.
    at.end = start + (cut < data.length || at.overlap === 'on' || isEnd ? cut : limit)
    if (repeatsPage || (items.length === 0 && data.length > 0)) this.#countFruitless(response)
    else if (items.length > 0) at.fruitless = 0
    if (at.overlap === 'on') this.#goOnBehindWindow(response)
    else if (isEnd) this.#endPages()
    else this.#goOn()
  }

  #endPages(): undefined {
    const { end, total, firstTotal, count, fruitless } = this.#at
    const lacking = fruitless > 0 ? Math.min(total, firstTotal) - count : total - end
    if (lacking > 0 && this.#remaining > 0 && this.#last)
      this.#noteMissed(this.#last, `the list ended after ${total - lacking} of ${total} items`, lacking)
    this.#finish()
  }

  // Windows that overlap.

  #readOverlapping(window: Window, response: Fetched<T> | ApiError): undefined {
    const at = this.#at
    if (isRefusal(response)) {
      this.#options.refused.add(this.#options.list)
      return this.#giveUpOverlap('limit-not-honoured', response)
    }
    if (response instanceof ApiError) return this.#searchOn(response)
    const { data, page, limit } = response
    if (limit !== window.limit || data.length > limit)
      return this.#giveUpOverlap('limit-not-honoured', response)
    const keys = response.keys()
    const problem = findKeyProblem(keys)
    const known = this.#known
    if (problem || !known || !keys) return this.#giveUpOverlap(problem ?? 'no-item-key', response)

    const anchor = keys.findIndex(key => known.indexOf(key) !== undefined)
    // Nothing precedes page 1. But it may show items that were read and forgotten, or that precede what this walk began with.
    const isBeginning = page === 1 && this.#last && (data.length === 0 || known.size === at.count)
    if (anchor === -1 && !isBeginning) return this.#searchOn(response)

    const start = (page - 1) * limit
    const isInPlace = this.#isLastInPlace(response)
    at.keysHold ||= isInPlace
    if (isInPlace && this.#search) at.detours++
    if (this.#search && this.#isContradicted(this.#search.missed))
      return this.#giveUpOverlap('limit-not-honoured', response)
    const index = known.indexOf(keys[anchor]) ?? 0
    this.#checkTurn(response, start + anchor, at.end - known.length + index)
    const { length } = known
    known.goBackTo(index)
    const { items, cut, hasRepeats } = this.#take(response, Math.max(0, anchor))
    // The last item is where it was, so nothing has moved: two items share a key.
    if (isInPlace && hasRepeats) return this.#giveUpOverlap('item-key-not-unique', response)
    this.#accept(response, items)
    at.end = start + cut
    const hasNews = items.length > 0 && anchor >= 0
    if (hasNews && !this.#search) at.detours = 0
    // Detours are counted by themselves.
    if (hasNews || (isInPlace && this.#search)) at.fruitless = 0
    else if (known.length <= length || this.#search) this.#countFruitless(response)
    this.#search = undefined
    this.#goOnBehindWindow(response)
  }

  /**
   * The first window that overlaps after pages that did not. If an item moved back, items before it were removed. If more were
   * removed than the total fell by, others were added at the same time, so there was a change before that no total showed.
   */
  #checkTurn(response: Fetched<T>, position: number, readAt: number): void {
    const { totalAtTurn } = this.#at
    this.#at.totalAtTurn = undefined
    if (totalAtTurn === undefined) return
    const removed = readAt - position
    const hidden = removed - Math.max(0, totalAtTurn - response.totalItems)
    if (hidden > 0) this.#noteMissed(response, 'items were added and removed while the list was read', hidden)
  }

  /**
   * The last item is where it was, so the window that missed it should have shown it. Where that happens again and again, the
   * service cuts pages by another limit than it says. That is seen sooner if the window was not as long as its own total says, and
   * later if its total is another, as it may be of another state of the list.
   */
  #isContradicted({ data, page, limit, totalItems }: Fetched<T>): boolean {
    const { total, detours } = this.#at
    const length = Math.min(limit, Math.max(0, totalItems - (page - 1) * limit))
    const maxDetours = data.length !== length ? 1 : 3
    return detours > (totalItems === total ? maxDetours : maxFruitless)
  }

  #goOnBehindWindow(response: Fetched<T>): undefined {
    const { data, page, limit, totalItems } = response
    const isFull = data.length === limit
    // The total may lag: with `verified: true` a full page is not the end.
    const mayEndFull = this.#isOneResponse && this.#options.verified !== true
    if (totalItems === this.#at.end && (!isFull || mayEndFull)) this.#finish()
    else if (isFull) this.#goOn()
    // A short page ends the list. Where its total is another, one of the two is wrong.
    else this.#goOn({ page: page + 1, limit, kind: 'beyond-end' })
  }

  /**
   * The page after a short one must be empty. If both say that there is more, a part of the list was never shown: the first page,
   * say, of a service that counts pages from 0.
   */
  #readBeyondEnd(response: Fetched<T> | ApiError): undefined {
    const { end, total } = this.#at
    const last = this.#last as Fetched<T>
    const after = response instanceof ApiError ? last : response
    if (response === after && after.data.length > 0) return this.#giveUpOverlap('short-page', response)
    const promised = Math.min(after.totalItems, total)
    if (promised > end) this.#noteMissed(after, endsShort(after, end, promised), promised - end)
    this.#finish()
  }

  /** No item of a window is known: goes to where the last one must be by the total, and looks around there. */
  #searchOn(response: Fetched<T> | ApiError): undefined {
    this.#countFruitless(response)
    if (!(response instanceof ApiError)) {
      this.#noteDropped(response)
      this.#search ??= { missed: response, windows: this.#windowsAroundLast(response) }
    } else if (this.#search === undefined) {
      // The list has shrunk to before the window. Page 1 says how long it is.
      this.#next = { page: 1, limit: this.#at.limit, kind: 'overlapping' }
      return
    }
    const window = this.#search.windows.next().value
    if (window === undefined)
      throw response instanceof ApiError ? response : nothingKnown(response, this.#last === undefined)
    this.#next = window
  }

  #windowsAroundLast({ totalItems }: Fetched<T>): Iterator<Window, undefined> {
    const { limit, end, total } = this.#at
    const pages = Math.max(1, Math.ceil(totalItems / limit))
    const middle = Math.min(pages, pageHolding(end + totalItems - total, limit))
    // So that it does not step over all items that are known.
    const stride = Math.max(1, Math.floor((this.#known?.size ?? 0) / (2 * limit)))
    return windowsAround(middle, { pages, limit, stride })
  }

  /** From here on pages are read one after the other: the walk is not proven. */
  #giveUpOverlap(reason: IncompleteReason, response: Fetched<T> | ApiError | undefined): undefined {
    const at = this.#at
    if (this.#options.verified === true)
      throw noOverlap(reason, response instanceof ApiError ? this.#last : response)
    at.overlap = 'impossible'
    this.#startOver()
    if (at.gap !== 'missed-items') at.gap = reason
    if (reason === 'item-key-not-unique') {
      this.#known = undefined
      this.#dropped.clear()
    }
    this.#search = undefined
    this.#goOn()
  }

  // What both have in common.

  get #hasBegun(): boolean {
    return this.#last !== undefined || this.#options.after !== undefined
  }

  get #remaining(): number {
    return this.#options.maxItems - this.#at.items
  }

  /** One response is one state of the list, which nothing can have changed meanwhile. */
  get #isOneResponse(): boolean {
    return this.#prefetcher.requests === 1 && this.#options.after === undefined
  }

  #isLastInPlace(response: Fetched<T>): boolean {
    const { end, total } = this.#at
    const key = response.keys()?.[end - 1 - (response.page - 1) * response.limit]
    return key !== undefined && key === this.#known?.last && response.totalItems === total
  }

  /** The new items from a place on, up to `maxItems`; `cut` is the place after the last one. All are known from here on. */
  #take(response: Fetched<T>, from: number): { items: T[]; cut: number; hasRepeats: boolean } {
    const { data } = response
    const keys = response.keys()
    const items: T[] = []
    let hasRepeats = false
    let cut = from
    while (cut < data.length && items.length < this.#remaining) {
      const found = this.#known?.add(keys?.[cut]) ?? 'new'
      if (found === 'new') items.push(data[cut] as T)
      hasRepeats ||= found === 'repeated'
      cut++
    }
    this.#known?.endWindow(cut - from)
    return { items, cut, hasRepeats }
  }

  #accept(response: Fetched<T>, items: readonly T[]): void {
    const at = this.#at
    const { totalItems } = response
    if (this.#hasBegun && totalItems !== at.total) this.#drift(response, 'total', at.total, totalItems)
    at.keysHold ||= this.#hasBegun && items.length > 0
    if (this.#dropped.size > 0) for (const key of response.keys() ?? []) this.#dropped.delete(key as Key)
    this.#last = response
    this.#items = items
    at.total = totalItems
    at.items += items.length
    at.count += items.length
  }

  #goOn(window?: Window): void {
    if (this.#remaining > 0) this.#next = window ?? this.#windowAtEnd()
    else this.#finish(true)
  }

  #windowAtEnd(): Window | undefined {
    const { overlap, end, limit } = this.#at
    if (overlap === 'on') {
      const window = this.#farthestWindow(end)
      if (window) return window
      this.#giveUpOverlap('limit-too-small', this.#last)
    }
    return { page: Math.floor(end / limit) + 1, kind: 'page' }
  }

  #farthestWindow(end: number): Window | undefined {
    return farthestWindow(Math.max(1, end), Math.min(this.#at.limit, this.#options.maxLimit))
  }

  /** The window that will be read after another if the list stays as it is. */
  #windowAfter({ page, limit = this.#at.limit, kind }: Window): Window | undefined {
    const { total, end, overlap } = this.#at
    const reach = page * limit
    const isLast = reach >= Math.min(total, end + this.#remaining)
    if (isLast || kind === 'beyond-end' || this.#search) return undefined
    return overlap === 'on' ? this.#farthestWindow(reach) : { page: page + 1, kind: 'page' }
  }

  #countFruitless(response: Fetched<T> | ApiError): void {
    if (++this.#at.fruitless <= maxFruitless) return
    throw response instanceof ApiError ? response : noProgress(response, maxFruitless)
  }

  #noteMissed(response: Fetched<T>, problem: string | Error, missed: number): void {
    const { overlap } = this.#at
    this.#drift(response, 'missing', response.totalItems, Math.max(0, response.totalItems - missed))
    // Whoever goes on with the cursor of the error accepts it, too.
    this.#at.gap = 'missed-items'
    if (this.#options.onMissedItems === 'continue') return
    if (typeof problem !== 'string') throw problem
    throw missedItems(response, problem, missed, overlap !== 'impossible')
  }

  #drift({ response }: LoadedPage<T>, change: 'total' | 'missing', before: number, after: number): void {
    response.report.emit({ type: 'drift', change, before, after })
  }

  #finish(isCut = false): undefined {
    const { count, total, firstTotal, end, gap, fruitless, keysHold } = this.#at
    const last = this.#last
    // Keys that count the items of a page, say.
    const keysMayRepeat = fruitless > 0 && !keysHold && total === firstTotal
    if (last && keysMayRepeat && count < Math.min(total, end)) throw keysRepeat(last, count, total)
    // What only a dropped response showed did not come again. As many as the total fell by were removed; the others moved to where
    // the walk had already been.
    const missed = this.#dropped.size - Math.max(0, this.#prefetcher.largestTotal - total)
    if (last && gap && missed > 0 && !isCut)
      this.#noteMissed(last, 'items disappeared while the list was read', missed)
    const wasOneState = gap !== 'missed-items' && this.#isOneResponse
    const reason = isCut ? 'max-items' : wasOneState ? undefined : gap
    this.#end = { isComplete: reason === undefined, reason }
    this.cancel()
  }

  #emitEnd(): void {
    const { items, total } = this.#at
    const { requests } = this.#prefetcher
    if (this.#end)
      this.#last?.response.report.emit({ type: 'end', items, requests, totalItems: total, ...this.#end })
    this.#end = undefined
  }

  #writeCursor(): string {
    const { limit, end, count, total, gap } = this.#at
    const { chain = [], others = [] } = this.#known?.newest() ?? {}
    const toHash = (key: Key) => (this.#options.after ? String(key) : hashKey(key))
    const keys = { chain: chain.map(toHash), others: others.map(toHash) }
    return writeCursor({ limit, end, count, total, gap, keys }, this.#options.list)
  }
}

/** A service may have no such page, or send another one. */
function isMissing(error: unknown): error is ApiError {
  return isOtherPage(error) || (error instanceof HttpError && error.status === 404)
}

/** A service may refuse a limit that it does not know. */
function isRefusal(error: unknown): error is HttpError {
  return error instanceof HttpError && (error.status === 400 || error.status === 422)
}

type LoadedKeys = ReturnType<LoadedPage<unknown>['keys']>

function findKeyProblem(keys: LoadedKeys): IncompleteReason | undefined {
  if (keys === undefined || keys.includes(undefined)) return 'no-item-key'
  return new Set(keys).size < keys.length ? 'item-key-not-unique' : undefined
}
