import { describe, expect, test } from 'vitest'
import { answer, json } from './fault-server.ts'
import { account, failureOf, serve } from './support.ts'

const html = '<!doctype html><title>Sign in</title><p>Please sign in.'
const transaction = (rest = '') => `{"id":"t1","amount":10.12,"currency":"EUR","description":"Rent"${rest}}`
const envelope = (items: string, rest = '"page":1,"totalItems":1,"limit":20') => `{"data":[${items}],${rest}}`

/** What a list, a write and a GET make of one and the same body. */
async function given(body: string | Uint8Array, headers: Record<string, string> = {}) {
  const service = await serve(answer(200, body, { 'content-type': 'application/json', ...headers }))
  const { server, client } = service
  return {
    server,
    list: () => Promise.resolve(client.transactions.list()),
    write: () => client.virtualAccounts.deactivate(account),
    get: () => client.request('GET', '/anything'),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}

describe.concurrent('a 2xx that is no JSON', () => {
  test.each([
    ['HTML', html, 'text/html; charset=utf-8', html],
    ['nothing', '', 'application/json', undefined],
    ['text', 'OK', 'text/plain', 'OK'],
    ['JSON that breaks off', '{"data":[{"id":"t1"', 'application/json', '{"data":[{"id":"t1"'],
    ['two JSON values', '{}{}', 'application/json', '{}{}'],
    ['NaN', '{"data":NaN}', 'application/json', '{"data":NaN}'],
    [
      'a number with a leading zero',
      '{"data":[],"page":01,"totalItems":0,"limit":20}',
      'application/json',
      expect.any(String),
    ],
  ])('but %s, is a ResponseError on a list, and not tried again', async (_what, body, type, seen) => {
    await using service = await given(body, { 'content-type': type })
    const error = await failureOf('response', service.list())
    expect(error).toMatchObject({ status: 200, attempts: 1, outcomeUnknown: false, page: 1 })
    expect(error.body).toEqual(seen)
    expect(error.message).toContain('schema')
    expect(error.message).not.toContain('Please sign in')
    expect(service.server.requests).toHaveLength(1)
  })

  test('on a write: nothing gives undefined, JSON its value, other text a string', async () => {
    for (const [body, data] of [
      ['', undefined],
      ['null', null],
      ['"text"', 'text'],
      ['[1,{"a":null}]', [1, { a: null }]],
      ['OK', 'OK'],
      ['{"status":', '{"status":'],
    ] as const) {
      await using service = await given(body)
      expect((await service.write()).data).toEqual(data)
      expect((await service.get()).data).toEqual(data)
    }
    await using service = await serve(answer(204))
    expect(await service.client.virtualAccounts.deactivate(account)).toMatchObject({
      status: 204,
      data: undefined,
    })
  })

  test.each([html, '{"status":"inactive"}'])(
    'on a write: a proxy’s page (text/html: %s) is a ResponseError, and what became of it is not known',
    async body => {
      await using service = await given(body, { 'content-type': 'Text/HTML;charset=utf-8' })
      const error = await failureOf('response', service.write())
      expect(error).toMatchObject({ attempts: 1, outcomeUnknown: true, body })
      expect(error.message).toContain('HTML')
      expect(error.message).not.toContain('Please sign in')
      expect(service.server.requests).toHaveLength(1)
    },
  )

  test('an empty body of type text/html is an empty body', async () => {
    await using service = await given('', { 'content-type': 'text/html' })
    expect((await service.write()).data).toBeUndefined()
  })
})

describe.concurrent('UTF-8', () => {
  const invalid: [string, number[]][] = [
    ['Latin-1', [0x22, 0x66, 0xfc, 0x72, 0x22]],
    ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
    ['a character cut in two', [0x22, 0xe2, 0x82, 0x22]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
  ]

  test.each(invalid)('that is none (%s) is a ResponseError, never U+FFFD', async (_what, bytes) => {
    await using service = await given(new Uint8Array(bytes))
    for (const call of [service.list, service.write, service.get]) {
      expect((await failureOf('response', call())).issues).toEqual([{ path: [], message: 'expected UTF-8' }])
    }
  })

  test('that is none does not hide an error', async () => {
    await using service = await serve(answer(404, new Uint8Array([0x66, 0xfc, 0x72])))
    expect(await failureOf('http', service.client.virtualAccounts.deactivate(account))).toMatchObject({
      status: 404,
      body: 'f\ufffdr',
    })
  })

  test('may begin with a byte-order mark', async () => {
    await using service = await given(`\ufeff${envelope(transaction())}`)
    expect((await service.list()).data).toHaveLength(1)
    expect((await service.write()).data).toMatchObject({ page: 1 })
    await using failing = await serve(json('\ufeff{"code":7}', 400))
    expect((await failureOf('http', failing.client.virtualAccounts.deactivate(account))).body).toEqual({
      code: 7,
    })
  })

  test('may be cut anywhere by the network', async () => {
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

  test('nested 100,000 levels deep is passed through where nothing is known of it', async () => {
    await using service = await given(envelope(transaction(`,"x":${nested}`)))
    const [item] = (await service.list()).data
    expect(item?.id).toBe('t1')
    expect(Array.isArray(item?.x)).toBe(true)
  })

  test('nested 100,000 levels deep with a long number inside does no harm either', async () => {
    const body = envelope(transaction(`,"x":${'['.repeat(depth)}12345678901234567890${']'.repeat(depth)}`))
    await using service = await given(body)
    for (const call of [service.list, service.write]) {
      const outcome = await call().then(
        () => 'a value',
        (error: { kind?: string }) => error.kind,
      )
      expect(['a value', 'response']).toContain(outcome)
    }
  })

  test('nested 100,000 levels deep, where a list was expected, is a ResponseError of one line', async () => {
    await using service = await given(nested)
    const error = await failureOf('response', service.list())
    expect(error.message.length).toBeLessThan(500)
    expect(() => JSON.stringify(error)).not.toThrow()
  })

  test('nested 100,000 levels deep in an error is that error', async () => {
    await using service = await serve(json(nested, 400))
    const error = await failureOf('http', service.client.virtualAccounts.deactivate(account))
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
    const { body } = await failureOf('http', service.client.virtualAccounts.deactivate(account))
    expect((body as { isAdmin?: boolean }).isAdmin).toBeUndefined()
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype)
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  test('with __proto__ for the envelope is no page', async () => {
    await using service = await given(`{"__proto__":${envelope('')}}`)
    expect((await failureOf('response', service.list())).issues).not.toEqual([])
  })

  test('with __proto__ for an item’s fields is no transaction', async () => {
    await using service = await given(envelope(`{"__proto__":${transaction()}}`))
    expect((await failureOf('response', service.list())).issues.map(({ path }) => path.join('.'))).toContain(
      'data.0.id',
    )
  })

  test('with a key twice counts the last one, as JSON.parse does', async () => {
    await using service = await given('{"a":1,"a":12345678901234567890,"b":12345678901234567890,"b":2}')
    expect((await service.write()).data).toEqual({ a: '12345678901234567890', b: 2 })
  })

  test.each([
    '9007199254740993',
    '12345678.12345678901',
    '1e400',
    '-1e400',
    '1e-400',
    '100000000000000000000001',
  ])('with a number that a double cannot hold (%s) keeps its digits as a string', async number => {
    await using service = await given(envelope(transaction(`,"x":${number},"y":[{"z":${number}}]`)))
    const [item] = (await service.list()).data
    expect(item).toMatchObject({ x: number, y: [{ z: number }], amount: 10.12 })
  })

  test.each([
    ['10.119999999999999', 10.12],
    ['1e2', 100],
    ['1.50', 1.5],
    ['-0', -0],
    ['9007199254740992', 2 ** 53],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['5e-324', 5e-324],
    ['0e999', 0],
  ])('with a number that a double holds (%s) has that number', async (number, value) => {
    await using service = await given(envelope(transaction(`,"x":${number}`)))
    const [item] = (await service.list()).data
    expect(item?.x).toBe(value)
  })

  test.each(['9007199254740993.0', '1e400', '12345678.12345678901'])(
    'with an amount that a double cannot hold (%s) is a ResponseError, not an amount that is silently wrong',
    async amount => {
      await using service = await given(envelope(transaction(`,"amount":${amount}`)))
      const error = await failureOf('response', service.list())
      expect(error.issues.map(({ path }) => path)).toEqual([['data', 0, 'amount']])
      expect(error.message).not.toContain(amount)
    },
  )

  test('with a million digits in one number keeps them all, and shows none', async () => {
    const digits = '7'.repeat(1_000_000)
    await using service = await given(envelope(transaction(`,"x":${digits}`)))
    const [item] = (await service.list()).data
    expect(item?.x === digits).toBe(true)
    expect(((await service.write()).data as { data: { x: string }[] }).data[0]?.x === digits).toBe(true)

    await using wrong = await given(envelope(transaction(`,"amount":${digits}`)))
    const error = await failureOf('response', wrong.list())
    expect(error.message).not.toContain('777')
    expect(error.message.length).toBeLessThan(500)
  })

  test.each([
    '1e999999999999999999999',
    '1e-999999999999999999999',
    '0.1e99999999999999999999999999999999999',
  ])('with an exponent beyond all reason (%s) keeps it', async number => {
    await using service = await given(`{"x":${number}}`)
    expect((await service.write()).data).toEqual({ x: number })
  })

  test('with lone surrogates, zeros and line separators in strings passes them through', async () => {
    const text = String.raw`{"a":"\ud800","b":"\u0000","c":"\u2028\u2029","\udfff":"key"}`
    await using service = await given(text)
    expect((await service.write()).data).toEqual(JSON.parse(text))
  })

  test('with long digits inside strings leaves them alone', async () => {
    const id = '12345678901234567890, 1e400: 0.1234567890123456789'
    await using service = await given(envelope(transaction(`,"x":${JSON.stringify(`"${id}"`)}`)))
    expect((await service.list()).data[0]?.x).toBe(`"${id}"`)
  })

  test.each([
    ['a page that is a fraction', '"page":1.5,"totalItems":1,"limit":20'],
    ['a page of zero', '"page":0,"totalItems":1,"limit":20'],
    ['a limit of zero', '"page":1,"totalItems":1,"limit":0'],
    ['a negative total', '"page":1,"totalItems":-1,"limit":20'],
    ['a total beyond all integers', '"page":1,"totalItems":9007199254740993,"limit":20'],
    ['a total that is a string', '"page":1,"totalItems":"1","limit":20'],
    ['a total that is null', '"page":1,"totalItems":null,"limit":20'],
    ['no limit', '"page":1,"totalItems":1'],
  ])('with %s is no page', async (_what, rest) => {
    await using service = await given(envelope(transaction(), rest))
    const error = await failureOf('response', service.list())
    expect(error.issues).toHaveLength(1)
  })

  test('whose headers lie about type and length of what is sent does no harm', async () => {
    await using service = await given(envelope(transaction()), {
      'content-type': 'image/png; charset=utf-16',
    })
    expect((await service.list()).data).toHaveLength(1)
    expect((await service.write()).data).toMatchObject({ page: 1 })
  })
})

test('hostile JSON with a hundred thousand wrong items is told in one short line with 20 issues', async () => {
  await using service = await given(
    envelope(
      Array(100_000).fill('{"id":1,"amount":"x"}').join(','),
      '"page":1,"totalItems":100000,"limit":100000',
    ),
  )
  const error = await failureOf('response', service.list())
  expect(error.issues).toHaveLength(20)
  expect(error.message.length).toBeLessThan(4000)
  expect(error.message).not.toMatch(/[\r\n]/)
})
