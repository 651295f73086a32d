import { Client } from 'virtual-accounts'
import { test } from 'vitest'
import { checkMistakes, client, env, type Mistake, service } from './mistakes.ts'

// The mistakes that people make with this package, each with the message that they get.

const { baseUrl, apiKey, fetch } = service
const { signal } = new AbortController()

/** Plain JavaScript: the compiler rejects most of these options. */
const option = (mistake: string, options: object, gets: string | RegExp): Mistake => ({
  mistake,
  wrote: () => new Client({ baseUrl, apiKey, ...options }),
  gets,
})
const header = (mistake: string, headers: unknown, gets: string | RegExp) =>
  option(mistake, { headers }, gets)

const expectedUrl =
  'baseUrl: expected an absolute https URL ("https://api.example.com/v1") or a path ("/api"), without user, query, fragment, quotes or white space, got '
const expectedKey = 'apiKey: expected a string, a function that returns one, or null to send none, got '
const notSet = ' (is the environment variable set?)'

test('creating a client', () =>
  checkMistakes([
    {
      mistake: 'passes nothing',
      // @ts-expect-error
      wrote: () => new Client(),
      gets: /^apiKey: expected a string, .* got undefined/,
    },
    {
      mistake: 'passes the API key instead of options',
      // @ts-expect-error
      wrote: () => new Client('key'),
      gets: 'options: expected a plain object, got a string',
    },
    {
      mistake: 'passes options second',
      // @ts-expect-error
      wrote: () => new Client({ baseUrl, apiKey }, { timeout: 5_000 }),
      gets: 'too many arguments: expected new Client({ … })',
    },
    {
      mistake: 'forgets `new`',
      // @ts-expect-error
      wrote: () => Client({ baseUrl, apiKey }),
      gets: "Class constructor Client cannot be invoked without 'new'",
    },
    {
      mistake: 'reads the key from an environment variable that is not set, which compiles',
      wrote: () => new Client({ baseUrl, apiKey: env.API_KEY }),
      gets: `${expectedKey}undefined${notSet}`,
    },
    option(
      'writes that variable into a text',
      { apiKey: `${env.API_KEY}` },
      `${expectedKey}"undefined"${notSet}`,
    ),
    option('has an empty variable', { apiKey: '' }, `${expectedKey}an empty string${notSet}`),
    option(
      'reads the key from a file',
      { apiKey: 'key\n' },
      /^apiKey: it has white space or a line break around it, [^_]*$/,
    ),
    option('forgets to await the key', { apiKey: Promise.resolve('key') }, /^apiKey: .* await missing\?\)$/),
    option('forgets baseUrl', { baseUrl: undefined }, `${expectedUrl}undefined${notSet}`),
    option(
      'leaves out the scheme',
      { baseUrl: 'api.example.com/v1' },
      `${expectedUrl}"api.example.com/v1" (is https:// missing?)`,
    ),
    ...['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3', 'sk_live_abc/def+ghi', 'user:passw0rd'].map(
      key =>
        option(
          'swaps the key and the URL',
          { apiKey: 'https://a.example', baseUrl: key },
          `${expectedUrl}a string (is https:// missing?)`,
        ),
    ),
    option(
      'writes an unset variable into a text',
      { baseUrl: `${env.BASE_URL}` },
      `${expectedUrl}"undefined"${notSet}`,
    ),
    option(
      'keeps the quotes of a file',
      { baseUrl: '"https://a.example"' },
      `${expectedUrl}""https://a.example""`,
    ),
    option(
      'reads it from a file',
      { baseUrl: 'https://a.example\n' },
      `${expectedUrl}"https://a.example\\u000a"`,
    ),
    option(
      'uses plain http',
      { baseUrl: 'http://api.example.com' },
      /^baseUrl: expected https\. .* read the API key/,
    ),
    option(
      'has a user in it',
      { baseUrl: 'https://ann:secret@a.example/v1' },
      `${expectedUrl}"...@a.example/v1"`,
    ),
    option(
      'has a query in it',
      { baseUrl: 'https://a.example?token=secret' },
      `${expectedUrl}"https://a.example..."`,
    ),
    option(
      'writes the key in another case',
      { apikey: 'secret' },
      /^apikey: unknown option\. Did you mean `apiKey`\? Client options are: [^"]*$/,
    ),
    option(
      'writes it in two words',
      { 'max-in-flight': 5 },
      /^max-in-flight: unknown option\. Did you mean `maxInFlight`\? /,
    ),
    option('leaves a letter out', { timout: 5 }, /^timout: unknown option\. Did you mean `timeout`\? /),
    option('swaps two letters', { fecth: 5 }, /Did you mean `fetch`\? /),
    option(
      'gets two letters of a long name wrong',
      { concurency_: 5, concurrancie: 5 },
      /Did you mean `concurrency`\? /,
    ),
    option('uses the name of other libraries', { retries: 5 }, /^retries: unknown option\. .*, maxRetries, /),
    option('keeps the quotes of the key', { apiKey: "'sk_live_secret'" }, /^apiKey: it is in quotes, [^_]*$/),
    option(
      'has a variable that nothing replaces',
      { apiKey: '${API' + '_KEY}' },
      /^apiKey: .* or a placeholder\. /,
    ),
    option(
      'writes a promise of the key into a text',
      { apiKey: `${Promise.resolve('key')}` },
      `${expectedKey}"[object Promise]"`,
    ),
    option('writes null into a text', { apiKey: `${null}` }, `${expectedKey}"null"`),
    option('misspells an option', { maxRetry: 5 }, /^maxRetry: unknown option\. Client .*\bmaxRetries\b/),
    option('passes an option of calls', { signal }, /^signal: unknown option\. Client options are: allow/),
    option(
      'writes a duration with its unit',
      { timeout: '30s' },
      /^timeout: .*milliseconds above .* got "30s"$/,
    ),
    option('turns a timeout off', { timeout: 0 }, /^timeout: .*milliseconds above 0, .* got 0$/),
    option('passes a number as text', { maxRetries: '3' }, /^maxRetries: .* number of at least 0, got "3"$/),
    option(
      'sets a flag from a variable',
      { allowInsecureHttp: 'true' },
      /^allowInsecureHttp: .* true or false/,
    ),
    option(
      'forgets to await fetch',
      { fetch: Promise.resolve(fetch) },
      /^fetch: .*function, got a Promise \(is/,
    ),
    option('passes a logger', { onEvent: console }, 'onEvent: expected a function, got a console'),
  ]))

test('headers', () =>
  checkMistakes([
    header('sends the key', { 'Api-Key': 'k' }, /^headers\["Api-Key"\]: .* use the options apiKey and/),
    header(
      'sends an idempotency key',
      { 'Idempotency-Key': 'k' },
      /^headers.* options apiKey and idempotencyKey\./,
    ),
    header(
      'sends a content type',
      { 'Content-Type': 'text/plain' },
      /^headers\["Content-Type"\]: cannot be set here\. /,
    ),
    header('writes a line', 'X-Team: payments', /^headers: expected Headers, an array .* got a string$/),
    header(
      'has a line break in one',
      { 'X-Team': 'payments\n' },
      /^headers\["X-Team"\]: expected a valid name and a value of one line of Latin-1, got a string$/,
    ),
    header(
      'sends a number',
      { 'X-Team': 7 },
      'headers["X-Team"]: expected a valid name and a value of one line of Latin-1, got a number',
    ),
    {
      mistake: 'reads one from a variable that is not set: it is skipped',
      wrote: async () => {
        await client.withOptions({ headers: { 'X-Team': env.TEAM } }).transactions.list()
        return service.requests[0]?.headers.has('X-Team')
      },
      works: false,
    },
  ]))

test('changing the options of a client', () =>
  checkMistakes([
    {
      mistake: 'passes the key instead of options',
      // @ts-expect-error
      wrote: () => client.withOptions('key'),
      gets: 'options: expected a plain object, got a string',
    },
    {
      mistake: 'passes the key of a tenant that is not set',
      wrote: () => client.withOptions({ apiKey: env.TENANT_B_KEY }),
      gets: `apiKey: expected a string, a function that returns one, or null to send none, got undefined${notSet}`,
    },
    {
      mistake: 'changes the object of options afterwards: that has no effect',
      wrote: async () => {
        const options = { baseUrl, apiKey, fetch, headers: { 'X-Team': 'a' } }
        const client = new Client(options)
        options.apiKey = 'another key'
        options.headers['X-Team'] = 'b'
        await client.withOptions({ timeout: 5000 }).transactions.list()
        return service.requests[0]?.headers.get('X-Team')
      },
      works: 'a',
    },
  ]))
