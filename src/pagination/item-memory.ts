// An insert moves items by as many places as were inserted: at least this many pages and items are remembered, and at most
// about twice as many, however long the list is.
export const minPages = 8
export const minItems = 1_000

/** Remembers something about each item of recent pages, by its key. */
export class ItemMemory<V> {
  #recent = new Map<unknown, V>()
  #older = new Map<unknown, V>()
  #recentPages = 0
  /** How many items were new. Items that are read again must not push out others. */
  #recentItems = 0

  find(key: unknown): V | undefined {
    return this.#recent.get(key) ?? this.#older.get(key)
  }

  startPage(): void {
    if (this.#recentPages >= minPages && this.#recentItems >= minItems) {
      this.#older = this.#recent
      this.#recent = new Map()
      this.#recentPages = 0
      this.#recentItems = 0
    }
    this.#recentPages++
  }

  /**
   * Remembers an item of the page, and returns whether it is new. `undefined` identifies nothing.
   *
   * @param known What was remembered about it before this page.
   */
  add(key: unknown, value: V, known: V | undefined): boolean {
    if (key === undefined) return true
    const { size } = this.#recent
    this.#recent.set(key, value)
    // An item may occur twice on one page.
    const isNew = known === undefined && this.#recent.size > size
    if (isNew) this.#recentItems++
    return isNew
  }
}
