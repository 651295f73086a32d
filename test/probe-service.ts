import {
  FakeService,
  type ProbeFinding,
  type ProbeOptions,
  probe,
  sampleTransactions,
} from 'virtual-accounts/testing'
import { vi } from 'vitest'

export type FakeFetch = FakeService['fetch']

/** Turns one service into another, by its responses. */
export type Deviation = (fetch: FakeFetch) => FakeFetch

export const account = { customerId: 'c1', virtualAccountId: 'v1' }
export const origin = 'https://app.example.com'

export const service = new FakeService({ transactions: sampleTransactions(250) })

/** A service that keeps all that a probe looks at. */
const exemplary: Deviation = fetch => {
  const keys = new Set<string>()
  return async (input, init) => {
    const request = new Request(input, init)
    if (request.method === 'OPTIONS') {
      return new Response(null, {
        status: 204,
        headers: { ...cors, 'Access-Control-Allow-Headers': 'Api-Key' },
      })
    }
    const response = await fetch(request)
    const body = await response.arrayBuffer()
    const headers = new Headers(response.headers)
    for (const [name, value] of Object.entries(cors)) headers.set(name, value)
    headers.set('X-Request-Id', crypto.randomUUID())
    headers.set('Content-Length', String(body.byteLength))
    headers.set('Cache-Control', 'no-store')
    const key = request.headers.get('Idempotency-Key')
    if (key !== null && keys.has(key)) headers.set('Idempotent-Replayed', 'true')
    if (key !== null) keys.add(key)
    return new Response(body, { status: response.status, headers })
  }
}

const cors = { 'Access-Control-Allow-Origin': origin }

/** Lets the pauses and backoffs of a probe pass at once; the time limits of calls stay. */
function skipPauses(): number[] {
  const pauses: number[] = []
  const { setTimeout } = globalThis
  vi.stubGlobal('setTimeout', (callback: () => void, ms = 0) => {
    const isLimit = ms > 30_000
    if (!isLimit) pauses.push(ms)
    return setTimeout(callback, isLimit ? ms : 0)
  })
  return pauses
}

/** Probes the exemplary service, changed by deviations, with an account to write to. */
export async function probeService(
  deviations: readonly Deviation[] = [],
  options: Partial<ProbeOptions> = {},
) {
  const pauses = skipPauses()
  try {
    const fetch = deviations.reduce((fetch, deviate) => deviate(fetch), exemplary(service.fetch))
    const { baseUrl, apiKey } = service
    const report = await probe({ baseUrl, apiKey, fetch, account, ...options })
    return { report, pauses, ...byStatus(report.findings) }
  } finally {
    vi.unstubAllGlobals()
  }
}

function byStatus(findings: readonly ProbeFinding[]) {
  const ids = (status: ProbeFinding['status']) =>
    findings.filter(finding => finding.status === status).map(({ id }) => id)
  const find = (id: string) => findings.find(finding => finding.id === id) as ProbeFinding
  return { broken: ids('broken'), unknown: ids('unknown'), find }
}

export interface PageBody {
  data: Record<string, unknown>[]
  page: number
  totalItems: number
  limit: number
}

/** Changes the pages of the list, as JSON values or as their text. */
export function changePages(
  change: (page: PageBody, query: URLSearchParams) => unknown,
  changeText: (text: string) => string = text => text,
): Deviation {
  return fetch => async (input, init) => {
    const request = new Request(input, init)
    const response = await fetch(request.clone())
    if (!request.url.includes('/transactions') || response.status !== 200) return response
    const changed = change((await response.json()) as PageBody, new URL(request.url).searchParams)
    const headers = new Headers(response.headers)
    const text = changeText(JSON.stringify(changed))
    headers.set('Content-Length', String(new TextEncoder().encode(text).length))
    return new Response(text, { headers })
  }
}

/** Responds itself where it returns a response. */
export function respond(
  to: (request: Request, query: URLSearchParams) => Response | undefined | Promise<Response | undefined>,
): Deviation {
  return fetch => async (input, init) => {
    const request = new Request(input, init)
    return (await to(request.clone(), new URL(request.url).searchParams)) ?? fetch(request)
  }
}

export function changeHeaders(change: (headers: Headers, request: Request) => void): Deviation {
  return fetch => async (input, init) => {
    const request = new Request(input, init)
    const response = await fetch(request.clone())
    const headers = new Headers(response.headers)
    change(headers, request)
    const body = response.status === 204 ? null : await response.arrayBuffer()
    return new Response(body, { status: response.status, headers })
  }
}

/** Sends other requests than it was given. */
export function changeQuery(change: (query: URLSearchParams) => void): Deviation {
  return fetch => (input, init) => {
    const request = new Request(input, init)
    const url = new URL(request.url)
    change(url.searchParams)
    return fetch(new Request(url, request))
  }
}
