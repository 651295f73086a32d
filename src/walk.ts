import { type Arrived, type AskPage, PagesAhead } from './ahead.js'

/** What a walk looks at in a page. */
export interface WalkedPage {
  readonly data: readonly unknown[]
  readonly page: number
  readonly totalItems: number
  readonly limit: number
}

/** What a walk is told, and whom it tells. */
export interface WalkOptions<P> {
  readonly ask: AskPage<P>
  readonly firstPage: number
  readonly concurrency: number
  readonly maxItems: number
  readonly onMissedItems: 'throw' | 'continue'
  /** What identifies each item of a page; undefined where nothing does. */
  readonly identify: (page: P) => readonly unknown[] | undefined
  readonly onDrift: (
    page: P,
    change: 'total' | 'duplicate' | 'missing',
    before: number,
    after: number,
  ) => void
  /** The error that ends a walk; `resumeAt` is the page from which a new one misses nothing. */
  readonly contradiction: (page: P, found: string, advice: string, resumeAt: number) => Error
}

/** A page, and the indexes of its items that were not yielded before. */
export interface Step<P> {
  readonly page: P
  /** Undefined: all of them. */
  readonly fresh: readonly number[] | undefined
}

// An insert shifts items by as many places as were inserted: this many pages of them are recognised at least, and
// twice as many are remembered at most, however long the list.
const rememberedPages = 8

/** A page as its items remember it. */
interface Seen {
  readonly page: number
  readonly totalItems: number
  readonly count: number
}

/** One walk along a list, from page to page: every item once, or an error that says why not. */
export class Walk<P extends WalkedPage> {
  readonly #options: WalkOptions<P>
  readonly #ahead: PagesAhead<P>
  /** The page before the one asked for. */
  #previous: Arrived<P> | undefined
  #next: number
  /** Items of the list up to here, those before the first page included; repeated ones count, as the total counts too. */
  #received = 0
  #largestTotal = 0
  /** The totals of pages that have arrived and are not read yet, by number: they may tell of a list that shrank further. */
  readonly #unreadTotals = new Map<number, number>()
  #shortPage: number | undefined
  #yielded = 0
  #isOver = false
  /** Where an item stood last, by its key: on the pages since the last change of maps, and on those before. */
  #keys = new Map<unknown, Seen>()
  #olderKeys = new Map<unknown, Seen>()

  constructor(options: WalkOptions<P>) {
    this.#options = options
    this.#next = options.firstPage
    this.#ahead = new PagesAhead((...asked) => this.#ask(...asked), options.firstPage, options.concurrency)
    if (options.maxItems === 0) this.leave()
  }

  /** The next page, or undefined at the end. Not to be called again before it has settled. */
  async next(): Promise<Step<P> | undefined> {
    if (this.#isOver) return undefined
    try {
      const arrived = await this.#take(this.#next)
      if (this.#isOver) return undefined
      this.#unreadTotals.delete(this.#next)
      const step = this.#accept(arrived)
      this.#previous = arrived
      this.#next++
      this.#plan(arrived.page)
      return step
    } catch (error) {
      // Who left has cancelled the page, and does not want to hear of it.
      if (this.#isOver) return undefined
      this.leave()
      throw error
    }
  }

  /** Ends the walk and what it has in flight. */
  leave(): void {
    this.#isOver = true
    this.#ahead.cancel()
  }

  async #ask(...asked: Parameters<AskPage<P>>): Promise<P> {
    const page = await this.#options.ask(...asked)
    this.#unreadTotals.set(page.page, page.totalItems)
    return page
  }

  /**
   * A page asked for before the one before it had arrived may be from an older state of the list: page 3 served before
   * an insert and page 2 after it have lost the item that moved from 2 to 3. A smaller total shows it; asked again, once,
   * it can only be smaller because the list shrank.
   */
  async #take(page: number): Promise<Arrived<P>> {
    const arrived = await this.#ahead.take(page)
    const previous = this.#previous
    const isOlder =
      previous !== undefined &&
      arrived.page.totalItems < previous.page.totalItems &&
      arrived.askedAt < previous.arrivedAt
    return isOlder && !this.#isOver ? this.#ahead.again(page) : arrived
  }

  /** Checks a page against those before it, and finds what is new on it. */
  #accept({ page }: Arrived<P>): Step<P> {
    const previous = this.#previous?.page
    this.#largestTotal = Math.max(this.#largestTotal, page.totalItems)
    if (previous === undefined) {
      this.#received = (page.page - 1) * page.limit
    } else {
      this.#compare(page, previous)
      this.#refuseEndless(page, previous)
    }
    const fresh = this.#recognise(page)
    this.#received += page.data.length
    if (page.data.length < page.limit) this.#shortPage ??= page.page
    this.#yielded += fresh?.length ?? page.data.length
    if (this.#isEnd(page)) {
      this.#checkComplete(page)
      this.leave()
    }
    return { page, fresh }
  }

  #compare(page: P, previous: P): void {
    const { contradiction, onDrift, onMissedItems } = this.#options
    const { limit, totalItems } = page
    if (limit !== previous.limit) {
      const found = `the limit in effect changed from ${previous.limit} to ${limit} between two pages`
      throw contradiction(page, found, 'Walk anew with a limit that the service allows.', page.page)
    }
    if (totalItems === previous.totalItems) return
    onDrift(page, 'total', previous.totalItems, totalItems)
    if (totalItems > previous.totalItems || onMissedItems === 'continue') return
    const smallest = Math.min(totalItems, ...this.#unreadTotals.values())
    const missed = previous.totalItems - smallest
    // What stood after the deleted items moved forward by as many places, at the most.
    const resumeAt = Math.max(1, Math.floor(((page.page - 1) * limit - missed) / limit) + 1)
    const found = `the list shrank from ${previous.totalItems} to ${smallest} items while it was walked, so that up to ${missed} may have been missed`
    throw contradiction(page, found, resumeAdvice(resumeAt, limit), resumeAt)
  }

  /** Past every total only an empty page ends a walk, and a service that ignores `page` has none. */
  #refuseEndless(page: P, previous: P): void {
    const isPastEnd = page.data.length > 0 && (page.page - 1) * page.limit >= this.#largestTotal
    if (isPastEnd && JSON.stringify(page.data) === JSON.stringify(previous.data)) {
      throw this.#repetition(page, previous.page)
    }
  }

  /** The indexes of the items that no recent page has shown; undefined: all. */
  #recognise(page: P): number[] | undefined {
    const keys = this.#options.identify(page)
    if (keys === undefined) return undefined
    this.#refuseRepeated(page, keys)
    if ((page.page - this.#options.firstPage) % rememberedPages === 0) {
      this.#olderKeys = this.#keys
      this.#keys = new Map()
    }
    const seen: Seen = { page: page.page, totalItems: page.totalItems, count: keys.length }
    const repeated = new Set<number>()
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]
      if (key === undefined) continue
      const before = this.#lastSeen(key)
      this.#keys.set(key, seen)
      if (before === undefined) continue
      repeated.add(index)
      this.#options.onDrift(page, 'duplicate', before.page, page.page)
    }
    return repeated.size === 0 ? undefined : Array.from(keys.keys()).filter(index => !repeated.has(index))
  }

  #lastSeen(key: unknown): Seen | undefined {
    return this.#keys.get(key) ?? this.#olderKeys.get(key)
  }

  /** A service that ignores `page` serves the same one under every number. */
  #refuseRepeated(page: P, keys: readonly unknown[]): void {
    const earlier = this.#lastSeen(keys[0])
    if (earlier?.count !== keys.length || keys.some(key => this.#lastSeen(key) !== earlier)) return
    // Unless a page's worth of items was inserted ahead: then it is the same page, one further.
    if (page.totalItems - earlier.totalItems >= page.limit) return
    throw this.#repetition(page, earlier.page)
  }

  #repetition(page: P, earlier: number): Error {
    const found = `page ${page.page} repeats page ${earlier}`
    const advice = 'The service seems to ignore the page asked for.'
    return this.#options.contradiction(page, found, advice, page.page)
  }

  /** There is no "more" flag: the end follows from the size in effect, the total, and what was received. */
  #isEnd({ data, page, limit, totalItems }: P): boolean {
    if (this.#yielded >= this.#options.maxItems || data.length === 0) return true
    if (page * limit < totalItems) return false
    // Fewer than the total, or more than any total: one of them is wrong, and only an empty page is sure.
    return this.#received >= totalItems && this.#received <= this.#largestTotal
  }

  #checkComplete(page: P): void {
    const { contradiction, maxItems, onDrift, onMissedItems } = this.#options
    const { limit, totalItems } = page
    const missing = totalItems - this.#received
    if (this.#yielded >= maxItems || missing <= 0) return
    onDrift(page, 'missing', totalItems, this.#received)
    if (onMissedItems === 'continue') return
    const resumeAt = this.#shortPage ?? page.page
    const found = `the list ended after ${this.#received} of ${totalItems} items, so that ${missing} may have been missed`
    throw contradiction(page, found, resumeAdvice(resumeAt, limit), resumeAt)
  }

  /** Says up to which page it is sensible to ask ahead. */
  #plan({ page, limit, totalItems }: P): void {
    const wanted = Math.ceil((this.#options.maxItems - this.#yielded) / limit)
    this.#ahead.last = Math.min(Math.ceil(totalItems / limit), page + wanted)
  }
}

function resumeAdvice(page: number, limit: number): string {
  return `Resume with list({ page: ${page}, limit: ${limit} }), or accept it with onMissedItems: 'continue'.`
}
