import { OverlappingReader } from './overlapping.js'
import { type ListSetup, loopLimit, type ReadBatch } from './page.js'
import { readPages } from './plain.js'
import { Position, type Reading } from './position.js'
import { isBadRequest, type ListResponse } from './requests.js'
import { addedElsewhere, failure, isOverlapProblem } from './walk-errors.js'
import { windowAt, windowOf } from './windows.js'

/** Reads a whole list, by overlapping windows. Where windows cannot overlap, it reads plain pages. */
export async function* readList<T>(
  setup: ListSetup<T>,
  closing: AbortSignal,
): AsyncGenerator<ReadBatch<T>, void> {
  if (setup.maxItems === 0) return
  const at = new Position(setup, closing)
  try {
    const atMaxItems = (yield* read(at)) && !at.hasArrived
    if (!atMaxItems) await checkOtherEnd(at)
    await at.emitEnd(atMaxItems)
  } catch (error) {
    throw at.withCursor(error)
  }
}

async function* read<T>(at: Position<T>): Reading<T> {
  const { verified, after, onMissedItems } = at.options
  if (!after) {
    const first = await requestFirst(at)
    const { data, start, total = 0 } = first
    at.end = start
    at.total = total
    const end = start + data.length
    const problem = first.problem ?? (first.isShort && at.requests.pagesAreShort ? 'short-page' : undefined)
    const isLast = data.length === 0 || end === total
    // One response shows one state of the list. But its total may lag, so a full page may not be the end.
    const isWhole = isLast && data.length < first.limit
    const isPlain = problem !== undefined || verified === false
    if (!isWhole && isPlain) at.doubt = problem ?? 'verified-false'
    if (problem && !isWhole && verified) throw failure(first, problem)
    yield* at.take(first, 0, true)
    // Plain pages end at their total.
    if (isWhole || (isLast && isPlain && onMissedItems === 'throw')) return at.remaining === 0 && at.end < end
    if (isPlain) return yield* readPages(at, first.page + 1)
  }
  // A cursor may be old, so after one, windows overlap in all modes.
  if (!isOverlapProblem(at.doubt)) {
    try {
      return yield* new OverlappingReader(at).read()
    } catch (error) {
      const isDisorder = at.doubt === 'order-not-stable' && onMissedItems === 'continue'
      if (verified || !(isDisorder || isOverlapProblem(at.doubt))) throw error
      // Ends here if a mock ignores the query.
      const { total = at.total } = at.requests.last ?? {}
      const isEnd = at.end === at.total && at.total === total && at.count >= at.total
      if (isEnd && at.doubt !== 'short-page') return false
    }
  }
  // The service may have changed its limit since the cursor was written.
  if (after) await requestFirst(at)
  return yield* readPages(at, Math.floor(at.end / at.limit) + 1)
}

/**
 * If a loop with a cursor finds nothing although the list has grown, the list may grow at its other end. The end where this loop
 * reads is requested again, because its response may have been out of date.
 */
async function checkOtherEnd<T>(at: Position<T>): Promise<void> {
  const { after, until, verified } = at.options
  const cursor = after ?? until
  const { first } = at.requests
  const hadEnded = after ? after.end >= after.total && !after.isInterrupted : until !== undefined
  if (!cursor || !hadEnded || !first || at.mark.items > 0 || at.doubt) return
  const before = after ? Math.max(after.total, after.end) : cursor.total
  if (at.total <= before) return
  const atEnd = windowAt(Math.max(0, at.end - 1), first.limit)
  const again = await at.requests.get(after ? atEnd : windowOf(first.page, first.limit))
  const { keys, total = 0 } = again
  const isNew = !at.known.has(after ? keys.at(-1) : keys[0])
  if (total <= before || (keys.length > 0 && isNew)) return
  at.doubt = 'added-elsewhere'
  const other = after ? "`until` with the first batch's cursor" : "`after` with the last batch's cursor"
  if (verified) throw failure(again, 'added-elsewhere', addedElsewhere(total - before, other))
}

/** Requests the first page, without the loop's own limit if the service does not honour that. */
async function requestFirst<T>(at: Position<T>): Promise<ListResponse<T>> {
  const { firstPage, limit, ownLimit } = at.options
  const request = (limit: number | undefined, accepts: typeof isBadRequest | undefined) => {
    at.sentLimit = limit
    return at.requests.get({ page: firstPage, limit, expectedLimit: undefined, overlaps: false, accepts })
  }
  const isOwn = ownLimit && !ownLimit.refusedBy.has(ownLimit.service)
  let first = isOwn ? await request(loopLimit, isBadRequest) : await request(limit, undefined)
  if (isOwn && (isBadRequest(first.response.status) || first.isShort)) {
    first = await request(limit, undefined)
    if (!first.isShort) ownLimit.refusedBy.add(ownLimit.service)
  }
  at.limit = first.limit
  return first
}
