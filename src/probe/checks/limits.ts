import { countOf, type Findings, grouped } from '../findings.js'
import { type ListedPage, lastPageNumber, missingOn } from '../page.js'
import { describeOutcome, type PageOutcome, type Session } from '../session.js'
import {
  findLimitChange,
  isEmptied,
  isMiscounted,
  isMisnumbered,
  isOverfull,
  type ListedPages,
  newestFirst,
  unreliable,
  usablePage,
} from './pages.js'

const customary = [1_000, 500, 200, 100, 50]
const maxPageBytes = 1024 * 1024

/** Requests for the largest limit at most: each that is tried, and the last page with the one that is suggested. */
export const maxLimitRequests: number = customary.length + 1

/** A small limit is obeyed and echoed, every page of a list has the same, and no page holds more than its limit. */
export function checkLimitEcho(findings: Findings, reads: readonly PageOutcome[], pages: ListedPages): void {
  const { first, small, smallSecond } = pages
  const full = pages.all.find(isOverfull)?.page
  const change = findLimitChange(reads)
  const { limit } = small.requested
  const judged = [small, smallSecond].find(outcome => outcome && outcome.page?.limit !== limit) ?? small
  if (full) {
    const observed = `${countOf(full.count, 'item')} on a page with limit ${grouped(full.limit)}`
    findings.broken('limit-echo', observed, 'Such a page is a PaginationError.')
  } else if (change) {
    findings.broken('limit-echo', change, 'Iterating such a list can throw PaginationError.')
  } else if (judged.verdict === 'none') findings.notChecked('limit-echo', describeOutcome(judged))
  else if (!judged.page) {
    const observed = `page ${judged.requested.page} with limit ${limit}: ${describeOutcome(judged)}`
    findings.broken('limit-echo', observed, 'Lists with such a limit fail if this lasts.')
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

/** What pages of larger limits have shown. */
interface LargerPages {
  /** Page 1 with each limit that was tried. */
  readonly tried: readonly PageOutcome[]
  /** The largest page 1. */
  readonly largest: ListedPage
  /** The limit that could be suggested. */
  readonly limit: number
  /** The last page with that limit; `undefined` if there was no need to read it. */
  readonly last: PageOutcome | undefined
}

/** Reads pages with larger limits; `undefined` if limits do not have their meaning. */
export async function readLargerPages(
  findings: Findings,
  session: Session,
  pages: ListedPages,
): Promise<LargerPages | undefined> {
  if (findings.isBroken('limit-echo') || pages.all.some(isMisnumbered)) return undefined
  const { first } = pages
  const tried = await tryLimits(session, pages)
  const largest = tried.map(read => largerPage(read, pages)).find(page => page) ?? first.page
  const fitting = Math.floor(maxPageBytes / Math.max(1, session.sample.itemBytes))
  const limit = Math.max(1, Math.min(largest.limit, fitting))
  const number = lastPageNumber(largest, limit)
  const isRead = limit !== first.page.limit && number > 1 && missingOn(largest) === 0
  const last = isRead ? await session.getPage({ page: number, limit }) : undefined
  return { tried, largest, limit, last }
}

/** Page 1 once more, if the list seems to have grown, or to be empty: either may depend on the page or the limit. */
export async function readFirstAgain(session: Session, pages: ListedPages): Promise<void> {
  const { totalItems } = newestFirst(pages)
  const hasGrown = session.reads.some(({ page }) => page && page.totalItems > totalItems)
  if (hasGrown || session.reads.some(read => isEmptied(read, pages))) pages.all.push(await session.getPage())
}

/** The largest of some customary limits, and whether a list can be read with the one that is suggested. */
export function checkMaxLimit(
  findings: Findings,
  pages: ListedPages,
  { tried, largest, limit, last }: LargerPages,
): void {
  const seen = tried.map(read => `${grouped(read.requested.limit ?? 0)} gets ${describeRead(read)}`)
  const problems = tried.map(read => problemOf(read, pages))
  if (last) {
    const problem = problemOf(last, pages, limit === largest.limit)
    if (last.page?.limit === limit && !problem) findings.suggested.limit = limit
    else seen.push(`page ${grouped(last.requested.page)} with limit ${grouped(limit)}: ${describeRead(last)}`)
    problems.push(problem)
  }
  const observed = seen.join('; ') || `none was tried, as the default is ${grouped(largest.limit)}`
  const worst = (['fails', 'changes', 'miscounts', 'unknown'] as const).find(one => problems.includes(one))
  if (worst === undefined) findings.ok('max-limit', observed)
  else if (worst === 'unknown') findings.notChecked('max-limit', observed)
  else if (worst === 'miscounts' && (findings.isBroken('total') || findings.isBroken('neighbours')))
    findings.notChecked('max-limit', unreliable)
  else findings.broken('max-limit', observed, consequences[worst])
}

const consequences = {
  fails: 'Lists with such a limit fail, or are empty, if this lasts.',
  changes: 'Iterating with such a limit can throw PaginationError.',
  miscounts:
    'Iterating with such a limit takes more requests, or throws PaginationError; with any limit, if totalItems is wrong.',
}

/**
 * What is wrong with a page of a large limit.
 * @param isKnown Whether page 1 was read with the same limit: then no page may be refused.
 */
function problemOf(
  read: PageOutcome,
  pages: ListedPages,
  isKnown = false,
): keyof typeof consequences | 'unknown' | undefined {
  const { verdict, page, requested, error } = read
  const { limit = 0 } = requested
  if (hasFailed(read) || error?.kind === 'timeout' || isEmptied(read, pages)) return 'fails'
  if (isKnown && verdict === 'refused') return 'fails'
  if (isOverfull(read) || isMisnumbered(read)) return 'changes'
  if (page && (isKnown ? page.limit !== limit : page.limit > limit)) return 'changes'
  if (isMiscounted(read)) return 'miscounts'
  return verdict === 'none' ? 'unknown' : undefined
}

/** Page 1 with limits above the default, the largest first, until one gets a larger page. */
async function tryLimits(session: Session, pages: ListedPages): Promise<PageOutcome[]> {
  const reads: PageOutcome[] = []
  // If a limit is lowered, perhaps to the default, one between may be obeyed.
  for (const limit of customary.filter(limit => limit > pages.first.page.limit)) {
    const read = await session.getPage({ limit })
    reads.push(read)
    // A page of a smaller limit may take less time.
    const isUnknown = read.verdict === 'none' && read.error?.kind !== 'timeout'
    if (isUnknown || largerPage(read, pages)) break
  }
  return reads
}

/** The page, if its limit is larger than the default. */
function largerPage(read: PageOutcome, pages: ListedPages): ListedPage | undefined {
  const page = usablePage(read)
  return page && page.limit > pages.first.page.limit && !isEmptied(read, pages) ? page : undefined
}

/** A failure, or a 2xx that is no page, but not one that is too large for the client. */
function hasFailed({ verdict, page, isComplete, response }: PageOutcome): boolean {
  // The key was accepted without this limit.
  const isKeyRefused = response?.status === 401
  return verdict === 'failed' || (verdict === 'ok' && isComplete && !page) || isKeyRefused
}

function describeRead(read: PageOutcome): string {
  const { page } = read
  if (page === undefined) return describeOutcome(read)
  const number = usablePage(read) ? '' : `page ${grouped(page.page)}, `
  const contradiction = missingOn(page) === 0 ? '' : `, although totalItems is ${grouped(page.totalItems)}`
  return `${number}limit ${grouped(page.limit)} and ${countOf(page.count, 'item')}${contradiction}`
}
