import { countOf, type Findings, grouped } from '../findings.js'
import { type ListedPage, lastPageNumber, missingOn, nameOf } from '../page.js'
import { describeOutcome, type PageOutcome, type Session } from '../session.js'
import {
  findLimitChange,
  isEmptied,
  isMiscounted,
  isOverfull,
  type ListedPages,
  newestFirst,
  usablePage,
} from './pages.js'

/** Requests for the end of a list: the last page again if items are missing or the list grew, and the one after it. */
export const maxEndRequests = 2

const unclear = 'the end of the list is unclear, by what is broken above'

/** Whether the list ends where its total says. */
export async function checkEnd(findings: Findings, session: Session, pages: ListedPages): Promise<void> {
  const { last } = pages
  const isUneven = findLimitChange(pages.all) !== undefined || pages.all.some(isOverfull)
  const isUnclear = isUneven || findings.isBroken('neighbours')
  // A last page that fails, or is another one, is clear enough.
  if (findings.isBroken('page-echo') || (isUnclear && usablePage(last))) {
    findings.notCheckedElse(['total', 'page-beyond-end'], unclear)
    return
  }
  const isWrong = isMiscounted(last)
  // A list that grew meanwhile has another last page.
  const newest = session.reads.findLast(({ page }) => page)?.page ?? pages.first.page
  const number = lastPageNumber(newest, pages.first.page.limit)
  const isLast = !isWrong && number === last.requested.page
  const end = isLast ? last : await session.getPage({ page: number })
  const seen = session.reads.flatMap(({ page }) => page ?? [])
  // A list can change between counting and reading it: then the total is another one before or after.
  const before = session.reads[session.reads.indexOf(last) - 1]
  const totals = new Set([before, last, end].flatMap(read => read?.page?.totalItems ?? []))
  checkTotal(findings, isWrong && totals.size > 1 ? seen.filter(page => page !== last.page) : seen, end)
  if (findings.isBroken('total')) findings.notChecked('page-beyond-end', unclear)
  else if (end.page === undefined) findings.notChecked('page-beyond-end', describeOutcome(end))
  else await checkBeyondEnd(findings, session, end.page, seen)
}

/** Whether the page that the total points at is the last, and whether each page holds as many items as its total says. */
function checkTotal(findings: Findings, seen: readonly ListedPage[], end: PageOutcome): void {
  const { page: last, verdict, requested } = end
  const wrong = seen.find(page => missingOn(page) !== 0)
  if (last && last.page !== requested.page) {
    const observed = `page ${grouped(requested.page)} was requested, page ${grouped(last.page)} returned`
    findings.broken('total', observed, 'Iterating fails there with PaginationError.')
  } else if (last && !wrong) {
    const total = grouped(last.totalItems)
    if (last.page < lastPageNumber(last, last.limit))
      findings.notChecked('total', `${total}: the list grew, and its last page was not read`)
    else findings.ok('total', last.count < last.limit ? `${total}, as the last page shows` : total)
  } else {
    const observed = `page ${grouped(requested.page)}, the last by totalItems: ${describeOutcome(end)}`
    if (!last && verdict !== 'none') findings.broken('total', observed, 'Iterating fails if this lasts.')
    else if (wrong) reportWrong(findings, wrong)
    else findings.notChecked('total', observed)
  }
}

/** A page that holds more or fewer items than its total says. */
function reportWrong(findings: Findings, wrong: ListedPage): void {
  findings.broken(
    'total',
    describeWrong(wrong),
    'Iterating can end where the total says without an error, take more requests, or throw PaginationError.',
  )
}

function describeWrong(page: ListedPage): string {
  const { totalItems, count } = page
  const expected = grouped(count + missingOn(page))
  return `${grouped(totalItems)}, but ${nameOf(page)} has ${countOf(count, 'item')} instead of ${expected}`
}

/** Whether the total counts the list when page 1 is read a third time and with larger limits, and never falls. */
export function checkTotals(findings: Findings, reads: readonly PageOutcome[], pages: ListedPages): void {
  if (findings.isBroken('total')) return
  const newest = newestFirst(pages)
  if (missingOn(newest) !== 0 && newest !== pages.again.page) {
    reportWrong(findings, newest)
    return
  }
  const larger = reads.filter(read => read.requested.limit !== undefined && !pages.all.includes(read))
  const isWrong = (read: PageOutcome) => isMiscounted(read) && !isOverfull(read) && !isEmptied(read, pages)
  const wrong = findings.isBroken('neighbours')
    ? []
    : larger.filter(isWrong).flatMap(({ page }) => page ?? [])
  const more = wrong.find(page => missingOn(page) < 0)
  if (more) {
    reportWrong(findings, more)
    return
  }
  let before: ListedPage | undefined
  for (const read of reads) {
    const { page } = read
    if (page === undefined) continue
    if (before && page.totalItems < before.totalItems) {
      // A limit that is too large has a finding of its own.
      if (!pages.all.includes(read) && isEmptied(read, pages)) continue
      findings.broken(
        'total',
        `it fell from ${grouped(before.totalItems)} on ${nameOf(before)} to ${grouped(page.totalItems)} on ${nameOf(page)}`,
        'If items were removed, iterating throws PaginationError, and `verified: true` repairs it. If it does not count the whole list, iterating can end early without an error.',
      )
      return
    }
    before = page
  }
  // Either the total is too high, or a larger limit is not obeyed.
  const [fewer] = wrong
  if (fewer) findings.notChecked('total', describeWrong(fewer))
}

/** A page after the last: by the API specification it is a page, too, so it must be an empty one. */
async function checkBeyondEnd(
  findings: Findings,
  session: Session,
  last: ListedPage,
  seen: readonly ListedPage[],
): Promise<void> {
  const number = lastPageNumber(last, last.limit) + 1
  const outcome = await session.getPage({ page: number })
  const { page, verdict } = outcome
  const broken = (observed: string) =>
    findings.broken(
      'page-beyond-end',
      observed,
      'The client expects an empty page of that number there: ask the owner of the service for one. Lists that read beyond their end can fail or show other items.',
    )
  const isEmpty = page?.count === 0
  const hasGrown = page !== undefined && page.totalItems > last.totalItems
  if (!isEmpty && last.count === last.limit && number === last.page + 1) {
    const full = `page ${grouped(last.page)} is full, and no empty page was seen after it`
    findings.notChecked('total', `${grouped(last.totalItems)}: ${full}`)
  }
  if (verdict === 'none') findings.notChecked('page-beyond-end', describeOutcome(outcome))
  else if (page === undefined) broken(describeOutcome(outcome))
  else if (isEmpty) {
    if (page.page !== number) broken('empty, with the wrong page number')
    else findings.ok('page-beyond-end', 'an empty page')
    if (page.page === number && missingOn(page) > 0) reportWrong(findings, page)
  } else if (page.page !== number) {
    broken(`page ${grouped(number)} was requested, page ${grouped(page.page)} returned`)
  } else if ((number - 1) * page.limit < page.totalItems) {
    if (missingOn(page) !== 0) reportWrong(findings, page)
    findings.notChecked(
      'page-beyond-end',
      'by its own totalItems, the page after the last is not beyond the end',
    )
  } else {
    const known = new Set(seen.flatMap(({ ids }) => ids ?? []))
    const isNew = !hasGrown && page.ids?.every(id => !known.has(id))
    const items = `page ${grouped(number)} has ${countOf(page.count, 'item')}`
    if (isNew) reportWrong(findings, page)
    if (isNew) findings.notChecked('page-beyond-end', unclear)
    else broken(`${items}, although page ${grouped(number - 1)} is the last by totalItems`)
    if (!page.ids) findings.notChecked('total', `${items}, and not all have an id`)
  }
}
