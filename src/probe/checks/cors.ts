import type { Findings } from '../finding.js'
import { describeOutcome, isOk, type Session } from '../session.js'

/** Whether a page of this origin may list transactions with a key. */
export async function checkCors(
  findings: Findings,
  session: Session,
  origin: string | undefined,
): Promise<void> {
  if (origin === undefined) {
    findings.unknown('cors', 'no origin was named')
    return
  }
  if (!new Request('https://cors.invalid', { headers: { origin } }).headers.has('origin')) {
    findings.unknown('cors', 'this runtime does not let programs set Origin')
    return
  }
  const preflight = await session.preflight({
    origin,
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'api-key',
  })
  const get = await session.get({ page: '1' }, session.client.withOptions({ headers: { origin } }))
  const problem = findProblem()
  if (problem === undefined) {
    const exposed = get.response?.headers.get('access-control-expose-headers')
    findings.kept('cors', `allowed; ${exposed ? `exposes ${exposed}` : 'no further headers are exposed'}`)
  } else {
    findings.broken(
      'cors',
      problem,
      'A page of this origin cannot call the service. Put a proxy on your own origin that adds the key, and pass its path as baseUrl with apiKey: null.',
    )
  }

  function findProblem(): string | undefined {
    if (!isOk(preflight)) return `the preflight gets ${describeOutcome(preflight)}`
    const headers = preflight.response?.headers as Headers
    const allowed = headers.get('access-control-allow-headers') ?? ''
    if (!isAllowed(headers)) return 'the preflight does not allow the origin'
    if (!/(?:^|,)\s*(?:\*|api-key)\s*(?:,|$)/i.test(allowed)) return 'the preflight does not allow Api-Key'
    if (!get.response || !isAllowed(get.response.headers)) return 'the response does not allow the origin'
    return undefined
  }

  function isAllowed(headers: Headers): boolean {
    return [origin, '*'].includes(headers.get('access-control-allow-origin') ?? '')
  }
}
