import type { Findings } from '../finding.js'
import type { ListedPage } from '../listed-page.js'
import {
  describeOutcome,
  isOk,
  isRefused,
  isServerError,
  type PageOutcome,
  type Session,
} from '../session.js'

/** Requests that the search for the largest limit takes at most. */
export const maxLimitRequests = 9

const largestTried = 1_000
const customary = [10, 20, 25, 50, 100, 200, 250, 500]

/** A small limit is obeyed and echoed, and no page holds more than its limit. */
export function checkLimitEcho(
  findings: Findings,
  first: PageOutcome,
  small: PageOutcome,
  others: readonly PageOutcome[],
): void {
  const full = [first, small, ...others].find(({ page }) => page && page.data.length > page.limit)
  const asked = small.requested.limit
  const consequence = 'Lists fail with PaginationError.'
  if (full) {
    const observed = `${full.page?.data.length} items on a page with limit ${full.page?.limit}`
    findings.broken('limit-echo', observed, consequence)
  } else if (small.page === undefined) {
    const observed = `limit ${asked}: ${describeOutcome(small)}`
    if (isRefused(small)) findings.broken('limit-echo', observed, 'Lists with such a limit fail.')
    else findings.unknown('limit-echo', observed)
  } else if (small.page.limit !== asked) {
    findings.broken(
      'limit-echo',
      `limit ${asked} was requested, limit ${small.page.limit} returned`,
      'The limit in the response takes precedence. `maxItems` loads more than it needs, and `verified` lists fail.',
    )
  } else findings.kept('limit-echo', `limit ${asked}`)
}

export function checkDefaultLimit(findings: Findings, page: ListedPage): void {
  findings.kept('default-limit', String(page.limit))
}

/** The largest limit, by bisection; `undefined` if it could not be found. */
export async function checkMaxLimit(
  findings: Findings,
  session: Session,
  first: ListedPage,
): Promise<number | undefined> {
  if (findings.isBroken('limit-echo')) {
    findings.unknown('max-limit', 'limits are not obeyed')
    return undefined
  }
  if (first.limit >= largestTried) {
    findings.kept('max-limit', `at least ${first.limit}, the default`)
    return first.limit
  }
  let accepted = first.limit
  let refused = largestTried + 1
  let refusal: PageOutcome | undefined
  for (let requests = 0; requests < maxLimitRequests && accepted + 1 < refused; requests++) {
    const limit = refusal === undefined ? largestTried : limitBetween(accepted, refused)
    const outcome = await session.getPage({ limit })
    const { page } = outcome
    if (page && page.limit < limit) {
      findings.kept(
        'max-limit',
        `${page.limit}: a larger one is lowered`,
        'The limit in the response takes precedence.',
      )
      return page.limit
    }
    if (page && page.data.length < Math.min(limit, page.totalItems)) {
      findings.broken(
        'max-limit',
        `limit ${limit} returned, but ${page.data.length} of ${page.totalItems} items`,
        'The number of pages cannot be told from the first one: iterating fetches them one after another.',
      )
      return accepted
    }
    if (page) accepted = limit
    else if (isRefused(outcome)) {
      refusal = outcome
      refused = limit
    } else {
      const reason = isOk(outcome) ? 'the response is too large or not valid' : describeOutcome(outcome)
      findings.unknown('max-limit', `at least ${accepted}; at ${limit} ${reason}`)
      return accepted
    }
  }
  reportMaxLimit(findings, accepted, refused, refusal)
  return accepted
}

function reportMaxLimit(
  findings: Findings,
  accepted: number,
  refused: number,
  refusal: PageOutcome | undefined,
): void {
  if (refusal === undefined) {
    findings.kept('max-limit', `at least ${accepted}`)
    return
  }
  const largest = accepted + 1 === refused ? `${accepted}` : `from ${accepted} to ${refused - 1}`
  const observed = `${largest}: ${refused} gets ${describeOutcome(refusal)}`
  if (isServerError(refusal)) {
    findings.broken('max-limit', observed, 'A larger limit looks like an outage, and is retried.')
  } else findings.kept('max-limit', observed, 'A larger limit fails with HttpError.')
}

/** A customary limit where there is one, then the next number, then the middle. */
function limitBetween(accepted: number, refused: number): number {
  const candidates = customary.filter(limit => limit > accepted && limit < refused)
  const candidate = candidates[Math.floor(candidates.length / 2)]
  if (candidate !== undefined) return candidate
  return customary.includes(accepted) ? accepted + 1 : Math.floor((accepted + refused) / 2)
}
