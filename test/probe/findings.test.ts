import type { Transaction } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { account, checkEach } from '../support.ts'
import {
  changeHeaders,
  changeItems,
  changePages,
  changeQuery,
  countingFromZero,
  type Deviation,
  from,
  isRead,
  json,
  type PageBody,
  probeHanging,
  probeService,
  respond,
  service,
  undecodable,
} from './service.ts'

beforeEach(() => service.reset())

const isWrongKey = ({ headers }: Request) => headers.get('Api-Key') === 'wrong-key-of-a-probe'
const always =
  (response: () => Response): Deviation =>
  () =>
  async () =>
    response()

test('nothing is broken in a service that conforms to the API specification', async () => {
  const { report, broken, notChecked } = await probeService()
  expect(broken).toEqual([])
  expect(notChecked).toEqual(['cors'])
  expect(report.suggestedOptions).toEqual({ limit: 100 })
})

describe('the probe finds exactly what is broken:', () => {
  const pageOf = (page: PageBody, start: number) => ({
    ...page,
    data: service.transactions.slice(start, start + page.limit),
  })
  test('one deviation at a time', () =>
    checkEach<[name: string, id: string, ...deviations: Deviation[]]>(
      [
        [
          'a wrong key gets a page',
          'wrong-key',
          changeRequests(headers => headers.set('Api-Key', service.apiKey)),
        ],
        [
          'a wrong key gets a 500',
          'wrong-key',
          respond(request => (isWrongKey(request) ? json({}, 500) : undefined)),
        ],
        [
          'ids are numbers, even if all those that were read arrive as strings of their many digits',
          'items',
          changePages(
            page => page,
            text => text.replaceAll(/"id":"\D*(\d+)"/g, '"id":90071992547409930$1'),
          ),
        ],
        [
          'page 1 is empty, although the total counts items, whatever the limit',
          'page-zero',
          shortenedTo(1),
          ...countingFromZero,
          changePages(page => ({ ...page, totalItems: 1 })),
        ],
        ['amounts are strings', 'items', changeItems(item => ({ ...item, amount: '1' }))],
        [
          'one item has no description',
          'items',
          changeItems(({ description, ...item }, index) => (index ? { ...item, description } : item)),
        ],
        [
          'items are not objects',
          'items',
          changePages(page =>
            page.data.length > 2 ? { ...page, data: [null, 1, ...page.data.slice(2)] } : page,
          ),
        ],
        [
          'amounts have more digits than a number holds',
          'digits',
          changePages(
            page => page,
            text => text.replaceAll(/"amount":[\d.]+/g, '"amount":9007199254740993'),
          ),
        ],
        ['every page says that it is page 1', 'page-echo', changePages(page => ({ ...page, page: 1 }))],
        [
          'page 2 fails',
          'page-echo',
          respond((_, query) => (String(query) === 'page=2' ? json({}, 500) : undefined)),
        ],
        [
          'page 2 has another Content-Encoding than it says',
          'page-echo',
          respond((_, query) => (String(query) === 'page=2' ? undecodable() : undefined)),
        ],
        [
          'page 2 fails where a limit is requested',
          'limit-echo',
          respond((_, query) => (String(query) === 'page=2&limit=2' ? json({}, 500) : undefined)),
        ],
        ['pages are counted from 0', 'page-zero', ...countingFromZero],
        ['a list of one page is on page 0', 'page-zero', shortenedTo(5), ...countingFromZero],
        ...[1, 5].map((count): [string, string, ...Deviation[]] => [
          `all ${count} of the items are on page 0, and empty pages have the total 0`,
          'page-zero',
          shortenedTo(count),
          ...countingFromZero,
          changePages(page => (page.data.length === 0 ? { ...page, totalItems: 0 } : page)),
        ]),
        [
          'a page of a larger limit is not UTF-8',
          'max-limit',
          respond((_, query) =>
            Number(query.get('limit')) > 20 ? new Response(Uint8Array.of(0x7b, 0xe9, 0x7d)) : undefined,
          ),
        ],
        [
          'a large limit is raised',
          'max-limit',
          changeItems(item => ({ ...item, note: 'x'.repeat(20_000) })),
          changeQuery(query => query.get('limit') === '52' && query.set('limit', '64')),
        ],
        [
          'pages are counted from 0, and the last one comes again instead of any after it',
          'page-zero',
          changeQuery(query => {
            const last = lastPage(250, query)
            query.set('page', String(Math.min(Number(query.get('page')) + 1, last)))
          }),
          changePages((page, query) => ({ ...page, page: Number(query.get('page')) })),
        ],
        [
          'page 1 lacks an item',
          'total',
          changePages((page, query) =>
            query.has('limit') || page.page !== 1 ? page : { ...page, data: page.data.slice(0, -1) },
          ),
        ],
        ['the limit is ignored', 'limit-echo', changeQuery(query => query.delete('limit'))],
        [
          'the limit is refused',
          'limit-echo',
          respond((_, query) => (query.has('limit') ? json({}, 400) : undefined)),
        ],
        [
          'pages have more items than their limit',
          'limit-echo',
          changePages(page => ({ ...page, limit: Math.min(page.limit, 15) })),
        ],
        [
          'the last page has more items than its limit',
          'limit-echo',
          changePages(page => (page.page === 13 ? { ...page, data: service.transactions.slice(-30) } : page)),
        ],
        [
          'the limit in the response is the number of items on the page',
          'limit-echo',
          changePages(page => ({ ...page, limit: page.data.length || page.limit })),
        ],
        [
          'the limit is obeyed on page 1 only',
          'limit-echo',
          changeQuery(query => query.get('page') !== '1' && query.delete('limit')),
        ],
        [
          'a large limit is obeyed on the first pages only',
          'max-limit',
          changeQuery(query => Number(query.get('page')) > 2 && query.delete('limit')),
          respond((_, query) => (Number(query.get('limit')) > 100 ? json({}, 400) : undefined)),
        ],
        [
          'a large limit is echoed and not obeyed',
          'max-limit',
          changePages((page, query) => ({ ...page, limit: Number(query.get('limit') ?? page.limit) })),
        ],
        [
          'a large limit is lowered in what the response says alone',
          'max-limit',
          changePages((page, query) =>
            Number(query.get('limit')) > 100 ? { ...page, data: service.transactions.slice(0, 250) } : page,
          ),
        ],
        [
          'a large limit gets a 500',
          'max-limit',
          respond((_, query) => (Number(query.get('limit')) > 50 ? json({}, 500) : undefined)),
        ],
        [
          'the total counts the page only',
          'total',
          changePages(page => ({ ...page, totalItems: page.data.length })),
        ],
        ['the total is too low by a few', 'total', changePages(page => ({ ...page, totalItems: 243 }))],
        ['the total is too low by whole pages', 'total', changePages(page => ({ ...page, totalItems: 40 }))],
        [
          'the total is too high by whole pages',
          'total',
          changePages(page => ({ ...page, totalItems: 300 })),
        ],
        [
          'the total is too low, as only a page with a larger limit shows',
          'total',
          changePages((page, query) => {
            const end = page.limit > 20 ? 250 : 90
            const start = (Number(query.get('page')) - 1) * page.limit
            return {
              ...page,
              totalItems: 90,
              data: service.transactions.slice(start, Math.min(end, start + page.limit)),
            }
          }),
        ],
        [
          'the page is ignored',
          'neighbours',
          changePages(page => ({ ...page, data: service.transactions.slice(0, page.limit) })),
        ],
        [
          'the page after the last has items by its own total',
          'total',
          changePages(page => (page.page === 14 ? { ...pageOf(page, 245), totalItems: 270 } : page)),
        ],
        ['the total is too high by one', 'total', changePages(page => ({ ...page, totalItems: 251 }))],
        [
          'pages far from the beginning are refused',
          'total',
          respond((_, query) => (Number(query.get('page')) > 10 ? json({}, 400) : undefined)),
        ],
        [
          'pages beyond the end are refused',
          'page-beyond-end',
          respond((_, query) => (query.get('page') === '14' ? json({}, 404) : undefined)),
        ],
        [
          'the last page is repeated beyond the end',
          'page-beyond-end',
          changePages((page, query) => (query.get('page') === '14' ? pageOf(page, 240) : page)),
        ],
        [
          'the last page is returned under its own number beyond the end',
          'page-beyond-end',
          changePages((page, query) =>
            query.get('page') === '14' ? { ...pageOf(page, 240), page: 13 } : page,
          ),
        ],
        [
          'pages beyond the end say another total',
          'total',
          changePages(page => (page.data.length === 0 ? { ...page, totalItems: 0 } : page)),
        ],
        [
          'pages beyond the end say another number and another total',
          'page-beyond-end',
          changePages(page => (page.data.length === 0 ? { ...page, page: 1, totalItems: 0 } : page)),
        ],
        [
          'pages beyond the end say another number and have another limit',
          'page-beyond-end',
          changePages((page, query) =>
            query.get('page') === '14'
              ? { ...page, page: 1, limit: 10, data: service.transactions.slice(0, 10) }
              : page,
          ),
        ],
        [
          'pages beyond the end say another number',
          'page-beyond-end',
          changePages(page => (page.data.length === 0 ? { ...page, page: 1 } : page)),
        ],
        [
          'the order changes',
          'order',
          from(
            2,
            changePages(page => ({ ...page, data: page.data.toReversed() })),
          ),
        ],
        [
          'page 2 begins with the last item of page 1',
          'neighbours',
          changePages(page => (page.page === 2 ? pageOf(page, page.limit - 1) : page)),
        ],
        [
          'page 1 has other items with a large limit',
          'neighbours',
          changePages((page, query) => (query.get('limit') === '1000' ? pageOf(page, 1) : page)),
        ],
        [
          'page 1 fails when it is read again',
          'page-echo',
          from(
            2,
            once(() => json({}, 500)),
          ),
        ],
        [
          'the total is another one with a large limit',
          'max-limit',
          changePages((page, query) => (query.get('limit') === '1000' ? { ...page, totalItems: 300 } : page)),
        ],
        [
          'the total is higher with a large limit',
          'max-limit',
          changePages(page =>
            page.limit < 100
              ? { ...page, totalItems: 40, data: page.page * page.limit > 40 ? [] : page.data }
              : page,
          ),
        ],
        [
          'the default limit is another one when page 1 is read again',
          'limit-echo',
          from(
            2,
            changeQuery(query => query.has('limit') || query.set('limit', '50')),
          ),
        ],
        [
          'the default limit is another one on the last page, which is empty by it',
          'limit-echo',
          changeQuery(
            query => Number(query.get('page')) > 2 && !query.has('limit') && query.set('limit', '50'),
          ),
        ],
        [
          'the default limit is another one beyond the end',
          'limit-echo',
          changeQuery(query => query.get('page') === '14' && query.set('limit', '10')),
        ],
        [
          'the limit in the response is the number of items on the last page of the largest limit',
          'max-limit',
          shortenedTo(240),
          changePages(page => (page.page === 3 && page.limit === 100 ? { ...page, limit: 40 } : page)),
        ],
        [
          'the last page of the largest limit is refused',
          'max-limit',
          respond((_, query) => (query.get('page') === '3' ? json({}, 404) : undefined)),
        ],
        [
          'the key is refused with a large limit',
          'max-limit',
          respond((_, query) => (Number(query.get('limit')) > 20 ? json({}, 401) : undefined)),
        ],
        [
          'page 2 ignores a small limit, and is beyond the end of the list',
          'limit-echo',
          shortenedTo(4),
          changePages((page, query) =>
            String(query) === 'page=2&limit=2' ? { ...page, limit: 20, data: [] } : page,
          ),
        ],
        [
          'an item between pages 1 and 2 is on neither',
          'neighbours',
          changePages(page => (page.page === 2 ? pageOf(page, page.limit + 1) : page)),
        ],
        [
          'a page of a larger limit is cut off',
          'max-limit',
          respond((_, query) =>
            Number(query.get('limit')) > 20 ? new Response('{"data":[{"id":') : undefined,
          ),
        ],
        [
          'the last page of the largest limit fails',
          'max-limit',
          respond((_, query) => (query.get('page') === '3' ? json({}, 500) : undefined)),
        ],
        [
          'the last page of the largest limit lacks an item',
          'max-limit',
          changePages(page =>
            page.page === 3 && page.limit === 100 ? { ...page, data: page.data.slice(1) } : page,
          ),
        ],
        [
          'a page beyond the end begins before its place',
          'page-beyond-end',
          changePages(page => (page.page === 14 ? pageOf(page, 230) : page)),
        ],
        [
          'the last page begins before its place',
          'total',
          changePages(page => (page.page === 13 ? pageOf(page, 230) : page)),
        ],
        [
          'an id is twice on a long page only',
          'neighbours',
          changePages(page => ({
            ...page,
            data: page.data.map((item, index) => page.data[index === 45 ? 44 : index] ?? item),
          })),
        ],
        [
          'an id is on page 1 twice',
          'neighbours',
          changePages(page =>
            page.page === 1 ? { ...page, data: [...page.data.slice(0, -1), page.data[0]] } : page,
          ),
        ],
        [
          'Retry-After cannot be read',
          'rate-limit',
          from(
            2,
            once(() => new Response(null, { status: 429, headers: { 'Retry-After': 'soon' } })),
          ),
        ],
        [
          'the second Retry-After cannot be read',
          'rate-limit',
          from(
            2,
            once(() => new Response(null, { status: 429, headers: { 'Retry-After': '1' } })),
          ),
          from(
            3,
            once(() => new Response(null, { status: 429, headers: { 'Retry-After': 'soon' } })),
          ),
        ],
        ['responses are old', 'cache', changeHeaders(headers => headers.set('Age', '30'))],
        ['one of two caches is old', 'cache', changeHeaders(headers => headers.set('Age', '0, 30'))],
        [
          'the page that page 0 gets is old',
          'cache',
          changeQuery(query => query.get('page') === '0' && query.set('page', '1')),
          changeHeaders((headers, { url }) => url.includes('page=0') && headers.set('Age', '30')),
        ],
        [
          'shared caches may keep pages',
          'cache',
          changeHeaders(headers => headers.set('Cache-Control', 'max-age=60, no-cache="set-cookie"')),
        ],
        [
          'shared caches may keep pages after the first',
          'cache',
          changeHeaders((headers, { url }) =>
            headers.set('Cache-Control', url.includes('page=2') ? 'max-age=60' : 'no-store'),
          ),
        ],
      ],
      async ([, id, ...deviations]) => {
        service.reset()

        const { broken, find } = await probeService(deviations)
        expect(broken).toEqual([id])
        expect(find(id).consequence).toMatch(/\.$/)
      },
    ))

  test('pages that take more than ten seconds, of which the report gives the longest', async () => {
    const { broken, find } = await probeService([taking12Seconds(isRead)])
    expect(broken).toEqual(['speed'])
    expect(find('speed').observed).toContain('12.0 s')
  })

  test('several deviations, and no others', async () => {
    const { broken } = await probeService([
      changePages(page => ({ ...page, page: 1 })),
      changeHeaders(headers => headers.set('Age', '30')),
    ])
    expect(broken).toEqual(['page-echo', 'cache'])
  })
})

function changeRequests(change: (headers: Headers) => void): Deviation {
  return fetch => (input, init) => {
    const request = new Request(input, init)
    change(request.headers)
    return fetch(request)
  }
}

/** The last page of a list of so many items, with the limit that is requested. */
function lastPage(count: number, query: URLSearchParams): number {
  return Math.max(1, Math.ceil(count / Number(query.get('limit') ?? 20)))
}

function refuseBeyond(count: number): Deviation {
  return respond((_, query) =>
    Number(query.get('page')) > lastPage(count, query) ? json({}, 404) : undefined,
  )
}

function once(response: () => Response): Deviation {
  let isFirst = true
  return respond(request => {
    const isMatch = isFirst && isRead(request)
    if (isMatch) isFirst = false
    return isMatch ? response() : undefined
  })
}

describe('a service without a page of transactions', () => {
  test('has one thing that is broken', () =>
    checkEach<[name: string, id: string, Deviation]>(
      [
        ['is not reachable', 'reachable', always(() => Response.error())],
        [
          'redirects',
          'reachable',
          always(() => new Response(null, { status: 302, headers: { Location: '/login' } })),
        ],
        ['refuses the key', 'api-key', always(() => json({}, 401))],
        ['forbids the key', 'api-key', always(() => json({}, 403))],
        ['has no such path', 'envelope', always(() => json({}, 404))],
        ['is overloaded', 'envelope', always(() => json({}, 503))],
        [
          'has another envelope',
          'envelope',
          changePages(({ totalItems, ...page }) => ({ ...page, total: totalItems })),
        ],
        ['sends an HTML page', 'envelope', always(() => new Response('<h1>Log in</h1>'))],
        ['sends nothing', 'envelope', always(() => new Response(null))],
        [
          'sends pages that are too large',
          'envelope',
          changePages(page => ({ ...page, note: 'x'.repeat(11_000_000) })),
        ],
        [
          'sends pages that are cut off',
          'envelope',
          changePages(
            page => page,
            text => text.slice(0, -1),
          ),
        ],
      ],
      async ([, id, deviation]) => {
        service.reset()

        const { report, broken, find } = await probeService([deviation])
        expect(broken).toEqual([id])
        expect(find('total').status).toBe('not-checked')
        expect(report.requests).toBeLessThanOrEqual(4)
        expect(report.suggestedOptions.limit).toBeUndefined()
      },
    ))
})

test('says what to do where there is no page of transactions', () =>
  checkEach<[what: string, id: string, response: () => Response, advice: string]>(
    [
      [
        'a fetch that fails with a long reason',
        'reachable',
        () => {
          throw new Error('Not logged in. Run "login" first. Then try again')
        },
        'if it is CORS, see docs/browser.md).',
      ],
      ['no response', 'reachable', () => Response.error(), 'if it is CORS, see docs/browser.md).'],
      ['a refused key', 'api-key', () => json({}, 401), 'Check that apiKey belongs to this baseUrl.'],
      [
        'another path',
        'envelope',
        () => json({}, 404),
        'Check the path, and that of baseUrl (none, or one such as /v1).',
      ],
      [
        'HTML',
        'envelope',
        () => new Response('<!doctype html><h1>Log in</h1>'),
        'Is this the service? A proxy or a login page may have responded: check baseUrl.',
      ],
      [
        'text',
        'envelope',
        () => new Response('OK'),
        'If the service did not send it, check baseUrl; else ask its owner.',
      ],
      [
        'another JSON',
        'envelope',
        () => json({}),
        "read it with `client.request('GET', '/transactions')`; `npx virtual-accounts schema` prints its type.",
      ],
      ['500', 'envelope', () => json({}, 500), 'The service failed: retry later.'],
      [
        '429',
        'envelope',
        () => new Response(null, { status: 429, headers: { 'Retry-After': '120' } }),
        'Retry after 120 s.',
      ],
      ['400', 'envelope', () => json({}, 400), 'The list could not be read.'],
      [
        'too much',
        'envelope',
        () => json({ data: [], page: 1, totalItems: 0, limit: 20, note: 'x'.repeat(11_000_000) }),
        'Raise `maxResponseBytes`.',
      ],
    ],
    async ([, id, response, advice]) => {
      service.reset()
      const { find } = await probeService([always(response)])
      expect(find(id).consequence?.slice(-advice.length)).toBe(advice)
    },
  ))

test('says where a number of the envelope has too many digits', async () => {
  const { find } = await probeService([
    changePages(
      page => ({ ...page, limit: 0 }),
      text => text.replace('"limit":0', '"limit":9223372036854775807'),
    ),
  ])
  expect(find('envelope').observed).toBe(
    'limit: expected a whole number of at least 1, got one with more digits than a double holds (kept as a string)',
  )
})

test('names what another envelope has, each name as a whole or not at all', async () => {
  const long = 'x'.repeat(41)
  const body = { items: [{ secret: 1 }], [`is_${service.apiKey}`]: 1, [long]: 2, '\u001b[31m': 3 }
  const { find } = await probeService([always(() => json(body))])
  expect(find('envelope').observed).toMatch(/; the object has items, is_\[api key\], \\u001b\[31m, and more$/)
})

test('an HTML page with status 200 does not show that the key is accepted', async () => {
  const html = () => new Response('<h1>Log in</h1>')
  const { find } = await probeService([respond(html)])
  expect(find('api-key').status).toBe('not-checked')
})

test('a page that is cut off by the connection is not checked, rather than broken', async () => {
  let isFirst = true
  const cutOff = respond((_, query) => {
    if (query.get('page') !== '2' || !isFirst) return undefined
    isFirst = false
    return new Response(new ReadableStream({ start: controller => controller.error(new Error('cut')) }))
  })
  const { broken, find } = await probeService([], { fetch: cutOff(service.fetch) as never })
  expect(broken).toEqual([])
  expect(find('page-echo').status).toBe('not-checked')
})

test('a service that does not respond has no response time', async () => {
  const { find } = await probeService([always(() => Response.error())])
  expect(find('speed').status).toBe('not-checked')
})

test('JSON that is sent as text/html is JSON, not an HTML page', async () => {
  const asHtml = changeHeaders(headers => headers.set('Content-Type', 'text/html; charset=UTF-8'))
  const { broken, find } = await probeService([asHtml], { account: undefined })
  expect(broken).toEqual([])
  expect(find('envelope').status).toBe('ok')
})

describe('what has no effect on the client, or is left open, is not broken', () => {
  test('and is reported as ok', () =>
    checkEach<[name: string, id: string, ...deviations: Deviation[]]>(
      [
        [
          'a 500 for page 0, which the client never requests',
          'page-zero',
          respond((_, query) => (query.get('page') === '0' ? json({}, 500) : undefined)),
        ],
        [
          'page 0 as another name of page 1',
          'page-zero',
          changeQuery(query => query.get('page') === '0' && query.set('page', '1')),
        ],
        [
          'a limit above the largest that is refused',
          'max-limit',
          respond((_, query) => (Number(query.get('limit')) > 100 ? json({}, 400) : undefined)),
        ],
        ['more fields', 'further-fields', changeItems(item => ({ ...item, note: 'x' }))],
        [
          'long numbers outside the fields that are specified',
          'digits',
          changePages(
            page => ({ ...page, data: page.data.map(item => ({ ...item, meta: [{ n: 1 }] })) }),
            text => text.replaceAll('"n":1', '"n":1e999'),
          ),
        ],
        [
          'an amount beside the items with more digits than a number holds',
          'digits',
          changePages(
            page => ({ amount: 0, ...page }),
            text => text.replace('"amount":0', '"amount":9007199254740993'),
          ),
        ],
        [
          'an amount in a field without a name with more digits than a number holds',
          'digits',
          changePages(
            page => ({ ...page, data: page.data.map(item => ({ '': { amount: 0 }, ...item })) }),
            text => text.replaceAll('"amount":0}', '"amount":9007199254740993}'),
          ),
        ],
        [
          'pages that shared caches must ask for each time',
          'cache',
          changeHeaders(headers => headers.set('Cache-Control', 'public, max-age=0, must-revalidate')),
        ],
        [
          'a 404 from a cache',
          'cache',
          changeHeaders((headers, { url }) => {
            if (url.includes('page=0')) headers.set('Age', '30')
          }),
        ],
        [
          'HTML from a cache',
          'cache',
          respond((_, query) =>
            query.get('page') === '0' ? new Response('<html>', { headers: { Age: '30' } }) : undefined,
          ),
        ],
        [
          'pages that no cache may keep',
          'cache',
          changeHeaders(headers => headers.set('Cache-Control', 'no-store, public, max-age=60')),
        ],
        ['no request id', 'request-id', changeHeaders(headers => headers.delete('x-request-id'))],
        [
          'a request that is throttled',
          'rate-limit',
          from(
            3,
            once(() => json({}, 429)),
          ),
        ],
        [
          'a request that is refused with a 403 and a Retry-After that nobody reads, as it is not retried',
          'rate-limit',
          from(
            3,
            once(() => new Response(null, { status: 403, headers: { 'Retry-After': 'soon' } })),
          ),
        ],
        [
          'a wrong key that is refused with a 404',
          'wrong-key',
          respond(request => (isWrongKey(request) ? json({}, 404) : undefined)),
        ],
      ],
      async ([, id, ...deviations]) => {
        service.reset()

        const { broken, find } = await probeService(deviations)
        expect(broken).toEqual([])
        expect(find(id).status).toBe('ok')
      },
    ))
})

test('a wrong key that gets a 200 without a page is neither refused nor accepted', async () => {
  const { broken, notChecked } = await probeService([
    respond(request => (isWrongKey(request) ? json({ error: 'key' }) : undefined)),
  ])
  expect(broken).toEqual([])
  expect(notChecked).toEqual(['wrong-key', 'cors'])
})

test('a page that a wrong key gets from a cache shows the cache', async () => {
  const { broken } = await probeService([
    fetch => (input, init) => {
      const request = new Request(input, init)
      const isHit = isWrongKey(request)
      if (isHit) request.headers.set('Api-Key', service.apiKey)
      return changeHeaders(headers => isHit && headers.set('Age', '30'))(fetch)(request)
    },
  ])
  expect(broken).toEqual(['wrong-key', 'cache'])
})

test('a last page that is lost says nothing about the end of the list', async () => {
  const { broken, find } = await probeService([
    respond((_, query) => (query.get('page') === '13' ? Response.error() : undefined)),
    changeQuery(query => Number(query.get('page')) > 13 && query.set('page', '13')),
    changePages((page, query) => ({ ...page, page: Number(query.get('page') ?? 1) })),
  ])
  expect(broken).toEqual([])
  expect(find('page-beyond-end').status).toBe('not-checked')
})

test('an empty list does not show what its first page is', async () => {
  service.transactions.length = 0
  const { notChecked } = await probeService(countingFromZero)
  expect(notChecked).toContain('page-zero')
})

test('the time of pages is not that of writes', async () => {
  const { broken, report } = await probeService([taking12Seconds(request => !isRead(request))])
  expect(broken).toEqual([])
  expect(report.suggestedOptions.limit).toBe(100)
})

function taking12Seconds(matches: (request: Request) => boolean): Deviation {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  return respond(request => {
    if (matches(request)) now += 12_000
    return undefined
  })
}

test('a request id is looked for in refusals, too, which need it most', async () => {
  const { find } = await probeService([
    changeHeaders((headers, request) => {
      if (isWrongKey(request)) headers.set('X-Request-Id', 'r7')
      else headers.delete('X-Request-Id')
    }),
  ])
  expect(find('request-id').observed).toBe('x-request-id')
})

test('digits are not checked where an item has more fields than were looked at', async () => {
  const fields = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`field${index}`, index]))
  const { find } = await probeService([changeItems(item => ({ ...item, ...fields }))])
  expect(find('digits').status).toBe('not-checked')
})

test('an amount with too many digits is found behind any number of fields', async () => {
  const fields = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`field${index}`, index]))
  const { broken, report } = await probeService([
    changePages(
      page => ({ ...page, data: page.data.map(item => ({ ...fields, ...item, amount: 0 })) }),
      text => text.replaceAll('"amount":0', '"amount":9007199254740993'),
    ),
  ])
  expect(broken).toEqual(['digits'])
  expect(String(report)).toContain('  amount: z.union([z.number(), z.string()]), // long ones are strings\n')
})

test('of numbers with too many digits, the amount is named first, and those of the envelope, too', async () => {
  const more = Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`a${index}`, 1]))
  const { find } = await probeService([
    changePages(
      page => ({ ...page, cursor: 1, data: page.data.map(item => ({ ...more, ...item, amount: 1 })) }),
      text => text.replaceAll(/(?<="(?:a\d|amount|cursor)":)1\b/g, '9007199254740993'),
    ),
  ])
  expect(find('digits').observed).toBe('more than a number can hold: amount, a0, a1, a2, a3, and more')
  const { find: findOfEnvelope } = await probeService([
    changePages(
      page => ({ ...page, cursor: 1 }),
      text => text.replace('"cursor":1', '"cursor":9007199254740993'),
    ),
  ])
  expect(findOfEnvelope('digits').observed).toBe('more than a number can hold: cursor of the envelope')
})

test('of two request ids, the one that errors have is named', async () => {
  const both = changeHeaders(headers => {
    headers.set('Request-Id', 'r1')
    headers.set('X-Request-Id', 'r2')
  })
  const { find } = await probeService([both])
  expect(find('request-id').observed).toBe('x-request-id')
})

test('the request id of the service is named rather than that of a gateway', async () => {
  const both = changeHeaders(headers => {
    headers.delete('X-Request-Id')
    headers.set('CF-Ray', '7')
    headers.set('X-Correlation-Id', 'r1')
  })
  const { find } = await probeService([both])
  expect(find('request-id').observed).toBe('none by the customary names, but x-correlation-id')
})

test('an empty request id is none', async () => {
  const { find } = await probeService([changeHeaders(headers => headers.set('X-Request-Id', ''))])
  expect(find('request-id').observed).toBe('none by a customary name')
})

test('a request id is looked for in what the service itself responds', async () => {
  const first = once(() => new Response(null, { status: 429, headers: { 'Retry-After': '1' } }))
  const identify = changeHeaders(headers => headers.set('X-Request-Id', 'r7'))
  const { find } = await probeService([identify, first])
  expect(find('request-id').observed).toBe('x-request-id')
})

/** The list has so many items. */
function shortenedTo(count: number): Deviation {
  return respond(() => {
    service.transactions.length = count
    return undefined
  })
}

/** The list has one more item at each request. */
function growing(): Deviation {
  let added = 0
  return respond(() => {
    service.transactions.push({ ...service.transactions[0]!, id: `new${added++}` })
    return undefined
  })
}

test('a large limit is not blamed for a list that became shorter', () =>
  checkEach<[count: number, at: number]>(
    [
      [1, 4],
      [1, 5],
      [201, 8],
    ],
    async ([count, at]) => {
      service.reset()
      service.transactions.length = count
      let number = 0
      const remove = respond(() => {
        if (++number === at) service.transactions.pop()
        return undefined
      })
      const { broken } = await probeService([remove], { account: undefined })
      expect(broken).toEqual([])
    },
  ))

test('a page beyond the end that is refused is broken whatever the total, as iterating then fails', async () => {
  const hidden = service.transactions[9]?.id
  const hide = changePages(page => ({ ...page, data: page.data.filter(({ id }) => id !== hidden) }))
  const refuse = respond((_, query) => (Number(query.get('page')) > 13 ? json({}, 404) : undefined))
  const { broken, find } = await probeService([refuse, hide])
  expect(broken).toEqual(expect.arrayContaining(['total', 'page-beyond-end']))
  expect(find('page-beyond-end').observed).toBe('HTTP 404')
  expect(find('total').consequence).toContain('or fail')
})

test('where a total is too low and the page after it is refused, a larger total may be what is missing', async () => {
  const low = changePages(page => ({ ...page, totalItems: 80 }))
  const { broken, find } = await probeService([refuseBeyond(80), low])
  expect(broken).toEqual(expect.arrayContaining(['total', 'page-beyond-end']))
  expect(find('page-beyond-end').consequence).toContain('or for a larger totalItems if the list goes on')
})

test('larger limits are not blamed for a total of page 1 that the other pages contradict', async () => {
  const high = changePages((page, query) =>
    query.get('limit') === null && page.page === 1 ? { ...page, totalItems: 280 } : page,
  )
  const { broken, find } = await probeService([refuseBeyond(250), high])
  expect(broken).toEqual(['total'])
  expect(find('total').observed).toBe(
    '250 on page 2 with limit 20, but 280 on page 1 with limit 20; page 14, the last by totalItems: HTTP 404',
  )
  expect(find('max-limit').status).toBe('not-checked')
})

test('an item that is counted and not listed is either that, or a larger limit that is not obeyed', async () => {
  const hide = changePages(page => ({ ...page, data: page.data.filter(({ id }) => id !== hidden) }))
  const hidden = service.transactions[69]?.id
  const { broken, find } = await probeService([hide])
  expect(broken).toEqual(['max-limit'])
  expect(find('total')).toMatchObject({
    status: 'not-checked',
    observed: '250, but page 1 with limit 100 has 99 items instead of 100',
  })
})

test('a total that only counts the items so far is broken, although each page says as many items as it has', async () => {
  const refuse = respond((_, query) => (query.has('limit') ? json({}, 400) : undefined))
  const soFar = changePages(page => ({ ...page, totalItems: Math.min(250, page.page * page.limit) }))
  const { broken, find } = await probeService([refuse, soFar])
  expect(broken).toEqual(['limit-echo', 'total'])
  expect(find('total').observed).toBe('40 on page 2 with limit 20, but 20 on page 1 with limit 20')
})

test('pages that take longer than an attempt may take are broken', async () => {
  const { broken, find } = await probeHanging(({ url }) => url.includes('page=2'), {})
  expect(broken).toEqual(['speed'])
  expect(find('speed').observed).toBe('a page was not complete within 60 s')
})

test('a body of another origin may be shorter than its Content-Length, as browsers hide that it was compressed', async () => {
  const fetch = async (input: string, init: RequestInit) => {
    const response = await service.fetch(input, init)
    const headers = new Headers(response.headers)
    headers.set('Content-Length', '1000000')
    return {
      type: 'cors',
      status: response.status,
      headers,
      body: response.body,
      arrayBuffer: () => response.arrayBuffer(),
    }
  }
  const { notChecked } = await probeService([], { fetch: fetch as never, account: undefined })
  expect(notChecked).not.toContain('page-beyond-end')
})

test('an empty Retry-After is none', async () => {
  const throttle = once(() => new Response(null, { status: 429, headers: { 'Retry-After': '' } }))
  const { find } = await probeService([from(2, throttle)])
  expect(find('rate-limit')).toMatchObject({
    status: 'ok',
    observed: 'HTTP 429 without Retry-After, at less than four requests a second',
  })
})

test('a 503 is a rate limit or an outage, whatever its Retry-After', async () => {
  const fail = once(() => new Response(null, { status: 503, headers: { 'Retry-After': '1' } }))
  const { find, report } = await probeService([from(2, fail)])
  expect(find('rate-limit')).toMatchObject({
    status: 'ok',
    observed: 'HTTP 503 with Retry-After: 1: a rate limit, an outage, or the time limit of a gateway',
  })
  expect(report.suggestedOptions.concurrency).toBeUndefined()
})

test('a large limit that takes too long is broken', async () => {
  const { broken, find } = await probeHanging(({ url }) => /limit=\d{3}/.test(url), {})
  expect(broken).toEqual(['max-limit', 'speed'])
  expect(find('max-limit').consequence).toContain('fail')
})

test('a long text ends after a word, and says that it is cut', async () => {
  const control = `no-store${', extension=value'.repeat(100)}`
  const { find } = await probeService([changeHeaders(headers => headers.set('Cache-Control', control))])
  expect(find('cache').observed).toMatch(/ extension=value, \.\.\.$/)
})

test('page 1 is judged, too, when it is read again, after all others', () =>
  checkEach<[id: string, response: (page: PageBody) => Response]>(
    [
      ['page-echo', () => json({}, 500)],
      ['page-echo', page => json({ ...page, page: 7 })],
      ['limit-echo', page => json({ ...page, data: [...page.data, { ...page.data[0], id: 'more' }] })],
      ['page-echo', page => json({ ...page, totalItems: '251' })],
    ],
    async ([id, response]) => {
      service.reset()
      const [first] = service.transactions as [Transaction]
      let isGrown = false
      const fetch = respond((request, query) => {
        if (isWrongKey(request) || !isRead(request)) return undefined
        if (query.get('limit') === '1000') {
          isGrown = true
          service.transactions.push({ ...first, id: 'new' })
        }
        const page = { data: service.transactions.slice(0, 20), page: 1, totalItems: 251, limit: 20 }
        return isGrown && !query.has('limit') ? response(page as unknown as PageBody) : undefined
      })
      const { broken } = await probeService([fetch], { account: undefined })
      expect(broken).toContain(id)
    },
  ))

test('a page beyond the end with another number is broken, although the list changes', async () => {
  const clamp = changeQuery(query => Number(query.get('page')) > 13 && query.set('page', '13'))
  const { broken } = await probeService([clamp, growing()], { account: undefined })
  expect(broken).toEqual(['page-beyond-end'])
})

test('the first page is not checked where page 1 cannot be read again, or changes', async () => {
  const fromEnd = changeQuery(query => query.get('page') === '0' && query.set('page', '13'))
  let number = 0
  const throttle = respond(() => (++number > 9 ? json({}, 429) : undefined))
  const throttled = await probeService([fromEnd, throttle], { account: undefined })
  expect(throttled.find('page-zero')).toMatchObject({ status: 'not-checked', observed: 'HTTP 429' })

  service.reset()
  const remove = respond((_, query) => {
    if (query.get('page') === '0') service.transactions.shift()
    return undefined
  })
  const changed = await probeService([...countingFromZero, remove], { account: undefined })
  expect(changed.find('page-zero').status).toBe('not-checked')
})

test('a small limit that page 2 has not is named with both pages', async () => {
  const { broken, find } = await probeService([
    changeQuery(query => String(query) === 'page=2&limit=2' && query.set('limit', '10')),
  ])
  expect(broken).toEqual(['limit-echo'])
  expect(find('limit-echo').observed).toBe('page 1 has limit 2, page 2 has limit 10')
})

test('neither a page nor a limit is blamed for what is refused to all by then', async () => {
  let number = 0
  const block = respond(() => (++number > 3 ? json({}, 401) : undefined))
  const { find } = await probeService([block], { account: undefined })
  for (const id of ['page-zero', 'page-beyond-end', 'limit-echo', 'max-limit'])
    expect(find(id).status).toBe('not-checked')
})

test('neither a key nor an origin is blamed for what is refused to all by then', async () => {
  let number = 0
  const block = respond(() => (++number > 8 ? new Response('<p>Rejected') : undefined))
  const { find } = await probeService([block], { account: undefined, origin: 'https://other.example' })
  for (const id of ['wrong-key', 'cors'])
    expect(find(id)).toMatchObject({ status: 'not-checked', observed: expect.stringContaining('HTML') })
})

test('a last page that fails is broken, also while the list changes', async () => {
  const fail = respond((_, query) => (query.get('page') === '13' ? json({}, 500) : undefined))
  const { broken } = await probeService([fail, growing()], { account: undefined })
  expect(broken).toEqual(['total'])
})

test('page 2 of a small limit that fails is not page 2 of the list', async () => {
  service.transactions.length = 3
  const fail = respond((_, query) => (String(query) === 'page=2&limit=1' ? json({}, 500) : undefined))
  const { broken } = await probeService([fail], { account: undefined })
  expect(broken).toEqual(['limit-echo'])
})

test('an empty list whose first item is added meanwhile does not count its pages from 0', async () => {
  const [first] = service.transactions.splice(0) as [Transaction]
  const asFirst = changeQuery(query => query.get('page') === '0' && query.set('page', '1'))
  let number = 0
  const add = respond(() => {
    if (++number === 3) service.transactions.push(first)
    return undefined
  })
  const { broken } = await probeService([asFirst, add], { account: undefined })
  expect(broken).toEqual([])
})

test('page 0 of a list that changes is not before page 1 because some of its items are', async () => {
  const [template] = service.transactions as [Transaction]
  let number = 0
  const { find } = await probeService(
    [
      changeQuery(query => query.get('page') === '0' && query.set('page', '1')),
      respond(() => {
        const added = Array.from({ length: 30 }, (_, index) => ({ ...template, id: `new${index}` }))
        if (++number === 3) service.transactions.unshift(...added)
        if (number === 5) service.transactions.splice(0, 5)
        return undefined
      }),
    ],
    { account: undefined },
  )
  expect(find('page-zero').status).toBe('not-checked')
})

test('items without an id on one page leave it open whether items have one place', async () => {
  const { find } = await probeService([
    changePages((page, query) =>
      String(query) === 'page=1'
        ? { ...page, data: page.data.map((item, index) => (index ? item : { ...item, id: null })) }
        : page,
    ),
  ])
  expect(find('neighbours')).toMatchObject({
    status: 'not-checked',
    observed: 'not all ids are strings or numbers',
  })
})

test('the order is not checked where page 1 had another limit when it was read again', async () => {
  service.transactions.length = 5
  const other = changeQuery(query => query.has('limit') || query.set('limit', '50'))
  const { broken, find } = await probeService([from(2, other)], { account: undefined })
  expect(broken).toEqual(['limit-echo'])
  expect(find('order').status).toBe('not-checked')
})

test('values of any depth are probed', async () => {
  const deep = `${'['.repeat(6_000)}${']'.repeat(6_000)}`
  const { broken, find } = await probeService([
    changePages(
      page => ({ ...page, data: page.data.map(item => ({ ...item, meta: 0 })) }),
      text => text.replaceAll('"meta":0', `"meta":${deep}`),
    ),
    respond(request => (request.url.endsWith('/deactivate') ? new Response(`{"meta":${deep}}`) : undefined)),
  ])
  expect(broken).toEqual([])
  expect(find('deactivate').status).toBe('ok')
})

test('a fetch that reads the body is not taken for a service that sends none', async () => {
  const logging = async (input: string, init: RequestInit) => {
    const response = await service.fetch(input, init)
    await response.text()
    return response
  }
  const { broken, find } = await probeService([], { fetch: logging as never })
  expect(broken).toEqual(['envelope'])
  expect(find('envelope').observed).toMatch(
    /^HTTP 200, fetch did not resolve with a Response that can be read/,
  )
})

test('a full page that is followed by an item added meanwhile is not broken', async () => {
  service.transactions.length = 40
  const add = once(() => {
    service.transactions.push({ ...service.transactions[0]!, id: 'new' })
    return json({}, 429)
  })
  const { broken } = await probeService([from(3, add)], { account: undefined })
  expect(broken).toEqual([])
})

test('a list of one page is not judged by a page that it does not have', () =>
  checkEach([0, 1, 2, 3, 5], async count => {
    service.reset()
    service.transactions.length = count
    const { broken } = await probeService([
      changeQuery(query => {
        const last = lastPage(count, query)
        if (Number(query.get('page')) > last) query.set('page', String(last))
      }),
    ])
    expect(broken).toEqual(['page-beyond-end'])
  }))

test('a total that ends with a full page is not judged if the page after it cannot be seen', () =>
  checkEach<[string, Deviation]>(
    [
      ['the last page instead', changeQuery(query => query.get('page') === '3' && query.set('page', '2'))],
      [
        'an empty page with another number',
        changePages((page, query) =>
          query.get('page') === '3' ? { ...page, data: [], page: 1, totalItems: 0 } : page,
        ),
      ],
      ['a refusal', respond((_, query) => (query.get('page') === '3' ? json({}, 404) : undefined))],
      ['throttled', respond((_, query) => (query.get('page') === '3' ? json({}, 429) : undefined))],
    ],
    async ([, deviation]) => {
      service.reset()
      const capped = changePages(page => ({ ...page, totalItems: 40 }))
      const refuse = respond((_, query) => (Number(query.get('limit')) > 20 ? json({}, 400) : undefined))
      const { find } = await probeService([capped, refuse, deviation], { account: undefined })
      expect(find('total').status).toBe('not-checked')
    },
  ))

test('a limit that is the length of the list may grow with it', async () => {
  service.transactions.length = 20
  const all = changeQuery(query => query.has('limit') || query.set('limit', '1000'))
  const echo = changePages((page, query) => (query.has('limit') ? page : { ...page, limit: page.totalItems }))
  const { broken } = await probeService([all, echo, growing()], { account: undefined })
  expect(broken).not.toContain('limit-echo')
})

test('page 0 of a newer state than page 1 does not prove that it is the first page', async () => {
  const [first] = service.transactions as [Transaction]
  const old = { data: service.transactions.slice(0, 20), page: 1, totalItems: 250, limit: 20 }
  service.transactions.unshift(...Array.from({ length: 25 }, (_, index) => ({ ...first, id: `new${index}` })))
  const { notChecked } = await probeService([
    changeQuery(query => query.get('page') === '0' && query.set('page', '1')),
    respond((request, query) => (String(query) === 'page=1' && !isWrongKey(request) ? json(old) : undefined)),
  ])
  expect(notChecked).toContain('page-zero')
})

test('other items on page 0 do not prove that it is the first page', async () => {
  const { notChecked } = await probeService([
    changeQuery(query => query.get('page') === '0' && query.set('page', '13')),
  ])
  expect(notChecked).toEqual(['page-zero', 'cors'])
})

test('a total that is lower on the last page is broken', async () => {
  const { find } = await probeService([
    changePages(page => ({ ...page, totalItems: page.page > 2 ? 250 : 251 })),
  ])
  expect(find('total')).toMatchObject({
    status: 'broken',
    observed: '250 on page 13 with limit 20, but 251 on page 1 with limit 20',
  })
})

test('a list of any length that conforms has nothing broken', () =>
  checkEach<[count: number, notChecked: string[]]>(
    [
      [0, ['items', 'further-fields', 'digits', 'page-echo', 'order', 'neighbours', 'cors']],
      [1, ['page-echo', 'order', 'cors']],
      [2, ['cors']],
      [20, ['cors']],
      [40, ['cors']],
    ],
    async ([count, expected]) => {
      service.reset()

      service.transactions.length = count
      const { broken, notChecked } = await probeService()
      expect(broken).toEqual([])
      expect(notChecked).toEqual(expected)
    },
  ))

test('an item that is added while the list is probed breaks nothing', () =>
  checkEach([2, 3, 4, 5, 6, 7, 8, 9], async number => {
    service.reset()
    let isAdded = false
    const add = respond(() => {
      if (!isAdded) service.transactions.unshift({ ...service.transactions[0]!, id: 'new' })
      isAdded = true
      return undefined
    })
    const { broken } = await probeService([from(number, add)], { account: undefined })
    expect(broken).toEqual([])
  }))

test('what was throttled for good is not checked, rather than broken', async () => {
  const throttle = respond((request, query) =>
    isWrongKey(request) || query.get('limit') === '2' || Number(query.get('page')) > 2
      ? new Response(null, { status: 429, headers: { 'Retry-After': '90' } })
      : undefined,
  )
  const { report, broken, notChecked } = await probeService([throttle], { account: undefined })
  expect(broken).toEqual([])
  expect(notChecked).toEqual(expect.arrayContaining(['wrong-key', 'limit-echo', 'total', 'page-beyond-end']))
  expect(report.suggestedOptions.concurrency).toBe(1)
})

test('a 403 with Retry-After is a rate limit, not a refusal', async () => {
  const quota = () => new Response(null, { status: 403, headers: { 'Retry-After': '60' } })
  const { broken, find, report } = await probeService([from(9, respond(quota), isRead)], {
    account: undefined,
  })
  expect(broken).toEqual([])
  for (const id of ['wrong-key', 'max-limit']) expect(find(id).status).toBe('not-checked')
  expect(find('rate-limit').observed).toContain('HTTP 403')
  expect(report.suggestedOptions).toEqual({ concurrency: 1 })
  expect(String(report)).toContain('probe again')
})

test('a largest limit whose page is too large is passed over for a smaller one', async () => {
  const { find, report } = await probeService([
    changePages((page, query) =>
      Number(query.get('limit')) > 50 ? { ...page, note: 'x'.repeat(11_000_000) } : page,
    ),
  ])
  expect(find('max-limit').status).toBe('ok')
  expect(report.suggestedOptions.limit).toBe(50)
})

test('a limit that falls back to the default when it is too large is searched for below', async () => {
  const { find, report } = await probeService([
    changeQuery(query => {
      if (Number(query.get('limit')) > 100) query.delete('limit')
    }),
  ])
  expect(find('max-limit')).toMatchObject({
    status: 'ok',
    observed: expect.stringMatching(/; 200 gets limit 20 and 20 items; 100 gets limit 100 and 100 items$/),
  })
  expect(report.suggestedOptions.limit).toBe(100)
})

test('the end of a list is not judged by pages that repeat each other', async () => {
  const { find } = await probeService([
    changePages(page => ({ ...page, data: service.transactions.slice(0, page.limit) })),
  ])
  expect(find('neighbours').observed).toBe(
    'page 2 with limit 20 has the same items as page 1: is `page` ignored?',
  )
  expect(find('total').status).toBe('not-checked')
})

test('what compares pages is not checked while the list changes, for one reason', async () => {
  const { broken, find } = await probeService([growing()], { account: undefined })
  expect(broken).toEqual([])
  for (const id of ['order', 'neighbours', 'total', 'page-beyond-end', 'max-limit'])
    expect(find(id)).toMatchObject({
      status: 'not-checked',
      observed:
        'totalItems was not always the same (251, 252, 253): if the list changed meanwhile, probe it again',
    })
})

test('the suggested limit keeps pages below 1 MiB', async () => {
  const { report } = await probeService([changeItems(item => ({ ...item, note: 'x'.repeat(20_000) }))])
  expect(report.suggestedOptions.limit).toBe(52)
})

test('a limit is suggested whose last page can be read, although that of the default cannot', async () => {
  const { broken, report } = await probeService([
    respond((_, query) => (Number(query.get('page')) > 10 ? json({}, 422) : undefined)),
  ])
  expect(broken).toEqual(['total'])
  expect(report.suggestedOptions.limit).toBe(100)
})

test('a limit is suggested whose only page can be read, although the last one of the default cannot', async () => {
  const short = new FakeService({ transactions: sampleTransactions(90) })
  const refuse = respond((_, query) => (query.get('page') === '5' ? json({}, 422) : undefined))
  const { broken, report } = await probeService([], { account: undefined, fetch: refuse(short.fetch) })
  expect(broken).toContain('total')
  expect(report.suggestedOptions.limit).toBe(100)
})

test('a page of a larger limit is said once where it is also the last', async () => {
  const [another] = service.transactions
  const short = new FakeService({ transactions: sampleTransactions(90) })
  const change = changePages((page, query) =>
    query.get('limit') === '100'
      ? { ...page, totalItems: 91, data: [...page.data, { ...another, id: 'another' }] }
      : page,
  )
  const { find } = await probeService([], { account: undefined, fetch: change(short.fetch) })
  expect(find('max-limit').observed).toMatch(/; 100 gets limit 100 and 91 items, with totalItems 91$/)
  expect(find('max-limit').observed.match(/91 items/g)).toHaveLength(1)
})

test('no limit is suggested for a list that goes on beyond its end', async () => {
  // One item of the page beyond the end is known, as an item was inserted before.
  const { broken, report } = await probeService([
    changePages(page => ({
      ...page,
      totalItems: 200,
      data: page.page === 11 ? service.transactions.slice(199, 219) : page.data,
    })),
  ])
  expect(broken).toContain('page-beyond-end')
  expect(report.suggestedOptions).toEqual({})
})

test('no limit below the default is suggested, however large an item is', async () => {
  const { report } = await probeService([
    changeItems(item =>
      item.id === service.transactions[1]?.id ? { ...item, note: 'x'.repeat(400_000) } : item,
    ),
  ])
  expect(report.suggestedOptions.limit).toBeUndefined()
})

test('a limit that gets an empty page is too large', async () => {
  const { find } = await probeService([
    changePages((page, query) => {
      const limit = Number(query.get('limit'))
      return limit > 100 ? { ...page, data: [], totalItems: 0, limit } : page
    }),
  ])
  expect(find('max-limit')).toMatchObject({
    status: 'broken',
    observed: expect.stringMatching(
      /; 200 gets limit 200 and 0 items, with totalItems 0; 100 gets limit 100 and 100 items$/,
    ),
  })
})

test('no limit is suggested that no page was full with', async () => {
  const short = changePages(page => ({ ...page, data: page.data.slice(0, 15), totalItems: 15 }))
  const echo = changePages((page, query) => ({ ...page, limit: Number(query.get('limit') ?? page.limit) }))
  const { report, find } = await probeService([short, echo])
  expect(find('max-limit').observed).toBe('1,000 gets limit 1,000 and 15 items')
  expect(report.suggestedOptions.limit).toBeUndefined()
})

test('no limit is suggested that has a smaller total', async () => {
  const { broken, report } = await probeService([
    changePages(page => {
      const total = page.limit > 50 ? 247 : 250
      const rest = Math.max(0, total - (page.page - 1) * page.limit)
      return { ...page, totalItems: total, data: page.data.slice(0, rest) }
    }),
  ])
  expect(broken).toEqual(['max-limit'])
  expect(report.suggestedOptions.limit).toBeUndefined()
})

test('no limit is suggested unless the last page was read with it', async () => {
  const large = changeItems(item => ({ ...item, note: 'x'.repeat(20_000) }))
  const refuse = respond((_, query) => (query.get('limit') === '52' ? json({}, 400) : undefined))
  const { report, broken, find } = await probeService([large, refuse])
  expect(broken).toEqual([])
  expect(find('max-limit').observed).toContain('page 5 with limit 52 gets HTTP 400')
  expect(report.suggestedOptions.limit).toBeUndefined()
})

test('a page of 20,000 items, and items with 5,000 fields each, are probed like others', async () => {
  const data = Array.from({ length: 20_000 }, (_, index) => ({ ...service.transactions[0], id: `t${index}` }))
  const huge = { data, page: 1, totalItems: 20_000, limit: 20_000 }
  const { find } = await probeService([
    changePages((_, query) => ({
      ...huge,
      data: query.get('page') === '1' ? data : [],
      page: Number(query.get('page')),
    })),
  ])
  expect(find('total').status).toBe('ok')

  const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`field${index}`, index]))
  const wide = await probeService([changeItems((item, index) => (index < 4 ? { ...fields, ...item } : item))])
  expect(wide.broken).toEqual([])
  expect(String(wide.report).length).toBeLessThan(10_000)
})

test('plain http is reported as http, with what it means beyond loopback', async () => {
  const options = { baseUrl: 'http://service.example', allowInsecureHttp: true, account }
  const toService: typeof globalThis.fetch = (input, init) =>
    service.fetch(String(input).replace('http://service.example', service.baseUrl), init)
  const { find, report } = await probeService([], { ...options, fetch: toService as never })
  expect(find('reachable')).toMatchObject({ status: 'ok', observed: expect.stringMatching(/^http,/) })
  expect(find('reachable').consequence).toBeDefined()
  expect(String(report)).toContain('allowInsecureHttp: true')
})

test('without a key, what a key does is not checked', async () => {
  const addKey = changeRequests(headers => headers.set('Api-Key', service.apiKey))
  const { broken, notChecked } = await probeService([addKey], { apiKey: null })
  expect(broken).toEqual([])
  expect(notChecked).toEqual(['api-key', 'wrong-key', 'cors'])
})
