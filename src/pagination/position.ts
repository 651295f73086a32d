import { ApiError } from '../errors.js'
import type { IncompleteReason } from '../events.js'
import { type Bookmark, hashKey, writeCursor } from './cursor.js'
import { Frontier, maxNamed } from './frontier.js'
import { type Key, KnownItems } from './known-items.js'
import type { ListSetup, ReadBatch } from './page.js'
import { type ListResponse, Requests } from './requests.js'
import { type Failure, failure, type OverlapProblem } from './walk-errors.js'

/** The position of a loop, as its cursor holds it. */
interface Mark {
  readonly frontier: Frontier
  /** The end, the total and the window of the response that last showed the frontier. */
  readonly end: number
  readonly total: number
  readonly shownBy: Bookmark['shownBy']
  /** Number of items that the loop has yielded. */
  readonly items: number
}

/** Yields new items. Returns whether `maxItems` or `until` ended it. */
export type Reading<T> = AsyncGenerator<ReadBatch<T>, boolean>

/** A search counts as at most this many requests, because one long search is fine. */
const maxSearch = 6
/** Within this many requests, the items left must decrease. A bulk insert may prevent it once. */
const checkpoint = 15
/** After this many responses without another item of `until`, the rest are gone, unless more were added than read. */
const maxLateReads = 2

/** The state of a loop that both readers share: its position, the known items, and its doubts. */
export class Position<T> {
  readonly options: ListSetup<T>
  readonly requests: Requests<T>
  readonly known: KnownItems
  /** The last response that was read. */
  before: ListResponse<T> | undefined
  /** The limit that requests for plain pages send. */
  sentLimit: number | undefined
  /** The limit in effect. */
  limit: number
  /** The place after the last item read. */
  end: number
  total: number
  /** Why the items read so far are not proven to be complete. */
  doubt: IncompleteReason | undefined
  /** Whether the order is not stable. This reason takes precedence over the others. */
  #isDisordered: boolean
  /** Whether it has reached the items that `until` names. */
  hasArrived = false
  /** The position after the last item read. */
  mark: Mark
  /** How many more responses may have no new items. */
  #patience: number
  /** Number of requests sent before the last response, and how many of those count. */
  #sent = 0
  #spent = 0
  #largestTotal = 0
  /** Requests at the next checkpoint, items left at the last one, and checkpoints in a row without progress. */
  #checkpoint = checkpoint
  #leftBefore = Number.POSITIVE_INFINITY
  #stalls = 0
  /** The items that `until` names, in list order: the first ones of a batch, and the farthest ones. */
  readonly #until: readonly ReadonlySet<Key | undefined>[]
  /** The first of these sets with an item that a response has shown. */
  #met: ReadonlySet<Key | undefined> | undefined
  #lateReads = maxLateReads
  /** New items after the last shown item of `until`. Committed late if another item of `until` follows. Otherwise older. */
  readonly #held: { readonly item: T; readonly key: Key | undefined }[] = []
  /** The items shown since the first one of `until`, for the cursor of the first batch. */
  readonly #passed: (Key | undefined)[] = []

  constructor(options: ListSetup<T>, closing: AbortSignal) {
    const { after, until, limit } = options
    this.options = options
    this.requests = new Requests(options, closing)
    this.known = new KnownItems(after?.inOrder, after?.missing)
    this.sentLimit = limit
    this.limit = Math.min(after?.limit ?? 1, limit ?? 1)
    this.end = after?.end ?? 0
    this.total = after?.total ?? 0
    this.doubt = after?.doubt
    this.#isDisordered = this.doubt === 'order-not-stable'
    const frontier = new Frontier(after?.inOrder, after?.missing)
    const shownBy = after?.shownBy ?? { page: 1, limit: 1 }
    this.mark = { frontier, end: this.end, total: this.total, shownBy, items: 0 }
    this.#patience = 8 + this.known.size / this.limit
    this.#until = until ? [until.first, until.inOrder].map(keys => new Set(keys)) : []
  }

  get remaining(): number {
    return this.hasArrived ? 0 : this.options.maxItems - this.mark.items
  }

  /** Number of items read. `end` may be larger, because a service may return the same page again. */
  get count(): number {
    const { firstPage, after } = this.options
    return (after?.end ?? (firstPage - 1) * this.limit) + this.mark.items
  }

  /** Whether the loop will probably read beyond a place. */
  goesOnAfter(place: number): boolean {
    return place < Math.min(this.total, this.end + this.remaining)
  }

  /**
   * Reads a response from an index on, up to `maxItems`. Yields its new items, and returns their number. `isNext` means that it
   * directly follows the page before, as plain pages do.
   */
  *take(seen: ListResponse<T>, from: number, isNext: boolean): Generator<ReadBatch<T>, number> {
    const { data, keys, start, page, limit, total = this.total, response } = seen
    this.before = seen
    const before = this.mark
    const named = this.#meet(keys)
    const until = named ? keys.findLastIndex(key => named.has(key)) + 1 : data.length
    const showsNamed = named !== undefined && keys.some(key => named.has(key) && !this.known.has(key))
    const late = showsNamed ? this.#held.splice(0) : []
    const items = late.map(({ item }) => item)
    const added = late.map(({ key }) => key)
    this.#passed.push(...added)
    /** The index after each new item. */
    const ends = late.map(() => from)
    let place = from
    let news = 0
    for (; place < data.length && items.length < this.remaining; place++) {
      const key = keys[place]
      if (!this.known.add(key, keys[place - 1])) continue
      news++
      if (place >= until) {
        this.#held.push({ item: data[place] as T, key })
        continue
      }
      if (named) this.#passed.push(key)
      if (named?.has(key)) continue
      items.push(data[place] as T)
      added.push(key)
      ends.push(place + 1)
    }
    this.known.forget()
    if (total !== this.total)
      response.report.emit({ type: 'drift', change: 'total', before: this.total, after: total })
    this.end = start + place
    this.total = total
    const markAt = (place: number, count: number): Mark => {
      // Held items are not part of the frontier.
      if (named && place <= from) return { ...before, items: before.items + count }
      const news = withKey(added.slice(0, count))
      const { frontier, isAtEnd } = isNext
        ? { frontier: before.frontier.append(news), isAtEnd: true }
        : before.frontier.advance(withKey(keys.slice(from, place)), news)
      const at = isAtEnd ? { end: start + place, total, shownBy: { page, limit } } : before
      return { ...at, frontier, items: before.items + count }
    }
    this.mark = markAt(Math.min(place, until), items.length)
    const cursor = () => this.#writeCursor(named ? this.#passed : added)
    const aborted = (reason: unknown, given: number) =>
      this.withCursor(
        response.report.abortError(reason),
        given === 0 ? before : markAt(ends[given - 1] as number, given),
      )
    const hasMore = this.end < total
    if (named) this.#noteNamed(showsNamed, keys[until - 1] === [...named].at(-1))
    if (items.length > 0) yield { items, totalItems: total, hasMore, cursor, aborted, response }
    return news
  }

  /** Ends a loop `until` at the last item that it names, or when the others are gone. */
  #noteNamed(isAny: boolean, isLast: boolean): void {
    const { total = 0 } = this.options.until ?? {}
    const isExplained = this.total - total < this.mark.items + this.#held.length
    if (isLast || (!isAny && --this.#lateReads <= 0 && isExplained)) this.hasArrived = true
  }

  /** Whether a response has shown an item that `until` names. Later pages may have no new items. */
  get isNearUntil(): boolean {
    return this.#met !== undefined
  }

  /** The items that `until` names, once a response has shown any. */
  #meet(keys: readonly (Key | undefined)[]): ReadonlySet<Key | undefined> | undefined {
    this.#met ??= this.#until.find(named => keys.some(key => named.has(key)))
    return this.#met
  }

  /**
   * Throws after 8 responses in a row without progress, plus as many as a grown list takes to show all remembered items. Also
   * throws if the list grows as fast as it is read, or the loop needs more than 2.5 times the requests of an unchanged list.
   */
  noteProgress(seen: ListResponse<T>, isAny: boolean): void {
    const { limit, requests } = this
    this.#patience = isAny ? 8 + this.known.size / limit : this.#patience - 1
    this.#spent += Math.min(requests.sent - this.#sent, maxSearch)
    this.#sent = requests.sent
    this.#largestTotal = Math.max(this.#largestTotal, this.total)
    if (isAny && this.#spent >= this.#checkpoint) {
      this.#checkpoint = this.#spent + checkpoint
      const left = Math.min(this.total - Math.max(this.end, this.count), this.remaining)
      this.#stalls = left < this.#leftBefore ? 0 : this.#stalls + 1
      this.#leftBefore = left
    }
    const newShare = Math.max(0.1, 1 - Math.sqrt(1.6 / limit))
    // A total may be capped. Then places exceed it.
    const most = Math.max(this.#largestTotal, this.end)
    if (
      this.#patience < 0 ||
      this.#stalls === 2 ||
      this.#spent > 100 + (2.5 * Math.min(this.mark.items, most)) / (limit * newShare)
    )
      throw failure(seen, 'no-progress')
  }

  /** Creates the error of pages that cannot overlap. Its cursor keeps the reason, so no later run calls itself complete. */
  cannotOverlap(seen: ListResponse<T>, problem: OverlapProblem): unknown {
    this.doubt = problem
    return failure(seen, problem)
  }

  /** Throws. If missed items are accepted, `walk.ts` goes on with plain pages. */
  noteDisorder(seen: ListResponse<T>): never {
    this.doubt = 'order-not-stable'
    this.#isDisordered = true
    throw failure(seen, 'order-not-stable')
  }

  /** Throws unless missed items are accepted. A loop that ended before its total can be resumed. */
  noteMissed(seen: ListResponse<T>, count: number, missed: Partial<Failure>): void {
    const { total: before = this.total, response } = seen
    response.report.emit({ type: 'drift', change: 'missing', before, after: Math.max(0, before - count) })
    const isAccepted = this.options.onMissedItems === 'continue'
    // Set before it is thrown, because the cursor of the error keeps it.
    if (isAccepted || missed.isFinal !== false) this.doubt = 'missed-items'
    if (!isAccepted) throw failure(seen, 'missed-items', missed)
  }

  get #reason(): IncompleteReason | undefined {
    return this.#isDisordered ? 'order-not-stable' : this.doubt
  }

  /** Emits the last event of the loop, when no request is in flight. */
  async emitEnd(atMaxItems: boolean): Promise<void> {
    await this.requests.close()
    const { last, sent } = this.requests
    const reason = atMaxItems ? 'max-items' : this.#reason
    const isComplete = reason === undefined
    const facts = { items: this.mark.items, requests: sent, totalItems: this.total, isComplete, reason }
    last?.response.report.emit({ type: 'end', ...facts })
  }

  /** Adds a cursor to an error, if the loop can be resumed. */
  withCursor(error: unknown, mark: Mark = this.mark): unknown {
    const hasBegun = mark.items > 0 || this.options.after !== undefined
    if (!hasBegun || !(error instanceof ApiError)) return error
    // A resumed loop cannot have `until`, so it would read to the end of the list.
    return error.withCursor(this.requests.loop, this.#writeCursor([], mark), !this.options.until)
  }

  /** `batch` has the keys for a later `until`: the new ones, or all shown since this loop met its own `until`. */
  #writeCursor(batch: readonly (Key | undefined)[], cutAt?: Mark): string {
    const { frontier, ...place } = cutAt ?? this.mark
    const { limit, options } = this
    const doubt = this.#reason
    const hasHashes = (options.after ?? options.until) !== undefined
    const { inOrder, missing } = frontier.names
    // The frontier already names a smaller batch.
    const first = this.isNearUntil || batch.length > maxNamed ? batch.slice(0, maxNamed) : []
    const toHashes = (keys: readonly (Key | undefined)[]) =>
      withKey(keys).map(key => (hasHashes ? String(key) : hashKey(key)))
    const names = {
      inOrder: toHashes(inOrder),
      missing: toHashes(missing),
      first: toHashes(first),
    }
    return writeCursor(
      { limit, doubt, isInterrupted: cutAt !== undefined && place.end >= place.total, ...place, ...names },
      options,
    )
  }
}

function withKey(keys: readonly (Key | undefined)[]): Key[] {
  return keys.filter(key => key !== undefined)
}
