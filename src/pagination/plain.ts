import { beginsWith } from './known-items.js'
import type { Window } from './page.js'
import type { Position, Reading } from './position.js'
import type { ListResponse } from './requests.js'
import { endsShort, failure, pageRepeats } from './walk-errors.js'

/** Maximum number of responses with items beyond twice the largest total. */
const maxBeyond = 8

/**
 * Reads page after page, where pages cannot overlap. A page that was prefetched may show an older state of the list than the page
 * before it. If its total differs, it is requested again.
 */
export async function* readPages<T>(at: Position<T>, nextPage: number): Reading<T> {
  const { limit, known } = at
  // A short page proves this only if another follows.
  let areFiltered = at.options.after?.doubt === 'short-page'
  let areIdentified = at.doubt !== 'item-key-not-unique'
  const isBeyond = (page: number) => (page - 1) * limit >= at.total
  const windowOf = (page: number, isAhead: boolean): Window => ({
    page,
    limit: at.sentLimit,
    expectedLimit: limit,
    overlaps: false,
    accepts: what =>
      (isAhead && what === 404) || ((what === 404 || what === 'another-page') && isBeyond(page)),
  })
  const pageAfter = ({ page }: Window) =>
    at.goesOnAfter(page * limit) ? windowOf(page + 1, true) : undefined
  const acceptsGaps = at.options.onMissedItems === 'continue'
  let page = nextPage
  /** Whether the total was reached, although with too few items. */
  let hasEnded = false
  let smallestTotal = at.total
  let largestTotal = at.total
  let beyond = 0

  while (at.remaining > 0) {
    const response = await at.requests.get(windowOf(page, false), pageAfter)
    if (response.problem === 'item-key-not-unique') {
      at.doubt = response.problem
      areIdentified = false
    }
    const seen = areIdentified ? response : { ...response, keys: [] }
    // A prefetched page is missing. If the list still reaches it, it is requested again, and then a 404 is an error.
    if (seen.response.status === 404 && !isBeyond(page)) {
      const first = await at.requests.get(windowOf(1, false))
      if (seen.start < (first.total ?? 0)) continue
    }
    const { data, keys, start, total = at.total, largestTotalBefore } = seen
    const firstKnown = known.firstIn(keys)
    const lost = largestTotalBefore - total
    if (lost > 0 && at.doubt !== 'missed-items') {
      const problem = `the list shrank from ${largestTotalBefore} to ${total} items while it was read, so ${lost} or more items may have been missed`
      at.noteMissed(seen, lost, { problem })
    }
    if (total !== at.total && seen.isAhead) continue
    areFiltered ||= at.doubt === 'short-page' && data.length > 0 && start > at.end
    // After a cursor, the first page may begin with items that were read before.
    const read = Math.max(0, at.end - start)
    if (data.length === 0) {
      // Some items may have moved to pages that were read before, but probably not half of them.
      const areRepeated = hasEnded && 2 * at.count <= smallestTotal && !at.isNearUntil
      if (areRepeated && !acceptsGaps) throw failure(seen, 'item-key-not-unique')
      const end = areFiltered ? start : at.end
      if (end < total && !hasEnded) at.noteMissed(seen, total - end, endsShort(end, total))
      return false
    }
    const isSame = read === 0 && at.before?.limit === limit && isSameItems(seen, at.before)
    const isRepeated = isSame && total - at.total < data.length && !at.isNearUntil
    if (isRepeated && data.length > 1 && !acceptsGaps) {
      const hasKeys = known.has(keys[0])
      throw failure(seen, hasKeys ? 'item-key-not-unique' : 'contradiction', pageRepeats(hasKeys))
    }
    // If the service ignores `page`, new items come first, and the last item is known.
    const endsNew = !isSame && !known.has(keys.at(-1))
    // Places already read may now hold other items. Those after a known one are new.
    yield* at.take(seen, firstKnown < 0 ? read : Math.min(firstKnown, read), true)
    if (at.hasArrived) break
    at.noteProgress(seen, endsNew || at.isNearUntil)
    smallestTotal = Math.min(smallestTotal, total)
    largestTotal = Math.max(largestTotal, total)
    // If the service filters after paginating, or ignores `page`, places reach the total too early. Then only an empty
    // page is the end.
    const isEnd = !areFiltered && at.end >= total && at.count <= largestTotal
    // The total may be capped.
    const readsOn = acceptsGaps && data.length === limit
    if (isEnd && endsNew && at.count >= smallestTotal && !readsOn) return false
    hasEnded ||= isEnd
    if (at.count > 2 * largestTotal && ++beyond > maxBeyond && !acceptsGaps) {
      throw failure(seen, 'contradiction', {
        problem: `the service has returned ${at.count} items, although no response promised more than ${largestTotal}`,
        hint: "The service may ignore `page`, or its total may be capped. To read on until a page is empty, pass `onMissedItems: 'continue'`.",
        isFinal: true,
      })
    }
    page++
  }
  return true
}

/** Whether a page begins as another one does. Without keys, items are compared as JSON. Items nested too deeply are never equal. */
function isSameItems(some: ListResponse, others: ListResponse): boolean {
  if (some.keys.some(key => key !== undefined)) return beginsWith(others.keys, some.keys)
  try {
    return JSON.stringify(some.raw) === JSON.stringify(others.raw)
  } catch {
    return false
  }
}
