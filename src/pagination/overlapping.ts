import { Drift } from './drift.js'
import { beginsWith, type Key } from './known-items.js'
import type { ReadBatch, Window } from './page.js'
import type { Position, Reading } from './position.js'
import { isBadRequest, type ListResponse, type Plan } from './requests.js'
import { countedFrom0, emptyPage, endsShort, failure } from './walk-errors.js'
import { reach, start, windowAhead, windowAt, windowBefore, windowOf } from './windows.js'

/** Maximum number of responses to keep beyond a gap. */
const maxHeld = 64
/** How often a loop checks whether the order of the list depends on the request. */
const maxOrderChecks = 2

/**
 * Reads overlapping windows. Each begins at or before the last item read, and is read only if it shows a known item. The items
 * after that one come next in the list. docs/decisions/one-walk.md proves that this misses nothing.
 *
 * The proof compares items, so it does not matter when a response was requested. A response without known items is held until one
 * of its items is known.
 */
export class OverlappingReader<T> {
  readonly #at: Position<T>
  /** Responses without known items so far, ordered by place. */
  #held: ListResponse<T>[] = []
  #drift = new Drift()
  /** The time of the response that last showed the last item. */
  #shownAt: number
  #orderChecks = 0
  /** Whether the service has honoured a smaller limit. */
  #honoursLimits = false
  /** Whether items may have moved since they were read. Unknown after a cursor. */
  #hasMoved: boolean

  constructor(at: Position<T>) {
    this.#at = at
    this.#hasMoved = at.options.after !== undefined
    this.#shownAt = at.requests.last?.time ?? at.requests.time
  }

  /** Yields new items. Throws if a response shows that windows cannot overlap, with the reason in `doubt`. */
  async *read(): Reading<T> {
    const at = this.#at
    /** Number of responses in a row that were not full. */
    let ends = 0
    while (at.remaining > 0) {
      // A held response may have become readable.
      const held = this.#held.find(seen => this.#showsKnown(seen))
      let seen = held ?? (await this.#confirm(await this.#requestNext()))
      const again = await this.#checkOrder(seen)
      let missed: ListResponse<T> | undefined
      if (!this.#showsKnown(seen)) {
        missed = seen
        this.#hold(missed)
        at.requests.slowDown(true)
        seen = again && this.#showsKnown(again) ? again : await this.#search(missed)
      }
      seen = await this.#beginKnown(seen)
      this.#learnFrom(seen, missed)
      const news = yield* this.#take(seen)
      if (news === 0) at.requests.slowDown(true)
      const { start, data, limit } = seen
      // `until` or `maxItems` may have ended within it.
      const isFull = at.end < start + data.length || data.length === limit
      ends = isFull ? 0 : ends + 1
      if (isFull) continue
      if (at.end === seen.total) return false
      // An item may have been added after these rows were read. So one more window is read before the end is checked.
      const isShort = seen.isShort && at.requests.pagesAreShort
      if ((news === 0 || ends > 1 || isShort) && (await this.#isEnd(seen))) return false
    }
    return true
  }

  // Requesting the next response.

  /** Requests the prefetched window if it continues from here, else another one. */
  #requestNext(): Promise<ListResponse<T>> {
    const { requests, end, limit } = this.#at
    const { planned } = requests
    // Nothing is prefetched if the list has probably moved by half a window since the last response.
    const isFast = () => Math.abs(this.#drift.expect(this.#timeSinceShown)) > limit / 2
    const plan: Plan = (window, time) =>
      this.#at.goesOnAfter(reach(window)) && !isFast() ? this.#windowAfter(reach(window), time) : undefined
    const endThen = planned ? this.#expectEnd(planned.sent.time) : end
    // Used even if it follows a gap. Dropping it would drop all requests in flight.
    const goesOn =
      planned && start(planned.window) < Math.max(end, endThen) && reach(planned.window) > endThen
    return this.#get(goesOn ? planned.window : this.#windowAfter(end, this.#timeSinceShown), plan)
  }

  get #timeSinceShown(): number {
    return this.#at.requests.time - this.#shownAt
  }

  /** The expected end of the items read, at a time. */
  #expectEnd(time: number): number {
    return this.#at.end - this.#drift.expect(time - this.#shownAt)
  }

  #windowAfter(end: number, time: number): Window {
    const { limit, total } = this.#at
    const expected = Math.min(end - this.#drift.expect(time), Math.max(end, total))
    return windowAhead(expected, limit, this.#drift.margin)
  }

  async #get(window: Window, plan?: Plan): Promise<ListResponse<T>> {
    const { requests, limit, total, options } = this.#at
    // A service may reject a larger limit even for page 1.
    const isOther = window.page === 1 && window.limit !== limit
    let seen = await requests.get(isOther ? { ...window, accepts: isBadRequest } : window, plan)
    // Once a smaller limit was honoured, a 400 or 422 at up to `limit` means that the page does not exist.
    if (isBadRequest(seen.response.status) && !(this.#honoursLimits && seen.limit <= limit)) {
      if (!options.verified || seen.start >= total) throw this.#at.cannotOverlap(seen, 'limit-not-honoured')
      // Throws the service's error if it refuses again.
      seen = await this.#insist(seen)
    }
    if (seen.problem) throw this.#at.cannotOverlap(seen, seen.problem)
    // A lowered limit can look like a short last page. Then the last item is out of place.
    if (seen.hasOwnLimit && seen.page > 1 && !this.#isInPlace(seen))
      throw this.#at.cannotOverlap(seen, 'limit-not-honoured')
    return seen
  }

  /**
   * Adds the total of page 1 to a page that does not exist. If that page should exist, it is requested again. A refusal, or another
   * page, then throws. Exception: a service that ignores smaller limits has no such page, so windows cannot overlap.
   */
  async #confirm(seen: ListResponse<T>): Promise<ListResponse<T>> {
    if (seen.total !== undefined) return seen
    const { limit } = this.#at
    const { total = 0 } = await this.#get(windowOf(1, limit))
    if (seen.start >= total) return { ...seen, total }
    if ((seen.page - 1) * limit >= total && !this.#honoursLimits)
      throw this.#at.cannotOverlap(seen, 'limit-not-honoured')
    const again = await this.#insist(seen)
    return { ...again, total: again.total ?? total }
  }

  #insist({ page, limit }: ListResponse<T>): Promise<ListResponse<T>> {
    return this.#at.requests.get({ ...windowOf(page, limit), accepts: undefined })
  }

  /** Whether a response shows a known item, or begins the list. */
  #showsKnown({ page, keys }: ListResponse<T>): boolean {
    const { known, options } = this.#at
    const isBeginning = page === 1 && (keys.length === 0 || (options.firstPage === 1 && !known.hasForgotten))
    return isBeginning || keys.some(key => known.has(key))
  }

  /**
   * If the last item is not in its place although the total is the same, the list has changed, or its order depends on the request.
   * Databases order rows with equal dates like that. So both windows are requested again, first in one order, then in the other,
   * because alternating replicas could look the same. If each shows the same items again, the order is not stable. Otherwise
   * returns the last response.
   */
  async #checkOrder(seen: ListResponse<T>): Promise<ListResponse<T> | undefined> {
    const at = this.#at
    const { end, total } = at
    const { shownBy } = at.mark
    const holdsEnd = seen.data.length > 0 && seen.start < end && end <= seen.start + seen.limit
    const isInPlace = this.#isInPlace(seen)
    const isDone = this.#orderChecks === maxOrderChecks
    if (seen.total !== total || !holdsEnd || isInPlace || isDone) return undefined
    this.#orderChecks++
    const before = windowOf(shownBy.page, shownBy.limit)
    const now = windowOf(seen.page, seen.limit)
    const keysBefore = at.before?.page === before.page && at.before.limit === before.limit && at.before.keys
    for (const window of [before, now, now, before]) {
      const again = await this.#get(window)
      const keys = window === now ? seen.keys : keysBefore
      // After a cursor, only the place of the last item is known.
      const isSame = keys
        ? keys.length === again.keys.length && beginsWith(again.keys, keys)
        : this.#isInPlace(again)
      // A cached response is no evidence.
      if (again.total !== total || !isSame || again.response.headers.has('age')) return again
    }
    // The service may shorten a page without shifting it. Then a page of the loop's own limit begins with the same items.
    if (seen.page > 1 && seen.limit !== at.limit) {
      const whole = await this.#get(windowOf(seen.page, at.limit))
      if (beginsWith(whole.keys, seen.keys)) throw at.cannotOverlap(whole, 'limit-not-honoured')
    }
    if (keysBefore && at.before && areCountedFrom0(seen, at.before))
      at.noteMissed(seen, shownBy.limit, countedFrom0)
    else at.noteDisorder(seen)
    return undefined
  }

  /** If new items precede the only known one, that one may have moved. Then the window before them is read first. */
  async #beginKnown(seen: ListResponse<T>): Promise<ListResponse<T>> {
    const { known, limit } = this.#at
    const first = known.firstIn(seen.keys)
    if (seen.page === 1 || first === 0 || known.has(seen.keys[first + 1])) return seen
    const inFront = await this.#get(windowBefore(seen.start, limit))
    if (!this.#showsKnown(inFront) || !known.hasNewsIn(inFront.keys)) return seen
    this.#held.unshift(seen)
    return inFront
  }

  /**
   * Searches for a known item. It starts where the last one should be by the total, goes back from the missed window to page 1, and
   * then forward to the end. It requests each place once. Responses without known items are held.
   */
  async #search(missed: ListResponse<T>): Promise<ListResponse<T>> {
    const { limit, end, total: totalBefore, known } = this.#at
    let seen = missed
    const finds = async (window: Window) => {
      this.#hold(seen)
      seen = await this.#get(window)
      return this.#showsKnown(seen)
    }
    const { total = totalBefore } = missed
    let first = Math.min(missed.start, total)
    const expected = this.#windowAfter(Math.min(end + total - totalBefore, total), this.#timeSinceShown)
    if (expected.page !== missed.page || expected.limit !== missed.limit) {
      if (await finds(expected)) return seen
      if (reach(expected) >= first) first = Math.min(first, start(expected))
    }
    // Steps get larger, because the list may move as fast as the search. After a cursor, which names few items, they are equal.
    for (let skipped = 0; first > 0; first = seen.start) {
      if (await finds(windowBefore(Math.max(1, first - skipped), limit))) return seen
      skipped = known.hasForgotten ? 0 : 2 * skipped + limit
    }
    // A service may return its last page for any page beyond.
    const farthest = Math.max(total, end) + 8 * limit
    for (seen = missed; seen.data.length === seen.limit && seen.start < farthest; )
      if (await finds(windowAt(seen.start + seen.limit, limit))) return seen
    throw failure(seen, 'cursor-gone')
  }

  /** Keeps a response. If there are too many, the farthest is dropped, and later requested again. */
  #hold(seen: ListResponse<T>): void {
    if (this.#held.includes(seen) || this.#showsKnown(seen)) return
    this.#held.push(seen)
    this.#held.sort((a, b) => a.start - b.start)
    this.#held.splice(maxHeld)
  }

  // Reading a response.

  /** Learns from a response about the service, and how fast the list changes. */
  #learnFrom(seen: ListResponse<T>, missed: ListResponse<T> | undefined): void {
    const { known, end, total, limit } = this.#at
    const { keys, total: totalNow = total } = seen
    const moved = end - this.#endShownBy(seen)
    const isInPlace = this.#isInPlace(seen)
    // The last item had not moved, so the missed window should have shown it.
    if (isInPlace && missed && missed.start < end && (missed.total ?? totalNow) === totalNow) {
      const isEmpty = missed.data.length === 0
      if (isEmpty && end < totalNow) throw failure(missed, 'contradiction', emptyPage(missed, totalNow))
      if (isEmpty) throw this.#at.cannotOverlap(missed, 'limit-not-honoured')
    }
    this.#hasMoved ||= !isInPlace
    const { isOther, last } = known.orderOf(keys)
    // Known items after the last one are out of order if nothing has ever moved.
    if (isOther || (!this.#hasMoved && seen.start + last >= end)) this.#at.noteDisorder(seen)
    this.#honoursLimits ||= seen.limit < limit
    if (this.#at.before) this.#drift.learn(moved, seen.time - this.#shownAt, limit)
  }

  /** The place after the last item read, according to a response. Only page 1 may show no known item. Then all are gone. */
  #endShownBy({ keys, start }: ListResponse<T>): number {
    const { known } = this.#at
    const index = keys.includes(known.last)
      ? keys.lastIndexOf(known.last)
      : keys.findLastIndex(key => known.has(key))
    return index < 0 ? 0 : start + index + 1 + known.countAfter(keys[index])
  }

  #isInPlace(seen: ListResponse<T>): boolean {
    return seen.keys.includes(this.#at.known.last) && this.#endShownBy(seen) === this.#at.end
  }

  /** Reads the items after the first known one. Returns the number of new ones. */
  *#take(seen: ListResponse<T>): Generator<ReadBatch<T>, number> {
    const at = this.#at
    const firstKnown = at.known.firstIn(seen.keys)
    const { total = at.total } = seen
    const hasShrunk = total < at.total
    // Without news, skips to the last item's place, or halfway to held responses that begin before it.
    const reached = seen.start + seen.limit
    const heldFrom = this.#held[0]?.start ?? Number.POSITIVE_INFINITY
    const expected = Math.min(this.#endShownBy(seen), total)
    const end = expected >= heldFrom ? Math.floor((reached + heldFrom) / 2) : expected
    const isInFront = end > reached && !at.known.hasNewsIn(seen.keys)
    if (isInFront) at.end = end
    const news = isInFront ? 0 : yield* at.take(seen, Math.max(0, firstKnown), false)
    this.#shownAt = seen.time
    at.before = seen
    this.#held = this.#held.filter(held => held !== seen && !at.known.has(held.keys.at(-1)))
    // Page 1 needs no known item. If ids are random, it always has new ones, at the same total.
    const isProgress = news > 0 && (firstKnown >= 0 || hasShrunk)
    at.noteProgress(seen, isProgress)
    return news
  }

  /** Whether the list ends with a short page, so the next page is empty. If both totals promise more, items were missed. */
  async #isEnd(short: ListResponse<T>): Promise<boolean> {
    const { end, total, requests } = this.#at
    const behind = await this.#get(windowOf(short.page + 1, short.limit))
    if (behind.data.length > 0 && requests.pagesAreShort) throw this.#at.cannotOverlap(behind, 'short-page')
    // The short page has become full meanwhile.
    if (behind.data.length > 0) return false
    const promised = Math.min(total, behind.total ?? total)
    if (promised <= end) return true
    if (!requests.pagesAreShort) {
      // If the short page now has all promised items, they were added after its rows were read, and before they were counted.
      const again = await this.#get(windowOf(short.page, short.limit))
      if (again.start + again.data.length >= promised && this.#showsKnown(again)) return true
    }
    this.#at.noteMissed(short, promised - end, endsShort(end, promised))
    return true
  }
}

/** Whether two pages show the same items at the same places if pages are counted from 0. */
function areCountedFrom0(some: ListResponse, others: ListResponse): boolean {
  const shift = others.start + others.limit - some.start - some.limit
  const shared = some.keys.filter(key => others.keys.includes(key))
  const isShifted = (key: unknown) =>
    some.keys.indexOf(key as Key) === others.keys.indexOf(key as Key) + shift
  return some.limit !== others.limit && shared.length > 1 && shared.every(isShifted)
}
