import { type Findings, grouped } from '../findings.js'
import { type ListedPage, missingOn, toListedPage } from '../page.js'
import { describeOutcome, type ListOutcome, type PageOutcome } from '../session.js'

/** The pages that lists are compared by. */
export interface ListedPages {
  /** Page 1. */
  readonly first: PageOutcome & { readonly page: ListedPage }
  /** Page 1 once more. */
  readonly again: PageOutcome
  /** Page 0. */
  readonly zero: ListOutcome
  /** Page 2; `undefined` if there is only one. */
  readonly second: PageOutcome | undefined
  /** Page 1 with a small limit. */
  readonly small: PageOutcome
  /** Page 2 with the same limit; `undefined` if there is only one. */
  readonly smallSecond: PageOutcome | undefined
  /** The page that the total of page 1 points at. */
  readonly last: PageOutcome
  /** Every one of them, and page 1 if it was read a third time. */
  readonly all: PageOutcome[]
}

/** Whether each page says the number that was requested. */
export function checkPageEcho(findings: Findings, pages: ListedPages): void {
  const wrong = pages.all.find(read => read.requested.page <= 2 && isMisnumbered(read))
  const second = pages.second ?? pages.smallSecond
  const failed = [...pages.all.filter(isFirst), second].find(
    read => read && !read.page && read.verdict !== 'none',
  )
  if (wrong) {
    const observed = `page ${wrong.requested.page} was requested, page ${wrong.page?.page} returned`
    findings.broken('page-echo', observed, 'Such a page is a PaginationError.')
  } else if (failed) {
    const observed = `page ${failed.requested.page}: ${describeOutcome(failed)}`
    findings.broken('page-echo', observed, 'Iterating fails if this lasts.')
  } else if (second === undefined)
    findings.notChecked('page-echo', 'by its first totalItems, the list has one page only')
  else if (second.page) findings.ok('page-echo', 'pages 1 and 2 have the numbers requested')
  else findings.notChecked('page-echo', describeOutcome(second))
}

/** Where the limit in the response changes although the requested one does not. */
export function findLimitChange(reads: readonly PageOutcome[]): string | undefined {
  // A limit that is the length of the list changes with it.
  const isWhole = ({ limit, totalItems }: ListedPage) => limit === totalItems
  for (const { page, requested } of reads) {
    const before = reads.find(read => read.page && read.requested.limit === requested.limit)?.page
    if (!page || !before || page.limit === before.limit || [page, before].every(isWhole)) continue
    return `page ${grouped(before.page)} has limit ${grouped(before.limit)}, page ${grouped(page.page)} has limit ${grouped(page.limit)}`
  }
  return undefined
}

/** More items than the limit of the page. */
export function isOverfull({ page }: PageOutcome): boolean {
  return page !== undefined && page.count > page.limit
}

/** Another page than the one that was requested. */
export function isMisnumbered({ page, requested }: PageOutcome): boolean {
  return page !== undefined && page.page !== requested.page
}

/** More or fewer items than the total of the page says. */
export function isMiscounted(read: PageOutcome): boolean {
  const page = usablePage(read)
  return page !== undefined && missingOn(page) !== 0
}

function isFirst({ requested }: PageOutcome): boolean {
  return requested.page === 1 && requested.limit === undefined
}

/** Page 1 as it was read last: a live list changes. */
export function newestFirst({ first, all }: ListedPages): ListedPage {
  return all.findLast(read => read.page && isFirst(read))?.page ?? first.page
}

/** No item where the default limit showed some, before and after: so some services respond to a limit that is too large. */
export function isEmptied({ page, requested }: PageOutcome, pages: ListedPages): boolean {
  const { limit = 0 } = requested
  if (page?.count !== 0 || limit <= pages.first.page.limit) return false
  const firsts = [pages.first.page, newestFirst(pages)]
  const totalItems = Math.min(...firsts.map(first => first.totalItems))
  return firsts.every(({ count }) => count > 0) && missingOn({ ...page, totalItems }) > 0
}

/** Page 0 tells services apart that count from 0: its items are then on page 1 with a smaller limit. */
export function checkPageZero(findings: Findings, pages: ListedPages): void {
  const { zero, small } = pages
  const one = newestFirst(pages)
  const page = pageZeroOf(zero)
  const { count, ids, totalItems } = page ?? { count: 0, ids: undefined, totalItems: 0 }
  const isEmptyList = one.count === 0 && one.totalItems === 0
  // The total of an empty page may be 0.
  const isSame = ({ count, totalItems: total }: ListedPage) =>
    total === totalItems || (count === 0 && total === 0)
  const isSameState = [one, small.page].every(page => page && isSame(page))
  // A smaller page 1 is then the second one of its size on page 0.
  const isBefore = small.page?.count
    ? ids?.indexOf(small.page.ids?.[0] ?? '') === small.page.limit
    : isEmptyList
  if (zero.verdict === 'none') findings.notChecked('page-zero', describeOutcome(zero))
  else if (page && count === 0)
    if (isEmptyList) findings.notChecked('page-zero', 'the list is empty')
    else findings.ok('page-zero', 'page 0 is empty')
  else if (count === 0) findings.ok('page-zero', `page 0 gets ${describeOutcome(zero)}`)
  else if (findings.isBroken('order')) findings.notChecked('page-zero', 'page 1 is not always the same')
  else if (!ids || !one.ids) findings.notChecked('page-zero', 'not all items have an id')
  else if (ids.some(id => one.ids?.includes(id))) findings.ok('page-zero', 'page 0 has items of page 1')
  else if (isSameState && isBefore) {
    findings.broken(
      'page-zero',
      'page 0 has items that come before those of page 1: pages are counted from 0',
      'The client begins at page 1: iterating misses the first page. Ask the owner of the service to count pages from 1; until then read each page with `client.request`.',
    )
  } else findings.notChecked('page-zero', 'page 0 has items that are not on page 1: it may be the first page')
}

/** Page 0, whose number may be 0; `undefined` if there is none. */
export function pageZeroOf({ verdict, data }: ListOutcome): ListedPage | undefined {
  const isPage = verdict === 'ok' && Array.isArray((data as { data?: unknown } | null | undefined)?.data)
  return isPage ? toListedPage(data) : undefined
}

/** Why a comparison would show nothing. */
export const unreliable = 'unclear, by what is broken above'

/** The page, unless it is another one than was requested. */
export function usablePage({ page, requested }: PageOutcome): ListedPage | undefined {
  return page?.page === requested.page ? page : undefined
}
