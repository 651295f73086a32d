import type { Page, Transaction } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import { account, apiErrorOf } from '../support.ts'
import { json, respond, serve } from './fault-server.ts'

const html = '<!doctype html><title>Sign in</title><p>Please sign in.'
const transaction = (rest = '') => `{"id":"t1","amount":10.12,"currency":"EUR","description":"Rent"${rest}}`
const envelope = (items: string, rest = '"page":1,"totalItems":1,"limit":20') => `{"data":[${items}],${rest}}`

/** A list request, a write and a GET that all get the same body. */
async function given(body: string | Uint8Array, headers: Record<string, string> = {}) {
  const service = await serve(respond(200, body, { 'content-type': 'application/json', ...headers }))
  const { server, client } = service
  return {
    server,
    list: async () => (await client.transactions.list()) as Page<Transaction & { x?: unknown }>,
    write: () => client.virtualAccounts.deactivate(account),
    get: () => client.request('GET', '/anything'),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}

describe.concurrent('the body of a 2xx response', () => {
  test.each([
    ['an HTML page', html, 'text/html; charset=utf-8', html, 'login page'],
    ['an empty body', '', 'application/json', undefined, 'client.request'],
    ['text', 'OK', 'text/plain', 'OK', 'client.request'],
    ['text', '<error/>', 'application/xml', '<error/>', 'login page'],
    ['JSON that ends too early', '{"data":[{"id":"t1"', 'application/json', '{"data":[{"id":"t1"', 'proxy'],
    ['text', '{}{}', 'application/json', '{}{}', 'client.request'],
    ['text', '{"data":NaN}', 'application/json', '{"data":NaN}', 'client.request'],
    [
      'text',
      '{"data":[],"page":01,"totalItems":0,"limit":20}',
      'application/json',
      expect.any(String),
      'client.request',
    ],
  ])(
    'to a list request is an InvalidResponseError that names %s: %j',
    async (found, body, type, seen, hint) => {
      await using service = await given(body, { 'content-type': type })
      const error = await apiErrorOf('invalid-response', service.list())
      expect(error).toMatchObject({ status: 200, attempts: 1, outcomeUnknown: false, page: 1 })
      expect(error.body).toEqual(seen)
      expect(error.message).toContain(`got ${found}`)
      expect(error.message).toContain(hint)
      // A schema validates items: it would not help.
      expect(error.message).not.toContain('pass a `schema`')
      expect(error.message).not.toContain('Please sign in')
      expect(service.server.requests).toHaveLength(1)
    },
  )

  test('to a write is undefined when empty, the value of JSON, and else a string', async () => {
    for (const [body, data, type] of [
      ['', undefined, 'application/json'],
      ['null', null, 'application/json'],
      ['"text"', 'text', 'application/json'],
      ['[1,{"a":null}]', [1, { a: null }], 'application/json'],
      ['[1,{"a":null}]', [1, { a: null }], 'text/plain'],
      ['[1,{"a":null}]', [1, { a: null }], 'text/html'],
      ['OK', 'OK', 'text/plain'],
      ['OK', 'OK', 'application/jsonp'],
      ['{"status":', '{"status":', 'application/octet-stream'],
    ] as const) {
      await using service = await given(body, { 'content-type': type })
      expect((await service.write()).data).toEqual(data)
      expect((await service.get()).data).toEqual(data)
    }
    await using service = await serve(respond(204))
    expect(await service.client.virtualAccounts.deactivate(account)).toMatchObject({
      status: 204,
      data: undefined,
    })
  })

  test.each([
    ['{"status":', 'application/json', 'JSON that ends too early'],
    ['OK', 'application/json; charset=utf-8', 'text'],
    ['OK', 'Application/JSON', 'text'],
    ['OK', 'text/json ;charset=utf-8', 'text'],
    ['{"a":1}}', 'application/problem+json', 'text'],
  ])(
    'to a write is an InvalidResponseError when it claims to be JSON: %j (%s)',
    async (body, type, found) => {
      await using service = await given(body, { 'content-type': type })
      const error = await apiErrorOf('invalid-response', service.write())
      expect(error).toMatchObject({ attempts: 1, outcomeUnknown: true, body })
      expect(error.message).toContain(`got ${found}`)
      expect(error.message).toContain('may have been applied: retry with the same idempotencyKey')
      expect(service.server.requests).toHaveLength(1)
      expect((await apiErrorOf('invalid-response', service.get())).outcomeUnknown).toBe(false)
    },
  )

  test.each(['application/json-seq', 'application/jsonlines', 'text/plain; format=application/json'])(
    'to a write is a string when it claims to be no more than similar to JSON: %s',
    async type => {
      await using service = await given('{"a":1}\n{"a":2}', { 'content-type': type })
      expect((await service.write()).data).toBe('{"a":1}\n{"a":2}')
    },
  )

  test.each([
    [html, 'text/plain'],
    ['<p>Please sign in', 'Text/HTML;charset=utf-8'],
  ])(
    'to a write is an InvalidResponseError with an unknown outcome when it is an HTML page: %s (%s)',
    async (body, type) => {
      await using service = await given(body, { 'content-type': type })
      const error = await apiErrorOf('invalid-response', service.write())
      expect(error).toMatchObject({ attempts: 1, outcomeUnknown: true, body })
      expect(error.message).toContain('HTML')
      expect(error.message).not.toContain('Please sign in')
      expect(service.server.requests).toHaveLength(1)
    },
  )

  test('counts as empty even if its type is text/html', async () => {
    await using service = await given('', { 'content-type': 'text/html' })
    expect((await service.write()).data).toBeUndefined()
  })
})

describe.concurrent('the encoding of a response', () => {
  const invalid: [string, number[]][] = [
    ['Latin-1', [0x22, 0x66, 0xfc, 0x72, 0x22]],
    ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
    ['a character cut in two', [0x22, 0xe2, 0x82, 0x22]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
  ]

  test.each(invalid)(
    'that is not UTF-8 (%s) is an InvalidResponseError, never U+FFFD',
    async (_what, bytes) => {
      await using service = await given(new Uint8Array(bytes))
      for (const call of [service.list, service.write, service.get]) {
        expect((await apiErrorOf('invalid-response', call())).issues).toEqual([
          { path: [], message: 'expected UTF-8, got other bytes' },
        ])
      }
    },
  )

  test('that is not UTF-8 does not hide an error', async () => {
    await using service = await serve(respond(404, new Uint8Array([0x66, 0xfc, 0x72])))
    expect(await apiErrorOf('http', service.client.virtualAccounts.deactivate(account))).toMatchObject({
      status: 404,
      body: 'f\ufffdr',
    })
  })

  test('may be marked by a byte-order mark', async () => {
    await using service = await given(`\ufeff${envelope(transaction())}`)
    expect((await service.list()).data).toHaveLength(1)
    expect((await service.write()).data).toMatchObject({ page: 1 })
    await using failing = await serve(json('\ufeff{"code":7}', 400))
    expect((await apiErrorOf('http', failing.client.virtualAccounts.deactivate(account))).body).toEqual({
      code: 7,
    })
  })

  test('survives packets that end in the middle of a character', async () => {
    const text = JSON.stringify({ text: 'ü€💶'.repeat(50) })
    const bytes = Buffer.from(text)
    await using service = await serve(async socket => {
      socket.setNoDelay(true)
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${bytes.length}\r\n\r\n`,
      )
      for (let at = 0; at < bytes.length; at += 7) {
        socket.write(bytes.subarray(at, at + 7))
        await new Promise(setImmediate)
      }
    })
    expect((await service.client.virtualAccounts.deactivate(account)).data).toEqual(JSON.parse(text))
  })
})

describe.concurrent('hostile JSON', () => {
  const depth = 100_000
  const nested = '['.repeat(depth) + ']'.repeat(depth)

  test('nested 100,000 levels deep is passed through where it is not specified', async () => {
    await using service = await given(envelope(transaction(`,"x":${nested}`)))
    const [item] = (await service.list()).data
    expect(item?.id).toBe('t1')
    expect(Array.isArray(item?.x)).toBe(true)
  })

  test('nested 100,000 levels deep around a long number is a value or an InvalidResponseError', async () => {
    const body = envelope(transaction(`,"x":${'['.repeat(depth)}12345678901234567890${']'.repeat(depth)}`))
    await using service = await given(body)
    for (const call of [service.list, service.write]) {
      const outcome = await call().then(
        () => 'a value',
        (error: { kind?: string }) => error.kind,
      )
      expect(['a value', 'invalid-response']).toContain(outcome)
    }
  })

  test('nested 100,000 levels deep instead of a list is an InvalidResponseError with a short message', async () => {
    await using service = await given(nested)
    const error = await apiErrorOf('invalid-response', service.list())
    expect(error.message.length).toBeLessThan(500)
    expect(() => JSON.stringify(error)).not.toThrow()
  })

  test('nested 100,000 levels deep in an error response is an HttpError', async () => {
    await using service = await serve(json(nested, 400))
    const error = await apiErrorOf('http', service.client.virtualAccounts.deactivate(account))
    expect(error.status).toBe(400)
    expect(() => JSON.stringify(error)).not.toThrow()
  })

  test('with __proto__ and constructor keys changes no prototype', async () => {
    const evil = '"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}'
    await using service = await given(
      envelope(transaction(`,${evil}`), `"page":1,"totalItems":1,"limit":20,${evil}`),
    )

    const page = await service.list()
    const [item] = page.data
    const { data } = await service.write()

    for (const value of [{}, [], page, item, data] as { isAdmin?: boolean }[])
      expect(value.isAdmin).toBeUndefined()
    expect(Object.getPrototypeOf(item)).toBe(Object.prototype)
    expect(JSON.stringify(item)).toContain('"__proto__":{"isAdmin":true}')
  })

  test('with __proto__ keys in an error changes no prototype', async () => {
    await using service = await serve(json('{"__proto__":{"isAdmin":true},"a":[{"__proto__":null}]}', 400))
    const { body } = await apiErrorOf('http', service.client.virtualAccounts.deactivate(account))
    expect((body as { isAdmin?: boolean }).isAdmin).toBeUndefined()
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype)
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  test('with the envelope under __proto__ is not a page', async () => {
    await using service = await given(`{"__proto__":${envelope('')}}`)
    expect((await apiErrorOf('invalid-response', service.list())).issues).not.toEqual([])
  })

  test('with the fields of an item under __proto__ is not a transaction', async () => {
    await using service = await given(envelope(`{"__proto__":${transaction()}}`))
    expect(
      (await apiErrorOf('invalid-response', service.list())).issues.map(({ path }) => path.join('.')),
    ).toContain('data.0.id')
  })

  test('with a duplicate key has its last value, as with JSON.parse', async () => {
    await using service = await given('{"a":1,"a":12345678901234567890,"b":12345678901234567890,"b":2}')
    expect((await service.write()).data).toEqual({ a: '12345678901234567890', b: 2 })
  })

  test('with a million digits in one number keeps them all, and shows none in messages', async () => {
    const digits = '7'.repeat(1_000_000)
    await using service = await given(envelope(transaction(`,"x":${digits}`)))
    const [item] = (await service.list()).data
    expect(item?.x === digits).toBe(true)
    expect(((await service.write()).data as { data: { x: string }[] }).data[0]?.x === digits).toBe(true)

    await using wrong = await given(envelope(transaction(`,"amount":${digits}`)))
    const error = await apiErrorOf('invalid-response', wrong.list())
    expect(error.message).not.toContain('777')
    expect(error.message.length).toBeLessThan(500)
  })

  test.each([
    '1e999999999999999999999',
    '1e-999999999999999999999',
    '0.1e99999999999999999999999999999999999',
  ])('with an absurd exponent (%s) keeps it', async number => {
    await using service = await given(`{"x":${number}}`)
    expect((await service.write()).data).toEqual({ x: number })
  })

  test('with lone surrogates, zeros and line separators in strings is passed through', async () => {
    const text = String.raw`{"a":"\ud800","b":"\u0000","c":"\u2028\u2029","\udfff":"key"}`
    await using service = await given(text)
    expect((await service.write()).data).toEqual(JSON.parse(text))
  })

  test.each([
    ['a fractional page', '"page":1.5,"totalItems":1,"limit":20'],
    ['a page of zero', '"page":0,"totalItems":1,"limit":20'],
    ['a limit of zero', '"page":1,"totalItems":1,"limit":0'],
    ['a negative total', '"page":1,"totalItems":-1,"limit":20'],
    ['a total beyond the safe integers', '"page":1,"totalItems":9007199254740993,"limit":20'],
    ['a total that is a string', '"page":1,"totalItems":"1","limit":20'],
    ['a total that is null', '"page":1,"totalItems":null,"limit":20'],
    ['no limit', '"page":1,"totalItems":1'],
  ])('with %s is not a page', async (_what, rest) => {
    await using service = await given(envelope(transaction(), rest))
    const error = await apiErrorOf('invalid-response', service.list())
    expect(error.issues).toHaveLength(1)
  })

  test('is read in spite of a wrong Content-Type', async () => {
    await using service = await given(envelope(transaction()), {
      'content-type': 'image/png; charset=utf-16',
    })
    expect((await service.list()).data).toHaveLength(1)
    expect((await service.write()).data).toMatchObject({ page: 1 })
  })
})
