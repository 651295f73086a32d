import type { HttpError } from '../errors.js'
import type { Waiting } from '../internal/waiting.js'
import { backoffMs } from './backoff.js'

/** After a pause, attempts follow at this part of the rate that the service took before. */
const easing = 0.85
/** How much faster they follow after a second: after the first pause, as little is known of the limit, and after others. */
const slowStart = 1
const growth = 0.03
/** While none has passed since a pause, one goes after so long. */
const probeMs = 1_000
/** Nobody waits after so long without a pass, and a limit is forgotten after so long without an attempt. */
const patienceMs = 60_000
const unlimited = Number.POSITIVE_INFINITY

/** Of one call: how many there were, and how many attempts of all calls had passed when it last made all pause. */
export interface Refusals {
  count: number
  passes: number | undefined
}

/**
 * Spaces the attempts of all calls with one API key, once the service has refused some because they were too many: all pause; then
 * one goes, and when it has passed, the others follow as fast as the service took them before, then faster until the next refusal.
 */
export class Throttle {
  /** Attempts a second. */
  #rate = unlimited
  #growth = slowStart
  #passes = 0
  /** Of about the last second. */
  #recentPasses = 0
  #passedAt = 0
  /** A turn is the number of pauses before it: what was sent before the last pause says nothing new. */
  #pauses = 0
  /** Pauses since an attempt has passed. */
  #streak = 0
  #stuckSince = 0
  #refusedAt = Number.NEGATIVE_INFINITY
  /** The first refusal for a minute: it is no limit yet if no other call has to wait. */
  #isFirst = true
  /** Calls that wait before they are sent again. */
  #pausing = 0
  #refusal: HttpError | undefined
  #nextAt = 0
  readonly #waiting = new Set<(turn: number | HttpError) => void>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #firedAt = 0

  /** A timer that fires is due, whatever the clock says: fake timers of tests may leave that alone. */
  get #now(): number {
    return Math.max(performance.now(), this.#firedAt)
  }

  get isStuck(): boolean {
    return this.#streak > 0 && this.#now - this.#stuckSince > patienceMs
  }

  /** A turn, unless an attempt has to wait for one. */
  free(): number | undefined {
    if (this.#now - this.#nextAt > patienceMs) {
      this.#rate = unlimited
      this.#streak = 0
    }
    return this.#rate === unlimited ? this.#pauses : undefined
  }

  /** Waits for a turn. Resolves with the refusal of another call if no attempt passes for a minute. */
  async turn(
    waiting: Waiting,
    onWait: (ms: number, refusal: HttpError) => void,
  ): Promise<number | HttpError> {
    const { promise, resolve: take } = Promise.withResolvers<number | HttpError>()
    const delayMs = this.#nextAt - this.#now + (1_000 * this.#waiting.size) / this.#rate
    this.#waiting.add(take)
    this.#dispatch()
    if (this.#waiting.has(take) && this.#refusal) onWait(delayMs, this.#refusal)
    try {
      return (await waiting.within(Number.POSITIVE_INFINITY, promise)) as number | HttpError
    } finally {
      // Nobody else may be waiting: no timer must keep the process alive.
      if (this.#waiting.delete(take)) this.#dispatch()
    }
  }

  /** Waits before a call is sent again. */
  async pause(ms: number, waiting: Waiting): Promise<void> {
    const until = this.#now + ms
    this.#pausing++
    try {
      await waiting.pause(ms)
      this.#firedAt = Math.max(this.#firedAt, until)
    } finally {
      this.#pausing--
    }
  }

  passed(turn: number | undefined): void {
    const now = this.#now
    const seconds = (now - this.#passedAt) / 1_000
    this.#passes++
    this.#recentPasses = this.#recentPasses * Math.exp(-seconds) + 1
    this.#passedAt = now
    if (turn !== this.#pauses) return
    if (this.#streak === 0) {
      this.#rate *= 1 + this.#growth * seconds
    } else {
      this.#streak = 0
      if (this.#isFirst && this.#waiting.size + this.#pausing === 0) this.#rate = unlimited
      this.#nextAt += 1_000 / this.#rate - probeMs
      this.#dispatch()
    }
  }

  /** Makes all pause, unless the refusal is old news. Returns how long the call has to wait. */
  refused(turn: number | undefined, call: Refusals, retryAfterMs: number, toError: () => HttpError): number {
    call.count++
    // If others have passed since, it is refused for itself, such as for the quota of its account.
    const isAlone = call.passes !== undefined && this.#passes > call.passes
    if (isAlone || turn !== this.#pauses) return Math.max(retryAfterMs, backoffMs(isAlone ? call.count : 1))
    call.passes = this.#passes
    this.#pauses++
    this.#refusal = toError()
    if (this.#streak++ === 0) {
      this.#stuckSince = this.#now
      this.#isFirst = this.#now - this.#refusedAt > patienceMs
      this.#growth = this.#rate === unlimited ? slowStart : growth
      this.#rate = easing * Math.min(this.#rate, Math.max(1, this.#recentPasses))
    }
    this.#refusedAt = this.#now
    const pauseMs = Math.max(retryAfterMs, backoffMs(this.#streak))
    this.#nextAt = Math.max(this.#nextAt, this.#now + pauseMs)
    if (this.isStuck) {
      for (const take of this.#waiting) take(this.#refusal)
      this.#waiting.clear()
    }
    this.#dispatch()
    return pauseMs
  }

  /** Starts those whose turn it is, and comes back for the next. */
  #dispatch(): void {
    clearTimeout(this.#timer)
    const now = this.#now
    for (const take of this.#waiting) {
      const at = this.#nextAt
      if (at > now) {
        this.#timer = setTimeout(() => {
          this.#firedAt = at
          this.#dispatch()
        }, at - now)
        return
      }
      // Timers fire late: what was due lately is made up for.
      this.#nextAt = Math.max(at, now - 50) + (this.#streak > 0 ? probeMs : 1_000 / this.#rate)
      this.#waiting.delete(take)
      take(this.#pauses)
    }
  }
}
