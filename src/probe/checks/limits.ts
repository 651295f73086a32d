import { countOf, type Findings, grouped } from '../findings.js'
import type { ListedPage } from '../page.js'
import { describeOutcome, type Session } from '../session.js'
import type { ListedPages } from './pages.js'

const tried = [1_000, 500, 200, 100, 50]
const maxPageBytes = 1024 * 1024

/** Requests that the search for the largest limit takes at most. */
export const maxLimitRequests: number = tried.length

/** A small limit is obeyed and echoed, and no page holds more than its limit. */
export function checkLimitEcho(findings: Findings, { first, small, all }: ListedPages): void {
  const full = all.find(({ page }) => page && page.count > page.limit)?.page
  const { limit } = small.requested
  const observed = describeOutcome(small)
  if (full) {
    const observed = `${countOf(full.count, 'item')} on a page with limit ${grouped(full.limit)}`
    findings.broken('limit-echo', observed, 'Lists fail with PaginationError.')
  } else if (small.verdict === 'none') findings.notChecked('limit-echo', observed)
  else if (small.page === undefined) {
    findings.broken('limit-echo', `limit ${limit}: ${observed}`, 'Lists with such a limit fail.')
  } else if (small.page.limit !== limit) {
    findings.broken(
      'limit-echo',
      `limit ${limit} was requested, limit ${grouped(small.page.limit)} returned`,
      'The limit in the response takes precedence. `maxItems` can load more than it needs, and `verified` lists can fail.',
    )
  } else findings.ok('limit-echo', `${limit} is obeyed; the default is ${grouped(first.page.limit)}`)
}

/** The largest of some customary limits. */
export async function checkMaxLimit(findings: Findings, session: Session, first: ListedPage): Promise<void> {
  if (findings.isBroken('limit-echo')) {
    findings.notChecked('max-limit', 'limits are not obeyed')
    return
  }
  const largest = await findMaxLimit(findings, session, first.limit)
  const fitting = Math.floor(maxPageBytes / Math.max(1, session.sample.itemBytes))
  findings.suggested.limit = Math.max(1, Math.min(largest, fitting))
}

async function findMaxLimit(findings: Findings, session: Session, known: number): Promise<number> {
  let refusal = ''
  let isFailure = false
  for (const limit of tried.filter(limit => limit > known)) {
    const outcome = await session.getPage({ limit })
    const { verdict, page, error } = outcome
    if (page) {
      if (page.limit < limit && page.limit <= known) {
        // Perhaps its default, and a limit between is obeyed.
        refusal = `; ${grouped(limit)} is lowered to ${grouped(page.limit)}`
        continue
      }
      if (page.limit < limit) {
        const consequence = 'The limit in the response takes precedence.'
        findings.ok('max-limit', `${grouped(page.limit)}: a larger one is lowered`, consequence)
      } else if (page.count < Math.min(limit, page.totalItems)) {
        findings.broken(
          'max-limit',
          `limit ${grouped(limit)} returned, but ${grouped(page.count)} of ${grouped(page.totalItems)} items`,
          'How many pages there are cannot be told from the first one. Iterating takes more requests, or throws PaginationError.',
        )
        return known
      } else report(limit)
      return page.limit
    }
    if (verdict === 'none' && error?.kind !== 'timeout') {
      findings.notChecked('max-limit', describeOutcome(outcome))
      return known
    }
    refusal = `; ${grouped(limit)} gets ${describeOutcome(outcome)}`
    isFailure = verdict === 'failed'
  }
  report(known)
  return known

  function report(accepted: number): void {
    const observed = `at least ${grouped(accepted)}${refusal}`
    if (!isFailure) findings.ok('max-limit', observed)
    else findings.broken('max-limit', observed, 'A larger limit looks like an outage, and calls are retried.')
  }
}
