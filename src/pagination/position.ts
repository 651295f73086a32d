import { ApiError } from '../errors.js'
import type { IncompleteReason } from '../events.js'
import { type Bookmark, hashKey, type ListName, writeCursor } from './cursor.js'
import { Frontier, maxNamed } from './frontier.js'
import { type Key, KnownItems } from './known-items.js'
import type { LoadPage, ReadBatch } from './page.js'
import { Requests, type Seen } from './requests.js'
import { failure, noProgress, orderNotStable, type Text } from './walk-errors.js'

export interface WalkOptions<T> extends ListName {
  readonly load: LoadPage<T>
  readonly firstPage: number
  /** The limit to send: the caller's, or that of the cursor. */
  readonly limit: number | undefined
  /** If the loop may ask for a limit of its own: the lists that refuse it, and the name of this one. */
  readonly ownLimit: { readonly refusedBy: Set<string>; readonly service: string } | false
  readonly concurrency: number
  readonly maxItems: number
  readonly onMissedItems: 'throw' | 'continue'
  readonly verified: boolean | undefined
  /** The position of an earlier loop. */
  readonly after: Bookmark | undefined
  /** The loop ends before the first item that this one names. */
  readonly until: Bookmark | undefined
  /** Keys are hashes, as in cursors. */
  readonly hashesKeys: boolean
  /** Identifies the loop in errors. */
  readonly loop: number
  /** Ends all requests. */
  readonly closing: AbortSignal
}

/** How far a loop has come, as a cursor says it. */
interface Mark {
  readonly frontier: Frontier
  /** The end and the total when the frontier was shown last. */
  readonly end: number
  readonly total: number
  /** How many items the loop has yielded. */
  readonly items: number
}

/** Yields what is new. Returns why it is not proven to be all, or nothing. */
export type Reading<T> = AsyncGenerator<ReadBatch<T>, IncompleteReason | undefined>

/** Where a loop stands in its list: what a cursor writes down, and what both readers do with a response. */
export class Position<T> {
  readonly options: WalkOptions<T>
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
  gap: IncompleteReason | undefined
  /** It has come to where `until` says. */
  hasArrived = false
  /** What a cursor says when all that was read has been yielded. */
  #mark: Mark
  /** How many more responses may bring nothing new. */
  #patience: number
  /** What `until` names, the first ones first. */
  readonly #until: ReadonlySet<Key | undefined>

  constructor(options: WalkOptions<T>) {
    const { load, concurrency, closing, after, until, limit } = options
    this.options = options
    this.requests = new Requests(load, concurrency, closing)
    this.known = new KnownItems(after?.behind, after?.others)
    this.sentLimit = limit
    this.limit = Math.min(after?.limit ?? 1, limit ?? 1)
    this.end = after?.end ?? 0
    this.total = after?.total ?? 0
    this.gap = after?.gap
    const frontier = new Frontier(after?.behind, after?.others)
    this.#mark = { frontier, end: this.end, total: this.total, items: 0 }
    this.#patience = 8 + this.known.size / this.limit
    this.#until = new Set(until && [...until.first, ...until.behind])
  }

  get remaining(): number {
    return this.hasArrived ? 0 : this.options.maxItems - this.#mark.items
  }

  /** Whether the loop goes on after a place, as far as is known. */
  goesOnAfter(place: number): boolean {
    return place < Math.min(this.total, this.end + this.remaining)
  }

  /** Reads a response from a place on, up to `maxItems`. Yields what is new, and returns how much that is. Pages are next to each other. */
  *take(seen: Seen<T>, from: number, isNext: boolean): Generator<ReadBatch<T>, number> {
    const { data, keys, start, total = this.total, response } = seen
    const items: T[] = []
    const added: (Key | undefined)[] = []
    /** Where those that are new end. */
    const ends: number[] = []
    const before = this.#mark
    let place = from
    for (; place < data.length && items.length < this.remaining; place++) {
      const key = keys[place]
      this.hasArrived = this.#until.has(key)
      if (this.hasArrived) break
      if (!this.known.add(key, keys[place - 1])) continue
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
      const at = isAtEnd ? { end: start + place, total } : before
      return { ...at, frontier, items: before.items + count }
    }
    this.#mark = markAt(place, items.length)
    const cursor = () => this.#writeCursor(added)
    const aborted = (reason: unknown, given: number) =>
      this.withCursor(
        response.report.abortError(reason),
        given === 0 ? before : markAt(ends[given - 1] as number, given),
      )
    const hasMore = this.end < total
    if (items.length > 0) yield { items, totalItems: total, hasMore, cursor, aborted, response }
    return items.length
  }

  /** Throws after too many responses in a row without any: all that is remembered may come again, if the list has grown by so much. */
  noteProgress(seen: Seen<T>, isAny: boolean): void {
    this.#patience = isAny ? 8 + this.known.size / this.limit : this.#patience - 1
    if (this.#patience < 0) throw failure(seen, noProgress)
  }

  /** Throws where the loop must be proven. */
  noteDisorder(seen: Seen<T>): void {
    this.gap = 'order-not-stable'
    if (this.options.verified) throw failure(seen, orderNotStable, true)
  }

  /** Throws, unless missed items are accepted. A loop may be resumed after an end that was short of its total. */
  noteMissed(seen: Seen<T>, count: number, text: Text, isFinal = true): void {
    const { total: before = this.total, response } = seen
    response.report.emit({ type: 'drift', change: 'missing', before, after: Math.max(0, before - count) })
    const isAccepted = this.options.onMissedItems === 'continue'
    // Before it is thrown: the cursor of the error must say it.
    if (isAccepted || isFinal) this.gap = 'missed-items'
    if (!isAccepted) throw failure(seen, text, isFinal)
  }

  emitEnd(reason: IncompleteReason | undefined): void {
    const { last, sent } = this.requests
    const isComplete = reason === undefined
    const facts = { items: this.#mark.items, requests: sent, totalItems: this.total, isComplete, reason }
    last?.response.report.emit({ type: 'end', ...facts })
  }

  /** An error of this loop, with a cursor if it can go on. */
  withCursor(error: unknown, mark: Mark = this.#mark): unknown {
    const hasBegun = mark.items > 0 || this.options.after !== undefined
    if (!hasBegun || !(error instanceof ApiError)) return error
    // To resume a loop `until` an item would read on to the end of the list.
    return error.inLoop(this.options.loop, this.#writeCursor([], mark), !this.options.until)
  }

  /** `batch` are the keys of the batch that it is written for: `until` looks for its first items. */
  #writeCursor(batch: readonly (Key | undefined)[], { frontier, end, total }: Mark = this.#mark): string {
    const { limit, gap, options } = this
    const { behind, others } = frontier.names
    const isNamed = this.#until.size === 0 && batch.length <= maxNamed
    // If all that is new is removed, the next loop meets what this one has met.
    const first = isNamed ? [] : [...batch, ...this.#until].slice(0, maxNamed)
    const toHashes = (keys: readonly (Key | undefined)[]) =>
      withKey(keys).map(key => (options.hashesKeys ? String(key) : hashKey(key)))
    const names = {
      behind: toHashes(behind),
      others: toHashes(others),
      first: toHashes(first),
    }
    return writeCursor({ limit, gap, end, total, ...names }, options)
  }
}

function withKey(keys: readonly (Key | undefined)[]): Key[] {
  return keys.filter(key => key !== undefined)
}
