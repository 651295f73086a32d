import type { AnyApiError } from '../errors.js'
import { backoffMs } from './backoff.js'

/** Refusals in a row that close the pace. If a fifth of the calls has its own quota, this many in a row are rare. */
const row = 6
/** Maximum total delay of refused calls. Longer than a minute, because many limits are per minute. */
export const patienceMs = 80_000
/** Factor for the next rate, applied to the one that the service accepted or refused. */
const easing = 0.85
/** Acceleration of the rate per second. It grows slowly at first, then fast, because the limit may be far away. */
const acceleration = 0.02
/** Minimum rate after a pause, in attempts per second. A long pause says nothing about the rate after it. */
const slowest = 0.1
/** The pace opens at this many attempts per second. */
const unlimited = 1_000

/** The state of one call in the queue and in its pace. */
export interface QueuedCall {
  readonly maxInFlight: number
  /** Set for `maxRetries: 0`. The call waits for a place, but not for its pace. */
  readonly isUrgent: boolean
  /** Called when the call begins to wait, and again when a refusal becomes the reason. */
  readonly onWait: (delayMs: number, refusal: AnyApiError | undefined) => void
  /** `undefined` until its API key is known. */
  pace: Pace | undefined
  /** Whether it still has to call its `apiKey` function. */
  readsKey: boolean
  /** Whether it only needs a place. It has had its turn, and its `apiKey` function has returned. */
  hasTurn: boolean
  /** The turn or place that `Queue.leave` releases. */
  holds: 'turn' | 'place' | undefined
  /** The number of its last turn, counted over all calls. */
  turn: number
  refusals: number
  /** The delay after a refusal, in milliseconds. `undefined` if its last attempt was not refused, or the patience has run out. */
  refusedMs: number | undefined
  /** Sum of its own backoffs, in milliseconds. Not measured by the clock, because the process may have been frozen. */
  waitedMs: number
}

/** The part of `Queue` that a pace uses. */
export interface PacedQueue {
  readonly now: number
  readonly turn: number
  dispatch(): void
  tell(pace: Pace, isOver: boolean): void
}

/**
 * Decides when the attempts of all calls with one API key are sent. While open, it sends each one as soon as it has a place. A
 * refused call backs off alone. Several refusals in a row close the pace. It then sends one probe after each pause. Once a probe
 * passes, it is paced. It then sends attempts at the rate that the service accepted before, and faster until the next refusal.
 */
export class Pace {
  state: 'open' | 'closed' | 'paced' = 'open'
  /** When the next attempt may be sent, unless the pace is open. */
  nextAt = 0
  /** Number of unfinished calls. */
  calls = 0
  /** The last refusal that closed the pace, or kept it closed. */
  refusal: AnyApiError | undefined
  /** Refused calls. Each call that passes without a refusal removes the oldest. */
  readonly #row = new Set<QueuedCall>()
  #pauses = 0
  /** Planned duration of all pauses since an attempt last passed. */
  #pausedMs = 0
  /** The last turn before the last pause. Attempts up to this turn say nothing new. */
  #paused = 0
  /** Attempts per second. */
  #rate = 0
  #growth = 0
  /** Number of attempts that passed in about the last second. */
  #passes = 0
  #at = 0
  /** Number of attempts in a row that neither passed nor were refused. */
  #lost = 0
  readonly #queue: PacedQueue

  constructor(queue: PacedQueue) {
    this.#queue = queue
  }

  /** Takes a call's turn. False if it is not due yet. */
  takeTurn(call: QueuedCall): boolean {
    if (this.state === 'open' || call.isUrgent) return true
    const { now } = this.#queue
    if (this.nextAt > now) return false
    const ms = this.state === 'closed' ? backoffMs(this.#pauses) : 1_000 / this.#rate
    // Makes up for turns that were due recently, because timers fire late.
    this.nextAt = Math.max(this.nextAt, now - 50) + ms
    return true
  }

  /** An attempt got a response other than a refusal. */
  passed(call: QueuedCall): void {
    if (call.refusals === 0) for (const oldest of this.#row) if (this.#row.delete(oldest)) break
    this.#lost = 0
    const isNews = call.turn > this.#paused
    if (this.state === 'closed' && isNews) {
      this.state = 'paced'
      this.#rate = Math.max(slowest, easing * this.#passes * Math.min(1, 2_000 / this.#pausedMs))
      this.#growth = 0
      this.#at = this.nextAt = this.#queue.now
      this.#queue.dispatch()
    } else {
      const seconds = this.#elapse()
      this.#growth += acceleration * seconds
      this.#rate *= 1 + this.#growth * seconds
      // A call refused for its own quota would not pass. This one passed, so the rate was too high.
      if (call.waitedMs > 0) {
        this.#rate = Math.min(this.#rate, Math.max(easing * this.#rate, this.#passes))
        this.#growth = 0
      }
      if (this.state === 'paced' && this.#rate > unlimited) this.#open()
    }
    if (isNews) this.#pauses = this.#pausedMs = 0
    this.#passes++
  }

  /** Seconds since the last update. Older passes count less. */
  #elapse(): number {
    const seconds = (this.#queue.now - this.#at) / 1_000
    this.#at = this.#queue.now
    this.#passes *= Math.exp(-seconds)
    return seconds
  }

  /** An attempt failed, but not because of a limit. A few failures say nothing about the rate. In an outage, all attempts fail. */
  failed(call: QueuedCall): void {
    // It was sent before the pause.
    if (this.state === 'closed' && call.turn <= this.#paused) return
    if (++this.#lost >= (this.state === 'closed' ? 2 : row)) this.#open()
    else if (this.state === 'closed') {
      this.nextAt = this.#queue.now
      this.#queue.dispatch()
    }
  }

  #open(): void {
    this.state = 'open'
    this.#queue.dispatch()
  }

  /** An attempt was refused. Sets the delay before the call's next turn. */
  refused(call: QueuedCall, retryAfterMs: number, toError: () => AnyApiError): void {
    call.refusals++
    this.#lost = 0
    // An urgent call is not a probe, and is not retried.
    if (this.state === 'closed' && call.isUrgent) return
    const isNews = this.state !== 'closed' || call.turn > this.#paused
    if (this.state !== 'closed') {
      // Only a call's first refusal counts.
      if (call.waitedMs === 0) this.#row.add(call)
      if (this.#row.size < Math.min(row, Math.max(2, this.calls))) {
        this.#growth /= 2
        if (call.waitedMs > patienceMs) return
        call.refusedMs = Math.max(retryAfterMs, backoffMs(call.refusals))
        call.waitedMs += call.refusedMs
        return
      }
      for (const each of this.#row) each.waitedMs = 0
      this.#row.clear()
      this.#elapse()
      this.state = 'closed'
    }
    const isOver = isNews && this.#pausedMs > patienceMs
    let ms = retryAfterMs
    if (isNews) {
      this.refusal = toError()
      ms = Math.max(ms, backoffMs(++this.#pauses))
      this.#pausedMs += ms
      this.#paused = this.#queue.turn
    }
    const { now } = this.#queue
    this.nextAt = Math.max(this.nextAt, now + ms)
    this.#queue.tell(this, isOver)
    this.#queue.dispatch()
    if (!isOver) call.refusedMs = this.nextAt - now
  }
}
