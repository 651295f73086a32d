import { Client, HttpError, TimeoutError } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'

// The mistakes that people make with this package, in the order in which they make them, each with the message that they
// get. `@ts-expect-error` marks what the compiler rejects, too; what has no such mark compiles.

interface Mistake {
  readonly mistake: string
  readonly wrote: () => unknown
  /** The message of a TypeError that is thrown before anything is sent. */
  readonly gets?: string
  /** The message of an ApiError. */
  readonly getsFromCall?: string
  /** The result, if it is not a mistake here. */
  readonly works?: unknown
}

const service = new FakeService({ transactions: sampleTransactions(5) })
const { baseUrl, apiKey, fetch } = service
const client = new Client({ baseUrl, apiKey, fetch, maxRetries: 0 })

beforeEach(() => service.reset())

/** As `process.env`, where nothing is set. */
const env: Record<string, string | undefined> = {}
const account = { customerId: 'c1', virtualAccountId: 'v1' }
const customer: { id?: string } = {}
const controller = new AbortController()
const { signal } = controller
const schema = z.looseObject({ id: z.string() })
const findCustomerId = async () => 'c1'
const readKey = async () => 'key'

async function countOf(items: AsyncIterable<{ id: string }>): Promise<number> {
  let count = 0
  for await (const _ of items) count++
  return count
}

const mistakes: Record<string, readonly Mistake[]> = {
  'Creating a client': [
    {
      mistake: 'leaves out the scheme of a local service',
      wrote: () => new Client({ baseUrl: 'localhost:3000', apiKey }),
      gets: 'baseUrl: expected a scheme before the host: "http://localhost:3000"',
    },
    {
      mistake: 'passes a text as long as a file for the key',
      wrote: () => new Client({ baseUrl, apiKey: 'x'.repeat(5000) }),
      gets: 'apiKey: expected at most 4096 characters, got 5000',
    },
    {
      mistake: 'passes the API key instead of options',
      // @ts-expect-error
      wrote: () => new Client('key'),
      gets: 'options: expected an object with at least baseUrl and apiKey, got a string',
    },
    {
      mistake: 'passes nothing',
      // @ts-expect-error
      wrote: () => new Client(),
      gets: 'options: expected an object with at least baseUrl and apiKey, got undefined',
    },
    {
      mistake: 'forgets `new`',
      // @ts-expect-error
      wrote: () => Client({ baseUrl, apiKey }),
      gets: "Class constructor Client cannot be invoked without 'new'",
    },
    {
      mistake: 'forgets baseUrl',
      // @ts-expect-error
      wrote: () => new Client({ apiKey }),
      gets: 'baseUrl: expected an absolute https URL ("https://api.example.com/v1") or a path ("/api"), got undefined (is the environment variable set?)',
    },
    {
      mistake: 'reads baseUrl from an environment variable that is not set',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl: env.API_URL, apiKey }),
      gets: 'baseUrl: expected an absolute https URL ("https://api.example.com/v1") or a path ("/api"), got undefined (is the environment variable set?)',
    },
    {
      mistake: 'forgets apiKey',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl }),
      gets: 'apiKey: expected a non-empty string, a function that returns one, or null to send none, got undefined (is the environment variable set?)',
    },
    {
      mistake: 'reads apiKey from an environment variable that is not set',
      wrote: () => new Client({ baseUrl, apiKey: env.API_KEY ?? '' }),
      gets: 'apiKey: expected a non-empty string, a function that returns one, or null to send none, got an empty string (is the environment variable set?)',
    },
    {
      mistake: 'silences the compiler about an environment variable that is not set',
      wrote: () => new Client({ baseUrl, apiKey: env.API_KEY as string }),
      gets: 'apiKey: expected a non-empty string, a function that returns one, or null to send none, got undefined (is the environment variable set?)',
    },
    {
      mistake: 'reads the key from a file, with its line break',
      wrote: () => new Client({ baseUrl, apiKey: 'key\n' }),
      gets: 'apiKey: cannot be sent as a header: expected Latin-1 without line breaks or other control characters, and no white space around it (the key is not shown; a key read from a file often ends with a line break: trim it)',
    },
    {
      mistake: 'forgets to await the key',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey: readKey() }),
      gets: 'apiKey: expected a non-empty string, a function that returns one, or null to send none, got a Promise (is an await missing?)',
    },
    {
      mistake: 'leaves out the scheme',
      wrote: () => new Client({ baseUrl: 'api.example.com/v1', apiKey }),
      gets: 'baseUrl: expected an absolute https URL ("https://api.example.com/v1") or a path ("/api"), got a string that is neither (is "https://" missing?)',
    },
    {
      mistake: 'uses plain http',
      wrote: () => new Client({ baseUrl: 'http://api.example.com', apiKey }),
      gets: 'baseUrl: expected https, as over http anyone on the network can read the API key (allowInsecureHttp: true allows it)',
    },
    {
      mistake: 'puts the key into the URL',
      wrote: () => new Client({ baseUrl: 'https://key@api.example.com', apiKey }),
      gets: 'baseUrl: expected no user or password in it (pass `apiKey` instead)',
    },
    {
      mistake: 'puts the key into the query',
      wrote: () => new Client({ baseUrl: 'https://api.example.com/?api_key=key', apiKey }),
      gets: 'baseUrl: expected no query or fragment',
    },
    {
      mistake: 'writes a backslash',
      wrote: () => new Client({ baseUrl: 'https://api.example.com\\v1', apiKey }),
      gets: 'baseUrl: expected no backslashes, white space or control characters',
    },
    {
      mistake: 'copies a tab along with the URL',
      wrote: () => new Client({ baseUrl: 'https://api.example.com/v1\t', apiKey }),
      gets: 'baseUrl: expected no backslashes, white space or control characters',
    },
    {
      mistake: 'joins paths with dots',
      wrote: () => new Client({ baseUrl: 'https://api.example.com/v2/../v1', apiKey }),
      gets: 'baseUrl: expected no "." or ".." segments',
    },
    {
      mistake: 'leaves out the slashes after the scheme',
      wrote: () => new Client({ baseUrl: 'https:api.example.com', apiKey }),
      gets: 'baseUrl: expected "//" after the scheme',
    },
    {
      mistake: 'misspells an option',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, maxRetry: 5 }),
      gets: 'maxRetry: unknown option. Client options are: allowInsecureHttp, apiKey, baseUrl, concurrency, fetch, headers, maxResponseBytes, maxRetries, onEvent, timeout, totalTimeout',
    },
    {
      mistake: 'passes an option of calls to the client',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, signal }),
      gets: 'options.signal: pass it to each call, not to the client',
    },
    {
      mistake: 'writes a duration with its unit',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, timeout: '30s' }),
      gets: 'timeout: expected milliseconds, more than 0 and at most 2147483647, got a string',
    },
    {
      mistake: 'turns a timeout off with 0',
      wrote: () => new Client({ baseUrl, apiKey, totalTimeout: 0 }),
      gets: 'totalTimeout: expected milliseconds, more than 0 and at most 2147483647, got 0',
    },
    {
      mistake: 'passes maxRetries as a string',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, maxRetries: '3' }),
      gets: 'maxRetries: expected a whole number of at least 0, got a string',
    },
    {
      mistake: 'turns concurrency off with 0',
      wrote: () => new Client({ baseUrl, apiKey, concurrency: 0 }),
      gets: 'concurrency: expected a whole number of at least 1, got 0',
    },
    {
      mistake: 'writes a size with its unit',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, maxResponseBytes: '10MB' }),
      gets: 'maxResponseBytes: expected a whole number of at least 1, got a string',
    },
    {
      mistake: 'sets a flag from an environment variable',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, allowInsecureHttp: 'true' }),
      gets: 'allowInsecureHttp: expected true or false, got a string',
    },
    {
      mistake: 'forgets to await a fetch that is loaded later',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, fetch: Promise.resolve(fetch) }),
      gets: 'fetch: expected a function, got a Promise (is an await missing?)',
    },
    {
      mistake: 'passes a logger as the listener',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, onEvent: console }),
      gets: 'onEvent: expected a function, got a console',
    },
    {
      mistake: 'sets the key as a header',
      wrote: () => new Client({ baseUrl, apiKey, headers: { 'Api-Key': 'key' } }),
      gets: 'headers: "Api-Key" is set by the client option apiKey',
    },
    {
      mistake: 'passes headers as one line of text',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, headers: 'X-Team: payments' }),
      gets: 'headers: expected Headers, an array of [name, value] pairs or an object, got a string',
    },
    {
      mistake: 'passes a header with a line break',
      wrote: () => new Client({ baseUrl, apiKey, headers: { 'X-Team': 'payments\n' } }),
      gets: 'headers["X-Team"]: cannot be sent: expected a valid header name, and a Latin-1 value without line breaks or other control characters (the value is not shown)',
    },
    {
      mistake: 'passes a header that is a number',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, headers: { 'X-Team': 7 } }),
      gets: 'headers["X-Team"]: expected a string, got a number',
    },
    {
      mistake: 'passes a header that is not set: it is skipped',
      wrote: async () => {
        const headers = { 'X-Team': env.TEAM } as Record<string, string>
        await client.withOptions({ headers }).transactions.list()
        return service.requests[0]?.headers.has('X-Team')
      },
      works: false,
    },
  ],

  Listing: [
    {
      mistake: 'calls `limit` something else',
      // @ts-expect-error
      wrote: () => client.transactions.list({ pageSize: 50 }),
      gets: 'pageSize: unknown option. List params are: limit, page, query',
    },
    {
      mistake: 'passes the limit as a string, as the query of a web page has it',
      // @ts-expect-error
      wrote: () => client.transactions.list({ limit: '50' }),
      gets: 'limit: expected a whole number of at least 1, got a string',
    },
    {
      mistake: 'counts pages from 0',
      wrote: () => client.transactions.list({ page: 0 }),
      gets: 'page: expected a whole number of at least 1, got 0',
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
      mistake: 'passes an option of the client',
      // @ts-expect-error
      wrote: () => client.transactions.list({}, { apiKey: 'key' }),
      gets: 'options.apiKey: set it on the client: new Client({ apiKey }) or client.withOptions({ apiKey })',
    },
    {
      mistake: 'misspells an option',
      // @ts-expect-error
      wrote: () => client.transactions.list({}, { maxItem: 50 }),
      gets: 'maxItem: unknown option. List options are: concurrency, dedupeBy, headers, maxItems, maxRetries, onMissedItems, schema, signal, timeout, totalTimeout, verified',
    },
    {
      mistake: 'passes null instead of leaving it out',
      // @ts-expect-error
      wrote: () => client.transactions.list(null),
      gets: 'params: expected a plain object, got null',
    },
    {
      mistake: 'passes -1 for all items',
      wrote: () => client.transactions.list({}, { maxItems: -1 }),
      gets: 'maxItems: expected a whole number of at least 0, got -1',
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
      mistake: 'leaves out the slash',
      wrote: () => client.list('refunds', {}, { schema }),
      gets: 'path: expected a path that starts with one "/", got "refunds"',
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
  ],

  'Taking a list for an array': [
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
      gets: 'list: not fetched yet, so it has no JSON: use `for await`, or `(await list).data`',
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
  ],

  Writing: [
    {
      mistake: 'passes the ids one after the other',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate('c1', 'v1'),
      gets: 'deactivate: expected { customerId, virtualAccountId }, got a string',
    },
    {
      mistake: 'passes only one of the ids',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate('v1'),
      gets: 'deactivate: expected { customerId, virtualAccountId }, got a string',
    },
    {
      mistake: 'writes the ids as in the path',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate({ customer_id: 'c1', virtual_account_id: 'v1' }),
      gets: 'deactivate: customerId: expected a non-empty string, got undefined (there is a "customer_id": pass it as customerId)',
    },
    {
      mistake: 'passes an id that is undefined',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate({ ...account, customerId: customer.id }),
      gets: 'deactivate: customerId: expected a non-empty string, got undefined',
    },
    {
      mistake: 'passes an id that is the text of a missing one',
      wrote: () => client.virtualAccounts.deactivate({ ...account, customerId: `${customer.id}` }),
      gets: 'customerId: expected an id, got "undefined"',
    },
    {
      mistake: 'passes an id that was read from a file',
      wrote: () => client.virtualAccounts.deactivate({ ...account, virtualAccountId: 'v1\n' }),
      gets: 'virtualAccountId: expected no white space at either end',
    },
    {
      mistake: 'writes the body as JSON, as for fetch',
      wrote: () => client.request('POST', '/customers', { body: JSON.stringify({ name: 'Ada' }) }),
      gets: 'body: expected JSON data, got a string of JSON: pass the value itself, without JSON.stringify',
    },
    {
      mistake: 'makes a key of an id that is missing',
      wrote: () =>
        client.virtualAccounts.deactivate(account, { idempotencyKey: `deactivate-${customer.id}` }),
      gets: 'idempotencyKey: expected a key of its own for each write, got one with "undefined" in it',
    },
    {
      mistake: 'makes a path of an id that is missing',
      wrote: () => client.request('GET', `/customers/${customer.id}/notes`),
      gets: 'path: expected an id, got "undefined" in it',
    },
    {
      mistake: 'passes an array of accounts',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate([account]),
      gets: 'deactivate: expected { customerId, virtualAccountId }, got an array',
    },
    {
      mistake: 'forgets to await an id',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate({ ...account, customerId: findCustomerId() }),
      gets: 'customerId: expected a non-empty string, got a Promise (is an await missing?)',
    },
    {
      mistake: 'forgets to await the account',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate(Promise.resolve(account)),
      gets: 'deactivate: expected { customerId, virtualAccountId }, got a Promise (is an await missing?)',
    },
    {
      mistake: 'passes a number as an id',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate({ ...account, virtualAccountId: 17 }),
      gets: 'virtualAccountId: expected a non-empty string, got 17',
    },
    {
      mistake: 'passes ".." as an id',
      wrote: () => client.virtualAccounts.deactivate({ ...account, virtualAccountId: '..' }),
      gets: 'virtualAccountId: expected an id, got ".."',
    },
    {
      mistake: 'writes the idempotency key in snake case',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate(account, { idempotency_key: 'job-17' }),
      gets: 'idempotency_key: unknown option. Options of a write are: body, headers, idempotencyKey, maxRetries, schema, signal, timeout, totalTimeout',
    },
    {
      mistake: 'passes the idempotency key without a name',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate(account, 'job-17'),
      gets: 'options: expected a plain object, got a string',
    },
    {
      mistake: 'swaps the arguments',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate({ idempotencyKey: 'job-17' }, account),
      gets: 'options.customerId: pass it in the first argument',
    },
    {
      mistake: 'reads the idempotency key from a file, with its line break',
      wrote: () => client.virtualAccounts.deactivate(account, { idempotencyKey: 'job-17\n' }),
      gets: 'idempotencyKey: expected 1 to 255 printable ASCII characters without a space at either end, got a string that breaks this rule (leave it out for a fresh UUID)',
    },
    {
      mistake: 'passes a number as the idempotency key',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate(account, { idempotencyKey: 17 }),
      gets: 'idempotencyKey: expected 1 to 255 printable ASCII characters without a space at either end, got 17 (leave it out for a fresh UUID)',
    },
    {
      mistake: 'passes the idempotency key as a header',
      wrote: () => client.virtualAccounts.deactivate(account, { headers: { 'Idempotency-Key': 'job-17' } }),
      gets: 'headers: "Idempotency-Key" is set by the option idempotencyKey of a call',
    },
    {
      mistake: 'passes another content type',
      wrote: () => client.virtualAccounts.deactivate(account, { headers: { 'Content-Type': 'text/plain' } }),
      gets: 'headers: expected no Content-Type other than "application/json", which all writes are sent with',
    },
    {
      mistake: 'passes a header with a control character',
      wrote: () => client.virtualAccounts.deactivate(account, { headers: { 'X-Reason': 'a\u0000b' } }),
      gets: 'headers["X-Reason"]: cannot be sent: expected a valid header name, and a Latin-1 value without line breaks or other control characters (the value is not shown)',
    },
    {
      mistake: 'passes an option of lists',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate(account, { concurrency: 1 }),
      gets: 'concurrency: unknown option. Options of a write are: body, headers, idempotencyKey, maxRetries, schema, signal, timeout, totalTimeout',
    },
    {
      mistake: 'passes an option of the client',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate(account, { onEvent: console.log }),
      gets: 'options.onEvent: set it on the client: new Client({ onEvent }) or client.withOptions({ onEvent })',
    },
    {
      mistake: 'sends the result of a division by zero',
      wrote: () => client.virtualAccounts.deactivate(account, { body: { rate: 0 / 0 } }),
      gets: 'body: expected JSON data, got NaN at "rate"',
    },
    {
      mistake: 'sends a bigint',
      wrote: () => client.virtualAccounts.deactivate(account, { body: { amount: 5n } }),
      gets: 'body: expected JSON data, got a bigint at "amount": send its digits as a string',
    },
    {
      mistake: 'sends a form',
      wrote: () => client.virtualAccounts.deactivate(account, { body: new FormData() }),
      gets: 'body: expected JSON data, got a FormData',
    },
  ],

  'Calling other endpoints': [
    {
      mistake: 'swaps method and path',
      // @ts-expect-error
      wrote: () => client.request('/refunds', 'POST'),
      gets: 'method: expected one of GET, POST, PUT, PATCH, DELETE, got "/refunds"',
    },
    {
      mistake: 'leaves out the method',
      // @ts-expect-error
      wrote: () => client.request('/refunds'),
      gets: 'method: expected one of GET, POST, PUT, PATCH, DELETE, got "/refunds"',
    },
    {
      mistake: 'passes a method that is not supported',
      // @ts-expect-error
      wrote: () => client.request('HEAD', '/refunds'),
      gets: 'method: expected one of GET, POST, PUT, PATCH, DELETE, got "HEAD"',
    },
    {
      mistake: 'passes a whole URL',
      wrote: () => client.request('GET', `${baseUrl}/refunds`),
      gets: `path: expected a path that starts with one "/", got "${baseUrl}/refunds"`,
    },
    {
      mistake: 'leaves out the slash',
      wrote: () => client.request('GET', 'refunds'),
      gets: 'path: expected a path that starts with one "/", got "refunds"',
    },
    {
      mistake: 'puts the query into the path',
      wrote: () => client.request('GET', '/refunds?page=2'),
      gets: 'path: expected no query or fragment (pass `query` instead)',
    },
    {
      mistake: 'puts ".." into the path',
      wrote: () => client.request('GET', '/refunds/../customers'),
      gets: 'path: expected no "." or ".." segments',
    },
    {
      mistake: 'sends a body with GET',
      wrote: () => client.request('GET', '/refunds', { body: { id: 5 } }),
      gets: 'body: expected none, as GET sends no body',
    },
    {
      mistake: 'sends an idempotency key with GET',
      wrote: () => client.request('GET', '/refunds', { idempotencyKey: 'job-17' }),
      gets: 'idempotencyKey: expected none, as GET is not a write',
    },
    {
      mistake: 'calls the query `params`, as axios does',
      // @ts-expect-error
      wrote: () => client.request('GET', '/refunds', { params: { page: 2 } }),
      gets: 'params: unknown option. Options of request are: body, headers, idempotencyKey, maxRetries, query, route, schema, signal, timeout, totalTimeout',
    },
    {
      mistake: 'calls the body `json`, as ky does',
      // @ts-expect-error
      wrote: () => client.request('POST', '/refunds', { json: { id: 5 } }),
      gets: 'json: unknown option. Options of request are: body, headers, idempotencyKey, maxRetries, query, route, schema, signal, timeout, totalTimeout',
    },
    {
      mistake: 'passes the query as text',
      // @ts-expect-error
      wrote: () => client.request('GET', '/refunds', { query: 'page=2' }),
      gets: 'query: expected a plain object, got a string',
    },
    {
      mistake: 'destructures `request`: that works',
      wrote: async () => {
        service.fail({ with: Response.json({ balance: 5 }) })
        const { request } = client
        return (await request('get' as 'GET', '/balance')).data
      },
      works: { balance: 5 },
    },
  ],

  'Changing options': [
    {
      mistake: 'misspells an option',
      // @ts-expect-error
      wrote: () => client.withOptions({ timeOut: 5000 }),
      gets: 'timeOut: unknown option. Client options are: allowInsecureHttp, apiKey, baseUrl, concurrency, fetch, headers, maxResponseBytes, maxRetries, onEvent, timeout, totalTimeout',
    },
    {
      mistake: 'passes nothing',
      // @ts-expect-error
      wrote: () => client.withOptions(),
      gets: 'options: expected an object, got undefined',
    },
    {
      mistake: 'passes a wrong value',
      wrote: () => client.withOptions({ maxRetries: -1 }),
      gets: 'maxRetries: expected a whole number of at least 0, got -1',
    },
    {
      mistake: 'changes the options of a client after it was created: that has no effect',
      wrote: async () => {
        const options = { baseUrl, apiKey, fetch, headers: { 'X-Team': 'a' } }
        const client = new Client(options)
        options.apiKey = 'another key'
        options.headers['X-Team'] = 'b'
        await client.transactions.list()
        return service.requests[0]?.headers.get('X-Team')
      },
      works: 'a',
    },
  ],

  'Reading errors': [
    {
      mistake: 'uses the key of another environment',
      wrote: () => client.withOptions({ apiKey: 'another key' }).transactions.list(),
      getsFromCall:
        'GET /transactions (page 1): HTTP 401: "The Api-Key header is wrong." (1 attempt). Check that apiKey belongs to this baseUrl.',
    },
    {
      mistake: 'has a baseUrl with the wrong path',
      wrote: () => client.withOptions({ baseUrl: `${baseUrl}/v1` }).virtualAccounts.deactivate(account),
      getsFromCall:
        'POST /customers/c1/virtual_accounts/v1/deactivate: HTTP 404: "There is nothing at /v1/customers/c1/virtual_accounts/v1/deactivate." (1 attempt). Check the path and the ids in it, and the path of baseUrl.',
    },
    {
      mistake: 'takes `timeout` for seconds',
      wrote: () => {
        service.fail({ with: 'hang' })
        return client.withOptions({ timeout: 5 }).transactions.list()
      },
      getsFromCall:
        'GET /transactions (page 1): no complete response within the timeout of 5 ms (1 attempt). Raise `timeout` if the service needs longer.',
    },
    {
      mistake: 'returns a body instead of a Response from fetch',
      // @ts-expect-error
      wrote: () => client.withOptions({ fetch: async () => ({ data: [] }) }).transactions.list(),
      getsFromCall:
        'GET /transactions (page 1): fetch did not resolve with a Response that can be read: "expected fetch to resolve with a Response" (1 attempt). Check the option `fetch`: see error.cause.',
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
        'GET /transactions (page 1): fetch did not resolve with a Response that can be read (1 attempt). Check the option `fetch`: see error.cause.',
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
  ],

  'Testing with a FakeService': [
    {
      mistake: 'misspells an option',
      // @ts-expect-error
      wrote: () => new FakeService({ latencyMs: 5 }),
      gets: 'latencyMs: unknown option. FakeService options are: apiKey, baseUrl, defaultLimit, latency, maxLimit, transactions',
    },
    {
      mistake: 'passes the number of transactions',
      // @ts-expect-error
      wrote: () => new FakeService({ transactions: 25 }),
      gets: 'transactions: expected an array, got 25',
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
      gets: 'status: unknown option. Options of a fault are: method, path, times, with',
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
      gets: 'time: unknown option. Options of a fault are: method, path, times, with',
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
      mistake: 'asks for an account by one id',
      // @ts-expect-error
      wrote: () => service.isActive('v1'),
      gets: 'account: expected { customerId, virtualAccountId }, both strings, got a string',
    },
    {
      mistake: 'generates transactions from a text',
      // @ts-expect-error
      wrote: () => sampleTransactions('25'),
      gets: 'count: expected a whole number of at least 0, got a string',
    },
  ],
}

describe.each(Object.entries(mistakes))('%s: a user', (_section, rows) => {
  test.each(rows.map(row => [titleOf(row), row] as const))('%s', async (_title, row) => {
    const { wrote, gets, getsFromCall, works } = row
    const outcome = await settle(wrote)
    if (gets === undefined && getsFromCall === undefined) {
      expect(outcome).toEqual({ value: works })
      return
    }
    if (!('error' in outcome)) throw new Error('nothing was thrown')
    const { name, message } = outcome.error as Error
    expect(message).toBe(gets ?? getsFromCall)
    expect(name === 'TypeError').toBe(gets !== undefined)
    if (gets !== undefined) expect(service.requests).toEqual([])
  })
})

function titleOf({ mistake, gets, getsFromCall }: Mistake): string {
  const message = gets ?? getsFromCall
  // A percent sign would be a placeholder.
  return message === undefined ? mistake : `${mistake}, and reads "${message}"`.replaceAll('%', '%%')
}

async function settle(run: () => unknown): Promise<{ value: unknown } | { error: unknown }> {
  try {
    return { value: await run() }
  } catch (error) {
    return { error }
  }
}
