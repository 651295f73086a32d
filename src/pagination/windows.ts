/** A part of a list: page `page` of pages of `limit` items. */
export interface Window {
  readonly page: number
  readonly limit: number
}

/** The window that contains the item before `end` and reaches farthest; undefined where none reaches beyond it. */
export function farthestWindow(end: number, maxLimit: number): Window | undefined {
  let best: Window | undefined
  let reach = end
  // No smaller limit reaches farther than `end - 1 + limit`. Without this a service's limit of a billion would take seconds.
  for (let limit = maxLimit; limit > 1 && end - 1 + limit > reach; limit--) {
    const page = Math.floor((end - 1) / limit) + 1
    if (page * limit <= reach) continue
    best = { page, limit }
    reach = page * limit
  }
  return best
}

/** Whether windows of at most `maxLimit` can overlap everywhere from `start` to `end`: none spans a multiple of all their limits. */
export function canOverlap(start: number, end: number, maxLimit: number): boolean {
  let multiple = 1
  for (let limit = 2; limit <= maxLimit && multiple < end; limit++) {
    multiple = leastCommonMultiple(multiple, limit)
  }
  return Math.floor((end - 1) / multiple) * multiple <= start
}

function leastCommonMultiple(a: number, b: number): number {
  let [larger, smaller] = [a, b]
  while (smaller > 0) [larger, smaller] = [smaller, larger % smaller]
  return (a / larger) * b
}
