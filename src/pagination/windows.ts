import type { Window } from './page.js'
import { isBadRequest } from './requests.js'

// A window is a page at any limit. Page `p` holds the places from `(p - 1) * limit` to `p * limit - 1`.

export function start({ page, limit = 0 }: Window): number {
  return (page - 1) * limit
}

export function reach({ page, limit = 0 }: Window): number {
  return page * limit
}

/** A page at any limit. The reader checks whether the service honours the limit. */
export function windowOf(page: number, limit: number): Window {
  // Services report a missing page by a status, or by returning another page.
  const accepts = (what: number | 'another-page') =>
    page > 1 && (what === 404 || what === 'another-page' || isBadRequest(what))
  return { page, limit, overlaps: true, expectedLimit: undefined, accepts }
}

/** The window that holds the item at a place. */
export function windowAt(place: number, limit: number): Window {
  return windowOf(Math.floor(place / limit) + 1, limit)
}

/** The window that reaches farthest of those that begin at least `margin` items before the expected end of what was read. */
export function windowAhead(expectedEnd: number, maxLimit: number, margin: number): Window {
  const end = Math.max(0, expectedEnd)
  const place = Math.max(0, end - margin)
  const limit = bestLimit(maxLimit, limit => (Math.floor(place / limit) + 1) * limit - end)
  return limit > maxLimit && margin > 1 ? windowAhead(end, maxLimit, margin - 1) : windowAt(place, limit)
}

/** The window that holds the item at a place and the most items before it. */
export function windowBefore(place: number, maxLimit: number): Window {
  return windowAt(
    place,
    bestLimit(maxLimit, limit => place % limit),
  )
}

/** The limit whose window gains the most. A window always gains less than its limit. */
function bestLimit(maxLimit: number, gainOf: (limit: number) => number): number {
  let best = 0
  let gain = 0
  // Stops at limits that cannot gain more. Otherwise a service's limit of a billion would take seconds.
  for (let limit = maxLimit; limit > gain; limit--) {
    const found = gainOf(limit)
    if (found <= gain) continue
    best = limit
    gain = found
  }
  // At some places, pages of every allowed limit end (at 12, those of 1 to 4). Only a larger limit continues there.
  for (let limit = maxLimit + 1; best === 0; limit++) if (gainOf(limit) > 0) best = limit
  return best
}
