/** Identifies an item. */
export type Key = string | number

/** Minimum number of items to remember of a long list. The maximum is twice as many, plus a page. */
const minRemembered = 50_000
/** A place is the number of a run, times this, plus the number of the item. */
const runFactor = 2 ** 27

/**
 * The items read recently, by their keys. An item without a key is never known.
 *
 * Each has a place. A run consists of new items that directly followed each other in the list, so their places are in list order.
 * New items between known ones begin another run, because they precede some that were read before them.
 */
export class KnownItems {
  readonly #places = new Map<Key, number>()
  #items = 0
  #runs = 0
  /** The last new item. */
  #newest: Key | undefined
  /** The last item read. */
  last: Key | undefined
  /** Whether some items that were read may be unknown. */
  hasForgotten: boolean

  /** Starts with the items that a cursor names: those in list order, and the missing ones. */
  constructor(inOrder: readonly Key[] = [], missing: readonly Key[] = []) {
    for (const key of missing) this.add(key, undefined)
    for (const [index, key] of inOrder.entries()) this.add(key, inOrder[index - 1])
    this.hasForgotten = inOrder.length > 0
  }

  get size(): number {
    return this.#places.size
  }

  has(key: Key | undefined): boolean {
    return this.#places.has(key as Key)
  }

  /** The index of the first known item, or -1. */
  firstIn(keys: readonly (Key | undefined)[]): number {
    return keys.findIndex(key => this.has(key))
  }

  /** Whether a new item follows the first known one. */
  hasNewsIn(keys: readonly (Key | undefined)[]): boolean {
    return keys.slice(this.firstIn(keys)).some(key => !this.has(key))
  }

  /** Records that an item was read, and the item before it. Returns whether it is new. */
  add(key: Key | undefined, inFront: Key | undefined): boolean {
    this.last = key
    if (key === undefined) return true
    const place = this.#places.get(key)
    // The item shown last is forgotten last. Otherwise an item could be known while those after it are not.
    if (place !== undefined) this.#places.delete(key)
    else if (inFront === undefined || inFront !== this.#newest) this.#runs++
    this.#places.set(key, place ?? this.#runs * runFactor + ++this.#items)
    if (place === undefined) this.#newest = key
    return place === undefined
  }

  /** About how many items were read after an item, up to the last. */
  countAfter(key: Key | undefined): number {
    return (
      ((this.#places.get(this.last as Key) ?? 0) % runFactor) -
      ((this.#places.get(key as Key) ?? 0) % runFactor)
    )
  }

  /** Forgets the items shown longest ago. Never called in the middle of a page, or its items might come twice. */
  forget(): void {
    // Many at a time, because each time is slow.
    if (this.size <= 2 * minRemembered) return
    this.hasForgotten = true
    for (const key of this.#places.keys()) {
      if (this.size === minRemembered) return
      this.#places.delete(key)
    }
  }

  /** Whether known items come in another order than before, and the index of the last known one. */
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

/** Whether keys begin with the given ones, in the same order. */
export function beginsWith(keys: readonly unknown[], given: readonly unknown[]): boolean {
  return given.every((key, place) => key === keys[place])
}
