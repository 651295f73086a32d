import { describe, expect, test, vi } from 'vitest'
import { createClient, respondWith, respondWithPage, startService } from '../service.ts'
import { account, apiErrorOf, checkEach, rejectionOf } from '../support.ts'
import { envelope, given, transaction } from './bodies.ts'
import { stubbed } from './stub.ts'

startService()

const valid = '{"id":"t1","amount":200,"currency":"AED","description":"Test"}'
const list = () => createClient().transactions.list()

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
})

describe('the data of a write', () => {
  test('is undefined when empty, the value of JSON, and else a string', () =>
    checkEach<[body: string, type: string, data: unknown]>(
      [
        ['', 'application/json', undefined],
        ['', 'text/html', undefined],
        [' \r\n', 'application/json', undefined],
        ['null', 'application/json', null],
        ['"text"', 'application/json', 'text'],
        ['[1,{"a":null}]', 'application/json', [1, { a: null }]],
        ['[1,{"a":null}]', 'text/plain', [1, { a: null }]],
        ['[1,{"a":null}]', 'text/html', [1, { a: null }]],
        ['{"a":1}', 'image/png; charset=utf-16', { a: 1 }],
        ['9007199254740993', 'application/json', '9007199254740993'],
        ['OK', 'text/plain', 'OK'],
        ['<p>', 'text/x; of=text/html', '<p>'],
        ['{"status":', 'application/octet-stream', '{"status":'],
        // Types that are no more than similar to JSON.
        ['OK', 'application/jsonp', 'OK'],
        ['{"a":1}\n{"a":2}', 'application/json-seq', '{"a":1}\n{"a":2}'],
        ['{"a":1}\n{"a":2}', 'application/jsonlines', '{"a":1}\n{"a":2}'],
        ['{"a":1}\n{"a":2}', 'text/plain; format=application/json', '{"a":1}\n{"a":2}'],
      ],
      async ([body, type, data]) => {
        const { write, get } = given(body, { 'content-type': type })
        expect((await write()).data).toEqual(data)
        expect((await get()).data).toEqual(data)
      },
    ))
})

describe('the encoding of a response', () => {
  test('that is not UTF-8 is an InvalidResponseError, never U+FFFD', () =>
    checkEach<[what: string, bytes: number[]]>(
      [
        ['Latin-1', [0x22, 0x66, 0xfc, 0x72, 0x22]],
        ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
        ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
        ['a character cut in two', [0x22, 0xe2, 0x82, 0x22]],
        ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
      ],
      async ([, bytes]) => {
        const { list, write, get } = given(new Uint8Array(bytes))
        for (const call of [list, write, get]) await apiErrorOf('invalid-response', call())
      },
    ))

  test('that is not UTF-8 does not hide an error', async () => {
    const { client } = stubbed([() => new Response(new Uint8Array([0x66, 0xfc, 0x72]), { status: 404 })])
    expect(await apiErrorOf('http', client.virtualAccounts.deactivate(account))).toMatchObject({
      status: 404,
      body: undefined,
    })
  })

  test('may be marked by a byte-order mark', async () => {
    const service = given(`\ufeff${envelope(transaction())}`)
    expect((await service.list()).data).toHaveLength(1)
    expect((await service.write()).data).toMatchObject({ page: 1 })
    const failing = stubbed([() => new Response('\ufeff{"code":7}', { status: 400 })])
    expect((await apiErrorOf('http', failing.client.virtualAccounts.deactivate(account))).body).toEqual({
      code: 7,
    })
  })

  test('survives chunks that end in the middle of a character', async () => {
    const text = JSON.stringify({ text: 'ü€💶'.repeat(50) })
    const bytes = new TextEncoder().encode(text)
    const body = () =>
      new ReadableStream({
        start(controller) {
          for (let at = 0; at < bytes.length; at += 7) controller.enqueue(bytes.subarray(at, at + 7))
          controller.close()
        },
      })
    const { client } = stubbed([() => new Response(body())])
    expect((await client.virtualAccounts.deactivate(account)).data).toEqual(JSON.parse(text))
  })
})

test('a response of exactly maxResponseBytes is accepted', async () => {
  const { data, page, totalItems, limit } = await list()
  const { length } = JSON.stringify({ data, page, totalItems, limit })
  const accepting = createClient({ maxResponseBytes: length })
  expect((await accepting.transactions.list()).data).toHaveLength(20)
  const rejecting = createClient({ maxResponseBytes: length - 1 })
  await apiErrorOf('invalid-response', rejecting.transactions.list())
})

test('Response.error() of a custom fetch is a lost connection, and retried', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const responses = [Response.error(), Response.json({ done: true })]
  const client = createClient({ fetch: async () => responses.shift() ?? Response.error() })
  expect(await client.request('POST', '/a')).toMatchObject({ attempts: 2, data: { done: true } })
  const error = await rejectionOf(client.request('POST', '/a', { maxRetries: 0 }))
  expect(error).toMatchObject({ kind: 'connection', attempts: 1, outcomeUnknown: true })
})
