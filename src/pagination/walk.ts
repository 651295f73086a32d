import { OverlappingReader } from './overlapping.js'
import { loopLimit, type ReadBatch } from './page.js'
import { readPages } from './plain.js'
import { Position, type Reading, type WalkOptions } from './position.js'
import { isRefusal, type Seen } from './requests.js'
import { cannotOverlap, failure, noOverlap, rulesOutOverlap, untilIsGone } from './walk-errors.js'

/** Reads a list from one end to the other: by windows that overlap, or where they cannot, by plain pages. */
export async function* readList<T>(options: WalkOptions<T>): AsyncGenerator<ReadBatch<T>, void> {
  if (options.maxItems === 0) return
  const at = new Position(options)
  try {
    const reason = yield* read(at)
    if (options.until && !at.hasArrived && reason !== 'max-items')
      throw failure(at.requests.last as Seen, untilIsGone, true)
    at.emitEnd(at.hasArrived ? at.gap : reason)
  } catch (error) {
    throw at.withCursor(error)
  }
}

async function* read<T>(at: Position<T>): Reading<T> {
  const { verified, after } = at.options
  if (!after) {
    const first = await requestFirst(at)
    const { data, start, total = 0 } = first
    at.end = start
    at.total = total
    const end = start + data.length
    const reason =
      first.problem ?? (first.isShort ? 'short-page' : verified === false ? 'verified-false' : undefined)
    const isLast = data.length === 0 || end === total
    // One response is one state of the list. But its total may lag: a full page may not be the end.
    const isWhole = isLast && data.length < first.limit
    if (!isWhole) at.gap = reason
    if (verified && rulesOutOverlap(at.gap)) throw noOverlap(at.gap, first)
    yield* at.take(first, 0, true)
    // Plain pages end at their total.
    if (isWhole || (isLast && reason)) return at.end < end ? 'max-items' : at.gap
    if (reason) return yield* readPages(at, first.page + 1)
  }
  // A cursor may be old: after one, pages overlap in any mode.
  if (!rulesOutOverlap(at.gap)) {
    try {
      return yield* new OverlappingReader(at).read()
    } catch (error) {
      if (error !== cannotOverlap) throw error
    }
    const { gap, requests } = at
    if (verified) throw noOverlap(gap, requests.last as Seen)
    // Mocks return the same page for any query.
    if (at.end === at.total && at.total === requests.last?.total && gap !== 'short-page') return gap
  }
  // The service may have another limit by now than when the cursor was written.
  if (after) await requestFirst(at)
  return yield* readPages(at, Math.floor(at.end / at.limit) + 1)
}

/** The first page; without a limit of the loop's own if the service does not honour that. */
async function requestFirst<T>(at: Position<T>): Promise<Seen<T>> {
  const { firstPage, limit, ownLimit } = at.options
  const request = (limit: number | undefined, accepts: typeof isRefusal | undefined) => {
    at.sentLimit = limit
    return at.requests.get({ page: firstPage, limit, expectedLimit: undefined, overlaps: false, accepts })
  }
  const isOwn = ownLimit && !ownLimit.refusedBy.has(ownLimit.service)
  let first = isOwn ? await request(loopLimit, isRefusal) : await request(limit, undefined)
  if (isOwn && (first.isRefused || first.isShort)) {
    first = await request(limit, undefined)
    if (!first.isShort) ownLimit.refusedBy.add(ownLimit.service)
  }
  at.limit = first.limit
  return first
}
