import { Client, type ClientOptions, type Page, type VirtualAccountRef } from '../index.js'
import { assertObject } from '../internal/arguments.js'
import { wrongArgument } from '../internal/describe.js'
import { encodePathSegment } from '../internal/url.js'
import {
  changed,
  checkBeyondEnd,
  checkFirst,
  checkGrowth,
  checkIds,
  checkItems,
  checkLargestLimit,
  checkPageNumbers,
  checkSmallerLimits,
  checkTotal,
  comparePages,
} from './checks.js'
import { checkCors } from './cors.js'
import { type Finding, findingIds, notChecked } from './finding.js'
import { outOfTime, readList, readPage, readPageZero, type Source, TimeLimitError } from './read.js'
import { ProbeReport } from './report.js'
import { checkWrites } from './writes.js'

/** Options of {@link probe}. It also takes the options of the client. */
export interface ProbeOptions extends Omit<ClientOptions, 'apiKey'> {
  /** API key, or `null` to send none. */
  apiKey: string | null | undefined
  /**
   * A test account. The probe deactivates it twice with the same idempotency key. Then it reactivates it, even after an abort.
   * @defaultValue none: the probe writes nothing
   */
  account?: VirtualAccountRef | undefined
  /**
   * Origin of a web page, such as `https://app.example.com`. The probe checks whether it may list transactions (CORS).
   * @defaultValue none: the probe does not check CORS
   */
  origin?: string | undefined
  /** Aborts the probe. It rejects with the signal's reason once the account is reactivated. */
  signal?: AbortSignal | undefined
}

const timeLimitMs = 180_000

/**
 * Checks whether a service works as the client expects, and which options suit it.
 *
 * It sends about 10 to 35 requests, one at a time. If two pages disagree, it reads the list again. After three minutes, it
 * reports its findings so far. It writes nothing without `account`.
 *
 * @throws TypeError for a wrong option. Error if the account may be inactive. Failures of the service become findings.
 * @example
 * ```ts
 * const report = await probe({ baseUrl: 'https://api.example.com', apiKey: process.env.API_KEY })
 * console.log(String(report))
 * ```
 */
export async function probe(options: ProbeOptions): Promise<ProbeReport> {
  const { account, origin, signal: given, onEvent, ...others } = assertObject('options', options)
  if (origin !== undefined && (!URL.canParse(origin) || new URL(origin).origin !== origin))
    throw wrongArgument('origin', 'the origin of a page, such as "https://app.example.com"', origin)
  // Checked before the first request, or a wrong id would cost the whole report.
  for (const id of account ? (['customerId', 'virtualAccountId'] as const) : [])
    encodePathSegment(id, Object(account)[id])
  let requests = 0
  const client = new Client({
    ...(others as ClientOptions),
    onEvent: event => {
      if (event.type === 'request') requests++
      onEvent?.(event)
    },
  })
  const timeLimit = new AbortController()
  const end = () => timeLimit.abort(new TimeLimitError(outOfTime))
  const timer = setTimeout(end, timeLimitMs)
  const { signal } = timeLimit
  const onAbort = () => timeLimit.abort(given?.reason)
  given?.addEventListener('abort', onAbort)
  if (given?.aborted) onAbort()
  const source = { client, signal, path: '/transactions' }
  const found: Finding[] = []
  try {
    const first = await readPage(source, 1)
    found.push(...checkFirst(first, options.apiKey !== null))
    if (first.value) found.push(...(await checkList(source, first.value)))
    else if (first.error?.kind === 'pagination')
      found.push(checkPageNumbers(undefined, await readPageZero(source)))
    if (first.value && origin !== undefined) found.push(await checkCors(client, signal, origin, options))
    if (first.value && account) found.push(await checkWrites(client, signal, account))
    given?.throwIfAborted()
  } finally {
    clearTimeout(timer)
    given?.removeEventListener('abort', onAbort)
  }
  const byId = new Map(found.map(finding => [finding.id, finding]))
  return new ProbeReport(
    findingIds.map(id => byId.get(id) ?? notChecked(id, whyMissing(id, options, found))),
    requests,
  )
}

function whyMissing(id: string, { origin, account }: ProbeOptions, found: readonly Finding[]): string {
  if (id === 'cors' && origin === undefined) return 'pass `origin` (--origin) to check this'
  if (id === 'idempotency' && account === undefined)
    return 'pass `account` (--customer-id, --virtual-account-id, --write) to check this'
  return `because ${found.find(({ status }) => status === 'broken')?.id} is broken`
}

async function checkList(source: Source, first: Page<unknown>): Promise<Finding[]> {
  const list = await readList(source, first)
  const numbers = checkPageNumbers(first, list.zero, list.second)
  const findings = [numbers, checkItems(list.items), checkIds(list)]
  // If pages are counted from 0, all other page numbers are wrong.
  if (numbers.status === 'broken' && numbers.observed.startsWith('page 0 has')) return findings
  let compared = comparePages(list)
  if (compared.status === 'broken') {
    const { value } = await readPage(source, 1)
    const again = value && comparePages(await readList(source, value))
    if (again?.observed !== compared.observed) compared = notChecked('order', changed)
  }
  if (compared.id !== 'order') findings.push(notChecked('order', `because ${compared.id} is broken`))
  return [
    ...findings,
    checkSmallerLimits(list),
    checkLargestLimit(list),
    checkGrowth(list),
    checkTotal(list),
    checkBeyondEnd(list),
    compared,
  ]
}
