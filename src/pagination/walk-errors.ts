import { PaginationError, type PaginationReason } from '../errors.js'
import type { SuccessResponse } from '../http/call.js'

/** A problem of a loop, and what to do about it. */
export interface Failure {
  readonly problem: string
  readonly hint: string
  /** Whether a loop that resumes after the error's cursor would fail again. */
  readonly isFinal?: boolean
}

const failures: Readonly<Record<PaginationReason, Failure>> = {
  'no-item-key': {
    problem: 'an item has no key',
    hint: 'Return a string or a number from `itemKey` for every item.',
  },
  'item-key-not-unique': {
    problem: 'two items have the same key, so pages cannot overlap',
    hint: 'Pass an `itemKey` that is unique for each item.',
  },
  'limit-not-honoured': {
    problem: 'the service ignores some values of `limit`, so pages cannot overlap',
    hint: 'Iterate without `verified: true`.',
  },
  'short-page': {
    problem: 'a page in the middle of the list is not full, so pages cannot overlap',
    hint: 'The service may filter after paginating. Iterate without `verified: true`.',
  },
  'order-not-stable': {
    problem:
      'items came back in another order, or two of them have the same key, so some may have been missed',
    hint: "Ask the service's owner for an order that is unique and does not change. To read on and accept gaps, pass `onMissedItems: 'continue'`.",
    isFinal: true,
  },
  'missed-items': {
    problem: 'items may have been missed',
    hint: "Start over. To accept gaps, pass `onMissedItems: 'continue'`.",
    isFinal: true,
  },
  'added-elsewhere': {
    problem: 'the list has grown, but not where this loop reads',
    hint: 'Was an earlier loop interrupted? Start over. If not, the total lags or ignores filters, or rows were committed late.',
    isFinal: true,
  },
  'cursor-gone': {
    problem: 'all recently read items are gone from the list, so others may have been missed',
    hint: 'Start over, without `after`.',
    isFinal: true,
  },
  'no-progress': {
    problem:
      'the loop makes no progress. The list changes too fast, the service ignores `page`, or `itemKey` is not unique',
    hint: 'Try again when the list changes less often. `npx --no-install virtual-accounts probe` shows what the service does.',
  },
  contradiction: {
    problem: 'the service contradicts itself',
    hint: "Report this contradiction to the service's owner.",
  },
}

/** Creates the error of a loop. `details` override the texts of its reason. */
export function failure(
  { response }: { readonly response: SuccessResponse },
  reason: PaginationReason,
  details: Partial<Failure> = {},
): PaginationError {
  const { problem, hint, isFinal = false } = { ...failures[reason], ...details }
  return new PaginationError({ info: response.report.info, own: { reason }, problem, hint, isFinal })
}

const overlapProblems = ['no-item-key', 'item-key-not-unique', 'limit-not-honoured', 'short-page'] as const

/** Why the pages of a list can never overlap. */
export type OverlapProblem = (typeof overlapProblems)[number]

export function isOverlapProblem(reason: unknown): boolean {
  return (overlapProblems as readonly unknown[]).includes(reason)
}

/** `other` is the option for lists that grow at the other end. */
export function addedElsewhere(count: number, other: string): Partial<Failure> {
  const { problem, hint } = failures['added-elsewhere']
  return {
    problem: `${problem} (${count} more ${count === 1 ? 'item' : 'items'})`,
    hint: `Does the list grow at its other end? Pass ${other}. ${hint}`,
  }
}

const wrongTotal = 'Pages may be counted from 0, or the total may lag or ignore filters.'

/** An empty page that should have items. */
export function emptyPage({ page, limit }: { page: number; limit: number }, total: number): Partial<Failure> {
  return {
    problem: `page ${page} is empty, although totalItems is ${total} at a limit of ${limit}`,
    hint: `${wrongTotal} Report this contradiction to the service's owner.`,
  }
}

/** A list that ends before its total. Not final, because the total may have counted later rows. */
export function endsShort(end: number, total: number): Partial<Failure> {
  return {
    problem: `the list ended at position ${end}, although totalItems is ${total}, so ${total - end} or more items may have been missed`,
    hint: `${wrongTotal} Run the loop again. To accept gaps, pass \`onMissedItems: 'continue'\`.`,
    isFinal: false,
  }
}

export function pageRepeats(hasKeys: boolean): Partial<Failure> {
  const advice = hasKeys
    ? 'If not, pass an `itemKey` that is unique for each item.'
    : "If not, pass an `itemKey`. If separate items may look equal, pass `onMissedItems: 'continue'`."
  return {
    problem: 'a page repeats the one before it, and no growth of the list explains that',
    hint: `Does the service ignore \`page\`, or does your own proxy drop the query? ${advice}`,
    isFinal: true,
  }
}

export const countedFrom0: Partial<Failure> = {
  problem: 'the service counts pages from 0, so the first page was missed',
  hint: "Pass a `fetch` that renumbers `page` in requests and responses, or `onMissedItems: 'continue'` to accept the gap.",
}
