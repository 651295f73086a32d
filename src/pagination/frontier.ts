import type { Key } from './known-items.js'

/** How many items a cursor names. Half of them may be ahead. */
export const maxNamed = 100

/**
 * The farthest items of the list that were read, in its order: what a cursor names. Where a loop goes over what it has read, as others
 * came in between, the frontier stays where it is: a loop that is resumed must know all that was read behind an item that it knows.
 */
export class Frontier {
  /** Up to what was shown last. */
  behind: readonly Key[] = []
  /** Not shown where they should have come: they are gone, or follow farther on. */
  ahead: readonly Key[] = []
  /** The place after the last one, and the total of that response. */
  end = 0
  total = 0
  /** What was new since the frontier was shown. */
  #since: readonly Key[] = []

  /** Plain pages follow each other. */
  append(shown: readonly Key[]): void {
    this.behind = [...this.behind, ...shown].slice(-maxNamed)
  }

  /** Reads what a response shows from its first known item on. Returns whether that is at the frontier. */
  advance(shown: readonly Key[], news: readonly Key[]): boolean {
    const { behind, ahead } = this
    // Nothing has moved: by far the most frequent case.
    if (ahead.length === 0 && shown[0] === behind.at(-1) && news.length === shown.length - 1) {
      this.#name([...behind, ...news], [])
      return true
    }
    const known = [...behind, ...ahead]
    const places = new Map(known.map((key, place) => [key, place]))
    const first = shown.findIndex(key => places.has(key))
    if (first < 0) {
      this.#since = [...this.#since, ...news].slice(-maxNamed)
      // Nothing is shown that was read before: the frontier is gone, or far.
      if (shown.some(key => !this.#since.includes(key))) return false
      this.#name(this.#since, known.slice(-maxNamed / 2))
      return true
    }
    const end = Math.max(...shown.map(key => places.get(key) ?? 0)) + 1
    // What is ahead should be shown now. If none is, more of it may be gone.
    const left = end > behind.length ? ahead.slice(end - behind.length) : ahead.slice(-maxNamed / 2)
    // A replica that is behind may still show what was removed.
    const now = new Set(shown)
    const before = known.slice(0, end).filter(key => !now.has(key))
    this.#name([...before, ...shown.slice(first)], [...behind.slice(end), ...left])
    return true
  }

  #name(behind: readonly Key[], ahead: readonly Key[]): void {
    this.ahead = ahead.slice(-maxNamed)
    this.behind = behind.slice(Math.max(0, behind.length + this.ahead.length - maxNamed))
    this.#since = []
  }
}
