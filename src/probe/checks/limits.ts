import { countOf, type Findings, grouped } from '../findings.js'
import { type ListedPage, lastPageNumber, missingOn } from '../page.js'
import { describeOutcome, type PageOutcome, type Session } from '../session.js'
import { findLimitChange, findOverfull, type ListedPages, unreliable } from './pages.js'

const tried = [1_000, 500, 200, 100, 50]
const maxPageBytes = 1024 * 1024

/** Requests for the largest limit at most: each that is tried, and the last page with the one that is suggested. */
export const maxLimitRequests: number = tried.length + 1

/** A small limit is obeyed and echoed, every page of a list has the same, and no page holds more than its limit. */
export function checkLimitEcho(findings: Findings, pages: ListedPages): void {
  const { first, small, smallSecond } = pages
  const full = findOverfull(pages)
  const change = findLimitChange(pages)
  const { limit } = small.requested
  const judged = smallSecond && !smallSecond.page ? smallSecond : small
  if (full) {
    const observed = `${countOf(full.count, 'item')} on a page with limit ${grouped(full.limit)}`
    findings.broken('limit-echo', observed, 'Such a page is a PaginationError.')
  } else if (change) {
    findings.broken('limit-echo', change, 'Iterating such a list throws PaginationError.')
  } else if (judged.verdict === 'none') findings.notChecked('limit-echo', describeOutcome(judged))
  else if (!judged.page) {
    const observed = `page ${judged.requested.page} with limit ${limit}: ${describeOutcome(judged)}`
    findings.broken('limit-echo', observed, 'Lists with such a limit fail where this happens.')
  } else if (judged.page.limit !== limit) {
    findings.broken(
      'limit-echo',
      `limit ${limit} was requested, limit ${grouped(judged.page.limit)} returned`,
      'The limit in the response takes precedence. `maxItems` can load more than it needs, and `verified` lists can fail.',
    )
  } else
    findings.ok(
      'limit-echo',
      `${limit} is ${first.page.totalItems > limit ? 'obeyed' : 'returned'}; the default is ${grouped(first.page.limit)}`,
    )
}

/** The largest of some customary limits, and whether a list can be read with the one that is suggested. */
export async function checkMaxLimit(
  findings: Findings,
  session: Session,
  { first }: ListedPages,
): Promise<void> {
  if (findings.isBroken('limit-echo')) {
    findings.notChecked('max-limit', 'limits are broken, as said above')
    return
  }
  let largest: PageOutcome & { readonly page: ListedPage } = first
  const seen: string[] = []
  let isFailure = false
  for (const limit of tried.filter(limit => limit > first.page.limit)) {
    const outcome = await session.getPage({ limit })
    const { verdict, page, error } = outcome
    seen.push(`${grouped(limit)} gets ${describeLimit(outcome)}`)
    if (page && missingOn(page) !== 0) return reportCount(findings, page)
    // Some services respond to a limit that is too large as to an empty list.
    if (page && page.limit > first.page.limit && (page.count > 0 || first.page.count === 0)) {
      largest = { ...outcome, page }
      break
    }
    if (verdict === 'none' && error?.kind !== 'timeout') {
      findings.notChecked('max-limit', describeOutcome(outcome))
      return
    }
    // If it is lowered, perhaps to the default, a limit between may be obeyed.
    isFailure ||= hasFailed(outcome) || (page?.count === 0 && first.page.count > 0)
  }
  const { page } = largest
  let observed = seen.join('; ') || `none was tried, as the default is ${grouped(page.limit)}`
  const fitting = Math.floor(maxPageBytes / Math.max(1, session.sample.itemBytes))
  const limit = Math.max(1, Math.min(page.limit, fitting))
  let isChanging = false
  if (limit !== first.page.limit && page.totalItems > limit) {
    const number = lastPageNumber(page, limit)
    const last = await session.getPage({ page: number, limit })
    const isAsRequested = last.page?.page === number && last.page.limit === limit
    if (isAsRequested && missingOn(last.page) !== 0) return reportCount(findings, last.page)
    if (isAsRequested) findings.suggested.limit = limit
    else {
      observed += `; page ${grouped(number)} with limit ${grouped(limit)}: ${describeLimit(last)}`
      // Page 1 was requested with another limit where items are large.
      isChanging = limit === page.limit && last.page !== undefined && last.page.limit !== limit
      isFailure ||= hasFailed(last)
    }
  }
  if (isFailure)
    findings.broken('max-limit', observed, 'Lists with such a limit fail, or are empty, where this happens.')
  else if (isChanging)
    findings.broken('max-limit', observed, 'Iterating with such a limit can throw PaginationError.')
  else findings.ok('max-limit', observed)
}

/** A page with more or fewer items than its limit and its total say. */
function reportCount(findings: Findings, { page, limit, totalItems, count }: ListedPage): void {
  if (findings.isBroken('total') || findings.isBroken('neighbours')) {
    findings.notChecked('max-limit', unreliable)
    return
  }
  findings.broken(
    'max-limit',
    `page ${grouped(page)} says limit ${grouped(limit)} and totalItems ${grouped(totalItems)}, but holds ${countOf(count, 'item')}: one of them is wrong`,
    'Iterating with such a limit takes more requests, or throws PaginationError.',
  )
}

/** A failure, or a 2xx that is no page, except for one that is too large for the client, which has no body here. */
function hasFailed({ verdict, problems, error }: PageOutcome): boolean {
  const isNoPage = error?.kind === 'invalid-response' && error.body !== undefined
  return verdict === 'failed' || problems.length > 0 || isNoPage
}

function describeLimit(outcome: PageOutcome): string {
  const { page } = outcome
  return page ? `limit ${grouped(page.limit)} and ${countOf(page.count, 'item')}` : describeOutcome(outcome)
}
