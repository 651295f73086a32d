import type { Client, Fetch, FetchInit } from '../index.js'
import { broken, type Finding, notChecked, ok } from './finding.js'
import type { ProbeOptions } from './probe.js'
import { isConclusive, outcomeOf } from './read.js'

const advice =
  'Browsers block requests from this origin. Put a proxy there that adds the key, and pass its path as `baseUrl` with `apiKey: null`.'

/** Whether a page of this origin may list transactions. */
export async function checkCors(
  client: Client,
  signal: AbortSignal,
  origin: string,
  { baseUrl = '', fetch = globalThis.fetch as Fetch }: ProbeOptions,
): Promise<Finding> {
  if (URL.canParse(baseUrl) && new URL(baseUrl).origin === origin)
    return ok('cors', 'not needed: the page and the service have the same origin')
  if (!new Request('https://cors.invalid', { headers: { origin } }).headers.has('origin'))
    return notChecked('cors', 'this runtime does not let programs set Origin')

  // A browser sends this first, without the key.
  const headers = {
    origin,
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'api-key',
  }
  const preflighting = client.withOptions({
    apiKey: null,
    fetch: (url, init) => fetch(url, { ...init, method: 'OPTIONS', headers } as FetchInit),
  })
  const get = (sender: Client) => outcomeOf(() => sender.request('GET', '/transactions', { signal }))
  const preflight = await get(preflighting)
  const page = await get(client.withOptions({ headers: { origin } }))
  for (const outcome of [preflight, page]) {
    const { problem = '', value } = outcome
    const what = outcome === preflight ? 'the preflight (OPTIONS)' : 'a request with this Origin'
    if (isConclusive(outcome)) return broken('cors', `${what}: ${problem}`, advice)
    if (!value) return notChecked('cors', `${what}: ${problem}`)
    const allowed = value.headers.get('access-control-allow-origin')
    if (allowed !== '*' && allowed !== origin)
      return broken('cors', `${what}: Access-Control-Allow-Origin does not allow it`, advice)
  }
  const names = preflight.value?.headers
    .get('access-control-allow-headers')
    ?.toLowerCase()
    .split(/\s*,\s*/)
  if (!names?.some(name => name === '*' || name === 'api-key'))
    return broken('cors', 'the preflight does not allow the header Api-Key', advice)
  return ok('cors', `pages of ${origin} may list transactions`)
}
