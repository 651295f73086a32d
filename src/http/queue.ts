import type { AnyApiError } from '../errors.js'
import type { Waiting } from '../internal/waiting.js'
import type { Pace, QueuedCall } from './pace.js'

/** Why a waiting call fails. The service hangs, or the patience has run out after this refusal. */
export type GivenUp = 'hanging' | AnyApiError

type Settle = (reason?: GivenUp) => void

/**
 * The queue of a client and of those derived from it. Each call waits for the turn that its pace gives it, and for one of the
 * `maxInFlight` places. Its `apiKey` function is called in between. The call holds no place meanwhile, because the function may use
 * this client.
 */
export class Queue {
  /** Number of turns so far. */
  turn = 0
  #inFlight = 0
  /** The largest `maxInFlight` of a client. */
  #most = 0
  /** Number of calls that hold a turn while their `apiKey` function runs. */
  #reading = 0
  /** The last turn before the last response. */
  #respondedTurn = 0
  /** Number of calls since that turn that ended with a timeout. */
  #timeouts = 0
  /** First the calls that go next, such as those that only need a place. Then the calls that wait for their turn. */
  readonly #lines = [new Map<QueuedCall, Settle>(), new Map<QueuedCall, Settle>()] as const
  #timer: ReturnType<typeof setTimeout> | undefined
  #firedAt = 0

  /** A timer that fires is always due, because fake timers of tests may leave the clock alone. */
  get now(): number {
    return Math.max(performance.now(), this.#firedAt)
  }

  /** Takes a turn and a place for a call, or only a turn if it has yet to read its API key. False if it must wait. */
  take(call: QueuedCall): boolean {
    this.#most = Math.max(this.#most, call.maxInFlight)
    const taken = this.#inFlight + (call.readsKey ? this.#reading : 0)
    if (taken >= call.maxInFlight || !(call.hasTurn || (call.pace?.takeTurn(call) ?? true))) return false
    call.turn = ++this.turn
    call.hasTurn = false
    call.refusedMs = undefined
    call.holds = call.readsKey ? 'turn' : 'place'
    if (call.readsKey) this.#reading++
    else this.#inFlight++
    return true
  }

  /** Releases the turn or place of a call. */
  leave(call: QueuedCall, isAborted: boolean): void {
    if (call.holds === undefined) return
    if (call.holds === 'turn') this.#reading--
    else this.#inFlight--
    call.holds = undefined
    if (isAborted) this.#dispatchLater()
    else this.dispatch()
  }

  /** Waits until the call has its turn or place. Resolves to a reason if the call must fail instead. */
  async wait(call: QueuedCall, waiting: Waiting): Promise<GivenUp | undefined> {
    // A call that was refused once goes first, because its result soon shows whether the rate is too high.
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

  /** Reports a refusal to the calls that wait for the pace. Fails them if the patience has run out. */
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
    this.#respondedTurn = this.turn
    this.#timeouts = 0
  }

  /** A call ended with a timeout. If as many in a row do as can be in flight, the service hangs, so waiting calls fail. */
  timedOut({ turn }: QueuedCall): void {
    if (turn <= this.#respondedTurn || ++this.#timeouts < this.#most) return
    this.#timeouts = 0
    for (const line of this.#lines)
      for (const [call, settle] of line) if (line.delete(call)) settle('hanging')
  }

  /** Dispatches after all due timers. One of them may abort the next call, which must not be sent just before. */
  #dispatchLater(): void {
    clearTimeout(this.#timer)
    // Without waiting calls, a timer would only keep the process alive.
    if (this.#lines.some(line => line.size > 0)) this.#timer = setTimeout(() => this.dispatch())
  }

  /** Starts the calls that are due, and sets a timer for the next. */
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
