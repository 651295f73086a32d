/** A part of the list that one request asks for: page `page` of pages of `limit` items. */
export interface Window {
  readonly page: number
  /** Set where windows overlap: the response has to show an item that was read. Without it, the caller's is sent, if any. */
  readonly limit?: number | undefined
  /** The response has to show nothing, as the list ended before it. */
  readonly isBeyondEnd?: boolean
}

/** The page that holds the item before position `end`. */
export function pageHolding(end: number, limit: number): number {
  return Math.max(1, Math.floor((end - 1) / limit) + 1)
}

/** With smaller limits, windows that overlap reach too little beyond each other to be worth their requests. */
export const minOverlapLimit = 20

/** The window that holds the item before position `end` and reaches farthest; undefined if none reaches beyond it. */
export function farthestWindow(end: number, maxLimit: number): Window | undefined {
  let best: Window | undefined
  let reach = end
  // No smaller limit reaches farther than `end - 1 + limit`. Without this a service's limit of a billion would take seconds.
  for (let limit = maxLimit; end - 1 + limit > reach; limit--) {
    const page = pageHolding(end, limit)
    if (page * limit <= reach) continue
    best = { page, limit }
    reach = page * limit
  }
  return best
}

/** From the page `middle` outwards, every `stride` pages: where items may be that have moved. */
export function* pagesAround(middle: number, pages: number, stride: number): Generator<number, undefined> {
  for (let distance = 0; ; distance += stride) {
    const left = middle - distance
    const right = middle + distance
    // The first and the last page belong to the search, whatever the stride.
    if (left > 1 - stride) yield Math.max(1, left)
    if (distance > 0 && right < pages + stride) yield Math.min(pages, right)
    if (left <= 1 && right >= pages) return
  }
}
