import { minItems, minPages } from './item-memory.js'

/** The items that a verified walk has read, in the order of the list. What it forgets is always the beginning. */
export class ReadItems {
  /** The index of each item whose order is certain, counted from the first item that was read; in the order of the list. */
  readonly #indexes = new Map<unknown, number>()
  /**
   * The position in the list where each item that is not forgotten was last. Those that a later window no longer showed have no
   * index.
   */
  readonly #known = new Map<unknown, number>()
  /** An item was at two positions in the list. */
  hasMoved = false
  #forgotten = 0
  #minKept = minItems

  /** Whether a window at the beginning of the list needs no known item. */
  get mayBeginAgain(): boolean {
    return this.#forgotten === 0
  }

  /** The index of an item among those whose order is certain. */
  find(key: unknown): number | undefined {
    return this.#indexes.get(key)
  }

  /**
   * Continues the order with a window, from its first item on, which is at this position in the list. Returns for each of its
   * items whether it is new.
   */
  merge(window: readonly unknown[], position: number): readonly boolean[] {
    const isNew = window.map(key => !this.#known.has(key))
    const start = this.find(window[0]) ?? this.#forgotten
    for (const [key, index] of this.#indexes) if (index >= start) this.#indexes.delete(key)
    for (const [index, key] of window.entries()) {
      if (!isNew[index] && this.#known.get(key) !== position + index) this.hasMoved = true
      this.#known.set(key, position + index)
      this.#indexes.set(key, start + index)
    }
    this.#minKept = Math.max(this.#minKept, minPages * window.length)
    // Many at once, as each time costs.
    if (this.#indexes.size > 2 * this.#minKept) this.#forget(this.#indexes.size - this.#minKept)
    return isNew
  }

  #forget(count: number): void {
    for (const key of [...this.#indexes.keys()].slice(0, count)) {
      this.#known.delete(key)
      this.#indexes.delete(key)
    }
    this.#forgotten += count
  }
}
