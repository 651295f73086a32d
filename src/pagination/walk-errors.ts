import { PaginationError } from '../errors.js'
import type { IncompleteReason } from '../events.js'
import type { LoadedPage } from './page.js'

type Response = LoadedPage<unknown>

const notUniqueHint = 'Identify items by something unique: see `itemKey`.'
const acceptHint = "To accept missed items, pass onMissedItems: 'continue'."

const overlapProblems: Partial<Record<IncompleteReason, readonly [problem: string, hint: string]>> = {
  'no-item-key': ['an item has no key', 'Return a string or a number for every item: see `itemKey`.'],
  'item-key-not-unique': [
    'two items have the same key, or the order of the list is not stable',
    notUniqueHint,
  ],
  'limit-not-honoured': [
    'the service does not honour smaller limits, so pages cannot overlap',
    'Iterate without `verified: true`.',
  ],
  'limit-too-small': [
    'the limit is too small for pages to overlap',
    'Start over with a larger `limit`, such as 20. If the service lowers it, iterate without `verified: true`.',
  ],
  'short-page': [
    'a page in the middle of the list is not full, so pages cannot overlap',
    'Does the service filter pages after cutting them? Iterate without `verified: true`.',
  ],
}

/** Whether pages of this list can never overlap. */
export function rulesOutOverlap(reason: IncompleteReason | undefined): boolean {
  return reason !== undefined && reason in overlapProblems
}

export function noOverlap(reason: IncompleteReason, response: Response | undefined): Error {
  const [problem, hint] = overlapProblems[reason] as readonly [string, string]
  return response ? failure(response, problem, hint) : new TypeError(`verified: ${problem}. ${hint}`)
}

export function missedItems(
  response: Response,
  problem: string,
  missed: number,
  isRepairable: boolean,
): Error {
  const advice = isRepairable ? 'Without `verified: false`, loops repair that.' : 'Start over.'
  const consequence = `${problem}, so ${missed} or more may have been missed`
  return finalFailure(response, consequence, `${advice} ${acceptHint}`)
}

export function endsShort(response: Response, end: number, total: number): Error {
  const problem = `the list ended at position ${end}, although totalItems is ${total}`
  const reasons =
    'The service may count pages from 0, or its total may be out of date or ignore filters. To accept the end of the list instead of its total'
  return finalFailure(response, problem, `${reasons}, pass onMissedItems: 'continue'.`)
}

export function keysRepeat(response: Response, count: number, total: number): Error {
  return finalFailure(response, `only ${count} of ${total} items have keys of their own`, notUniqueHint)
}

export function noProgress(response: Response, responses: number): Error {
  const reasons =
    'the list changed faster than it could be read, or the service ignores page or limit, filters pages after cutting them, or ends a long list early'
  return failure(
    response,
    `${reasons} (more than ${responses} responses without progress)`,
    'Try again when fewer changes are made, or pass another limit.',
  )
}

export function nothingKnown(response: Response, isResumed: boolean): Error {
  return isResumed
    ? finalFailure(
        response,
        'none of the items that the cursor names is in the list any more',
        'Start over without `after`.',
      )
    : finalFailure(
        response,
        'the list changed by more items than this loop remembers, so some may have been missed',
        'Start over when fewer changes are made.',
      )
}

function finalFailure({ response }: Response, problem: string, hint: string): PaginationError {
  return new PaginationError({ info: response.report.info, problem, hint, isFinal: true })
}

function failure({ response }: Response, problem: string, hint: string): PaginationError {
  return new PaginationError({ info: response.report.info, problem, hint })
}
