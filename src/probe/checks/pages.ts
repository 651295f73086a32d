import type { Findings } from '../finding.js'
import { idsOf, type ListedPage, toListedPage } from '../listed-page.js'
import {
  describeOutcome,
  isOk,
  isRefused,
  isServerError,
  type Outcome,
  type PageOutcome,
  type Session,
} from '../session.js'

/** Whether each page says the number that was requested. */
export function checkPageEcho(findings: Findings, outcomes: readonly PageOutcome[]): void {
  const wrong = outcomes.find(({ requested, page }) => page && page.page !== requested.page)
  // A limit that is refused is another finding.
  const hasPageWithLimit = (limit: number | undefined) =>
    outcomes.some(({ requested, page }) => page && requested.limit === limit)
  const failed = outcomes.find(outcome => {
    return outcome.page === undefined && isRefused(outcome) && hasPageWithLimit(outcome.requested.limit)
  })
  const highest = Math.max(...outcomes.map(({ requested, page }) => (page ? requested.page : 0)))
  if (wrong) {
    findings.broken(
      'page-echo',
      `page ${wrong.requested.page} was requested, page ${wrong.page?.page} returned`,
      'Lists fail with PaginationError.',
    )
  } else if (failed) {
    const consequence = 'Iterating fails there with HttpError.'
    findings.broken('page-echo', `page ${failed.requested.page}: ${describeOutcome(failed)}`, consequence)
  } else if (highest < 2) findings.unknown('page-echo', 'the list has one page only')
  else findings.kept('page-echo', 'pages 1 and 2')
}

/** A page after the last: by the API specification it is a page, too, so it must be an empty one. */
export async function checkPageBeyondEnd(
  findings: Findings,
  session: Session,
  first: ListedPage,
): Promise<void> {
  if (findings.isBroken('page-echo') || findings.isBroken('total')) {
    findings.unknown('page-beyond-end', 'the end of the list is unclear')
    return
  }
  // Ten pages later, as the list may grow meanwhile.
  const number = Math.ceil(first.totalItems / first.limit) + 10
  const outcome = await session.getPage({ page: number })
  const { page } = outcome
  const consequence =
    'The client expects an empty page there. Lists that start beyond their end, or end before their total, fail.'
  if (page === undefined) {
    if (isRefused(outcome) || isOk(outcome)) {
      findings.broken('page-beyond-end', describeOutcome(outcome), consequence)
    } else findings.unknown('page-beyond-end', describeOutcome(outcome))
  } else if (page.data.length > 0) {
    findings.broken('page-beyond-end', 'a page with items', consequence)
  } else if (page.page !== number) {
    findings.broken('page-beyond-end', 'empty, with the wrong page number', consequence)
  } else findings.kept('page-beyond-end', 'an empty page')
}

const neverSent = 'No effect, as the client never sends this. It is a bug in the service: tell its owner.'

/** Page 0 tells services apart that count from 0. */
export async function checkPageZero(findings: Findings, session: Session, first: ListedPage): Promise<void> {
  const outcome = await session.get({ page: '0', limit: String(first.limit) })
  const zero = toListedPage(outcome.response)
  if (zero === undefined) {
    reportOddPage(findings, 'page-zero', outcome)
    return
  }
  const ids = idsOf(first)
  const isAnother = zero.data.length > 0 && ids && idsOf(zero)?.every(id => !ids.includes(id))
  if (isAnother) {
    findings.broken(
      'page-zero',
      'it holds items that are not on page 1: the first page is 0',
      'Lists begin at page 1: iterating misses the first page, and fails at the end as the total is not reached.',
    )
  } else if (zero.data.length === 0) findings.kept('page-zero', 'HTTP 200, an empty page')
  else findings.kept('page-zero', 'HTTP 200, the items of page 1')
}

export async function checkPageText(findings: Findings, session: Session): Promise<void> {
  reportOddPage(findings, 'page-text', await session.get({ page: 'abc' }))
}

function reportOddPage(findings: Findings, id: 'page-zero' | 'page-text', outcome: Outcome): void {
  if (isServerError(outcome)) findings.broken(id, describeOutcome(outcome), neverSent)
  else if (isRefused(outcome) || isOk(outcome)) findings.kept(id, describeOutcome(outcome))
  else findings.unknown(id, describeOutcome(outcome))
}
