/** Of a call. */
export interface Place {
  /** That of its client. */
  readonly maxInFlight: number
  hasPlace: boolean
}

/** The places of requests in flight. Those of one client and those derived from it share them, though each has a number of its own. */
export class Places {
  /** Turns are numbered. */
  turn = 0
  #taken = 0
  /** The largest number of a client. */
  #most = 0
  /** The last turn before the last response. */
  #answered = 0
  /** Calls in a row that ended with a timeout, and left after that. */
  #timeouts = 0
  /** Where calls wait. */
  readonly waiting: Set<{ dispatch(): void; giveUp(): void }> = new Set()

  get areTaken(): boolean {
    return this.#taken >= this.#most
  }

  take(call: Place): boolean {
    this.#most = Math.max(this.#most, call.maxInFlight)
    if (this.#taken >= call.maxInFlight) return false
    this.#taken++
    this.turn++
    call.hasPlace = true
    return true
  }

  /** Gives the place to another call: those of each API key take turns. */
  leave(call: Place): void {
    if (!call.hasPlace) return
    call.hasPlace = false
    this.#taken--
    const { turn } = this
    for (const pace of this.waiting) {
      pace.dispatch()
      if (this.turn === turn) continue
      if (this.waiting.delete(pace)) this.waiting.add(pace)
      return
    }
  }

  /** A response has arrived, whatever its status. */
  responded(): void {
    this.#answered = this.turn
    this.#timeouts = 0
  }

  /** A call has ended with a timeout. When nothing else happens, others would wait in vain. */
  timedOut(turn: number, { maxInFlight }: Place): void {
    if (turn <= this.#answered || ++this.#timeouts < maxInFlight) return
    this.#timeouts = 0
    for (const pace of this.waiting) pace.giveUp()
  }
}
