type TimerId = ReturnType<typeof setTimeout> | undefined

export const timedOut: unique symbol = Symbol('timed out')

/** If a timer fires this late, the event loop was blocked. */
const lateMs = 50

/** Waits until work settles, a time limit passes, or one of the signals aborts. */
export class Waiting {
  readonly #signals: readonly (AbortSignal | undefined)[]
  /** The current wait. Not a function, because V8 keeps a property's function, and the result it refers to, alive for long. */
  #wait: { readonly timer: TimerId; readonly reject: (reason: unknown) => void } | undefined
  readonly #onAbort = () => this.#interrupt()

  /** Listens once to each signal, until `close`. */
  constructor(signals: readonly (AbortSignal | undefined)[]) {
    this.#signals = signals
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
   * Settles like the work. Rejects with the signal's reason after an abort. Resolves to `timedOut` after the limit. It does not wait
   * for work that ignores both.
   */
  within<T>(ms: number, work: Promise<T>): Promise<T | typeof timedOut> {
    return new Promise((resolve, reject) => {
      const due = performance.now() + ms
      // After a blocked event loop, lets the runtime first read a response that has arrived.
      const expire = () =>
        performance.now() - due > lateMs ? setTimeout(resolve, 0, timedOut) : resolve(timedOut)
      const timer = Number.isFinite(ms) ? setTimeout(expire, ms) : undefined
      const wait = { timer, reject }
      this.#wait = wait
      this.#interrupt()
      const end = () => {
        clearTimeout(timer)
        // Otherwise a reference to the call would keep its result in memory.
        if (this.#wait === wait) this.#wait = undefined
      }
      work.finally(end).then(resolve, reject)
    })
  }

  #interrupt(): void {
    // Not from the event, because in Node its target is null for every listener after the first.
    const aborted = this.#signals.find(signal => signal?.aborted)
    if (!aborted || !this.#wait) return
    clearTimeout(this.#wait.timer)
    this.#wait.reject(aborted.reason)
  }
}
