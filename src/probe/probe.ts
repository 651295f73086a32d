import type { Client } from '../client.js'
import type { VirtualAccountRef } from '../resources/virtual-accounts.js'
import { checkConnection, checkEnvelope, checkWrongKey } from './checks/connection.js'
import { checkCors, maxCorsRequests } from './checks/cors.js'
import { checkEnd, checkTotals, maxEndRequests } from './checks/end.js'
import { checkItems } from './checks/items.js'
import {
  checkLimitEcho,
  checkMaxLimit,
  maxLimitRequests,
  readFirstAgain,
  readLargerPages,
} from './checks/limits.js'
import { checkPageEcho, checkPageZero, type ListedPages, pageZeroOf, unreliable } from './checks/pages.js'
import { checkNeighbours, checkOrder } from './checks/places.js'
import { checkResponses } from './checks/responses.js'
import { checkWrites, maxWrites, writeFindings } from './checks/writes.js'
import { Findings } from './findings.js'
import { type ProbeOptions, readProbeOptions } from './options.js'
import { isDocumented, lastPageNumber } from './page.js'
import { createReport, type ProbeReport } from './report.js'
import { maxRepeats, type PageOutcome, Session } from './session.js'
import { toZod } from './shape.js'

// Page 1 three times, page 2, both with a small limit, the last page, page 0, a wrong key.
const maxReads = 9 + maxEndRequests + maxLimitRequests + maxRepeats

const noOrigin = 'no origin was given (--origin)'
const noAccount = 'no account to write to was given (--customer-id, --virtual-account-id and --write)'

const needsPageOne = ['neighbours', 'total', 'page-beyond-end', 'max-limit'] as const

/**
 * Checks whether a service conforms to the API specification, and suggests client options.
 *
 * Sends few requests, one at a time and at most four a second: 20 at most, 2 more with `origin`, and 6 more with `account`.
 * After four minutes it stops checking, and reports what it has found. Nothing is written without `account`. The report names
 * fields and types; it never shows the values in a record, or an API key of 8 characters or more.
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
  const maxRequests = maxReads + (origin === undefined ? 0 : maxCorsRequests) + (account ? maxWrites : 0)
  const session = new Session(options, '/transactions', maxRequests)
  if (account !== undefined) await assertAccount(session.client, account)
  const findings = new Findings(text => session.redact(text))

  const isListed = await checkLists(findings, session, options)
  if (origin === undefined) findings.notChecked('cors', noOrigin)
  else if (isListed) await checkCors(findings, session, options, origin)
  if (account === undefined) findings.notCheckedElse(writeFindings, noAccount)
  else if (isListed) await checkWrites(findings, session, account)
  // Last, as some gateways then refuse what follows.
  if (session.reads[0]?.verdict === 'ok') await checkWrongKey(findings, session, options)
  if (isListed) checkResponses(findings, session)

  const data = {
    findings: findings.all('no page of transactions could be read'),
    suggestedOptions: findings.suggested,
    requests: session.requests,
  }
  const { sample } = session
  const isRefused = findings.isBroken('items') || findings.isBroken('digits')
  const advice = {
    baseUrl: session.redact(String(options.baseUrl)),
    hasKey: options.apiKey !== null,
    allowInsecureHttp: options.allowInsecureHttp === true,
    retryAfterMs: session.retryAfterMs,
    schema: isRefused ? toZod(sample.item, '', isDocumented) : undefined,
  }
  return createReport(data, advice, isListed)
}

/** The client checks it, and sends nothing, as its signal is aborted. */
async function assertAccount({ virtualAccounts }: Client, account: VirtualAccountRef): Promise<void> {
  const reason = new Error('not to be sent')
  const signal = AbortSignal.abort(reason)
  await virtualAccounts.deactivate(account, { signal }).catch(error => {
    if (error !== reason) throw error
  })
}

/** What all pages together show, those with larger limits and those at the end of the list, too. */
function checkWhole(findings: Findings, reads: readonly PageOutcome[], pages: ListedPages): void {
  // An empty page beyond the end may have any limit; larger limits have a finding of their own.
  const isOfEnd = ({ page, requested }: PageOutcome) => requested.limit === undefined && page?.count !== 0
  const ofDefault = reads.filter(read => pages.all.includes(read) || isOfEnd(read))
  checkPageEcho(findings, pages)
  checkLimitEcho(findings, ofDefault, pages)
  checkOrder(findings, reads, pages)
  checkNeighbours(findings, reads)
  if (findings.isBroken('neighbours') || findings.isBroken('total')) delete findings.suggested.limit
}

/** Whether there was a page of transactions. */
async function checkLists(findings: Findings, session: Session, options: ProbeOptions): Promise<boolean> {
  const first = await session.getPage()
  checkConnection(findings, options, first)
  const { page } = first
  if (page === undefined) {
    checkEnvelope(findings, options, [first])
    return false
  }
  const again = await session.getPage()
  const zero = await session.get({ page: '0' })
  const second = page.totalItems > page.limit ? await session.getPage({ page: 2 }) : undefined
  const limit = page.totalItems < 4 ? 1 : 2
  const small = await session.getPage({ limit })
  const hasSmallSecond = small.page && page.totalItems > small.page.limit
  const smallSecond = hasSmallSecond ? await session.getPage({ page: 2, limit }) : undefined
  const number = lastPageNumber(page, page.limit)
  const known = [first, again, second].findLast(outcome => outcome?.page?.page === number)
  const last = known ?? (await session.getPage({ page: number }))
  // Page 0 may be newer than page 1.
  if (page.count === 0 && pageZeroOf(zero)?.count) await session.getPage()
  const all = [...session.reads]
  const pages: ListedPages = { first: { ...first, page }, again, zero, second, small, smallSecond, last, all }

  checkPageEcho(findings, pages)
  checkLimitEcho(findings, all, pages)
  checkOrder(findings, session.reads, pages)
  checkPageZero(findings, pages)
  if (findings.isBroken('page-zero')) findings.notCheckedElse(needsPageOne, 'pages are counted from 0')
  else {
    checkNeighbours(findings, session.reads)
    await checkEnd(findings, session, pages)
    const larger = await readLargerPages(findings, session, pages)
    await readFirstAgain(session, pages)
    checkTotals(findings, session.reads, pages)
    if (larger) checkMaxLimit(findings, pages, larger)
    else findings.notChecked('max-limit', unreliable)
    checkWhole(findings, session.reads, pages)
  }
  checkEnvelope(findings, options, all)
  checkItems(findings, session.sample)
  return true
}
