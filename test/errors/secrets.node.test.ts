import { inspect } from 'node:util'
import {
  type AnyApiError,
  Client,
  type ClientEvent,
  type ClientOptions,
  type InvalidResponseError,
  isApiError,
} from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import {
  clientOf,
  closeAfter,
  FaultServer,
  head,
  json,
  reset,
  respond,
  silence,
  stallAfter,
} from '../http/fault-server.ts'
import { status, stubbed } from '../http/stub.ts'
import { account, apiErrorOf, checkEach, checkInParallel, rejectionOf } from '../support.ts'

/** Each special character is escaped somewhere: in a URL, in a pattern or in JSON. */
const key = 'sk_live_9+/=Zx7(.*)$&é?q'
const plainKey = 'sk_live_51HxYzAbCdEfGh'

/** Everything that a log could print of a value. */
function everythingOf(value: unknown): string {
  const parts = [
    inspect(value, { showHidden: true, depth: Infinity, getters: true, maxStringLength: Infinity }),
  ]
  const seen = new Set<unknown>()
  const look = (at: unknown) => {
    if (typeof at === 'string') parts.push(at)
    if (typeof at === 'number') parts.push(String(at))
    if (typeof at !== 'object' || at === null || seen.has(at)) return
    seen.add(at)
    if (at instanceof Headers) look([...at])
    for (const name of Reflect.ownKeys(at)) {
      parts.push(String(name))
      look(Reflect.get(at, name))
    }
    // Getters, too.
    if (isApiError(at) && at.kind === 'invalid-response') look(at.body)
  }
  look(value)
  try {
    parts.push(JSON.stringify(value) ?? '')
  } catch {
    // Circular: searched above.
  }
  parts.push(String(value))
  return parts.join('\n')
}

const hex = (text: string) =>
  [...Buffer.from(text)].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')

/** The spellings in which a service may echo a key. */
function spellingsOf(secret: string): string[] {
  const encoded = encodeURIComponent(secret)
  const lower = encoded.replace(/%../g, code => code.toLowerCase())
  const form = new URLSearchParams({ k: secret }).toString().slice(2)
  return [
    ...new Set([secret, encoded, lower, form, encodeURI(secret), hex(secret), hex(secret).toUpperCase()]),
  ]
}

function expectNoKey(value: unknown, secret = key): void {
  const text = everythingOf(value)
  for (const spelling of spellingsOf(secret)) expect(text).not.toContain(spelling)
}

/** Runs a call that fails, and searches the error, the events and the client for the key. */
async function failing(
  kind: AnyApiError['kind'],
  server: Pick<FaultServer, 'url'>,
  options: Partial<ClientOptions> = {},
  call = (client: Client): PromiseLike<unknown> => client.virtualAccounts.deactivate(account),
) {
  const events: ClientEvent[] = []
  const secret = typeof options.apiKey === 'string' ? options.apiKey : key
  const client = clientOf(server, {
    apiKey: key,
    maxRetries: 1,
    timeout: 10_000,
    onEvent: event => void events.push(event),
    ...options,
  })
  const error = await apiErrorOf(kind, call(client))
  expect(events.at(-1)).toMatchObject({ type: 'failure', error })
  expectNoKey(error, secret)
  expectNoKey(events, secret)
  expectNoKey(client, secret)
  return error
}

const list = (client: Client) => Promise.resolve(client.transactions.list())

describe.concurrent('the key is nowhere in', () => {
  test('a ConnectionError after a reset, a truncated response or garbage', async () => {
    for (const fault of [
      reset,
      closeAfter(head(200, { 'content-length': 99 }), key),
      closeAfter(`${key}\r\n\r\n`),
    ]) {
      await using server = await FaultServer.start(fault)
      await failing('connection', server)
    }
  })

  test('a ConnectionError without a connection', async () => {
    const server = await FaultServer.start()
    await server[Symbol.asyncDispose]()
    await failing('connection', server)
  })

  test('a ConnectionError about a TLS certificate', async () => {
    await using server = await FaultServer.startSecure({}, json({}))
    await failing('connection', server)
  })

  test('a TimeoutError', async () => {
    for (const stall of [silence, stallAfter(head(200, { 'content-length': 99, echo: key }), key)]) {
      await using server = await FaultServer.start(stall)
      await failing('timeout', server, { timeout: 60, maxRetries: 0 })
    }
  })

  test('an HttpError whose headers echo it', () =>
    checkInParallel([400, 401, 404, 409, 302, 503], async code => {
      const [verbatim = '', ...encoded] = spellingsOf(key)
      await using server = await FaultServer.start(
        respond(code, '', {
          'x-echo': verbatim,
          'www-authenticate': `Api-Key realm="x", key="${verbatim}"`,
          location: `https://login.example/?key=${encoded[0]}&again=${encoded[1]}`,
          'x-hex': `${hex(key)} ${hex(key).toUpperCase()}`,
          'set-cookie': `key=${encoded[2]}`,
          'retry-after': 0,
        }),
      )
      const error = await failing('http', server)
      expect(error).toMatchObject({ status: code })
      expect((error as { headers?: Headers }).headers?.get('location')).toMatch(
        /^https:\/\/login\.example\/\?key=/,
      )
    }))

  test('an HttpError whose body echoes it, however it is spelled', () =>
    checkInParallel(spellingsOf(key), async spelling => {
      for (const body of [
        JSON.stringify({
          message: `unknown key ${spelling}`,
          [spelling]: 1,
          deep: [[{ a: [spelling, spelling] }]],
        }),
        JSON.stringify(spelling),
        `Bad key: ${spelling}!`,
        `<a href="/login?key=${spelling}">${spelling}</a>`,
        `{"broken": "${spelling}`,
        `\ufeff{"a":"x${spelling}y"}`,
      ]) {
        await using server = await FaultServer.start(respond(403, body))
        const error = await failing('http', server)
        expect(everythingOf((error as { body?: unknown }).body)).toContain('[api key]')
      }
    }))

  test('an HttpError whose JSON escapes it', async () => {
    const escaped = [...plainKey].map(c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
    await using server = await FaultServer.start(json(`{"a":"${escaped}","${escaped}":[1]}`, 400))
    await failing('http', server, { apiKey: plainKey })
  })

  test('an HttpError whose body echoes a key of digits as a number', async () => {
    const apiKey = '4815162342'
    await using server = await FaultServer.start(
      json(`{"key":${apiKey},"more":[1${apiKey}5,-${apiKey}.25]}`, 400),
    )
    await failing('http', server, { apiKey })
  })

  test('an HttpError whose body contains it too deep to be searched', async () => {
    const depth = 50_000
    await using server = await FaultServer.start(
      json(`${'['.repeat(depth)}${JSON.stringify(plainKey)}${']'.repeat(depth)}`, 400),
    )
    const client = clientOf(server, { apiKey: plainKey })
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(JSON.stringify(error)).not.toContain(plainKey)
  })

  test('an InvalidResponseError about HTML, a wrong page or text', () =>
    checkInParallel(
      [
        ['HTML', `<p>${key} ${encodeURIComponent(key)}</p>`, 'text/html'],
        ['a wrong page', JSON.stringify({ data: key, [key]: [key], page: key }), 'application/json'],
        ['text', `${key}`, 'text/plain'],
      ],
      async ([, body, type]) => {
        await using server = await FaultServer.start(respond(200, body, { 'content-type': type, echo: key }))
        const error = await failing('invalid-response', server, {}, list)
        expect(everythingOf((error as { body?: unknown }).body)).toContain('[api key]')
        expect((error as { headers?: Headers }).headers?.get('echo')).toBe('[api key]')
      },
    ))

  test('an InvalidResponseError of a schema that quotes its input', async () => {
    await using server = await FaultServer.start(
      json({ data: [{ [key]: key }], page: 1, totalItems: 1, limit: 20 }),
    )
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) => ({
          issues: [{ message: `did not expect ${JSON.stringify(value)}`, path: [key, { key }] }],
        }),
      },
    }
    const error = await failing('invalid-response', server, {}, client =>
      client.request('GET', '/x', { schema }),
    )
    expect(JSON.stringify(error)).toContain('did not expect')
    await failing('invalid-response', server, {}, async client => client.list('/x', {}, { schema }))
  })

  test('an InvalidResponseError whose issue has a symbol named after it in its path', async () => {
    await using server = await FaultServer.start(json({}))
    const validate = () => ({ issues: [{ message: 'wrong', path: [Symbol(key), Symbol('other')] }] })
    const schema = { '~standard': { version: 1 as const, vendor: 'test', validate } }
    const error = await failing('invalid-response', server, {}, client =>
      client.request('POST', '/x', { schema }),
    )
    const [issue] = (error as InvalidResponseError).issues
    expect(issue?.path.map(String)).toEqual(['Symbol([api key])', 'Symbol(other)'])
  })

  test('an InvalidResponseError of a schema that throws its input', async () => {
    await using server = await FaultServer.start(json({ key }))
    for (const validate of [
      (value: unknown) => {
        throw new Error(JSON.stringify(value))
      },
      async (value: unknown) => {
        throw new TypeError(key, { cause: value })
      },
    ]) {
      const schema = { '~standard': { version: 1 as const, vendor: 'test', validate } }
      await failing('invalid-response', server, {}, client => client.request('POST', '/x', { schema }))
    }
  })

  test('a PaginationError', async () => {
    await using server = await FaultServer.start(
      json({ data: [], page: 7, totalItems: 0, limit: 20, key }, 200, { echo: key }),
    )
    await failing('pagination', server, {}, list)
  })

  test('an error that names the key of an earlier call', async () => {
    const earlierKey = 'sk_first_key_of_two'
    const keys = [earlierKey, 'sk_second_key_of_two']
    await using server = await FaultServer.start(
      respond(204),
      json({ message: `${earlierKey} was replaced` }, 401),
    )
    const client = clientOf(server, { apiKey: () => keys.shift() as string })
    await client.virtualAccounts.deactivate(account)
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error.body).toEqual({ message: '[api key] was replaced' })
    expectNoKey(error, earlierKey)
  })

  test('an error that names a long one: all of it is left out', async () => {
    const long = Array.from({ length: 20 }, (_, index) => `part_${index}`).join('.')
    await using server = await FaultServer.start(json({ message: `<${long}> <${hex(long)}>` }, 401))
    const error = await failing('http', server, { apiKey: long })
    expect((error as { body?: unknown }).body).toEqual({ message: '<[api key]> <[api key]>' })
  })

  test('an error of a call whose path contains it', async () => {
    await using server = await FaultServer.start(respond(404))
    const call = (client: Client) => client.request('DELETE', `/keys/${plainKey}`)
    const error = await failing('http', server, { apiKey: plainKey }, call)
    expect(error.path).toBe('/keys/[api key]')
  })

  test('an error that names two keys of which one begins with the other', async () => {
    const shorter = 'sk_one_key'
    const keys = [shorter, `${shorter}_and_more`]
    for (const given of [keys, keys.toReversed()]) {
      await using server = await FaultServer.start(respond(503), json(given, 401))
      const left = [...given]
      const error = await failing('http', server, { apiKey: () => left.shift() as string })
      expect((error as { body?: unknown }).body).toEqual(['[api key]', '[api key]'])
    }
  })

  test('an error that names any of the last five keys', async () => {
    const recent = Array.from({ length: 5 }, (_, index) => `sk_key_number_${index + 1}`)
    const keys = [...recent, 'sk_the_newest_key']
    await using server = await FaultServer.start(...recent.map(() => respond(204)), json(recent, 401))
    const client = clientOf(server, { apiKey: () => keys.shift() as string })
    for (const _ of recent) await client.virtualAccounts.deactivate(account)
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error.body).toEqual(Array(5).fill('[api key]'))
  })

  test('an error of a call that others overtook, each with a key of its own', async () => {
    let issued = 0
    let release = () => {}
    const isReleased = new Promise<void>(resolve => {
      release = resolve
    })
    const fetch = async (url: string, init: RequestInit) => {
      if (url.endsWith('/slow')) await isReleased
      return Response.json({ message: `bad ${new Headers(init.headers).get('api-key')}` }, { status: 400 })
    }
    const client = clientOf(
      { url: 'https://api.example.com' },
      {
        fetch,
        apiKey: () => `sk_key_number_${++issued}_of_many`,
      },
    )
    const slow = apiErrorOf('http', client.request('GET', '/slow'))
    for (let call = 0; call < 8; call++) await rejectionOf(client.request('GET', '/fast'))
    release()
    expect((await slow).body).toEqual({ message: 'bad [api key]' })
  })

  test('an error after several attempts with several keys', async () => {
    const keys = ['sk_first_key_of_all', 'sk_second_key_of_all', 'sk_third_key_of_all']
    let called = 0
    await using server = await FaultServer.start(
      respond(503),
      respond(503),
      json({ keys }, 401, { echo: keys.join(' ') }),
    )
    const error = await failing('http', server, { maxRetries: 2, apiKey: () => keys[called++] as string })
    expect(called).toBe(3)
    for (const one of keys) expectNoKey(error, one)
    expect((error as { body?: unknown }).body).toEqual({ keys: Array(3).fill('[api key]') })
  })
})

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

describe('a short key', () => {
  test('is redacted in headers only, as it would shred bodies', async () => {
    await using server = await FaultServer.start(
      json({ message: 'a mistake' }, 400, { echo: 'mis-key mis', other: 'x' }),
    )
    const client = clientOf(server, { apiKey: 'mis' })
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error.headers.get('echo')).toBe('[api key]-key [api key]')
    expect(error.body).toEqual({ message: 'a mistake' })
  })

  test('does not hide headers that have it in their name, as it would hide most', async () => {
    await using server = await FaultServer.start(json({}, 400, { 'x-mistakes': '1' }))
    const client = clientOf(server, { apiKey: 'mis' })
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error.headers.get('x-mistakes')).toBe('1')
  })

  test('is redacted everywhere from 8 characters on', async () => {
    await using server = await FaultServer.start(json({ message: '12345678' }, 400, { echo: '12345678' }))
    await failing('http', server, { apiKey: '12345678' })
  })
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
    expect(await Promise.all(settled)).toEqual(['done', 'done'])
  })
})

describe('a TypeError about an option', () => {
  test.each(['bad\nsecret_key', 'bad\0secret_key', 'secret_key ', '\tsecret_key', 'secret_key_€'])(
    'does not show a key that cannot be sent: %j',
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
  )

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

test('the events of a successful call contain no key', async () => {
  const { client, events } = stubbed([status(503, { echo: key }), status(200, { echo: key })], {
    apiKey: key,
  })
  await client.virtualAccounts.deactivate(account)
  expect(events.map(({ type }) => type)).toEqual(['request', 'response', 'retry', 'request', 'response'])
  expectNoKey(events)
})
