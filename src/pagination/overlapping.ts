import type { IncompleteReason } from '../events.js'
import type { ReadBatch } from './page.js'
import type { Position, Reading } from './position.js'
import type { Plan, Seen, Window } from './requests.js'
import { cannotOverlap, endsShort, failure, nothingKnown } from './walk-errors.js'
import { reach, start, windowAhead, windowAt, windowBefore, windowOf } from './windows.js'

/** Of a service that cuts pages by another limit than it says. */
const maxDetours = 3
/** Responses beyond a gap: bounds memory. */
const maxHeld = 64

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
  #held: Seen<T>[] = []
  /** How far before the last item a window begins, as items may move between two responses: 1 while they stay. */
  #margin = 1
  /** A limit other than the one in effect was honoured. */
  #honoursLimits = false
  /** Items may have moved since they were read. After a cursor, nobody knows. */
  #hasMoved: boolean
  /** Searches in a row that found the last item where it had been, so the window before should have shown it. */
  #detours = 0

  constructor(at: Position<T>) {
    this.#at = at
    this.#hasMoved = at.options.after !== undefined
  }

  /** Yields what is new. Throws `cannotOverlap` where a response shows that windows cannot. */
  async *read(): Reading<T> {
    const at = this.#at
    while (at.remaining > 0) {
      // What was held, can be read by now, and says how the list goes on.
      const held = this.#held.find(seen => this.#showsKnown(seen) && !at.known.has(seen.keys.at(-1)))
      let seen = held ?? (await this.#requestNext())
      let missed: Seen<T> | undefined
      if (!this.#showsKnown(seen) || this.#isElsewhere(seen)) {
        missed = seen
        seen = await this.#search(missed)
      }
      this.#learnFrom(seen, missed)
      const news = yield* this.#take(seen)
      const { start, data, limit } = seen
      // `until` or `maxItems` cuts it.
      if (at.end < start + data.length) break
      if (data.length === limit) continue
      if (at.end === seen.total) return at.gap
      // An item may have been added after these rows were read. If the next window brings nothing new, the list has ended.
      if (news === 0 || (seen.isShort && at.requests.pagesAreShort)) return this.#readBehind(seen)
    }
    return 'max-items'
  }

  // Which response comes next.

  /** The window that was planned if it goes on from here, else another one. */
  #requestNext(): Promise<Seen<T>> {
    const { requests, end } = this.#at
    const { planned } = requests
    const plan: Plan = window =>
      this.#at.goesOnAfter(reach(window)) ? this.#windowAfter(reach(window)) : undefined
    const goesOn = planned && start(planned) < end && reach(planned) > end
    return this.#get(goesOn ? planned : this.#windowAfter(end), plan)
  }

  #windowAfter(end: number): Window {
    return windowAhead(end, this.#at.limit, Math.round(this.#margin))
  }

  async #get(window: Window, plan?: Plan): Promise<Seen<T>> {
    const seen = await this.#at.requests.get(window, plan)
    // After one smaller limit was honoured, a 400 or 422 means that the page does not exist, or that the limit is too large.
    const isLimitRefused = seen.isRefused && !(this.#honoursLimits && seen.limit <= this.#at.limit)
    if (seen.problem || isLimitRefused) this.#giveUp(seen.problem ?? 'limit-not-honoured')
    return seen
  }

  #giveUp(reason: IncompleteReason): never {
    this.#at.gap = reason
    throw cannotOverlap
  }

  /** Whether an item is shown that was read, or nothing can precede those that are shown. */
  #showsKnown({ page, keys }: Seen<T>): boolean {
    const { known, options } = this.#at
    const isBeginning = page === 1 && (keys.length === 0 || (options.firstPage === 1 && !known.hasForgotten))
    return isBeginning || keys.some(key => known.has(key))
  }

  /** Whether only known items are shown, in other places, although nothing moved: of a service whose ids are row numbers. */
  #isElsewhere(seen: Seen<T>): boolean {
    const { known, total, end } = this.#at
    if (this.#hasMoved || seen.total !== total || this.#endShownBy(seen) === end) return false
    return seen.keys.every(key => known.has(key))
  }

  /**
   * Looks for an item that was read: where the last one must be by the total, then back from the window that missed it to page 1,
   * then on from there to the end. Each place is looked at once. Responses that show nothing known are held: they lie beyond a gap.
   */
  async #search(missed: Seen<T>): Promise<Seen<T>> {
    const { limit, end, total: totalBefore } = this.#at
    let seen = missed
    const finds = async (window: Window, plan?: Plan) => {
      this.#hold(seen)
      seen = await this.#get(window, plan)
      return this.#showsKnown(seen)
    }
    // A page that does not exist has no total: page 1 says how long the list is.
    const { total = 0 } = missed.total === undefined ? await this.#get(windowOf(1, limit)) : missed
    let first = Math.min(missed.start, total)
    if (total !== totalBefore) {
      const last = Math.min(end + total - totalBefore, total) - 1
      const window = windowAt(Math.max(0, last), limit)
      if (await finds(window)) return seen
      if (reach(window) >= first) first = Math.min(first, start(window))
    }
    // On a long way back, several at a time, in place of what was requested ahead.
    const before: Plan = window => (start(window) > 0 ? windowBefore(start(window), limit) : undefined)
    let steps = 0
    for (; first > 0; first = seen.start)
      if (await finds(windowBefore(first, limit), ++steps > 3 ? before : undefined)) return seen
    // A service may show its last page wherever there is none.
    const farthest = Math.max(total, end) + 8 * limit
    for (seen = missed; seen.data.length === seen.limit && seen.start < farthest; )
      if (await finds(windowAt(seen.start + seen.limit, limit))) return seen
    throw failure(seen, nothingKnown, true)
  }

  /** If there are too many, the farthest is dropped, and requested again. */
  #hold(seen: Seen<T>): void {
    if (this.#held.includes(seen) || this.#showsKnown(seen)) return
    this.#held.push(seen)
    this.#held.sort((a, b) => a.start - b.start)
    this.#held.splice(maxHeld)
  }

  // What a response says, and reading it.

  /** What a response says of the service and of the pace of changes. */
  #learnFrom(seen: Seen<T>, missed: Seen<T> | undefined): void {
    const { known, end, total, limit } = this.#at
    const { keys, total: totalNow = total } = seen
    const moved = end - this.#endShownBy(seen)
    const isInPlace = moved === 0
    // It was there all the time, so the missed window should have shown it.
    if (isInPlace && missed && (missed.total ?? totalNow) === totalNow) {
      const isEnd = end === totalNow && missed.data.length === 0
      if (isEnd || ++this.#detours > maxDetours) this.#giveUp('limit-not-honoured')
    }
    this.#hasMoved ||= !isInPlace
    const { isOther, last } = known.orderOf(keys)
    // An item behind the last one that is known, although nothing has ever moved, shares its key with another.
    if (!this.#hasMoved && seen.start + last >= end) this.#giveUp('item-key-not-unique')
    if (isOther) this.#at.noteDisorder(seen)
    this.#honoursLimits ||= seen.limit < limit
    // As far as the last item moved; a window that missed it shows that the margin is not enough.
    const needed = 1 + (Math.max(moved, missed ? this.#margin : 0) || 0)
    this.#margin = Math.max(1, 0.9 * this.#margin, Math.min(needed, limit / 2))
  }

  /** The place after the last item read, if that is shown. */
  #endShownBy({ keys, start }: Seen<T>): number {
    const { last } = this.#at.known
    const index = last === undefined ? -1 : keys.lastIndexOf(last)
    return index < 0 ? Number.NaN : start + index + 1
  }

  /** Reads what follows the first known item. Returns how many items were new. */
  *#take(seen: Seen<T>): Generator<ReadBatch<T>, number> {
    const at = this.#at
    const firstKnown = seen.keys.findIndex(key => at.known.has(key))
    const hasShrunk = (seen.total ?? at.total) < at.total
    const news = yield* at.take(seen, Math.max(0, firstKnown), false)
    this.#held = this.#held.filter(held => held !== seen && held.start + held.data.length > at.end)
    // Page 1 is read without a known item. New items there, again and again while the total stays: the service makes up ids.
    const isProgress = news > 0 && (firstKnown >= 0 || hasShrunk)
    if (isProgress) this.#detours = 0
    at.noteProgress(seen, isProgress)
    return news
  }

  /**
   * The page behind a short one must be empty. If both say that there is more, a part of the list was never shown: the first page,
   * say, of a service that counts pages from 0.
   */
  async #readBehind(short: Seen<T>): Promise<IncompleteReason | undefined> {
    const { end, total } = this.#at
    const behind = await this.#get(windowOf(short.page + 1, short.limit))
    if (behind.data.length > 0) this.#giveUp('short-page')
    const promised = Math.min(total, behind.total ?? total)
    if (promised > end) this.#at.noteMissed(short, promised - end, endsShort(end, promised), false)
    return this.#at.gap
  }
}
