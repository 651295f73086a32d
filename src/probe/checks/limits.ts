import { countOf, type Findings, grouped } from '../findings.js'
import { type ListedPage, lastPageNumber, missingOn } from '../page.js'
import { describeOutcome, type PageOutcome, type Session } from '../session.js'
import { findLimitChange, findOverfull, type ListedPages, unreliable, usablePage } from './pages.js'

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
  const judged = [small, smallSecond].find(outcome => outcome && outcome.page?.limit !== limit) ?? small
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
      `${limit} is ${judged.page.count === limit ? 'obeyed' : 'returned'}; the default is ${grouped(first.page.limit)}`,
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
  const reads = await tryLimits(session, first)
  const seen = reads.map(read => `${grouped(read.requested.limit ?? 0)} gets ${describeRead(read)}`)
  const largest = reads.map(read => largerPage(read, first)).find(page => page) ?? first.page
  let isUneven = reads.some(read => read.page && (!usablePage(read) || read.page.count > read.page.limit))
  const fitting = Math.floor(maxPageBytes / Math.max(1, session.sample.itemBytes))
  const limit = Math.max(1, Math.min(largest.limit, fitting))
  if (limit !== first.page.limit && largest.totalItems > limit && missingOn(largest) === 0) {
    const number = lastPageNumber(largest, limit)
    const last = await session.getPage({ page: number, limit })
    const isAsRequested = usablePage(last)?.limit === limit
    if (isAsRequested && !isMiscounted(last)) findings.suggested.limit = limit
    else seen.push(`page ${grouped(number)} with limit ${grouped(limit)}: ${describeRead(last)}`)
    // Where items are large it is a limit that page 1 was not requested with: it may be refused or lowered.
    const isNew = limit !== largest.limit
    if (!isNew || last.verdict !== 'refused') reads.push(last)
    isUneven ||= !isNew && last.page !== undefined && !isAsRequested
  }
  const observed = seen.join('; ') || `none was tried, as the default is ${grouped(largest.limit)}`
  const lost = reads.find(isUnknown)
  if (reads.some(read => hasFailed(read) || isEmptied(read, first)))
    findings.broken('max-limit', observed, 'Lists with such a limit fail, or are empty, where this happens.')
  else if (isUneven && !findings.isBroken('page-echo'))
    findings.broken('max-limit', observed, 'Iterating with such a limit can throw PaginationError.')
  else if (!reads.some(isMiscounted)) {
    if (lost) findings.notChecked('max-limit', describeOutcome(lost))
    else findings.ok('max-limit', observed)
  } else if (findings.isBroken('total')) findings.notChecked('max-limit', unreliable)
  else {
    const consequence = 'Iterating with such a limit takes more requests, or throws PaginationError.'
    findings.broken('max-limit', observed, consequence)
  }
}

/** Page 1 with limits above the default, the largest first, until one gets a larger page. */
async function tryLimits(session: Session, first: ListedPages['first']): Promise<PageOutcome[]> {
  const reads: PageOutcome[] = []
  // If a limit is lowered, perhaps to the default, one between may be obeyed.
  for (const limit of tried.filter(limit => limit > first.page.limit)) {
    const read = await session.getPage({ limit })
    reads.push(read)
    if (isUnknown(read) || largerPage(read, first)) break
  }
  return reads
}

/** The page, if its limit is larger than the default. */
function largerPage(read: PageOutcome, first: ListedPages['first']): ListedPage | undefined {
  const page = usablePage(read)
  return page && page.limit > first.page.limit && !isEmptied(read, first) ? page : undefined
}

/** No response to judge by, except that a page of this limit may take too long. */
function isUnknown({ verdict, error }: PageOutcome): boolean {
  return verdict === 'none' && error?.kind !== 'timeout'
}

/** Some services respond to a limit that is too large as to an empty list. */
function isEmptied({ page }: PageOutcome, first: ListedPages['first']): boolean {
  return page?.count === 0 && first.page.count > 0
}

/** A failure, or a 2xx that is no page, except for one that is too large for the client, which has no body here. */
function hasFailed({ verdict, problems, error }: PageOutcome): boolean {
  const isNoPage = error?.kind === 'invalid-response' && error.body !== undefined
  return verdict === 'failed' || problems.length > 0 || isNoPage
}

function isMiscounted(read: PageOutcome): boolean {
  const page = usablePage(read)
  return page !== undefined && missingOn(page) !== 0
}

function describeRead(read: PageOutcome): string {
  const { page } = read
  if (page === undefined) return describeOutcome(read)
  const number = usablePage(read) ? '' : `page ${grouped(page.page)}, `
  const contradiction = missingOn(page) === 0 ? '' : `, although totalItems is ${grouped(page.totalItems)}`
  return `${number}limit ${grouped(page.limit)} and ${countOf(page.count, 'item')}${contradiction}`
}
