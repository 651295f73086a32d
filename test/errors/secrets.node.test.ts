import { Client, type InvalidResponseError } from 'virtual-accounts'
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
import { createClient } from '../service.ts'
import { account, apiErrorOf, checkInParallel } from '../support.ts'
import { everythingOf, expectNoKey, failing, key, plainKey, spellingsOf } from './key.ts'

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
      const [verbatim = '', upper = '', lower = ''] = spellingsOf(key)
      await using server = await FaultServer.start(
        respond(code, '', {
          'x-echo': verbatim,
          'www-authenticate': `Api-Key realm="x", key="${verbatim}"`,
          location: `https://login.example/?key=${upper}&again=${lower}`,
          'set-cookie': `key=${verbatim}`,
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

  test('an HttpError whose body nearly echoes a key of equal letters ten million times', async () => {
    const apiKey = 'a'.repeat(4_096)
    const body = `${`${apiKey.slice(1)}b`.repeat(2_000)}${apiKey}${apiKey.slice(1)}`
    const fetch = async () => new Response(body, { status: 400 })
    const client = new Client({ baseUrl: 'https://api.example.com', apiKey, fetch })
    const error = await apiErrorOf('http', client.request('GET', '/a'))
    expect(error.body).toMatch(/^(?:\[api key\]|a{1,63}|b)+$/)
  })

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

  test('an error of a call whose path contains it', async () => {
    await using server = await FaultServer.start(respond(404))
    const call = (client: Client) => client.request('DELETE', `/keys/${plainKey}`)
    const error = await failing('http', server, { apiKey: plainKey }, call)
    expect(error.path).toBe('/keys/[api key]')
  })

  test('a message that cuts the target of a redirect, which spells the key differently', async () => {
    for (const length of [140, 160, 170, 180]) {
      const location = `/${'a'.repeat(length)}/${plainKey.slice(0, 4)}\t${plainKey.slice(4)}/x`
      await using server = await FaultServer.start(respond(302, '', { location }))
      const error = await failing('http', server, { apiKey: plainKey })
      expect(error.message).not.toContain(plainKey.slice(0, 6))
    }
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

  test('an error that names the key of its own call, although many others were sent meanwhile', async () => {
    const keys = Array.from({ length: 20 }, (_, index) => `sk_key_number_${index + 1}`)
    const [own] = keys
    const client = createClient({
      apiKey: () => keys.shift() as string,
      fetch: async (_, { headers }) => {
        if (headers['api-key'] !== own) return Response.json({})
        while (keys.length > 0) await client.request('GET', '/others')
        return Response.json({ message: own }, { status: 401 })
      },
    })
    const error = await apiErrorOf('http', client.request('GET', '/own'))
    expect(error.body).toEqual({ message: '[api key]' })
  })

  test('an error after tokens that begin alike, as those of one issuer', async () => {
    const start = 'eyJhbGciOiJSUzI1NiJ9.'.repeat(6)
    let tokens = 0
    const apiKey = () => `${start}${++tokens}.${'signature'.repeat(9)}`
    const fetch = async (_url: string, { headers }: { headers: Record<string, string> }) =>
      Response.json({ message: `bad token ${headers['api-key']}` }, { status: 401 })
    const client = createClient({ apiKey, fetch })
    for (let call = 0; call < 3; call++) {
      const error = await apiErrorOf('http', list(client))
      expect(error.body).toEqual({ message: 'bad token [api key]' })
    }
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
