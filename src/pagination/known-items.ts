/** What identifies an item. */
export type Key = string | number

// At least so many items, and so many windows, are remembered, and at most about twice as many, however long the list is.
const minItems = 1_000
const minWindows = 8
const keysInCursor = 100
const orderedKeysInCursor = 20

/** The items that a cursor remembers. */
export interface RememberedKeys<K = Key> {
  /** In the order of the list, up to the last item read. */
  readonly chain: readonly K[]
  /** Where they are is not known. */
  readonly others: readonly K[]
}

/**
 * The items that were read lately. Those of the windows read so far form a chain, in the order of the list, that ends with the
 * last item read. Others were read, too, but where they are now is not known: the list changed, and the chain was gone back to.
 */
export class KnownItems {
  /** Entries can be left over from before an item moved: one counts only if `#indexes` has its place. */
  readonly #chain: Key[] = []
  readonly #indexes = new Map<Key, number>()
  readonly #others: Set<Key>
  #forgotten = 0
  #minKept = minItems

  constructor({ chain, others }: RememberedKeys = { chain: [], others: [] }) {
    this.#others = new Set(others)
    for (const key of chain) this.add(key)
  }

  /** Of the chain, with what is forgotten of it. */
  get length(): number {
    return this.#forgotten + this.#chain.length
  }

  get last(): Key | undefined {
    return this.#chain.at(-1)
  }

  /** How many items are remembered. */
  get size(): number {
    return this.#indexes.size + this.#others.size
  }

  has(key: Key | undefined): boolean {
    return this.#indexes.has(key as Key) || this.#others.has(key as Key)
  }

  /** Its place in the chain. */
  indexOf(key: Key | undefined): number | undefined {
    return this.#indexes.get(key as Key)
  }

  /** Cuts the chain at an index. What was cut off stays known, without a place. */
  goBackTo(index: number): void {
    for (const key of this.#chain.splice(Math.max(0, index - this.#forgotten))) {
      this.#indexes.delete(key)
      this.#others.add(key)
    }
  }

  /** Adds an item to the chain. Returns whether it is new. */
  add(key: Key | undefined): boolean {
    if (key === undefined) return true
    const { size } = this
    this.#others.delete(key)
    this.#indexes.set(key, this.length)
    this.#chain.push(key)
    return this.size > size
  }

  /** Forgets what was read long ago, as seen from the end of a window of so many items. */
  endWindow(items: number): void {
    this.#minKept = Math.max(this.#minKept, minWindows * items)
    const { length } = this.#chain
    // Many at once, as each time costs.
    if (length <= 2 * this.#minKept) return
    for (const key of this.#chain.splice(0, length - this.#minKept)) {
      if (this.#indexes.get(key) === this.#forgotten) this.#indexes.delete(key)
      this.#forgotten++
    }
    for (const key of [...this.#others].slice(0, -2 * this.#minKept)) this.#others.delete(key)
  }

  /** Those that a cursor remembers: the last ones. */
  newest(): RememberedKeys {
    const others = [...this.#others].slice(orderedKeysInCursor - keysInCursor)
    const start = Math.max(0, this.#chain.length + others.length - keysInCursor)
    const isInPlace = (key: Key, place: number) => this.#indexes.get(key) === this.#forgotten + start + place
    return { chain: this.#chain.slice(start).filter(isInPlace), others }
  }
}
