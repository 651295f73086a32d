import { PaginationError } from '../errors.js'
import type { IncompleteReason } from '../events.js'
import type { Seen } from './requests.js'

export type Text = readonly [problem: string, hint: string]

const notUniqueHint = 'Identify items by something unique: see `itemKey`.'

const overlapProblems: Partial<Record<IncompleteReason, Text>> = {
  'no-item-key': ['an item has no key', 'Return a string or a number for every item: see `itemKey`.'],
  'item-key-not-unique': [
    'two items have the same key, or the order of the list is not stable',
    notUniqueHint,
  ],
  'limit-not-honoured': [
    'the service does not honour other limits, so pages cannot overlap',
    'Iterate without `verified: true`.',
  ],
  'short-page': [
    'a page in the middle of the list is not full, so pages cannot overlap',
    'Does the service filter pages after cutting them? Iterate without `verified: true`.',
  ],
}

/** Whether pages of this list can never overlap. */
export function rulesOutOverlap(reason: IncompleteReason | undefined): reason is IncompleteReason {
  return reason !== undefined && reason in overlapProblems
}

/** Thrown by the reader of overlapping windows when a response shows that windows cannot overlap. No caller sees it. */
export const cannotOverlap: unique symbol = Symbol('cannot overlap')

export function noOverlap(reason: IncompleteReason | undefined, seen: Seen): Error {
  return failure(seen, overlapProblems[reason as IncompleteReason] as Text)
}

export const noProgress: Text = [
  'the loop makes no progress: the list changes too fast, or the service ignores `page` or `limit`',
  'Run it when fewer changes are made; `npx --no-install virtual-accounts probe` shows what the service does.',
]

// To resume after these would lead to the same failure.

export const orderNotStable: Text = [
  'items came back in another order than they were read in, so some may have been missed',
  'Are equal dates returned in any order? Sort by something unique, too. If items moved while they were read, start over.',
]

export const keysRepeat: Text = [
  'every item of a page has the key of an earlier item, although the list has not grown',
  notUniqueHint,
]

export const nothingKnown: Text = [
  'none of the last items that were read is in the list any more, so some may have been missed',
  'Start over, without `after`.',
]

export const untilIsGone: Text = [
  'the list has ended, and none of the items that `until` names is in it any more, so all of it was read',
  "Start over without `until`, or store the cursor of this loop's first batch.",
]

const acceptMissed = "To accept missed items, pass onMissedItems: 'continue'."

export function shrank(before: number, after: number): Text {
  const problem = `the list shrank from ${before} to ${after} items while it was read, so ${before - after} or more may have been missed`
  return [problem, `Start over. ${acceptMissed}`]
}

export function endsShort(end: number, total: number): Text {
  const problem = `the list ended at position ${end}, although totalItems is ${total}, so ${total - end} or more may have been missed`
  const causes = 'Pages may be counted from 0, or the total may be out of date or ignore filters.'
  return [problem, `${causes} Run it again. ${acceptMissed}`]
}

export function failure({ response }: Seen, [problem, hint]: Text, isFinal = false): PaginationError {
  return new PaginationError({ info: response.report.info, problem, hint, isFinal })
}
