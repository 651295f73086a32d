import type { AnyApiError } from '../errors.js'
import type { Waiting } from '../internal/waiting.js'
import type { Pace, QueuedCall } from './pace.js'

/** Why a call waits in vain: the service hangs, or that refusal is the last, and none has passed for long. */
export type GivenUp = 'hanging' | AnyApiError

/**
 * The calls of a client and of those derived from it, in order. Each waits for a place, as so many requests are in flight at most,
 * and for the turn that its pace gives it.
 */
export class Queue {
  /** Attempts so far. */
  turn = 0
  #taken = 0
  /** The last turn before the last response. */
  #answered = 0
  /** Calls in a row that ended with a timeout, and left after that. */
  #timeouts = 0
  #waiting = new Map<QueuedCall, (reason?: GivenUp) => void>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #firedAt = 0

  /** A timer that fires is due, whatever the clock says: fake timers of tests may leave that alone. */
  get now(): number {
    return Math.max(performance.now(), this.#firedAt)
  }

  /** Whether it is a call's turn, and there is a place for it. */
  take(call: QueuedCall): boolean {
    if (this.#taken >= call.maxInFlight || (call.pace && !call.pace.letsGo(call))) return false
    this.#taken++
    call.turn = ++this.turn
    call.hasPlace = true
    call.refusedMs = undefined
    return true
  }

  leave(call: QueuedCall): void {
    if (!call.hasPlace) return
    call.hasPlace = false
    this.#taken--
    this.dispatch()
  }

  /** Waits for a turn and a place. `isNext`: before all others. */
  async wait(call: QueuedCall, isNext: boolean, waiting: Waiting): Promise<GivenUp | undefined> {
    const turn = new Promise<GivenUp | undefined>(resolve => {
      if (isNext) this.#waiting = new Map([[call, resolve], ...this.#waiting])
      else this.#waiting.set(call, resolve)
    })
    this.dispatch()
    if (this.#waiting.has(call)) this.#tell(call)
    try {
      return (await waiting.within(Number.POSITIVE_INFINITY, turn)) as GivenUp | undefined
    } finally {
      // Nobody else may be waiting: no timer must keep the process alive.
      if (this.#waiting.delete(call)) this.dispatch()
    }
  }

  #tell(call: QueuedCall): void {
    const { state = 'open', nextAt = 0, refusal } = call.pace ?? {}
    call.onWait(Math.max(0, nextAt - this.now), state === 'open' ? undefined : refusal)
  }

  /** Tells those that wait for a pace why, or that it is in vain. */
  tell(pace: Pace, isOver: boolean): void {
    for (const [call, settle] of this.#waiting) {
      if (call.pace !== pace || call.isUrgent) continue
      if (isOver && this.#waiting.delete(call)) settle(pace.refusal)
      else this.#tell(call)
    }
  }

  /** A response has arrived, whatever its status. */
  responded(): void {
    this.#answered = this.turn
    this.#timeouts = 0
  }

  /** A call has ended with a timeout. When nothing else happens, others would wait in vain. */
  timedOut({ turn, maxInFlight }: QueuedCall): void {
    if (turn <= this.#answered || ++this.#timeouts < maxInFlight) return
    this.#timeouts = 0
    for (const [waiting, settle] of this.#waiting) if (this.#waiting.delete(waiting)) settle('hanging')
  }

  /** Lets those go whose turn it is, and comes back for the next. */
  dispatch(): void {
    clearTimeout(this.#timer)
    let nextAt = Number.POSITIVE_INFINITY
    for (const [call, settle] of this.#waiting) {
      if (this.#taken >= call.maxInFlight) break
      if (this.take(call)) {
        this.#waiting.delete(call)
        settle()
      } else if (call.pace) nextAt = Math.min(nextAt, call.pace.nextAt)
    }
    if (nextAt === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(() => {
      this.#firedAt = nextAt
      this.dispatch()
    }, nextAt - this.now)
  }
}
