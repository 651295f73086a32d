import { test } from 'vitest'
import { account } from '../support.ts'
import { checkMistakes, client, type Mistake, service } from './mistakes.ts'

// The mistakes that people make with this package, each with the message that they get.

const anId = 'expected an id, a string without white space around it, got '

const { deactivate } = client.virtualAccounts

/** Plain JavaScript: the compiler rejects most of these arguments. */
const ref = (mistake: string, account: unknown, gets: string | RegExp): Mistake => ({
  mistake,
  wrote: () => deactivate(account as never),
  gets,
})
const id = (mistake: string, virtualAccountId: unknown, gets: string | RegExp) =>
  ref(mistake, { ...account, virtualAccountId }, gets)
const option = (mistake: string, options: unknown, gets: string | RegExp): Mistake => ({
  mistake,
  wrote: () => deactivate(account, options as never),
  gets,
})
const request = (mistake: string, args: readonly unknown[], gets: string | RegExp): Mistake => ({
  mistake,
  wrote: () => client.request(...(args as ['GET', string])),
  gets,
})

const expectedAccount = 'account: expected { customerId, virtualAccountId }, got '

test('the account of a write', () =>
  checkMistakes([
    ref('passes an id', 'v1', `${expectedAccount}"v1"`),
    ref('passes an array of accounts', [account], `${expectedAccount}an array`),
    ref(
      'forgets to await it',
      Promise.resolve(account),
      `${expectedAccount}a Promise (is an await missing?)`,
    ),
    ref(
      'writes the ids as in the path',
      { customer_id: 'c1' },
      `customerId: ${anId}undefined (the account has \`customer_id\`)`,
    ),
    ref(
      'passes the idempotency key with it',
      { ...account, idempotencyKey: 'job-17' },
      'idempotencyKey: pass `idempotencyKey` in the second argument',
    ),
    ref(
      'passes the idempotency key with it, misspelt',
      { ...account, idempotency_key: 'job-17' },
      'idempotency_key: pass `idempotencyKey` in the second argument',
    ),
    ...['signal', 'timeout', 'totalTimeout', 'maxRetries', 'headers'].map(name =>
      ref(
        `passes ${name} with it`,
        { ...account, [name]: 'given' },
        `${name}: pass \`${name}\` in the second argument`,
      ),
    ),
    id('passes a number', 17, `virtualAccountId: ${anId}17`),
    id(
      'forgets to await an id',
      Promise.resolve('v1'),
      /^virtualAccountId: .* a Promise \(is an await missing/,
    ),
    id('writes a missing id into a text', `${undefined}`, `virtualAccountId: ${anId}"undefined"`),
    id('writes an object into a text', `${{}}`, `virtualAccountId: ${anId}"[object Object]"`),
    id('reads an id from a file', 'v1\n', `virtualAccountId: ${anId}"v1\\u000a"`),
    id('passes a path', '..', `virtualAccountId: ${anId}".."`),
    id('cuts an emoji', '💶'.slice(0, 1), `virtualAccountId: ${anId}"\\ud83d"`),
  ]))

test('options of a write', () =>
  checkMistakes([
    {
      mistake: 'passes them third, as in other SDKs',
      // @ts-expect-error
      wrote: () => deactivate(account, {}, { idempotencyKey: 'job-17' }),
      gets: 'too many arguments: expected ({ customerId, virtualAccountId }, { idempotencyKey, … })',
    },
    option(
      'writes snake case',
      { idempotency_key: 'job-17' },
      /^idempotency_key: .* Did you mean `idempotencyKey`\? Options of a write are: [^"]*$/,
    ),
    option('passes the key alone', 'job-17', 'options: expected a plain object, got a string'),
    option(
      'passes a class instance',
      new (class Job {
        idempotencyKey = 'job-17'
      })(),
      'options: expected a plain object, got a class instance',
    ),
    option(
      'passes one of the client',
      { onEvent: () => {} },
      /^onEvent: unknown option\. Options of a write are: .* go into new Client\(\{ … \}\)\.$/,
    ),
    option(
      'passes the time as the key',
      { idempotencyKey: 1764000000000 },
      'idempotencyKey: expected 1 to 255 printable ASCII characters without a space at either end, got a number',
    ),
    option(
      'passes the controller',
      { signal: new AbortController() },
      /^signal: .*\(pass controller\.signal\)$/,
    ),
    option('sends a bigint', { body: { amount: 5n } }, 'body: expected JSON data, got a bigint at "amount"'),
    option(
      'sends an integer that has lost digits',
      { body: { account: 2 ** 53 } },
      'body: an integer above 2^53 - 1 has lost digits at "account". Send it as a string.',
    ),
    option('divides by zero', { body: { rate: 0 / 0 } }, 'body: expected JSON data, got NaN at "rate"'),
    option(
      'makes a text of the body',
      { body: JSON.stringify({ reason: 'audit' }) },
      'body: expected a value, got a JSON string. Remove JSON.stringify.',
    ),
    option('sends a form', { body: new FormData() }, 'body: expected JSON data, got a FormData'),
  ]))

test('calling other endpoints', () =>
  checkMistakes([
    request(
      'swaps method and path',
      ['/refunds', 'POST'],
      'method: expected one of GET, POST, PUT, PATCH, DELETE, got "/refunds": request(method, path, { … })',
    ),
    request('leaves out the slash', ['GET', 'refunds'], /^path: expected a path that starts with one "\/"/),
    request(
      'passes another method',
      ['HEAD', '/refunds'],
      /^method: .* POST, PUT, PATCH, DELETE, got "HEAD": request\(/,
    ),
    request('passes a whole URL', ['GET', `${service.baseUrl}/refunds`], /^path: .* starts with one "\/"/),
    request(
      'writes a query',
      ['GET', '/refunds?page=2'],
      /^path: .* or query \(pass .*, got "\/refunds\.\.\."$/,
    ),
    request(
      'makes a path of a missing id',
      ['GET', `/customers/${undefined}/notes`],
      /^path: "undefined" is not a valid id$/,
    ),
    request('reads with a body', ['GET', '/refunds', { body: {} }], /^body: a GET has none/),
    request(
      'reads with a key',
      ['GET', '/refunds', { idempotencyKey: 'k' }],
      /^idempotencyKey: a GET has none/,
    ),
    request('calls the query `params`', ['GET', '/refunds', { params: {} }], /^params: unknown .*\bquery\b/),
    request(
      'passes the query as text',
      ['GET', '/refunds', { query: 'page=2' }],
      /^query: .* plain object, got a string$/,
    ),
    request(
      'passes the body third',
      ['POST', '/refunds', {}, {}],
      'too many arguments: expected request(method, path, { … })',
    ),
  ]))

test('what looks like a mistake, but works', () =>
  checkMistakes([
    {
      mistake: 'destructures `request`, and writes a method in lower case',
      wrote: async () => {
        service.fail({ with: Response.json({ balance: 5 }) })
        const { request } = client
        return (await request('get' as 'GET', '/balance')).data
      },
      works: { balance: 5 },
    },
  ]))
