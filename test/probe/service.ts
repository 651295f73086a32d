import {
  FakeService,
  type ProbeFinding,
  type ProbeOptions,
  type ProbeReport,
  probe,
  sampleTransactions,
} from 'virtual-accounts/testing'
import { vi } from 'vitest'
import { account } from '../support.ts'

export type FakeFetch = FakeService['fetch']

/** Turns one service into another, by its responses. */
export type Deviation = (fetch: FakeFetch) => FakeFetch

/** A service whose first page is 0. */
export const countingFromZero: readonly Deviation[] = [
  changeQuery(query => query.set('page', String(Number(query.get('page')) + 1))),
  changePages((page, query) => ({ ...page, page: Number(query.get('page')) })),
]

export const origin = 'https://app.example.com'

/** Conforms to the API specification. */
export const service = new FakeService({ transactions: sampleTransactions(250) })

/** The fetch of a service that deviates. */
export function deviate(...deviations: readonly Deviation[]): FakeFetch {
  const fetch = deviations.reduce(
    (fetch, deviate) => deviate(fetch),
    exemplary(request => service.handle(request)),
  )
  return async (input, init) => {
    const response = await fetch(new Request(input, init))
    if (response.type === 'error') throw new TypeError('Failed to fetch')
    return response
  }
}

/** Allows one page of another origin, and marks replays. */
const exemplary: (handle: FakeService['handle']) => FakeFetch = handle => {
  const keys = new Set<string>()
  return async (input, init) => {
    const request = new Request(input, init)
    const allowed = 'Api-Key, Content-Type, Idempotency-Key'
    const headers = { 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Headers': allowed }
    if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers })
    const response = await handle(request)
    if (response.type === 'error') return response
    const copy = new Response(response.body, response)
    copy.headers.set('Access-Control-Allow-Origin', origin)
    const key = request.headers.get('Idempotency-Key') ?? ''
    if (keys.has(key)) copy.headers.set('Idempotent-Replayed', 'true')
    if (key) keys.add(key)
    return copy
  }
}

/** Lets pauses and backoffs pass at once; the time limits of calls stay. */
export function skipPauses(): number[] {
  const pauses: number[] = []
  const { setTimeout } = globalThis
  vi.stubGlobal('setTimeout', (callback: () => void, ms = 0, ...args: unknown[]) => {
    // 5 s are the limit for the body of an error.
    const isLimit = ms > 20_000 || ms === 5_000
    if (!isLimit && ms > 0) pauses.push(ms)
    return setTimeout(callback, isLimit ? ms : 0, ...(args as []))
  })
  return pauses
}

/** Probes the service with these deviations, with an account to write to. */
export async function probeService(
  deviations: readonly Deviation[] = [],
  options: Partial<ProbeOptions> = {},
) {
  const fetch = deviate(...deviations)
  const pauses = skipPauses()
  try {
    const { baseUrl, apiKey } = service
    const report = await probe({ baseUrl, apiKey, account, fetch, ...options })
    return { pauses, ...summarize(report) }
  } finally {
    vi.unstubAllGlobals()
  }
}

function summarize(report: ProbeReport) {
  const ids = (status: ProbeFinding['status']) =>
    report.findings.filter(finding => finding.status === status).map(({ id }) => id)
  const find = (id: string) => report.findings.find(finding => finding.id === id) as ProbeFinding
  return { report, broken: ids('broken'), notChecked: ids('not-checked'), find }
}

/** Probes the service, of which some requests hang, on a clock that runs fast. */
export async function probeHanging(hangs: (request: Request) => boolean, options: Partial<ProbeOptions>) {
  let release = () => {}
  const released = new Promise<Response>(resolve => {
    release = () => resolve(Response.error())
  })
  const fetch = deviate(respond(request => (hangs(request) ? released : undefined)))
  const { setTimeout } = globalThis
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  try {
    let isOver = false
    const { baseUrl, apiKey } = service
    const probing = probe({ baseUrl, apiKey, fetch, ...options }).finally(() => {
      isOver = true
    })
    while (!isOver) {
      await vi.advanceTimersByTimeAsync(500)
      await new Promise(resolve => setTimeout(resolve))
    }
    return summarize(await probing)
  } finally {
    vi.useRealTimers()
    release()
  }
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
    if (request.method !== 'GET' || response.status !== 200) return response
    const changed = change((await response.json()) as PageBody, new URL(request.url).searchParams)
    return new Response(changeText(JSON.stringify(changed)), { headers: response.headers })
  }
}

/** Changes every item of the list. */
export function changeItems(change: (item: Record<string, unknown>, index: number) => unknown): Deviation {
  return changePages(page => ({ ...page, data: page.data.map(change) }))
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
    const copy = new Response(response.body, response)
    change(copy.headers, request)
    return copy
  }
}

/** Passes on other queries than it was given. */
export function changeQuery(change: (query: URLSearchParams) => void): Deviation {
  return fetch => (input, init) => {
    const request = new Request(input, init)
    const url = new URL(request.url)
    change(url.searchParams)
    return fetch(new Request(url, request))
  }
}

/** Changes responses from a certain one on, of those to requests that match. */
export function from(
  number: number,
  deviation: Deviation,
  matches: (request: Request) => boolean = isRead,
): Deviation {
  let count = 0
  return fetch => {
    const deviating = deviation(fetch)
    return (input, init) => {
      const request = new Request(input, init)
      if (matches(request)) count++
      return count >= number ? deviating(request) : fetch(request)
    }
  }
}

/** A response whose body cannot be decoded, as fetch says it. */
export function undecodable(headers: HeadersInit = {}): Response {
  const cause = Object.assign(new Error('incorrect header check'), { code: 'Z_DATA_ERROR' })
  return new Response(new ReadableStream({ start: controller => controller.error(cause) }), { headers })
}

export const json = (body: unknown, status = 200) => Response.json(body, { status })
export const isRead = ({ method }: Request) => method === 'GET'
export const isDeactivation = ({ url }: Request) => url.endsWith('/deactivate')
