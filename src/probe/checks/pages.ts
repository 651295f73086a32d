import { type Findings, grouped } from '../findings.js'
import { type ListedPage, toListedPage } from '../page.js'
import { describeOutcome, type Outcome, type PageOutcome } from '../session.js'

/** The pages that lists are compared by. */
export interface ListedPages {
  /** Page 1. */
  readonly first: PageOutcome & { readonly page: ListedPage }
  /** Page 1 once more. */
  readonly again: PageOutcome
  /** Page 0. */
  readonly zero: Outcome
  /** Page 2; `undefined` if there is only one. */
  readonly second: PageOutcome | undefined
  /** Page 1 with a small limit. */
  readonly small: PageOutcome
  /** Page 2 with the same limit; `undefined` if there is only one. */
  readonly smallSecond: PageOutcome | undefined
  /** The page that the total of page 1 points at. */
  readonly last: PageOutcome
  /** All but the last. */
  readonly all: readonly PageOutcome[]
}

/** Whether each page says the number that was requested. */
export function checkPageEcho(findings: Findings, pages: ListedPages): void {
  const wrong = pages.all.find(outcome => outcome.page && !usablePage(outcome))
  const second = pages.second ?? pages.smallSecond
  if (wrong) {
    const observed = `page ${wrong.requested.page} was requested, page ${wrong.page?.page} returned`
    findings.broken('page-echo', observed, 'Such a page is a PaginationError.')
  } else if (second === undefined)
    findings.notChecked('page-echo', 'by totalItems, the list has one page only')
  else if (second.page) findings.ok('page-echo', 'pages 1 and 2 have the numbers requested')
  else if (second.verdict === 'none') findings.notChecked('page-echo', describeOutcome(second))
  else
    findings.broken('page-echo', `page 2: ${describeOutcome(second)}`, 'Iterating fails where this happens.')
}

/** Where the limit in the response changes from one page of a list to the next. */
export function findLimitChange(pages: ListedPages): string | undefined {
  const { second, small, smallSecond, last } = pages
  const one = latestFirst(pages)
  const pairs = [
    [one, second?.page],
    [one, last.page],
    [small.page, smallSecond?.page],
  ]
  // A page beyond the end is none of the list.
  const [before, after] =
    pairs.find(([one, next]) => one && next && next.count > 0 && next.limit !== one.limit) ?? []
  return (
    before &&
    after &&
    `page 1 has limit ${grouped(before.limit)}, page ${grouped(after.page)} has limit ${grouped(after.limit)}`
  )
}

/** A page with more items than its limit. */
export function findOverfull({ all, last }: ListedPages): ListedPage | undefined {
  return [...all, last].find(({ page }) => page && page.count > page.limit)?.page
}

/** Page 1 as it was read last: a live list changes, and a limit that is its length, too. */
function latestFirst({ first, again }: ListedPages): ListedPage {
  return again.page ?? first.page
}

/** Page 0 tells services apart that count from 0: its items are then on page 1 with a smaller limit. */
export function checkPageZero(findings: Findings, pages: ListedPages): void {
  const { zero, small } = pages
  const { verdict, data } = zero
  const one = latestFirst(pages)
  const isPage = verdict === 'ok' && Array.isArray((data as { data?: unknown } | null | undefined)?.data)
  const { count, ids, totalItems } = isPage ? toListedPage(data) : { count: 0, ids: [], totalItems: 0 }
  const hasSome = (known: readonly string[] = []) => ids?.some(id => known.includes(id)) === true
  if (verdict === 'none') findings.notChecked('page-zero', describeOutcome(zero))
  else if (isPage && one.count === 0 && one.totalItems === 0)
    findings.notChecked('page-zero', 'the list is empty')
  else if (count === 0)
    findings.ok('page-zero', `page 0 gets ${describeOutcome(zero)}${isPage ? ', an empty page' : ''}`)
  else if (findings.isBroken('order')) findings.notChecked('page-zero', 'page 1 is not always the same')
  else if (!ids || !one.ids) findings.notChecked('page-zero', 'not all items have an id')
  else if (hasSome(one.ids)) findings.ok('page-zero', 'page 0 has items of page 1')
  else if (totalItems === one.totalItems && hasSome(small.page?.ids)) {
    findings.broken(
      'page-zero',
      'page 0 has items that come before those of page 1: pages are counted from 0',
      'The client begins at page 1: iterating misses the first page. Ask the owner of the service to count pages from 1; until then read each page with `client.request`.',
    )
  } else findings.notChecked('page-zero', 'page 0 has items that are not on page 1: it may be the first page')
}

/** Why a comparison would show nothing. */
export const unreliable = 'unclear, by what is broken above'

/** Page 1 twice. */
export function checkOrder(findings: Findings, { first, again }: ListedPages): void {
  const ids = idsOf(first)
  const idsAgain = idsOf(again)
  if (again.page === undefined) findings.notChecked('order', describeOutcome(again))
  else if (!usablePage(first) || !usablePage(again)) findings.notChecked('order', unreliable)
  else if (!ids || !idsAgain) findings.notChecked('order', 'not all items have an id')
  else if (ids.length < 2) findings.notChecked('order', 'fewer than two items')
  else if (ids.join('\n') === idsAgain.join('\n')) {
    findings.ok('order', 'page 1 has the same ids when it is read again')
  } else if (first.page.totalItems !== again.page.totalItems) {
    findings.notChecked('order', 'totalItems changed between two requests')
  } else {
    findings.broken(
      'order',
      'page 1 differed between two requests, with the same totalItems',
      'Iterating can miss items without noticing. `verified` needs a stable order, too.',
    )
  }
}

/** Neither overlap nor gap between a page and the next. */
export function checkNeighbours(findings: Findings, pages: ListedPages): void {
  // The later of the two first pages: a live list may have changed since the earlier one.
  const { again: first, second, small, smallSecond } = pages
  if (findings.isBroken('page-echo') || findings.isBroken('order')) {
    findings.notChecked('neighbours', unreliable)
    return
  }
  const pairsWithIds = [
    [first, second],
    [small, smallSecond],
  ].flatMap(([one, next]) => {
    const ids = one && idsOf(one)
    const nextIds = next && idsOf(next)
    const isUnchanged = one?.page?.totalItems === next?.page?.totalItems
    const limit = one?.page?.limit ?? 0
    return ids && nextIds && nextIds.length > 0 ? [{ ids: new Set(ids), nextIds, isUnchanged, limit }] : []
  })
  const pairs = pairsWithIds.filter(({ isUnchanged }) => isUnchanged)
  const overlap = pairs.find(({ ids, nextIds }) => nextIds.some(id => ids.has(id)))
  const consequence =
    'Iterating yields repeated items once, with a `drift` event, and can miss others without an error. `verified: true` notices gaps, if the order is stable.'
  if (overlap) {
    const count = overlap.nextIds.filter(id => overlap.ids.has(id)).length
    const observed = `with limit ${grouped(overlap.limit)}, ${count} of ${overlap.nextIds.length} items of page 2 are on page 1, too`
    findings.broken('neighbours', observed, consequence)
  } else if (pairsWithIds.length === 0)
    findings.notChecked('neighbours', 'no two pages could be compared by ids')
  else if (pairs.length === 0) findings.notChecked('neighbours', 'totalItems changed between two requests')
  else if (isBeginningOfFirst(pages) === false) {
    const observed = `pages 1 and 2 with limit ${small.requested.limit} are not the beginning of page 1 with limit ${grouped(first.page?.limit ?? 0)}`
    findings.broken('neighbours', observed, consequence)
  } else {
    const limits = new Set(pairs.map(({ limit }) => grouped(limit)))
    findings.ok('neighbours', `with limit ${[...limits].join(' or ')}, no item is on both pages 1 and 2`)
  }
}

/** Whether the pages of a small limit are the beginning of the page with the default limit; undefined if that is not known. */
function isBeginningOfFirst({ again: first, small, smallSecond }: ListedPages): boolean | undefined {
  const [ids, smallIds, nextIds] = [first, small, smallSecond].map(outcome => outcome && idsOf(outcome))
  const totals = new Set([first, small, smallSecond].map(outcome => outcome?.page?.totalItems))
  if (!ids || !smallIds || !nextIds || totals.size > 1 || small.page?.limit !== small.requested.limit)
    return undefined
  const beginning = [...smallIds, ...nextIds]
  return beginning.length > ids.length ? undefined : beginning.every((id, index) => id === ids[index])
}

/** The page, unless it is another one than was requested. */
function usablePage({ page, requested }: PageOutcome): ListedPage | undefined {
  return page?.page === requested.page ? page : undefined
}

function idsOf(outcome: PageOutcome): readonly string[] | undefined {
  return usablePage(outcome)?.ids
}
