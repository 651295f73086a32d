import type { AnyApiError } from '../errors.js'
import { backoffMs } from './backoff.js'

/** So many refusals in a row concern all. Where a fifth of the calls has a quota of its own, so many hardly ever come together. */
const row = 6
/** Longer than a minute, as many limits are of so many a minute. */
export const patienceMs = 80_000
/** Of the rate that the service took, or that was too fast. */
const easing = 0.85
/** How much the growth of the rate grows in a second: slow at first, then fast, as the limit may be far away. */
const acceleration = 0.02
/** Attempts a second after a long pause, of which nothing follows for the time after it. */
const slowest = 0.1
/** Attempts a second that are as good as no limit. */
const unlimited = 1_000

/** One call, as the queue and its pace know it. */
export interface QueuedCall {
  readonly maxInFlight: number
  /** With `maxRetries: 0`: it waits for a place at most. */
  readonly isUrgent: boolean
  /** Called when it begins to wait, and when a refusal becomes the reason. */
  readonly onWait: (delayMs: number, refusal: AnyApiError | undefined) => void
  /** `undefined` until its API key is known. */
  pace: Pace | undefined
  /** Its API key has yet to be read, by a function. */
  readsKey: boolean
  /** It waits for a place alone: its turn was, and its API key is read. */
  hasTurn: boolean
  /** What it gives back at the end of its attempt. */
  holds: 'turn' | 'place' | undefined
  /** The number of its last turn, over all calls. */
  turn: number
  refusals: number
  /** If its last attempt was refused: how long it waits before the next; `undefined` also if that has lasted too long. */
  refusedMs: number | undefined
  /** How long refusals that concerned it alone made it wait: not by the clock, as a process may be frozen meanwhile. */
  waitedMs: number
}

/** What a pace needs of the queue: `Queue`. */
export interface PacedQueue {
  readonly now: number
  readonly turn: number
  dispatch(): void
  tell(pace: Pace, isOver: boolean): void
}

/**
 * When the attempts of all calls with one API key leave. It is open: they leave as soon as there is a place. A refusal concerns its
 * call alone, which backs off. Several in a row concern all, and close it: one leaves after each pause. Once one has passed, it is
 * paced: they leave one after another, at the rate that the service took before, then faster until the next refusal.
 */
export class Pace {
  state: 'open' | 'closed' | 'paced' = 'open'
  /** When the next attempt leaves, unless it is open. */
  nextAt = 0
  /** Calls that have not ended. */
  calls = 0
  /** The last refusal that closed it. */
  refusal: AnyApiError | undefined
  /** Calls that were refused, less those that have passed at once. */
  readonly #row = new Set<QueuedCall>()
  #pauses = 0
  /** What these were planned to last, since an attempt has passed. */
  #pausedMs = 0
  /** The last turn before the last pause: what left before says nothing new. */
  #paused = 0
  /** Attempts a second. */
  #rate = 0
  #growth = 0
  /** Attempts that passed, in about the last second. */
  #passes = 0
  #at = 0
  /** Attempts in a row that were neither refused nor passed. */
  #lost = 0
  readonly #queue: PacedQueue

  constructor(queue: PacedQueue) {
    this.#queue = queue
  }

  /** Whether it is a call's turn, which is then over. */
  letsGo(call: QueuedCall): boolean {
    if (this.state === 'open' || call.isUrgent) return true
    const { now } = this.#queue
    if (this.nextAt > now) return false
    const ms = this.state === 'closed' ? backoffMs(this.#pauses) : 1_000 / this.#rate
    // Timers fire late: what was due lately is made up for.
    this.nextAt = Math.max(this.nextAt, now - 50) + ms
    return true
  }

  /** An attempt had another response than a refusal. */
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
      // Calls that are refused for themselves never pass: this one was refused for the pace.
      if (call.waitedMs > 0) {
        this.#rate = Math.min(this.#rate, Math.max(easing * this.#rate, this.#passes))
        this.#growth = 0
      }
      if (this.state === 'paced' && this.#rate > unlimited) this.#open()
    }
    if (isNews) this.#pauses = this.#pausedMs = 0
    this.#passes++
  }

  /** Seconds since an attempt has passed. What was long ago counts less. */
  #elapse(): number {
    const seconds = (this.#queue.now - this.#at) / 1_000
    this.#at = this.#queue.now
    this.#passes *= Math.exp(-seconds)
    return seconds
  }

  /** An attempt failed, or had no response: no limit is the reason. A few say nothing about the rate, but in an outage all fail. */
  failed(call: QueuedCall): void {
    // It left before the pause.
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

  /** Sets how long the call has to wait before its next turn. */
  refused(call: QueuedCall, retryAfterMs: number, toError: () => AnyApiError): void {
    call.refusals++
    this.#lost = 0
    // It was no probe, and is not sent again.
    if (this.state === 'closed' && call.isUrgent) return
    const isNews = this.state !== 'closed' || call.turn > this.#paused
    if (this.state !== 'closed') {
      // Of a call, only the first is news.
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
