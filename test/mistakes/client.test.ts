import { Client } from 'virtual-accounts'
import { test } from 'vitest'
import { checkMistakes, client, env, service } from './mistakes.ts'

// The mistakes that people make with this package, each with the message that they get. No other test has these messages.

const { baseUrl, apiKey, fetch } = service
const { signal } = new AbortController()
const readKey = async () => 'key'

test('creating a client', () =>
  checkMistakes([
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
      mistake: 'reads the host from an environment variable that is not set',
      wrote: () => new Client({ baseUrl: `https://${env.HOST ?? ''}/v1`, apiKey }),
      gets: 'baseUrl: expected the host of the service (a placeholder in it, or "https://" twice?)',
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
      mistake: 'joins paths with dots',
      wrote: () => new Client({ baseUrl: 'https://api.example.com/v2/../v1', apiKey }),
      gets: 'baseUrl: expected no "." or ".." segments',
    },
    {
      mistake: 'leaves out the slashes after the scheme',
      wrote: () => new Client({ baseUrl: 'https:api.example.com', apiKey }),
      gets: 'baseUrl: expected an absolute https URL ("https://api.example.com/v1") or a path ("/api"), got a string that is neither (is "https://" missing?)',
    },
    {
      mistake: 'misspells an option',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, maxRetry: 5 }),
      gets: 'maxRetry: unknown option. Client options are: allowInsecureHttp, apiKey, baseUrl, concurrency, fetch, headers, maxResponseBytes, maxRetries, onEvent, timeout, totalTimeout',
    },
    {
      mistake: 'writes an option as other libraries do',
      // @ts-expect-error
      wrote: () => new Client({ baseURL: baseUrl, apiKey }),
      gets: /^baseURL: unknown option. .* are: .*\bbaseUrl\b/,
    },
    {
      mistake: 'writes an option in snake case',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, api_key: apiKey }),
      gets: /^api_key: unknown option. .* are: .*\bapiKey\b/,
    },
    {
      mistake: 'passes an option of calls to the client, as another library calls it',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, params: { page: 2 } }),
      gets: /^params: unknown option. Client options are: /,
    },
    {
      mistake: 'passes an option of calls to the client',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey, signal }),
      gets: /^signal: unknown option. Client options are: /,
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
    {
      mistake: 'passes the idempotency key as a header',
      wrote: () => new Client({ baseUrl, apiKey, headers: { 'Idempotency-Key': 'job-17' } }),
      gets: 'headers: "Idempotency-Key" is set by the option idempotencyKey of a call',
    },
    {
      mistake: 'passes another content type',
      wrote: () => new Client({ baseUrl, apiKey, headers: { 'Content-Type': 'text/plain' } }),
      gets: 'headers: expected no Content-Type other than "application/json", which all writes are sent with',
    },
    {
      mistake: 'passes a header that fetch sets',
      wrote: () => new Client({ baseUrl, apiKey, headers: { 'Content-Length': '2' } }),
      gets: 'headers: "Content-Length" is set by fetch',
    },
    {
      mistake: 'ends baseUrl with the path of a list',
      wrote: () => client.withOptions({ baseUrl: `${baseUrl}/transactions` }).transactions.list(),
      getsFromCall:
        'GET /transactions (page 1): HTTP 404: "There is nothing at /transactions/transactions." Check the path, and that of baseUrl (none, or one such as /v1).',
    },
    {
      mistake: 'uses another scheme',
      wrote: () => new Client({ baseUrl: 'ftp://api.example.com', apiKey }),
      gets: 'baseUrl: expected an absolute https URL ("https://api.example.com/v1") or a path ("/api"), got a string that is neither (it begins with ftp://)',
    },
  ]))

test('changing its options', () =>
  checkMistakes([
    {
      mistake: 'passes the key instead of options',
      // @ts-expect-error
      wrote: () => client.withOptions('sk_1'),
      gets: 'options: expected a plain object, got a string',
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
  ]))
