import type { Window } from './prefetcher.js'

// A window is a page of some limit: page `p` holds the places from `(p - 1) * limit` to `p * limit - 1`.

export function start({ page, limit = 0 }: Window): number {
  return (page - 1) * limit
}

export function reach({ page, limit = 0 }: Window): number {
  return page * limit
}

/** Page `page` of another limit than the loop's own. Whether the service honours that, the reader checks. */
export function windowOf(page: number, limit: number): Window {
  return { page, limit, overlaps: true, expectedLimit: undefined }
}

/** The window that holds the item at a place. */
export function windowAt(place: number, limit: number): Window {
  return windowOf(Math.floor(place / limit) + 1, limit)
}

/** The window that begins `margin` or more items before position `end`, and reaches farthest beyond it. */
export function windowAhead(end: number, maxLimit: number, margin: number): Window {
  const window = bestWindow(Math.max(0, end - margin), maxLimit, window => reach(window) - end)
  const isTooLarge = (window.limit ?? 0) > maxLimit && margin > 1
  return isTooLarge ? windowAhead(end, maxLimit, margin - 1) : window
}

/** The window that holds the item at a place, and shows most of what is before it. */
export function windowBefore(place: number, maxLimit: number): Window {
  return bestWindow(place, maxLimit, window => place - start(window))
}

/** Of the windows that hold the item at a place, the one that gains most, which is less than its limit. */
function bestWindow(place: number, maxLimit: number, gainOf: (window: Window) => number): Window {
  let best: Window | undefined
  let gain = 0
  // Down to the limits that cannot gain more. Without this a service's limit of a billion would take seconds.
  for (let limit = maxLimit; limit > gain; limit--) {
    const window = windowAt(place, limit)
    if (gainOf(window) <= gain) continue
    best = window
    gain = gainOf(window)
  }
  // Where a page of every allowed limit ends, as at 12 for those up to 4, only a larger one goes on.
  for (let limit = maxLimit + 1; best === undefined; limit++) {
    const window = windowAt(place, limit)
    if (gainOf(window) > 0) best = window
  }
  return best
}
