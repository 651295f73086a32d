import { type Client, type InvalidResponseError, isApiError } from 'virtual-accounts'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { createClient, respondWith, respondWithPage, service, startService } from '../service.ts'
import { account, rejectionOf } from '../support.ts'

startService()

const valid = '{"id":"t1","amount":200,"currency":"AED","description":"Test"}'
const list = () => createClient().transactions.list()

async function invalidResponseOf(call: PromiseLike<unknown>): Promise<InvalidResponseError> {
  const error = await rejectionOf(call)
  if (!isApiError(error) || error.kind !== 'invalid-response')
    throw new Error('expected an InvalidResponseError', { cause: error })
  return error
}

const atLeast = (minimum: number) => `expected a whole number of at least ${minimum}`
const notAList =
  'Is this a list? Its response must be { data, page, totalItems, limit }; `schema` describes one item of `data`. For other endpoints use client.request.'
const notJson =
  'Is this a list? For other endpoints use client.request. A proxy or a login page may also have responded.'
const doesNotFit =
  'If the response is as intended, pass a `schema` that accepts it. The response is in error.body.'
const notTheService = 'Is this the service? A proxy or a login page may have responded: check baseUrl.'
const truncated = 'The response was cut off, often by a proxy: retry.'

describe('a page', () => {
  test('has the data of its response, and what follows from it', async () => {
    respondWith(
      '{"data":[{"id":"93092390482903489084902","amount":200,"currency":"AED","description":"Test transaction 1"}],"page":1,"totalItems":200,"limit":2}',
    )
    const page = await list()
    expect(page).toMatchObject({
      page: 1,
      totalItems: 200,
      limit: 2,
      pageCount: 100,
      hasNextPage: true,
      status: 200,
    })
    expect(page.data).toEqual([
      { id: '93092390482903489084902', amount: 200, currency: 'AED', description: 'Test transaction 1' },
    ])
    const { data } = page
    const plain = { data, page: 1, totalItems: 200, limit: 2, pageCount: 100, hasNextPage: true }
    expect(JSON.parse(JSON.stringify(page))).toEqual(plain)
  })

  test('passes unspecified fields through unchanged', async () => {
    respondWithPage(valid.replace('}', ',"status":"settled","fees":[{"amount":1.5}]}'))
    const { data } = await list()
    expect(data[0]).toEqual({ ...JSON.parse(valid), status: 'settled', fees: [{ amount: 1.5 }] })
  })

  test('may contain __proto__ as a key, which stays a key', async () => {
    respondWithPage(valid.replace('}', ',"__proto__":{"polluted":true}}'))
    const { data } = await list()
    expect(Object.keys(data[0] as object)).toContain('__proto__')
    expect((data[0] as { polluted?: unknown }).polluted).toBeUndefined()
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test.each([
    ['', 'expected JSON, got an empty body', notJson],
    ['Hello', 'expected JSON, got text', notJson],
    ['{"data": x}', 'expected JSON, got text', notJson],
    ['{"data":[{"id":"t', 'expected JSON, got JSON that ends too early', truncated],
    ['[1, 2', 'expected JSON, got JSON that ends too early', truncated],
    ['\n {"data":[{},', 'expected JSON, got JSON that ends too early', truncated],
    ['[1, [2] ', 'expected JSON, got text', notJson],
    ['[[1], [2', 'expected JSON, got JSON that ends too early', truncated],
    ['{"data":[],"page":{} ,\n', 'expected JSON, got JSON that ends too early', truncated],
    ['[1 2]\n\n', 'expected JSON, got text', notJson],
    ['{1}\n\n', 'expected JSON, got text', notJson],
    ['<html>', 'expected JSON, got an HTML page', notTheService],
    ['[]', 'expected an object, got an array', notAList],
    ['null', 'expected an object, got null', notAList],
    ['{"data":{},"page":1,"totalItems":1,"limit":1}', 'data: expected an array, got an object', notAList],
    ['{"data":[],"page":0,"totalItems":1,"limit":1}', `page: ${atLeast(1)}, got another number`, notAList],
    [
      '{"data":[],"page":1,"totalItems":-1,"limit":1}',
      `totalItems: ${atLeast(0)}, got another number`,
      notAList,
    ],
    [
      '{"data":[],"page":1,"totalItems":1.5,"limit":1}',
      `totalItems: ${atLeast(0)}, got another number`,
      notAList,
    ],
    ['{"data":[],"page":1,"totalItems":1,"limit":"1"}', `limit: ${atLeast(1)}, got a string`, notAList],
    [
      `{"data":[7],"page":1,"totalItems":1,"limit":1}`,
      'data[0]: expected an object, got a number',
      doesNotFit,
    ],
    [
      `{"data":[${valid},{"id":5,"amount":"2","currency":null}],"page":1,"totalItems":2,"limit":2}`,
      'data[1].id: expected a string, got a number; data[1].amount: expected a number, got a string; data[1].currency: expected a string, got null; data[1].description: expected a string, got undefined',
      doesNotFit,
    ],
  ])('that breaks the interface is rejected, with advice that works: %s', async (body, problem, advice) => {
    respondWith(body)
    const error = await invalidResponseOf(list())
    expect(error.message).toBe(`GET /transactions (page 1): the response is not valid: ${problem}. ${advice}`)
    expect(error).toMatchObject({ status: 200, attempts: 1, page: 1, outcomeUnknown: false })
    expect(service.requests).toHaveLength(1)
  })

  test('that is not UTF-8 is rejected', async () => {
    respondWith(new Uint8Array([0x7b, 0xff, 0x7d]))
    expect((await invalidResponseOf(list())).issues).toEqual([
      { path: [], message: 'expected UTF-8, got other bytes' },
    ])
  })

  test('with many issues lists 20 of them, in a message of less than 4 KB', async () => {
    const items = Array.from({ length: 90 }, () => '{}').join()
    respondWithPage(items, '"page":1,"totalItems":90,"limit":90')
    const error = await invalidResponseOf(list())
    expect(error.issues).toHaveLength(20)
    expect(error.issues[4]).toEqual({ path: ['data', 1, 'id'], message: 'expected a string, got undefined' })
    expect(error.message.length).toBeLessThan(4096)
  })

  test('that is rejected appears in `body` only, and in no message, stack or JSON', async () => {
    respondWithPage('{"id":"iban-DE1234"}')
    const error = await invalidResponseOf(list())
    expect(error.body).toEqual({ data: [{ id: 'iban-DE1234' }], page: 1, totalItems: 1, limit: 20 })
    expect(Object.keys(error)).not.toContain('body')
    for (const shown of [error.message, error.stack, JSON.stringify(error)]) {
      expect(shown).not.toContain('iban-DE1234')
    }
  })

  test('that is empty before the end of the list is rejected', async () => {
    respondWithPage('', '"page":3,"totalItems":25,"limit":10')
    const error = await rejectionOf(createClient().transactions.list({ page: 3 }))
    expect(String(error)).toMatch(
      /page 3\): page 3 is empty, although totalItems is 25 at a limit of 10\. The service contradicts itself: report it to the service's owner\.$/,
    )
  })

  const withoutStreams = async (url: string, init: RequestInit) => {
    const response = await service.fetch(url, init)
    const { status, ok, headers } = response
    return { status, ok, headers, body: {}, arrayBuffer: () => response.arrayBuffer() } as unknown as Response
  }

  test.each<[string, () => Client]>([
    ['', () => createClient({ maxResponseBytes: 1000 })],
    [' from a fetch without streams', () => createClient({ maxResponseBytes: 1000, fetch: withoutStreams })],
  ])('over maxResponseBytes%s is rejected, and the message says what to raise', async (_name, create) => {
    const client = create()
    const error = await invalidResponseOf(client.transactions.list())
    expect(error.message).toMatch(
      /expected at most 1000 bytes\. Request smaller pages with `limit`, or raise `maxResponseBytes`\.$/,
    )
  })

  test('of exactly maxResponseBytes is accepted, also from a fetch without streams', async () => {
    const { data, page, totalItems, limit } = await list()
    const { length } = JSON.stringify({ data, page, totalItems, limit })
    for (const fetch of [service.fetch, withoutStreams]) {
      const accepting = createClient({ maxResponseBytes: length, fetch })
      expect((await accepting.transactions.list()).data).toHaveLength(20)
      const rejecting = createClient({ maxResponseBytes: length - 1, fetch })
      await invalidResponseOf(rejecting.transactions.list())
    }
  })

  const response = (parts: object) => {
    const { status, headers } = new Response()
    return { status, headers, body: {}, arrayBuffer: async () => new ArrayBuffer(0), ...parts }
  }
  const read = new Response('{}')
  void read.text()
  const locked = new Response('{}')
  locked.body?.getReader()
  const chunks = { getReader: () => ({ read: async () => ({ value: '{}' }), cancel: async () => {} }) }

  test.each<[string, object | undefined, string]>([
    ['no Response', undefined, 'expected fetch to resolve with a Response'],
    ['a network error', Response.error(), 'fetch resolved with a network error'],
    ['a body that is being read', locked, 'expected an unread body: read that of response.clone()'],
    ['a body that was read', read, 'expected an unread body: read that of response.clone()'],
    ['a body of text', response({ arrayBuffer: async () => '{}' }), 'expected a body of bytes'],
    ['chunks of text', response({ body: chunks }), 'expected a body of bytes'],
    [
      'a body that is too short',
      new Response('{', { headers: { 'Content-Length': '2' } }),
      'the body is shorter than its Content-Length',
    ],
  ])(
    'from a fetch that resolves with %s is a ConnectionError, whose cause says so',
    async (_what, response, message) => {
      const fetch = async () => response as Response
      const error = await rejectionOf(createClient({ fetch, maxRetries: 0 }).transactions.list())
      expect(error).toMatchObject({ kind: 'connection', cause: { message } })
    },
  )
})

describe('a number', () => {
  /** A field of the first transaction, which its type does not have. */
  const unspecified = async (name: string) => Object(await list().then(({ data }) => data[0]))[name]

  // What the service wrote, and what arrives in an unspecified field.
  test.each<[string, number | string]>([
    ['0', 0],
    ['-0', -0],
    ['0.1', 0.1],
    ['10.119999999999999', 10.12],
    ['10.120000000000001', 10.120000000000001],
    ['1.50', 1.5],
    ['100000000000000000000', 100000000000000000000],
    ['1e3', 1000],
    ['1E+21', 1e21],
    ['123456789012345', 123456789012345],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992],
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    ['12345678.12345678901', '12345678.12345678901'],
    ['0.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
    ['0.10000000000000000', 0.1],
    ['0.10000000000000001', 0.1],
    ['-0.10000000000000000', -0.1],
    ['1e400', '1e400'],
    ['1e+400', '1e+400'],
    ['1.5E+001', 15],
    ['-1E400', '-1E400'],
    ['1e-400', '1e-400'],
    ['0e-400', 0],
    ['0e400', 0],
    ['5e-324', 5e-324],
    ['2.5e-324', '2.5e-324'],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['1.7976931348623159e308', '1.7976931348623159e308'],
    ['123456789.12e-0400', '123456789.12e-0400'],
  ])('%s arrives as a number, or as a string, without losing precision', async (written, arrives) => {
    for (const space of ['', ' ', '\n']) {
      respondWithPage(valid.replace('}', `,"balances":[1,${space}${written}${space}]}`))
      expect(await unspecified('balances')).toEqual([1, arrives])
    }
  })

  test('that a double would round is rejected as an amount, and the message says where', async () => {
    respondWithPage(valid.replace('200', '9007199254740993'))
    const error = await invalidResponseOf(list())
    expect(error.message).toContain(
      'data[0].amount: expected a number, got one with more digits than a double holds (kept as a string)',
    )
    expect(error.body).toMatchObject({ data: [{ amount: '9007199254740993' }] })
  })

  test("that a double would round reaches the caller's schema as a string", async () => {
    respondWithPage(valid.replace('200', '9007199254740993'))
    const schema = z.looseObject({ amount: z.union([z.number(), z.string()]).transform(BigInt) })
    const page = await createClient().transactions.list({}, { schema })
    expect(page.data[0]?.amount).toBe(9007199254740993n)
  })

  test('keeps its digits after a byte-order mark, too', async () => {
    respondWith('\ufeff9007199254740993')
    const { data } = await createClient().request('GET', '/number')
    expect(data).toBe('9007199254740993')
  })

  test('inside a string is never changed, however long it is', async () => {
    const strings = [
      '93092390482903489084902',
      '1e400',
      ':9007199254740993,',
      ' 1e999 ',
      '0x1e400"',
      '\\u0031',
    ]
    respondWithPage(valid.replace('}', `,"refs":${JSON.stringify(strings)}}`))
    expect(await unspecified('refs')).toEqual(strings)
  })

  test('is rejected rather than rounded in an engine without source text', async () => {
    const parse = JSON.parse
    JSON.parse = (text, reviver) => parse(text, reviver && ((key, value) => reviver.call(null, key, value)))
    try {
      respondWithPage(valid.replace('}', ',"n":9007199254740993}'))
      expect((await invalidResponseOf(list())).message).toBe(
        'GET /transactions (page 1): the response is not valid: expected numbers that this engine can hold, got one with more digits. Newer JavaScript engines keep every digit (docs/runtimes.md). The text is in error.body.',
      )
      respondWithPage(valid.replace('}', ',"n":1234567890123456,"ref":"x: 9007199254740993 "}'))
      expect(await unspecified('n')).toBe(1234567890123456)

      respondWith('[9007199254740993]')
      const error = await invalidResponseOf(createClient().virtualAccounts.deactivate(account))
      expect(error.issues[0]?.message).toBe(
        'expected numbers that this engine can hold, got one with more digits',
      )
      respondWith('[9007199254740993]', { status: 404 })
      expect(await rejectionOf(list())).toMatchObject({ status: 404, body: '[9007199254740993]' })
    } finally {
      JSON.parse = parse
    }
  })
})

describe('the data of a write', () => {
  const deactivate = () => createClient().virtualAccounts.deactivate(account)

  test.each<[string, BodyInit | null, ResponseInit, unknown]>([
    ['nothing', null, { status: 204 }, undefined],
    ['an empty body', '', { headers: { 'Content-Type': 'text/html' } }, undefined],
    ['JSON', '{"status":"inactive"}', {}, { status: 'inactive' }],
    ['JSON null', 'null', {}, null],
    ['text', 'OK', { status: 202 }, 'OK'],
    [
      'text of a type that only mentions HTML',
      '<p>',
      { headers: { 'Content-Type': 'text/x; of=text/html' } },
      '<p>',
    ],
    ['digits', '9007199254740993', {}, '9007199254740993'],
  ])('is %s', async (_name, body, init, data) => {
    respondWith(body, init)
    const result = await deactivate()
    expect(result.data).toEqual(data)
    expect(result.status).toBe(init.status ?? 200)
  })

  test('is never HTML, which comes from a proxy and is rejected', async () => {
    respondWith('<h1>Welcome</h1>', { headers: { 'content-type': 'Text/HTML' } })
    const error = await invalidResponseOf(deactivate())
    expect(error).toMatchObject({ outcomeUnknown: true, attempts: 1 })
    expect(service.requests).toHaveLength(1)
  })

  test('is never JSON that is nested too deeply to be searched, which is rejected', async () => {
    respondWith(`${'['.repeat(200_000)}9007199254740993${']'.repeat(200_000)}`)
    const error = await invalidResponseOf(deactivate())
    expect(error.issues).toEqual([{ path: [], message: 'expected JSON that is less deeply nested' }])
    expect(error.message).toContain('expected JSON that is less deeply nested')
    expect(String(error.body)).toMatch(/^\[\[/)
  })

  test("is the output of the caller's schema", async () => {
    const schema = z.object({ status: z.string() }).transform(({ status }) => status.toUpperCase())
    respondWith('{"status":"inactive"}')
    const result = await createClient().virtualAccounts.deactivate(account, { schema })
    expect(result.data).toBe('INACTIVE')
    respondWith('')
    const nothing = await createClient().virtualAccounts.deactivate(account, { schema: z.undefined() })
    expect(nothing.data).toBeUndefined()
  })

  test("must match the caller's schema, whose messages are in `issues` only", async () => {
    const schema = z.object({ status: z.literal('inactive', { error: issue => `not ${issue.input}` }) })
    respondWith('{"status":"active"}')
    const error = await invalidResponseOf(createClient().virtualAccounts.deactivate(account, { schema }))
    expect(error.issues).toEqual([{ path: ['status'], message: 'not active' }])
    expect(error.message).toContain('the response is not valid: status does not match the schema.')
    expect(error.message).not.toContain('active,')
    expect(error.message).toMatch(
      / Details are in error\.issues, and the response is in error\.body\. If the response is right, change the schema\.$/,
    )
    expect(error.outcomeUnknown).toBe(true)
  })
})

describe("a caller's schema", () => {
  test('that breaks Standard Schema has not accepted the response either', async () => {
    const path = [{ key: Object.create(null) }]
    const validate = () => ({ issues: [{ message: 7, path }] })
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as never
    const error = await invalidResponseOf(createClient().request('GET', '/transactions', { schema }))
    expect(error.issues).toEqual([{ path: [], message: 'the schema threw TypeError' }])
  })

  test.each([
    [[], 'the schema failed without an issue'],
    [[{ message: 'no path' }], 'no path'],
  ])('that fails with the issues %j has not accepted an item', async (issues, message) => {
    const schema = { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } } as const
    respondWithPage(valid)
    const error = await invalidResponseOf(createClient().transactions.list({}, { schema: schema as never }))
    expect(error.issues).toEqual([{ path: ['data', 0], message }])
  })

  test('may name a symbol without a description', async () => {
    const symbol = Symbol()
    const issues = [{ message: 'wrong', path: [symbol] }]
    const schema = { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } } as const
    respondWith('{}')
    const error = await invalidResponseOf(createClient().request('GET', '/a', { schema: schema as never }))
    expect(error.issues[0]?.path).toEqual([symbol])
  })

  test('may be asynchronous', async () => {
    const schema = z
      .looseObject({ id: z.string() })
      .refine(async ({ id }) => id !== 'bad')
      .transform(({ id }) => id)
    const ids: string[] = []
    for await (const id of createClient().transactions.list({ limit: 10 }, { schema })) ids.push(id)
    expect(ids).toEqual(service.transactions.map(({ id }) => id))

    respondWithPage('{"id":"bad"}')
    const error = await invalidResponseOf(createClient().transactions.list({}, { schema }))
    expect(error.issues[0]?.path).toEqual(['data', 0])
  })

  test('that throws has not accepted the response', async () => {
    const schema = z.unknown().transform(() => {
      throw new RangeError('oops')
    })
    const error = await invalidResponseOf(createClient().virtualAccounts.deactivate(account, { schema }))
    expect(error.issues).toEqual([{ path: [], message: 'the schema threw RangeError' }])
    expect(error.outcomeUnknown).toBe(true)
    expect(error.message).toMatch(
      /the body does not match the schema\..* The schema threw: see error\.cause\. The response is in error\.body\.$/,
    )
  })

  test('that throws for one item, and refuses another, is said to have thrown', async () => {
    const schema = z.unknown().transform((item, { issues }) => {
      if (Object.keys(Object(item)).length > 0) throw new RangeError('oops')
      issues.push({ code: 'custom', input: item, message: 'empty' })
    })
    respondWithPage('{},{"id":"t1"}')
    const error = await invalidResponseOf(createClient().transactions.list({}, { schema }))
    expect(error.issues.map(({ message }) => message)).toEqual(['empty', 'the schema threw RangeError'])
    expect(error.message).toContain('The schema threw: see error.cause.')
    expect(error.cause).toMatchObject({ name: 'RangeError' })
  })

  test.each([
    [1, 'data[0].id does not match the schema.'],
    [2, 'data[0].id, data[1].id do not match the schema.'],
    [3, 'data[0].id, data[1].id, data[2].id do not match the schema.'],
    [5, 'data[0].id, data[1].id, data[2].id and 2 more do not match the schema.'],
  ])('that %i items do not match is told by the first three places', async (count, problem) => {
    respondWithPage(Array.from({ length: count }, () => '{}').join())
    const schema = z.looseObject({ id: z.string() })
    const error = await invalidResponseOf(createClient().transactions.list({}, { schema }))
    expect(error.message).toContain(`: the response is not valid: ${problem} Details are in error.issues`)
    expect(error.issues).toHaveLength(count)
  })

  test('can be aborted like the rest of the call', async () => {
    const controller = new AbortController()
    const schema = z.unknown().refine(async () => {
      controller.abort('enough')
      return new Promise<boolean>(() => {})
    })
    const call = createClient().request('GET', '/transactions', { schema, signal: controller.signal })
    expect(await rejectionOf(call)).toBe('enough')
  })

  test('validates each item, with messages that are in `issues` only', async () => {
    const schema = z.looseObject({ id: z.string('no id') })
    respondWithPage('{"id":"a"},{"id":7}', '"page":1,"totalItems":2,"limit":2')
    const error = await invalidResponseOf(createClient().transactions.list({}, { schema }))
    expect(error.issues).toEqual([{ path: ['data', 1, 'id'], message: 'no id' }])
    expect(error.message).toContain('data[1].id does not match the schema. Details are')
  })

  test('may accept items that are null', async () => {
    service.serveList('/nothing', [null, null])
    const page = await createClient().list('/nothing', {}, { schema: z.null() })
    expect(page.data).toEqual([null, null])
    respondWithPage('null', '"page":1,"totalItems":1,"limit":1')
    const transactions = createClient().transactions.list({}, { schema: z.null() })
    for await (const item of transactions) expect(item).toBeNull()
  })

  test('may be asynchronous for some items only', async () => {
    service.serveList('/mixed', [1, 2, 3])
    const validate = (value: unknown) => (value === 2 ? Promise.resolve({ value }) : { value })
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const
    expect((await createClient().list('/mixed', {}, { schema })).data).toEqual([1, 2, 3])
  })

  test('that finds a hundred issues in deep places gives a message of less than 4 KB', async () => {
    const path = Array.from({ length: 9 }, () => 'k'.repeat(90))
    const issues = Array.from({ length: 100 }, (_, index) => ({ message: 'no', path: [index, ...path] }))
    const schema = { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } } as const
    const error = await invalidResponseOf(createClient().request('GET', '/transactions', { schema }))
    expect(error.issues).toHaveLength(20)
    expect(error.issues[0]?.path).toEqual([0, ...path])
    expect(error.message).toContain(`: [0].${'k'.repeat(60)}.${'k'.repeat(60)}.`)
    expect(error.message).not.toContain('k'.repeat(61))
    expect(error.message).toMatch(/k and 17 more do not match the schema\. Details are in error\.issues/)
    expect(error.message.length).toBeLessThan(4096)
  })

  test('that finds an issue in a place of any depth gives a message of less than 4 KB, too', async () => {
    const path = Array.from({ length: 1000 }, () => 'deeper')
    const validate = () => ({ issues: [{ message: 'no', path }] })
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const
    const error = await invalidResponseOf(createClient().request('GET', '/transactions', { schema }))
    expect(error.issues).toEqual([{ message: 'no', path }])
    expect(error.message).toMatch(/: deeper\.deeper\.[deeper.]+\.\.\. Details are in error\.issues/)
    expect(error.message.length).toBeLessThan(4096)
  })

  test('gives a message of one line of ASCII, whatever its paths contain', async () => {
    const path = ['a-b', 0, 'c d', '\u202e"é', '']
    const issues = [{ message: 'no', path }]
    const schema = { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } } as const
    const error = await invalidResponseOf(createClient().request('GET', '/transactions', { schema }))
    expect(error.message).toContain('a-b[0]["c d"]["\\u202e\\"\\u00e9"][""] does not match')
  })

  test('types any other list', async () => {
    service.serveList('/refunds', [{ id: 1 }, { id: 2 }])
    const schema = z.object({ id: z.number() })
    const ids = []
    for await (const { id } of createClient().list('/refunds', { limit: 1 }, { schema })) ids.push(id)
    expect(ids).toEqual([1, 2])
  })
})

describe('an error', () => {
  test('shows only the beginning of a long path in its message, in ASCII', async () => {
    for (const path of [`/${'a'.repeat(299)}`, `/${'a'.repeat(300)}`, '/é']) {
      respondWith(null, { status: 404 })
      const error = await rejectionOf(createClient().request('GET', path))
      expect(error).toMatchObject({ path, body: undefined })
      const shown = path === '/é' ? '/\\u00e9' : `/${'a'.repeat(299)}${path.length > 300 ? '...' : ''}`
      expect((error as Error).message).toMatch(`GET ${shown}: HTTP 404 (1 attempt).`)
    }
  })

  test('has its name as a property that is not enumerable', async () => {
    respondWith(null, { status: 404 })
    const error = await rejectionOf(list())
    expect(Object.getOwnPropertyDescriptor(error, 'name')).toEqual({
      value: 'HttpError',
      enumerable: false,
      configurable: true,
      writable: true,
    })
  })

  test('counts the attempts in its message', async () => {
    service.fail({
      times: 2,
      with: () => new Response(null, { status: 500, headers: { 'Retry-After': '0' } }),
    })
    const error = await rejectionOf(createClient({ maxRetries: 1 }).transactions.list())
    expect(String(error)).toContain('HTTP 500 (2 attempts). The service failed: retry later.')
  })

  test('of a redirect whose status a browser hides says that redirects are not followed', async () => {
    const opaque = { status: 0, ok: false, type: 'opaqueredirect', headers: new Headers(), body: null }
    const fetch = async () => opaque as Response
    const error = await rejectionOf(createClient({ fetch }).transactions.list())
    expect(error).toHaveProperty(
      'message',
      "GET /transactions (page 1): a redirect, which is not followed (1 attempt). Set baseUrl to an address that does not redirect: the browser's network tab shows where it leads.",
    )
  })

  test.each(['a b"c\\d-long', 'a+b"c\\d-long', 'a%20b%22c%5cd-long', 'a b\\"c\\\\d-long'])(
    'redacts a key that is written as %s',
    async spelled => {
      respondWith(`no: ${spelled}`, { status: 403 })
      const error = await rejectionOf(createClient({ apiKey: 'a b"c\\d-long' }).transactions.list())
      expect(error).toMatchObject({ status: 403, body: 'no: [api key]' })
    },
  )

  test('redacts a key of digits that a service echoes as a number, and leaves other numbers', async () => {
    respondWith('{"key":1234567890,"count":123456789}', { status: 403 })
    const error = await rejectionOf(createClient({ apiKey: '1234567890' }).transactions.list())
    expect(error).toMatchObject({ body: { key: '[api key]', count: 123_456_789 } })
  })

  test.each([[null], [undefined], ['text'], [7], [{}], [new Error('no')]])(
    'is not recognised in %o',
    value => {
      expect(isApiError(value)).toBe(false)
    },
  )
})

test('Response.error() of a custom fetch is a lost connection, and retried', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const responses = [Response.error(), Response.json({ done: true })]
  const client = createClient({ fetch: async () => responses.shift() ?? Response.error() })
  expect(await client.request('POST', '/a')).toMatchObject({ attempts: 2, data: { done: true } })
  const error = await rejectionOf(client.request('POST', '/a', { maxRetries: 0 }))
  expect(error).toMatchObject({ kind: 'connection', attempts: 1, outcomeUnknown: true })
})
