import { test } from 'vitest'
import * as z from 'zod'
import { checkMistakes, client, schema, service } from './mistakes.ts'

// The mistakes that people make with lists, each with the message that they get.

const controller = new AbortController()
const { signal } = controller

async function countOf(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0
  for await (const _ of items) count++
  return count
}

type Row = Parameters<typeof checkMistakes>[0][number]
/** Plain JavaScript: the compiler rejects these arguments. */
const params = (mistake: string, params: unknown, gets: string | RegExp): Row => ({
  mistake,
  wrote: () => client.transactions.list(params as never),
  gets,
})
const options = (mistake: string, options: unknown, gets: string | RegExp): Row => ({
  mistake,
  wrote: () => client.transactions.list({}, options as never),
  gets,
})

test('params of a list', () =>
  checkMistakes([
    params('names `limit` as others do', { perPage: 50 }, /^perPage: .* List params are: limit, page, query/),
    params('passes a filter beside `query`', { currency: 'AED' }, /^currency: .*\bquery\b/),
    params('passes an option among the params', { signal }, /signal: .*second argument/),
    params('passes the limit as a string', { limit: '50' }, /^limit: .* 1, got "50"$/),
    params(
      'writes a name with a letter too many',
      { limits: 50 },
      /^limits: .* Did you mean `limit`\? List params/,
    ),
    params(
      'passes an id that has lost digits',
      { query: { account: 2 ** 53 } },
      /^query\.account: .* an exact number .* got a number$/,
    ),
    params('counts pages from 0', { page: 0 }, /^page: .* 1, got 0$/),
    params('passes the number of a page', 2, 'params: expected a plain object, got 2'),
    params(
      'passes the page in the query',
      { query: { page: 2 } },
      /^query\.page: pass `page` outside `query`$/,
    ),
    params(
      'passes a filter without values, which would select everything',
      { query: { account: [] } },
      /^query\.account: expected an array with a value, or undefined for no filter, got an empty array$/,
    ),
    params(
      'passes an object in the query',
      { query: { amount: { gte: 5 } } },
      /^query\.amount: .* got an object$/,
    ),
  ]))

test('options of a list', () =>
  checkMistakes([
    options(
      'misspells an option',
      { maxItem: 50 },
      /^maxItem: .*\bafter\b.*\bitemKey\b.*\bmaxItems\b.*\bverified\b/,
    ),
    options(
      'passes a param among the options',
      { limit: 50 },
      /^limit: unknown option\. List options .* such as `limit` go into the argument before\. /,
    ),
    options('passes an option of the client', { baseUrl: '' }, /^baseUrl: .* new Client\(\{ … \}\)\.$/),
    params('passes an option among the params', { maxItems: 5 }, /^maxItems: .* Options .* second argument /),
    options(
      'passes a signal instead of options',
      signal,
      'options: expected a plain object, got an AbortSignal',
    ),
    options(
      'passes the controller',
      { signal: controller },
      /^signal: expected an AbortSignal .* got an AbortController \(pass controller\.signal\)$/,
    ),
    options(
      'passes a signal of the npm package abort-controller',
      { signal: { addEventListener() {}, removeEventListener() {}, throwIfAborted() {}, aborted: false } },
      /^signal: .* `reason` and `throwIfAborted`, got an object$/,
    ),
    options(
      'wants a proof and no errors',
      { verified: true, onMissedItems: 'continue' },
      "verified: cannot be combined with onMissedItems: 'continue'",
    ),
    {
      mistake: 'limits a list that is awaited',
      wrote: async () => client.transactions.list({}, { maxItems: 3 }),
      gets: 'maxItems: an awaited list is one page: pass `limit`, or iterate the list',
    },
    options('passes -1 for all items', { maxItems: -1 }, /^maxItems: .* 0, or Infinity, got -1$/),
    options('passes a field as itemKey', { itemKey: 'id' }, 'itemKey: expected a function, got "id"'),
    options('guesses a value', { onMissedItems: 'ignore' }, /^onMissedItems: expected 'throw' or 'continue'/),
    options(
      'passes a batch as cursor',
      { after: { cursor: 'va1' } },
      /^after: expected a cursor, .* got an object$/,
    ),
    options('passes an id as cursor', { after: 't1' }, /^after: expected `batch\.cursor` or/),
    options(
      'passes no schema',
      { schema: { id: 'string' } },
      /^schema: expected a Standard Schema .* got an object$/,
    ),
    options(
      'forgets to await a schema',
      { schema: Promise.resolve(schema) },
      /a Promise \(is an await missing\?\)$/,
    ),
    {
      mistake: 'passes them to batches()',
      // @ts-expect-error
      wrote: () => client.transactions.list().batches({ maxItems: 3 }),
      gets: 'too many arguments: expected batches(), and options in list(params, { … })',
    },
    {
      mistake: 'returns a promise from itemKey',
      // @ts-expect-error
      wrote: () => countOf(client.transactions.list({}, { itemKey: async ({ id }) => id })),
      gets: /^itemKey: expected it to return a string or a number, got a Promise/,
      sends: true,
    },
    {
      mistake: 'returns an object from itemKey',
      // @ts-expect-error
      wrote: () => countOf(client.transactions.list({}, { itemKey: ({ id }) => ({ id }) })),
      gets: /^itemKey: expected it to return a string or a number, got an object/,
      sends: true,
    },
  ]))

test('lists of other endpoints', () =>
  checkMistakes([
    {
      mistake: 'passes no schema',
      // @ts-expect-error
      wrote: () => client.list('/refunds'),
      gets: /^schema: required\. Call list\(path, params, \{ schema \}\)\.$/,
    },
    {
      mistake: 'passes the schema among the params',
      // @ts-expect-error
      wrote: () => client.list('/refunds', { schema }),
      gets: /schema: .*the third of client\.list/,
    },
    {
      mistake: 'wants a verified list whose items nothing identifies',
      wrote: () => client.list('/refunds', {}, { schema, verified: true }),
      gets: /^verified: pass `itemKey`/,
    },
    {
      mistake: 'puts an object into a path',
      wrote: () => client.list(`/customers/${{}}/notes`, {}, { schema }),
      gets: /^path: .*\[object Object\]/,
    },
    {
      mistake: 'lists an endpoint that is not a list',
      wrote: () => {
        service.fail({ with: Response.json({ balance: 5 }) })
        return client.list('/balance', {}, { schema })
      },
      getsFromCall: /data: expected an array, got undefined; .* Is this a list\? .* use client\.request\.$/,
    },
    {
      mistake: 'passes a schema of the page',
      wrote: () => {
        const page = z.object({ data: z.array(schema), totalItems: z.number() })
        return client.list('/transactions', {}, { schema: page })
      },
      getsFromCall:
        / at data\[0\]\.data .* If the response is right, change the schema\. In a list, it describes one item of `data`\.$/,
    },
  ]))
