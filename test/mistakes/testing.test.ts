import { HttpError, TimeoutError, type Transaction } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { test } from 'vitest'
import { account } from '../support.ts'
import { checkMistakes, client, env, service } from './mistakes.ts'

// The mistakes that people make with this package, each with the message that they get. No other test has these messages.

const { baseUrl, fetch } = service

test('reading errors', () =>
  checkMistakes([
    {
      mistake: 'uses the key of another environment',
      wrote: () => client.withOptions({ apiKey: 'another key' }).transactions.list(),
      getsFromCall:
        'GET /transactions (page 1): HTTP 401: "The Api-Key header is wrong." Check that apiKey belongs to this baseUrl.',
    },
    {
      mistake: 'has a baseUrl with the wrong path',
      wrote: () => client.withOptions({ baseUrl: `${baseUrl}/v1` }).virtualAccounts.deactivate(account),
      getsFromCall: /HTTP 404: "There is nothing at \/v1\/customers.*that of baseUrl/,
    },
    {
      mistake: 'takes `timeout` for seconds',
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
      getsFromCall:
        'GET /transactions (page 1): fetch did not resolve with a Response that can be read: "expected a Response, such as Response.json(data)". Check `fetch`, or what mocks it: see error.cause.',
    },
    {
      mistake: 'logs the body of a response, and returns the response that was read',
      wrote: () => {
        const logging = async (url: string, init: RequestInit) => {
          const response = await fetch(url, init)
          await response.text()
          return response
        }
        return client.withOptions({ fetch: logging, maxRetries: 2 }).transactions.list()
      },
      getsFromCall:
        'GET /transactions (page 1): fetch did not resolve with a Response that can be read: "expected an unread body: return a new Response each time, and read only its clone()". Check `fetch`, or what mocks it: see error.cause.',
    },
    {
      mistake: 'has an apiKey function that returns nothing',
      // @ts-expect-error
      wrote: () => client.withOptions({ apiKey: () => env.API_KEY }).transactions.list(),
      gets: 'apiKey: expected the function to return a non-empty string, got undefined (is the environment variable set?)',
    },
    {
      mistake: 'creates an error to test their own error handling',
      // @ts-expect-error
      wrote: () => new HttpError({ status: 503 }),
      gets: 'HttpError: only a client creates these errors (to test your error handling, use fail() of FakeService from virtual-accounts/testing)',
    },
    {
      mistake: 'creates an error from nothing',
      // @ts-expect-error
      wrote: () => new TimeoutError(),
      gets: 'TimeoutError: only a client creates these errors (to test your error handling, use fail() of FakeService from virtual-accounts/testing)',
    },
  ]))

test('testing with a FakeService', () =>
  checkMistakes([
    {
      mistake: 'misspells an option',
      // @ts-expect-error
      wrote: () => new FakeService({ latencyMs: 5 }),
      gets: /^latencyMs: .* apiKey, baseUrl, defaultLimit, latency, maxLimit, transactions$/,
    },
    {
      mistake: 'passes the number of transactions',
      // @ts-expect-error
      wrote: () => new FakeService({ transactions: 25 }),
      gets: 'transactions: expected an array, got 25',
    },
    {
      mistake: 'copies a transaction, its id included',
      wrote: () => {
        const [transaction] = sampleTransactions(1) as [Transaction]
        return new FakeService({ transactions: [transaction, { ...transaction, amount: 7 }] })
      },
      gets: 'transactions[1].id: expected an id of its own, got that of another (to test duplicates, change `service.transactions`)',
    },
    {
      mistake: 'passes a path as the baseUrl',
      wrote: () => new FakeService({ baseUrl: '/api' }),
      gets: 'baseUrl: expected an absolute http or https URL without user info, query or fragment, got a string that breaks this rule',
    },
    {
      mistake: 'lets the service fail with a status',
      // @ts-expect-error
      wrote: () => service.fail({ status: 503 }),
      gets: 'fault.status: pass it in a response, { with: new Response(body, { status, headers }) }',
    },
    {
      mistake: 'lets the service fail with a number',
      // @ts-expect-error
      wrote: () => service.fail({ with: 503 }),
      gets: "with: expected a Response, a function that returns one, 'network-error', 'hang' or 'truncate', got 503 (pass new Response(null, { status: 503 }))",
    },
    {
      mistake: 'guesses the name of a fault',
      // @ts-expect-error
      wrote: () => service.fail({ with: 'timeout' }),
      gets: "with: expected a Response, a function that returns one, 'network-error', 'hang' or 'truncate', got 'timeout'",
    },
    {
      mistake: 'misspells an option of a fault',
      // @ts-expect-error
      wrote: () => service.fail({ time: 2, with: 'hang' }),
      gets: /^time: .* method, path, times, with$/,
    },
    {
      mistake: 'passes only the name of a fault',
      // @ts-expect-error
      wrote: () => service.fail('hang'),
      gets: "fault: expected an object such as { with: 'network-error' }, got a string",
    },
    {
      mistake: 'leaves out the slash of a path',
      wrote: () => service.fail({ path: 'transactions', with: 'hang' }),
      gets: 'path: expected the path after baseUrl, which starts with one "/" and has no query and no fragment, got "transactions"',
    },
    {
      mistake: 'serves a page instead of its items',
      // @ts-expect-error
      wrote: () => service.serveList('/refunds', { data: [] }),
      gets: 'items: expected an array, got an object',
    },
    {
      mistake: 'serves the transactions as another list',
      wrote: () => service.serveList('/transactions', []),
      gets: 'path: /transactions is already a list: change `service.transactions` instead',
    },
    {
      mistake: 'lets a function return a status',
      wrote: () => {
        // @ts-expect-error
        service.fail({ with: () => ({ status: 503 }) })
        return fetch(`${baseUrl}/transactions`)
      },
      gets: 'with: expected the function to return a Response, got an object',
      sends: true,
    },
    {
      mistake: 'lets the service fail with a response that was read',
      wrote: async () => {
        const response = new Response('busy', { status: 503 })
        await response.text()
        service.fail({ with: response })
      },
      gets: 'with: expected a Response with an unread body, got one that was read (pass a function that creates a new one)',
    },
    {
      mistake: 'passes a latency below zero',
      wrote: () => new FakeService({ latency: -1 }),
      gets: 'latency: expected milliseconds from 0 to 2147483647, got -1',
    },
    {
      mistake: 'passes half an account',
      // @ts-expect-error
      wrote: () => service.isActive({ customerId: 'c1' }),
      gets: 'account: expected { customerId, virtualAccountId }, both strings, got { customerId: a string, virtualAccountId: undefined }',
    },
    {
      mistake: 'asks for an account by one id',
      // @ts-expect-error
      wrote: () => service.isActive('v1'),
      gets: 'account: expected { customerId, virtualAccountId }, both strings, got a string',
    },
    {
      mistake: 'generates transactions from a text',
      // @ts-expect-error
      wrote: () => sampleTransactions('25'),
      gets: /^count: .* 0, got a string$/,
    },
    {
      mistake: 'replaces its transactions',
      wrote: () => Object.assign(service, { transactions: [] }),
      gets: 'Cannot set property transactions of #<FakeService> which has only a getter',
    },
    {
      mistake: 'passes what MSW gives to a handler',
      // @ts-expect-error
      wrote: () => service.handle({ request: new Request(service.baseUrl) }),
      gets: 'handle: expected a Request, got an object (with MSW: ({ request }) => service.handle(request); for a client: fetch: service.fetch)',
    },
    {
      mistake: 'passes a pattern as the path of a fault',
      wrote: () => service.fail({ path: '/customers/*', with: 'hang' }),
      gets: 'path: expected the whole path of a request, or a RegExp such as /\\/deactivate$/, got "/customers/*"',
    },
  ]))
