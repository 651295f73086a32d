import { test } from 'vitest'
import * as z from 'zod'
import { checkMistakes, client, schema, service } from './mistakes.ts'

// The mistakes that people make with this package, each with the message that they get. No other test has these messages.

const controller = new AbortController()
const { signal } = controller

async function countOf(items: AsyncIterable<{ id: string }>): Promise<number> {
  let count = 0
  for await (const _ of items) count++
  return count
}

test('listing', () =>
  checkMistakes([
    {
      mistake: 'calls `limit` something else',
      // @ts-expect-error
      wrote: () => client.transactions.list({ pageSize: 50 }),
      gets: /^pageSize: unknown option. .* are: .*\blimit\b/,
    },
    {
      mistake: 'calls `limit` something else, among the options',
      // @ts-expect-error
      wrote: () => client.transactions.list({}, { per_page: 50 }),
      gets: /^per_page: unknown option. List options are: /,
    },
    {
      mistake: 'passes a filter beside `query`',
      // @ts-expect-error
      wrote: () => client.transactions.list({ currency: 'AED' }),
      gets: 'currency: unknown option. List params are: limit, page, query',
    },
    {
      mistake: 'passes the limit as a string, as the query of a web page has it',
      // @ts-expect-error
      wrote: () => client.transactions.list({ limit: '50' }),
      gets: /^limit: .* 1, got a string$/,
    },
    {
      mistake: 'counts pages from 0',
      wrote: () => client.transactions.list({ page: 0 }),
      gets: /^page: .* 1, got 0$/,
    },
    {
      mistake: 'passes the number of a page',
      // @ts-expect-error
      wrote: () => client.transactions.list(2),
      gets: 'params: expected a plain object, got 2',
    },
    {
      mistake: 'passes the page in the query',
      wrote: () => client.transactions.list({ query: { page: 2 } }),
      gets: 'query.page: pass it as a parameter of its own, list({ page })',
    },
    {
      mistake: 'passes an object as a query parameter',
      // @ts-expect-error
      wrote: () => client.transactions.list({ query: { amount: { gte: 5 } } }),
      gets: 'query.amount: expected a string, a finite number, a boolean, or an array of these, got an object',
    },
    {
      mistake: 'passes an option among the params',
      // @ts-expect-error
      wrote: () => client.transactions.list({ signal }),
      gets: 'params.signal: pass it in the second argument, list(params, { signal })',
    },
    {
      mistake: 'passes a param among the options',
      // @ts-expect-error
      wrote: () => client.transactions.list({ page: 2 }, { limit: 50 }),
      gets: 'options.limit: pass it among the params, list({ limit })',
    },
    {
      mistake: 'passes -1 for all items',
      wrote: () => client.transactions.list({}, { maxItems: -1 }),
      gets: /^maxItems: .* 0, got -1$/,
    },
    {
      mistake: 'passes the controller instead of its signal',
      // @ts-expect-error
      wrote: () => client.transactions.list({}, { signal: controller }),
      gets: 'signal: expected an AbortSignal, got an AbortController (pass controller.signal)',
    },
    {
      mistake: 'passes the name of the field that identifies items',
      // @ts-expect-error
      wrote: () => client.transactions.list({}, { dedupeBy: 'id' }),
      gets: 'dedupeBy: expected a function, got a string',
    },
    {
      mistake: 'identifies items by a promise',
      wrote: () => countOf(client.transactions.list({}, { dedupeBy: async ({ id }) => id })),
      gets: 'dedupeBy: expected it to return a string or a number, got a Promise (is an await missing?)',
      sends: true,
    },
    {
      mistake: 'identifies items by a function that is not called',
      wrote: () => countOf(client.transactions.list({}, { dedupeBy: ({ id }) => id.toString })),
      gets: 'dedupeBy: expected it to return a string or a number, got a function',
      sends: true,
    },
    {
      mistake: 'guesses a value of onMissedItems',
      // @ts-expect-error
      wrote: () => client.transactions.list({}, { onMissedItems: 'ignore' }),
      gets: "onMissedItems: expected 'throw' or 'continue', got a string",
    },
    {
      mistake: 'passes verified as a number',
      // @ts-expect-error
      wrote: () => client.transactions.list({}, { verified: 1 }),
      gets: 'verified: expected true or false, got 1',
    },
    {
      mistake: 'passes a schema of no library',
      // @ts-expect-error
      wrote: () => client.transactions.list({}, { schema: { id: 'string' } }),
      gets: 'schema: expected a Standard Schema (zod 3.24, valibot 1, arktype 2 or later, …), got an object',
    },
    {
      mistake: 'forgets to await a schema',
      // @ts-expect-error
      wrote: () => client.transactions.list({}, { schema: Promise.resolve(schema) }),
      gets: 'schema: expected a Standard Schema (zod 3.24, valibot 1, arktype 2 or later, …), got a Promise (is an await missing?)',
    },
    {
      mistake: 'lists another endpoint without a schema',
      // @ts-expect-error
      wrote: () => client.list('/refunds'),
      gets: 'schema: expected one in the third argument, list(path, params, { schema }), as nothing is known about the items of this list',
    },
    {
      mistake: 'passes the schema among the params',
      // @ts-expect-error
      wrote: () => client.list('/refunds', { schema }),
      gets: 'params.schema: pass it in the third argument, list(path, params, { schema })',
    },
    {
      mistake: 'wants a verified list whose items nothing identifies',
      wrote: () => client.list('/refunds', {}, { schema, verified: true }),
      gets: 'verified: expected `dedupeBy` too, as nothing else identifies the items of this list',
    },
    {
      mistake: 'wants the pages of a verified list',
      wrote: () => client.transactions.list({}, { verified: true }).pages(),
      gets: 'pages: not available with `verified: true`, as its pages overlap: iterate the items',
    },
    {
      mistake: 'lists an endpoint that is not a list',
      wrote: () => {
        service.fail({ with: Response.json({ balance: 5 }) })
        return client.list('/balance', {}, { schema })
      },
      getsFromCall:
        'GET /balance (page 1): the response is not valid: data: expected an array, got undefined; page: expected a whole number of at least 1, got undefined; totalItems: expected a whole number of at least 0, got undefined; limit: expected a whole number of at least 1, got undefined. Is this a list? Its response must be { data, page, totalItems, limit }; `schema` describes one item of `data`. For other endpoints use client.request.',
    },
    {
      mistake: 'awaits the list and iterates its page: that yields every item',
      wrote: async () => countOf(await client.transactions.list({ limit: 2 })),
      works: 5,
    },
    {
      mistake: 'returns the list from an async function: iterating the result yields every item',
      wrote: async () => {
        const list = async () => client.transactions.list({ limit: 2 })
        return countOf(await list())
      },
      works: 5,
    },
    {
      mistake: 'changes params and options while iterating: that has no effect',
      wrote: async () => {
        const params = { limit: 2, query: { currency: ['AED'] } }
        const options = { maxItems: 4 }
        const list = client.transactions.list(params, options)
        params.limit = 1
        params.query.currency.push('USD')
        options.maxItems = 1
        return [
          await countOf(list),
          service.requests.map(({ query }) => query.limit),
          service.requests[0]?.query,
        ]
      },
      works: [4, ['2', '2'], { page: '1', limit: '2', currency: 'AED' }],
    },
    {
      mistake: 'misspells an option',
      // @ts-expect-error
      wrote: () => client.transactions.list({}, { maxItem: 50 }),
      gets: /^maxItem: .* concurrency, dedupeBy, headers, maxItems, maxRetries, onMissedItems, schema, signal, timeout, totalTimeout, verified$/,
    },
    {
      mistake: 'passes a signal instead of options',
      // @ts-expect-error
      wrote: () => client.transactions.list({}, new AbortController().signal),
      gets: 'options: expected a plain object, got an AbortSignal',
    },
    {
      mistake: 'puts an object into a path',
      wrote: () => client.list(`/customers/${{}}/notes`, {}, { schema }),
      gets: 'path: expected an id, got "[object Object]" in it',
    },
    {
      mistake: 'puts an empty id into a path',
      wrote: () => client.list(`/customers/${''}/notes`, {}, { schema }),
      gets: 'path: expected an id, got "" in it',
    },
    {
      mistake: 'writes a path with a placeholder, as a specification does',
      wrote: () => client.list('/customers/{customerId}/notes', {}, { schema }),
      gets: 'path: expected an id, got "{customerId}" in it',
    },
  ]))

test('taking a list for an array', () =>
  checkMistakes([
    {
      mistake: 'loops without await',
      wrote: () => {
        // @ts-expect-error
        for (const _ of client.transactions.list());
      },
      gets: 'list: items arrive asynchronously: use `for await`, or `(await list).data`',
    },
    {
      mistake: 'spreads it',
      // @ts-expect-error
      wrote: () => [...client.transactions.list()],
      gets: 'list: items arrive asynchronously: use `for await`, or `(await list).data`',
    },
    {
      mistake: 'makes an array of it',
      // @ts-expect-error
      wrote: () => Array.from(client.transactions.list()),
      gets: 'list: items arrive asynchronously: use `for await`, or `(await list).data`',
    },
    {
      mistake: 'sends it as JSON',
      wrote: () => JSON.stringify({ transactions: client.transactions.list() }),
      gets: 'list: items arrive asynchronously: use `for await`, or `(await list).data`',
    },
    {
      mistake: 'passes a schema for the page',
      wrote: () =>
        client.list(
          '/transactions',
          {},
          { schema: z.object({ data: z.array(schema), totalItems: z.number() }) },
        ),
      getsFromCall:
        'GET /transactions (page 1): the response is not valid: data[0].data, data[0].totalItems, data[1].data and 7 more do not match the schema. Details are in error.issues, and the response is in error.body. If the response is right, change the schema: it describes one item of `data`, not the page.',
    },
    {
      mistake: 'destructures it without awaiting it',
      wrote: () => {
        // @ts-expect-error
        const { data } = client.transactions.list()
        return data
      },
      gets: 'list.data: items arrive asynchronously: use `for await`, or `(await list).data`',
    },
    {
      mistake: 'asks for its length',
      // @ts-expect-error
      wrote: () => client.transactions.list().length,
      gets: 'list.length: items arrive asynchronously: use `for await`, or `(await list).data`',
    },
    {
      mistake: 'calls `map` on it',
      // @ts-expect-error
      wrote: () => client.transactions.list().map(String),
      gets: 'list.map: items arrive asynchronously: use `for await`, or `(await list).data`',
    },
  ]))
