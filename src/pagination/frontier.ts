import type { Key } from './known-items.js'

/** Number of items that a cursor names, plus 30 if many were missing where they were expected. */
export const maxNamed = 120
const minInPlace = 60
const maxOthers = 90

/**
 * The farthest items that were read. A cursor names them. If items were added among those already read, the frontier stays where
 * it is, because a resumed loop that recognises an item must also recognise everything read after it.
 */
export class Frontier {
  /** In the list order that responses have shown. Somewhat more than a cursor names. */
  readonly #behind: readonly Key[]
  /** Missing where they were expected, the nearest first. They were removed, or have moved farther on. */
  readonly #others: readonly Key[]
  /** New items since a response last showed the frontier. */
  readonly #since: readonly Key[]

  constructor(behind: readonly Key[] = [], others: readonly Key[] = [], since: readonly Key[] = []) {
    this.#behind = behind
    this.#others = others
    this.#since = since
  }

  /** The items that a cursor names. */
  get names(): { behind: readonly Key[]; others: readonly Key[] } {
    const others = this.#others
    return { behind: this.#behind.slice(Math.min(others.length - maxNamed, -minInPlace)), others }
  }

  /** The frontier after a plain page. Plain pages follow each other. */
  append(news: readonly Key[]): Frontier {
    return new Frontier([...this.#behind.slice(-maxNamed), ...news], this.#others, this.#since)
  }

  /** The frontier after a response, and whether the response ends there. `news` are the new items among those it showed. */
  advance(shown: readonly Key[], news: readonly Key[]): { frontier: Frontier; isAtEnd: boolean } {
    const behind = this.#behind.slice(-maxNamed)
    const now = new Set(shown)
    const isShown = (key: Key) => now.has(key)
    if (!behind.some(isShown) && !this.#others.some(isShown)) {
      const since = [...this.#since, ...news].slice(-shown.length)
      const known = new Set(since)
      // An item was read before, so the frontier is farther on. Else it was removed, or is far away.
      if (shown.some(key => !known.has(key)))
        return { frontier: new Frontier(this.#behind, this.#others, since), isAtEnd: false }
    }
    // The order is known only for the items of one response, and for those before them.
    const first = Math.max(0, behind.indexOf(shown[0] as Key))
    const last = behind.indexOf(shown.at(-1) as Key)
    const beyond = last < 0 ? [] : behind.slice(last + 1)
    const missing = behind.slice(first, last < 0 ? undefined : last)
    const others = [...missing, ...this.#others].filter(key => !now.has(key)).slice(-maxOthers)
    const frontier = new Frontier([...behind.slice(0, first), ...shown, ...beyond], others)
    return { frontier, isAtEnd: beyond.length === 0 }
  }
}
