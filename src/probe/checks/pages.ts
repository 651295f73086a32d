import { type Findings, grouped } from '../findings.js'
import { findChange, isMisnumbered, type List } from '../list.js'
import { toListedPage } from '../page.js'
import { describeOutcome, type ListOutcome } from '../session.js'

/** Whether each page says the number that was requested. */
export function checkPageEcho(findings: Findings, { first, second, smallSecond, again, own }: List): void {
  const wrong = own.find(isMisnumbered)
  const two = second ?? smallSecond
  const failed = [second, again].find(read => read && !read.page && read.verdict !== 'none')
  if (wrong?.page) {
    const { requested, page } = wrong
    const observed = `page ${grouped(requested.page)} was requested, page ${grouped(page.page)} returned`
    findings.broken('page-echo', observed, 'Such a page is a PaginationError.')
  } else if (failed) {
    const observed = `page ${failed.requested.page}: ${describeOutcome(failed)}`
    findings.broken('page-echo', observed, 'Iterating fails if this lasts.')
  } else if (two === undefined) {
    const { page } = first
    findings.notChecked(
      'page-echo',
      `by totalItems (${grouped(page.totalItems)}), the list has one page only`,
    )
  } else if (two.page) findings.ok('page-echo', 'pages 1 and 2 have the numbers requested')
  else findings.notChecked('page-echo', describeOutcome(two))
}

/** Page 0 tells services apart that count from 0: its items are then on page 1 with a smaller limit. */
export function checkPageZero(findings: Findings, list: List): void {
  const { zero, small, first, again } = list
  const one = first.page
  const page = pageZeroOf(zero)
  const change = findChange(list)
  if (zero.verdict === 'none') findings.notChecked('page-zero', describeOutcome(zero))
  else if (!page) findings.ok('page-zero', `page 0 gets ${describeOutcome(zero)}`)
  else if (change) findings.notChecked('page-zero', change)
  else if (page.count === 0)
    if (one.count === 0) findings.notChecked('page-zero', 'page 1 is empty, too')
    else findings.ok('page-zero', 'page 0 is empty')
  else if (!page.ids || !one.ids) findings.notChecked('page-zero', 'not all ids are strings or numbers')
  else if (page.ids.some(id => one.ids?.includes(id))) findings.ok('page-zero', 'page 0 has items of page 1')
  else if (!again.page) findings.notChecked('page-zero', describeOutcome(again))
  else if (again.page.ids?.join() !== one.ids.join())
    findings.notChecked('page-zero', 'page 1 was not the same when it was read again')
  else {
    // A smaller page 1 is then the second one of its size on page 0.
    const isBefore = small.page?.count
      ? page.ids.indexOf(small.page.ids?.[0] ?? '') === small.page.limit
      : one.count === 0
    if (isBefore) {
      findings.broken(
        'page-zero',
        'page 0 has items that come before those of page 1: pages are counted from 0',
        'The client begins at page 1: iterating misses the first page. Ask the owner of the service to count pages from 1; until then read each page with `client.request`.',
      )
    } else
      findings.notChecked('page-zero', 'page 0 has items that are not on page 1: it may be the first page')
  }
}

/** Page 0, whose number may be 0; `undefined` if there is none. */
function pageZeroOf({ verdict, data }: ListOutcome) {
  const isPage = verdict === 'ok' && Array.isArray((data as { data?: unknown } | null | undefined)?.data)
  return isPage ? toListedPage(data) : undefined
}
