/** A part of the list that one request asks for: page `page` of pages of `limit` items. */
export interface Window {
  readonly page: number
  /** The caller's own, given or not, unless it is set. */
  readonly limit?: number | undefined
  /**
   * What the response has to show:
   * - `page`: what comes after the last item read, if the list is as it was
   * - `overlapping`: an item that was read, and what follows it
   * - `beyond-end`: nothing, as the list ended before it
   */
  readonly kind: 'page' | 'overlapping' | 'beyond-end'
}

export function isSameWindow(a: Window, b: Window): boolean {
  return a.page === b.page && a.limit === b.limit && a.kind === b.kind
}

/** The page that holds the item before position `end`. */
export function pageHolding(end: number, limit: number): number {
  return Math.max(1, Math.floor((end - 1) / limit) + 1)
}

/** With smaller limits, windows that overlap reach too little beyond each other to be worth their requests. */
export const minOverlapLimit = 20

type LimitedWindow = Window & { readonly limit: number }

/** The window that holds the item before position `end` and reaches farthest; undefined if none reaches beyond it. */
export function farthestWindow(end: number, maxLimit: number): LimitedWindow | undefined {
  let best: LimitedWindow | undefined
  let reach = end
  // No smaller limit reaches farther than `end - 1 + limit`. Without this a service's limit of a billion would take seconds.
  for (let limit = maxLimit; limit > 1 && end - 1 + limit > reach; limit--) {
    const page = pageHolding(end, limit)
    if (page * limit <= reach) continue
    best = { page, limit, kind: 'overlapping' }
    reach = page * limit
  }
  return best
}

/** Whether windows can overlap from one position to another, if the list stays as it is. */
export function canOverlap(from: number, to: number, maxLimit: number): boolean {
  for (let end = from; end < to; ) {
    const window = farthestWindow(end, maxLimit)
    if (window === undefined) return false
    end = window.page * window.limit
  }
  return true
}

/** Windows from the page `middle` outwards, every `stride` pages: where items may be that have moved. */
export function* windowsAround(
  middle: number,
  { pages, limit, stride }: { pages: number; limit: number; stride: number },
): Generator<Window, undefined> {
  for (let distance = 0; ; distance += stride) {
    const left = middle - distance
    const right = middle + distance
    // The first and the last page belong to the search, whatever the stride.
    if (left > 1 - stride) yield { page: Math.max(1, left), limit, kind: 'overlapping' }
    if (distance > 0 && right < pages + stride)
      yield { page: Math.min(pages, right), limit, kind: 'overlapping' }
    if (left <= 1 && right >= pages) return
  }
}
