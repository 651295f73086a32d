import type { ListParams } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { collect, type Envelope, envelopeOf, respondTo } from '../lists/lists.ts'
import { createClient, respondWith, startService } from '../service.ts'
import { checkEach, rejectionOf } from '../support.ts'

// Messages of lists that fail: the problem word for word, and the useful part of the advice.

startService()

/** The message with which a list fails, without the method, the path and the page. */
async function messageOf(call: PromiseLike<unknown>): Promise<string> {
  const { message } = (await rejectionOf(call)) as Error
  expect(message).toMatch(/^GET \/transactions \(page \d+\): /)
  return message.replace(/^.*?\): /, '')
}

/** The message of one page whose response is this. */
const read = (body: BodyInit, init?: ResponseInit, options: object = {}) => {
  const client = createClient({ maxRetries: 0, fetch: async () => new Response(body, init) })
  return messageOf(client.transactions.list({}, options))
}

describe('a page fails', () => {
  test('with a body that is not a page', () =>
    checkEach<[body: string | Uint8Array<ArrayBuffer>, problem: string | RegExp, hint: RegExp]>(
      [
        ['', 'expected JSON, got an empty body', /proxy|login page/],
        ['Hello', 'expected JSON, got plain text', /proxy|login page/],
        ['\n<html lang="en">', 'expected JSON, got an HTML page', /proxy|login page|baseUrl/],
        ['  \n', 'expected JSON, got an empty body', /proxy|login page/],
        [
          '{"data":[{"id":"t',
          'expected JSON, got text of 17 characters that begins like JSON and breaks at position 17',
          /cut off/,
        ],
        [
          '{"error":{"message":"no such filter"}}',
          /data: expected an array, .*says "no such filter"/,
          /client\.request/,
        ],
        [Uint8Array.of(0x7b, 0xff, 0x7d), 'expected UTF-8, got other bytes', /./],
        ['[]', 'expected an object, got an array', /Is this a list\?/],
        [
          '{"data":[],"page":0,"totalItems":-1,"limit":"1"}',
          'page: expected a whole number of at least 1, got another number; totalItems: expected a whole number of at least 0, got another number; limit: expected a number, got a string',
          /Is this a list\? .* client\.request/,
        ],
      ],
      async ([body, problem, hint]) => {
        const message = await read(body)
        if (typeof problem === 'string') expect(message).toContain(`the response is not valid: ${problem}. `)
        else expect(message).toMatch(problem)
        expect(message).toMatch(hint)
      },
    ))

  test('with items that are not transactions, whose paths are named, but no value', () =>
    checkEach<[item: string, problem: string]>(
      [
        ['7', 'data[0]: expected an object, got a number'],
        [
          '{"id":"t1","amount":"1","currency":null}',
          'data[0].amount: expected a number, got a string; data[0].currency: expected a string, got null; data[0].description: expected a string, got undefined',
        ],
        [
          '{"id":"t1","amount":9007199254740993,"currency":"EUR","description":""}',
          'data[0].amount: expected a number, got one that JavaScript would round (kept as a string)',
        ],
      ],
      async ([item, problem]) => {
        const message = await read(`{"data":[${item}],"page":1,"totalItems":1,"limit":20}`)
        expect(message).toContain(`the response is not valid: ${problem}. `)
        expect(message).toContain('`schema`')
      },
    ))

  test("with items that break the caller's schema, whose first path is named", () =>
    checkEach(
      [
        [1, ''],
        [3, ' (and 2 more)'],
      ] as const,
      async ([count, more]) => {
        const items = Array.from({ length: count }, () => '{}').join()
        const schema = z.looseObject({ id: z.string() }) as never
        const message = await read(`{"data":[${items}],"page":1,"totalItems":1,"limit":20}`, {}, { schema })
        const first = 'data[0].id'
        expect(message).toContain(`the response does not match the schema at ${first}${more}. `)
        expect(message).toContain('error.issues')
      },
    ))

  test('with a status, and the reason that the service gave', async () => {
    const status = (status: number, body = '') => read(body, { status })
    expect(await status(404)).toBe(
      'HTTP 404. Check the ids, the path and baseUrl (https://virtual-accounts.test).',
    )
    respondWith(null, { status: 404 })
    expect(await messageOf(createClient().transactions.list({ page: 2 }))).toMatch(
      /^HTTP 404\..* beyond the end/,
    )
    expect(await status(409)).toBe('HTTP 409.')
    expect(await status(429)).toMatch(/^HTTP 429, rate limited\. Retry later\./)
    expect(await status(403, '{"error":{"message":"down"}}')).toMatch(/^HTTP 403: "down"\. /)
    expect(await status(403, '{"message":"Konto \\u00fcberzogen\\nnow"}')).toContain(
      '"Konto überzogen\\u000anow"',
    )
    expect(await status(403, '{"message":"Down."}')).toContain('HTTP 403: "Down." ')
  })
})

describe('an iteration fails', () => {
  const all = sampleTransactions(60)
  const contradiction = /Report this contradiction to the service's owner\.$/
  const onMissed = /pass `onMissedItems: 'continue'`\.$/

  /** The message of a list that fails. Its requests, counted from 1, get these envelopes. */
  async function iterate(
    respond: (page: number, limit: number, count: number) => Envelope,
    options: object = {},
    params: ListParams = {},
  ): Promise<string> {
    respondTo(respond)
    const list = createClient().transactions.list({ limit: 20, ...params }, { concurrency: 1, ...options })
    return messageOf(collect(list))
  }

  test('with a cursor to resume, unless it would meet the same invalid item, or has `until`', async () => {
    const failing = (second: Response, until?: string) => {
      const first = Response.json(envelopeOf(all, 1, 20))
      const fetch = async (url: string) => (url.includes('page=1&') ? first : second).clone()
      const { transactions } = createClient({ fetch, maxRetries: 0 })
      return messageOf(collect(transactions.list({ limit: 20 }, { until })))
    }
    const resume = / To resume: list\(params, \{ after: error\.cursor \}\)\.$/
    expect(await failing(new Response(null, { status: 500 }))).toMatch(resume)
    respondTo((page, limit) => envelopeOf(all.slice(40), page, limit))
    const [old] = await collect(createClient().transactions.list({ limit: 20 }).batches())
    expect(await failing(new Response(null, { status: 500 }), old?.cursor)).not.toMatch(/resume/)
    const invalid = { ...envelopeOf(all, 2, 20), data: [{ id: 't1' }] }
    expect(await failing(Response.json(invalid))).toMatch(/Pass a `schema` .* is in error\.body\.$/)
  })

  test('when the service contradicts itself', () =>
    checkEach<[problem: string, advice: RegExp, respond: (page: number) => Envelope]>(
      [
        [
          'page 1 was requested, but page 2 was returned.',
          /^page .* The service ignores `page`, or your own proxy drops the query\.$/,
          page => ({ ...envelopeOf(all, page, 20), page: page + 1 }),
        ],
        [
          'page 1 holds 21 items, more than its limit of 20.',
          contradiction,
          page => ({ ...envelopeOf(all, page, 20), data: all.slice(0, 21) }),
        ],
        [
          'page 1 is empty, although totalItems is 60 at a limit of 20.',
          contradiction,
          page => ({ ...envelopeOf(all, page, 20), data: [] }),
        ],
        [
          'the limit in effect changed from 20 to 5 between two pages.',
          /Pass a limit that the service allows/,
          page => envelopeOf(all, page, page < 3 ? 20 : 5),
        ],
      ],
      async ([problem, advice, respond]) => {
        const message = await iterate(respond, { verified: false })
        expect(message).toContain(problem)
        expect(message).toMatch(advice)
      },
    ))

  test('when items may have been missed: how many, and how to accept it', async () => {
    // It always uses its own limit, so pages cannot overlap.
    const message = await iterate((page, _, count) => envelopeOf(count > 3 ? all.slice(12) : all, page, 20))
    expect(message).toMatch(
      /^the list shrank from 60 to 48 items .* so 12 or more items may have been missed\. Start over\. /,
    )
    expect(message).toMatch(onMissed)
  })

  test('when it ends short of its total', async () => {
    const message = await iterate((page, limit) => ({ ...envelopeOf(all, page, limit), totalItems: 90 }))
    expect(message).toMatch(
      /^the list ended at position 60, although totalItems is 90, so 30 or more .* counted from 0, .* Run the loop again\. To accept .* To resume: /,
    )
  })

  test('when a fixture repeats one page', async () => {
    const message = await iterate(page => ({ ...envelopeOf(all, 1, 20), page }))
    expect(message).toMatch(
      /^a page repeats the one before it, .* ignore `page`, .* pass an `itemKey` that is unique for each item\.$/,
    )
  })

  test('when nothing that was read is there any more', async () => {
    const others = (page: number, limit: number, count: number) =>
      envelopeOf(count === 1 ? all : sampleTransactions(60, count), page, limit)
    expect(await iterate(others, {}, { page: 2 })).toMatch(
      /^all recently read items are gone from the list, .* Start over, without `after`\.$/,
    )
  })

  test('when the page is ignored', async () => {
    const grow = (page: number, limit: number, count: number) => ({
      ...envelopeOf(all, 1, limit),
      page,
      totalItems: 60 * count,
    })
    expect(await iterate(grow)).toMatch(/the service ignores `page`, or `itemKey` is not unique\./)
  })

  test('with `verified: true`, when pages cannot overlap', () =>
    checkEach<[problem: string, advice: RegExp, ...given: Parameters<typeof iterate>]>(
      [
        [
          'the service ignores some values of `limit`',
          /without `verified: true`/,
          page => envelopeOf(all, page, 20),
        ],
        [
          'two items have the same key',
          /`itemKey`/,
          (page, limit) => envelopeOf(all, page, limit),
          { itemKey: () => 'same' },
        ],
        [
          'an item has no key',
          /`itemKey`/,
          (page, limit) => envelopeOf(all, page, limit),
          { itemKey: () => undefined },
        ],
      ],
      async ([problem, advice, respond, options]) => {
        const message = await iterate(respond, { verified: true, ...options })
        expect(message).toContain(problem)
        expect(message).toMatch(advice)
      },
    ))
})
