import { type ProbeOptions, probe } from 'virtual-accounts/probe'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'

export interface PageBody {
  readonly data: readonly unknown[]
  readonly page: number
  readonly totalItems: number
  readonly limit: number
}

/**
 * What a request for a page gets instead: fields that replace those of the page, any response, or false for no change.
 * `asked` is the limit, 20 if none is requested; `number` counts the requests from 1.
 */
export type Change = (page: PageBody, asked: number, number: number) => object | false | undefined

export const service = new FakeService({ transactions: sampleTransactions(250) })
export const { baseUrl, apiKey } = service

export const json = (body: unknown, status = 200) => Response.json(body, { status })
export const status = (status: number) => json({}, status)

/** The items of the list from a place on. */
export function itemsFrom(start: number, count: number): unknown[] {
  return service.transactions.slice(Math.max(0, start), Math.max(0, start + count))
}

/** The page of a service that conforms to the API specification. */
export function pageOf(page: number, limit: number, totalItems = 250): PageBody {
  const start = (page - 1) * limit
  return { data: itemsFrom(start, Math.min(limit, totalItems - start)), page, totalItems, limit }
}

/** Probes a service with limits up to 100, without retries, whose delays would take long. */
export async function probeService(
  change: Change = () => undefined,
  options: Partial<ProbeOptions> = {},
  totalItems?: number,
) {
  let number = 0
  const fetch: FakeService['fetch'] = async (input, init) => {
    const request = new Request(input, init)
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== '/transactions') return service.fetch(request)
    const page = Number(searchParams.get('page') ?? 1)
    const asked = Number(searchParams.get('limit') ?? 20)
    const body = pageOf(page, Math.min(asked, 100), totalItems)
    const changed = await change(body, asked, ++number)
    if (changed instanceof Response) return changed
    return page === 0 && !Object.hasOwn(changed || {}, 'page') ? status(400) : json({ ...body, ...changed })
  }
  const report = await probe({ baseUrl, apiKey, fetch, maxRetries: 0, ...options })
  const find = (id: string) => report.findings.find(finding => finding.id === id)
  const broken = report.findings.filter(({ status }) => status === 'broken').map(({ id }) => id)
  return { report, broken, find }
}
