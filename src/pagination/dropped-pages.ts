interface DroppedPage {
  /** Position of its first item in the list, from 0. */
  readonly start: number
  readonly end: number
  readonly totalItems: number
  /** Its items that were not known when it was dropped, in order, each with whether it has appeared since. */
  readonly items: Map<unknown, boolean>
}

/** Pages that were fetched again: an item that only they showed would be lost silently. */
export class DroppedPages {
  #pages: DroppedPage[] = []

  add(page: Omit<DroppedPage, 'items'>, unknownKeys: readonly unknown[]): void {
    this.#pages.push({ ...page, items: new Map(unknownKeys.map(key => [key, false])) })
  }

  /** Notes the items of a page that has been read and begins at `position`. */
  markSeen(position: number, keys: readonly unknown[]): void {
    for (const { start, items } of this.#pages) {
      // An item before its place has moved there because others were removed: some may have been missed.
      if (position >= start) for (const key of keys) if (items.has(key)) items.set(key, true)
    }
  }

  /** Whether items are missing that were in the part of the list that has been read. */
  hasMissingBefore(position: number): boolean {
    return this.#pages.some(({ start }) => start < position)
  }

  /**
   * Number of items that have not appeared again although the walk has passed their place: an item after them has
   * appeared, or more items have been read than can be before them. Counted once.
   */
  takeMissing(received: number, largestTotal: number, isEnd: boolean): number {
    const isPassed = ({ end, totalItems, items }: DroppedPage) => {
      const appeared = Array.from(items.values())
      const hasLaterItem = appeared.lastIndexOf(true) > appeared.indexOf(false)
      return isEnd || hasLaterItem || received > end + Math.max(0, largestTotal - totalItems)
    }
    const passed = this.#pages.filter(isPassed)
    this.#pages = this.#pages.filter(page => !passed.includes(page))
    return passed.reduce((count, page) => count + countMissing(page), 0)
  }
}

function countMissing({ items }: DroppedPage): number {
  return Array.from(items.values()).filter(hasAppeared => !hasAppeared).length
}
