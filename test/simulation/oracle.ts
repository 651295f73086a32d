import { isApiError } from 'virtual-accounts'
import { type Evidence, evidenceOf, type Received, receivedIn } from './evidence.ts'
import type { WalkRecord } from './walk.ts'

/** What a walk came to; those that begin with `VIOLATION` break a promise. */
export type Verdict =
  /** Everything that was in the list throughout, once, in order. */
  | 'right'
  /** The reader left the loop. */
  | 'left'
  /** An error whose `page` resumes without a gap. */
  | 'thrown'
  /** An error whose `page` resumes with a gap that no response gave away. */
  | 'thrown, unseen gap'
  /** Items are missing, and no response gave it away. */
  | 'unseen loss'
  /** Items are out of order, and no response gave it away. */
  | 'unseen disorder'
  /** A family outside of the guarantees: neither crash nor hang is all that is asked. */
  | 'not judged'
  | `VIOLATION: ${string}`

export interface Expectations {
  /** Nothing but "no crash, no hang" is promised: the order changes, say. */
  readonly isOutsideGuarantee?: boolean
  /** Nothing gives a reason to throw. */
  readonly neverThrows?: boolean
  /** A list of at least so many pages cannot be read, and must not seem to have been. */
  readonly mustThrowFromPages?: number
  /** The first response that shows why is enough: nothing is tried in between. */
  readonly throwsAtOnce?: boolean
  /** All that happens to the list shows: nothing may be lost unseen. */
  readonly hidesNothing?: boolean
}

export function judge(record: WalkRecord, expected: Expectations): Verdict {
  const { outcome, error, scenario } = record
  if (outcome === 'hung') return 'VIOLATION: hangs'
  if (outcome === 'endless') return 'VIOLATION: requests without end'
  if (outcome === 'thrown' && !isApiError(error)) return 'VIOLATION: crashes'
  if (record.mostInFlight > scenario.concurrency) return 'VIOLATION: more in flight than concurrency'
  if (record.leftOver > 0) return 'VIOLATION: requests after the end'
  const pages = Math.ceil(scenario.size / record.resumeLimit)
  const mustThrow = pages >= (expected.mustThrowFromPages ?? Number.POSITIVE_INFINITY)
  if (outcome === 'completed' && mustThrow) return 'VIOLATION: does not throw'
  // The first request, and what may be in flight and sent for it before the response is read.
  const soon = 1 + 2 * scenario.concurrency
  if (outcome === 'thrown' && expected.throwsAtOnce && record.exchanges.length > soon) {
    return 'VIOLATION: throws late'
  }
  if (expected.isOutsideGuarantee) return 'not judged'
  if (new Set(record.yielded).size < record.yielded.length) return 'VIOLATION: yields an item twice'
  if (outcome === 'thrown' && expected.neverThrows) return 'VIOLATION: throws for no reason'

  const received = receivedIn(record.exchanges, endOf(record))
  const before = itemsBeforeFirstPage(record, received)
  if (record.yielded.some(id => before.has(id))) return 'VIOLATION: yields items before its first page'
  const kept = keptThroughout(record, received).filter(id => !before.has(id))
  const inOrder = kept.filter(id => record.yielded.includes(id))
  const yieldedKept = record.yielded.filter(id => kept.includes(id))
  const mayReorder = scenario.onMissedItems === 'continue' && !scenario.verified
  if (!mayReorder && inOrder.join() !== yieldedKept.join()) return judgeDisorder(record, received, expected)
  if (outcome === 'left') return 'left'
  // Asked to go on, it may miss what it says that it may have missed.
  if (mayReorder) return 'not judged'

  const verdict =
    outcome === 'thrown' ? judgeThrown(record, kept, received) : judgeCompleted(record, kept, received)
  if (expected.hidesNothing && verdict.includes('unseen')) return `VIOLATION: ${verdict}`
  return verdict
}

/**
 * The items that were in every state from the oldest to the newest that the client received, in the order of the list.
 * A change after the newest, or before the oldest, is one that it can know nothing of: the walk is then the same as one
 * that ended, or began, on the other side of it.
 */
function keptThroughout({ states }: WalkRecord, received: readonly Received[]): string[] {
  const versions = received.map(({ version }) => version)
  const between = states.slice(Math.min(...versions), Math.max(...versions) + 1)
  const others = between.map(ids => new Set(ids))
  // Of an id that occurs twice, the first counts.
  return [...new Set(between[0])].filter(id => others.every(ids => ids.has(id)))
}

/** Where the walk begins at a later page, those before it, as the first response shows them, are not part of it. */
function itemsBeforeFirstPage({ scenario, states }: WalkRecord, received: readonly Received[]): Set<string> {
  const [first] = received
  if (first === undefined) return new Set()
  return new Set(states[first.version]?.slice(0, (scenario.firstPage - 1) * first.limit))
}

/** Pages from different states may also be out of order, and it shows, or does not, in the same way. */
function judgeDisorder(record: WalkRecord, received: readonly Received[], expected: Expectations): Verdict {
  const { usedDistrustedPage, shrunkBy } = evidenceOf(received, record)
  const wasVisible = usedDistrustedPage !== undefined || (record.outcome === 'completed' && shrunkBy > 0)
  const isViolation = record.scenario.verified || expected.hidesNothing || wasVisible
  return isViolation ? 'VIOLATION: wrong order' : 'unseen disorder'
}

function judgeCompleted(record: WalkRecord, kept: string[], received: readonly Received[]): Verdict {
  const missing = without(kept, record.yielded)
  if (missing.length === 0) return 'right'
  if (record.scenario.verified) return 'VIOLATION: loses items'
  const evidence = evidenceOf(received, record)
  const told = [
    ...giveaways(evidence, missing, evidence.wasReceived),
    ...(evidence.shrunkBy > 0 ? ['the total shrank'] : []),
    ...(evidence.endedShortBy > 0 ? ['it ended short of the total'] : []),
  ]
  return told.length === 0 ? 'unseen loss' : `VIOLATION: loses items silently, though ${told.join(' and ')}`
}

/** What should have kept items from being missed, whether the walk completes or throws. */
function giveaways(
  evidence: Evidence,
  missing: readonly string[],
  wasThere: (id: string) => boolean,
): string[] {
  return [
    ...(evidence.usedDistrustedPage ? ['a repeat without growth made a page doubtful'] : []),
    ...(missing.some(wasThere) ? ['a response held them'] : []),
  ]
}

/**
 * A resumed walk is judged on the list as the newest response showed it: the client knows nothing of what came later.
 * The page it resumes from has to be as early as the responses give reason for, and no earlier: by the items that the list
 * shrank by, back from where the walk stood; or, where the list ended short, by what is missing, back from the end of
 * the first page, as it can be missing anywhere since.
 */
function judgeThrown(record: WalkRecord, kept: string[], received: readonly Received[]): Verdict {
  const { error, scenario, yielded, states, resumeLimit } = record
  const page = isApiError(error) ? error.page : undefined
  if (page === undefined || !Number.isInteger(page) || page < 1)
    return 'VIOLATION: names no page to resume from'
  if (received.length === 0) {
    return page === scenario.firstPage ? 'thrown' : 'VIOLATION: resumes after the first page'
  }
  const start = (page - 1) * resumeLimit
  const newest = scenario.verified ? newestLocatable(record, received) : received
  const state = states[Math.max(...newest.map(({ version }) => version))] as readonly string[]
  const missing = without(kept, [...yielded, ...state.slice(start)])
  if (missing.length === 0) return 'thrown'
  if (scenario.verified) return 'VIOLATION: resumes with a gap'

  const evidence = evidenceOf(received, record)
  const first = received.find(response => response.page === 1)
  const told = giveaways(evidence, missing, evidence.wasPassed)
  if (evidence.shrunkBy > 0 && start > Math.max(0, evidence.itemsRead - evidence.shrunkBy)) {
    told.push('the total shrank')
  }
  if (evidence.endedShortBy > 0 && start > Math.max(0, (first?.limit ?? 0) - evidence.endedShortBy)) {
    told.push('it ended short of the total')
  }
  return told.length === 0
    ? 'thrown, unseen gap'
    : `VIOLATION: resumes with a gap, though ${told.join(' and ')}`
}

/**
 * A verified walk knows where it stands in a state of which it received an item that it has yielded. Of a newer one that
 * showed it only strangers it knows no more than that it stands before them.
 */
function newestLocatable({ yielded }: WalkRecord, received: readonly Received[]): readonly Received[] {
  const known = new Set(yielded)
  const locatable = received.filter(({ ids }) => ids.some(id => known.has(id)))
  return locatable.length > 0 ? locatable : received
}

function endOf({ log }: WalkRecord): number {
  return log.findIndex(({ type }) => type === 'end')
}

function without(all: readonly string[], some: readonly string[]): string[] {
  const those = new Set(some)
  return all.filter(id => !those.has(id))
}
