import { escapeNonAscii } from '../internal/describe.js'
import { type Bodies, checkBodies, checkEnvelope } from './checks/bodies.js'
import { checkConnection, checkWrongKey } from './checks/connection.js'
import { checkNeighbours, checkOrder, checkTotal } from './checks/consistency.js'
import { checkCors } from './checks/cors.js'
import { checkHeaders, isThrottled } from './checks/headers.js'
import { checkDefaultLimit, checkLimitEcho, checkMaxLimit, maxLimitRequests } from './checks/limits.js'
import { checkPageBeyondEnd, checkPageEcho, checkPageText, checkPageZero } from './checks/pages.js'
import { checkWrites, maxWrites, writeFindings } from './checks/writes.js'
import { Findings, type ProbeFinding } from './finding.js'
import { type ProbeOptions, readProbeOptions } from './options.js'
import { type ProbeReport, Report } from './report.js'
import { isOk, maxThrottledRetries, type PageOutcome, Session } from './session.js'
import { suggestOptions } from './suggestions.js'

// Page 1 twice, page 2, both with a small limit, beyond the end, page 0, text as page, a wrong key.
const maxReads = 9 + maxLimitRequests
const maxCorsRequests = 2

// A header can be of any length.
const maxTextLength = 600

/**
 * Checks whether a service conforms to the API specification, and suggests client options.
 *
 * Sends few requests, one at a time and at most four a second: 21 at most, 2 more with `origin`, and 5 more with `account`.
 * Nothing is written without `account`. The report names fields and types; it never shows the values in a record or the API
 * key.
 *
 * @throws TypeError for an unknown or wrong option. Nothing the service does makes it reject: failures are reported.
 * @example
 * ```ts
 * const report = await probe({ baseUrl: 'https://api.example.com', apiKey: process.env.API_KEY ?? '' })
 * console.log(String(report))
 * ```
 */
export async function probe(given: ProbeOptions): Promise<ProbeReport> {
  const options = readProbeOptions(given)
  const { origin, account } = options
  const maxRequests =
    maxReads + maxThrottledRetries + (origin === undefined ? 0 : maxCorsRequests) + (account ? maxWrites : 0)
  const session = new Session(options, maxRequests)
  const findings = new Findings()

  const first = await session.getPage()
  checkConnection(findings, options, first)
  const { bodies, maxLimit } = await checkLists(findings, session, options, first)
  if (isOk(first)) {
    await checkCors(findings, session, origin)
    if (account !== undefined) await checkWrites(findings, session, account)
  }
  checkHeaders(findings, session)
  session.end()
  if (account === undefined) {
    for (const id of writeFindings) findings.unknown(id, 'read-only: no account was named')
  }
  const reason = findings.isBroken('reachable') ? 'not reached' : 'no page to check'

  const suggested = bodies ? suggestOptions(maxLimit, bodies, session.responses.some(isThrottled)) : {}
  const all = findings.all(reason).map(finding => toAscii(finding, session))
  return new Report(all, suggested, session.requests, bodies && withoutKey(bodies, session))
}

async function checkLists(
  findings: Findings,
  session: Session,
  options: ProbeOptions,
  first: PageOutcome,
): Promise<{ bodies?: Bodies; maxLimit?: number | undefined }> {
  if (first.page === undefined) {
    checkEnvelope(findings, [first])
    if (isOk(first)) await checkWrongKey(findings, session, options)
    return {}
  }
  const { page } = first
  const firstAgain = await session.getPage()
  const hasSecond = page.totalItems > page.limit
  const second = hasSecond ? await session.getPage({ page: 2 }) : undefined
  const limit = page.totalItems < 4 ? 1 : 2
  const small = await session.getPage({ limit })
  const smallSecond = await session.getPage({ page: 2, limit })
  const outcomes = [first, firstAgain, ...(second ? [second] : []), small, smallSecond]
  const pages = { first, firstAgain, second, small, smallSecond }

  checkEnvelope(findings, outcomes)
  const bodies = checkBodies(findings, outcomes)
  checkPageEcho(findings, page.totalItems > 1 ? outcomes : outcomes.slice(0, 2))
  checkLimitEcho(findings, first, small, outcomes)
  checkDefaultLimit(findings, page)
  checkTotal(findings, outcomes)
  checkOrder(findings, pages)
  checkNeighbours(findings, pages)
  await checkPageBeyondEnd(findings, session, page)
  await checkPageZero(findings, session, page)
  await checkPageText(findings, session)
  await checkWrongKey(findings, session, options)
  const maxLimit = await checkMaxLimit(findings, session, page)
  return { bodies, maxLimit }
}

/** Names and headers are the service's: they may hold terminal codes, or the key. */
function toAscii(finding: ProbeFinding, { redactor }: Session): ProbeFinding {
  const shown = (text: string) => escapeNonAscii(redactor.text(text)).slice(0, maxTextLength)
  const { observed, consequence } = finding
  return {
    ...finding,
    observed: shown(observed),
    ...(consequence === undefined ? {} : { consequence: shown(consequence) }),
  }
}

/** A service may echo the key anywhere, as the name of a field, too. */
function withoutKey(bodies: Bodies, { redactor }: Session): Bodies {
  return { ...bodies, fields: bodies.fields.filter(({ name }) => redactor.text(name) === name) }
}
