import { isRedirect } from '../../errors.js'
import type { Findings } from '../finding.js'
import type { ProbeOptions } from '../options.js'
import { describeOutcome, isOk, isRefused, isServerError, type Outcome, type Session } from '../session.js'

/** Reachable, over TLS, without a redirect, and with this key. */
export function checkConnection(findings: Findings, { baseUrl, apiKey }: ProbeOptions, first: Outcome): void {
  const { response } = first
  if (response === undefined) {
    findings.broken('reachable', describeOutcome(first), 'Every call fails like this.')
    return
  }
  const scheme = /^\w+:/.exec(String(baseUrl))?.[0]
  if (scheme === 'https:') findings.kept('reachable', `https, HTTP ${response.status || 'redirect'}`)
  else
    findings.unknown(
      'reachable',
      scheme === 'http:' ? 'reached over plain http' : 'reached through a relative baseUrl',
    )

  const { status, headers } = response
  if (isRedirect(status)) {
    const target = originOf(headers.get('location'), String(baseUrl))
    findings.broken(
      'redirect',
      `${describeOutcome(first)}${target ? ` to ${target}` : ''}`,
      'Redirects are not followed, as they would take the key along: every call fails with HttpError. Set baseUrl to the address that the redirect points to.',
    )
    return
  }
  findings.kept('redirect', `HTTP ${status}`)

  if (apiKey === null) findings.unknown('api-key', 'no key is sent (apiKey is null)')
  else if (isOk(first)) findings.kept('api-key', `HTTP ${status}`)
  else if (status === 401 || status === 403) {
    findings.broken(
      'api-key',
      `HTTP ${status}`,
      'Every call fails with HttpError. Check the key, and that it belongs to this baseUrl.',
    )
  } else findings.unknown('api-key', `HTTP ${status}`)
}

/** What the service responds to a key that is not one. */
export async function checkWrongKey(
  findings: Findings,
  session: Session,
  { apiKey }: ProbeOptions,
): Promise<void> {
  if (apiKey === null) {
    findings.unknown('wrong-key', 'no key is sent (apiKey is null)')
    return
  }
  const client = session.client.withOptions({ apiKey: 'wrong-key-of-a-probe' })
  const outcome = await session.get({ page: '1' }, client)
  const observed = describeOutcome(outcome)
  const status = outcome.response?.status
  if (isOk(outcome)) {
    findings.broken('wrong-key', observed, 'A wrong key goes unnoticed: lists work with any key.')
  } else if (isServerError(outcome)) {
    findings.broken('wrong-key', observed, 'A wrong key looks like an outage, and is retried.')
  } else if (status === 401 || status === 403) {
    findings.kept('wrong-key', observed)
  } else if (isRefused(outcome)) {
    findings.kept('wrong-key', observed, 'HttpError. Its message mentions the key only for 401 and 403.')
  } else findings.unknown('wrong-key', observed)
}

function originOf(location: string | null, base: string): string | undefined {
  return location !== null && URL.canParse(location, base) ? new URL(location, base).origin : undefined
}
