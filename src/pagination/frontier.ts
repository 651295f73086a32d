import type { Key } from './known-items.js'

/** How many items a cursor names, and 30 more if many of them were missing in their place. */
export const maxNamed = 120
const minInPlace = 60
const maxOthers = 90

/**
 * The farthest items of the list that were read: what a cursor names. Where a loop goes over what it has read, as others came in
 * between, the frontier stays where it is: a loop that is resumed must know all that was read behind an item that it knows.
 */
export class Frontier {
  /** In the order of the list, as responses have shown it; some more than are named. */
  readonly #behind: readonly Key[]
  /** Not shown where they should have come, the nearest first: they are gone, or follow farther on. */
  readonly #others: readonly Key[]
  /** What was new since the frontier was shown. */
  readonly #since: readonly Key[]

  constructor(behind: readonly Key[] = [], others: readonly Key[] = [], since: readonly Key[] = []) {
    this.#behind = behind
    this.#others = others
    this.#since = since
  }

  /** What a cursor names. */
  get names(): { behind: readonly Key[]; others: readonly Key[] } {
    const others = this.#others
    return { behind: this.#behind.slice(Math.min(others.length - maxNamed, -minInPlace)), others }
  }

  /** The frontier after a plain page, as these follow each other. */
  append(news: readonly Key[]): Frontier {
    return new Frontier([...this.#behind.slice(-maxNamed), ...news], this.#others, this.#since)
  }

  /** The frontier after a response, of whose items some are new, and whether it is where that response ends. */
  advance(shown: readonly Key[], news: readonly Key[]): { frontier: Frontier; isAtEnd: boolean } {
    const behind = this.#behind.slice(-maxNamed)
    const now = new Set(shown)
    const isShown = (key: Key) => now.has(key)
    if (!behind.some(isShown) && !this.#others.some(isShown)) {
      const since = [...this.#since, ...news].slice(-shown.length)
      // If nothing is shown that was read before, the frontier is gone, or far.
      const known = new Set(since)
      if (shown.some(key => !known.has(key)))
        return { frontier: new Frontier(this.#behind, this.#others, since), isAtEnd: false }
    }
    // Only what is next to each other in a response, or in front of that, is in a known order.
    const first = Math.max(0, behind.indexOf(shown[0] as Key))
    const last = behind.indexOf(shown.at(-1) as Key)
    const beyond = last < 0 ? [] : behind.slice(last + 1)
    const missing = behind.slice(first, last < 0 ? undefined : last)
    const others = [...missing, ...this.#others].filter(key => !now.has(key)).slice(-maxOthers)
    const frontier = new Frontier([...behind.slice(0, first), ...shown, ...beyond], others)
    return { frontier, isAtEnd: beyond.length === 0 }
  }
}
