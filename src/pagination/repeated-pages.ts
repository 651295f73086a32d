import type { LoadedPage } from './page.js'

// A list that grows by a page while a page is read repeats that page, too: so often, it is a service that ignores `page`.
const maxSamePages = 8

/** Recognises a service that ignores the requested page. */
export class RepeatedPages {
  /** Pages in a row that were the same, item by item. */
  #samePages = 1
  /** Repeats in a row that no growth of the list explains. */
  #unexplained = 0

  /** The last page was the same as the one before it. */
  get hasRepeated(): boolean {
    return this.#samePages > 1
  }

  get isEndless(): boolean {
    // One can be an insert before the page and a removal after it.
    return this.#unexplained >= 2 || this.#samePages >= maxSamePages
  }

  /** @param isPastEnd The page is beyond every total that the list has had. */
  add<T>(loaded: LoadedPage<T>, previous: LoadedPage<T> | undefined, isPastEnd: boolean): void {
    const isSame = previous !== undefined && isSamePage(loaded, previous, isPastEnd)
    this.#samePages = isSame ? this.#samePages + 1 : 1
    const isExplained = !isSame || loaded.totalItems - previous.totalItems >= loaded.limit
    this.#unexplained = isExplained ? 0 : this.#unexplained + 1
  }
}

function isSamePage<T>(loaded: LoadedPage<T>, previous: LoadedPage<T>, isPastEnd: boolean): boolean {
  if (loaded.data.length !== previous.data.length) return false
  const keys = loaded.keys()
  const others = previous.keys()
  if (keys?.every(key => key !== undefined)) return keys.every((key, index) => key === others?.[index])
  // Without keys, two pages may be equal by chance. Beyond every total they show a service that ignores `page`: it never
  // sends the empty page that ends a list there.
  return isPastEnd && JSON.stringify(loaded.raw) === JSON.stringify(previous.raw)
}
