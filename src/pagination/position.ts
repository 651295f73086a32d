import { ApiError } from '../errors.js'
import type { IncompleteReason } from '../events.js'
import { type Bookmark, hashKey, writeCursor } from './cursor.js'
import { Frontier, maxNamed } from './frontier.js'
import { type Key, KnownItems } from './known-items.js'
import type { ListSetup, ReadBatch } from './page.js'
import { type ListResponse, Requests } from './requests.js'
import { type Failure, failure, type OverlapProblem } from './walk-errors.js'

/** How far a loop has come, as a cursor says it. */
interface Mark {
  readonly frontier: Frontier
  /** The end and the total when the frontier was shown last, and by which window. */
  readonly end: number
  readonly total: number
  readonly shownBy: Bookmark['shownBy']
  /** How many items the loop has yielded. */
  readonly items: number
}

/** Yields what is new. Returns whether `maxItems` cut it. */
export type Reading<T> = AsyncGenerator<ReadBatch<T>, boolean>

/** A search counts as so many requests at most: it may be long once. */
const maxSearch = 6
/** How many more responses may follow the first that shows an item of `until`, until one shows the last. */
const maxLateReads = 2

/** Where a loop stands in its list: what a cursor writes down, and what both readers do with a response. */
export class Position<T> {
  readonly options: ListSetup<T>
  readonly requests: Requests<T>
  readonly known: KnownItems
  /** The limit that plain pages send. */
  sentLimit: number | undefined
  /** The limit in effect. */
  limit: number
  /** The place after the last item read. */
  end: number
  total: number
  /** Why what was read is not proven to be complete. */
  doubt: IncompleteReason | undefined
  /** The order is not stable: a reason that outweighs any other. */
  #isDisordered: boolean
  /** It has come to where `until` says. */
  hasArrived = false
  /** What a cursor says when all that was read has been yielded. */
  mark: Mark
  /** How many more responses may bring nothing new. */
  #patience: number
  /** How many requests had been sent at the last response, and how many of them count. */
  #sent = 0
  #spent = 0
  #largestTotal = 0
  /** What `until` names: the first items of a batch, and the farthest, each in the order of the list. */
  readonly #until: readonly ReadonlySet<Key | undefined>[]
  /** Those of them that a response has shown some of. */
  #met: ReadonlySet<Key | undefined> | undefined
  #lateReads = maxLateReads

  constructor(options: ListSetup<T>, closing: AbortSignal) {
    const { after, until, limit } = options
    this.options = options
    this.requests = new Requests(options, closing)
    this.known = new KnownItems(after?.behind, after?.others)
    this.sentLimit = limit
    this.limit = Math.min(after?.limit ?? 1, limit ?? 1)
    this.end = after?.end ?? 0
    this.total = after?.total ?? 0
    this.doubt = after?.doubt
    this.#isDisordered = this.doubt === 'order-not-stable'
    const frontier = new Frontier(after?.behind, after?.others)
    const shownBy = after?.shownBy ?? { page: 1, limit: 1 }
    this.mark = { frontier, end: this.end, total: this.total, shownBy, items: 0 }
    this.#patience = 8 + this.known.size / this.limit
    this.#until = until ? [until.first, until.behind].map(keys => new Set(keys)) : []
  }

  get remaining(): number {
    return this.hasArrived ? 0 : this.options.maxItems - this.mark.items
  }

  /** How many items of the list were read. Its end does not say that: a service may return one page again and again. */
  get count(): number {
    const { firstPage, after } = this.options
    return (after?.end ?? (firstPage - 1) * this.limit) + this.mark.items
  }

  /** Whether the loop goes on after a place, as far as is known. */
  goesOnAfter(place: number): boolean {
    return place < Math.min(this.total, this.end + this.remaining)
  }

  /** Reads a response from a place on, up to `maxItems`. Yields what is new, and returns how much that is. Pages are next to each other. */
  *take(seen: ListResponse<T>, from: number, isNext: boolean): Generator<ReadBatch<T>, number> {
    const { data, keys, start, page, limit, total = this.total, response } = seen
    const items: T[] = []
    const added: (Key | undefined)[] = []
    /** Where those that are new end. */
    const ends: number[] = []
    const before = this.mark
    const named = this.#meet(keys)
    // Items between those that `until` names were added there since: their transactions were committed late.
    const until = named ? keys.findLastIndex(key => named.has(key)) + 1 : data.length
    let place = from
    for (; place < until && items.length < this.remaining; place++) {
      const key = keys[place]
      if (!this.known.add(key, keys[place - 1]) || named?.has(key)) continue
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
      const news = withKey(added.slice(0, count))
      const { frontier, isAtEnd } = isNext
        ? { frontier: before.frontier.append(news), isAtEnd: true }
        : before.frontier.advance(withKey(keys.slice(from, place)), news)
      const at = isAtEnd ? { end: start + place, total, shownBy: { page, limit } } : before
      return { ...at, frontier, items: before.items + count }
    }
    this.mark = markAt(place, items.length)
    if (named && (until === 0 || keys[until - 1] === [...named].at(-1) || this.#lateReads-- === 0))
      this.hasArrived = true
    const cursor = () => this.#writeCursor(named ? keys.slice(from, place) : added)
    const aborted = (reason: unknown, given: number) =>
      this.withCursor(
        response.report.abortError(reason),
        given === 0 ? before : markAt(ends[given - 1] as number, given),
      )
    const hasMore = this.end < total
    if (items.length > 0) yield { items, totalItems: total, hasMore, cursor, aborted, response }
    return items.length
  }

  /** Whether a response has shown an item that `until` names. From there on, pages may bring nothing new. */
  get isNearUntil(): boolean {
    return this.#met !== undefined
  }

  /** Those that `until` names, once a response has shown any. */
  #meet(keys: readonly (Key | undefined)[]): ReadonlySet<Key | undefined> | undefined {
    this.#met ??= this.#until.find(named => keys.some(key => named.has(key)))
    return this.#met
  }

  /**
   * Throws after too many responses in a row without any: all that is remembered may come again, if the list has grown by so much. And
   * where requests bring less than two fifths of what they bring in a list that stays as it is, of items that it had at one time: if
   * others come as fast as these are read, there is no end.
   */
  noteProgress(seen: ListResponse<T>, isAny: boolean): void {
    const { limit, requests } = this
    this.#patience = isAny ? 8 + this.known.size / limit : this.#patience - 1
    this.#spent += Math.min(requests.sent - this.#sent, maxSearch)
    this.#sent = requests.sent
    this.#largestTotal = Math.max(this.#largestTotal, this.total)
    const calm = Math.max(0.1, 1 - Math.sqrt(1.6 / limit))
    if (
      this.#patience < 0 ||
      this.#spent > 100 + (2.5 * Math.min(this.mark.items, this.#largestTotal)) / (limit * calm)
    )
      throw failure(seen, 'no-progress')
  }

  /** The error of a response that shows that pages cannot overlap. Its cursor says so, or a later run would call itself complete. */
  cannotOverlap(seen: ListResponse<T>, problem: OverlapProblem): unknown {
    this.doubt = problem
    return failure(seen, problem)
  }

  /** Throws, unless missed items are accepted. */
  noteDisorder(seen: ListResponse<T>): void {
    this.doubt = 'order-not-stable'
    this.#isDisordered = true
    if (this.options.onMissedItems === 'throw') throw failure(seen, 'order-not-stable')
  }

  /** Throws, unless missed items are accepted. A loop may be resumed after an end that was short of its total. */
  noteMissed(seen: ListResponse<T>, count: number, missed: Partial<Failure>): void {
    const { total: before = this.total, response } = seen
    response.report.emit({ type: 'drift', change: 'missing', before, after: Math.max(0, before - count) })
    const isAccepted = this.options.onMissedItems === 'continue'
    // Before it is thrown: the cursor of the error must say it.
    if (isAccepted || missed.isFinal !== false) this.doubt = 'missed-items'
    if (!isAccepted) throw failure(seen, 'missed-items', missed)
  }

  get #reason(): IncompleteReason | undefined {
    return this.#isDisordered ? 'order-not-stable' : this.doubt
  }

  /** Emits the last event of the loop, so nothing may be in flight any more. */
  async emitEnd(isCut: boolean): Promise<void> {
    const { last, sent } = this.requests
    await this.requests.close()
    const reason = isCut ? 'max-items' : this.#reason
    const isComplete = reason === undefined
    const facts = { items: this.mark.items, requests: sent, totalItems: this.total, isComplete, reason }
    last?.response.report.emit({ type: 'end', ...facts })
  }

  /** An error of this loop, with a cursor if it can go on. */
  withCursor(error: unknown, mark: Mark = this.mark): unknown {
    const hasBegun = mark.items > 0 || this.options.after !== undefined
    if (!hasBegun || !(error instanceof ApiError)) return error
    // To resume a loop `until` an item would read on to the end of the list.
    return error.inLoop(this.requests.loop, this.#writeCursor([], mark), !this.options.until)
  }

  /** `batch` are the keys that `until` looks for: of what was new, or where an `until` has been met, of the whole response. */
  #writeCursor(batch: readonly (Key | undefined)[], cutAt?: Mark): string {
    const { frontier, ...place } = cutAt ?? this.mark
    const { limit, options } = this
    const doubt = this.#reason
    const hasHashes = (options.after ?? options.until) !== undefined
    const { behind, others } = frontier.names
    // What was read later lies behind all that is named, or it would come again.
    const first = this.isNearUntil || batch.length > maxNamed ? batch.slice(0, maxNamed) : []
    const toHashes = (keys: readonly (Key | undefined)[]) =>
      withKey(keys).map(key => (hasHashes ? String(key) : hashKey(key)))
    const names = {
      behind: toHashes(behind),
      others: toHashes(others),
      first: toHashes(first),
    }
    return writeCursor(
      { limit, doubt, isCut: cutAt !== undefined && place.end >= place.total, ...place, ...names },
      options,
    )
  }
}

function withKey(keys: readonly (Key | undefined)[]): Key[] {
  return keys.filter(key => key !== undefined)
}
