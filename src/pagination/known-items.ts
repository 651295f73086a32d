/** What identifies an item. */
export type Key = string | number

/** At least so many items are remembered, and at most twice as many and a page, however long the list is. */
const minRemembered = 50_000
/** Places hold the number of their run in front of that of the item. */
const runFactor = 2 ** 27

/**
 * The items that were read lately, by their keys. One without a key is never known.
 *
 * Each has a place. A run is new items that directly followed each other in the list: within one, places are in list order. New
 * items between known ones begin another run, as they were read later, but precede some.
 */
export class KnownItems {
  readonly #places = new Map<Key, number>()
  #items = 0
  #runs = 0
  /** The last item that was new. */
  #newest: Key | undefined
  /** The last item read. */
  last: Key | undefined
  /** Whether items may have been read that are not known. */
  hasForgotten: boolean

  /** What a cursor names: some in the order of the list, and others. */
  constructor(inOrder: readonly Key[] = [], others: readonly Key[] = []) {
    for (const key of others) this.add(key, undefined)
    for (const [index, key] of inOrder.entries()) this.add(key, inOrder[index - 1])
    this.hasForgotten = inOrder.length > 0
  }

  get size(): number {
    return this.#places.size
  }

  has(key: Key | undefined): boolean {
    return this.#places.has(key as Key)
  }

  /** Notes that an item was read, and which one is in front of it. Returns whether it was not known. */
  add(key: Key | undefined, inFront: Key | undefined): boolean {
    this.last = key
    if (key === undefined) return true
    const place = this.#places.get(key)
    // What was shown last is forgotten last, or an item could be known, and not what was read behind it.
    if (place !== undefined) this.#places.delete(key)
    else if (inFront === undefined || inFront !== this.#newest) this.#runs++
    this.#places.set(key, place ?? this.#runs * runFactor + ++this.#items)
    if (place === undefined) this.#newest = key
    return place === undefined
  }

  /** How many items were read from one to the last, about; 0 for the last. */
  countAfter(key: Key | undefined): number {
    return (
      ((this.#places.get(this.last as Key) ?? 0) % runFactor) -
      ((this.#places.get(key as Key) ?? 0) % runFactor)
    )
  }

  /** Forgets what was shown long ago. Not while a page is read, or an item of it might come twice. */
  forget(): void {
    // Many at once, as each time costs.
    if (this.size <= 2 * minRemembered) return
    this.hasForgotten = true
    for (const key of this.#places.keys()) {
      if (this.size === minRemembered) return
      this.#places.delete(key)
    }
  }

  /** Whether those that are known come in another order than they were read in; and the index of the last one. */
  orderOf(keys: readonly (Key | undefined)[]): { isOther: boolean; last: number } {
    let isOther = false
    let last = -1
    let before = -1
    for (const [index, key] of keys.entries()) {
      const place = this.#places.get(key as Key)
      if (place === undefined) continue
      isOther ||= place < before && runOf(place) === runOf(before)
      before = place
      last = index
    }
    return { isOther, last }
  }
}

function runOf(place: number): number {
  return Math.floor(place / runFactor)
}
