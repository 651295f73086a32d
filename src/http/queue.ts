import type { AnyApiError } from '../errors.js'
import type { Waiting } from '../internal/waiting.js'
import type { Pace, QueuedCall } from './pace.js'

/** Why a call waits in vain: the service hangs, or that refusal is the last, and none has passed for long. */
export type GivenUp = 'hanging' | AnyApiError

type Settle = (reason?: GivenUp) => void

/**
 * The calls of a client and of those derived from it, in order. Each waits for the turn that its pace gives it, and for a place, as
 * so many requests are in flight at most. An `apiKey` function is called in between, and its call holds no place meanwhile: the
 * function may use this client.
 */
export class Queue {
  /** Turns so far. */
  turn = 0
  #inFlight = 0
  /** The largest `maxInFlight` of a client. */
  #most = 0
  /** Calls whose turn it is, and whose `apiKey` function was called just now. */
  #reading = 0
  /** The last turn before the last response. */
  #answered = 0
  /** Calls in a row that ended with a timeout, and left after that. */
  #timeouts = 0
  /** Those that need a place alone, and those that wait for their turn. */
  readonly #lines = [new Map<QueuedCall, Settle>(), new Map<QueuedCall, Settle>()] as const
  #timer: ReturnType<typeof setTimeout> | undefined
  #firedAt = 0

  /** A timer that fires is due, whatever the clock says: fake timers of tests may leave that alone. */
  get now(): number {
    return Math.max(performance.now(), this.#firedAt)
  }

  /** Whether it is a call's turn, and there is a place for it, now or once its API key is read. */
  take(call: QueuedCall): boolean {
    this.#most = Math.max(this.#most, call.maxInFlight)
    const taken = this.#inFlight + (call.readsKey ? this.#reading : 0)
    if (taken >= call.maxInFlight || !(call.hasTurn || (call.pace?.letsGo(call) ?? true))) return false
    call.turn = ++this.turn
    call.hasTurn = false
    call.refusedMs = undefined
    call.holds = call.readsKey ? 'turn' : 'place'
    if (call.readsKey) this.#reading++
    else this.#inFlight++
    return true
  }

  /** Gives back what a call holds. */
  leave(call: QueuedCall, isAborted: boolean): void {
    if (call.holds === undefined) return
    if (call.holds === 'turn') this.#reading--
    else this.#inFlight--
    call.holds = undefined
    if (isAborted) this.#dispatchLater()
    else this.dispatch()
  }

  /** Waits until the call has taken what it needs next. */
  async wait(call: QueuedCall, waiting: Waiting): Promise<GivenUp | undefined> {
    // Whether one that was refused once passes now, says soon whether the rate is too high.
    const isNext = call.hasTurn || (call.refusals === 1 && call.pace?.state === 'paced')
    const line = this.#lines[isNext ? 0 : 1]
    const turn = new Promise<GivenUp | undefined>(resolve => {
      line.set(call, resolve)
    })
    this.dispatch()
    if (line.has(call)) this.#tell(call)
    try {
      return (await waiting.within(Number.POSITIVE_INFINITY, turn)) as GivenUp | undefined
    } finally {
      if (line.delete(call)) this.#dispatchLater()
    }
  }

  #tell(call: QueuedCall): void {
    const { state = 'open', nextAt = 0, refusal } = call.pace ?? {}
    call.onWait(Math.max(0, nextAt - this.now), state === 'open' ? undefined : refusal)
  }

  /** Tells those that wait for a pace why, or that it is in vain. */
  tell(pace: Pace, isOver: boolean): void {
    for (const line of this.#lines)
      for (const [call, settle] of line) {
        if (call.pace !== pace || call.isUrgent || call.hasTurn) continue
        if (isOver && line.delete(call)) settle(pace.refusal)
        else this.#tell(call)
      }
  }

  /** A response has arrived, whatever its status. */
  responded(): void {
    this.#answered = this.turn
    this.#timeouts = 0
  }

  /** A call has ended with a timeout. When nothing else happens, others would wait in vain. */
  timedOut({ turn }: QueuedCall): void {
    if (turn <= this.#answered || ++this.#timeouts < this.#most) return
    this.#timeouts = 0
    for (const line of this.#lines)
      for (const [call, settle] of line) if (line.delete(call)) settle('hanging')
  }

  /** After all timers that are due: the next call may be aborted by one, too, and must not be sent just before. */
  #dispatchLater(): void {
    clearTimeout(this.#timer)
    // No timer must keep the process alive.
    if (this.#lines.some(line => line.size > 0)) this.#timer = setTimeout(() => this.dispatch())
  }

  /** Lets those go whose turn it is, and comes back for the next. */
  dispatch(): void {
    clearTimeout(this.#timer)
    let nextAt = Number.POSITIVE_INFINITY
    for (const line of this.#lines)
      for (const [call, settle] of line) {
        if (this.#inFlight >= this.#most) return
        if (this.take(call)) {
          line.delete(call)
          settle()
        } else if (call.pace && call.pace.nextAt > this.now) nextAt = Math.min(nextAt, call.pace.nextAt)
      }
    if (nextAt === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(
      () => {
        this.#firedAt = nextAt
        this.dispatch()
      },
      Math.max(0, nextAt - this.now),
    )
  }
}
