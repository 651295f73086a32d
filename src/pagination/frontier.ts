import type { Key } from './known-items.js'

/** Number of items that a cursor names, plus 30 if many were missing where they were expected. */
export const maxNamed = 120
const minInPlace = 60
const maxMissing = 90

/**
 * The farthest items that were read. A cursor names them. If items were added among those already read, the frontier stays where
 * it is, because a resumed loop that recognises an item must also recognise everything read after it.
 */
export class Frontier {
  /** In the list order that responses have shown. Somewhat more than a cursor names. */
  readonly #inOrder: readonly Key[]
  /** Missing where they were expected, the nearest first. They were removed, or have moved farther on. */
  readonly #missing: readonly Key[]
  /** New items since a response last showed the frontier. */
  readonly #since: readonly Key[]

  constructor(inOrder: readonly Key[] = [], missing: readonly Key[] = [], since: readonly Key[] = []) {
    this.#inOrder = inOrder
    this.#missing = missing
    this.#since = since
  }

  /** The items that a cursor names. */
  get names(): { inOrder: readonly Key[]; missing: readonly Key[] } {
    const missing = this.#missing
    return { inOrder: this.#inOrder.slice(Math.min(missing.length - maxNamed, -minInPlace)), missing }
  }

  /** The frontier after a plain page. Plain pages follow each other. */
  append(news: readonly Key[]): Frontier {
    return new Frontier([...this.#inOrder.slice(-maxNamed), ...news], this.#missing, this.#since)
  }

  /** The frontier after a response, and whether the response ends there. `news` are the new items among those it showed. */
  advance(shown: readonly Key[], news: readonly Key[]): { frontier: Frontier; isAtEnd: boolean } {
    const inOrder = this.#inOrder.slice(-maxNamed)
    const now = new Set(shown)
    const isShown = (key: Key) => now.has(key)
    if (!inOrder.some(isShown) && !this.#missing.some(isShown)) {
      const since = [...this.#since, ...news].slice(-shown.length)
      const known = new Set(since)
      // If `since` lacks a shown item, the frontier is farther on. Otherwise it is gone or far away.
      if (shown.some(key => !known.has(key)))
        return { frontier: new Frontier(this.#inOrder, this.#missing, since), isAtEnd: false }
    }
    // The order is known only for the items of one response, and for those before them.
    const first = Math.max(0, inOrder.indexOf(shown[0] as Key))
    const last = inOrder.indexOf(shown.at(-1) as Key)
    const beyond = last < 0 ? [] : inOrder.slice(last + 1)
    const between = inOrder.slice(first, last < 0 ? undefined : last)
    const missing = [...between, ...this.#missing].filter(key => !now.has(key)).slice(-maxMissing)
    const frontier = new Frontier([...inOrder.slice(0, first), ...shown, ...beyond], missing)
    return { frontier, isAtEnd: beyond.length === 0 }
  }
}
