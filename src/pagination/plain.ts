import type { Position, Reading } from './position.js'
import type { Window } from './prefetcher.js'
import { endsShort, failure, keysRepeat, noProgress, shrank } from './walk-errors.js'

/**
 * Reads on page after page, where pages cannot overlap. `sentLimit` is what is sent; the limit in effect may be another.
 *
 * A page that was requested before the one in front of it had arrived can be of another state of the list: if its total says so,
 * it is requested again.
 */
export async function* readPages<T>(
  at: Position<T>,
  nextPage: number,
  sentLimit: number | undefined,
): Reading<T> {
  const { limit, known } = at
  const areFiltered = at.gap === 'short-page'
  let areIdentified = at.gap !== 'item-key-not-unique'
  const windowOf = (page: number): Window => ({
    page,
    limit: sentLimit,
    expectedLimit: limit,
    overlaps: false,
  })
  const pageAfter = ({ page }: Window) => (at.goesOnAfter(page * limit) ? windowOf(page + 1) : undefined)
  let page = nextPage
  let textBefore: unknown
  let hasGrown = false
  /** Pages in a row that brought nothing new. */
  let fruitless = 0

  while (at.remaining > 0) {
    const response = await at.source.get(windowOf(page), pageAfter)
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
      return undefined
    }
    hasGrown ||= total > at.total
    // Items without keys: of a service that ignores `page`, the same JSON comes again.
    const text = keys.length > 0 ? undefined : textOf(raw)
    // Where items were read, others may be by now: what follows a known one is taken.
    const news = yield* at.take(seen, firstKnown < 0 ? read : Math.min(firstKnown, read), 'pages')
    if (at.hasArrived) break
    // `itemKey` returns what is unique only within a page, such as a row number.
    if (news === 0 && read === 0 && !hasGrown) throw failure(seen, keysRepeat, true)
    const isRepeated = keys.length > 0 ? news === 0 : text === textBefore
    fruitless = isRepeated ? fruitless + 1 : 0
    // All that was read may come again, as the list has grown by so much.
    if (fruitless > 8 + known.size / limit) throw failure(seen, noProgress)
    textBefore = text
    // If the service filters pages after cutting them, places reach the total too early: only an empty page is the end.
    if (at.end === total && !areFiltered) return undefined
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
