import type { Window } from './page.js'
import { isRefusal } from './requests.js'

// A window is a page of some limit: page `p` holds the places from `(p - 1) * limit` to `p * limit - 1`.

export function start({ page, limit = 0 }: Window): number {
  return (page - 1) * limit
}

export function reach({ page, limit = 0 }: Window): number {
  return page * limit
}

/** Page `page` of another limit than the loop's own. Whether the service honours that, the reader checks. */
export function windowOf(page: number, limit: number): Window {
  // A service may say by a status, or by another page, that there is no such page.
  const accepts = (what: number | 'another-page') =>
    page > 1 && (what === 404 || what === 'another-page' || isRefusal(what))
  return { page, limit, overlaps: true, expectedLimit: undefined, accepts }
}

/** The window that holds the item at a place. */
export function windowAt(place: number, limit: number): Window {
  return windowOf(Math.floor(place / limit) + 1, limit)
}

/** The window that begins `margin` or more items before the expected end of what was read, and reaches farthest beyond it. */
export function windowAhead(expectedEnd: number, maxLimit: number, margin: number): Window {
  const end = Math.max(0, expectedEnd)
  const place = Math.max(0, end - margin)
  const limit = bestLimit(maxLimit, limit => (Math.floor(place / limit) + 1) * limit - end)
  return limit > maxLimit && margin > 1 ? windowAhead(end, maxLimit, margin - 1) : windowAt(place, limit)
}

/** The window that holds the item at a place, and shows most of what is before it. */
export function windowBefore(place: number, maxLimit: number): Window {
  return windowAt(
    place,
    bestLimit(maxLimit, limit => place % limit),
  )
}

/** The limit whose window gains most, which is less than the limit. */
function bestLimit(maxLimit: number, gainOf: (limit: number) => number): number {
  let best = 0
  let gain = 0
  // Down to the limits that cannot gain more. Without this a service's limit of a billion would take seconds.
  for (let limit = maxLimit; limit > gain; limit--) {
    const found = gainOf(limit)
    if (found <= gain) continue
    best = limit
    gain = found
  }
  // Where a page of every allowed limit ends, as at 12 for those up to 4, only a larger one goes on.
  for (let limit = maxLimit + 1; best === 0; limit++) if (gainOf(limit) > 0) best = limit
  return best
}
