import { minItems, minPages } from './item-memory.js'

/** The items that a verified walk has read, in the order of the list. What it forgets is always the beginning. */
export class ReadItems {
  /** The item with position p is at p - forgotten. */
  #keys: readonly unknown[] = []
  readonly #positions = new Map<unknown, number>()
  /** Where new items came instead of these, they were removed or lie ahead: nothing tells which. */
  readonly #skipped = new Set<unknown>()
  #forgotten = 0
  #minKept = minItems
  /** The order of some items is not certain. Nothing is forgotten any more. */
  #isUncertain = false

  /** Whether a window at the beginning of the list needs no known item. */
  get mayBeginAgain(): boolean {
    return this.#forgotten === 0 && !this.#isUncertain
  }

  /** The position of an item among those read, if all that were read after it are remembered. */
  find(key: unknown): number | undefined {
    return this.#positions.get(key)
  }

  /** Adds the new items of a window. Returns for each whether it is new. */
  merge(window: readonly unknown[]): readonly boolean[] {
    const isNew = window.map(key => !this.#positions.has(key) && !this.#skipped.has(key))
    const isPlaced = window.map(key => this.#positions.has(key))
    for (let start = 0; start < window.length; start++) {
      const next = isPlaced.indexOf(true, start)
      const end = next === -1 ? window.length : next
      if (end > start) this.#insert(window.slice(start, end), window[start - 1], window[next])
      start = end
    }
    this.#minKept = Math.max(this.#minKept, minPages * window.length)
    const last = this.find(window.at(-1)) ?? 0
    // Many at once, as each time costs.
    if (!this.#isUncertain && last - this.#forgotten > 2 * this.#minKept)
      this.#forgetBefore(last - this.#minKept)
    return isNew
  }

  /** Inserts items that follow one and precede another in a window; either is undefined at the end of the window. */
  #insert(added: readonly unknown[], previous: unknown, next: unknown): void {
    const end = this.#forgotten + this.#keys.length
    const from = (this.find(previous) ?? end - 1) + 1
    const to = this.find(next) ?? end
    const isBeginning = previous === undefined && end > 0
    this.#isUncertain ||= isBeginning || to < from || added.some(key => this.#skipped.has(key))
    const [index, nextIndex] = [from - this.#forgotten, Math.max(from, to) - this.#forgotten]
    for (const key of this.#keys.slice(index, nextIndex)) {
      this.#positions.delete(key)
      this.#skipped.add(key)
    }
    for (const key of added) this.#skipped.delete(key)
    this.#keys = [...this.#keys.slice(0, index), ...added, ...this.#keys.slice(nextIndex)]
    for (const [offset, key] of this.#keys.slice(index).entries()) this.#positions.set(key, from + offset)
  }

  #forgetBefore(position: number): void {
    const count = position - this.#forgotten
    for (const key of this.#keys.slice(0, count)) this.#positions.delete(key)
    this.#keys = this.#keys.slice(count)
    this.#forgotten = position
  }
}
