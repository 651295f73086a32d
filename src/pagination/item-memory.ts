// An insert moves items by as many places as were inserted: at least this many pages and items are remembered, and at most
// about twice as many, however long the list is.
export const minPages = 8
export const minItems = 1_000

/** Remembers something about each item of recent pages, by its key. */
export class ItemMemory<V> {
  #recent = new Map<unknown, V>()
  #older = new Map<unknown, V>()
  #recentPages = 0

  find(key: unknown): V | undefined {
    return this.#recent.get(key) ?? this.#older.get(key)
  }

  /** Remembers an item. `undefined` identifies nothing. */
  add(key: unknown, value: V): void {
    if (key !== undefined) this.#recent.set(key, value)
  }

  endPage(): void {
    if (++this.#recentPages < minPages || this.#recent.size < minItems) return
    this.#older = this.#recent
    this.#recent = new Map()
    this.#recentPages = 0
  }
}
