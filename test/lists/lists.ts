import { network } from 'virtual:msw'
import { HttpResponse, http } from 'msw'
import { type EndEvent, isApiError, PaginationError, type Transaction } from 'virtual-accounts'
import { FakeService, type FakeServiceOptions, sampleTransactions } from 'virtual-accounts/testing'
import { expect, vi } from 'vitest'
import { createObservedClient, service } from '../service.ts'

/** The three values of `verified`. */
export const modes = [undefined, true, false] as const

/** Replaces the list of the service by one of `count` items. */
export function fill(count: number): Transaction[] {
  service.transactions.length = 0
  service.transactions.push(...sampleTransactions(count))
  return [...service.transactions]
}

/** A list of `count` items, a client that reads it, and what the client said. */
export function createList(count: number, options: FakeServiceOptions = {}) {
  const fake = new FakeService({ transactions: sampleTransactions(count), maxLimit: 1000, ...options })
  const { client, events } = createObservedClient({ fetch: fake.fetch })
  return { fake, client, events, all: [...fake.transactions], list: client.transactions.list }
}

/** Sorted, as concurrent requests may overtake each other on the way. */
export function requestedPages(): number[] {
  return service.requests.map(({ query }) => Number(query.page)).toSorted((a, b) => a - b)
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Iterates, and calls `change` once `at` items were read. */
export async function collectWith<T>(items: AsyncIterable<T>, at: number, change: () => void): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) if (all.push(item) === at) change()
  return all
}

/** What an iteration yields, and what it throws, if it does. */
export async function iterateOrCollect<T>(
  items: AsyncIterable<T>,
): Promise<{ before: T[]; error?: unknown }> {
  const before: T[] = []
  try {
    for await (const item of items) before.push(item)
    return { before }
  } catch (error) {
    return { before, error }
  }
}

/** What an iteration yields before it throws, and the `ApiError` that it throws. */
export async function iterateToError<T>(items: AsyncIterable<T>, onItem: () => void = () => {}) {
  const before: T[] = []
  try {
    for await (const item of items) {
      before.push(item)
      onItem()
    }
  } catch (error) {
    if (!isApiError(error)) throw error
    return { before, error }
  }
  throw new Error('expected the iteration to throw')
}

export async function iterateToPaginationError<T>(items: AsyncIterable<T>) {
  const { before, error } = await iterateToError(items)
  expect(error).toBeInstanceOf(PaginationError)
  return { before, error }
}

/** The last event, which says how a loop ended. */
export function endOf(events: readonly { type: string }[]): EndEvent {
  const end = events.at(-1)
  expect(end?.type).toBe('end')
  return end as EndEvent
}

/** Waits until all pending work is done. */
export async function idle(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setTimeout(resolve))
}

export interface Envelope {
  data: unknown[]
  page: number
  totalItems: number
  limit: number
}

/** Responds with what the fake service never does. Returns the pages requested. */
export function respondTo(
  respond: (page: number, limit: number, count: number) => Envelope | Response,
): number[] {
  const requested: number[] = []
  network.use(
    http.get(`${service.baseUrl}/*`, ({ request }) => {
      const query = new URL(request.url).searchParams
      const page = Number(query.get('page'))
      requested.push(page)
      const response = respond(page, Number(query.get('limit') ?? 20), requested.length)
      return response instanceof Response ? response : HttpResponse.json({ ...response })
    }),
  )
  return requested
}

export function envelopeOf(items: readonly unknown[], page: number, limit: number): Envelope {
  return { data: items.slice((page - 1) * limit, page * limit), page, totalItems: items.length, limit }
}

/** A client whose service is one function, quicker than MSW, and what it requests, as `page/limit`. */
export function createServed(respond: (page: number, limit: number, count: number) => Envelope | Response) {
  const requested: string[] = []
  const fetch = async (url: string) => {
    const query = new URL(url).searchParams
    const count = requested.push(`${query.get('page')}/${query.get('limit') ?? ''}`)
    const response = respond(Number(query.get('page')), Number(query.get('limit') ?? 20), count)
    return response instanceof Response ? response : Response.json(response)
  }
  const { client, events } = createObservedClient({ fetch })
  return { client, events, requested, list: client.transactions.list }
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
export function createStage(count: number, defaultLimit = 20) {
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
    get mostInFlight() {
      return mostInFlight
    },
    get inFlight() {
      return inFlight()
    },
    /** The request in flight for this page. */
    async of(page: number): Promise<PendingRequest> {
      const found = () => requests.find(request => request.page === page && !request.isSettled)
      await vi.waitFor(() => expect(found(), `page ${page} in flight`).toBeDefined(), { interval: 1 })
      return found() as PendingRequest
    },
    /** Responds to this many requests, oldest first, and waits for what follows each. */
    async respond(count = 1): Promise<void> {
      for (let responses = 0; responses < count; responses++) {
        await vi.waitFor(() => expect(inFlight()).not.toEqual([]), { interval: 1 })
        inFlight()[0]?.respond()
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

/** New items, to be inserted. */
export function newItems(count: number): Transaction[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `new${index}`,
    amount: 1,
    currency: 'EUR',
    description: 'new',
  }))
}
