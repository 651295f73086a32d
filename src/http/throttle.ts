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
/** No call waits longer while none passes, and a limit is forgotten after so long without an attempt. */
const patienceMs = 60_000
const unlimited = Number.POSITIVE_INFINITY
const maxThrottles = 1_000

/** Of one call. */
export interface Refusals {
  count: number
  /** When it last made all pause. */
  pausedAt: number
  /** When it was first refused, or began to wait because of others. */
  since: number | undefined
}

/**
 * Spaces the attempts of all calls with one API key, once the service has refused some because they were too many: all pause; then
 * one goes, and when it has passed, the others follow as fast as the service took them before, then faster until the next refusal.
 */
export class Throttle {
  /** Attempts a second. */
  #rate = unlimited
  #growth = growth
  /** Passes of about the last second. */
  #recentPasses = 0
  #passedAt = 0
  /** How often the call that has passed last had been refused. */
  #passedAfter = 0
  /** A turn is the number of pauses before it: what was sent before the last pause says nothing new. */
  #pauses = 0
  #pausedAt = Number.NEGATIVE_INFINITY
  /** The last pause was the first of a minute: that may be chance. */
  #isLone = true
  /** Pauses since an attempt has passed. */
  #streak = 0
  #refusal: HttpError | undefined
  #nextAt = 0
  /** With the time since when each waits. */
  readonly #waiting = new Map<(turn: number | HttpError) => void, number>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #firedAt = 0

  /** A timer that fires is due, whatever the clock says: fake timers of tests may leave that alone. */
  get #now(): number {
    return Math.max(performance.now(), this.#firedAt)
  }

  /** A turn, unless an attempt has to wait for one. */
  free(): number | undefined {
    if (this.#now - Math.max(this.#passedAt, this.#nextAt) > patienceMs) this.#rate = unlimited
    return this.#rate === unlimited ? this.#pauses : undefined
  }

  /** Waits for a turn. Resolves with the refusal of another call if no attempt passes for a minute. */
  async turn(
    call: Refusals,
    waiting: Waiting,
    onWait: (ms: number, refusal: HttpError) => void,
  ): Promise<number | HttpError> {
    const { promise, resolve: take } = Promise.withResolvers<number | HttpError>()
    const delayMs = this.#nextAt - this.#now + (1_000 * this.#waiting.size) / this.#rate
    call.since ??= this.#now
    this.#waiting.set(take, call.since)
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
    await waiting.pause(ms)
    this.#firedAt = Math.max(this.#firedAt, until)
  }

  passed(turn: number | undefined, call: Refusals): void {
    const now = this.#now
    const seconds = (now - this.#passedAt) / 1_000
    this.#recentPasses = this.#recentPasses * Math.exp(-seconds) + 1
    this.#passedAt = now
    this.#passedAfter = call.count
    if (turn !== this.#pauses) return
    // A test of a caller's, say, whose next call must not wait.
    if (this.#waiting.size === 0 && this.#isLone) this.#rate = unlimited
    else if (this.#streak === 0) this.#rate *= 1 + this.#growth * seconds
    if (this.#streak > 0) this.#nextAt += 1_000 / this.#rate - probeMs
    this.#streak = 0
    this.#dispatch()
  }

  /** Makes all pause, unless the refusal is old news. Returns how long the call has to wait; `undefined` after a minute without a pass. */
  refused(
    turn: number | undefined,
    call: Refusals,
    retryAfterMs: number,
    toError: () => HttpError,
  ): number | undefined {
    const now = this.#now
    // If one that was refused less often has passed since, it is refused for itself, such as for the quota of its account. A slow
    // limit lets calls through that were refused as often.
    const isAlone = this.#passedAt > call.pausedAt && this.#passedAfter < call.count
    call.count++
    call.since ??= now
    // Each attempt may have a key, and so a throttle, of its own.
    const ownMs = Math.max(retryAfterMs, backoffMs(call.count))
    if (isAlone || turn !== this.#pauses) return ownMs
    call.pausedAt = now
    this.#isLone = now - this.#pausedAt > patienceMs
    this.#pausedAt = now
    this.#pauses++
    this.#refusal = toError()
    if (this.#streak++ === 0) {
      this.#growth = this.#rate === unlimited ? slowStart : growth
      this.#rate = easing * Math.min(this.#rate, Math.max(1, this.#recentPasses))
    }
    const pauseMs = Math.max(retryAfterMs, backoffMs(this.#streak))
    this.#nextAt = Math.max(this.#nextAt, now + pauseMs)
    const isStuck = (since: number) => now - Math.max(since, this.#passedAt) > patienceMs
    for (const [take, since] of this.#waiting) {
      if (!isStuck(since)) continue
      this.#waiting.delete(take)
      take(this.#refusal)
    }
    this.#dispatch()
    return isStuck(call.since) ? undefined : Math.max(pauseMs, ownMs)
  }

  /** Starts those whose turn it is, and comes back for the next. */
  #dispatch(): void {
    clearTimeout(this.#timer)
    const now = this.#now
    for (const take of this.#waiting.keys()) {
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

/** The throttle of that name. The oldest of too many is forgotten. */
export function throttleOf(name: string, throttles: Map<string, Throttle>): Throttle {
  let throttle = throttles.get(name)
  if (!throttle) {
    throttle = new Throttle()
    throttles.set(name, throttle)
    for (const oldest of [...throttles.keys()].slice(0, -maxThrottles)) throttles.delete(oldest)
  }
  return throttle
}
