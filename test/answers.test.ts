import { type Client, isApiError, type ResponseError } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { account, answerWith, answerWithPage, createClient, failureOf, service } from './service.ts'

const valid = '{"id":"t1","amount":200,"currency":"AED","description":"Test"}'
const list = () => createClient().transactions.list()

async function refusal(call: PromiseLike<unknown>): Promise<ResponseError> {
  const error = await failureOf(call)
  if (!isApiError(error) || error.kind !== 'response')
    throw new Error('expected a ResponseError', { cause: error })
  return error
}

describe('a page', () => {
  test('is listed as it is', async () => {
    answerWith(
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
    expect(JSON.parse(JSON.stringify(page))).toEqual({ data: page.data, page: 1, totalItems: 200, limit: 2 })
  })

  test('passes on fields that the interface does not show', async () => {
    answerWithPage(valid.replace('}', ',"status":"settled","fees":[{"amount":1.5}]}'))
    const { data } = await list()
    expect(data[0]).toEqual({ ...JSON.parse(valid), status: 'settled', fees: [{ amount: 1.5 }] })
  })

  test('may begin with a byte-order mark', async () => {
    answerWith(`\ufeff{"data":[${valid}],"page":1,"totalItems":1,"limit":20}`)
    expect((await list()).data).toHaveLength(1)
  })

  test('may hold __proto__ as a key, which stays a key', async () => {
    answerWithPage(valid.replace('}', ',"__proto__":{"polluted":true}}'))
    const { data } = await list()
    expect(Object.keys(data[0] as object)).toContain('__proto__')
    expect((data[0] as { polluted?: unknown }).polluted).toBeUndefined()
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test.each([
    ['', 'the body: expected JSON, not an empty body'],
    ['<html>', 'the body: expected JSON, not something else'],
    ['[]', 'the body: expected an object of data, page, totalItems and limit'],
    ['null', 'the body: expected an object of data, page, totalItems and limit'],
    ['{"data":{},"page":1,"totalItems":1,"limit":1}', 'data: expected an array'],
    ['{"data":[],"page":0,"totalItems":1,"limit":1}', 'page: expected a whole number of at least 1'],
    ['{"data":[],"page":1,"totalItems":-1,"limit":1}', 'totalItems: expected a whole number of at least 0'],
    ['{"data":[],"page":1,"totalItems":1.5,"limit":1}', 'totalItems: expected a whole number of at least 0'],
    ['{"data":[],"page":1,"totalItems":1,"limit":"1"}', 'limit: expected a whole number of at least 1'],
    [`{"data":[7],"page":1,"totalItems":1,"limit":1}`, 'data[0]: expected an object'],
    [
      `{"data":[${valid},{"id":5,"amount":"2","currency":null}],"page":1,"totalItems":2,"limit":2}`,
      'data[1].id: expected a string; data[1].amount: expected a number that a double can hold; data[1].currency: expected a string; data[1].description: expected a string',
    ],
  ])('that breaks the interface is refused: %s', async (body, named) => {
    answerWith(body)
    const error = await refusal(list())
    expect(error.message).toContain(named)
    expect(error.message).toMatch(/^GET \/transactions: .* \(1 attempt\)\. .*pass `schema` to accept it\.$/)
    expect(error).toMatchObject({ status: 200, attempts: 1, page: 1, outcomeUnknown: false })
    expect(service.requests).toHaveLength(1)
  })

  test('of HTML is refused as such', async () => {
    answerWith('<html>', { headers: { 'Content-Type': 'text/html; charset=utf-8' } })
    expect((await refusal(list())).message).toContain('expected JSON, not an HTML page')
  })

  test('that is no UTF-8 is refused', async () => {
    answerWith(new Uint8Array([0x7b, 0xff, 0x7d]))
    expect((await refusal(list())).issues).toEqual([{ path: [], message: 'expected UTF-8' }])
  })

  test('with many faults tells of 20, in a message of less than 4 KB', async () => {
    const items = Array.from({ length: 90 }, () => '{}').join()
    answerWithPage(items, '"page":1,"totalItems":90,"limit":90')
    const error = await refusal(list())
    expect(error.issues).toHaveLength(20)
    expect(error.issues[4]).toEqual({ path: ['data', 1, 'id'], message: 'expected a string' })
    expect(error.message.length).toBeLessThan(4096)
  })

  test('that is refused shows what came in `body` alone: in no message, stack or JSON', async () => {
    answerWithPage('{"id":"iban-DE1234"}')
    const error = await refusal(list())
    expect(error.body).toEqual({ data: [{ id: 'iban-DE1234' }], page: 1, totalItems: 1, limit: 20 })
    expect(Object.keys(error)).not.toContain('body')
    for (const shown of [error.message, error.stack, JSON.stringify(error)]) {
      expect(shown).not.toContain('iban-DE1234')
    }
  })

  test('beyond the end is refused when it is empty too early', async () => {
    answerWithPage('', '"page":3,"totalItems":25,"limit":10')
    const error = await failureOf(createClient().transactions.list({ page: 3 }))
    expect(String(error)).toMatch(
      /page 3 is empty, though at 10 items a page the list has 25 \(1 attempt\)\. The service contradicts itself\.$/,
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
  ])('over maxResponseBytes%s is refused, and says what to raise', async (_name, create) => {
    const client = create()
    const error = await refusal(client.transactions.list())
    expect(error.message).toMatch(
      /expected at most 1000 bytes \(1 attempt\)\. Ask for smaller pages, or raise maxResponseBytes\.$/,
    )
  })
})

describe('a number', () => {
  // What is written, and what arrives in a field that the interface does not show.
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
    ['1e400', '1e400'],
    ['-1E400', '-1E400'],
    ['1e-400', '1e-400'],
    ['0e-400', 0],
    ['0e400', 0],
    ['5e-324', 5e-324],
    ['2.5e-324', '2.5e-324'],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['1.7976931348623159e308', '1.7976931348623159e308'],
    ['123456789.12e-0400', '123456789.12e-0400'],
  ])('%s arrives with every digit', async (written, arrives) => {
    for (const space of ['', ' ', '\n']) {
      answerWithPage(valid.replace('}', `,"balances":[1,${space}${written}${space}]}`))
      const { data } = await list()
      expect(data[0]?.balances).toEqual([1, arrives])
    }
  })

  test('that a double would round is refused as an amount, and the message says where', async () => {
    answerWithPage(valid.replace('200', '9007199254740993'))
    const error = await refusal(list())
    expect(error.message).toContain('data[0].amount: expected a number that a double can hold')
    expect(error.body).toMatchObject({ data: [{ amount: '9007199254740993' }] })
  })

  test("that a double would round is a string to the caller's schema", async () => {
    answerWithPage(valid.replace('200', '9007199254740993'))
    const schema = z.looseObject({ amount: z.union([z.number(), z.string()]).transform(BigInt) })
    const page = await createClient().transactions.list({}, { schema })
    expect(page.data[0]?.amount).toBe(9007199254740993n)
  })

  test('keeps its digits behind a byte-order mark, too', async () => {
    answerWith('\ufeff9007199254740993')
    const { data } = await createClient().request('GET', '/number')
    expect(data).toBe('9007199254740993')
  })

  test('inside a string is left alone, however long', async () => {
    const strings = [
      '93092390482903489084902',
      '1e400',
      ':9007199254740993,',
      ' 1e999 ',
      '0x1e400"',
      '\\u0031',
    ]
    answerWithPage(valid.replace('}', `,"refs":${JSON.stringify(strings)}}`))
    expect((await list()).data[0]?.refs).toEqual(strings)
  })

  test('is refused rather than rounded where the engine does not tell the source text', async () => {
    const parse = JSON.parse
    JSON.parse = (text, reviver) => parse(text, reviver && ((key, value) => reviver.call(null, key, value)))
    try {
      answerWithPage(valid.replace('}', ',"n":9007199254740993}'))
      expect((await refusal(list())).issues).toEqual([
        { path: [], message: 'expected no number with more digits than this engine can hold' },
      ])
      answerWithPage(valid.replace('}', ',"n":1234567890123456,"ref":"x: 9007199254740993 "}'))
      expect((await list()).data[0]?.n).toBe(1234567890123456)

      answerWith('[9007199254740993]')
      const error = await refusal(createClient().virtualAccounts.deactivate(account))
      expect(error.issues[0]?.message).toMatch(/^expected no number with more digits/)
      answerWith('[9007199254740993]', { status: 404 })
      expect(await failureOf(list())).toMatchObject({ status: 404, body: '[9007199254740993]' })
    } finally {
      JSON.parse = parse
    }
  })
})

describe('the answer to a write', () => {
  const deactivate = () => createClient().virtualAccounts.deactivate(account)

  test.each<[string, BodyInit | null, ResponseInit, unknown]>([
    ['nothing', null, { status: 204 }, undefined],
    ['an empty body', '', { headers: { 'Content-Type': 'text/html' } }, undefined],
    ['JSON', '{"status":"inactive"}', {}, { status: 'inactive' }],
    ['JSON null', 'null', {}, null],
    ['text', 'OK', { status: 202 }, 'OK'],
    [
      'text of a type that only names HTML',
      '<p>',
      { headers: { 'Content-Type': 'text/x; of=text/html' } },
      '<p>',
    ],
    ['digits', '9007199254740993', {}, '9007199254740993'],
  ])('is %s', async (_name, body, init, data) => {
    answerWith(body, init)
    const result = await deactivate()
    expect(result.data).toEqual(data)
    expect(result.status).toBe(init.status ?? 200)
  })

  test('of HTML is refused: a proxy spoke, not the service', async () => {
    answerWith('<h1>Welcome</h1>', { headers: { 'content-type': 'Text/HTML' } })
    const error = await refusal(deactivate())
    expect(error).toMatchObject({ outcomeUnknown: true, attempts: 1 })
    expect(error.message).toContain('expected an answer of the service, not an HTML page')
    expect(error.message).toContain('It may have been applied: repeat it with the same idempotencyKey.')
    expect(service.requests).toHaveLength(1)
  })

  test('that is nested too deeply to be looked through is refused, not taken for text', async () => {
    answerWith(`${'['.repeat(200_000)}9007199254740993${']'.repeat(200_000)}`)
    const error = await refusal(deactivate())
    expect(error.issues).toEqual([{ path: [], message: 'expected JSON that is less deeply nested' }])
    expect(error.message).toContain('the body: expected JSON that is less deeply nested')
    expect(String(error.body)).toMatch(/^\[\[/)
  })

  test("is what the caller's schema makes of it", async () => {
    const schema = z.object({ status: z.string() }).transform(({ status }) => status.toUpperCase())
    answerWith('{"status":"inactive"}')
    const result = await createClient().virtualAccounts.deactivate(account, { schema })
    expect(result.data).toBe('INACTIVE')
    answerWith('')
    const nothing = await createClient().virtualAccounts.deactivate(account, { schema: z.undefined() })
    expect(nothing.data).toBeUndefined()
  })

  test("must fit the caller's schema, whose words are in `issues` alone", async () => {
    const schema = z.object({ status: z.literal('inactive', { error: issue => `not ${issue.input}` }) })
    answerWith('{"status":"active"}')
    const error = await refusal(createClient().virtualAccounts.deactivate(account, { schema }))
    expect(error.issues).toEqual([{ path: ['status'], message: 'not active' }])
    expect(error.message).toContain('status does not fit the given schema')
    expect(error.message).not.toContain('active,')
    expect(error.message).toMatch(/pass another `schema` to accept it\.$/)
    expect(error.outcomeUnknown).toBe(true)
  })
})

describe("a caller's schema", () => {
  test('that breaks Standard Schema has not accepted the answer either', async () => {
    const path = [{ key: Object.create(null) }]
    const validate = () => ({ issues: [{ message: 7, path }] })
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as never
    const error = await refusal(createClient().request('GET', '/transactions', { schema }))
    expect(error.issues).toEqual([{ path: [], message: 'the schema threw TypeError' }])
  })

  test('may be asynchronous', async () => {
    const schema = z
      .looseObject({ id: z.string() })
      .refine(async ({ id }) => id !== 'bad')
      .transform(({ id }) => id)
    const ids: string[] = []
    for await (const id of createClient().transactions.list({ limit: 10 }, { schema })) ids.push(id)
    expect(ids).toEqual(service.transactions.map(({ id }) => id))

    answerWithPage('{"id":"bad"}')
    const error = await refusal(createClient().transactions.list({}, { schema }))
    expect(error.issues[0]?.path).toEqual(['data', 0])
  })

  test('that throws has not accepted the answer', async () => {
    const schema = z.unknown().transform(() => {
      throw new RangeError('oops')
    })
    const error = await refusal(createClient().virtualAccounts.deactivate(account, { schema }))
    expect(error.issues).toEqual([{ path: [], message: 'the schema threw RangeError' }])
    expect(error.outcomeUnknown).toBe(true)
  })

  test('is aborted like the rest', async () => {
    const controller = new AbortController()
    const schema = z.unknown().refine(async () => {
      controller.abort('enough')
      return new Promise<boolean>(() => {})
    })
    const call = createClient().request('GET', '/transactions', { schema, signal: controller.signal })
    expect(await failureOf(call)).toBe('enough')
  })

  test('is held against each item, in words that stay in `issues`', async () => {
    const schema = z.looseObject({ id: z.string('no id') })
    answerWithPage('{"id":"a"},{"id":7}', '"page":1,"totalItems":2,"limit":2')
    const error = await refusal(createClient().transactions.list({}, { schema }))
    expect(error.issues).toEqual([{ path: ['data', 1, 'id'], message: 'no id' }])
    expect(error.message).toContain('data[1].id does not fit the given schema (1 attempt)')
  })

  test('may list what is null', async () => {
    service.serveList('/nothing', [null, null])
    const page = await createClient().list('/nothing', {}, { schema: z.null() })
    expect(page.data).toEqual([null, null])
    answerWithPage('null', '"page":1,"totalItems":1,"limit":1')
    const transactions = createClient().transactions.list({}, { schema: z.null() })
    for await (const item of transactions) expect(item).toBeNull()
  })

  test('may be asynchronous for some items only', async () => {
    service.serveList('/mixed', [1, 2, 3])
    const validate = (value: unknown) => (value === 2 ? Promise.resolve({ value }) : { value })
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const
    expect((await createClient().list('/mixed', {}, { schema })).data).toEqual([1, 2, 3])
  })

  test('that finds a hundred faults in far places is told in a message of less than 4 KB', async () => {
    const path = Array.from({ length: 9 }, () => 'k'.repeat(90))
    const issues = Array.from({ length: 100 }, (_, index) => ({ message: 'no', path: [index, ...path] }))
    const schema = { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } } as const
    const error = await refusal(createClient().request('GET', '/transactions', { schema }))
    expect(error.issues).toHaveLength(20)
    expect(error.issues[0]?.path).toEqual([0, ...path])
    expect(error.message).toContain(`: [0].${'k'.repeat(60)}.${'k'.repeat(60)}.`)
    expect(error.message).not.toContain('k'.repeat(61))
    expect(error.message).toMatch(/[k.]\.\.\. \(1 attempt\)\. What it said is in error\.issues/)
    expect(error.message.length).toBeLessThan(4096)
  })

  test('names places of any spelling on one line of ASCII', async () => {
    const path = ['a-b', 0, 'c d', '\u202e"é', '']
    const issues = [{ message: 'no', path }]
    const schema = { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } } as const
    const error = await refusal(createClient().request('GET', '/transactions', { schema }))
    expect(error.message).toContain('a-b[0]["c d"]["\\u202e\\"\\u00e9"][""] does not fit')
  })

  test('narrows any other list', async () => {
    service.serveList('/refunds', [{ id: 1 }, { id: 2 }])
    const schema = z.object({ id: z.number() })
    const ids = []
    for await (const { id } of createClient().list('/refunds', { limit: 1 }, { schema })) ids.push(id)
    expect(ids).toEqual([1, 2])
  })
})

describe('an error', () => {
  test('shows of a long path its beginning, in ASCII, and keeps it whole', async () => {
    for (const path of [`/${'a'.repeat(299)}`, `/${'a'.repeat(300)}`, '/é']) {
      answerWith(null, { status: 404 })
      const error = await failureOf(createClient().request('GET', path))
      expect(error).toMatchObject({ path, body: undefined })
      const shown = path === '/é' ? '/\\u00e9' : `/${'a'.repeat(299)}${path.length > 300 ? '...' : ''}`
      expect((error as Error).message).toMatch(`GET ${shown}: the service answered 404 (1 attempt).`)
    }
  })

  test.each([
    [403, 'Check apiKey, and that it belongs to this baseUrl.'],
    [404, 'Check the ids and the path of baseUrl.'],
    [422, "The service's reason, if it gave one, is in error.body."],
    [501, 'The service is in trouble: try again later.'],
  ])('%i says what to do', async (status, advice) => {
    answerWith(null, { status })
    const error = await failureOf(createClient().transactions.list())
    expect(error).toHaveProperty(
      'message',
      `GET /transactions: the service answered ${status} (1 attempt). ${advice}`,
    )
    expect(Object.hasOwn(error as object, 'cause')).toBe(false)
  })

  test('counts the attempts in its message', async () => {
    service.fail({
      times: 2,
      with: () => new Response(null, { status: 500, headers: { 'Retry-After': '0' } }),
    })
    const error = await failureOf(createClient({ maxRetries: 1 }).transactions.list())
    expect(String(error)).toContain('the service answered 500 (2 attempts). The service is in trouble')
  })

  test('after a redirect that a browser does not show says that none is followed', async () => {
    const opaque = { status: 0, ok: false, type: 'opaqueredirect', headers: new Headers(), body: null }
    const fetch = async () => opaque as Response
    const error = await failureOf(createClient({ fetch }).transactions.list())
    expect(error).toHaveProperty(
      'message',
      'GET /transactions: the service answered with a redirect (1 attempt). Redirects are not followed: set baseUrl to where the service answers itself.',
    )
  })

  test.each(['a b"c\\d-long', 'a+b"c\\d-long', 'a%20b%22c%5cd-long', 'a b\\"c\\\\d-long'])(
    'hides a key that is spelled %s',
    async spelled => {
      answerWith(`no: ${spelled}`, { status: 403 })
      const error = await failureOf(createClient({ apiKey: 'a b"c\\d-long' }).transactions.list())
      expect(error).toMatchObject({ status: 403, body: 'no: [api key]' })
    },
  )

  test.each([[null], [undefined], ['text'], [7], [{}], [new Error('no')]])('is not what %o is', value => {
    expect(isApiError(value)).toBe(false)
  })
})
