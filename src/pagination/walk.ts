import { ApiError, HttpError } from '../errors.js'
import type { IncompleteReason } from '../events.js'
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
import { farthestWindow, minOverlapLimit, pageHolding, pagesAround, type Window } from './windows.js'

export interface WalkOptions<T> {
  readonly load: (request: PageRequest) => Promise<LoadedPage<T>>
  readonly firstPage: number
  readonly concurrency: number
  readonly maxItems: number
  readonly onMissedItems: 'throw' | 'continue'
  readonly verified: boolean | undefined
  /** Where an earlier walk stood. With it, keys are compared as hashes. */
  readonly after: Bookmark | undefined
  /** The largest limit of a window that overlaps; it cannot exceed the limit in effect. */
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
  /** Whether windows overlap: now, only from the first change on, or not at all. */
  overlap: 'on' | 'after-change' | 'impossible'
  /** Windows overlap since the list has changed, but none of these has been read yet. */
  isTurning: boolean
  /** Responses in a row that brought nothing new. */
  fruitless: number
  /** Keys tell items apart: behind the first response one was new, or the last item read was where it had been. */
  keysHold: boolean
  /** A smaller limit was honoured. */
  honoursLimits: boolean
  /** Searches that found the last item where it had been, since a window brought something new without one. */
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
  #search: { readonly missed: Fetched<T>; readonly pages: Iterator<number, undefined> } | undefined
  /** The last response that was accepted, and what was new in it. */
  #last: Fetched<T> | undefined
  #items: T[] = []
  /** How the walk ended: throws, or emits the event, once the items before it are read. */
  #outcome: (() => void) | undefined

  constructor(options: WalkOptions<T>) {
    const { load, firstPage, concurrency, maxItems, verified, after } = options
    this.#options = options
    const { limit = 1, end = 0, count = 0, total = 0, gap, keys } = after ?? {}
    this.#known = new KnownItems(keys)
    this.#at = {
      limit,
      end,
      count,
      total,
      gap: gap ?? (verified === false ? 'verified-false' : undefined),
      items: 0,
      firstTotal: total,
      overlap: rulesOutOverlap(gap) ? 'impossible' : verified === false && !after ? 'after-change' : 'on',
      isTurning: false,
      fruitless: 0,
      keysHold: false,
      honoursLimits: false,
      detours: 0,
    }
    this.#prefetcher = new Prefetcher({
      load: (window, signal, onThrottled) => {
        const { page, limit } = window
        const expectedLimit = this.#hasBegun ? this.#at.limit : undefined
        const expects = (error: unknown) => this.#isAnswer(window, error)
        return load({ page, limit, expectedLimit, signal, onThrottled, expects })
      },
      plan: window => this.#windowAfter(window),
      concurrency,
    })
    this.#prefetcher.largestTotal = total
    if (maxItems > 0) this.#next = after ? this.#windowAtEnd() : { page: firstPage }
  }

  /** The next items, at least one; `undefined` at the end. Must not be called again before it has settled. */
  async next(): Promise<ReadBatch<T> | undefined> {
    while (this.#next) {
      this.#items = []
      try {
        this.#read(this.#next, await this.#fetch(this.#next))
      } catch (error) {
        const canGoOn = error instanceof ApiError && this.#hasBegun
        const failure = canGoOn ? error.inLoop(this.#options.loop, this.#writeCursor()) : error
        this.#end(() => {
          throw failure
        })
      }
      const { end, total } = this.#at
      const cursor = () => this.#writeCursor()
      if (this.#items.length > 0 && this.#last)
        return { items: this.#items, loaded: this.#last, hasMore: end < total, cursor }
    }
    this.#outcome?.()
    return undefined
  }

  #end(outcome: () => void): undefined {
    this.#outcome = outcome
    this.cancel()
  }

  cancel(): void {
    this.#next = undefined
    this.#prefetcher.cancel()
  }

  /** The response, or an error that says something about the list: there is no such page, or no such limit. */
  async #fetch(window: Window): Promise<Fetched<T> | ApiError> {
    try {
      const response = await this.#prefetcher.get(window)
      const { overlap, total: totalItems } = this.#at
      const needsTotal = window.isBeyondEnd || overlap === 'impossible'
      return needsTotal && hasNoTotal(response) ? { ...response, totalItems } : response
    } catch (error) {
      if (this.#isAnswer(window, error)) return error
      throw error
    }
  }

  #isAnswer({ page, limit = this.#at.limit, isBeyondEnd }: Window, error: unknown): error is ApiError {
    const { overlap, end, total } = this.#at
    const canOverlap = overlap !== 'impossible' && this.#farthestWindow(end) !== undefined
    // Where windows cannot overlap, the missing page of a list that goes on is a failure like any other.
    const isFailure = !canOverlap && (page - 1) * limit < total
    const mayBeMissing = this.#hasBegun && page > 1 && !isFailure
    const mayBeRefused = limit !== this.#at.limit && !isBeyondEnd
    // A service that honours smaller limits refuses the page, as there is none.
    const isNoPage = isMissing(error) || (this.#at.honoursLimits && overlap === 'on' && isRefusal(error))
    return (mayBeMissing && isNoPage) || (mayBeRefused && isRefusal(error))
  }

  /** Reads the response to a window, and decides on the next one. */
  #read(window: Window, response: Fetched<T> | ApiError): undefined {
    if (window.limit === undefined) return this.#readPage(response)
    const problem = window.isBeyondEnd
      ? this.#readBeyondEnd(response)
      : this.#readOverlapping(window.limit, response)
    if (problem === undefined) return
    this.#giveUpOverlap(problem, response)
    this.#goOn()
  }

  // Pages, one after the other.

  #readFirst(response: Fetched<T>): undefined {
    const { data, page, limit, totalItems } = response
    const { verified, list, refused } = this.#options
    const start = (page - 1) * limit
    Object.assign(this.#at, { limit, end: start, count: start, total: totalItems, firstTotal: totalItems })
    const keyProblem = findKeyProblem(response.keys())
    const goesOn = start + data.length < totalItems
    if (keyProblem) this.#giveUpOverlap(keyProblem, response)
    else if (goesOn && data.length < limit) this.#giveUpOverlap('short-page', response)
    else if (goesOn && verified !== true && refused.has(list))
      this.#giveUpOverlap('limit-not-honoured', response)
    else if (goesOn && verified === undefined && limit < minOverlapLimit) {
      // It may still repair what a change would have cost.
      this.#at.overlap = 'after-change'
      this.#at.gap = 'limit-too-small'
    }
    this.#acceptPage(response)
  }

  #readPage(response: Fetched<T> | ApiError): undefined {
    // There is no such page: the list has ended, or shrunk.
    if (response instanceof ApiError) return this.#overlapFromHere() ? undefined : this.#endPages()
    if (!this.#hasBegun) return this.#readFirst(response)
    const { totalItems, largestTotalBefore, isAhead } = response
    const keyProblem = this.#known && findKeyProblem(response.keys())
    if (keyProblem === 'item-key-not-unique' || (keyProblem && this.#at.overlap !== 'impossible'))
      this.#giveUpOverlap(keyProblem, response)
    if (!this.#showsChange(response)) return this.#acceptPage(response)
    if (this.#overlapFromHere()) return
    if (totalItems < largestTotalBefore) {
      const problem = `the list shrank from ${largestTotalBefore} to ${totalItems} items while it was read`
      this.#noteMissed(response, problem, largestTotalBefore - totalItems)
    }
    // It may show an older state of the list.
    if (isAhead) return this.#startOver()
    return this.#acceptPage(response)
  }

  /** Begins to overlap where the walk stands, as the list has changed. `false` where pages cannot overlap. */
  #overlapFromHere(): boolean {
    const at = this.#at
    if (at.overlap !== 'after-change') return false
    Object.assign(at, { overlap: 'on', isTurning: true })
    this.#startOver()
    this.#next = this.#windowAtEnd()
    return this.#next.limit !== undefined
  }

  /** Drops what was requested before the change was seen. What it showed has to come again. */
  #startOver(): undefined {
    for (const response of this.#prefetcher.startOver()) this.#noteDropped(response)
  }

  #noteDropped(response: Fetched<T>): void {
    const { count, items } = this.#at
    // What precedes the beginning of the walk is not its concern.
    const beginning = this.#options.after?.end ?? count - items
    const start = (response.page - 1) * response.limit
    for (const [place, key] of (response.keys() ?? []).entries()) {
      if (key !== undefined && start + place >= beginning && !this.#known?.has(key)) this.#dropped.add(key)
    }
  }

  /** Whether the list has changed: its total is another, or an item was read further back, or not read although it is there. */
  #showsChange(response: Fetched<T>): boolean {
    const { end, total } = this.#at
    const start = (response.page - 1) * response.limit
    const isMoved = (key: Key | undefined, place: number) =>
      key !== undefined && this.#known?.has(key) !== start + place < end
    return response.totalItems !== total || (this.#known && response.keys()?.some(isMoved)) === true
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
    // The page that was read last may come again: it brings nothing new, unless the list grew.
    const reachesOn = start + data.length > at.end + Math.max(0, totalItems - at.total)
    const cut = this.#accept(response, from)
    const { length } = this.#items
    const isLast = page * limit >= totalItems
    // If more items came than any total says, it is wrong; if pages are short, they may be shorter than their limit says. Then only
    // an empty page proves the end.
    const isWrong = start + data.length > this.#prefetcher.largestTotal || at.gap === 'short-page'
    const isEnd = cut === data.length && (data.length === 0 || (isLast && !isWrong))
    // The next page is the one after this one, however short this one was.
    at.end = start + (cut < data.length || at.overlap === 'on' || isEnd ? cut : limit)
    if (repeatsPage || (length === 0 && reachesOn)) this.#countFruitless(response)
    else if (length > 0) at.fruitless = 0
    if (at.overlap === 'on' && data.length > 0) this.#goOnBehindWindow(response)
    else if (isEnd) this.#endPages()
    else this.#goOn()
  }

  #endPages(): undefined {
    const { end, total, firstTotal, count, fruitless } = this.#at
    // After a page that brought nothing new, positions do not tell what was read: it is counted.
    const lacking = fruitless > 0 ? Math.min(total, firstTotal) - count : total - end
    if (lacking > 0 && this.#remaining > 0 && this.#last)
      this.#noteMissed(this.#last, `the list ended after ${total - lacking} of ${total} items`, lacking)
    this.#finish()
  }

  // Windows that overlap.

  /** Returns why windows cannot overlap, if the response shows that: then nothing of it is read. */
  #readOverlapping(windowLimit: number, response: Fetched<T> | ApiError): IncompleteReason | undefined {
    const at = this.#at
    if (isRefusal(response) && !at.honoursLimits) {
      this.#options.refused.add(this.#options.list)
      return 'limit-not-honoured'
    }
    if (response instanceof ApiError) return this.#searchOn(response)
    const { data, page, limit, totalItems } = response
    if (limit !== windowLimit || data.length > limit) return 'limit-not-honoured'
    const keys = response.keys()
    const problem = findKeyProblem(keys)
    const known = this.#known
    if (problem || !known || !keys) return problem ?? 'no-item-key'

    const anchor = keys.findIndex(key => known.indexOf(key) !== undefined)
    // Nothing precedes page 1. But it may show items that were read and forgotten, or that precede what this walk began with.
    const isBeginning = page === 1 && this.#last && (data.length === 0 || known.size === at.count)
    if (anchor === -1 && !isBeginning) return this.#searchOn(response)

    at.honoursLimits ||= limit < at.limit
    const start = (page - 1) * limit
    const index = known.indexOf(keys[anchor]) ?? 0
    const isInPlace = anchor >= 0 && totalItems === at.total && keys[at.end - 1 - start] === known.last
    at.keysHold ||= isInPlace
    // Found where it was, so the window that missed it should have shown it. Where that happens again and again, the service cuts
    // pages by another limit than it says. A window with another total may be of another state of the list.
    const isDetour = isInPlace && this.#search !== undefined
    const maxDetours = this.#search?.missed.totalItems === at.total ? 3 : maxFruitless
    if (isDetour && ++at.detours > maxDetours) return 'limit-not-honoured'
    // Nothing has moved, so one that was in front of this window shares its key.
    if (isInPlace && keys.some(key => (known.indexOf(key) ?? index) < index)) return 'item-key-not-unique'
    if (at.isTurning) this.#checkTurn(response, at.end - known.length + index - start - anchor)
    const { length } = known
    known.goBackTo(index)
    at.end = start + this.#accept(response, Math.max(0, anchor))
    const hasNews = this.#items.length > 0 && anchor >= 0
    if (hasNews && !this.#search) at.detours = 0
    if (hasNews || isDetour) at.fruitless = 0
    else if (!isInPlace && (known.length <= length || this.#search)) this.#countFruitless(response)
    this.#search = undefined
    this.#goOnBehindWindow(response)
    return undefined
  }

  /**
   * The first window that overlaps after pages that did not. If an item moved back, items before it were removed. If more were
   * removed than the total fell by, others were added at the same time, so there was a change before that no total showed.
   */
  #checkTurn(response: Fetched<T>, removed: number): void {
    this.#at.isTurning = false
    const hidden = removed - Math.max(0, this.#at.total - response.totalItems)
    if (hidden > 0) this.#noteMissed(response, 'items were added and removed while the list was read', hidden)
  }

  #goOnBehindWindow(response: Fetched<T>): undefined {
    const { data, page, limit, totalItems } = response
    const isFull = data.length === limit
    // The total may lag: with `verified: true` a full page is not the end.
    const mayEndFull = this.#isOneResponse && this.#options.verified !== true
    if (totalItems === this.#at.end && (!isFull || mayEndFull)) this.#finish()
    else if (isFull) this.#goOn()
    // A short page ends the list. Where its total is another, one of the two is wrong.
    else this.#goOn({ page: page + 1, limit, isBeyondEnd: true })
  }

  /**
   * The page after a short one must be empty. If both say that there is more, a part of the list was never shown: the first page,
   * say, of a service that counts pages from 0.
   */
  #readBeyondEnd(response: Fetched<T> | ApiError): IncompleteReason | undefined {
    const { end, total } = this.#at
    const isGone = response instanceof ApiError
    if (!isGone && response.data.length > 0) return 'short-page'
    const after = isGone ? (this.#last as Fetched<T>) : response
    const promised = Math.min(after.totalItems, total)
    if (promised > end) this.#noteMissed(after, endsShort(after, end, promised), promised - end)
    return this.#finish()
  }

  /** No item of a window is known: goes to where the last one must be by the total, and looks around there. */
  #searchOn(response: Fetched<T> | ApiError): undefined {
    this.#countFruitless(response)
    const isGone = response instanceof ApiError
    if (!isGone && !hasNoTotal(response)) {
      this.#noteDropped(response)
      this.#search ??= { missed: response, pages: this.#pagesAroundLast(response) }
    }
    // Where a window is missing, the list has shrunk to before it. Page 1 says how long it is.
    const page = this.#search ? this.#search.pages.next().value : 1
    if (page === undefined) throw isGone ? response : nothingKnown(response, this.#last === undefined)
    this.#next = { page, limit: this.#at.limit }
  }

  #pagesAroundLast({ totalItems }: Fetched<T>): Iterator<number, undefined> {
    const { limit, end, total } = this.#at
    const pages = Math.max(1, Math.ceil(totalItems / limit))
    const middle = Math.min(pages, pageHolding(end + totalItems - total, limit))
    // So that it does not step over all items that are known.
    const stride = Math.max(1, Math.floor((this.#known?.size ?? 0) / (2 * limit)))
    return pagesAround(middle, pages, stride)
  }

  /** From here on pages are read one after the other: the walk is not proven. */
  #giveUpOverlap(reason: IncompleteReason, response: Fetched<T> | ApiError | undefined): void {
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
  }

  // Used by both ways of reading.

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

  /** Reads a response from a place on, up to `maxItems`. Returns the place after the last item; all are known from here on. */
  #accept(response: Fetched<T>, from: number): number {
    const at = this.#at
    const { data, totalItems } = response
    const keys = response.keys()
    let cut = from
    for (; cut < data.length && this.#items.length < this.#remaining; cut++) {
      if (this.#known?.add(keys?.[cut]) ?? true) this.#items.push(data[cut] as T)
    }
    this.#known?.endWindow(cut - from)
    if (this.#hasBegun && totalItems !== at.total) this.#drift(response, 'total', at.total, totalItems)
    if (this.#dropped.size > 0) for (const key of keys ?? []) this.#dropped.delete(key as Key)
    at.keysHold ||= this.#hasBegun && this.#items.length > 0
    this.#last = response
    at.total = totalItems
    at.items += this.#items.length
    at.count += this.#items.length
    return cut
  }

  #goOn(window?: Window): void {
    if (this.#remaining > 0) this.#next = window ?? this.#windowAtEnd()
    else this.#finish(true)
  }

  #windowAtEnd(): Window {
    const { overlap, end, limit } = this.#at
    if (overlap === 'on') {
      const window = this.#farthestWindow(end)
      if (window) return window
      this.#giveUpOverlap('limit-too-small', this.#last)
    }
    return { page: Math.floor(end / limit) + 1 }
  }

  #farthestWindow(end: number): Window | undefined {
    return farthestWindow(Math.max(1, end), Math.min(this.#at.limit, this.#options.maxLimit))
  }

  /** The window that will be read after another if the list stays as it is. */
  #windowAfter({ page, limit = this.#at.limit, isBeyondEnd }: Window): Window | undefined {
    const { total, end, overlap } = this.#at
    const reach = page * limit
    const isLast = reach >= Math.min(total, end + this.#remaining)
    if (isLast || isBeyondEnd || this.#search) return undefined
    return overlap === 'on' ? this.#farthestWindow(reach) : { page: page + 1 }
  }

  #countFruitless(response: Fetched<T> | ApiError): void {
    if (++this.#at.fruitless <= maxFruitless) return
    throw response instanceof ApiError ? response : noProgress(response, maxFruitless)
  }

  #noteMissed(response: Fetched<T>, problem: string | Error, missed: number): void {
    const { overlap } = this.#at
    this.#drift(response, 'missing', response.totalItems, Math.max(0, response.totalItems - missed))
    // Before it is thrown: the cursor of the error must say it.
    this.#at.gap = 'missed-items'
    if (this.#options.onMissedItems === 'continue') return
    if (typeof problem !== 'string') throw problem
    const isRepairable = this.#options.verified === false && overlap !== 'impossible'
    throw missedItems(response, problem, missed, isRepairable)
  }

  #drift({ response }: LoadedPage<T>, change: 'total' | 'missing', before: number, after: number): void {
    response.report.emit({ type: 'drift', change, before, after })
  }

  #finish(isCut = false): undefined {
    const { items, count, total, firstTotal, end, fruitless, keysHold } = this.#at
    const last = this.#last
    // For example, an itemKey that is the place on a page.
    const keysMayRepeat = fruitless > 0 && !keysHold && total === firstTotal
    if (last && keysMayRepeat && count < Math.min(total, end)) throw keysRepeat(last, count, total)
    // What only a dropped response showed did not come again. As many as the total fell by were removed; the others moved to where
    // the walk had already been.
    const missed = this.#dropped.size - Math.max(0, this.#prefetcher.largestTotal - total)
    if (last && this.#at.gap && missed > 0 && !isCut)
      this.#noteMissed(last, 'items disappeared while the list was read', missed)
    const { gap } = this.#at
    const wasOneState = gap !== 'missed-items' && this.#isOneResponse
    const reason = isCut ? 'max-items' : wasOneState ? undefined : gap
    const { requests } = this.#prefetcher
    const isComplete = reason === undefined
    const event = { type: 'end', items, requests, totalItems: total, isComplete, reason } as const
    this.#end(() => last?.response.report.emit(event))
  }

  #writeCursor(): string {
    const { limit, end, count, total, gap } = this.#at
    const { chain = [], others = [] } = this.#known?.newest() ?? {}
    const toHash = (key: Key) => (this.#options.after ? String(key) : hashKey(key))
    const keys = { chain: chain.map(toHash), others: others.map(toHash) }
    return writeCursor({ limit, end, count, total, gap, keys }, this.#options.list)
  }
}

/** A total that is counted along with the items of a page is 0 where there are none: beyond the end it says nothing. */
function hasNoTotal({ page, data, totalItems }: LoadedPage<unknown>): boolean {
  return page > 1 && data.length === 0 && totalItems === 0
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
