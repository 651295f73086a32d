import { countOf, type Findings, grouped } from '../findings.js'
import { type ListedPage, missingOn } from '../page.js'
import { describeOutcome, type PageOutcome, type Session } from '../session.js'
import { findLimitChange, findOverfull, type ListedPages } from './pages.js'

/** Requests for the end of a list: the last page again if items are missing, and the one after it. */
export const maxEndRequests = 2

const unclear = 'the end of the list is unclear, by what is broken above'

/** Whether the list ends where its total says. */
export async function checkEnd(findings: Findings, session: Session, pages: ListedPages): Promise<void> {
  const { last } = pages
  const outcomes = pages.all.includes(last) ? pages.all : [...pages.all, last]
  const seen = outcomes.flatMap(({ page }) => page ?? [])
  const isBroken = findings.isBroken('page-echo') || findings.isBroken('neighbours')
  if (isBroken || findLimitChange(pages) !== undefined || findOverfull(pages) !== undefined) {
    findings.notCheckedElse(['total', 'page-beyond-end'], unclear)
    return
  }
  // A list can change between counting and reading it.
  const isShort = last.page !== undefined && missingOn(last.page) > 0
  const end = isShort ? await session.getPage({ page: last.requested.page }) : last
  checkTotal(findings, isShort ? seen.filter(page => page !== last.page) : seen, end)
  if (findings.isBroken('total')) findings.notChecked('page-beyond-end', unclear)
  else if (last.page === undefined) findings.notChecked('page-beyond-end', describeOutcome(last))
  else await checkBeyondEnd(findings, session, last.page, seen)
}

/** Whether the page that the total points at is the last, and whether each page holds as many items as its total says. */
function checkTotal(findings: Findings, seen: readonly ListedPage[], end: PageOutcome): void {
  const { page: last, verdict, requested } = end
  const observed = `page ${grouped(requested.page)}, the last by totalItems: ${describeOutcome(end)}`
  if (verdict === 'none') findings.notChecked('total', observed)
  else if (last === undefined) findings.broken('total', observed, 'Iterating fails where this happens.')
  else if (last.page !== requested.page) {
    const observed = `page ${grouped(requested.page)} was requested, page ${grouped(last.page)} returned`
    findings.broken('total', observed, 'Iterating fails there with PaginationError.')
  } else checkPages(findings, seen.includes(last) ? seen : [...seen, last], last)
}

function checkPages(findings: Findings, pages: readonly ListedPage[], last: ListedPage): void {
  const wrong = pages.find(page => missingOn(page) !== 0)
  const totals = pages.map(({ totalItems }) => totalItems)
  const drop = totals.findIndex((total, index) => index > 0 && total < (totals[index - 1] as number))
  const total = grouped(last.totalItems)
  if (drop > 0) {
    findings.broken(
      'total',
      `it fell from ${grouped(totals[drop - 1] as number)} to ${grouped(totals[drop] as number)} between two requests`,
      'If it falls while a list is iterated, that throws PaginationError. If items were removed, `verified: true` repairs it.',
    )
  } else if (wrong) {
    const { totalItems, page, limit, count } = wrong
    const expected = grouped(count + missingOn(wrong))
    reportWrong(
      findings,
      `${grouped(totalItems)}, but page ${grouped(page)} with limit ${grouped(limit)} has ${countOf(count, 'item')} instead of ${expected}`,
    )
  } else findings.ok('total', last.count < last.limit ? `${total}, as the last page shows` : total)
}

function reportWrong(findings: Findings, observed: string): void {
  const consequence =
    'Iterating can end where the total says without an error, take more requests, or throw PaginationError.'
  findings.broken('total', observed, consequence)
}

/** A page after the last: by the API specification it is a page, too, so it must be an empty one. */
async function checkBeyondEnd(
  findings: Findings,
  session: Session,
  last: ListedPage,
  seen: readonly ListedPage[],
): Promise<void> {
  const number = last.page + 1
  const outcome = await session.getPage({ page: number })
  const { page, verdict } = outcome
  const broken = (observed: string) =>
    findings.broken(
      'page-beyond-end',
      observed,
      'The client expects an empty page there: ask the owner of the service for one. Lists that start beyond their end, or end before their total, can fail or show other items.',
    )
  const isEmpty = page?.count === 0
  if (!isEmpty && last.count === last.limit) {
    const full = `page ${grouped(last.page)} is full, and no empty page was seen after it`
    findings.notChecked('total', `${grouped(last.totalItems)}: ${full}`)
  }
  if (verdict === 'none') findings.notChecked('page-beyond-end', describeOutcome(outcome))
  else if (page === undefined) broken(describeOutcome(outcome))
  else if (isEmpty) {
    if (page.page !== number) broken('empty, with the wrong page number')
    else findings.ok('page-beyond-end', 'an empty page')
  } else if (page.page !== number) {
    broken(`page ${grouped(number)} was requested, page ${grouped(page.page)} returned`)
  } else if (seen.some(({ totalItems }) => totalItems < page.totalItems)) {
    findings.notChecked('page-beyond-end', 'totalItems grew meanwhile')
  } else {
    const known = new Set(seen.flatMap(({ ids }) => ids ?? []))
    const isNew = page.ids?.every(id => !known.has(id))
    const items = `page ${grouped(number)} has ${countOf(page.count, 'item')}`
    if (isNew) reportWrong(findings, `${grouped(page.totalItems)}, but ${items}`)
    if (isNew) findings.notChecked('page-beyond-end', unclear)
    else broken(`${items}, although page ${grouped(number - 1)} is the last by totalItems`)
    if (!page.ids) findings.notChecked('total', `${items}, and not all have an id`)
  }
}
