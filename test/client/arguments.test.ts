import type { ClientOptions } from 'virtual-accounts'
import { expect, test } from 'vitest'
import { createClient, service, startService } from '../service.ts'
import { account, checkEach, rejectionOf } from '../support.ts'

// A wrong argument is refused by name before anything is sent. The messages are in mistakes/.

startService()

const schema = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const

/** A TypeError whose message begins with the name of the argument. */
function expectMisuse(error: unknown, name: string): void {
  expect(error).toBeInstanceOf(TypeError)
  expect((error as Error).message.startsWith(`${name}: `), (error as Error).message).toBe(true)
  expect(service.requests).toEqual([])
}

function thrownBy(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test('params of a list that make no sense are refused at once', async () => {
  await checkEach<[name: string, params: unknown]>(
    [
      ['page', { page: 0 }],
      ['page', { page: 1.5 }],
      ['page', { page: null }],
      ['limit', { limit: Number.NaN }],
      ['limit', { limit: '5' }],
      ['query.page', { query: { page: 2 } }],
      ['query.limit', { query: { limit: 2 } }],
      ['query.a', { query: { a: null } }],
      ['query.a', { query: { a: Number.NaN } }],
      ['query.a', { query: { a: { b: 1 } } }],
      ['query.a', { query: { a: '\ud800' } }],
      ['query', { query: null }],
      ['query', { query: new URLSearchParams('a=b') }],
      ['params', null],
      ['params', 5],
    ],
    ([name, params]) =>
      expectMisuse(
        thrownBy(() => createClient().transactions.list(params as object)),
        name,
      ),
  )
})

test('options of a list that make no sense are refused at once', async () => {
  const listener = { aborted: false, addEventListener() {} }
  await checkEach<[name: string, options: unknown]>(
    [
      ['maxItems', { maxItems: -1 }],
      ['concurrency', { concurrency: 0 }],
      ['onMissedItems', { onMissedItems: 'ignore' }],
      ['signal', { signal: { aborted: false } }],
      ['signal', { signal: new EventTarget() }],
      ['signal', { signal: new AbortController() }],
      // Its listener could never be removed again.
      ['signal', { signal: listener }],
      ['verified', { verified: 'yes' }],
      ['schema', { schema: {} }],
      ['timeout', { timeout: 0 }],
      ['options', null],
    ],
    ([name, options]) =>
      expectMisuse(
        thrownBy(() => createClient().transactions.list({}, options as object)),
        name,
      ),
  )
})

test('a path that would lead elsewhere is refused', async () => {
  const client = createClient()
  await checkEach(
    [
      'transactions',
      '',
      null,
      ['/a'],
      '//evil.example',
      '/a?b=c',
      '/a#b',
      '/a\\b',
      '/a\tb',
      '/a ',
      '/a/../b',
      '/a/.',
      '/%2e%2E/b',
      '/.%2e',
      '/\ud800',
    ],
    async path => {
      expectMisuse(await rejectionOf(client.request('GET', path as string)), 'path')
      expectMisuse(
        thrownBy(() => client.list(path as string, {}, { schema })),
        'path',
      )
    },
  )
})

test('a request that makes no sense rejects', async () => {
  const { request } = createClient()
  await checkEach<[name: string, method: unknown, options?: unknown]>(
    [
      ['method', 'HEAD'],
      ['method', ''],
      ['method', undefined],
      ['method', ['GET']],
      ['body', 'GET', { body: {} }],
      ['idempotencyKey', 'GET', { idempotencyKey: 'k' }],
      ['options', 'POST', null],
      ['query', 'POST', { query: 'a=b' }],
      ['signal', 'POST', { signal: {} }],
    ],
    async ([name, method, options]) =>
      expectMisuse(await rejectionOf(request(method as 'GET', '/a', options as object)), name),
  )
})

test('headers that cannot be sent, or that an option sets, are refused without showing their value', async () => {
  await checkEach<[name: string, headers: unknown]>(
    [
      ['headers["api-KEY"]', { 'api-KEY': 'secret' }],
      ['headers["idempotency-key"]', new Headers({ 'Idempotency-Key': 'secret' })],
      ['headers["Content-Type"]', { 'Content-Type': 'text/plain' }],
      ['headers["Content-Length"]', { 'Content-Length': '2' }],
      ['headers["Transfer-Encoding"]', { 'Transfer-Encoding': 'chunked' }],
      ['headers["Expect"]', { Expect: '100-continue' }],
      ['headers["Keep-Alive"]', { 'Keep-Alive': 'timeout=5' }],
      ['headers["Upgrade"]', { Upgrade: 'h2c' }],
      ['headers["no name"]', { 'no name': 'secret' }],
      ['headers["X-Count"]', { 'X-Count': 5 }],
      ['headers["X-List"]', { 'X-List': ['secret'] }],
      ['headers["X-Name"]', { 'X-Name': 'secret ключ' }],
      ['headers', 'x: y'],
      ['headers', null],
      ['headers', ['xy']],
      ['headers', [[1, 'secret']]],
    ],
    async ([name, given]) => {
      const headers = given as Record<string, string>
      const { deactivate } = createClient().virtualAccounts
      for (const error of [
        thrownBy(() => createClient({ headers })),
        thrownBy(() => createClient().withOptions({ headers })),
        await rejectionOf(deactivate(account, { headers })),
      ]) {
        expectMisuse(error, name)
        expect((error as Error).stack).not.toContain('secret')
      }
    },
  )
})

test('no control character but the tab can be sent in a header', async () => {
  for (let code = 0; code <= 0xff; code++) {
    const character = String.fromCharCode(code)
    const isControl = (code < 0x20 && character !== '\t') || code === 0x7f
    const create = () => createClient({ headers: { 'X-Tenant': `secret${character}value` } })
    if (isControl) expectMisuse(thrownBy(create), 'headers["X-Tenant"]')
    else expect(create, `0x${code.toString(16)}`).not.toThrow()
  }
})

test('options of a client that make no sense are refused at construction, and by withOptions', async () => {
  await checkEach<[name: keyof ClientOptions, ...values: unknown[]]>(
    [
      [
        'baseUrl',
        '',
        null,
        'api.example.com',
        'ftp://api.example.com',
        { href: 5 },
        // Over http, anyone on the network can read the key.
        'http://api.example.com',
        'http://127.0.0.1.example.com',
        // Users and passwords, which logs would show.
        'https://user:secret@api.example.com',
        'https://secret@api.example.com',
        'https://:secret@api.example.com',
        'https://@api.example.com',
        'https://api.example.com?a=b',
        'https://api.example.com/#',
        // `URL` would repair these, which leads elsewhere.
        'https://api.example.com\\v1',
        'https://api.example.com/v\t1',
        'https://api.example.com/v1\n',
        ' https://api.example.com',
        'https://api.example.com/v\x7f1',
        'https://api.example.com/v\xa01',
        'https://api.example.com/\ud800',
        'https:api.example.com',
        'https:/api.example.com',
        'https:///api.example.com',
        'https://api.example.com/a/../b',
        'https://api.example.com/%2E%2e/b',
        'https://api.example.com/a/.',
        '//evil.example',
        '/\\evil.example',
      ],
      ['apiKey', '', 7, Promise.resolve('secret'), 'secret\nkey', ' secret', 'ключ-secret'],
      ['allowInsecureHttp', 'yes'],
      ['timeout', -1, '5', 2 ** 31],
      ['maxRetries', 1.5, null],
      ['concurrency', 0],
      ['maxResponseBytes', 0],
      ['fetch', 'node-fetch'],
      ['onEvent', {}],
    ],
    ([name, ...values]) => {
      for (const value of values) {
        const options = { [name]: value } as Partial<ClientOptions>
        for (const create of [() => createClient(options), () => createClient().withOptions(options)]) {
          const error = thrownBy(create)
          expectMisuse(error, name)
          expect(String(error)).not.toContain('secret')
        }
      }
    },
  )
})
