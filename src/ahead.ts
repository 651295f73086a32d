/** Asks for a page. `onSlowDown` is called at once when the service asks for fewer requests. */
export type AskPage<P> = (page: number, signal: AbortSignal, onSlowDown: () => void) => Promise<P>

/** A page and when, in the order of events of its walk, it was asked for and arrived. */
export interface Arrived<P> {
  readonly page: P
  readonly askedAt: number
  readonly arrivedAt: number
}

// Leaving early should waste little: the second page asked for brings one more, the third fills up to four.
const slowStart = [1, 2, 4]

/** The pages a walk has in flight or waiting to be read. Knows their numbers, not what they say. */
export class PagesAhead<P> {
  readonly #ask: AskPage<P>
  readonly #first: number
  readonly #concurrency: number
  readonly #controller = new AbortController()
  /** In flight or waiting, by number, and the one that is read. */
  readonly #held = new Map<number, Promise<Arrived<P>>>()
  #inFlight = 0
  /** How many may be in flight. */
  #window: number
  /** How many may be held: less during the slow start. */
  #room = 1
  #next: number
  #last: number
  /** Asks for what the reader waits for, as soon as the window allows. */
  #askWanted: (() => void) | undefined
  /** Counts what happens, so that before and after can be told. */
  #clock = 0
  #slowedAt = -1
  /** Left, or a page failed: none after it is of use. */
  #isClosed = false

  constructor(ask: AskPage<P>, first: number, concurrency: number) {
    this.#ask = ask
    this.#first = first
    this.#next = first
    this.#last = first
    this.#concurrency = concurrency
    this.#window = concurrency
  }

  /** The last page worth asking for before the reader does. */
  set last(page: number) {
    this.#last = page
  }

  /** The reader is done with the page before this one, and wants this one. */
  take(page: number): Promise<Arrived<P>> {
    this.#held.delete(page - 1)
    // One at a time is one at a time: nothing is then asked before it is wanted.
    const most = this.#concurrency === 1 ? 1 : 2 * this.#concurrency
    this.#room = Math.min(most, slowStart[page - this.#first] ?? most)
    const arrived = this.#held.get(page) ?? this.again(page)
    this.#fill()
    return arrived
  }

  /** Asks for a page although it may have arrived. */
  again(page: number): Promise<Arrived<P>> {
    if (this.#inFlight < this.#window) return this.#send(page)
    return new Promise(resolve => {
      this.#askWanted = () => resolve(this.#send(page))
    })
  }

  /** Ends what is in flight. */
  cancel(): void {
    this.#isClosed = true
    this.#controller.abort()
  }

  #fill(): void {
    if (this.#askWanted && this.#inFlight < this.#window) {
      this.#askWanted()
      this.#askWanted = undefined
    }
    while (
      !this.#isClosed &&
      this.#next <= this.#last &&
      this.#inFlight < this.#window &&
      this.#held.size < this.#room
    ) {
      void this.#send(this.#next)
    }
  }

  #send(page: number): Promise<Arrived<P>> {
    this.#next = Math.max(this.#next, page + 1)
    this.#inFlight++
    const arrived = this.#arrive(page, ++this.#clock)
    // Its failure is told when the reader comes to it, or never.
    arrived.catch(() => {})
    this.#held.set(page, arrived)
    return arrived
  }

  async #arrive(page: number, askedAt: number): Promise<Arrived<P>> {
    try {
      const answer = await this.#ask(page, this.#controller.signal, () => this.#slowDown())
      if (askedAt > this.#slowedAt) this.#window = Math.min(this.#concurrency, this.#window + 1)
      return { page: answer, askedAt, arrivedAt: ++this.#clock }
    } catch (error) {
      this.#isClosed = true
      throw error
    } finally {
      this.#inFlight--
      // Now, not when it is read: one slow page does not idle the others.
      this.#fill()
    }
  }

  #slowDown(): void {
    this.#slowedAt = ++this.#clock
    this.#window = 1
  }
}
