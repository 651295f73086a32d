import { isRedirect, maxReasonLength, reasonOf, redirectTarget } from '../../http/http-error.js'
import { toLine } from '../../internal/describe.js'
import { isLoopback } from '../../internal/url.js'
import { countOf, type Findings, listed } from '../findings.js'
import type { ProbeOptions } from '../options.js'
import {
  adviceIn,
  describeOutcome,
  isMarkup,
  isRateLimited,
  markup,
  type PageOutcome,
  type Session,
} from '../session.js'

/** Reachable without a redirect, and with this key. */
export function checkConnection(findings: Findings, options: ProbeOptions, first: PageOutcome): void {
  const { page, response } = first
  const baseUrl = String(options.baseUrl)
  const observed = describeOutcome(first)
  if (response === undefined) {
    findings.broken('reachable', observed, `Calls fail while this lasts. ${adviceIn(first)}`)
    return
  }
  const { status } = response
  // Without keys, which a part of a header might hold in part.
  const { headers } = first.error?.kind === 'http' ? first.error : response
  if (isRedirect(status)) {
    const target = redirectTarget(headers, listUrl(options))
    findings.broken(
      'reachable',
      `${observed}${target ? ` to ${target}` : ''}`,
      'Redirects are not followed, as they would take the key along: such a call fails with HttpError. Use a baseUrl that does not redirect, or ask the owner of the service.',
    )
    return
  }
  const scheme = /^https?(?=:)/i.exec(baseUrl)?.[0].toLowerCase() ?? 'a path of this page'
  const warning = scheme === 'http' && !isLoopback(new URL(baseUrl).hostname)
  findings.ok(
    'reachable',
    `${scheme}, HTTP ${status}`,
    warning ? 'Anyone on the way can read all that is sent.' : '',
  )
  if (options.apiKey === null) findings.notChecked('api-key', noKey)
  else if (page) findings.ok('api-key', 'accepted')
  else if ((status === 401 || status === 403) && !isRateLimited(response)) {
    const scheme = headers.get('www-authenticate')?.split(/[ ,]/, 1)[0]
    findings.broken(
      'api-key',
      `${observed}${quoteReason(first)}${scheme ? `, WWW-Authenticate: ${scheme}` : ''}`,
      `The call fails with HttpError. ${adviceIn(first)}`,
    )
  }
}

export const noKey = 'no key is sent (apiKey is null)'

/** Whether the list has pages at all: what is wrong with others is said where they are judged. */
export function checkEnvelope(findings: Findings, options: ProbeOptions, first: PageOutcome): void {
  const { page, problems } = first
  const from = `, from ${listUrl(options)}`
  const isNoJson = problems[0]?.startsWith('expected JSON')
  if (page) findings.ok('envelope', 'page 1 has data, page, totalItems and limit')
  else if (isNoJson) {
    const advice = 'If the service did not send it, check baseUrl; else ask its owner.'
    findings.broken('envelope', problems.join('; ') + from, `The list could not be read. ${advice}`)
  } else if (problems.length > 0) {
    const isOther = problems.some(problem => /^(?:no|expected an) /.test(problem))
    const advice = isOther
      ? "If this is the path of the API, ask its owner to repair it, or read it with `client.request('GET', '/transactions')`; `npx virtual-accounts schema` prints its type."
      : 'Ask the owner of the service to repair it.'
    const consequence = `Such a page fails with InvalidResponseError. ${advice}`
    findings.broken('envelope', listed(problems, '; '), consequence)
  } else if (!findings.isBroken('reachable') && !findings.isBroken('api-key')) {
    const observed = `${describeOutcome(first)}${quoteReason(first)}${from}`
    findings.broken('envelope', observed, `The list could not be read. ${adviceIn(first)}`.trimEnd())
  }
}

function listUrl({ baseUrl }: ProbeOptions): string {
  return `${String(baseUrl).replace(/\/+$/, '')}/transactions`
}

/** What the service says about a request that it refuses. */
function quoteReason({ error }: PageOutcome): string {
  const body = error?.kind === 'http' ? error.body : undefined
  // Not what was to be HTML, a page or no text at all.
  const isText = typeof body === 'string' && /^\s*[^\s<{["]/.test(body) && !/[^\P{Cc}\s]/u.test(body)
  const reason = reasonOf(body) ?? (isText ? toLine(body, maxReasonLength) : undefined)
  if (reason !== undefined) return `: "${reason}"`
  return typeof body === 'string' && isMarkup(body) ? `, ${markup}` : ''
}

/** What the service responds to a key that is not one. */
export async function checkWrongKey(
  findings: Findings,
  session: Session,
  { apiKey }: ProbeOptions,
): Promise<void> {
  if (apiKey === null) {
    findings.notChecked('wrong-key', noKey)
    return
  }
  const client = session.client.withOptions({ apiKey: 'wrong-key-of-a-probe' })
  const outcome = await session.get({ page: '1' }, client)
  const { verdict, page } = outcome
  const observed = describeOutcome(outcome)
  if (verdict === 'ok') {
    const consequence =
      'A mistyped key goes unnoticed, and anyone may be able to read such pages. Tell the owner of the service.'
    if (page)
      findings.broken('wrong-key', `${observed}, a page with ${countOf(page.count, 'item')}`, consequence)
    else findings.notChecked('wrong-key', observed)
  } else if (verdict === 'failed') {
    findings.broken(
      'wrong-key',
      observed,
      'If that is the answer to a wrong key, it looks like an outage of the service.',
    )
  } else if (verdict === 'none') findings.notChecked('wrong-key', observed)
  else findings.ok('wrong-key', `refused: ${observed}`)
}
