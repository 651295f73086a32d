import { network } from 'virtual:msw'
import { HttpResponse, http } from 'msw'
import { PaginationError, type Transaction } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { expect, vi } from 'vitest'
import { service } from '../service.ts'

/** Replaces the list of the service by one of `count` items. */
export function fill(count: number): Transaction[] {
  service.transactions.length = 0
  service.transactions.push(...sampleTransactions(count))
  return [...service.transactions]
}

/** Sorted, as concurrent requests may overtake each other on the way. */
export function requestedPages(): number[] {
  return service.requests.map(({ query }) => Number(query.page)).toSorted((a, b) => a - b)
}

export function requestedQueries(): Record<string, string>[] {
  return service.requests.map(({ query }) => query).toSorted((a, b) => Number(a.page) - Number(b.page))
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** What an iteration yields before it throws, and what it throws. */
export async function iterateToError<T>(items: AsyncIterable<T>): Promise<{ before: T[]; error: unknown }> {
  const before: T[] = []
  try {
    for await (const item of items) before.push(item)
  } catch (error) {
    return { before, error }
  }
  throw new Error('expected the iteration to throw')
}

export function iterateToPaginationError<T>(
  items: AsyncIterable<T>,
): Promise<{ before: T[]; error: PaginationError }> {
  return iterateToError(items).then(({ before, error }) => {
    expect(error).toBeInstanceOf(PaginationError)
    return { before, error: error as PaginationError }
  })
}

/** Waits until nothing moves without a push from outside. */
export async function idle(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setTimeout(resolve))
}

export interface Envelope {
  data: unknown[]
  page: number
  totalItems: number
  limit: number
}

/** Responds with what the fake service never does. Returns the pages requested, sorted. */
export function respondTo(
  respond: (page: number, limit: number, count: number) => Envelope | Response,
): number[] {
  const requested: number[] = []
  network.use(
    http.get(`${service.baseUrl}/*`, ({ request }) => {
      const query = new URL(request.url).searchParams
      const page = Number(query.get('page'))
      requested.push(page)
      requested.sort((a, b) => a - b)
      const response = respond(page, Number(query.get('limit') ?? 10), requested.length)
      return response instanceof Response ? response : HttpResponse.json({ ...response })
    }),
  )
  return requested
}

export function envelopeOf(items: readonly unknown[], page: number, limit = 10): Envelope {
  return { data: items.slice((page - 1) * limit, page * limit), page, totalItems: items.length, limit }
}

/** A list of which the service leaves out items after it has cut the pages; the others are returned. Missing pages are a 404. */
export function filterPages(
  count: number,
  isHidden: (index: number) => boolean,
  isMissing: (start: number) => boolean = () => false,
): Transaction[] {
  const all = sampleTransactions(count)
  const isShown = (item: Transaction) => !isHidden(all.indexOf(item))
  const shown = all.filter(isShown)
  respondTo((page, limit) => {
    const start = (page - 1) * limit
    if (isMissing(start)) return new Response(null, { status: 404 })
    return { data: all.slice(start, start + limit).filter(isShown), page, totalItems: shown.length, limit }
  })
  return shown
}

/** An envelope with what a page derives from it. */
export function pageOf(items: readonly unknown[], page: number, limit = 10) {
  const pageCount = Math.ceil(items.length / limit)
  return { ...envelopeOf(items, page, limit), pageCount, hasNextPage: page * limit < items.length }
}

export interface PendingRequest {
  readonly page: number
  readonly limit: number
  isAborted: boolean
  isSettled: boolean
  /** Makes the response from the list as it is now, to be delivered later. */
  serve(): void
  deliver(): void
  /** Serves and delivers. */
  respond(): void
  respondWith(response: Response): void
  lose(): void
}

/** A service that delivers each response when a test says so. */
export function createStage(count: number, defaultLimit = 10) {
  const items = sampleTransactions(count)
  const requests: PendingRequest[] = []
  let mostInFlight = 0
  const inFlight = () => requests.filter(({ isSettled }) => !isSettled)
  const fetch = (url: string, { signal }: RequestInit) =>
    new Promise<Response>((resolve, reject) => {
      const query = new URL(url).searchParams
      const page = Number(query.get('page'))
      const limit = Number(query.get('limit') ?? defaultLimit)
      let envelope: Envelope | undefined
      const settle = (how: () => void) => {
        request.isSettled = true
        how()
      }
      const request: PendingRequest = {
        page,
        limit,
        isAborted: false,
        isSettled: false,
        serve: () => {
          envelope = envelopeOf(items, page, limit)
        },
        deliver: () => settle(() => resolve(Response.json(envelope))),
        respond: () => {
          request.serve()
          request.deliver()
        },
        respondWith: response => settle(() => resolve(response)),
        lose: () => settle(() => reject(new TypeError('lost'))),
      }
      signal?.addEventListener('abort', () => {
        if (request.isSettled) return
        request.isAborted = true
        settle(() => reject(signal.reason))
      })
      requests.push(request)
      mostInFlight = Math.max(mostInFlight, inFlight().length)
    })
  return {
    fetch,
    items,
    requests,
    get pages() {
      return requests.map(({ page }) => page)
    },
    get mostInFlight() {
      return mostInFlight
    },
    get inFlight() {
      return inFlight().map(({ page }) => page)
    },
    /** The request in flight for this page. */
    async of(page: number): Promise<PendingRequest> {
      const found = () => requests.find(request => request.page === page && !request.isSettled)
      await vi.waitFor(() => expect(found(), `page ${page} in flight`).toBeDefined(), { interval: 1 })
      return found() as PendingRequest
    },
    /** Responds to these pages, one after the other, and waits for what follows. */
    async respond(...pages: number[]): Promise<void> {
      for (const page of pages) {
        ;(await this.of(page)).respond()
        await idle()
      }
    },
    /** Responds to all requests, until there are none. */
    async respondToAll(): Promise<void> {
      for (await idle(); inFlight().length > 0; await idle()) {
        for (const request of inFlight()) request.respond()
      }
    },
  }
}

export function ids(items: readonly unknown[]): unknown[] {
  return items.map(item => (item as { id: unknown }).id)
}

/** A new item, to be inserted at the head. */
export function newest(id: string): Transaction {
  return { id, amount: 1, currency: 'EUR', description: 'new' }
}

/** What identifies an item of a list of refunds. */
export function refundNumber(refund: unknown): unknown {
  return (refund as { number: unknown }).number
}
