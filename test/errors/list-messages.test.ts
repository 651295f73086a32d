import type { ListOptions, ListParams, Transaction } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import { collect, createStage, type Envelope, envelopeOf, idle, newest, respondTo } from '../lists/lists.ts'
import { createClient, startService } from '../service.ts'
import { checkEach, rejectionOf } from '../support.ts'

// Every message about a response that is not as specified, once: see messages.test.ts.

startService()

/** The message with which a list fails, without the method, the path and the page. */
async function messageOf(call: PromiseLike<unknown>): Promise<string> {
  const { message } = (await rejectionOf(call)) as Error
  expect(message).toMatch(/^GET \/transactions \(page \d+\): /)
  return message.replace(/^.*?\): /, '')
}

const respond = (body: string, init?: ResponseInit) => () => new Response(body, init)
const notFound = respond('', { status: 404 })
const page = (data: string, rest = '"page":1,"totalItems":1,"limit":20') =>
  respond(`{"data":${data},${rest}}`)

/** The message of one page that fails. */
const read = (response: () => Response, params: ListParams = {}) =>
  messageOf(createClient({ maxRetries: 0, fetch: async () => response() }).transactions.list(params))

describe('a page fails', () => {
  const notAnEnvelope =
    'Is this a list? Its response must be { data, page, totalItems, limit }; `schema` describes one item of `data`. For other endpoints use client.request.'
  const notAList =
    'Is this a list? For other endpoints use client.request. A proxy or a login page may also have responded.'
  const notTheService = 'Is this the service? A proxy or a login page may have responded: check baseUrl.'
  const cutOff = 'If it was cut off, often by a proxy, retry.'
  const seeBody =
    'If the response is as intended, pass a `schema` that accepts it. The response is in error.body.'

  test('with a status', () =>
    checkEach<[what: string, response: () => Response, params: ListParams, message: string]>(
      [
        ['404', notFound, {}, 'HTTP 404. Check the path, and that of baseUrl (none, or one such as /v1).'],
        ['400', () => new Response(null, { status: 400 }), {}, 'HTTP 400.'],
        [
          '404 above page 1',
          notFound,
          { page: 7 },
          'HTTP 404. Check the path, and that of baseUrl (none, or one such as /v1). The page may also be beyond the end of the list.',
        ],
        [
          '429',
          respond('', { status: 429 }),
          {},
          'HTTP 429, rate limited. Retry later. If this recurs, lower `concurrency`.',
        ],
      ],
      async ([, response, params, message]) => expect(await read(response, params)).toBe(message),
    ))

  test('with a body that is not a page', () =>
    checkEach<[body: string | Uint8Array<ArrayBuffer>, problem: string, hint: string]>(
      [
        ['', 'expected JSON, got an empty body', notAList],
        ['Hello', 'expected JSON, got text', notAList],
        ['{"data":NaN}', 'expected JSON, got text', notAList],
        ['[1, [2] ', 'expected JSON, got text', notAList],
        ['[1 2]\n\n', 'expected JSON, got text', notAList],
        ['{"data":[{"id":"t', 'expected JSON, got JSON that is malformed or cut off', cutOff],
        ['\n {"data":[{},', 'expected JSON, got JSON that is malformed or cut off', cutOff],
        ['{"data":[],"page":{} ,\n', 'expected JSON, got JSON that is malformed or cut off', cutOff],
        ['\n<html lang="en">', 'expected JSON, got an HTML page', notTheService],
        ['{"data":[]}x', 'expected JSON, got JSON that is malformed or cut off', cutOff],
        [
          Uint8Array.of(0x7b, 0xff, 0x7d),
          'expected UTF-8, got other bytes',
          'If this is the service, ask its owner for UTF-8, and for the right Content-Encoding.',
        ],
        ['[]', 'expected an object, got an array', notAnEnvelope],
        [
          '{"items":[]}',
          'data: expected an array, got undefined; page: expected a whole number of at least 1, got undefined; totalItems: expected a whole number of at least 0, got undefined; limit: expected a whole number of at least 1, got undefined',
          notAnEnvelope,
        ],
        [
          '{"data":[],"page":0,"totalItems":-1,"limit":"1"}',
          'page: expected a whole number of at least 1, got 0; totalItems: expected a whole number of at least 0, got another number; limit: expected a whole number of at least 1, got a string',
          notAnEnvelope,
        ],
      ],
      async ([body, problem, hint]) => {
        const response = () => new Response(body)
        expect(await read(response)).toBe(`the response is not valid: ${problem}. ${hint}`)
      },
    ))

  test('with an item that is not a transaction', () =>
    checkEach<[data: string, problem: string]>(
      [
        ['[7]', 'data[0]: expected an object, got a number'],
        [
          '[{"id":"t1","amount":"1","currency":null}]',
          'data[0].amount: expected a number, got a string; data[0].currency: expected a string, got null; data[0].description: expected a string, got undefined',
        ],
        [
          '[{"id":"t1","amount":9007199254740993,"currency":"EUR","description":""}]',
          'data[0].amount: expected a number, got one with more digits than a double holds (kept as a string)',
        ],
      ],
      async ([data, problem]) =>
        expect(await read(page(data))).toBe(`the response is not valid: ${problem}. ${seeBody}`),
    ))

  test('with more bytes than it may have', async () => {
    const client = createClient({ fetch: async () => page('[]')(), maxResponseBytes: 10 })
    expect(await messageOf(client.transactions.list())).toBe(
      'the response is not valid: expected at most 10 bytes. Request smaller pages with `limit`, or raise `maxResponseBytes`.',
    )
  })

  test('with long numbers in an engine without source text', async () => {
    const parse = JSON.parse
    onTestFinished(() => {
      JSON.parse = parse
    })
    JSON.parse = (text, reviver) => parse(text, reviver && ((key, value) => reviver.call(null, key, value)))
    expect(await read(page('[9007199254740993]'))).toBe(
      'the response is not valid: expected numbers that this engine can hold, got one with more digits. Newer JavaScript engines keep every digit (docs/runtimes.md). The text is in error.body.',
    )
  })

  test("with items that do not match the caller's schema, of which the first three are named", () =>
    checkEach(
      [
        [1, 'data[0].id does not match the schema'],
        [2, 'data[0].id, data[1].id do not match the schema'],
        [3, 'data[0].id, data[1].id, data[2].id do not match the schema'],
        [5, 'data[0].id, data[1].id, data[2].id and 2 more do not match the schema'],
      ] as const,
      async ([count, problem]) => {
        const items = Array.from({ length: count }, () => '{}').join()
        const client = createClient({ fetch: async () => page(`[${items}]`)() })
        const schema = z.looseObject({ id: z.string() })
        expect(await messageOf(client.transactions.list({}, { schema }))).toBe(
          `the response is not valid: ${problem}. Details are in error.issues, and the response is in error.body. If the response is right, change the schema: it describes one item of \`data\`, not the page.`,
        )
      },
    ))

  test('with the reason that the service gave, wherever it is', () =>
    checkEach(
      [
        ['{"message":"down"}', 'down'],
        ['{"error":{"message":"down"}}', 'down'],
        ['{"error":"down"}', 'down'],
        ['{"detail":"down"}', 'down'],
        ['{"title":"down"}', 'down'],
        ['{"errors":["down"]}', 'down'],
        ['{"errors":[{"message":"down"}]}', 'down'],
        ['{"errors":[{"detail":"down"}]}', 'down'],
        ['{"message":["id must be a UUID"],"error":"Bad Request"}', 'id must be a UUID'],
        ['{"message":" ","detail":"down"}', 'down'],
        ['{"message":"Konto \\u00fcberzogen\\nnow \\u202e"}', 'Konto überzogen\\u000anow \\u202e'],
        [`{"message":"${'x'.repeat(201)}"}`, `${'x'.repeat(200)}...`],
      ] as const,
      async ([body, reason]) =>
        expect(await read(respond(body, { status: 403 }))).toContain(`HTTP 403: "${reason}".`),
    ))

  test('with a reason that ends with a full stop, and no second one', async () => {
    const message = await read(respond('{"message":"Down."}', { status: 403 }))
    expect(message).toContain('HTTP 403: "Down." Check')
  })
})

describe('a request fails', () => {
  const schema = z.object({ status: z.literal('inactive', { error: issue => `not ${issue.input}` }) })
  const throwing = z.unknown().transform(() => {
    throw new RangeError('oops')
  })
  const deep = `${'['.repeat(200_000)}9007199254740993${']'.repeat(200_000)}`
  const json = { headers: { 'Content-Type': 'application/json' } }

  test('with a body that is not what it says, or not what you expect', () =>
    checkEach<[what: string, response: () => Response, options: object, message: string]>(
      [
        [
          'text that is said to be JSON',
          respond('ok', json),
          {},
          'expected JSON, got text. The Content-Type says JSON, but the body is not. The text is in error.body.',
        ],
        [
          'JSON that is nested too deeply',
          respond(deep),
          {},
          'expected JSON that is less deeply nested. The text is in error.body.',
        ],
        ['too many bytes', respond('too long'), {}, 'expected at most 5 bytes. Raise `maxResponseBytes`.'],
        [
          "what does not match the caller's schema",
          respond('{"status":"active"}'),
          { schema },
          'status does not match the schema. Details are in error.issues, and the response is in error.body. If the response is right, change the schema.',
        ],
        [
          'what makes the schema throw',
          respond('{}'),
          { schema: throwing },
          'the body does not match the schema. The schema threw: see error.cause. The response is in error.body.',
        ],
      ],
      async ([what, response, options, message]) => {
        const maxResponseBytes = what === 'too many bytes' ? 5 : 1e7
        const client = createClient({ fetch: async () => response(), maxResponseBytes })
        const error = await rejectionOf(client.request('GET', '/a', options))
        expect((error as Error).message).toBe(`GET /a: the response is not valid: ${message}`)
      },
    ))
})

describe('an iteration fails', () => {
  const toOwner = "The service contradicts itself: report it to the service's owner."
  const orFromZero = 'The service counts pages from 0, or its total is wrong: report it to its owner.'
  const onMissed = "To accept missed items, pass onMissedItems: 'continue'."
  const repair = '`verified: true` would have repaired it, unless totalItems or limit is wrong.'
  const resume = (page: number, limit = 10) =>
    page === 1
      ? 'Start over at page 1.'
      : `To resume: list({ page: ${page}, limit: ${limit} }), with all else unchanged.`

  /** The message with which a list fails whose requests, counted from 1, get these envelopes. */
  async function iterate(
    respond: (page: number, limit: number, count: number) => Envelope,
    options: ListOptions = {},
    params: ListParams = {},
  ): Promise<string> {
    respondTo(respond)
    const list = createClient().transactions.list({ limit: 10, ...params }, { concurrency: 1, ...options })
    return messageOf(collect(list))
  }

  const all = sampleTransactions(60)

  test('when the service contradicts itself', () =>
    checkEach<[what: string, respond: (page: number) => Envelope, message: string]>(
      [
        [
          'another page',
          page => ({ ...envelopeOf(all, page), page: page === 3 ? 2 : page }),
          `page 3 was requested, but page 2 was returned. ${toOwner}`,
        ],
        [
          'a page that is too long',
          page => ({ ...envelopeOf(all, page), data: all.slice(0, 11) }),
          `page 1 holds 11 items, more than its limit of 10. ${toOwner}`,
        ],
        [
          'an empty first page',
          page => ({ ...envelopeOf(all, page), data: [] }),
          `page 1 is empty, although totalItems is 60 at a limit of 10. ${orFromZero} ${resume(1)}`,
        ],
        [
          'an empty page before the end',
          page => (page === 4 ? { ...envelopeOf(all, page), data: [] } : envelopeOf(all, page)),
          `page 4 is empty, although totalItems is 60 at a limit of 10. ${orFromZero} ${resume(1)}`,
        ],
        [
          'another limit',
          page => envelopeOf(all, page, page < 3 ? 10 : 5),
          `the limit in effect changed from 10 to 5 between two pages. Pass a limit that the service allows, or report it to its owner. ${resume(1, 5)}`,
        ],
        [
          'the same page again and again',
          page => ({ ...envelopeOf(all, 1), page }),
          "page 3 repeats page 2, and so did the page before it. The service seems to ignore the requested page: report it to the service's owner.",
        ],
      ],
      async ([, respond, message]) => expect(await iterate(respond)).toBe(message),
    ))

  test('when items may have been missed', async () => {
    const shrinking = (_page: number, _limit: number, count: number) => (count > 3 ? all.slice(12) : all)
    const tooLarge = (page: number) => ({ ...envelopeOf(all.slice(0, 25), page), totalItems: 29 })
    expect(await iterate((page, limit, count) => envelopeOf(shrinking(page, limit, count), page))).toBe(
      `the list shrank from 60 to 48 items while it was read, so 12 or more may have been missed. ${repair} ${onMissed} ${resume(1)}`,
    )
    expect(await iterate(tooLarge)).toBe(
      `the list ended after 25 of 29 items, so 4 or more may have been missed. ${repair} ${onMissed} ${resume(1)}`,
    )
    // Without identity, a verified walk is not possible.
    respondTo(tooLarge)
    const options = { schema: z.custom<Transaction>(), concurrency: 1 }
    expect(await messageOf(collect(createClient().list('/transactions', { limit: 10 }, options)))).toBe(
      `the list ended after 25 of 29 items, so 4 or more may have been missed. ${onMissed} ${resume(1)}`,
    )
  })

  test('when an item of an earlier response does not appear again', async () => {
    const stage = createStage(5, 2)
    const client = createClient({ fetch: stage.fetch, concurrency: 2 })
    const iteration = messageOf(collect(client.transactions.list()))
    await stage.respond(1)
    const [two, three] = [await stage.of(2), await stage.of(3)]
    three.serve()
    stage.items.unshift(newest('new'))
    stage.items.pop()
    two.serve()
    three.deliver()
    await idle()
    two.deliver()
    await stage.respondToAll()
    expect(await iteration).toBe(
      `the list changed while it was read, and items of an earlier response did not appear again, so 1 or more may have been missed. ${repair} ${onMissed} ${resume(1, 2)}`,
    )
  })

  test('when it is verified, and its pages cannot be made to overlap', () =>
    checkEach<[what: string, message: string, ...given: Parameters<typeof iterate>]>(
      [
        [
          'smaller limits are not honoured',
          `a limit of 9 was requested, but the service used 10. The service does not honour smaller limits, so pages cannot overlap: iterate without \`verified\`. ${resume(1)}`,
          page => envelopeOf(all, page, 10),
        ],
        [
          'the limit is too small',
          `a limit of 2 is too small for pages to overlap at item 2. Use a larger \`limit\`, such as 20. If the service lowers it, iterate without \`verified\`. ${resume(1, 2)}`,
          page => envelopeOf(all, page, 2),
        ],
        [
          'two items have the same identity',
          `one page holds two items with the same identity. Identify items by something unique: see \`dedupeBy\`. ${resume(1)}`,
          (page, limit) => envelopeOf(all, page, limit),
          { dedupeBy: () => 'same' },
        ],
        [
          'the total is too large',
          `the list ended at position 60, although totalItems is 90. The service may count pages from 0, or its total may be out of date or ignore filters. To accept the end of the list instead of its total, pass onMissedItems: 'continue'. ${resume(1)}`,
          (page, limit) => ({ ...envelopeOf(all, page, limit), totalItems: 90 }),
        ],
        [
          'the page is ignored',
          `the list changed faster than it could be read, or the service ignores page or limit, or filters pages after cutting them (more than 8 responses without progress). Iterate when fewer changes are made, pass another limit, or iterate without \`verified\`. ${resume(1)}`,
          (page, limit) => ({ ...envelopeOf(all, 1, limit), page }),
        ],
        [
          'no item is known any more',
          `the list changed by more items than this walk remembers, so some may have been missed. Iterate when fewer changes are made. ${resume(1)}`,
          (page, limit, count) => envelopeOf(count === 1 ? all : sampleTransactions(60, count), page, limit),
          {},
          { page: 2 },
        ],
      ],
      async ([, message, respond, options, params]) => {
        expect(await iterate(respond, { verified: true, ...options }, params)).toBe(message)
      },
    ))

  test('with the page to resume from, if a request fails after the list has shrunk', async () => {
    const stage = createStage(6, 2)
    const client = createClient({ fetch: stage.fetch, concurrency: 2, maxRetries: 0 })
    const iteration = messageOf(collect(client.transactions.list()))
    await stage.respond(1)
    stage.items.splice(0, 1)
    await stage.respond(3)
    ;(await stage.of(2)).respondWith(new Response(null, { status: 404 }))
    expect(await iteration).toBe(
      `HTTP 404. Check the path, and that of baseUrl (none, or one such as /v1). The page may also be beyond the end of the list. ${resume(1, 2)}`,
    )
  })
})
