import type { Client } from '../client.js'
import type { VirtualAccountRef } from '../resources/virtual-accounts.js'
import { checkConnection, checkEnvelope, checkWrongKey } from './checks/connection.js'
import { checkCors, maxCorsRequests } from './checks/cors.js'
import { checkBeyondEnd, checkTotal } from './checks/end.js'
import { checkItems } from './checks/items.js'
import { checkLimitEcho, checkMaxLimit } from './checks/limits.js'
import { checkPageEcho, checkPageZero } from './checks/pages.js'
import { checkNeighbours, checkOrder } from './checks/places.js'
import { checkResponses } from './checks/responses.js'
import { checkWrites, maxWrites, writeFindings } from './checks/writes.js'
import { Findings } from './findings.js'
import { maxListRequests, readList } from './list.js'
import { type ProbeOptions, readProbeOptions } from './options.js'
import { isDocumented } from './page.js'
import { createReport, type ProbeReport } from './report.js'
import { describeOutcome, maxRepeats, type PageOutcome, Session } from './session.js'
import { toZod } from './shape.js'

// One has a wrong key.
const maxReads = maxListRequests + 1 + maxRepeats

const noOrigin = 'no origin was given (--origin)'
const noAccount = 'no account to write to was given (--customer-id, --virtual-account-id and --write)'

const needsPageOne = ['neighbours', 'total', 'page-beyond-end', 'max-limit'] as const

const ofRefusals = ['limit-echo', 'page-zero', 'page-beyond-end', 'max-limit'] as const

/**
 * Checks whether a service conforms to the API specification, and suggests client options.
 *
 * Sends few requests, one at a time and at most four a second: 18 at most, 2 more with `origin`, and 6 more with `account`.
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
  // Where page 1 is refused by now, a refusal says nothing about an origin or a key.
  const newest = session.reads.at(-1)
  const isReadable = newest?.page !== undefined
  if (newest && isListed && !isReadable) {
    findings.notCheckedElse(['cors', 'wrong-key'], notReadAgain(newest))
  }
  if (origin !== undefined && isReadable) await checkCors(findings, session, options, origin)
  if (account === undefined) findings.notCheckedElse(writeFindings, noAccount)
  else if (isListed) await checkWrites(findings, session, account)
  // Last, as some gateways then refuse what follows.
  if (isReadable) await checkWrongKey(findings, session, options)
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

function notReadAgain(again: PageOutcome): string {
  return `page 1 could not be read again: ${describeOutcome(again)}`
}

/** The client checks it, and sends nothing, as its signal is aborted. */
async function assertAccount({ virtualAccounts }: Client, account: VirtualAccountRef): Promise<void> {
  const reason = new Error('not to be sent')
  const signal = AbortSignal.abort(reason)
  await virtualAccounts.deactivate(account, { signal }).catch(error => {
    if (error !== reason) throw error
  })
}

/** Whether there was a page of transactions. */
async function checkLists(findings: Findings, session: Session, options: ProbeOptions): Promise<boolean> {
  const read = await session.getPage()
  checkConnection(findings, options, read)
  checkEnvelope(findings, options, read)
  const { page } = read
  if (page === undefined) return false
  const list = await readList(session, { ...read, page })
  checkPageEcho(findings, list)
  checkOrder(findings, list)
  // By then anything may be refused, whatever its page or limit.
  const isRefused = !list.again.page && list.again.verdict !== 'none'
  if (isRefused) findings.notCheckedElse(ofRefusals, notReadAgain(list.again))
  else {
    checkLimitEcho(findings, list)
    checkPageZero(findings, list)
  }
  if (findings.isBroken('page-zero')) findings.notCheckedElse(needsPageOne, 'pages are counted from 0')
  else {
    checkNeighbours(findings, list)
    checkTotal(findings, list)
    if (!isRefused) {
      checkBeyondEnd(findings, list)
      checkMaxLimit(findings, list)
    }
  }
  checkItems(findings, session.sample)
  return true
}
