import { grouped } from './findings.js'
import { type ListedPage, lastPageNumber, missingOn } from './page.js'
import type { ListOutcome, PageOutcome, Session } from './session.js'

const customaryLimits = [1_000, 500, 200, 100, 50]
const maxPageBytes = 1024 * 1024

/** Requests for a list at most; of larger limits, each that is tried, and the last page with the one that is suggested. */
export const maxListRequests: number = 8 + customaryLimits.length + 1

/** Page 1, unless it could not be read. */
export type FirstPage = PageOutcome & { readonly page: ListedPage }

/** What was read of a list, in this order. Pages are compared when all have been read. */
export interface List {
  /** Page 1. */
  readonly first: FirstPage
  /** Page 2; `undefined` if there is only one. */
  readonly second: PageOutcome | undefined
  /** The page that the total of page 1 points at. */
  readonly last: PageOutcome
  /** The page after it. */
  readonly beyond: PageOutcome
  /** Page 0. */
  readonly zero: ListOutcome
  /** Page 1 with a small limit. */
  readonly small: PageOutcome
  /** Page 2 with the same limit; `undefined` if there is only one. */
  readonly smallSecond: PageOutcome | undefined
  /** Page 1 with limits above the default, the largest first, until one gets a larger page. */
  readonly tried: readonly PageOutcome[]
  /** The last page with the largest limit whose pages are small enough; `undefined` if the default has one page only. */
  readonly largerLast: PageOutcome | undefined
  /** Page 1 once more, after all others. */
  readonly again: PageOutcome
  /** Those by default and with the small limit, which must show the same list. */
  readonly own: readonly PageOutcome[]
  /** Those with larger limits. */
  readonly larger: readonly PageOutcome[]
}

/** Reads the pages that a list is judged by. */
export async function readList(session: Session, first: FirstPage): Promise<List> {
  const { page } = first
  const second = page.totalItems > page.limit ? await session.getPage({ page: 2 }) : undefined
  const number = lastPageNumber(page, page.limit)
  const known = [first, second].find(read => read?.requested.page === number)
  const last = known ?? (await session.getPage({ page: number }))
  const beyond = await session.getPage({ page: number + 1 })
  const zero = await session.get({ page: '0' })
  const limit = page.totalItems < 4 ? 1 : 2
  const small = await session.getPage({ limit })
  const hasSmallSecond = small.page && page.totalItems > small.page.limit
  const smallSecond = hasSmallSecond ? await session.getPage({ page: 2, limit }) : undefined
  const isObeyed = small.page?.limit === limit
  const tried = isObeyed ? await tryLimits(session, first) : []
  const largerLast = isObeyed ? await readLastOf(session, first, tried) : undefined
  const again = await session.getPage()
  const own = [first, second, ...(known ? [] : [last]), small, smallSecond, again].filter(isRead)
  const larger = [...new Set([...tried, largerLast])].filter(isRead)
  return { first, second, last, beyond, zero, small, smallSecond, tried, largerLast, again, own, larger }
}

function isRead(read: PageOutcome | undefined): read is PageOutcome {
  return read !== undefined
}

async function tryLimits(session: Session, first: FirstPage): Promise<PageOutcome[]> {
  const reads: PageOutcome[] = []
  // If a limit is lowered, perhaps to the default, one between may be obeyed.
  for (const limit of customaryLimits.filter(limit => limit > first.page.limit)) {
    const read = await session.getPage({ limit })
    reads.push(read)
    // A page of a smaller limit may take less time.
    const isUnknown = read.verdict === 'none' && read.error?.kind !== 'timeout'
    if (isUnknown || isLarger(read, first)) break
  }
  return reads
}

/** Whether it has a larger limit than the default, and items if there are some. */
function isLarger(read: PageOutcome, { page: first }: FirstPage): boolean {
  const page = usablePage(read)
  return page !== undefined && page.limit > first.limit && (page.count > 0 || first.count === 0)
}

async function readLastOf(
  session: Session,
  first: FirstPage,
  tried: readonly PageOutcome[],
): Promise<PageOutcome | undefined> {
  const { totalItems, limit: own } = first.page
  const largest = tried.find(read => isLarger(read, first))
  if (largest?.page === undefined || totalItems <= own || missingOn(largest.page) !== 0) return undefined
  const fitting = Math.floor(maxPageBytes / Math.max(1, session.sample.itemBytes))
  const limit = Math.min(largest.page.limit, fitting)
  if (limit <= own) return undefined
  const page = lastPageNumber(largest.page, limit)
  return page === 1 && limit === largest.requested.limit ? largest : session.getPage({ page, limit })
}

/** The page, unless it is another one than was requested. */
export function usablePage({ page, requested }: PageOutcome): ListedPage | undefined {
  return page?.page === requested.page ? page : undefined
}

/** Another page than the one that was requested. */
export function isMisnumbered({ page, requested }: PageOutcome): boolean {
  return page !== undefined && page.page !== requested.page
}

/** More items than the limit of the page. */
export function isOverfull({ page }: PageOutcome): boolean {
  return page !== undefined && page.count > page.limit
}

/** More or fewer items than the total of the page says. */
export function isMiscounted({ page }: PageOutcome): boolean {
  return page !== undefined && missingOn(page) !== 0
}

/** More or fewer items than the total of the page says, or another total than page 1 has. */
export function isContradictory(read: PageOutcome, { first }: List): boolean {
  return isMiscounted(read) || (read.page !== undefined && read.page.totalItems !== first.page.totalItems)
}

/** Two pages with different limits, although the same one was requested, or none. */
export function findLimitChange({ own, beyond }: List): ListedPage[] | undefined {
  // An empty page beyond the end may have any limit, and another page has a finding of its own.
  const reads = usablePage(beyond)?.count ? [...own, beyond] : own
  for (const { page, requested } of reads) {
    const one = reads.find(read => read.page && read.requested.limit === requested.limit)?.page
    if (one && page && one.limit !== page.limit) return [one, page]
  }
  return undefined
}

/** Why a comparison would show nothing. */
export const unclear = 'unclear, by what is broken above'

/** What leaves it open whether the list changed while it was read; `undefined` if it was the same before and after. */
export function findChange({ first, again, own, larger, beyond }: List): string | undefined {
  const totals = new Set([...own, ...larger, beyond].flatMap(({ page }) => page?.totalItems ?? []))
  if (totals.size === 1 || first.page.totalItems === again.page?.totalItems) return undefined
  const listed = Array.from([...totals].slice(0, 3), grouped).join(', ')
  return `totalItems was not always the same (${listed}): if the list changed meanwhile, probe it again`
}

/** Why pages cannot be compared; `undefined` if they can. */
export function whyIncomparable(list: List): string | undefined {
  const { own } = list
  if (own.some(isMisnumbered) || own.some(isOverfull)) return unclear
  return findChange(list) ?? (findLimitChange(list) && unclear)
}
