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
  /** A heap of ids, the earliest event first. Those of cancelled events are skipped. */
  readonly #heap: { readonly at: number; readonly id: number }[] = []
  #lastId = 0

  after(delayMs: number, action: () => void): number {
    const id = ++this.#lastId
    const at = this.now + Math.max(0, delayMs || 0)
    this.#events.set(id, { at, action })
    this.#push({ at, id })
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
    for (;;) {
      const [top] = this.#heap
      if (top === undefined) return undefined
      this.#pop()
      if (this.#events.has(top.id)) return top.id
    }
  }

  #push(entry: { readonly at: number; readonly id: number }): void {
    let index = this.#heap.push(entry) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!this.#isBefore(index, parent)) return
      this.#swap(index, parent)
      index = parent
    }
  }

  #pop(): void {
    this.#swap(0, this.#heap.length - 1)
    this.#heap.pop()
    for (let index = 0; ; ) {
      let first = index
      for (const child of [2 * index + 1, 2 * index + 2])
        if (child < this.#heap.length && this.#isBefore(child, first)) first = child
      if (first === index) return
      this.#swap(index, first)
      index = first
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one]!, this.#heap[other]!]
    return a.at < b.at || (a.at === b.at && a.id < b.id)
  }

  #swap(one: number, other: number): void {
    const kept = this.#heap[one]!
    this.#heap[one] = this.#heap[other]!
    this.#heap[other] = kept
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
