import { countOf, type Findings, grouped } from '../findings.js'
import { type ListedPage, missingOn } from '../page.js'
import { describeOutcome, type PageOutcome, type Session } from '../session.js'
import { findLimitChange, type ListedPages } from './pages.js'

/** Requests for the end of a list: the last page again if items are missing, and the one after it. */
export const maxEndRequests = 2

const unclear = 'the end of the list is unclear'

/** Whether the list ends where its total says. */
export async function checkEnd(findings: Findings, session: Session, pages: ListedPages): Promise<void> {
  const { last } = pages
  const outcomes = pages.all.includes(last) ? pages.all : [...pages.all, last]
  const seen = outcomes.flatMap(({ page }) => page ?? [])
  const isOverfull = seen.some(({ count, limit }) => count > limit)
  const isUnclear =
    findings.isBroken('page-echo') || findings.isBroken('neighbours') || findLimitChange(pages) !== undefined
  if (isUnclear || isOverfull) {
    findings.notCheckedElse(['total', 'page-beyond-end'], unclear)
    return
  }
  checkSeenTotals(findings, seen)
  if (!findings.isBroken('total')) await checkLastPage(findings, session, last)
  if (findings.isBroken('total')) findings.notChecked('page-beyond-end', unclear)
  else await checkBeyondEnd(findings, session, last)
}

/** What the totals of the pages say that are known anyway. */
function checkSeenTotals(findings: Findings, pages: readonly ListedPage[]): void {
  const tooLow = pages.find(page => page.count > 0 && endOf(page) > page.totalItems)
  const totals = pages.map(({ totalItems }) => totalItems)
  const drop = totals.findIndex((total, index) => index > 0 && total < (totals[index - 1] as number))
  if (tooLow) {
    const { totalItems, page } = tooLow
    reportTooLow(
      findings,
      `${grouped(totalItems)}, but page ${grouped(page)} ends at item ${grouped(endOf(tooLow))}`,
    )
  } else if (drop > 0) {
    findings.broken(
      'total',
      `it fell from ${grouped(totals[drop - 1] as number)} to ${grouped(totals[drop] as number)} between two requests`,
      'If it falls while a list is iterated, that throws PaginationError. If items were removed, `verified: true` repairs it.',
    )
  } else findings.ok('total', `${grouped(totals.at(-1) as number)}, as the last page shows`)
}

function reportTooLow(findings: Findings, observed: string): void {
  const consequence = 'Iterating may end where the total says, without an error, although more items follow.'
  findings.broken('total', observed, consequence)
}

/** The page that the total points at must hold the items that are left for it. */
async function checkLastPage(findings: Findings, session: Session, last: PageOutcome): Promise<void> {
  const { page: number } = last.requested
  // A list can change between counting and reading it.
  const outcome = last.page && missingOn(last.page) > 0 ? await session.getPage({ page: number }) : last
  const { page, verdict } = outcome
  const observed = `page ${grouped(number)}, the last by totalItems: ${describeOutcome(outcome)}`
  if (verdict === 'none') findings.notChecked('total', observed)
  else if (page === undefined) findings.broken('total', observed, 'Iterating fails there.')
  else if (page.page !== number) {
    const consequence = 'Iterating fails there with PaginationError.'
    findings.broken(
      'total',
      `page ${grouped(number)} was requested, page ${grouped(page.page)} returned`,
      consequence,
    )
  } else if (missingOn(page) > 0) {
    const expected = page.count + missingOn(page)
    findings.broken(
      'total',
      `${grouped(page.totalItems)}, but page ${grouped(number)} has ${countOf(page.count, 'item')} instead of ${grouped(expected)}`,
      'Iterating throws PaginationError at the end if items are missing.',
    )
  } else if (endOf(page) > page.totalItems) {
    reportTooLow(findings, `${page.totalItems}, but page ${number} ends at item ${endOf(page)}`)
  }
}

/** A page after the last: by the API specification it is a page, too, so it must be an empty one. */
async function checkBeyondEnd(findings: Findings, session: Session, last: PageOutcome): Promise<void> {
  const number = last.requested.page + 1
  const outcome = await session.getPage({ page: number })
  const { page, verdict } = outcome
  const broken = (observed: string) =>
    findings.broken(
      'page-beyond-end',
      observed,
      'The client expects an empty page there. Lists that start beyond their end, or end before their total, can fail or show other items.',
    )
  if (verdict === 'none') findings.notChecked('page-beyond-end', describeOutcome(outcome))
  else if (page === undefined) broken(describeOutcome(outcome))
  else if (page.count === 0) {
    if (page.page !== number) broken('empty, with the wrong page number')
    else findings.ok('page-beyond-end', 'an empty page')
  } else if (page.page !== number) {
    broken(`page ${grouped(number)} was requested, page ${grouped(page.page)} returned`)
  } else if (page.totalItems >= endOf(page)) {
    findings.notChecked('page-beyond-end', 'the list grew meanwhile')
  } else {
    const lastIds = new Set(last.page?.ids)
    const isNew = page.page === number && page.ids?.some(id => !lastIds.has(id))
    const items = `page ${grouped(number)} has ${countOf(page.count, 'item')}`
    if (isNew) reportTooLow(findings, `${grouped(page.totalItems)}, but ${items}`)
    if (isNew) findings.notChecked('page-beyond-end', unclear)
    else broken(`${items}, although page ${grouped(number - 1)} is the last by totalItems`)
  }
}

/** Position of the last item of a page in its list. */
function endOf({ page, limit, count }: ListedPage): number {
  return (page - 1) * limit + count
}
