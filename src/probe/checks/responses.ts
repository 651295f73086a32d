import { isThrottled, parseRetryAfter } from '../../http/retry.js'
import { countOf, type Findings } from '../findings.js'
import { isRateLimited, type RecordedResponse, type Session } from '../session.js'

// Those of the service before those of a gateway.
const likelyRequestIds = [/(?:request|correlation)-?id$/, /trace-?id$|^traceparent$|^cf-ray$/]
const slowMs = 10_000

/** What all responses together show, if one of them was a page: their headers, and how long they took. */
export function checkResponses(findings: Findings, session: Session): void {
  checkSpeed(findings, session)
  checkRequestId(findings, session.responses)
  checkRateLimit(findings, session)
  checkCache(findings, session.pages)
}

function checkSpeed(findings: Findings, { pages, reads }: Session): void {
  const sorted = pages.map(({ durationMs }) => durationMs).sort((a, b) => a - b)
  const slowest = sorted.at(-1) ?? 0
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0
  const isLost = reads.some(({ error }) => error?.kind === 'timeout')
  const observed = isLost
    ? 'a page was not complete within 60 s'
    : `pages took at most ${duration(slowest)}, median ${duration(median)}`
  if (slowest < slowMs && !isLost) findings.ok('speed', observed)
  else {
    const consequence = 'After 60 s an attempt fails with TimeoutError, and is retried: see `timeout`.'
    findings.broken('speed', observed, consequence)
    delete findings.suggested.limit
  }
}

function duration(ms: number): string {
  return ms < 1_000 ? `${Math.ceil(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}

function checkRequestId(findings: Findings, responses: readonly RecordedResponse[]): void {
  const names = responses.flatMap(({ headers }) =>
    [...headers].flatMap(([name, value]) => (value ? name : [])),
  )
  // As requestId takes them.
  const known = ['x-request-id', 'request-id'].find(name => names.includes(name))
  const [other] = likelyRequestIds.flatMap(likely => names.filter(name => likely.test(name)))
  if (known) findings.ok('request-id', known)
  else if (other) {
    const consequence = `\`requestId\` is undefined: log headers.get("${other}") instead.`
    findings.ok('request-id', `none by the customary names, but ${other}`, consequence)
  } else findings.ok('request-id', 'none by a customary name')
}

/** A limit is the service's right. A Retry-After that the client cannot read makes it retry too early. */
function checkRateLimit(findings: Findings, { responses, requests }: Session): void {
  const throttled = responses.filter(isRateLimited)
  // A 403 is not retried, whatever it says.
  const unreadable = throttled.find(
    ({ status, headers }) =>
      isThrottled(status) && headers.get('retry-after') && parseRetryAfter(headers) === undefined,
  )
  // What lists got comes before what only writes got.
  const ofLists = throttled.filter(({ method }) => method === 'GET')
  const likely = ofLists.length > 0 ? ofLists : throttled
  const limits = likely.filter(({ status }) => status !== 503)
  const shown =
    unreadable ?? limits.find(({ headers }) => headers.has('retry-after')) ?? limits[0] ?? likely[0]
  if (shown === undefined) {
    findings.ok('rate-limit', `no 429 or 503 in ${countOf(requests, 'request')}`)
    return
  }
  if (ofLists.some(({ status }) => status !== 503)) findings.suggested.concurrency = 1
  const { method, status, headers } = shown
  const retryAfter = headers.get('retry-after')
  const observed = `HTTP ${status} ${retryAfter ? `with Retry-After: ${retryAfter}` : 'without Retry-After'}`
  if (unreadable) {
    findings.broken(
      'rate-limit',
      `${observed}, which is neither seconds nor a date such as Sun, 06 Nov 1994 08:49:37 GMT`,
      'It is ignored: the client retries after its own backoff, of at most 8 s.',
    )
  } else if (status === 503) {
    const consequence = 'Such a call is retried, and fails if this lasts.'
    findings.ok(
      'rate-limit',
      `${observed}: a rate limit, an outage, or the time limit of a gateway`,
      consequence,
    )
  } else if (method !== 'GET') {
    findings.ok('rate-limit', `${observed} for ${method}`, 'Such a call can fail.')
  } else {
    findings.ok(
      'rate-limit',
      `${observed}, at less than four requests a second`,
      'Throttled lists are slower, or fail. Lower `concurrency`.',
    )
  }
}

function checkCache(findings: Findings, pages: readonly RecordedResponse[]): void {
  // Each cache on the way may add one.
  const isCached = pages.some(({ headers }) => /[1-9]/.test(headers.get('age') ?? ''))
  const controls = new Set(pages.flatMap(({ headers }) => headers.get('cache-control') ?? []))
  const seconds = Array.from(controls, sharedSeconds).find(value => value > 0)
  if (isCached || seconds) {
    findings.broken(
      'cache',
      isCached
        ? 'a page has an Age above 0: it was cached'
        : `Cache-Control lets shared caches keep pages for ${seconds} s`,
      'Pages can be out of date, and come from different states of the list. `verified: true` notices gaps.',
    )
  } else
    findings.ok('cache', `no page has an Age above 0; Cache-Control: ${[...controls].join(' or ') || 'none'}`)
}

/** For how long shared caches may keep a page. The client bypasses private ones. */
function sharedSeconds(control: string): number {
  if (/\b(?:private|no-store|no-cache)\b(?!=)/i.test(control)) return 0
  const [, seconds] = /s-maxage="?(\d+)/i.exec(control) ?? /max-age="?(\d+)/i.exec(control) ?? []
  return Number(seconds ?? 0)
}
