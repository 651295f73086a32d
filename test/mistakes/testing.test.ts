import { HttpError } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { test } from 'vitest'
import { account } from '../support.ts'
import { checkMistakes, client, type Mistake, service } from './mistakes.ts'

// The mistakes that people make with this package, each with the message that they get.

const { baseUrl, fetch } = service

const notFresh =
  /: no readable response from \S+: "fetch must resolve with a new, unread Response for each request"\./

/** Plain JavaScript: the compiler rejects most of these arguments. */
const row = (mistake: string, wrote: () => unknown, gets: string | RegExp): Mistake => ({
  mistake,
  wrote,
  gets,
})
const option = (mistake: string, options: object, gets: string | RegExp) =>
  row(mistake, () => new FakeService(options), gets)
const fault = (mistake: string, fault: unknown, gets: string | RegExp) =>
  row(mistake, () => service.fail(fault as never), gets)

test('reading errors', () =>
  checkMistakes([
    {
      mistake: 'uses the key of another environment',
      wrote: () => client.withOptions({ apiKey: 'another key' }).transactions.list(),
      getsFromCall:
        'GET /transactions (page 1): HTTP 401: "The Api-Key header is wrong." Check apiKey. The client sends it unchanged and adds no `Bearer`.',
    },
    {
      mistake: 'is not signed in at a server that adds the key',
      wrote: () => client.withOptions({ apiKey: null }).transactions.list(),
      getsFromCall:
        /HTTP 401: ".*" No key was sent, because apiKey is null\. Is the user signed in to your own server\?$/,
    },
    {
      mistake: 'has a baseUrl with the wrong path',
      wrote: () => client.withOptions({ baseUrl: `${baseUrl}/v1` }).virtualAccounts.deactivate(account),
      getsFromCall:
        /HTTP 404: "There is nothing at \/v1\/customers.*Check the ids, the path and baseUrl \(https:\/\/virtual-accounts\.test\/v1\)\.$/,
    },
    {
      mistake: 'passes `timeout` in seconds',
      wrote: () => {
        service.fail({ with: 'hang' })
        return client.withOptions({ timeout: 5 }).transactions.list()
      },
      getsFromCall:
        'GET /transactions (page 1): no complete response within the timeout of 5 ms. Raise `timeout` (milliseconds) if the service needs longer.',
    },
    {
      mistake: 'returns a body instead of a Response from fetch',
      // @ts-expect-error
      wrote: () => client.withOptions({ fetch: async () => ({ data: [] }) }).transactions.list(),
      getsFromCall: notFresh,
    },
    {
      mistake: 'logs the body of a response, and returns the response that was read',
      wrote: () => {
        const logging = async (url: string, init: RequestInit) => {
          const response = await fetch(url, init)
          await response.text()
          return response
        }
        return client.withOptions({ fetch: logging }).transactions.list()
      },
      getsFromCall: notFresh,
    },
    {
      mistake: 'has a mock of fetch that resolves with the same Response each time',
      wrote: async () => {
        const body = { data: [], page: 1, totalItems: 0, limit: 20 }
        const response = Response.json(body)
        const mocked = client.withOptions({ fetch: async () => response })
        await mocked.transactions.list()
        return mocked.transactions.list()
      },
      getsFromCall: notFresh,
    },
    {
      mistake: 'has a mock of fetch that knows only json()',
      wrote: () => {
        const fetch = async () => ({ status: 200, ok: true, json: async () => ({}) })
        return client.withOptions({ fetch: fetch as never }).request('GET', '/balance')
      },
      getsFromCall: notFresh,
    },
    row(
      'has an apiKey function that returns nothing',
      () => client.withOptions({ apiKey: () => undefined as never }).transactions.list(),
      'apiKey: expected the function to return a non-empty string, got undefined (is the environment variable set?)',
    ),
    row(
      'creates an error to test their own error handling',
      () => new HttpError({ status: 503 } as never),
      /^HttpError: only a client creates these errors \(.* use fail\(\) of FakeService/,
    ),
  ]))

test('testing with a FakeService', () =>
  checkMistakes([
    option('misspells an option', { latencyMs: 5 }, /^latencyMs: unknown .*\blatency\b/),
    option('passes a count', { transactions: 25 }, 'transactions: expected an array, got 25'),
    option(
      'copies a transaction, its id included',
      { transactions: [...sampleTransactions(1), ...sampleTransactions(1)] },
      /^transactions\[1\]\.id: expected a unique id, .*change `service\.transactions`/,
    ),
    option(
      'passes a path as the baseUrl',
      { baseUrl: '/api' },
      /^baseUrl: expected an absolute http or https URL/,
    ),
    option(
      'passes a latency below zero',
      { latency: -1 },
      'latency: expected milliseconds from 0 to 2147483647, got -1',
    ),
    fault('passes a status', { status: 503 }, /^status: unknown .* pass a Response as `with`\.$/),
    fault(
      'passes a status as `with`',
      { with: 503 },
      /^with: .* got 503 \(pass new Response\(null, \{ status: 503 \}\)\)$/,
    ),
    fault(
      'guesses a name',
      { with: 'timeout' },
      /^with: .* 'network-error', 'hang' or 'truncate', got 'timeout'$/,
    ),
    fault(
      'passes only a name',
      'hang',
      'fault: expected an object such as { with: \'network-error\' }, got "hang"',
    ),
    fault(
      'leaves out a slash',
      { path: 'transactions', with: 'hang' },
      /^path: .* one "\/" .* got "transactions"$/,
    ),
    fault(
      'passes a pattern as text',
      { path: '/customers/*', with: 'hang' },
      /^path: .* or a RegExp such as /,
    ),
    row(
      'serves a page',
      () => service.serveList('/refunds', {} as never),
      'items: expected an array, got an object',
    ),
    row(
      'serves a list twice',
      () => service.serveList('/transactions', []),
      /change `service\.transactions` instead$/,
    ),
    row(
      'passes half an account',
      () => service.isActive({ customerId: 'c1' } as never),
      /^account: .* undefined \}$/,
    ),
    row('passes text', () => sampleTransactions('25' as never), /^count: .* 0, got "25"$/),
    row(
      'passes what MSW gives to a handler',
      () => service.handle({ request: new Request(baseUrl) } as never),
      /^handle: expected a Request, .* \(\{ request \}\) => service\.handle\(request\)/,
    ),
  ]))
