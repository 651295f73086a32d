import type { IncompleteReason } from '../events.js'
import { OverlappingReader } from './overlapping.js'
import type { ReadBatch } from './page.js'
import { readPages } from './plain.js'
import { Position, type Reading, type WalkOptions } from './position.js'
import type { Seen } from './source.js'
import { CannotOverlap, failure, noOverlap, rulesOutOverlap, untilIsGone } from './walk-errors.js'

/** Reads a list from one end to the other: by windows that overlap, or where they cannot, by plain pages. */
export async function* readList<T>(options: WalkOptions<T>): AsyncGenerator<ReadBatch<T>, void> {
  if (options.maxItems === 0) return
  const at = new Position(options)
  try {
    const reason = yield* read(at)
    if (options.until && !at.hasArrived && reason !== 'max-items')
      throw failure(at.source.last as Seen, untilIsGone, true)
    at.emitEnd(at.hasArrived ? at.gap : reason)
  } catch (error) {
    throw at.withCursor(error)
  }
}

async function* read<T>(at: Position<T>): Reading<T> {
  const { verified, after } = at.options
  let sentLimit = at.options.limit
  if (!after) {
    const { first, sent } = await requestFirst(at)
    const { data, start, total = 0 } = first
    sentLimit = sent
    at.limit = first.limit
    at.end = start
    at.total = total
    const end = start + data.length
    const reason = whyPlain(first, verified)
    const isLast = data.length === 0 || end === total
    // One response is one state of the list. But its total may lag: a full page may not be the end.
    const isWhole = isLast && data.length < first.limit
    if (!isWhole) at.gap = reason
    if (verified && rulesOutOverlap(at.gap)) throw noOverlap(at.gap, first)
    yield* at.take(first, 0, 'pages')
    // Plain pages end at their total.
    if (isWhole || (isLast && reason)) return at.end < end ? 'max-items' : at.gap
    if (reason) return (yield* readPages(at, first.page + 1, sentLimit)) ?? at.gap
  }
  // A cursor may be old: after one, pages overlap in any mode.
  if (!rulesOutOverlap(at.gap)) {
    try {
      return (yield* new OverlappingReader(at).read()) ?? at.gap
    } catch (error) {
      if (!(error instanceof CannotOverlap)) throw error
      const { reason } = error
      if (verified) throw noOverlap(reason, at.source.last as Seen)
      at.gap = reason
      if (at.end === at.total && at.total === at.source.last?.total && reason !== 'short-page') return reason
    }
  }
  // The service may have another limit by now than when the cursor was written.
  if (after) at.limit = (await requestFirst(at)).first.limit
  return (yield* readPages(at, Math.floor(at.end / at.limit) + 1, sentLimit)) ?? at.gap
}

/** The first page; without a limit if the service does not honour the one that the loop asks for. */
async function requestFirst<T>(at: Position<T>): Promise<{ first: Seen<T>; sent: number | undefined }> {
  const { firstPage, limit, onLimitRefused } = at.options
  const request = (limit: number | undefined) =>
    at.source.get({ page: firstPage, limit, expectedLimit: undefined, overlaps: false })
  const first = await request(limit)
  if (!onLimitRefused || !(first.isRefused || first.isShort)) return { first, sent: limit }
  const other = await request(undefined)
  if (!other.isShort) onLimitRefused()
  return { first: other, sent: undefined }
}

/** Why a list is read by plain pages, as its first page shows. */
function whyPlain(first: Seen, verified: boolean | undefined): IncompleteReason | undefined {
  if (first.problem) return first.problem
  if (first.isShort) return 'short-page'
  return verified === false ? 'verified-false' : undefined
}
