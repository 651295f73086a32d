import type { Position, Reading } from './position.js'
import type { Window } from './requests.js'
import { endsShort, failure, keysRepeat, shrank } from './walk-errors.js'

/**
 * Reads on page after page, where pages cannot overlap.
 *
 * A page that was requested before the one in front of it had arrived can be of another state of the list: if its total says so,
 * it is requested again.
 */
export async function* readPages<T>(at: Position<T>, nextPage: number): Reading<T> {
  const { limit, known } = at
  const areFiltered = at.gap === 'short-page'
  let areIdentified = at.gap !== 'item-key-not-unique'
  const windowOf = (page: number): Window => ({
    page,
    limit: at.sentLimit,
    expectedLimit: limit,
    overlaps: false,
    accepts: what => what === 404 || (what === 'another-page' && (page - 1) * limit >= at.total),
  })
  const pageAfter = ({ page }: Window) => (at.goesOnAfter(page * limit) ? windowOf(page + 1) : undefined)
  let page = nextPage
  let textBefore: unknown
  let hasGrown = false

  while (at.remaining > 0) {
    const response = await at.requests.get(windowOf(page), pageAfter)
    if (response.problem === 'item-key-not-unique') {
      at.gap = response.problem
      areIdentified = false
    }
    const seen = areIdentified ? response : { ...response, keys: [] }
    const { data, raw, keys, start, total = at.total, largestTotalBefore } = seen
    const firstKnown = keys.findIndex(key => known.has(key))
    const lost = largestTotalBefore - total
    if (lost > 0 && at.gap !== 'missed-items') at.noteMissed(seen, lost, shrank(largestTotalBefore, total))
    if (total !== at.total && seen.isAhead) continue
    // After a cursor, the first page may begin before the end of what was read.
    const read = Math.max(0, at.end - start)
    if (data.length === 0) {
      const end = areFiltered ? start : at.end
      if (end < total) at.noteMissed(seen, total - end, endsShort(end, total), false)
      return at.gap
    }
    hasGrown ||= total > at.total
    // Items without keys: of a service that ignores `page`, the same JSON comes again.
    const text = keys.length > 0 ? undefined : textOf(raw)
    // Where items were read, others may be by now: what follows a known one is taken.
    const news = yield* at.take(seen, firstKnown < 0 ? read : Math.min(firstKnown, read), true)
    if (at.hasArrived) break
    // `itemKey` returns what is unique only within a page, such as a row number.
    if (news === 0 && read === 0 && !hasGrown) throw failure(seen, keysRepeat, true)
    at.noteProgress(seen, keys.length > 0 ? news > 0 : text !== textBefore)
    textBefore = text
    // If the service filters pages after cutting them, places reach the total too early: only an empty page is the end.
    if (at.end === total && !areFiltered) return at.gap
    page++
  }
  return 'max-items'
}

/** Of items as they came, before the caller has them. Those that are nested too deeply are never the same. */
function textOf(raw: readonly unknown[]): unknown {
  try {
    return JSON.stringify(raw)
  } catch {
    return raw
  }
}
