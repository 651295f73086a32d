import {
  hydrate,
  InfiniteQueryObserver,
  MutationObserver,
  type QueryClient,
  QueryClientProvider,
  QueryObserver,
} from '@tanstack/react-query'
import * as React from 'react'
import { renderToString } from 'react-dom/server'
import { Client, type ClientOptions, type Page, type Transaction } from 'virtual-accounts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, keys, run, service } from './guide.ts'
import { type Declared, type Modules, snippet } from './snippets.ts'

let queries: Declared
let server: Declared
let components: Declared

beforeEach(async () => {
  const modules: Modules = { './queries': () => queries }
  const load = (code: string) => run(code, modules, { React })
  queries = await load(snippet('react-query.md', 'Queries'))
  server = await load(snippet('react-query.md', 'From the server'))
  components = {
    ...(await load(snippet('react-query.md', 'Queries', 2))),
    ...(await load(snippet('react-query.md', 'An infinite list'))),
    ...(await load(snippet('react-query.md', 'Writes'))),
  }
})

const queryClients: QueryClient[] = []
afterEach(() => {
  for (const queryClient of queryClients.splice(0)) queryClient.clear()
})

function createQueryClient(): QueryClient {
  const queryClient: QueryClient = queries.createQueryClient()
  queryClients.push(queryClient)
  return queryClient
}

const createClient = (options: Partial<ClientOptions> = {}) =>
  new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey, ...options })

const pagesRequested = () => service.requests.map(({ query }) => Number(query.page))

describe('a page', () => {
  test('is fetched once for its key', async () => {
    const queryClient = createQueryClient()
    const options = queries.transactionsPage(createClient(), 2)
    const [first, second] = await Promise.all([
      queryClient.fetchQuery(options),
      queryClient.fetchQuery(options),
    ])
    expect(second).toBe(first)
    expect(service.requests.map(({ query }) => query)).toEqual([{ page: '2', limit: '50' }])
  })

  test('is not retried by TanStack: the client has done that', async () => {
    service.fail({ times: 9, with: () => new Response(null, { status: 400 }) })
    const options = queries.transactionsPage(createClient(), 1)
    await expect(createQueryClient().fetchQuery(options)).rejects.toMatchObject({ status: 400 })
    expect(service.requests).toHaveLength(1)
  })

  test('is cancelled when nobody needs it any more', async () => {
    service.fail({ with: 'hang' })
    const aborted = vi.fn()
    const fetch = (url: string, init: RequestInit) => {
      init.signal?.addEventListener('abort', aborted)
      return service.fetch(url, init)
    }
    const observer = new QueryObserver(
      createQueryClient(),
      queries.transactionsPage(createClient({ fetch }), 1),
    )
    const unsubscribe = observer.subscribe(() => {})
    await vi.waitFor(() => expect(service.requests).toHaveLength(1))
    unsubscribe()
    await vi.waitFor(() => expect(aborted).toHaveBeenCalled())
  })

  test('keeps its plain properties, and no others, when the cache copies it', async () => {
    const queryClient = createQueryClient()
    const options = queries.transactionsPage(createClient(), 1)
    await queryClient.fetchQuery(options)
    service.transactions[0]!.description = 'changed'
    await queryClient.refetchQueries({ queryKey: options.queryKey })
    const copy = queryClient.getQueryData(options.queryKey) as Page<Transaction>
    expect(copy.data[0]?.description).toBe('changed')
    expect(copy).toMatchObject({ page: 1, totalItems: 250, limit: 50, pageCount: 5, hasNextPage: true })
    expect(copy.nextPage).toBeUndefined()
  })
})

test('a feed loads page after page, to the last', async () => {
  const observer = new InfiniteQueryObserver(
    createQueryClient(),
    queries.transactionsFeed(createClient(), 100),
  )
  const unsubscribe = observer.subscribe(() => {})
  await vi.waitFor(() => expect(observer.getCurrentResult().data).toBeDefined())
  while (observer.getCurrentResult().hasNextPage) await observer.fetchNextPage()
  unsubscribe()
  const { pages } = observer.getCurrentResult().data as { pages: Page<Transaction>[] }
  expect(pages.flatMap(({ data }) => data)).toEqual(service.transactions)
  expect(pagesRequested()).toEqual([1, 2, 3])
})

test('a feed shows each transaction once, though it moved to the next page', async () => {
  const queryClient = createQueryClient()
  const client = createClient()
  const options = { ...queries.transactionsFeed(client), pages: 2 }
  // Added after page 1 was fetched: its last transaction moves to page 2.
  const added = { ...(service.transactions[0] as Transaction), id: 'new' }
  const fetch = vi.fn(service.fetch)
  vi.stubGlobal('fetch', async (...given: Parameters<typeof fetch>) => {
    const response = await fetch(...given)
    if (fetch.mock.calls.length === 1) service.transactions.unshift(added)
    return response
  })
  await queryClient.fetchInfiniteQuery(options as never)
  const element = React.createElement(components.TransactionFeed, { client })
  const html = renderToString(React.createElement(QueryClientProvider, { client: queryClient }, element))
  const amounts = [...html.matchAll(/<li>(.*?)<\/li>/g)].map(([, text]) => text?.replaceAll('<!-- -->', ''))
  const shown = service.transactions.slice(1, 100).map(({ amount, currency }) => `${currency} ${amount}`)
  expect(amounts).toEqual(shown)
  expect(html).toContain('Load more')
})

describe('from the server', () => {
  test('a page arrives as JSON with all its properties, and is not fetched again', async () => {
    const state = JSON.parse(JSON.stringify(await server.loadState()))
    const queryClient = createQueryClient()
    hydrate(queryClient, state)
    const page = await queryClient.fetchQuery(queries.transactionsPage(createClient(), 1))
    expect(page).toEqual({
      data: service.transactions.slice(0, 50),
      page: 1,
      totalItems: 250,
      limit: 50,
      pageCount: 5,
      hasNextPage: true,
    })
    expect(service.requests).toHaveLength(1)
  })

  test('a component shows it with its first render', async () => {
    const queryClient = createQueryClient()
    hydrate(queryClient, await server.loadState())
    const element = React.createElement(components.Total, { client: createClient() })
    const html = renderToString(React.createElement(QueryClientProvider, { client: queryClient }, element))
    expect(html.replaceAll('<!-- -->', '')).toBe('<p>250 transactions</p>')
  })

  test('the state is empty when the service cannot be reached', async () => {
    service.fail({ with: () => new Response(null, { status: 400 }) })
    expect(await server.loadState()).toMatchObject({ queries: [] })
  })
})

describe('a write', () => {
  test('sends the same key when it is repeated', async () => {
    service.fail({ times: 3, with: 'network-error' })
    const options = components.deactivation(createClient())
    const mutation = new MutationObserver(createQueryClient(), options)
    const variables = { account, idempotencyKey: 'k1' } as never
    await mutation.mutate(variables).catch(() => {})
    expect(mutation.getCurrentResult().error).toMatchObject({ outcomeUnknown: true })
    await mutation.mutate(variables)
    expect(keys()).toEqual(Array(4).fill('k1'))
    expect(service.isActive(account)).toBe(false)
  })

  test('begins with a button', () => {
    const element = React.createElement(components.DeactivateButton, { client: createClient(), account })
    const provider = React.createElement(QueryClientProvider, { client: createQueryClient() }, element)
    expect(renderToString(provider)).toBe('<button>Deactivate</button>')
  })
})
