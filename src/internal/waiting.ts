type TimerId = ReturnType<typeof setTimeout> | undefined

export const timedOut: unique symbol = Symbol('timed out')

/** A timer that fires this much too late tells of a blocked event loop. */
const lateMs = 50

/** Waits for work, but no longer than until a time limit, or until one of the signals aborts. */
export class Waiting {
  readonly #signals: readonly (AbortSignal | undefined)[]
  /** The present wait. No function: V8 keeps one that is assigned to a property for long, with the result it refers to. */
  #wait: { readonly timer: TimerId; readonly reject: (reason: unknown) => void } | undefined
  readonly #onAbort = () => this.#interrupt()

  /** Listens once to each signal, until `close`. Throws if one has aborted. */
  constructor(signals: readonly (AbortSignal | undefined)[]) {
    this.#signals = signals
    this.throwIfAborted()
    for (const signal of signals) signal?.addEventListener('abort', this.#onAbort)
  }

  close(): void {
    for (const signal of this.#signals) signal?.removeEventListener('abort', this.#onAbort)
  }

  get isAborted(): boolean {
    return this.#signals.some(signal => signal?.aborted)
  }

  throwIfAborted(): void {
    for (const signal of this.#signals) signal?.throwIfAborted()
  }

  /**
   * Settles as the work does. Rejects with the signal's reason at an abort, and resolves to `timedOut` after the limit; work that
   * ignores both is not waited for.
   */
  within<T>(ms: number, work: Promise<T>): Promise<T | typeof timedOut> {
    return new Promise((resolve, reject) => {
      const due = performance.now() + ms
      // After a blocked event loop, a response that has arrived is read first.
      const expire = () =>
        performance.now() - due > lateMs ? setTimeout(resolve, 0, timedOut) : resolve(timedOut)
      const timer = Number.isFinite(ms) ? setTimeout(expire, ms) : undefined
      const wait = { timer, reject }
      this.#wait = wait
      this.#interrupt()
      const end = () => {
        clearTimeout(timer)
        // Whoever holds the call must not hold its result.
        if (this.#wait === wait) this.#wait = undefined
      }
      work.finally(end).then(resolve, reject)
    })
  }

  async pause(ms: number): Promise<void> {
    await this.within(ms, new Promise(() => {}))
  }

  #interrupt(): void {
    // Read from the signals: in Node, the target of the event is null for every listener after the first.
    const aborted = this.#signals.find(signal => signal?.aborted)
    if (!aborted || !this.#wait) return
    clearTimeout(this.#wait.timer)
    this.#wait.reject(aborted.reason)
  }
}
