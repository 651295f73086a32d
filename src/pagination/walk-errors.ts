import { PaginationError, type PaginationReason } from '../errors.js'
import type { LoadedPage } from './page.js'

/** What to do, by the reason of a failure. */
const advice: Readonly<Record<PaginationReason, string>> = {
  'no-item-key': 'Return a string or a number from `itemKey` for every item.',
  'item-key-not-unique': 'Pass an `itemKey` that is unique for each item.',
  'limit-not-honoured': 'Iterate without `verified: true`.',
  'short-page': 'Does the service filter pages after cutting them? Iterate without `verified: true`.',
  'order-not-stable':
    "Ask the service's owner for an order that is unique and does not change. To read on and accept gaps, pass `onMissedItems: 'continue'`.",
  'missed-items': "Start over. To accept gaps, pass `onMissedItems: 'continue'`.",
  'added-elsewhere':
    'Does the list grow at its other end? Pass `until` if new items come first, `after` if they come last. The total may also lag or ignore filters, or rows may have been committed late.',
  'cursor-gone': 'Start over, without `after`.',
  'no-progress':
    'Try again when the list changes less often. `npx --no-install virtual-accounts probe` shows what the service does.',
  contradiction: "Report this contradiction to the service's owner.",
}

/** What went wrong in a loop. */
export interface Failure {
  readonly reason: PaginationReason
  readonly problem: string
  /** Instead of the usual advice. */
  readonly hint?: string
  /** To resume after the cursor of the error would lead to the same failure. */
  readonly isFinal?: boolean
}

export function failure(
  { response }: Pick<LoadedPage<unknown>, 'response'>,
  { reason, problem, hint = advice[reason], isFinal = false }: Failure,
): PaginationError {
  return new PaginationError({ info: response.report.info, reason, problem, hint, isFinal })
}

const overlapProblems = {
  'no-item-key': 'an item has no key',
  'item-key-not-unique': 'two items have the same key, or the order of the list is not stable',
  'limit-not-honoured': 'the service does not honour other limits, so pages cannot overlap',
  'short-page': 'a page in the middle of the list is not full, so pages cannot overlap',
} as const

/** Why the pages of a list can never overlap. */
export type OverlapProblem = keyof typeof overlapProblems

export function isOverlapProblem(reason: string | undefined): reason is OverlapProblem {
  return reason !== undefined && Object.hasOwn(overlapProblems, reason)
}

/** Thrown by the reader of overlapping windows when a response shows that windows cannot overlap. No caller sees it. */
export class CannotOverlap {
  readonly reason: OverlapProblem

  constructor(reason: OverlapProblem) {
    this.reason = reason
  }
}

export function noOverlap(reason: OverlapProblem): Failure {
  return { reason, problem: overlapProblems[reason] }
}

export const noProgress: Failure = {
  reason: 'no-progress',
  problem:
    'the loop makes no progress, as the list changes too fast, or the service ignores `page` or `limit`',
}

export const orderNotStable: Failure = {
  reason: 'order-not-stable',
  problem: 'items came back in a different order, so some may have been missed',
  isFinal: true,
}

export const keysRepeat: Failure = {
  reason: 'item-key-not-unique',
  problem: 'every item of a page has the key of an earlier item, although the list has not grown',
  isFinal: true,
}

export const cursorGone: Failure = {
  reason: 'cursor-gone',
  problem: 'all of the last items read have left the list, so some may have been missed',
  isFinal: true,
}

export function addedElsewhere(count: number): Failure {
  const problem = `the list has grown by ${count} ${count === 1 ? 'item' : 'items'}, but not where this loop reads`
  return { reason: 'added-elsewhere', problem, isFinal: true }
}

export function emptyPage(
  { page, limit }: Pick<LoadedPage<unknown>, 'page' | 'limit'>,
  total: number,
): Failure {
  const problem = `page ${page} is empty, although totalItems is ${total} at a limit of ${limit}`
  return { reason: 'contradiction', problem }
}

export function shrank(before: number, after: number): Failure {
  const problem = `the list shrank from ${before} to ${after} items while it was read, so ${before - after} or more may have been missed`
  return { reason: 'missed-items', problem, isFinal: true }
}

export function endsShort(end: number, total: number): Failure {
  const problem = `the list ended at position ${end}, although totalItems is ${total}, so ${total - end} or more may have been missed`
  const hint =
    "Pages may be counted from 0, or the total may lag or ignore filters. Run it again. To accept gaps, pass `onMissedItems: 'continue'`."
  return { reason: 'missed-items', problem, hint }
}

export function tooMany(items: number, total: number): Failure {
  const problem = `the service has returned ${items} items, although no response promised more than ${total}`
  const hint =
    "The service may ignore `page`, or its total may be capped. To read on to an empty page, pass `onMissedItems: 'continue'`."
  return { reason: 'contradiction', problem, hint, isFinal: true }
}
