import { setImmediate as afterMicrotasks } from 'node:timers/promises'
import type { Random } from './random.ts'

interface Event {
  readonly at: number
  readonly action: () => void
}

/**
 * One queue of events for the service, the reader and the client's timers. Nothing waits: time jumps to the next event,
 * and the next one runs when everything that the last one caused has settled.
 */
export class VirtualTime {
  now = 0
  /** By id, which grows: events of one moment run in the order in which they were planned. */
  readonly #events = new Map<number, Event>()
  #lastId = 0

  after(delayMs: number, action: () => void): number {
    const id = ++this.#lastId
    this.#events.set(id, { at: this.now + Math.max(0, delayMs), action })
    return id
  }

  cancel(id: number): void {
    this.#events.delete(id)
  }

  pause(delayMs: number): Promise<void> {
    return new Promise(resolve => this.after(delayMs, resolve))
  }

  /** False when no event is left before `isOver`. */
  async run(isOver: () => boolean): Promise<boolean> {
    await afterMicrotasks()
    while (!isOver()) {
      const id = this.#next()
      if (id === undefined) return false
      const { at, action } = this.#events.get(id) as Event
      this.#events.delete(id)
      this.now = at
      action()
      await afterMicrotasks()
    }
    return true
  }

  #next(): number | undefined {
    let earliest: number | undefined
    let at = Number.POSITIVE_INFINITY
    for (const [id, event] of this.#events) {
      if (event.at >= at) continue
      earliest = id
      at = event.at
    }
    return earliest
  }

  /** Puts the client's clocks and jitter under control; the returned function gives the real ones back. */
  install(random: Random): () => void {
    const { setTimeout, clearTimeout } = globalThis
    const { random: realRandom } = Math
    const virtual = {
      setTimeout: (action: () => void, delayMs = 0) => this.after(delayMs, action),
      clearTimeout: (id: number | undefined) => id !== undefined && this.cancel(id),
    }
    Object.assign(globalThis, virtual)
    Object.defineProperty(performance, 'now', { value: () => this.now, configurable: true })
    Math.random = () => random.fraction()
    return () => {
      Object.assign(globalThis, { setTimeout, clearTimeout })
      Reflect.deleteProperty(performance, 'now')
      Math.random = realRandom
    }
  }
}
