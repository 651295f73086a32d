import { minItems, minPages } from './item-memory.js'

/** The items that a verified walk has read, in the order of the list. What it forgets is always the beginning. */
export class ReadItems {
  /** The index of each item whose order is certain, counted from the first item that was read; in the order of the list. */
  readonly #positions = new Map<unknown, number>()
  /** All items that are not forgotten. Those that a later window no longer showed have no position. */
  readonly #known = new Set<unknown>()
  #forgotten = 0
  #minKept = minItems

  /** Whether a window at the beginning of the list needs no known item. */
  get mayBeginAgain(): boolean {
    return this.#forgotten === 0
  }

  /** The position of an item among those whose order is certain. */
  find(key: unknown): number | undefined {
    return this.#positions.get(key)
  }

  /** Continues the order with a window, from its first item on. Returns for each of its items whether it is new. */
  merge(window: readonly unknown[]): readonly boolean[] {
    const isNew = window.map(key => !this.#known.has(key))
    const start = this.find(window[0]) ?? this.#forgotten
    for (const [key, position] of this.#positions) if (position >= start) this.#positions.delete(key)
    for (const [index, key] of window.entries()) {
      this.#known.add(key)
      this.#positions.set(key, start + index)
    }
    this.#minKept = Math.max(this.#minKept, minPages * window.length)
    // Many at once, as each time costs.
    if (this.#positions.size > 2 * this.#minKept) this.#forget(this.#positions.size - this.#minKept)
    return isNew
  }

  #forget(count: number): void {
    for (const key of [...this.#positions.keys()].slice(0, count)) {
      this.#known.delete(key)
      this.#positions.delete(key)
    }
    this.#forgotten += count
  }
}
