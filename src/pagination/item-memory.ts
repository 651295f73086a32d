// An insert moves items by as many places as were inserted: at least this many pages and items are remembered, and at most
// about twice as many, however long the list is.
const minPages = 8
const minItems = 1_000

/** Remembers something about each item of recent pages, by its key. */
export class ItemMemory<V> {
  #recent = new Map<unknown, V>()
  #older = new Map<unknown, V>()
  #recentPages = 0
  /** How many items were new. Items that are read again must not push out others. */
  #recentItems = 0
  hasForgotten = false

  find(key: unknown): V | undefined {
    return this.#recent.get(key) ?? this.#older.get(key)
  }

  startPage(): void {
    if (this.#recentPages >= minPages && this.#recentItems >= minItems) {
      this.hasForgotten ||= this.#older.size > 0
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

  /** Remembers a new item for as long as the one before it in the list, so that what is forgotten is always the beginning. */
  insertAfter(previous: unknown, key: unknown, value: V): void {
    const generation = this.isRecent(previous) ? this.#recent : this.#older
    generation.set(key, value)
  }

  /** Whether an item is remembered for longer than the others. */
  isRecent(key: unknown): boolean {
    return this.#recent.has(key)
  }
}
