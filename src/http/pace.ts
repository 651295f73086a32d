import type { AnyApiError } from '../errors.js'
import type { Waiting } from '../internal/waiting.js'
import { backoffMs } from './backoff.js'
import type { Place, Places } from './places.js'

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

/** One call, as its pace knows it. */
export interface Turns extends Place {
  /** With `maxRetries: 0`: it waits for a place at most. */
  readonly isUrgent: boolean
  /** Called when it begins to wait, and when a refusal becomes the reason. */
  readonly onWait: (delayMs: number, refusal: AnyApiError | undefined) => void
  pace: Pace | undefined
  refusals: number
  /** How long refusals that concerned it alone made it wait: not by the clock, as a process may be frozen meanwhile. */
  waitedMs: number
  /** The last pause before its last refusal, if attempts were paced then. */
  refusedAfter: number | undefined
}

/** A number, once it is the call's turn; `undefined` if the service hangs; a refusal, if none has passed for long. */
export type Turn = number | AnyApiError | undefined

/**
 * When the attempts of all calls with one API key leave. It is open: they leave as soon as there is a place. A refusal concerns its
 * call alone, which backs off. Several in a row concern all, and close it: one leaves after each pause. Once one has passed, it is
 * paced: they leave one after another, at the rate that the service took before, then faster until the next refusal.
 */
export class Pace {
  #state: 'open' | 'closed' | 'paced' = 'open'
  /** When it was closed, or when an attempt has passed last. */
  #at = 0
  #pauses = 0
  /** What these were planned to last, since an attempt has passed. */
  #pausedMs = 0
  /** The last turn before the last pause: what left before says nothing new. */
  #paused = 0
  #refusal: AnyApiError | undefined
  /** Attempts a second. */
  #rate = 0
  #growth = 0
  #passes = 0
  /** Since when these are counted. */
  #since = 0
  /** Calls that have not ended. */
  #calls = 0
  /** Those that were refused, less those that have passed at once. */
  readonly #row = new Set<Turns>()
  /** Attempts in a row that failed otherwise. */
  #failures = 0
  /** Those that wait for a place alone, and the others. */
  readonly #queues = [new Map<(turn: Turn) => void, Turns>(), new Map<(turn: Turn) => void, Turns>()] as const
  #nextAt = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #firedAt = 0
  readonly #places: Places

  constructor(places: Places) {
    this.#places = places
  }

  /** A timer that fires is due, whatever the clock says: fake timers of tests may leave that alone. */
  get #now(): number {
    return Math.max(performance.now(), this.#firedAt)
  }

  get #passesPerSecond(): number {
    return Math.min(unlimited, (this.#passes * 1_000) / Math.max(1_000, this.#now - this.#since))
  }

  begin(call: Turns): this {
    call.pace?.end()
    call.pace = this
    this.#calls++
    return this
  }

  end(): void {
    this.#calls--
  }

  isOpenTo(call: Turns): boolean {
    return this.#state === 'open' || call.isUrgent
  }

  /** Waits before a call asks for its next turn. */
  async pause(ms: number, waiting: Waiting): Promise<void> {
    const until = this.#now + ms
    await waiting.pause(ms)
    this.#firedAt = Math.max(this.#firedAt, until)
  }

  /** Waits for a turn and a place. */
  async wait(call: Turns, isNext: boolean, waiting: Waiting): Promise<Turn> {
    let settle: (turn: Turn) => void = () => {}
    const turn = new Promise<Turn>(resolve => {
      settle = resolve
    })
    // Its patience has run out, too.
    if (this.#state === 'closed' && this.#pausedMs === Infinity && call.refusals > 0) return this.#refusal
    const queue = this.#queues[isNext || call.isUrgent ? 0 : 1]
    queue.set(settle, call)
    this.#places.waiting.add(this)
    this.dispatch()
    if (queue.has(settle)) this.#tell(call)
    try {
      return (await waiting.within(Number.POSITIVE_INFINITY, turn)) as Turn
    } finally {
      // Nobody else may be waiting: no timer must keep the process alive.
      if (queue.delete(settle)) this.dispatch()
    }
  }

  #tell(call: Turns): void {
    call.onWait(Math.max(0, this.#nextAt - this.#now), this.#state === 'open' ? undefined : this.#refusal)
  }

  /** Ends the waiting of all, or of those that wait for more than a place. */
  giveUp(refusal?: AnyApiError): void {
    for (const queue of refusal ? this.#queues.slice(1) : this.#queues)
      for (const settle of queue.keys()) if (queue.delete(settle)) settle(refusal)
  }

  /** An attempt had another response than a refusal. */
  passed(turn: number, call: Turns): void {
    const now = this.#now
    this.#failures = 0
    if (call.refusals === 0) for (const oldest of this.#row) if (this.#row.delete(oldest)) break
    // What was long ago counts less.
    if (this.#state !== 'closed' && now - this.#since > (this.#state === 'open' ? 2_000 : 10_000)) {
      this.#passes /= 2
      this.#since = (now + this.#since) / 2
    }
    this.#passes++
    if (this.#state === 'closed' && turn > this.#paused) {
      // A short pause is longer than needed, as Retry-After is in whole seconds.
      this.#since += now - this.#at - Math.max(0, this.#pausedMs - 2_000)
      this.#state = 'paced'
      this.#rate = Math.max(slowest, easing * this.#passesPerSecond)
      this.#growth = 0
      this.#nextAt = now
      this.#pausedMs = 0
      this.#pauses = 0
      this.dispatch()
    } else if (this.#state === 'paced') {
      const seconds = (now - this.#at) / 1_000
      this.#growth += acceleration * seconds
      this.#rate *= 1 + this.#growth * seconds
      // Calls that are refused for themselves never pass: this one was refused for the pace.
      if (call.refusedAfter === this.#paused)
        this.#rate = Math.min(
          this.#rate,
          Math.max(easing * this.#rate, this.#rate - 0.5, this.#passesPerSecond),
        )
      if (this.#rate > unlimited) this.#open()
    }
    if (this.#state !== 'closed') this.#at = now
  }

  /** An attempt failed, or had no response: no limit is the reason. */
  failed(): void {
    if (this.#state === 'closed' || ++this.#failures >= row) this.#open()
  }

  /** Returns how long the call has to wait before its next turn; `undefined` if that has lasted too long. */
  refused(turn: number, call: Turns, retryAfterMs: number, toError: () => AnyApiError): number | undefined {
    call.refusals++
    const isNews = this.#state !== 'closed' || turn > this.#paused
    // It was no probe, and is not sent again.
    if (this.#state === 'closed' && call.isUrgent) return undefined
    if (this.#state !== 'closed') {
      // Of a call, only the first is news.
      if (call.waitedMs === 0) this.#row.add(call)
      if (this.#row.size < Math.min(row, Math.max(2, this.#calls))) {
        if (this.#state === 'paced') {
          call.refusedAfter = this.#paused
          this.#growth = 0
        }
        if (call.waitedMs > patienceMs) return undefined
        const ms = Math.max(retryAfterMs, backoffMs(call.refusals))
        call.waitedMs += ms
        return ms
      }
      for (const each of this.#row) each.waitedMs = 0
      this.#row.clear()
      this.#state = 'closed'
      this.#at = this.#now
    }
    const isOver = this.#pausedMs > patienceMs
    let ms = retryAfterMs
    if (isNews) {
      this.#refusal = toError()
      ms = Math.max(ms, backoffMs(++this.#pauses))
      this.#pausedMs += ms
      this.#paused = this.#places.turn
    }
    this.#nextAt = Math.max(this.#nextAt, this.#now + ms)
    for (const other of this.#queues[1].values()) this.#tell(other)
    if (isOver) {
      this.#pausedMs = Infinity
      this.giveUp(this.#refusal)
    }
    this.dispatch()
    return isOver ? undefined : this.#nextAt - this.#now
  }

  #open(): void {
    this.#state = 'open'
    this.#failures = 0
    this.dispatch()
  }

  /** Lets those go whose turn it is, and comes back for the next. */
  dispatch(): void {
    clearTimeout(this.#timer)
    const places = this.#places
    for (const queue of this.#queues)
      for (const [settle, call] of queue) {
        if (places.areTaken) return
        if (this.#state !== 'open' && queue === this.#queues[1]) {
          const at = this.#nextAt
          if (at > this.#now) {
            this.#timer = setTimeout(() => {
              this.#firedAt = at
              this.dispatch()
            }, at - this.#now)
            return
          }
          if (!places.take(call)) continue
          // Timers fire late: what was due lately is made up for.
          this.#nextAt =
            Math.max(at, this.#now - 50) +
            (this.#state === 'closed' ? backoffMs(this.#pauses) : 1_000 / this.#rate)
        } else if (!places.take(call)) continue
        queue.delete(settle)
        settle(places.turn)
      }
    if (this.#queues.every(queue => queue.size === 0)) places.waiting.delete(this)
  }
}
