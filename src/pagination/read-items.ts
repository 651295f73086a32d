import { minItems, minPages } from './item-memory.js'

/** The items that a verified walk has read, in the order of the list. What it forgets is always the beginning. */
export class ReadItems {
  /** In the order of the list, as one window after another has shown it. */
  #ordered: readonly unknown[] = []
  /** The index of each, counted from the first item that was read. */
  readonly #positions = new Map<unknown, number>()
  /** Those, and items that a later window did not show where they were: nothing tells where they are, so they are kept. */
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
    const before = this.#ordered.slice(0, start - this.#forgotten)
    for (const key of this.#ordered.slice(before.length)) this.#positions.delete(key)
    for (const [index, key] of window.entries()) {
      this.#known.add(key)
      this.#positions.set(key, start + index)
    }
    this.#ordered = [...before, ...window]
    this.#minKept = Math.max(this.#minKept, minPages * window.length)
    // Many at once, as each time costs.
    if (this.#ordered.length > 2 * this.#minKept) this.#forget(this.#ordered.length - this.#minKept)
    return isNew
  }

  #forget(count: number): void {
    for (const key of this.#ordered.slice(0, count)) {
      this.#known.delete(key)
      this.#positions.delete(key)
    }
    this.#ordered = this.#ordered.slice(count)
    this.#forgotten += count
  }
}
