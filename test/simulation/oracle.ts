import { isApiError, type PaginationReason } from 'virtual-accounts'
import { giveaways, type Received, receivedIn } from './evidence.ts'
import type { WalkRecord } from './walk.ts'

/** What a walk came to; those that begin with `VIOLATION` break a promise. */
export type Verdict =
  /** Everything that was in the list throughout, once, in order; and it says that this is proven. */
  | 'right'
  /** The same, but it says that it is not proven. */
  | 'not proven'
  /** The reader left the loop. */
  | 'left'
  | 'thrown'
  /** It says that it is not proven, items are missing, and no response gave it away. */
  | 'unseen loss'
  /** It says that it is not proven, items are out of order, and no response gave it away. */
  | 'unseen disorder'
  /** It says that it is not proven, and items are missing although responses gave that away: at most one in a thousand. */
  | 'shown loss'
  /** A family outside of the guarantees. It only must not crash or hang. */
  | 'not judged'
  | `VIOLATION: ${string}`

export interface Expectations {
  /** The walk only has to end, for example because the order changes. */
  readonly isOutsideGuarantee?: boolean
  /** Nothing gives a reason to throw. */
  readonly neverThrows?: boolean
  /** At most one walk in a hundred may throw. */
  readonly rarelyThrows?: boolean
  /** A list of at least this many pages cannot be read, so the walk must throw. */
  readonly mustThrowFromPages?: number
  /** The only accepted reasons to throw. */
  readonly mayThrow?: readonly PaginationReason[]
  /** Maximum requests, relative to an unchanged list. A third more if it throws, and if over 4 are in flight. */
  readonly mostRequests?: number
  /** Every walk that ends is proven to be complete. */
  readonly isProven?: boolean
  /** Responses show every change of the list, so nothing may be lost unseen. */
  readonly hidesNothing?: boolean
}

export function judge(record: WalkRecord, expected: Expectations): Verdict {
  const { outcome, error, scenario, yielded } = record
  if (outcome === 'hung') return 'VIOLATION: hangs'
  if (outcome === 'endless') return 'VIOLATION: requests without end'
  if (outcome === 'thrown' && !isApiError(error)) return 'VIOLATION: crashes'
  if (record.mostInFlight > scenario.concurrency) return 'VIOLATION: more in flight than concurrency'
  if (record.leftOver > 0) return 'VIOLATION: requests after the end'
  const received = receivedIn(record.exchanges, endOf(record))
  const pages = scenario.size / (received[0]?.limit ?? 1)
  const mustThrow = Math.ceil(pages) >= (expected.mustThrowFromPages ?? Number.POSITIVE_INFINITY)
  if (outcome === 'completed' && mustThrow) return 'VIOLATION: does not throw'
  if (outcome === 'completed' && !record.ended) return 'VIOLATION: ends without an event'
  if (outcome === 'thrown' && yielded.length > 0 && !hasCursor(error))
    return 'VIOLATION: an error without a cursor'
  if (expected.isOutsideGuarantee) return 'not judged'
  if (outcome === 'thrown' && expected.neverThrows) return 'VIOLATION: throws for no reason'
  if (
    outcome === 'thrown' &&
    expected.mayThrow &&
    !(isApiError(error) && error.kind === 'pagination' && expected.mayThrow.includes(error.reason))
  )
    return 'VIOLATION: throws for another reason'
  if (expected.mostRequests && record.exchanges.length > mostRequests(record, expected.mostRequests))
    return 'VIOLATION: too many requests'
  // A loop resumed at the end may rightly say `added-elsewhere`.
  const isProvenEnough = record.ended?.isComplete || record.ended?.reason === 'added-elsewhere'
  if (outcome === 'completed' && expected.isProven && !isProvenEnough) return 'VIOLATION: not proven'
  if (scenario.twinDistance !== undefined) return judgeTwins(record)
  // What was added at the beginning while one loop ran may come again in the next.
  const judged = yielded.filter(id => !record.moved.has(id))
  const isEachOnce = new Set(judged).size === judged.length || scenario.untilRuns > 0
  if (!isEachOnce) return 'VIOLATION: yields an item twice'

  const before = itemsBeforeFirstPage(record, received)
  if (yielded.some(id => before.has(id))) return 'VIOLATION: yields items before its first page'
  // The reader itself removes what it has read.
  const kept = scenario.drains
    ? (record.states[0] ?? [])
    : keptThroughout(record, ofLastUntil(record, received)).filter(
        id => !before.has(id) && !record.moved.has(id),
      )
  const inOrder = kept.filter(id => yielded.includes(id))
  const isProven = outcome === 'completed' ? record.ended?.isComplete === true : expected.isProven === true
  // With `onMissedItems: 'continue'`, it may miss items if it says so.
  if (!isProven && scenario.onMissedItems === 'continue') return 'not judged'
  if (scenario.untilRuns === 0 && inOrder.join() !== yielded.filter(id => kept.includes(id)).join()) {
    return isProven || expected.hidesNothing ? 'VIOLATION: wrong order' : 'unseen disorder'
  }
  if (outcome !== 'completed') return outcome
  const missing = kept.filter(id => !yielded.includes(id))
  if (missing.length === 0) return isProven ? 'right' : 'not proven'
  // One response held the whole list, by its total.
  if (received.length === 1 && scenario.verified !== true) return 'unseen loss'
  if (isProven) return 'VIOLATION: loses items and says that it is complete'
  if (giveaways(received, missing).length > 0) return 'shown loss'
  return expected.hidesNothing ? 'VIOLATION: loses items' : 'unseen loss'
}

/** For the items that the walk has yielded, because a list may grow while it is read. */
function mostRequests({ outcome, scenario, yielded, exchanges }: WalkRecord, factor: number): number {
  const limit = exchanges[0]?.requestedLimit ?? scenario.service.defaultLimit
  const calm = Math.max(scenario.size, yielded.length) / limit / (1 - Math.sqrt(Math.PI / 2 / limit))
  // With many in flight, a change of pace wastes many.
  const most = scenario.concurrency > 4 ? (4 / 3) * factor : factor
  return (outcome === 'thrown' ? (4 / 3) * most : most) * calm + 8
}

/** An unchanged list with duplicate ids: each item comes as often as it is in the list. */
function judgeTwins({ outcome, yielded, states }: WalkRecord): Verdict {
  if (outcome !== 'completed') return outcome as 'left' | 'thrown'
  if (yielded.join() === states[0]?.join()) return 'not proven'
  return yielded.length < (states[0]?.length ?? 0)
    ? 'VIOLATION: loses items'
    : 'VIOLATION: yields an item twice'
}

function hasCursor(error: unknown): boolean {
  return isApiError(error) && typeof error.cursor === 'string'
}

/**
 * The items that were in every state from the oldest to the newest that the client received, in the order of the list.
 * It cannot know of changes after the newest state, or before the oldest. These might as well have happened after or
 * before the walk.
 */
function keptThroughout({ states }: WalkRecord, received: readonly Received[]): string[] {
  const versions = received.map(({ version }) => version)
  const between = states.slice(Math.min(...versions), Math.max(...versions) + 1)
  const others = between.map(ids => new Set(ids))
  return (between[0] ?? []).filter(id => others.every(ids => ids.has(id)))
}

/** The responses of the last loop with `until`, because all such loops together yield the items that it must find. */
function ofLastUntil({ log, scenario }: WalkRecord, received: readonly Received[]): readonly Received[] {
  const begin = log.findLastIndex(({ type }) => type === 'resume')
  return scenario.untilRuns === 0 ? received : received.filter(({ requestedAt }) => requestedAt > begin)
}

/** The items before the page where the walk begins, in the state that its first response shows. */
function itemsBeforeFirstPage({ scenario, states }: WalkRecord, received: readonly Received[]): Set<string> {
  const [first] = received
  if (first === undefined) return new Set()
  return new Set(states[first.version]?.slice(0, (scenario.firstPage - 1) * first.limit))
}

function endOf({ log }: WalkRecord): number {
  return log.findLastIndex(({ type }) => type === 'end')
}
