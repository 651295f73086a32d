import {
  InfiniteQueryObserver,
  MutationObserver,
  type QueryClient,
  QueryObserver,
} from '@tanstack/react-query'
import { Client, type Fetch, type Page, type Transaction } from 'virtual-accounts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, keys, run, service } from './guide.ts'
import { type Declared, snippet } from './snippets.ts'

// browser.md.

describe('a server that adds the key', () => {
  const isSignedIn = vi.fn<() => Promise<boolean>>()
  const send = vi.fn<Fetch>()
  let client: Client

  /** The client of the page, whose requests reach the server; those of the server reach the service. */
  beforeEach(async () => {
    isSignedIn.mockResolvedValue(true)
    send.mockImplementation(service.fetch)
    const givens = { isSignedIn, fetch: send }
    const { forward } = await run(snippet('browser.md', 'A server that adds the key'), {}, givens)
    vi.stubGlobal('location', new URL('https://www.example.com'))
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => forward(new Request(url, init)))
    client = (await run(snippet('browser.md', 'The page'))).client
  })

  test('has at most 40 lines', () => {
    expect(snippet('browser.md', 'A server that adds the key').trim().split('\n').length).toBeLessThan(41)
  })

  test('forwards lists and writes with their parameters and keys, and adds its own', async () => {
    const { totalItems, data } = await client.transactions.list({ page: 2, limit: 30 })
    expect({ totalItems, count: data.length }).toEqual({ totalItems: 250, count: 30 })
    const { idempotencyKey } = await client.virtualAccounts.deactivate(account, { body: { reason: 'audit' } })
    expect(service.requests.at(-1)).toMatchObject({ method: 'POST', body: { reason: 'audit' } })
    expect(keys().at(-1)).toBe(idempotencyKey)
    expect(new Set(service.requests.map(({ headers }) => headers.get('Api-Key')))).toEqual(
      new Set(['test_key']),
    )
  })

  test('passes a refusal on', async () => {
    service.fail({ with: () => Response.json({ message: 'inactive' }, { status: 422 }) })
    const call = client.virtualAccounts.deactivate(account)
    await expect(call).rejects.toMatchObject({ status: 422, body: { message: 'inactive' } })
  })

  test('refuses users who are not signed in', async () => {
    isSignedIn.mockResolvedValue(false)
    await expect(client.transactions.list()).rejects.toMatchObject({ status: 401 })
    expect(service.requests).toHaveLength(1)
  })

  test('cancels the request to the service with that of the page', async () => {
    service.fail({ with: 'hang' })
    const controller = new AbortController()
    const page = client.transactions.list({}, { signal: controller.signal }).then()
    await vi.waitFor(() => expect(service.requests).toHaveLength(2))
    controller.abort()
    await expect(page).rejects.toThrow('aborted')
    expect(send.mock.calls.at(-1)?.[1].signal?.aborted).toBe(true)
  })
})

describe('TanStack Query', () => {
  let queries: Declared
  let queryClient: QueryClient
  const createClient = () => new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey })
  beforeEach(async () => {
    queries = await run(snippet('browser.md', 'React and TanStack Query'))
    queryClient = queries.createQueryClient()
  })
  afterEach(() => queryClient.clear())

  test('a page is fetched once for its key, and keeps its plain properties', async () => {
    const options = queries.transactionsPage(createClient(), 2)
    const fetches = [queryClient.fetchQuery(options), queryClient.fetchQuery(options)]
    const [first, second] = (await Promise.all(fetches)) as Page<Transaction>[]
    expect(second).toBe(first)
    expect(first).toMatchObject({ page: 2, totalItems: 250, limit: 50, hasNextPage: true })
    expect(service.requests).toHaveLength(1)
  })

  test('a query that nobody needs any more is cancelled', async () => {
    service.fail({ with: 'hang' })
    const sent = vi.fn(service.fetch)
    vi.stubGlobal('fetch', sent)
    const observer = new QueryObserver(queryClient, queries.transactionsPage(createClient(), 1))
    const unsubscribe = observer.subscribe(() => {})
    await vi.waitFor(() => expect(service.requests).toHaveLength(1))
    unsubscribe()
    await vi.waitFor(() => expect(sent.mock.calls[0]?.[1]?.signal?.aborted).toBe(true))
  })

  interface Feed {
    pages: { items: Transaction[] }[]
  }

  test('a feed loads batch after batch to the end, each item once, although the list changes', async () => {
    const original = service.transactions.map(({ id }) => id)
    const observer = new InfiniteQueryObserver(queryClient, queries.transactionsFeed(createClient(), 100))
    const unsubscribe = observer.subscribe(() => {})
    await vi.waitFor(() => expect(observer.getCurrentResult().data).toBeDefined())
    service.transactions.splice(0, 30)
    service.transactions.push({ ...(service.transactions[0] as Transaction), id: 'new' })
    while (observer.getCurrentResult().hasNextPage) await observer.fetchNextPage()
    unsubscribe()
    const { pages } = observer.getCurrentResult().data as unknown as Feed
    expect(pages.flatMap(({ items }) => items.map(({ id }) => id))).toEqual([...original, 'new'])
    // One batch for each click: nothing is requested ahead.
    expect(service.requests.length).toBeLessThan(pages.length + 3)
  })

  test('a feed of an empty list has one empty page', async () => {
    service.transactions.length = 0
    const data = await queryClient.fetchInfiniteQuery(queries.transactionsFeed(createClient()))
    expect(data).toMatchObject({ pages: [{ items: [], hasMore: false }] })
  })

  test('a write sends the same key when it is repeated', async () => {
    service.fail({ times: 3, with: 'network-error' })
    const mutation = new MutationObserver(queryClient, queries.deactivation(createClient()))
    const variables = { account, idempotencyKey: 'k1' } as never
    await mutation.mutate(variables).catch(() => {})
    expect(mutation.getCurrentResult().error).toMatchObject({ outcomeUnknown: true })
    await mutation.mutate(variables)
    expect(keys()).toEqual(Array(4).fill('k1'))
  })

  test('a write stays unknown when it is repeated and refused, and a refused one is refused', async () => {
    const mutation = new MutationObserver(queryClient, queries.deactivation(createClient()))
    const errorOf = async (idempotencyKey: string) => {
      await mutation.mutate({ account, idempotencyKey } as never).catch(() => {})
      return mutation.getCurrentResult().error
    }
    const refuse = () => service.fail({ with: () => new Response(null, { status: 422 }) })
    service.fail({ times: 3, with: 'truncate' })
    expect(await errorOf('k1')).toMatchObject({ outcomeUnknown: true })
    refuse()
    expect(await errorOf('k1')).toMatchObject({ outcomeUnknown: true })
    refuse()
    expect(await errorOf('k2')).toMatchObject({ status: 422, outcomeUnknown: false })
    expect(service.isActive(account)).toBe(false)
  })
})
