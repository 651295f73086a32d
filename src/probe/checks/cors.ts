import { isSuccess } from '../../http/attempt.js'
import { isLoopback } from '../../internal/url.js'
import { countOf, type Findings } from '../findings.js'
import type { ProbeOptions } from '../options.js'
import { describeOutcome, type ListOutcome, type Outcome, type Session } from '../session.js'
import { noKey } from './connection.js'

/** Requests that the check takes at most. */
export const maxCorsRequests = 2

const advice =
  'Put a proxy on your own origin that adds the key, and pass its path as baseUrl with apiKey: null.'

const blocked = `Pages of this origin cannot list transactions while this lasts. ${advice}`

/** Whether a page of this origin may list transactions with a key. */
export async function checkCors(
  findings: Findings,
  session: Session,
  { baseUrl, apiKey }: ProbeOptions,
  origin: string,
): Promise<void> {
  if (URL.canParse(baseUrl) && new URL(baseUrl).origin === origin) {
    findings.notChecked('cors', 'not needed, as the origin is that of baseUrl')
    return
  }
  if (apiKey === null) {
    findings.notChecked('cors', noKey)
    return
  }
  const isMixed = origin.startsWith('https:') && /^http:/i.test(String(baseUrl))
  if (isMixed && !isLoopback(new URL(baseUrl).hostname)) {
    findings.broken(
      'cors',
      'the origin is https, and baseUrl http',
      `Browsers block such requests. ${advice}`,
    )
    return
  }
  if (!new Request('https://cors.invalid', { headers: { origin } }).headers.has('origin')) {
    findings.notChecked('cors', 'this runtime does not let programs set Origin')
    return
  }
  const headers = {
    origin,
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'api-key',
  }
  // The client has no such method, but its time limit is needed here, too.
  const preflightClient = session.client.withOptions({
    apiKey: null,
    fetch: (url, init) => session.fetch(url, { ...init, method: 'OPTIONS', headers }),
  })
  const preflight = await session.get({}, preflightClient, 'OPTIONS')
  const get = await session.get({ page: '1' }, session.client.withOptions({ headers: { origin } }))
  const found = [problemOfPreflight(preflight, origin), problemOfGet(get, origin)]
  const problems = found.filter(problem => problem !== undefined)
  const unanswered = [preflight, get].find(({ verdict }) => verdict === 'none')
  if (preflight.page?.count) {
    const leak = `a preflight gets a page with ${countOf(preflight.page.count, 'item')}, although it has no key`
    const consequence = 'Anyone can read such pages. Tell the owner of the service.'
    const isBlocked = problems.length > 0
    findings.broken(
      'cors',
      [leak, ...problems].join('; '),
      isBlocked ? `${consequence} ${blocked}` : consequence,
    )
  } else if (problems.length > 0) findings.broken('cors', problems.join('; '), blocked)
  else if (unanswered) findings.notChecked('cors', describeOutcome(unanswered))
  else {
    const exposed = namesIn(get.response?.headers.get('access-control-expose-headers'))?.filter(Boolean)
    const observed = `GET /transactions is allowed, and ${exposed?.length ? `exposes ${exposed.join(', ')}` : 'no further headers are exposed'}`
    findings.ok(
      'cors',
      observed,
      'Writes also need Content-Type and Idempotency-Key to be allowed: not checked.',
    )
  }
}

/** Why browsers refuse a preflight. They do not read its body. */
function problemOfPreflight(preflight: Outcome, origin: string): string | undefined {
  const { verdict, response } = preflight
  if (verdict === 'none' || response === undefined) return undefined
  if (!isSuccess(response.status)) return `the preflight gets ${describeOutcome(preflight)}`
  if (!isAllowed(preflight, origin)) return 'the preflight does not allow the origin'
  const [allowed, methods] = ['headers', 'methods'].map(of =>
    namesIn(response.headers.get(`access-control-allow-${of}`)),
  )
  if (!allowed || !methods)
    return 'Access-Control-Allow-Headers or -Methods of the preflight is no list of names'
  return allowed.some(name => name === '*' || name.toLowerCase() === 'api-key')
    ? undefined
    : 'the preflight does not allow the header Api-Key'
}

/** Why the request after it shows the browser no page. */
function problemOfGet(get: ListOutcome, origin: string): string | undefined {
  if (get.verdict === 'none') return undefined
  if (!get.page) return `a request with this Origin gets ${describeOutcome(get)}`
  return isAllowed(get, origin) ? undefined : 'the response does not allow the origin'
}

function isAllowed({ response }: Outcome, origin: string): boolean {
  return [origin, '*'].includes(response?.headers.get('access-control-allow-origin') ?? '')
}

/** The names in a header; `undefined` if they are not separated by commas: browsers then refuse, or expose nothing. */
function namesIn(header: string | null | undefined): string[] | undefined {
  const names = (header ?? '').split(',').map(name => name.trim())
  return names.every(name => /^[\w!#$%&'*+.^`|~-]*$/.test(name)) ? names : undefined
}
