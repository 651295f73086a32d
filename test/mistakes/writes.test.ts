import { test } from 'vitest'
import { account } from '../support.ts'
import { checkMistakes, client, service } from './mistakes.ts'

// The mistakes that people make with this package, each with the message that they get. No other test has these messages.

const { baseUrl } = service
const customer: { id?: string } = {}
const findCustomerId = async () => 'c1'

test('writing', () =>
  checkMistakes([
    {
      mistake: 'passes the ids one after the other',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate('c1', 'v1'),
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
      mistake: 'cuts an id in the middle of an emoji',
      wrote: () => client.virtualAccounts.deactivate({ ...account, customerId: '💶'.slice(0, 1) }),
      gets: 'customerId: expected well-formed Unicode, got a lone surrogate',
    },
    {
      mistake: 'passes the idempotency key with the account',
      wrote: () => client.virtualAccounts.deactivate({ ...account, ...{ idempotencyKey: 'job-17' } }),
      gets: 'account.idempotencyKey: pass it in the second argument',
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
      gets: /^idempotency_key: unknown option. .* are: .*\bidempotencyKey\b/,
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
      mistake: 'passes an option of the client, as another library calls it',
      // @ts-expect-error
      wrote: () => client.virtualAccounts.deactivate(account, { token: 'key' }),
      gets: /^token: unknown option. Options of a write are: /,
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
    {
      mistake: 'uses one idempotency key for two accounts',
      wrote: () => {
        const { virtualAccounts } = client.withOptions({ apiKey: async () => 'test_key' })
        const options = { idempotencyKey: 'job-18' }
        const ids = ['v1', 'v2']
        return Promise.all(
          ids.map(virtualAccountId => virtualAccounts.deactivate({ ...account, virtualAccountId }, options)),
        )
      },
      gets: 'idempotencyKey: expected a key of its own for each write, got that of another write (for the same one at a corrected path, use a new client)',
      sends: true,
    },
  ]))

test('calling other endpoints', () =>
  checkMistakes([
    {
      mistake: 'swaps method and path',
      // @ts-expect-error
      wrote: () => client.request('/refunds', 'POST'),
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
      mistake: 'writes quotes instead of backticks around a path',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the mistake
      wrote: () => client.request('GET', '/customers/${id}/notes'),
      gets: /^path: expected an id, got "\$\{id\}" in it$/,
    },
    {
      mistake: 'writes a path with a placeholder, as a router does',
      wrote: () => client.request('GET', '/customers/:id/notes'),
      gets: 'path: expected an id, got ":id" in it',
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
      gets: /^params: unknown option. .* are: .*\bquery\b/,
    },
    {
      mistake: 'calls the body `json`, as ky does',
      // @ts-expect-error
      wrote: () => client.request('POST', '/refunds', { json: { id: 5 } }),
      gets: /^json: unknown option. .* are: .*\bbody\b/,
    },
    {
      mistake: 'invents an option',
      // @ts-expect-error
      wrote: () => client.request('POST', '/refunds', { priority: 1 }),
      gets: /^priority: .* body, headers, idempotencyKey, maxRetries, query, route, schema, signal, timeout, totalTimeout$/,
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
  ]))
