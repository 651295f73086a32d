import { countOf, type Findings, grouped } from '../findings.js'
import { isContradictory, isOverfull, type List, unclear, usablePage, whyIncomparable } from '../list.js'
import { type ListedPage, missingOn, nameOf } from '../page.js'
import { describeOutcome } from '../session.js'

/** Whether the total counts the list: each page says the same, holds as many items as it says, and the last is the last. */
export function checkTotal(findings: Findings, list: List): void {
  const { first, last, beyond, larger } = list
  const total = grouped(first.page.totalItems)
  const number = grouped(last.requested.page)
  const why = findings.isBroken('neighbours') ? unclear : whyIncomparable(list)
  const wrong = why ? undefined : findWrong(list)
  // It is too high, or a large limit is not obeyed.
  const short = larger.find(read => isContradictory(read, list))?.page
  if (!last.page && last.verdict !== 'none') {
    const refused = `page ${number}, the last by totalItems: ${describeOutcome(last)}`
    const observed = wrong ? `${wrong}; ${refused}` : refused
    findings.broken('total', observed, 'Iterating with the default limit fails if this lasts.')
  } else if (why) findings.notChecked('total', why)
  else if (wrong) {
    const consequence =
      'Iterating can end where the total says without an error, take more requests, or fail.'
    findings.broken('total', wrong, consequence)
  } else if (!last.page) findings.notChecked('total', describeOutcome(last))
  else if (short) findings.notChecked('total', describeWrong(short, first.page))
  else if (first.page.totalItems === 0) findings.ok('total', total)
  else if (last.page.count < last.page.limit) findings.ok('total', `${total}, as the last page shows`)
  else if (usablePage(beyond)?.count === 0)
    findings.ok('total', `${total}, as the page after the last is empty`)
  else {
    const next = grouped(last.requested.page + 1)
    findings.notChecked('total', `${total}: page ${number} is full, and no empty page ${next} was seen`)
  }
}

/** What shows that a total is not that of the list. */
function findWrong(list: List): string | undefined {
  const { first, beyond, own, larger } = list
  const page = own.find(read => isContradictory(read, list))?.page
  if (page) return describeWrong(page, first.page)
  const after = usablePage(beyond)
  if (after && after.totalItems !== first.page.totalItems) return describeWrong(after, first.page)
  const tooFull = larger.find(read => read.page && missingOn(read.page) < 0 && !isOverfull(read))?.page
  if (tooFull) return describeWrong(tooFull, first.page)
  const known = new Set([...own, ...larger].flatMap(read => read.page?.ids ?? []))
  if (!after?.ids?.length || after.ids.some(id => known.has(id))) return undefined
  const items = `${countOf(after.count, 'item')} that no other page had`
  return `${grouped(after.totalItems)}, but ${nameOf(after)} has ${items}`
}

function describeWrong(page: ListedPage, first: ListedPage): string {
  const { totalItems, count } = page
  const total = grouped(totalItems)
  if (totalItems !== first.totalItems)
    return `${total} on ${nameOf(page)}, but ${grouped(first.totalItems)} on ${nameOf(first)}`
  const expected = grouped(count + missingOn(page))
  return `${total}, but ${nameOf(page)} has ${countOf(count, 'item')} instead of ${expected}`
}

/** A page after the last: by the API specification it is a page, too, so it must be an empty one. */
export function checkBeyondEnd(findings: Findings, list: List): void {
  const { page, verdict, requested } = list.beyond
  const number = grouped(requested.page)
  const why = whyIncomparable(list)
  const broken = (observed: string) =>
    findings.broken(
      'page-beyond-end',
      observed,
      'The client expects an empty page of that number there. If this lasts, ask the owner of the service for one, or for a larger totalItems if the list goes on: lists that read beyond their end can fail or show other items.',
    )
  if (verdict === 'none') findings.notChecked('page-beyond-end', describeOutcome(list.beyond))
  else if (why === unclear) findings.notChecked('page-beyond-end', unclear)
  else if (page && page.page !== requested.page)
    broken(`page ${number} was requested, page ${grouped(page.page)} returned`)
  // A refusal is wrong whatever the total, unless the page before it is refused, too.
  else if ((page || !list.last.page) && (findings.isBroken('total') || findings.isBroken('neighbours')))
    findings.notChecked('page-beyond-end', unclear)
  else if (page === undefined) broken(describeOutcome(list.beyond))
  else if (why) findings.notChecked('page-beyond-end', why)
  else if (page.count === 0) findings.ok('page-beyond-end', 'an empty page')
  else {
    const last = grouped(requested.page - 1)
    broken(
      `page ${number} has ${countOf(page.count, 'item')}, although page ${last} is the last by totalItems`,
    )
  }
}
