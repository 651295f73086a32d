import type { Waiting } from '../internal/waiting.js'
import type { Pace, QueuedCall } from './pace.js'

type Line = Map<QueuedCall, () => void>

/**
 * The queue of a client and of those derived from it. Each call waits for the turn that its pace gives it, and for one of the
 * `maxInFlight` places. Its `apiKey` function is called in between. The call holds no place meanwhile, because the function may use
 * this client.
 */
export class Queue {
  #inFlight = 0
  /** Number of calls that hold a turn while their `apiKey` function runs. */
  #reading = 0
  /** The largest `maxInFlight` of its clients. */
  #most = 0
  #respondedAt = Number.NEGATIVE_INFINITY
  /** Number of calls that ended with a timeout and were sent after the last response. */
  #timeouts = 0
  /** Waiting calls. First those that go next. Then a line for each pace. A line waits until its pace is due. */
  readonly #lines = new Map<Pace | 'next' | undefined, Line>([['next', new Map()]])
  #timer: ReturnType<typeof setTimeout> | undefined
  #firedAt = 0

  /** At least the time of the last timer, because fake timers of tests may leave the clock alone. */
  get now(): number {
    return Math.max(performance.now(), this.#firedAt)
  }

  /** Takes what the call needs. False if it must wait. */
  take(call: QueuedCall): boolean {
    const { needs, maxInFlight, pace } = call
    this.#most = Math.max(this.#most, maxInFlight)
    const taken = this.#inFlight + (needs === 'turn' ? this.#reading : 0)
    if (taken >= maxInFlight) return false
    if (needs !== 'place' && pace?.takeTurn(call, this.now) === false) return false
    call.refusedMs = undefined
    call.holds = true
    if (needs === 'turn') this.#reading++
    else this.#inFlight++
    return true
  }

  /** Releases the turn or place of a call. */
  leave(call: QueuedCall, isAborted: boolean): void {
    if (!call.holds) return
    call.holds = false
    if (call.needs === 'turn') this.#reading--
    else this.#inFlight--
    if (isAborted) this.#dispatchAt(this.now)
    else this.dispatch()
  }

  /** Waits until the call holds what it needs, or must fail and holds nothing. */
  async wait(call: QueuedCall, waiting: Waiting): Promise<void> {
    const key = call.needs === 'place' ? 'next' : call.pace
    const line: Line = this.#lines.get(key) ?? new Map()
    this.#lines.set(key, line)
    const turn = new Promise<void>(resolve => void line.set(call, resolve))
    this.dispatch()
    if (line.has(call)) this.#reportWait(call)
    try {
      await waiting.within(Number.POSITIVE_INFINITY, turn)
    } finally {
      if (line.delete(call)) this.#dispatchAt(this.now)
    }
  }

  #reportWait({ pace, onWait }: QueuedCall): void {
    const delayMs = Math.max(0, (pace?.nextAt ?? 0) - this.now)
    onWait(delayMs, delayMs > 0 ? pace?.refusal : undefined)
  }

  /** Reports a refusal to the calls that wait for a pace. Fails them if the patience has run out. */
  reportRefusal(pace: Pace): void {
    for (const [call, settle] of this.#lines.get(pace) ?? []) pace.isOver ? settle() : this.#reportWait(call)
  }

  /** A response has arrived, whatever its status. */
  responded(): void {
    this.#respondedAt = performance.now()
    this.#timeouts = 0
  }

  /** A call ended with a timeout. After `#most` of them in a row, the service hangs, so waiting calls fail. */
  timedOut(sentAt: number): void {
    if (sentAt < this.#respondedAt || ++this.#timeouts < this.#most) return
    this.#timeouts = 0
    for (const line of this.#lines.values()) for (const settle of line.values()) settle()
  }

  /** Starts the calls that are due, and sets a timer for the next. */
  dispatch(): void {
    let nextAt = Number.POSITIVE_INFINITY
    for (const [key, line] of [...this.#lines]) {
      if (this.#inFlight >= this.#most) break
      // The lines of other paces go before this one the next time.
      if (key !== 'next' && this.#lines.delete(key) && line.size > 0) this.#lines.set(key, line)
      for (const [call, settle] of freshFirst(key, line)) {
        if (this.take(call)) {
          line.delete(call)
          settle()
        } else if (key !== 'next' && call.pace && call.pace.nextAt > this.now) {
          nextAt = Math.min(nextAt, call.pace.nextAt)
          break
        } else if (this.#inFlight + this.#reading >= this.#most) break
      }
    }
    this.#dispatchAt(nextAt)
  }

  /** Dispatches at the given time, after all timers due by then, because one may abort the next call. */
  #dispatchAt(at: number): void {
    clearTimeout(this.#timer)
    if (at === Number.POSITIVE_INFINITY) return
    // Without waiting calls, a timer would only keep the process alive.
    if (![...this.#lines.values()].some(line => line.size > 0)) return
    const fire = () => {
      this.#firedAt = at
      this.dispatch()
    }
    this.#timer = setTimeout(fire, Math.max(0, at - this.now))
  }
}

/** While a pace is closed, a call that was never refused goes first. One refused for a quota of its own may never pass. */
function* freshFirst(key: Pace | 'next' | undefined, line: Line): Iterable<[QueuedCall, () => void]> {
  if (key !== 'next' && key?.state === 'closed')
    for (const entry of line)
      if (entry[0].refusals === 0) {
        yield entry
        break
      }
  yield* line
}
