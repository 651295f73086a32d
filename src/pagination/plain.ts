import type { Window } from './page.js'
import type { Position, Reading } from './position.js'
import type { ListResponse } from './requests.js'
import { endsShort, failure, itemsRepeat } from './walk-errors.js'

/** So many requests in a row may come no closer to the end of a list that grows. */
const patience = 50
/** So many responses may hold items beyond twice the largest total. */
const maxBeyond = 8

/**
 * Reads on page after page, where pages cannot overlap.
 *
 * A page that was requested before the one in front of it had arrived can be of another state of the list: if its total says so,
 * it is requested again.
 */
export async function* readPages<T>(at: Position<T>, nextPage: number): Reading<T> {
  const { limit, known } = at
  // A short page can also be the last one, until another follows.
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
  let page = nextPage
  let textBefore: unknown
  /** By how many items the list has grown, so as many can come again. */
  let grown = 0
  let repeated = 0
  /** The end was reached once, with too few items. */
  let hasEnded = false
  let smallestTotal = at.total
  let largestTotal = at.total
  let leastLeft = Number.POSITIVE_INFINITY
  let sentBefore = at.requests.sent
  let beyond = 0

  while (at.remaining > 0) {
    const response = await at.requests.get(windowOf(page, false), pageAfter)
    if (response.problem === 'item-key-not-unique') {
      at.doubt = response.problem
      areIdentified = false
    }
    const seen = areIdentified ? response : { ...response, keys: [] }
    // It was requested ahead: either the list has shrunk, or the service fails for it. Requested again, it is the error that it is.
    if (seen.response.status === 404 && !isBeyond(page) && (await hasPage(at, seen))) continue
    const { data, raw, keys, start, total = at.total, largestTotalBefore } = seen
    const firstKnown = keys.findIndex(key => known.has(key))
    const lost = largestTotalBefore - total
    if (lost > 0 && at.doubt !== 'missed-items') {
      const problem = `the list shrank from ${largestTotalBefore} to ${total} items while it was read, so ${lost} or more may have been missed`
      at.noteMissed(seen, lost, { problem })
    }
    // Counted in items, because a service may ignore `page`.
    const left = Math.min(total - at.count, at.remaining)
    if (left < leastLeft) sentBefore = at.requests.sent
    leastLeft = Math.min(leastLeft, left)
    if (at.requests.sent - sentBefore > patience) throw failure(seen, 'no-progress')
    if (total !== at.total && seen.isAhead) continue
    areFiltered ||= at.doubt === 'short-page' && data.length > 0 && start > at.end
    // After a cursor, the first page may begin before the end of what was read.
    const read = Math.max(0, at.end - start)
    if (data.length === 0) {
      const end = areFiltered ? start : at.end
      if (end < total && !hasEnded) at.noteMissed(seen, total - end, endsShort(end, total))
      return false
    }
    grown += Math.max(0, total - at.total)
    // Items without keys are compared as JSON. But two single ones can be alike.
    const hasKeys = keys.some(key => key !== undefined)
    const text = hasKeys || data.length === 1 ? undefined : textOf(raw)
    const isSameText = text !== undefined && text === textBefore
    textBefore = text
    if (isSameText) repeated += data.length
    if (isSameText && start < total && repeated > grown) throw failure(seen, 'contradiction', itemsRepeat)
    // If the service ignores `page`, new items come first, and the last one is known.
    const endsNew = !isSameText && !known.has(keys.at(-1))
    // Where items were read, others may be by now: what follows a known one is taken.
    const news = yield* at.take(seen, firstKnown < 0 ? read : Math.min(firstKnown, read), true)
    if (at.hasArrived) break
    if (news === 0 && read === 0 && at.end - at.count > grown && !at.isNearUntil)
      throw failure(seen, 'item-key-not-unique', itemsRepeat)
    at.noteProgress(seen, endsNew)
    smallestTotal = Math.min(smallestTotal, total)
    largestTotal = Math.max(largestTotal, total)
    // If the service filters pages after cutting them, or ignores `page`, places reach the total too early. Then only an empty page
    // is the end.
    const isEnd = !areFiltered && at.end >= total && at.count <= largestTotal
    if (isEnd && endsNew && at.count >= smallestTotal) return false
    hasEnded ||= isEnd
    if (at.count > 2 * largestTotal && ++beyond > maxBeyond && at.options.onMissedItems === 'throw') {
      throw failure(seen, 'contradiction', {
        problem: `the service has returned ${at.count} items, although no response promised more than ${largestTotal}`,
        hint: "The service may ignore `page`, or its total may be capped. To read on to an empty page, pass `onMissedItems: 'continue'`.",
        isFinal: true,
      })
    }
    page++
  }
  return true
}

/** Whether the list still reaches to a page, by the total of its first one. */
async function hasPage<T>(
  { requests, sentLimit, limit }: Position<T>,
  { start }: ListResponse,
): Promise<boolean> {
  const first = await requests.get({
    page: 1,
    limit: sentLimit,
    expectedLimit: limit,
    overlaps: false,
    accepts: undefined,
  })
  return start < (first.total ?? 0)
}

/** Of items as they came, before the caller has them. Those that are nested too deeply are never the same. */
function textOf(raw: readonly unknown[]): unknown {
  try {
    return JSON.stringify(raw)
  } catch {
    return raw
  }
}
