import { parseRetryAfter } from '../../http/retry-after.js'
import { requestIdOf } from '../../internal/headers.js'
import { countOf, type Findings } from '../finding.js'
import type { RecordedResponse, Session } from '../session.js'

const likelyRequestId = /(?:request|correlation|trace|transaction)-?id$|^traceparent$|^cf-ray$/

/** What the headers of all responses show. */
export function checkHeaders(findings: Findings, { responses }: Session): void {
  const [first] = responses
  if (first === undefined) return
  checkRequestId(findings, first)
  checkRateLimit(findings, responses)
  checkRetryAfter(findings, responses)
  checkCompression(findings, first)
  checkCache(findings, responses)
}

function checkRequestId(findings: Findings, { headers }: RecordedResponse): void {
  if (requestIdOf(headers) !== undefined) {
    findings.kept('request-id', headers.has('x-request-id') ? 'x-request-id' : 'request-id')
    return
  }
  const other = [...headers.keys()].find(name => likelyRequestId.test(name))
  const observed = other === undefined ? 'none' : `none by the customary names, but ${other}`
  const consequence =
    other === undefined
      ? '`requestId` is undefined.'
      : `\`requestId\` is undefined: log headers.get('${other}') instead.`
  findings.kept('request-id', observed, consequence)
}

/** Whether a request was throttled. */
export function isThrottled({ status }: RecordedResponse): boolean {
  return status === 429 || status === 503
}

function checkRateLimit(findings: Findings, responses: readonly RecordedResponse[]): void {
  const names = new Set(
    responses.flatMap(({ headers }) => [...headers.keys()]).filter(name => /^(?:x-)?rate-?limit/.test(name)),
  )
  const headers = names.size === 0 ? 'no headers about it' : [...names].slice(0, 4).join(', ')
  const throttled = responses.findIndex(isThrottled)
  if (throttled === -1) {
    findings.kept('rate-limit', `none met in ${countOf(responses.length, 'response')}; ${headers}`)
  } else {
    findings.broken(
      'rate-limit',
      `HTTP ${responses[throttled]?.status} to request ${throttled + 1}, at four a second; ${headers}`,
      'Throttled calls are retried, and lists are iterated more slowly. Lower `concurrency`.',
    )
  }
}

function checkRetryAfter(findings: Findings, responses: readonly RecordedResponse[]): void {
  const throttled = responses.filter(isThrottled)
  const given = throttled.find(({ headers }) => headers.has('retry-after'))
  if (given === undefined) {
    const observed =
      throttled.length > 0 ? `not with HTTP ${throttled[0]?.status}` : 'no 429 and no 503 was met'
    findings.unknown('retry-after', observed)
  } else if (parseRetryAfter(given.headers) === undefined) {
    findings.broken(
      'retry-after',
      'neither seconds nor an HTTP date',
      'It is ignored: the client waits for its own backoff, of at most 8 s.',
    )
  } else {
    const isSeconds = /^[\d.]+$/.test(given.headers.get('retry-after') ?? '')
    findings.kept('retry-after', isSeconds ? 'in seconds' : 'as an HTTP date')
  }
}

function checkCompression(findings: Findings, { headers, text }: RecordedResponse): void {
  const encoding = headers.get('content-encoding')
  const bytes = new TextEncoder().encode(text).length
  if (encoding !== null) findings.kept('compression', encoding)
  else if (headers.get('content-length') === String(bytes)) findings.kept('compression', 'none')
  else findings.unknown('compression', 'no Content-Encoding header; some runtimes hide it')
}

function checkCache(findings: Findings, responses: readonly RecordedResponse[]): void {
  const cached = responses.find(({ headers }) => {
    const isHit = /\bhit\b/i.test(`${headers.get('x-cache')} ${headers.get('cf-cache-status')}`)
    return isHit || Number(headers.get('age')) > 0
  })
  const control = responses[0]?.headers.get('cache-control') ?? null
  const isShared = /\bpublic\b|\bs-maxage=[1-9]/i.test(control ?? '')
  if (cached || isShared) {
    findings.broken(
      'cache',
      cached ? 'a cache responded instead of the service' : 'Cache-Control lets shared caches keep pages',
      'Pages can come from different states of the list, and show what is no longer true. `verified: true` notices gaps.',
    )
  } else findings.kept('cache', control === null ? 'no Cache-Control' : `Cache-Control: ${control}`)
}
