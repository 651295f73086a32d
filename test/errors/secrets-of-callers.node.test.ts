import { inspect } from 'node:util'
import { Client, type ClientEvent } from 'virtual-accounts'
import { describe, expect, test, vi } from 'vitest'
import { clientOf, FaultServer, json } from '../http/fault-server.ts'
import { status, stubbed } from '../http/stub.ts'
import { account, apiErrorOf, checkEach, rejectionOf } from '../support.ts'
import { everythingOf, expectNoKey, failing, key, plainKey } from './key.ts'

describe('an error of a custom fetch', () => {
  test('may contain the key anywhere, and it is still not shown', () =>
    checkEach<[string, (init: RequestInit) => unknown]>(
      [
        [
          'the request’s init',
          init => Object.assign(new Error('failed'), { init, request: { init }, config: init }),
        ],
        ['its headers in the message', init => new Error(`failed with ${JSON.stringify(init.headers)}`)],
        [
          'the key URL-encoded in the message',
          () => new Error(`GET https://x/?key=${encodeURIComponent(key)}`),
        ],
        ['the key in its name', () => Object.assign(new Error('x'), { name: key })],
        // Only word characters make a code.
        ['the key in its code', () => Object.assign(new Error('x'), { code: `E_${plainKey}` })],
        [
          'the key in a code about certificates',
          () => Object.assign(new Error('x'), { code: `CERT_${plainKey}` }),
        ],
        [
          'causes that contain it',
          init => new Error('a', { cause: new Error(key, { cause: { init, message: key } }) }),
        ],
        ['several errors that contain it', () => new AggregateError([new Error(key)], `all failed: ${key}`)],
        ['a string', () => `failed: ${key}`],
        ['an object that is not an error', init => ({ message: key, init })],
        ['the init itself', init => init],
        ['a Request', init => new Request('https://api.example.com', { headers: init.headers ?? {} })],
      ],
      async ([, problem]) => {
        const events: ClientEvent[] = []
        const fetch = async (_url: string, init: RequestInit): Promise<Response> => {
          throw problem(init)
        }
        const onEvent = (event: ClientEvent) => void events.push(event)
        for (const apiKey of [key, plainKey]) {
          const options = { baseUrl: 'https://api.example.com', fetch, onEvent, maxRetries: 0 }
          const client = new Client({ ...options, apiKey })

          const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))

          expectNoKey(error, apiKey)
          expectNoKey(events.splice(0), apiKey)
        }
      },
    ))

  test('keeps its name, message and code where they do not contain the key', async () => {
    const problem = Object.assign(new RangeError('proxy said no'), { code: 'EPROXY' })
    const { client } = stubbed([], { fetch: () => Promise.reject(problem), maxRetries: 0 })
    const { cause } = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
    expect(cause).toMatchObject({ name: 'RangeError', message: 'proxy said no', code: 'EPROXY' })
  })

  test('may contain the key in a response body, and the key is still not shown', async () => {
    const fetch = async (_url: string, init: RequestInit) =>
      new Response(
        new ReadableStream({
          pull(controller) {
            controller.error(Object.assign(new Error(`lost ${JSON.stringify(init.headers)}`), { init }))
          },
        }),
      )
    const { client, events } = stubbed([], { fetch, apiKey: plainKey, maxRetries: 0 })
    expectNoKey(await apiErrorOf('connection', client.virtualAccounts.deactivate(account)), plainKey)
    expectNoKey(events, plainKey)
  })
})

test('a key is redacted from 8 characters on: a shorter one would shred bodies', async () => {
  await using server = await FaultServer.start(
    json({ message: 'a mistake' }, 400, { echo: 'mis' }),
    json({ message: '12345678' }, 400, { echo: '12345678' }),
  )
  const client = clientOf(server, { apiKey: 'mis' })
  const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
  expect(error.body).toEqual({ message: 'a mistake' })
  await failing('http', server, { apiKey: '12345678' })
})

describe('inspecting', () => {
  test('a client, its parts, lists, pages and results shows no key', async () => {
    const { client } = stubbed([() => Response.json({ data: [], page: 1, totalItems: 0, limit: 20 })], {
      apiKey: key,
    })
    const things = [
      client,
      client.virtualAccounts,
      client.transactions,
      client.withOptions({ timeout: 1 }),
      client.transactions.list(),
      client.transactions.list()[Symbol.asyncIterator](),
      await client.transactions.list(),
      await client.virtualAccounts.deactivate(account),
    ]
    for (const thing of things) {
      expect(inspect(thing, { showHidden: true, depth: 10, getters: true })).not.toContain('sk_live')
      if (!(thing instanceof Object && 'then' in thing)) {
        expect(JSON.stringify(thing) ?? '').not.toContain('sk_live')
      }
    }
  })

  test('a client with calls in flight shows no key', async () => {
    const { client } = stubbed(['hang'], { apiKey: plainKey })
    const controller = new AbortController()
    const { signal } = controller
    const calls = [
      client.virtualAccounts.deactivate(account, { signal }),
      client.transactions.list({}, { signal }),
    ]
    const settled = calls.map(rejectionOf)
    await new Promise(setImmediate)
    expect(inspect([client, calls, signal], { showHidden: true, depth: 10 })).not.toContain(plainKey)
    controller.abort('done')
    expect(await Promise.all(settled)).toMatchObject([{ cause: 'done' }, { cause: 'done' }])
  })
})

describe('a TypeError about an option', () => {
  test('does not show a key that cannot be sent', () =>
    checkEach(
      ['bad\nsecret_key', 'bad\0secret_key', 'secret_key ', '\tsecret_key', 'secret_key_€'],
      apiKey => {
        let error: unknown
        try {
          new Client({ baseUrl: 'https://api.example.com', apiKey })
        } catch (thrown) {
          error = thrown
        }
        expect(error).toBeInstanceOf(TypeError)
        expect(everythingOf(error)).not.toContain('secret_key')
      },
    ))

  test('does not show what was in baseUrl or headers', () => {
    for (const options of [
      { baseUrl: 'https://user:secret_key@api.example.com' },
      { baseUrl: 'https://api.example.com/?key=secret_key' },
      { headers: { 'x-key': 'secret_key\nx' } },
      { headers: { 'api-key': 'secret_key' } },
      { headers: [['x', 'secret_key', 'y']] as never },
    ]) {
      let error: unknown
      try {
        new Client({ baseUrl: 'https://api.example.com', apiKey: plainKey, ...options })
      } catch (thrown) {
        error = thrown
      }
      expect(error).toBeInstanceOf(TypeError)
      expect(everythingOf(error)).not.toContain('secret_key')
    }
  })
})

test('the data of a success is never redacted', async () => {
  const { client } = stubbed([() => Response.json({ key: plainKey }, { headers: { echo: plainKey } })], {
    apiKey: plainKey,
  })
  const { data } = await client.virtualAccounts.deactivate(account)
  expect(data).toEqual({ key: plainKey })
})

test('a call that waits for its turn shows no key in its path, although nothing was sent with it', async () => {
  for (const apiKey of [plainKey, async () => plainKey]) {
    const busy = status(429, { 'retry-after': '2' })
    const { client, events } = stubbed([busy, busy, status(200)], { apiKey })
    const first = Promise.all([1, 2].map(() => client.virtualAccounts.deactivate(account)))
    await vi.waitFor(() => expect(events.filter(({ type }) => type === 'retry')).toHaveLength(2))
    const waiting: ClientEvent[] = []
    const derived = client.withOptions({ onEvent: event => void waiting.push(event), totalTimeout: 100 })
    expectNoKey(await apiErrorOf('timeout', derived.request('DELETE', `/api-keys/${plainKey}`)), plainKey)
    expect(waiting.map(({ type }) => type)).toEqual(['wait', 'failure'])
    expectNoKey(waiting, plainKey)
    await first
  }
})

test('the events of a successful call contain no key', async () => {
  const { client, events } = stubbed([status(503, { echo: key }), status(200, { echo: key })], {
    apiKey: key,
  })
  await client.virtualAccounts.deactivate(account)
  expect(events.map(({ type }) => type)).toEqual([
    'request',
    'response',
    'retry',
    'request',
    'response',
    'success',
  ])
  expectNoKey(events)
})
