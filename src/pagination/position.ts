import { ApiError } from '../errors.js'
import type { IncompleteReason } from '../events.js'
import { type Bookmark, hashKey, writeCursor } from './cursor.js'
import { Frontier, maxNamed } from './frontier.js'
import { type Key, KnownItems } from './known-items.js'
import type { LoadPage, ReadBatch } from './page.js'
import { type Seen, Source } from './source.js'
import { failure, orderNotStable, type Text } from './walk-errors.js'

export interface WalkOptions<T> {
  readonly load: LoadPage<T>
  readonly firstPage: number
  /** The limit to send: the caller's, that of the cursor, or the one that this loop asks for. */
  readonly limit: number | undefined
  /** If the loop asks for one: called if the service refuses that. */
  readonly onLimitRefused: (() => void) | undefined
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
  /** Identifies the list in cursors. */
  readonly list: string
  /** Identifies the loop in errors. */
  readonly loop: number
  /** Ends all requests. */
  readonly closing: AbortSignal
}

/** Yields what is new. Returns why it is not proven to be all, or nothing. */
export type Reading<T> = AsyncGenerator<ReadBatch<T>, IncompleteReason | undefined>

/** Where a loop stands in its list: what a cursor writes down, and what both readers do with a response. */
export class Position<T> {
  readonly options: WalkOptions<T>
  readonly source: Source<T>
  readonly known: KnownItems
  readonly #frontier: Frontier
  /** The limit in effect. */
  limit: number
  /** The place after the last item read. */
  end: number
  total: number
  /** Why what was read is not proven to be complete. */
  gap: IncompleteReason | undefined
  /** It has come to where `until` says. */
  hasArrived = false
  /** How many items this loop has yielded. */
  #items = 0
  /** What `until` names, the first ones first. */
  readonly #until: ReadonlySet<Key | undefined>

  constructor(options: WalkOptions<T>) {
    const { after, until, onLimitRefused } = options
    this.options = options
    this.source = new Source({ ...options, mayRefuseFirst: onLimitRefused !== undefined }, () => this.total)
    this.#until = new Set(until && [...until.first, ...until.behind])
    this.known = new KnownItems(after?.behind, after?.ahead)
    this.#frontier = new Frontier(after)
    this.limit = Math.min(after?.limit ?? 1, options.limit ?? 1)
    this.end = after?.end ?? 0
    this.total = after?.total ?? 0
    this.gap = after?.gap
  }

  get remaining(): number {
    return this.hasArrived ? 0 : this.options.maxItems - this.#items
  }

  /** Whether the loop goes on after a place, as far as is known. */
  goesOnAfter(place: number): boolean {
    return place < Math.min(this.total, this.end + this.remaining)
  }

  /**
   * Reads a response from a place on, up to `maxItems`. Yields what is new, and returns how much that is. Pages follow each other;
   * a window can show again what was read.
   */
  *take(seen: Seen<T>, from: number, follows: 'pages' | 'windows'): Generator<ReadBatch<T>, number> {
    const { data, keys, start, total = this.total, response } = seen
    const items: T[] = []
    const added: (Key | undefined)[] = []
    let place = from
    for (; place < data.length && items.length < this.remaining; place++) {
      const key = keys[place]
      this.hasArrived = this.#until.has(key)
      if (this.hasArrived) break
      if (!this.known.add(key, keys[place - 1])) continue
      items.push(data[place] as T)
      added.push(key)
    }
    this.known.forget()
    if (total !== this.total)
      response.report.emit({ type: 'drift', change: 'total', before: this.total, after: total })
    this.end = start + place
    this.total = total
    if (follows === 'pages') this.#frontier.append(withKey(added))
    if (follows === 'pages' || this.#frontier.advance(keys.slice(from, place) as Key[], added as Key[]))
      Object.assign(this.#frontier, { end: this.end, total })
    this.#items += items.length
    const hasMore = this.end < total
    const cursor = () => this.#writeCursor(added)
    if (items.length > 0) yield { items, totalItems: total, hasMore, cursor, response }
    return items.length
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
    const { last, requests } = this.source
    const isComplete = reason === undefined
    const facts = { items: this.#items, requests, totalItems: this.total, isComplete, reason }
    last?.response.report.emit({ type: 'end', ...facts })
  }

  /** An error of this loop, with a cursor if it can go on. */
  withCursor(error: unknown): unknown {
    const hasBegun = this.#items > 0 || this.options.after !== undefined
    if (!hasBegun || !(error instanceof ApiError)) return error
    // To resume a loop `until` an item would read on to the end of the list.
    return error.inLoop(this.options.loop, this.#writeCursor([]), !this.options.until)
  }

  /** `batch` are the keys of the batch that it is written for: `until` looks for its first items. */
  #writeCursor(batch: readonly (Key | undefined)[]): string {
    const { limit, gap, options } = this
    const { behind, ahead, end, total } = this.#frontier.place
    const isNamed = this.#until.size === 0 && batch.length <= maxNamed
    // If all that is new is removed, the next loop meets what this one has met.
    const first = isNamed ? [] : [...batch, ...this.#until].slice(0, maxNamed)
    const toHashes = (keys: readonly (Key | undefined)[]) =>
      withKey(keys).map(key => (options.hashesKeys ? String(key) : hashKey(key)))
    const names = { behind: toHashes(behind), ahead: toHashes(ahead), first: toHashes(first) }
    return writeCursor({ limit, end, total, gap, ...names }, options.list)
  }
}

function withKey(keys: readonly (Key | undefined)[]): Key[] {
  return keys.filter(key => key !== undefined)
}
