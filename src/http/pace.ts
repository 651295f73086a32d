import type { AnyApiError } from '../errors.js'
import { backoffMs } from './backoff.js'

/** This many refusals in a row pause all calls. Rare if only a fifth of the calls exceed their own quota. */
const fullRow = 6
/** Maximum total delay of a refused call. Longer than a minute, because many limits are per minute. */
export const patienceMs = 80_000
/** The next rate, as a share of the rate that the service accepted before, or has just refused. */
const easing = 0.85
/** The rate grows by a factor of e^(this × seconds²). Slowly at first, then fast, because the limit may be higher. */
const growth = 0.015
/** Minimum rate after a pause, in attempts per second. A long pause says nothing about the rate after it. */
const slowest = 0.1

/** The state of one call in the queue and in its pace. */
export class QueuedCall {
  readonly maxInFlight: number
  /** Called when the call begins to wait, and again when a refusal becomes the reason. */
  readonly onWait: (delayMs: number, refusal: AnyApiError | undefined) => void
  /** `undefined` until its API key is known, and for `maxRetries: 0`, because such a call waits for no pace. */
  pace: Pace | undefined
  /** What it waits for. First a turn, to call its `apiKey` function. Then only a place. Without such a function, both. */
  needs: 'turn' | 'place' | 'both' = 'both'
  /** Whether it has what it needs, until `Queue.leave` releases that. */
  holds = false
  /** The number of pauses of its pace before its last turn. */
  pause = 0
  refusals = 0
  /** When it was last refused while its pace was not closed. */
  refusedAt = 0
  /** The delay after a refusal, in milliseconds. `undefined` if its last attempt was not refused, or the patience has run out. */
  refusedMs: number | undefined
  /** Sum of its own backoffs, in milliseconds. Not measured by the clock, because the process may have been frozen. */
  waitedMs = 0

  constructor(maxInFlight: number, onWait: QueuedCall['onWait']) {
    this.maxInFlight = maxInFlight
    this.onWait = onWait
  }
}

/**
 * Decides when the attempts of all calls with one API key are sent. While open, it sends each one as soon as it has a place. A
 * refused call backs off alone. Several refusals in a row close the pace. It then sends one probe after each pause. Once a probe
 * passes, the state is paced. It then sends attempts at the rate that the service accepted before, and ever faster until refused.
 */
export class Pace {
  state: 'open' | 'closed' | 'paced' = 'open'
  /** When the next attempt may be sent. */
  nextAt = 0
  /** Number of unfinished calls. */
  calls = 0
  /** The last refusal that closed the pace, or kept it closed. */
  refusal: AnyApiError | undefined
  /** Whether the patience has run out. Refused and waiting calls then fail. */
  isOver = false
  /** Refused calls. One that passes is removed, and each call that passes without a refusal removes the oldest. */
  readonly #row = new Set<QueuedCall>()
  /** Number of pauses since an attempt last passed, and their planned duration. */
  #pauses = 0
  #pausedMs = 0
  /** Attempts per second, at the time when it was set. Infinite while open. */
  #rate = Number.POSITIVE_INFINITY
  #rateSetAt = 0
  /** Number of attempts that passed in about the last second. */
  #passes = 0
  #passedAt = 0
  /** When a fresh (never refused) call last passed. */
  #freshPassedAt = 0
  /** Number of attempts in a row that neither passed nor were refused. */
  #lost = 0
  /** Whether the next fresh call skips the pause, because a repeatedly refused call closed the pace. */
  #exempts = false

  /** Takes a call's turn. False if it is not due yet. */
  takeTurn(call: QueuedCall, now: number): boolean {
    const isExempt = this.#exempts && call.refusals === 0
    if (this.nextAt > now && !isExempt) return false
    this.#exempts = false
    call.pause = this.#pauses
    const ms = this.state === 'closed' ? backoffMs(this.#pauses) : 1_000 / this.#rateAt(now)
    // Makes up for turns that were due recently, because timers fire late.
    this.nextAt = Math.max(this.nextAt, now - 50) + ms
    return true
  }

  #rateAt(now: number): number {
    return this.#rate * Math.exp(growth * ((now - this.#rateSetAt) / 1_000) ** 2)
  }

  /** An attempt got a response other than a refusal. */
  passed(call: QueuedCall, now: number): void {
    if (call.refusals > 0) this.#row.delete(call)
    else {
      this.#freshPassedAt = now
      for (const oldest of this.#row) if (this.#row.delete(oldest)) break
    }
    this.#lost = 0
    this.isOver = false
    if (this.#isProbe(call)) {
      // After a long pause, slower. Otherwise one of several clients would use up a limit per minute before the others' next probes.
      const seconds = Math.max(1, this.#pausedMs / 2_000)
      // If nothing had passed before, only the pause is known.
      const rate = this.#passes === 0 ? 1_000 / this.#pausedMs : (easing * this.#passes) / seconds
      this.#resume('paced', Math.max(slowest, rate), now)
    }
    this.#passes = this.#passes * Math.exp((this.#passedAt - now) / 1_000) + 1
    this.#passedAt = now
    // A refused call that passes was not over its own quota, so the rate was too high.
    if (call.waitedMs > 0) {
      const rate = this.#rateAt(now)
      this.#rate = Math.min(rate, Math.max(easing * rate, this.#passes))
      this.#rateSetAt = now
    }
  }

  /** An attempt failed, but not because of a limit. A few failures say nothing about the rate. In an outage, all attempts fail. */
  failed(call: QueuedCall, now: number): void {
    if (this.#isProbe(call) || (++this.#lost >= fullRow && this.state === 'paced'))
      this.#resume('open', Number.POSITIVE_INFINITY, now)
  }

  /** Whether an attempt was sent after the last pause. Others were sent too early to say anything about it. */
  #isProbe(call: QueuedCall): boolean {
    return this.state === 'closed' && call.pause === this.#pauses
  }

  #resume(state: 'open' | 'paced', rate: number, now: number): void {
    this.state = state
    this.#rate = rate
    this.#rateSetAt = now
    this.nextAt = now + 1_000 / rate
    this.isOver = false
    this.#pauses = this.#pausedMs = 0
    this.#exempts = false
  }

  /** An attempt was refused. Sets the delay before the call's next turn. */
  refused(call: QueuedCall, retryAfterMs: number, now: number, toError: () => AnyApiError): void {
    call.refusals++
    const isNews = this.state !== 'closed' || this.#isProbe(call)
    if (this.state !== 'closed') {
      // The patience of a lone call has run out, and no attempt has passed since.
      if (this.isOver) return
      const isAgain = this.#row.has(call)
      // Two refused calls are enough, unless a fresh call has passed since.
      const few = this.#freshPassedAt < call.refusedAt ? 2 : 3
      call.refusedAt = now
      // Only a call's first refusal counts.
      if (call.waitedMs === 0) this.#row.add(call)
      if (this.#row.size < (isAgain ? few : Math.min(fullRow, Math.max(2, this.calls)))) {
        if (call.waitedMs > patienceMs) {
          this.isOver = isAgain
          return
        }
        call.refusedMs = Math.max(retryAfterMs, backoffMs(call.refusals))
        call.waitedMs += call.refusedMs
        return
      }
      for (const each of this.#row) each.waitedMs = 0
      this.#row.clear()
      this.#passes *= Math.exp((this.#passedAt - now) / 1_000)
      // Continues the backoff of this call, if it was refused before.
      this.#pauses = call.refusals - 1
      this.#exempts = call.refusals > 1
      this.state = 'closed'
    }
    if (isNews) {
      this.isOver = this.#pausedMs > patienceMs
      this.refusal = toError()
      const ms = Math.max(retryAfterMs, backoffMs(++this.#pauses))
      this.#pausedMs += ms
      this.nextAt = Math.max(this.nextAt, now + ms)
    }
    if (!this.isOver) call.refusedMs = this.nextAt - now
  }
}
