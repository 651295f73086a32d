import { Drift } from './drift.js'
import type { Key } from './known-items.js'
import type { ReadBatch, Window } from './page.js'
import type { Position, Reading } from './position.js'
import { isRefusal, type ListResponse, type Plan } from './requests.js'
import { countedFrom0, emptyPage, endsShort, failure, itemsRepeat } from './walk-errors.js'
import { reach, start, windowAhead, windowAt, windowBefore, windowOf } from './windows.js'

/** Of a service that cuts pages by another limit than it says. */
const maxDetours = 3
/** Responses beyond a gap: bounds memory. */
const maxHeld = 64
/** How often a loop asks whether the order of the list depends on the request. */
const maxOrderChecks = 2

/**
 * Reads on by windows that overlap: each begins at or before the last item read, and is read only if it shows an item that was
 * read. What follows that item there is what comes next in the list. docs/decisions/one-walk.md proves what this is worth.
 *
 * The proof compares items, not states, so it does not matter when a response was requested: one that shows nothing known yet is
 * held until it does.
 */
export class OverlappingReader<T> {
  readonly #at: Position<T>
  /** Responses that showed nothing known when they came, by their places. */
  #held: ListResponse<T>[] = []
  #drift = new Drift()
  /** When the last item was shown where it is said to be. */
  #shownAt: number
  /** The last response that was read. */
  #before: ListResponse<T> | undefined
  #orderChecks = 0
  /** How many pages in a row have shown the same items. */
  #samePages = 0
  /** A limit other than the one in effect was honoured. */
  #honoursLimits = false
  /** Items may have moved since they were read. After a cursor, nobody knows. */
  #hasMoved: boolean
  /** Searches in a row that found the last item where it had been, so the window before should have shown it. */
  #detours = 0

  constructor(at: Position<T>) {
    this.#at = at
    this.#hasMoved = at.options.after !== undefined
    this.#shownAt = at.requests.last?.time ?? at.requests.time
    this.#before = at.requests.last
  }

  /** Yields what is new. Throws where a response shows that windows cannot overlap: `doubt` says why. */
  async *read(): Reading<T> {
    const at = this.#at
    /** How many responses in a row were not full. */
    let ends = 0
    while (at.remaining > 0) {
      // What was held, can be read by now, and says how the list goes on.
      const held = this.#held.find(seen => this.#showsKnown(seen))
      let seen = held ?? (await this.#confirm(await this.#requestNext()))
      const again = await this.#checkOrder(seen)
      // If the item by which it would be read has moved, what is new in front of that comes next.
      const isNext = again && this.#showsKnown(again) && again.keys.some(key => !at.known.has(key))
      if (isNext && this.#showsKnown(seen) && !at.known.has(seen.keys[0])) {
        this.#held.unshift(seen)
        seen = again
      }
      let missed: ListResponse<T> | undefined
      if (!this.#showsKnown(seen) || this.#isElsewhere(seen)) {
        missed = seen
        this.#hold(missed)
        at.requests.slowDown()
        seen = again && this.#showsKnown(again) ? again : await this.#search(missed)
      }
      this.#learnFrom(seen, missed)
      const news = yield* this.#take(seen)
      const { start, data, limit } = seen
      // `until` or `maxItems` may have cut it.
      const isFull = at.end < start + data.length || data.length === limit
      ends = isFull ? 0 : ends + 1
      if (isFull) continue
      if (at.end === seen.total) return false
      // An item may have been added after these rows were read. If the next window brings nothing new, the list has ended.
      const isShort = seen.isShort && at.requests.pagesAreShort
      if ((news === 0 || ends > 1 || isShort) && (await this.#isEnd(seen))) return false
    }
    return true
  }

  // Which response comes next.

  /** The window that was planned if it goes on from here, else another one. */
  #requestNext(): Promise<ListResponse<T>> {
    const { requests, end } = this.#at
    const { planned } = requests
    const plan: Plan = (window, time) =>
      this.#at.goesOnAfter(reach(window)) ? this.#windowAfter(reach(window), time) : undefined
    const endThen = planned ? this.#expectEnd(planned.sent.time) : end
    // If it may be beyond a gap, it is read all the same: with it, all that is in flight would be dropped.
    const goesOn =
      planned && start(planned.window) < Math.max(end, endThen) && reach(planned.window) > endThen
    return this.#get(goesOn ? planned.window : this.#windowAfter(end, this.#timeSinceShown), plan)
  }

  get #timeSinceShown(): number {
    return this.#at.requests.time - this.#shownAt
  }

  /** Where the last item was, or will be, at a time. */
  #expectEnd(time: number): number {
    return this.#at.end - this.#drift.expect(time - this.#shownAt)
  }

  #windowAfter(end: number, time: number): Window {
    return windowAhead(end - this.#drift.expect(time), this.#at.limit, this.#drift.margin)
  }

  async #get(window: Window, plan?: Plan): Promise<ListResponse<T>> {
    const { requests, limit, total, options } = this.#at
    // A larger limit than the list's own may be refused for its first page, too.
    const isOther = window.page === 1 && window.limit !== limit
    const seen = await requests.get(isOther ? { ...window, accepts: isRefusal } : window, plan)
    if (seen.problem) throw this.#at.cannotOverlap(seen, seen.problem)
    // After one smaller limit was honoured, a 400 or 422 means that the page does not exist, or that the limit is too large.
    if (isRefusal(seen.response.status) && !(this.#honoursLimits && seen.limit <= limit)) {
      if (options.verified && seen.start < total) await this.#insist(seen)
      throw this.#at.cannotOverlap(seen, 'limit-not-honoured')
    }
    return seen
  }

  /**
   * A page that does not exist has no total: page 1 says how long the list is. If it should exist, it is requested again, and a refusal is
   * then the error of the call, with the service's reason.
   */
  async #confirm(seen: ListResponse<T>): Promise<ListResponse<T>> {
    if (seen.total !== undefined) return seen
    const { total = 0 } = await this.#get(windowOf(1, this.#at.limit))
    const isRefused = (seen.response.status === 404 || isRefusal(seen.response.status)) && seen.start < total
    return isRefused ? this.#insist(seen) : { ...seen, total }
  }

  #insist({ page, limit }: ListResponse<T>): Promise<ListResponse<T>> {
    return this.#at.requests.get({ ...windowOf(page, limit), accepts: undefined })
  }

  /** Whether an item is shown that was read, or nothing can precede those that are shown. */
  #showsKnown({ page, keys }: ListResponse<T>): boolean {
    const { known, options } = this.#at
    const isBeginning = page === 1 && (keys.length === 0 || (options.firstPage === 1 && !known.hasForgotten))
    return isBeginning || keys.some(key => known.has(key))
  }

  /**
   * If the total is the same, but the last item is not where it was, the list has moved, or its order depends on the request, as that of
   * equal dates in a database. So the window that showed it and the one that does not are requested again, in both orders, as two
   * replicas in turn would look alike. If each shows again what it showed, the order is not stable. Else returns the last response.
   */
  async #checkOrder(seen: ListResponse<T>): Promise<ListResponse<T> | undefined> {
    const at = this.#at
    const { end, total } = at
    const { shownBy } = at.mark
    const holdsEnd = seen.data.length > 0 && seen.start < end && end <= seen.start + seen.limit
    const isInPlace = this.#isInPlace(seen)
    const isDone = this.#orderChecks === maxOrderChecks
    if (seen.total !== total || !holdsEnd || isInPlace || isDone) return undefined
    if (this.#isSamePage(seen)) {
      // Once can be chance. Again, and its items are not all that there are: keys are row numbers, or the service ignores `page`.
      if (++this.#samePages > 1 && at.count < total) throw failure(seen, 'item-key-not-unique', itemsRepeat)
      return undefined
    }
    this.#samePages = 0
    this.#orderChecks++
    const before = windowOf(shownBy.page, shownBy.limit)
    const now = windowOf(seen.page, seen.limit)
    const keysBefore =
      this.#before?.page === before.page && this.#before.limit === before.limit && this.#before.keys
    for (const window of [before, now, now, before]) {
      const again = await this.#get(window)
      const keys = window === now ? seen.keys : keysBefore
      // After a cursor, only the last item is known.
      const isSame = keys ? isSameOrder(keys, again.keys) : this.#isInPlace(again)
      // What a cache returns is no evidence.
      if (again.total !== total || !isSame || again.response.headers.has('age')) return again
    }
    // Or its limit cuts a page without moving it: then a page of the list's own limit begins with the same items.
    if (seen.page > 1 && seen.limit !== at.limit) {
      const whole = await this.#get(windowOf(seen.page, at.limit))
      if (seen.keys.every((key, place) => key === whole.keys[place]))
        throw at.cannotOverlap(whole, 'limit-not-honoured')
    }
    if (keysBefore && this.#before && areCountedFrom0(seen, this.#before))
      at.noteMissed(seen, shownBy.limit, countedFrom0)
    else at.noteDisorder(seen)
    return undefined
  }

  /** Whether another page shows the same items. */
  #isSamePage({ keys, start }: ListResponse<T>): boolean {
    const before = this.#before
    return before?.start !== start && keys.every((key, place) => key === before?.keys[place])
  }

  /** Whether only known items are shown, in other places, although nothing moved: of a service whose ids are row numbers. */
  #isElsewhere(seen: ListResponse<T>): boolean {
    const { known, total, end } = this.#at
    if (this.#hasMoved || seen.total !== total || this.#endShownBy(seen) === end) return false
    return seen.keys.every(key => known.has(key))
  }

  /**
   * Looks for an item that was read: where the last one must be by the total, then back from the window that missed it to page 1,
   * then on from there to the end. Each place is looked at once. Responses that show nothing known are held: they lie beyond a gap.
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
    // Farther with each step, as the list may move on as fast as one goes back. But a cursor names few: none may be skipped.
    for (let skipped = 0; first > 0; first = seen.start) {
      if (await finds(windowBefore(Math.max(1, first - skipped), limit))) return seen
      skipped = known.hasForgotten ? 0 : 2 * skipped + limit
    }
    // A service may show its last page wherever there is none.
    const farthest = Math.max(total, end) + 8 * limit
    for (seen = missed; seen.data.length === seen.limit && seen.start < farthest; )
      if (await finds(windowAt(seen.start + seen.limit, limit))) return seen
    throw failure(seen, 'cursor-gone')
  }

  /** If there are too many, the farthest is dropped, and requested again. */
  #hold(seen: ListResponse<T>): void {
    if (this.#held.includes(seen) || this.#showsKnown(seen)) return
    this.#held.push(seen)
    this.#held.sort((a, b) => a.start - b.start)
    this.#held.splice(maxHeld)
  }

  // What a response says, and reading it.

  /** What a response says of the service and of the pace of changes. */
  #learnFrom(seen: ListResponse<T>, missed: ListResponse<T> | undefined): void {
    const { known, end, total, limit } = this.#at
    const { keys, total: totalNow = total } = seen
    // Where page 1 shows nothing known, all that was read is gone.
    const isGone = seen.page === 1 && !keys.some(key => known.has(key))
    const moved = isGone ? end : end - this.#endShownBy(seen)
    const isInPlace = this.#isInPlace(seen)
    // It was there all the time, so the missed window should have shown it.
    if (isInPlace && missed && (missed.total ?? totalNow) === totalNow) {
      const isEmpty = missed.data.length === 0
      if (isEmpty && end < totalNow) throw failure(missed, 'contradiction', emptyPage(missed, totalNow))
      if (isEmpty || ++this.#detours > maxDetours) throw this.#at.cannotOverlap(missed, 'limit-not-honoured')
    }
    this.#hasMoved ||= !isInPlace
    const { isOther, last } = known.orderOf(keys)
    // Or they come behind the last one, although nothing has ever moved.
    if (isOther || (!this.#hasMoved && seen.start + last >= end)) this.#at.noteDisorder(seen)
    this.#honoursLimits ||= seen.limit < limit
    if (this.#before) this.#drift.learn(moved, seen.time - this.#shownAt, limit)
  }

  /** The place after the last item read, if an item is shown that was read: by how many were read after that. */
  #endShownBy({ keys, start }: ListResponse<T>): number {
    const { known } = this.#at
    const index = keys.includes(known.last)
      ? keys.lastIndexOf(known.last)
      : keys.findLastIndex(key => known.has(key))
    return index < 0 ? Number.NaN : start + index + 1 + known.countAfter(keys[index])
  }

  #isInPlace(seen: ListResponse<T>): boolean {
    return seen.keys.includes(this.#at.known.last) && this.#endShownBy(seen) === this.#at.end
  }

  /** Reads what follows the first known item. Returns how many items were new. */
  *#take(seen: ListResponse<T>): Generator<ReadBatch<T>, number> {
    const at = this.#at
    const firstKnown = seen.keys.findIndex(key => at.known.has(key))
    const hasShrunk = (seen.total ?? at.total) < at.total
    // If all of it was read, the last item is farther on, but before what is held.
    const end = Math.min(this.#endShownBy(seen), this.#held[0]?.start ?? Number.POSITIVE_INFINITY)
    const isInFront = end > seen.start + seen.limit && seen.keys.every(key => at.known.has(key))
    if (isInFront) at.end = end
    const news = isInFront ? 0 : yield* at.take(seen, Math.max(0, firstKnown), false)
    this.#shownAt = seen.time
    this.#before = seen
    this.#held = this.#held.filter(held => held !== seen && !at.known.has(held.keys.at(-1)))
    // Page 1 is read without a known item. New items there, again and again while the total stays: the service makes up ids.
    const isProgress = news > 0 && (firstKnown >= 0 || hasShrunk)
    if (isProgress) this.#detours = 0
    at.noteProgress(seen, isProgress)
    return news
  }

  /**
   * Whether the page behind a short one is empty. If both say that there is more, a part of the list was never shown.
   */
  async #isEnd(short: ListResponse<T>): Promise<boolean> {
    const { end, total, requests } = this.#at
    const behind = await this.#get(windowOf(short.page + 1, short.limit))
    if (behind.data.length > 0 && requests.pagesAreShort) throw this.#at.cannotOverlap(behind, 'short-page')
    // The short one has become full meanwhile.
    if (behind.data.length > 0) return false
    const promised = Math.min(total, behind.total ?? total)
    if (promised <= end) return true
    if (!requests.pagesAreShort) {
      // If it shows by now what was promised, that was added after the rows were read, and before they were counted.
      const again = await this.#get(windowOf(short.page, short.limit))
      if (again.start + again.data.length >= promised && this.#showsKnown(again)) return true
    }
    this.#at.noteMissed(short, promised - end, endsShort(end, promised))
    return true
  }
}

function isSameOrder(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((key, place) => key === others[place])
}

/** Whether two pages show the same items where these are if each page begins at `page * limit`. */
function areCountedFrom0(some: ListResponse, others: ListResponse): boolean {
  const shift = others.start + others.limit - some.start - some.limit
  const shared = some.keys.filter(key => others.keys.includes(key))
  const isShifted = (key: unknown) =>
    some.keys.indexOf(key as Key) === others.keys.indexOf(key as Key) + shift
  return some.limit !== others.limit && shared.length > 1 && shared.every(isShifted)
}
