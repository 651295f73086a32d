import type { Key } from './known-items.js'

/** How many items a cursor names. Half of them may be ahead. */
export const maxNamed = 100
/** What is not shown by so many responses is gone. */
const patience = 8

/** What a cursor says of a frontier. */
interface Place {
  readonly behind: readonly Key[]
  readonly ahead: readonly Key[]
  readonly end: number
  readonly total: number
}

/**
 * The farthest items of the list that were read, in its order: what a cursor names. Where a loop goes over what it has read, as others
 * came in between, the frontier stays where it is: a loop that is resumed must know all that was read behind an item that it knows.
 */
export class Frontier {
  /** In the order of the list, up to what was shown last; some more than are named. */
  #behind: Key[]
  /** Not shown where they should have come: they are gone, or follow farther on. */
  #ahead: readonly Key[]
  /** The place after the last one, and the total of that response. */
  end: number
  total: number
  /** Responses in a row that should have shown what is ahead. */
  #missed = 0
  /** What was new since the frontier was shown. */
  #since: readonly Key[] = []

  constructor({ behind, ahead, end, total }: Place = { behind: [], ahead: [], end: 0, total: 0 }) {
    this.#behind = [...behind]
    this.#ahead = ahead
    this.end = end
    this.total = total
  }

  get place(): Place {
    const behind = this.#behind.slice(Math.max(0, this.#behind.length + this.#ahead.length - maxNamed))
    return { behind, ahead: this.#ahead, end: this.end, total: this.total }
  }

  /** Plain pages follow each other. */
  append(news: readonly Key[]): void {
    for (const key of news) this.#behind.push(key)
    // Not each time, as that costs.
    if (this.#behind.length > 4 * maxNamed) this.#behind.splice(0, this.#behind.length - maxNamed)
  }

  /** Reads what a response shows from its first known item on. Returns whether that is at the frontier. */
  advance(shown: readonly Key[], news: readonly Key[]): boolean {
    // Nothing has moved: by far the most frequent case.
    if (this.#ahead.length === 0 && shown[0] === this.#behind.at(-1) && news.length === shown.length - 1) {
      this.append(news)
      if (this.#since.length > 0) this.#since = []
      return true
    }
    const { behind, ahead } = this.place
    const known = [...behind, ...ahead]
    const places = new Map(known.map((key, place) => [key, place]))
    const first = shown.findIndex(key => places.has(key))
    if (first < 0) {
      this.#since = [...this.#since, ...news].slice(-maxNamed)
      // Nothing is shown that was read before: the frontier is gone, or far.
      if (shown.some(key => !this.#since.includes(key))) return false
      this.#behind = [...this.#since]
      this.#ahead = known.slice(-maxNamed / 2)
      this.#missed = 0
    } else {
      const now = new Set(shown)
      const begin = Math.min(places.get(shown[first] as Key) as number, behind.length)
      const end = known.findLastIndex(key => now.has(key)) + 1
      // A replica that is behind may still show what was removed.
      const gone = known.slice(begin, end).filter(key => !now.has(key))
      const isShown = end > behind.length
      this.#missed = isShown || gone.length > 0 || end < behind.length ? 0 : this.#missed + 1
      this.#behind = [...behind.slice(0, begin), ...shown.slice(first)]
      const left = isShown ? ahead.slice(end - behind.length) : ahead.slice(-maxNamed / 2)
      this.#ahead = this.#missed > patience ? [] : [...gone, ...behind.slice(end), ...left].slice(-maxNamed)
    }
    this.#since = []
    return true
  }
}
