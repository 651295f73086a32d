/** What identifies an item. */
export type Key = string | number

/** At least so many items are remembered, and at most twice as many and a page, however long the list is. */
const minRemembered = 50_000
/** How many of the last items a cursor names. */
export const namedInCursor = 100
/** The places of one run lie between two multiples of this. */
const runLength = 2 ** 20

/**
 * The items that were read lately, by their keys. One without a key is never known.
 *
 * Each has a place, by which those of one run can be compared: new items that directly followed each other in the list. What comes
 * between known items begins another run, as it was read after them, but precedes some.
 */
export class KnownItems {
  readonly #places = new Map<Key, number>()
  /** The last items that were new. */
  #latest: Key[] = []
  #nextPlace = 0
  /** The last item read. */
  last: Key | undefined
  /** Whether items may have been read that are not known. */
  hasForgotten: boolean

  constructor(runs: readonly (readonly Key[])[] = []) {
    for (const run of runs) for (const [index, key] of run.entries()) this.add(key, run[index - 1])
    this.hasForgotten = runs.length > 0
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
    if (this.#places.has(key)) return false
    if (inFront === undefined || inFront !== this.#latest.at(-1)) this.#nextPlace = nextRun(this.#nextPlace)
    this.#places.set(key, this.#nextPlace++)
    this.#latest.push(key)
    return true
  }

  /** Forgets what was read long ago. Not while a page is read, or an item of it might come twice. */
  forget(): void {
    if (this.#latest.length > 2 * namedInCursor) this.#latest = this.#latest.slice(-namedInCursor)
    // Many at once, as each time costs.
    if (this.size <= 2 * minRemembered) return
    this.hasForgotten = true
    for (const key of this.#places.keys()) {
      if (this.size === minRemembered) return
      this.#places.delete(key)
    }
  }

  /** How those that are known come: in the order in which they were read, in another one, or with new ones between neighbours. */
  orderOf(keys: readonly (Key | undefined)[]): 'same' | 'other' | 'parted' {
    let order: 'same' | 'parted' = 'same'
    let last = { place: Number.NEGATIVE_INFINITY, index: 0 }
    for (const [index, key] of keys.entries()) {
      const place = this.#places.get(key as Key)
      if (place === undefined) continue
      if (place < last.place && nextRun(place) === nextRun(last.place)) return 'other'
      if (place === last.place + 1 && index > last.index + 1) order = 'parted'
      last = { place, index }
    }
    return order
  }

  /** Those that were new last, run by run. */
  latestRuns(): Key[][] {
    const runs: Key[][] = []
    let end = 0
    for (const key of this.#latest.slice(-namedInCursor)) {
      const place = this.#places.get(key) as number
      if (place >= end) runs.push([])
      runs.at(-1)?.push(key)
      end = nextRun(place)
    }
    return runs
  }
}

/** Where the run after that of a place begins. */
function nextRun(place: number): number {
  return (Math.floor(place / runLength) + 1) * runLength
}
