import {
  FakeService,
  type ProbeOptions,
  type ProbeStep,
  probe,
  sampleTransactions,
} from 'virtual-accounts/testing'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import {
  account,
  changeHeaders,
  changePages,
  changeQuery,
  type Deviation,
  origin,
  probeService,
  respond,
  service,
} from './probe-service.js'

beforeEach(() => service.reset())

const json = (body: unknown, status = 200) => Response.json(body, { status })
const isList = ({ url, method }: Request) => method === 'GET' && url.includes('/transactions')
const isWrite = ({ method }: Request) => method === 'POST'
const tooLate = () => new Response(null, { status: 429, headers: { 'Retry-After': '90' } })
const keyOf = ({ headers }: Request) => headers.get('Idempotency-Key') as string

/** Counts only those requests that match. */
function nth(matches: (request: Request) => boolean): (request: Request) => number {
  let count = 0
  return request => (matches(request) ? ++count : 0)
}

/** Adds an item at the head of the list before the service responds to this request for a page. */
function insertBefore(number: number): Deviation {
  const count = nth(isList)
  return respond(request => {
    if (count(request) === number) service.transactions.unshift({ ...service.transactions[0]!, id: 'new' })
    return undefined
  })
}

test('finds nothing broken in a service that conforms to the API specification', async () => {
  const { report, broken, unknown } = await probeService()
  expect(broken).toEqual([])
  expect(unknown).toEqual(['retry-after', 'cors'])
  expect(report.suggestedOptions).toEqual({ limit: 100, concurrency: 4 })
  expect(report.requests).toBe(15)
})

/** What a finding has as its consequence, by its id or by the name of the case. */
const consequences: Readonly<Record<string, string>> = {
  'a larger limit is lowered': 'The limit in the response takes precedence.',
  'a larger limit is refused': 'A larger limit fails with HttpError.',
  'the largest limit is not customary, and so is only narrowed down': 'A larger limit fails with HttpError.',
  'fields beyond the documented ones are there': 'Passed through; a `schema` types them.',
  'the total rises': 'A `drift` event; each item is yielded once.',
  'a request id has another name': "`requestId` is undefined: log headers.get('x-correlation-id') instead.",
  'an inactive account cannot be deactivated': 'HttpError: handle it where this may happen.',
  'a key is refused for another request': 'HttpError.',
  'wrong-key': 'A wrong key goes unnoticed: lists work with any key.',
  'a wrong key that gets a 500': 'A wrong key looks like an outage, and is retried.',
  items: 'Lists fail with InvalidResponseError, unless a `schema` accepts these items.',
  digits:
    'Such a number arrives as a string of its digits. As `amount` it is an InvalidResponseError, unless a `schema` accepts it.',
  'page-echo': 'Lists fail with PaginationError.',
  'a page 2 that fails': 'Iterating fails there with HttpError.',
  'limit-echo':
    'The limit in the response takes precedence. `maxItems` loads more than it needs, and `verified` lists fail.',
  'more items than the limit': 'Lists fail with PaginationError.',
  'a limit that is refused': 'Lists with such a limit fail.',
  'page-beyond-end':
    'The client expects an empty page there. Lists that start beyond their end, or end before their total, fail.',
  cache:
    'Pages can come from different states of the list, and show what is no longer true. `verified: true` notices gaps.',
  deactivate: 'The call fails with InvalidResponseError.',
  'same-key': 'Retries repeat the write. Set `maxRetries: 0` for writes, and ask the owner of the service.',
  'a 409 for the same key':
    'When a response is lost, the retry gets this instead of the result: the call fails, and may have been applied.',
  'same-key-other-request': 'A key that is used twice by mistake looks like an outage, and is retried.',
  'a key that works for another request':
    'A key that is used twice by mistake goes unnoticed: the second write may not be applied.',
  'max-limit':
    'The number of pages cannot be told from the first one: iterating fetches them one after another.',
  'a large limit that gets a 500': 'A larger limit looks like an outage, and is retried.',
  'page-zero':
    'Lists begin at page 1: iterating misses the first page, and fails at the end as the total is not reached.',
  'a 500 for page 0':
    'No effect, as the client never sends this. It is a bug in the service: tell its owner.',
  'page-text': 'No effect, as the client never sends this. It is a bug in the service: tell its owner.',
  total: 'Iterating ends where the total says, without an error, although more items follow.',
  'total-stable': 'Iterating throws PaginationError when the list shrinks. `verified: true` repairs it.',
  order: 'Iterating can miss items without noticing. `verified` needs a stable order, too.',
  neighbours:
    'Iterating yields repeated items once, with a `drift` event, and can miss others without an error.',
  'an id that is on a page twice': 'The client treats both as one item.',
  'rate-limit': 'Throttled calls are retried, and lists are iterated more slowly. Lower `concurrency`.',
  reactivate: 'The call fails. The account may still be inactive: reactivate it.',
}

describe('reports each deviation as exactly one finding:', () => {
  const cases: [name: string, id: string, deviation: () => Deviation, observed: string | RegExp][] = [
    ['a wrong key that is accepted', 'wrong-key', () => changeKey(() => service.apiKey), 'HTTP 200'],
    [
      'a wrong key that gets a 500',
      'wrong-key',
      () => respond(request => (isList(request) && isWrong(request.headers) ? json({}, 500) : undefined)),
      'HTTP 500',
    ],
    [
      'amounts that are strings',
      'items',
      () => changePages(page => withItems(page, item => ({ ...item, amount: String(item.amount) }))),
      'data[].amount: expected a number, got a string',
    ],
    [
      'an item without a description',
      'items',
      () => changePages(page => withItems(page, ({ description, ...item }) => item)),
      'data[].description: expected a string, got undefined',
    ],
    [
      'amounts with more digits than a double holds',
      'digits',
      () =>
        changePages(
          page => page,
          text => text.replaceAll(/"amount":[\d.]+/g, '"amount":9007199254740993'),
        ),
      /data\[\]\.amount$/,
    ],
    [
      'further numbers with more digits than a double holds',
      'digits',
      () =>
        changePages(
          page => withItems(page, item => ({ ...item, meta: { sequence: 1 } })),
          text => text.replaceAll('"sequence":1', '"sequence":12345678901234567890'),
        ),
      /data\[\]\.meta\.sequence$/,
    ],
    [
      'pages that all say page 1',
      'page-echo',
      () => changePages(page => ({ ...page, page: 1 })),
      'page 2 was requested, page 1 returned',
    ],
    [
      'a limit that is ignored',
      'limit-echo',
      () => changeQuery(query => query.delete('limit')),
      'limit 2 was requested, limit 20 returned',
    ],
    [
      'more items than the limit',
      'limit-echo',
      () => changePages(page => ({ ...page, limit: Math.min(page.limit, 15) })),
      '20 items on a page with limit 15',
    ],
    [
      'another page number beyond the end',
      'page-beyond-end',
      () => changePages(page => (page.data.length === 0 ? { ...page, page: 1 } : page)),
      'empty, with the wrong page number',
    ],
    [
      'a page 2 that fails',
      'page-echo',
      () => respond((_, query) => (query.get('page') === '2' ? json({}, 500) : undefined)),
      'page 2: HTTP 500',
    ],
    [
      'a response from a cache that says so',
      'cache',
      () => changeHeaders(headers => headers.set('X-Cache', 'HIT from proxy')),
      'a cache responded instead of the service',
    ],
    [
      'a deactivation that gets an HTML page',
      'deactivate',
      () => {
        const headers = { 'Content-Type': 'text/html' }
        const count = nth(isWrite)
        return respond(request =>
          count(request) === 1 ? new Response('<h1>Hi</h1>', { headers }) : undefined,
        )
      },
      'HTTP 200, text',
    ],
    [
      'another result for the same key',
      'same-key',
      () => {
        const keys = new Set<string>()
        return fetch => async (input, init) => {
          const request = new Request(input, init)
          const response = await fetch(request.clone())
          if (!request.url.endsWith('/deactivate')) return response
          const isRepeated = keys.has(keyOf(request))
          keys.add(keyOf(request))
          return json(isRepeated ? { id: 1 } : { id: 1, status: 'inactive' })
        }
      },
      'HTTP 200, an object (id number), different from the first response',
    ],
    [
      'a 500 for a key of another request',
      'same-key-other-request',
      () => {
        const keys = new Set<string>()
        return respond(request => {
          if (request.url.endsWith('/reactivate') && keys.has(keyOf(request))) return json({}, 500)
          if (isWrite(request)) keys.add(keyOf(request))
        })
      },
      'HTTP 500, an empty object',
    ],
    [
      'a limit that is refused',
      'limit-echo',
      () => respond((_, query) => (query.has('limit') ? json({}, 400) : undefined)),
      'limit 2: HTTP 400',
    ],
    [
      'a large limit that is echoed and not obeyed',
      'max-limit',
      () => changePages((page, query) => ({ ...page, limit: Number(query.get('limit') ?? page.limit) })),
      'limit 1000 returned, but 100 of 250 items',
    ],
    [
      'a large limit that gets a 500',
      'max-limit',
      () => respond((_, query) => (Number(query.get('limit')) > 50 ? json({}, 500) : undefined)),
      '50: 51 gets HTTP 500',
    ],
    [
      'a 404 beyond the end',
      'page-beyond-end',
      () => respond((_, query) => (Number(query.get('page')) > 13 ? json({}, 404) : undefined)),
      'HTTP 404',
    ],
    [
      'the last page again beyond the end',
      'page-beyond-end',
      () =>
        changeQuery(query => {
          if (Number(query.get('page')) > 13 && !query.has('limit')) query.set('page', '13')
        }),
      'a page with items',
    ],
    [
      'items of their own on page 0',
      'page-zero',
      () =>
        changePages(page =>
          page.page === 99
            ? { ...page, page: 0, data: [{ id: 'a', amount: 1, currency: 'EUR', description: '' }] }
            : page,
        ),
      /the first page is 0$/,
    ],
    [
      'a 500 for page 0',
      'page-zero',
      () => respond((_, query) => (query.get('page') === '0' ? json({}, 500) : undefined)),
      'HTTP 500',
    ],
    [
      'a 500 for text as page',
      'page-text',
      () => respond((_, query) => (query.get('page') === 'abc' ? json({}, 500) : undefined)),
      'HTTP 500',
    ],
    [
      'a total that counts the page only',
      'total',
      () => changePages(page => ({ ...page, totalItems: page.data.length })),
      'totalItems is 2, but page 2 ends at item 4',
    ],
    [
      'a total that falls',
      'total-stable',
      () => {
        const count = nth(isList)
        let isLater = false
        return fetch => (input, init) => {
          isLater ||= count(new Request(input, init)) > 1
          return changePages(page => (isLater ? { ...page, totalItems: 249 } : page))(fetch)(input, init)
        }
      },
      'it fell from 250 to 249 between two requests',
    ],
    [
      'an order that changes',
      'order',
      () => {
        let pages = 0
        return changePages(page => (pages++ % 2 ? { ...page, data: page.data.toReversed() } : page))
      },
      /the same ids in another order$/,
    ],
    [
      'a page 2 that begins with the last item of page 1',
      'neighbours',
      () =>
        changePages(page => {
          const start = Math.max(0, (page.page - 1) * page.limit - 1)
          return page.page === 1 || page.page > 13
            ? page
            : { ...page, data: service.transactions.slice(start, start + page.limit) }
        }),
      '1 of 20 items of page 2 are on page 1, too',
    ],
    [
      'a page 2 that repeats page 1',
      'neighbours',
      () =>
        changePages(page =>
          page.page === 2 ? { ...page, data: service.transactions.slice(0, page.limit) } : page,
        ),
      'page 2 repeats page 1',
    ],
    [
      'a gap between pages 1 and 2',
      'neighbours',
      () =>
        changePages(page =>
          page.page === 2
            ? { ...page, data: service.transactions.slice(page.limit + 1, 2 * page.limit + 1) }
            : page,
        ),
      'page 2 with limit 2 does not begin after item 2 of the list',
    ],
    [
      'an id that is on a page twice',
      'neighbours',
      () =>
        changePages(page => {
          const [item] = page.data
          return page.limit === 20 && page.page === 1 && item
            ? { ...page, data: [item, ...page.data.slice(0, -1)] }
            : page
        }),
      'an id is on page 1 twice',
    ],
    [
      'a rate limit',
      'rate-limit',
      () => {
        const count = nth(isList)
        return respond(request => (count(request) === 3 ? new Response(null, { status: 429 }) : undefined))
      },
      'HTTP 429 to request 3, at four a second; no headers about it',
    ],
    [
      'an old response of a cache',
      'cache',
      () => changeHeaders(headers => headers.set('Age', '30')),
      'a cache responded instead of the service',
    ],
    [
      'pages that may be cached',
      'cache',
      () => changeHeaders(headers => headers.set('Cache-Control', 'public, max-age=60')),
      /^Cache-Control lets shared caches/,
    ],
    [
      'a reactivation that fails',
      'reactivate',
      () => {
        const keys = new Set<string>()
        return respond(request => {
          if (request.url.endsWith('/reactivate') && !keys.has(keyOf(request))) return json({}, 500)
          if (isWrite(request)) keys.add(keyOf(request))
        })
      },
      'HTTP 500, an empty object',
    ],
    [
      'a 409 for the same key',
      'same-key',
      () => {
        const keys = new Set<string>()
        return respond(request => {
          if (!request.url.endsWith('/deactivate')) return undefined
          if (keys.has(keyOf(request))) return json({ error: 'used' }, 409)
          keys.add(keyOf(request))
        })
      },
      'HTTP 409, an object (error string)',
    ],
    [
      'a write that is applied again with the same key',
      'same-key',
      () => {
        const count = nth(({ url }) => url.endsWith('/deactivate'))
        return respond(request => (count(request) > 1 ? json({ error: 'is inactive' }, 400) : undefined))
      },
      'HTTP 400, an object (error string), as for another key: it was applied again',
    ],
    [
      'a key that works for another request',
      'same-key-other-request',
      () => respond(request => (request.url.endsWith('/reactivate') ? new Response(null) : undefined)),
      'HTTP 200, no body',
    ],
  ]
  const isWrong = (headers: Headers) => headers.get('Api-Key') !== service.apiKey
  const changeKey =
    (key: () => string): Deviation =>
    fetch =>
    (input, init) => {
      const request = new Request(input, init)
      request.headers.set('Api-Key', key())
      return fetch(request)
    }
  const withItems = (
    page: { data: Record<string, unknown>[] },
    change: (item: Record<string, unknown>) => unknown,
  ) => ({
    ...page,
    data: page.data.map(change),
  })

  test.each(cases)('%s', async (name, id, deviation, observed) => {
    const deviations = [deviation()]
    if (name.includes('on page 0')) {
      deviations.push(changeQuery(query => query.get('page') === '0' && query.set('page', '99')))
    }
    const { broken, find } = await probeService(deviations)
    expect(broken).toEqual([id])
    const finding = find(id)
    if (typeof observed === 'string') expect(finding.observed).toBe(observed)
    else expect(finding.observed).toMatch(observed)
    expect(finding.consequence).toBe(consequences[name] ?? consequences[id])
  })
})

test('reports several deviations, and no others', async () => {
  const { broken } = await probeService([
    changePages(page => ({ ...page, page: 1 })),
    changeHeaders(headers => headers.set('Age', '30')),
    respond((_, query) => (query.get('page') === 'abc' ? json({}, 500) : undefined)),
  ])
  expect(broken).toEqual(['page-echo', 'page-text', 'cache'])
})

describe('the probe of a service that does not list transactions', () => {
  test('reports that it is not reachable', async () => {
    service.fail({ with: 'network-error', times: Number.POSITIVE_INFINITY })
    const { report, broken, find } = await probeService()
    expect(broken).toEqual(['reachable'])
    expect(find('reachable').observed).toMatch(
      /^could not connect, or connection lost before a response arrived/,
    )
    expect(find('items')).toMatchObject({ status: 'unknown', observed: 'not reached' })
    expect(find('total')).toMatchObject({ status: 'unknown', observed: 'not reached' })
    expect(report.requests).toBe(1)
    expect(report.suggestedOptions).toEqual({})
    expect(String(report)).toMatch(/and probe again\.$/)
  })

  test('reports a redirect and where it leads, without its path', async () => {
    const headers = { Location: 'https://login.example.com/sign-in?from=somewhere' }
    const { report, broken, find } = await probeService([
      respond(() => new Response(null, { status: 302, headers })),
    ])
    expect(broken).toEqual(['redirect'])
    expect(find('redirect').observed).toBe('HTTP 302 to https://login.example.com')
    expect(report.requests).toBe(1)
  })

  test.each([401, 403])('reports that the key is refused with %i', async status => {
    const { broken } = await probeService([respond(() => json({}, status))])
    expect(broken).toEqual(['api-key'])
  })

  test('reports that there is no such path', async () => {
    const { broken, find } = await probeService([respond(() => json({}, 404))])
    expect(broken).toEqual(['envelope'])
    expect(find('envelope').observed).toBe('GET /transactions: HTTP 404')
  })

  test('reports what is wrong with the envelope', async () => {
    const { broken, find } = await probeService([
      changePages(({ totalItems, ...page }) => ({ ...page, total_items: totalItems })),
    ])
    expect(broken).toEqual(['envelope'])
    expect(find('envelope').observed).toBe('totalItems: expected a whole number of at least 0, got undefined')
  })

  test('reports that pages are counted from 0', async () => {
    const { broken, find } = await probeService([changePages(page => ({ ...page, page: page.page - 1 }))])
    expect(broken).toEqual(['envelope'])
    expect(find('envelope').observed).toBe('page: expected a whole number of at least 1, got another number')
    expect(find('total')).toMatchObject({ status: 'unknown', observed: 'no page to check' })
  })

  test('has no page to check where one is nested too deeply', async () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    const page = `{"data":[{"id":"t1","extra":${deep}}],"page":1,"totalItems":1,"limit":20}`
    const { find } = await probeService([
      respond(request => (isList(request) ? new Response(page) : undefined)),
    ])
    expect(find('total')).toMatchObject({ status: 'unknown', observed: 'no page to check' })
  })

  test('reports that an HTML page responded', async () => {
    const html = () => new Response('<h1>Log in</h1>', { headers: { 'Content-Type': 'text/html' } })
    const { broken, find } = await probeService([respond(request => (isList(request) ? html() : undefined))])
    expect(broken).toContain('envelope')
    expect(find('envelope').observed).toBe('the body: expected a response from the service, got an HTML page')
  })
})

describe('what the interface leaves open', () => {
  const ignoreKeys: Deviation = () => {
    const fetch = new FakeService({ transactions: sampleTransactions(250) }).fetch
    return (input, init) => {
      const request = new Request(input, init)
      if (isWrite(request)) request.headers.set('Idempotency-Key', crypto.randomUUID())
      return fetch(request)
    }
  }

  test.each<[name: string, id: string, deviation: () => Deviation, observed: string]>([
    ['a larger limit is lowered', 'max-limit', () => fetch => fetch, '100: a larger one is lowered'],
    [
      'a larger limit is refused',
      'max-limit',
      () => respond((_, query) => (Number(query.get('limit')) > 100 ? json({}, 400) : undefined)),
      '100: 101 gets HTTP 400',
    ],
    [
      'the largest limit is not customary, and so is only narrowed down',
      'max-limit',
      () => respond((_, query) => (Number(query.get('limit')) > 64 ? json({}, 422) : undefined)),
      'from 63 to 65: 66 gets HTTP 422',
    ],
    [
      'fields beyond the documented ones are there',
      'further-fields',
      () =>
        changePages(page => ({
          ...page,
          hasMore: true,
          data: page.data.map((item, index) => ({
            ...item,
            note: index ? 'x' : null,
            ...(index && { tags: [] }),
          })),
        })),
      'note null or string, tags? array; in the envelope: hasMore boolean',
    ],
    ['no further fields are there', 'further-fields', () => fetch => fetch, 'none'],
    [
      'dates tell the order',
      'order',
      () =>
        changePages(page => ({
          ...page,
          data: page.data.map((item, index) => ({
            ...item,
            createdAt: new Date(1e12 - index * 1e6).toISOString(),
          })),
        })),
      'the same ids twice, newest first by createdAt',
    ],
    ['page 0 is refused', 'page-zero', () => fetch => fetch, 'HTTP 400'],
    [
      'page 0 and text are taken for page 1',
      'page-zero',
      () => changeQuery(query => /^(?:0|abc)$/.test(query.get('page') ?? '') && query.set('page', '1')),
      'HTTP 200, the items of page 1',
    ],
    [
      'the total rises',
      'total-stable',
      () => {
        let total = 250
        return changePages(page => ({ ...page, totalItems: total++ }))
      },
      'it rose from 250 to 254: items are being added',
    ],
    ['a request id is there', 'request-id', () => fetch => fetch, 'x-request-id'],
    [
      'a request id has another name',
      'request-id',
      () =>
        changeHeaders(headers => {
          headers.delete('X-Request-Id')
          headers.set('X-Correlation-Id', 'c1')
        }),
      'none by the customary names, but x-correlation-id',
    ],
    [
      'rate limit headers are there',
      'rate-limit',
      () => changeHeaders(headers => headers.set('RateLimit-Remaining', '9')),
      'none met in 15 responses; ratelimit-remaining',
    ],
    [
      'responses are compressed',
      'compression',
      () => changeHeaders(headers => headers.set('Content-Encoding', 'br')),
      'br',
    ],
    ['responses are not compressed', 'compression', () => fetch => fetch, 'none'],
    ['a repeated key is replayed', 'same-key', () => fetch => fetch, 'HTTP 200, no body: replayed'],
    [
      'an inactive account cannot be deactivated',
      'deactivate-twice',
      () => {
        const keys = new Set<string>()
        return respond(request => {
          if (!request.url.endsWith('/deactivate')) return undefined
          const isNew = !keys.has(keyOf(request))
          keys.add(keyOf(request))
          return isNew && keys.size > 1 ? json({ error: { code: 'inactive' } }, 409) : undefined
        })
      },
      'HTTP 409, an object (error object)',
    ],
    [
      'a key is refused for another request',
      'same-key-other-request',
      () => fetch => fetch,
      'HTTP 422, an object (error object)',
    ],
  ])('is reported as kept: %s', async (name, id, deviation, observed) => {
    const { broken, find } = await probeService([deviation()])
    expect(broken).toEqual([])
    expect(find(id)).toMatchObject({ status: 'kept', observed })
    expect(find(id).consequence).toBe(consequences[name])
  })

  test('a service that throttles is suggested one page at a time', async () => {
    const throttle = () => new Response(null, { status: 503, headers: { 'Retry-After': '1' } })
    service.fail({ with: throttle })
    const { report } = await probeService()
    expect(report.suggestedOptions).toEqual({ limit: 100, concurrency: 1 })
  })

  test.each([
    ['90', 'in seconds', 'kept'],
    [new Date(Date.now() + 1000).toUTCString(), 'as an HTTP date', 'kept'],
    ['soon', 'neither seconds nor an HTTP date', 'broken'],
  ])('Retry-After may be %j', async (value, observed, status) => {
    const headers = { 'Retry-After': value }
    service.fail({ with: () => new Response(null, { status: 429, headers }) })
    const { find } = await probeService()
    expect(find('retry-after')).toMatchObject({ observed, status })
  })

  test('a service that ignores keys cannot be told from one that replays, if both respond alike', async () => {
    const { find } = await probeService([ignoreKeys])
    expect(find('same-key')).toMatchObject({
      status: 'unknown',
      observed: 'HTTP 200, no body, and so does another key: replayed and applied again look the same',
    })
    expect(find('same-key-other-request').status).toBe('broken')
  })

  const isWrongKey = ({ headers }: Request) => headers.get('Api-Key') === 'wrong-key-of-a-probe'

  test.each<[name: string, id: string, deviation: () => Deviation, observed: string]>([
    [
      'the wrong key, when that request is throttled',
      'wrong-key',
      () => respond(request => (isWrongKey(request) ? tooLate() : undefined)),
      'HTTP 429',
    ],
    [
      'a page beyond the end, when that request is throttled',
      'page-beyond-end',
      () => respond((_, query) => (query.get('page') === '23' ? tooLate() : undefined)),
      'HTTP 429',
    ],
    [
      'text as page, when that request is throttled',
      'page-text',
      () => respond((_, query) => (query.get('page') === 'abc' ? tooLate() : undefined)),
      'HTTP 429',
    ],
    [
      'the largest limit, when that request is throttled',
      'max-limit',
      () => respond((_, query) => (query.get('limit') === '1000' ? tooLate() : undefined)),
      'at least 20; at 1000 HTTP 429',
    ],
    [
      'small limits, when such a request is throttled',
      'limit-echo',
      () => respond((_, query) => (query.get('limit') === '2' ? tooLate() : undefined)),
      'limit 2: HTTP 429',
    ],
    [
      'a second deactivation, when it is throttled',
      'deactivate-twice',
      () => {
        const count = nth(({ url }) => url.endsWith('/deactivate'))
        return respond(request => (count(request) === 3 ? tooLate() : undefined))
      },
      'HTTP 429',
    ],
    [
      'a key of another request, when it is throttled',
      'same-key-other-request',
      () => {
        const count = nth(({ url }) => url.endsWith('/reactivate'))
        return respond(request => (count(request) === 1 ? tooLate() : undefined))
      },
      'HTTP 429',
    ],
  ])('is unknown: %s', async (_, id, deviation, observed) => {
    const { broken, find } = await probeService([deviation()])
    expect(broken).toEqual(['rate-limit'])
    expect(find(id)).toMatchObject({ status: 'unknown', observed })
  })

  test('a largest limit whose page is too large is unknown', async () => {
    const { broken, find, report } = await probeService([
      changePages(page => (page.limit === 100 ? { ...page, note: 'x'.repeat(11_000_000) } : page)),
    ])
    expect(broken).toEqual([])
    expect(find('max-limit')).toMatchObject({
      status: 'unknown',
      observed: 'at least 20; at 1000 the response is too large or not valid',
    })
    expect(report.suggestedOptions.limit).toBe(20)
  })

  test('a page with more items than the limit and the total is told by its limit', async () => {
    service.transactions.length = 20
    const { broken } = await probeService([
      changePages(page => ({ ...page, limit: Math.min(page.limit, 15), totalItems: 15 })),
    ])
    expect(broken).toEqual(['limit-echo'])
  })

  test('a wrong key may be refused with a 404', async () => {
    const { broken, find } = await probeService([
      respond(request => (isWrongKey(request) ? json({}, 404) : undefined)),
    ])
    expect(broken).toEqual([])
    expect(find('wrong-key')).toMatchObject({
      status: 'kept',
      observed: 'HTTP 404',
      consequence: 'HttpError. Its message mentions the key only for 401 and 403.',
    })
  })

  test('an item that is added at the head meanwhile breaks nothing', async () => {
    const { broken, find } = await probeService([insertBefore(2)])
    expect(broken).toEqual([])
    expect(find('order')).toMatchObject({
      status: 'unknown',
      observed: 'the list changed between two requests',
    })
    expect(find('total-stable').observed).toBe('it rose from 250 to 251: items are being added')
  })

  test('an empty list shows little', async () => {
    service.transactions.length = 0
    const { broken, unknown } = await probeService()
    expect(broken).toEqual([])
    expect(unknown).toEqual([
      'items',
      'digits',
      'item-size',
      'page-echo',
      'order',
      'neighbours',
      'retry-after',
      'cors',
    ])
  })

  test('a short list is enough to compare pages', async () => {
    service.transactions.length = 2
    const { broken, unknown } = await probeService()
    expect(broken).toEqual([])
    expect(unknown).toEqual(['retry-after', 'cors'])
  })
})

describe('a finding:', () => {
  const withDates = (...dates: unknown[]) =>
    changePages(page => ({
      ...page,
      data: page.data.map((item, index) => ({ ...item, at: dates[Math.min(index, dates.length - 1)] })),
    }))
  const day = (number: number) => new Date(Date.UTC(2026, 0, number)).toISOString()
  const withoutIds = changePages(page => ({ ...page, data: page.data.map(({ id, ...item }) => item) }))
  const withTotal = (count: number) => {
    service.transactions.length = count
  }
  const onlyLater = (change: Deviation): Deviation => {
    const count = nth(isList)
    return fetch => (input, init) =>
      count(new Request(input, init)) > 1 ? change(fetch)(input, init) : fetch(input, init)
  }
  const redirect = (headers: Record<string, string>) =>
    respond(() => new Response(null, { status: 302, headers }))
  const headersOf = (headers: Record<string, string>) =>
    changeHeaders(own => {
      for (const [name, value] of Object.entries(headers)) own.set(name, value)
    })
  const renameRequestId = (name: string) =>
    changeHeaders(headers => {
      headers.delete('X-Request-Id')
      headers.set(name, 'r1')
    })
  const noChange: Deviation = fetch => fetch
  const emptyResponse = { headers: new Headers(), body: null }
  const lowLimit = (limit: number) =>
    changeQuery(query => {
      if (query.get('limit') === null) query.set('limit', String(limit))
    })

  test.each<[id: string, status: string, observed: string, deviation: () => Deviation]>([
    ['redirect', 'broken', 'HTTP 302', () => redirect({})],
    ['redirect', 'broken', 'HTTP 302', () => redirect({ Location: 'https://[' })],
    ['redirect', 'broken', `HTTP 302 to ${service.baseUrl}`, () => redirect({ Location: '/login' })],
    ['api-key', 'broken', 'HTTP 401', () => respond(() => json({}, 401))],
    ['api-key', 'broken', 'HTTP 403', () => respond(() => json({}, 403))],
    ['api-key', 'unknown', 'HTTP 400', () => respond(() => json({}, 400))],
    [
      'wrong-key',
      'kept',
      'HTTP 403',
      () =>
        respond(({ headers }) => (headers.get('Api-Key')?.startsWith('wrong') ? json({}, 403) : undefined)),
    ],
    ['order', 'kept', 'the same ids twice, newest first by at', () => withDates(day(9), day(9), day(3))],
    ['order', 'kept', 'the same ids twice, oldest first by at', () => withDates(day(1), day(1), day(3))],
    ['order', 'kept', 'the same ids twice', () => withDates(day(3), day(9), day(1))],
    ['order', 'kept', 'the same ids twice', () => withDates(day(3))],
    ['order', 'kept', 'the same ids twice', () => withDates(day(3), null, day(1))],
    ['order', 'kept', 'the same ids twice', () => withDates('3', '2', '1')],
    ['order', 'kept', 'the same ids twice', () => withDates('2026-13-01', '2026-12-01')],
    ['order', 'kept', 'the same ids twice', () => withDates(`on ${day(3)}`, `on ${day(1)}`)],
    ['order', 'unknown', 'no ids to compare', () => withoutIds],
    ['neighbours', 'unknown', 'no two pages with ids', () => withoutIds],
    [
      'order',
      'unknown',
      'fewer than two items',
      () => {
        withTotal(1)
        return noChange
      },
    ],
    [
      'order',
      'broken',
      'page 1 differed between two requests, with the same totalItems: other ids',
      () => onlyLater(changePages(page => ({ ...page, data: page.data.slice(1) }))),
    ],
    [
      'order',
      'broken',
      'page 1 differed between two requests, with the same totalItems: other ids',
      () =>
        onlyLater(
          changePages(page => ({ ...page, data: page.data.map(item => ({ ...item, id: `new${item.id}` })) })),
        ),
    ],
    [
      'neighbours',
      'unknown',
      'the order changes',
      () => onlyLater(changePages(page => ({ ...page, data: page.data.toReversed() }))),
    ],
    [
      'neighbours',
      'unknown',
      'the service does not return the requested pages',
      () => changePages(page => ({ ...page, page: 1 })),
    ],
    [
      'neighbours',
      'broken',
      '2 of 2 items of page 2 are on page 1, too',
      () => {
        withTotal(22)
        return changePages(page =>
          page.page === 2 && page.limit === 20
            ? { ...page, data: service.transactions.slice(0, 2) as never }
            : page,
        )
      },
    ],
    [
      'total-stable',
      'broken',
      'it fell from 250 to 249 between two requests',
      () => onlyLater(changePages(page => ({ ...page, totalItems: 249 }))),
    ],
    [
      'total-stable',
      'unknown',
      'totalItems does not count the list',
      () => changePages(page => ({ ...page, totalItems: 1 })),
    ],
    ['request-id', 'kept', 'request-id', () => renameRequestId('Request-Id')],
    [
      'request-id',
      'kept',
      'none by the customary names, but traceparent',
      () => renameRequestId('traceparent'),
    ],
    [
      'rate-limit',
      'kept',
      'none met in 15 responses; ratelimit-a, x-rate-limit-b, x-ratelimit-c, x-ratelimit-d',
      () =>
        headersOf({
          'RateLimit-A': '1',
          'X-Rate-Limit-B': '1',
          'X-RateLimit-C': '1',
          'X-RateLimit-D': '1',
          'X-RateLimit-E': '1',
          'My-RateLimit': '1',
        }),
    ],
    [
      'retry-after',
      'unknown',
      'not with HTTP 429',
      () => {
        const count = nth(isList)
        return respond(request => (count(request) === 2 ? json({}, 429) : undefined))
      },
    ],
    [
      'cache',
      'broken',
      'Cache-Control lets shared caches keep pages',
      () => headersOf({ 'Cache-Control': 's-maxage=60' }),
    ],
    ['cache', 'kept', 'Cache-Control: s-maxage=0', () => headersOf({ 'Cache-Control': 's-maxage=0' })],
    ['cache', 'kept', 'Cache-Control: private', () => headersOf({ 'Cache-Control': 'private', Age: '0' })],
    [
      'cache',
      'broken',
      'a cache responded instead of the service',
      () => headersOf({ 'CF-Cache-Status': 'HIT' }),
    ],
    [
      'compression',
      'unknown',
      'no Content-Encoding header; some runtimes hide it',
      () => headersOf({ 'Content-Length': '7' }),
    ],
    ['max-limit', 'unknown', 'limits are not obeyed', () => changeQuery(query => query.delete('limit'))],
    ['default-limit', 'kept', '7', () => lowLimit(7)],
    [
      'max-limit',
      'kept',
      'at least 1000',
      () => () =>
        new FakeService({ transactions: sampleTransactions(1200), maxLimit: 5000, apiKey: service.apiKey })
          .fetch,
    ],
    [
      'max-limit',
      'kept',
      'at least 1000, the default',
      () => () =>
        new FakeService({
          transactions: sampleTransactions(1200),
          maxLimit: 5000,
          defaultLimit: 1000,
          apiKey: service.apiKey,
        }).fetch,
    ],
    [
      'items',
      'broken',
      'data[].id: expected a string, got null; data[].amount: expected a number, got null; data[].currency: expected a string, got null; data[].description: expected a string, got null',
      () =>
        changePages(page => ({
          ...page,
          data: page.data.map(() => ({ id: null, amount: null, currency: null, description: null })),
        })),
    ],
    [
      'digits',
      'broken',
      'more digits than a double holds: data[].a, data[].b, data[].c, data[].d, data[].e',
      () =>
        changePages(
          page => ({
            ...page,
            data: page.data.map(item => ({ ...item, a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 })),
          }),
          text => text.replaceAll(/"([a-f])":1/g, '"$1":9007199254740993'),
        ),
    ],
    [
      'page-echo',
      'unknown',
      'the list has one page only',
      () => {
        withTotal(1)
        return noChange
      },
    ],
    [
      'page-beyond-end',
      'unknown',
      'the end of the list is unclear',
      () => changePages(page => ({ ...page, page: 1 })),
    ],
    [
      'page-zero',
      'kept',
      'HTTP 200, an empty page',
      () =>
        respond((_, query) =>
          query.get('page') === '0' ? json({ data: [], page: 1, totalItems: 250, limit: 20 }) : undefined,
        ),
    ],
    [
      'items',
      'unknown',
      'no item to look at',
      () => {
        withTotal(0)
        return noChange
      },
    ],
    [
      'same-key',
      'kept',
      'HTTP 200, no body: replayed',
      () =>
        changeHeaders((headers, { url }) => {
          if (url.endsWith('/deactivate') && headers.delete('Idempotent-Replayed') === undefined) {
            headers.set('Original-Request', 'req_1')
          }
        }),
    ],
    [
      'same-key',
      'unknown',
      'HTTP 429, no body',
      () => {
        const count = nth(({ url }) => url.endsWith('/deactivate'))
        return respond(request => (count(request) === 2 ? tooLate() : undefined))
      },
    ],
    [
      'deactivate-twice',
      'kept',
      'HTTP 409, an empty object',
      () => {
        const count = nth(({ url }) => url.endsWith('/deactivate'))
        return respond(request => (count(request) === 3 ? json({}, 409) : undefined))
      },
    ],
    [
      'same-key-other-request',
      'broken',
      'HTTP 200, an object (ok boolean), different from the first response',
      () => {
        const count = nth(({ url }) => url.endsWith('/reactivate'))
        return respond(request => (count(request) === 1 ? json({ ok: true }) : undefined))
      },
    ],
    [
      'same-key-other-request',
      'broken',
      'HTTP 200, an object (ok boolean)',
      () => {
        const count = nth(({ url }) => url.endsWith('/reactivate'))
        return respond(request =>
          count(request) === 1
            ? Response.json({ ok: true }, { headers: { 'Idempotency-Replayed': 'true' } })
            : undefined,
        )
      },
    ],
    [
      'deactivate',
      'broken',
      'HTTP 500, an empty object',
      () => respond(request => (isWrite(request) ? json({}, 500) : undefined)),
    ],
    [
      'same-key',
      'unknown',
      'deactivate failed',
      () => respond(request => (isWrite(request) ? json({}, 404) : undefined)),
    ],
    [
      'deactivate',
      'kept',
      'HTTP 200, text',
      () => respond(request => (isWrite(request) ? new Response('OK') : undefined)),
    ],
    [
      'further-fields',
      'kept',
      `a ${'x'.repeat(38)}... number, ${'y'.repeat(40)} string`,
      () =>
        changePages(page => ({
          ...page,
          data: page.data.map(item => ({ ...item, [`a ${'x'.repeat(39)}`]: 1, ['y'.repeat(40)]: 'b' })),
        })),
    ],
    [
      'further-fields',
      'kept',
      Array.from({ length: 20 }, (_, number) => `f${number} array`).join(', '),
      () =>
        changePages(page => ({
          ...page,
          data: page.data.map(item => ({
            ...item,
            ...Object.fromEntries(Array.from({ length: 20 }, (_, number) => [`f${number}`, []])),
          })),
        })),
    ],
    [
      'items',
      'broken',
      'data[]: expected an object, got null; data[]: expected an object, got an array; data[]: expected an object, got a string',
      () => changePages(page => ({ ...page, data: [null, [], 'text', ...page.data.slice(3)] })),
    ],
    [
      'page-beyond-end',
      'broken',
      'HTTP 200, not valid',
      () => changePages(page => (page.page > 13 ? { data: 'none' } : page)),
    ],
    ...(['data', 'page', 'totalItems', 'limit'] as const).map(
      (field): [string, string, string, () => Deviation] => [
        'total',
        'unknown',
        'no page to check',
        () => changePages(({ [field]: _, ...page }) => page),
      ],
    ),
    [
      'page-zero',
      'kept',
      'HTTP 302',
      () =>
        respond((_, query) =>
          query.get('page') === '0'
            ? new Response(null, { status: 302, headers: { Location: '/' } })
            : undefined,
        ),
    ],
    [
      'redirect',
      'broken',
      'a redirect',
      () => () => async () => ({ ...emptyResponse, status: 0, type: 'opaqueredirect' }) as Response,
    ],
    [
      'deactivate',
      'broken',
      'HTTP 503, no body',
      () => respond(request => (isWrite(request) ? new Response(null, { status: 503 }) : undefined)),
    ],
    [
      'envelope',
      'broken',
      'data: expected an array, got an object; page: expected a whole number of at least 1, got a string',
      () => changePages(page => ({ ...page, data: {}, page: '1' })),
    ],
  ])('%s is %s: %s', async (id, status, observed, deviation) => {
    const { find } = await probeService([deviation()])
    expect(find(id)).toMatchObject({ status, observed })
  })

  test('a service that is reached over plain http is not known to be reachable over TLS', async () => {
    const baseUrl = 'http://localhost:8080'
    const toService: Deviation = fetch => (input, init) => {
      const { url } = new Request(input, init)
      return fetch(url.replace(baseUrl, service.baseUrl), init)
    }
    const { find } = await probeService([toService], { baseUrl })
    expect(find('reachable')).toMatchObject({ status: 'unknown', observed: 'reached over plain http' })
  })

  test('a list that grows meanwhile has no gap between its pages', async () => {
    const { broken } = await probeService([insertBefore(5)])
    expect(broken).toEqual([])
  })

  test('the wrong key is tried on the first page of transactions', async () => {
    await probeService()
    const wrong = service.requests.find(({ headers }) => headers.get('Api-Key') !== service.apiKey)
    expect(wrong).toMatchObject({ method: 'GET', path: '/transactions', query: { page: '1' } })
  })
})

test('CORS is looked at where the runtime lets programs set Origin, which browsers do not', async () => {
  const canSetOrigin = new Request(service.baseUrl, { headers: { origin } }).headers.has('origin')
  const { broken, find } = await probeService([], { origin })
  expect(broken).toEqual([])
  expect(find('cors')).toMatchObject(
    canSetOrigin
      ? { status: 'kept', observed: 'allowed; no further headers are exposed' }
      : { status: 'unknown', observed: 'this runtime does not let programs set Origin' },
  )
})

describe('the requests', () => {
  test('only read when no account is named', async () => {
    const { find } = await probeService([], { account: undefined })
    expect(new Set(service.requests.map(({ method }) => method))).toEqual(new Set(['GET']))
    expect(find('deactivate')).toMatchObject({
      status: 'unknown',
      observed: 'read-only: no account was named',
    })
  })

  test('leave the account active', async () => {
    await probeService()
    expect(service.isActive(account)).toBe(true)
    expect(service.requests.filter(({ method }) => method === 'POST')).toHaveLength(5)
  })

  test('leave the account active even if every response to deactivate is lost', async () => {
    service.fail({ with: 'truncate', path: /\/deactivate$/, times: 9 })
    const { broken } = await probeService()
    expect(broken).toContain('deactivate')
    expect(service.isActive(account)).toBe(true)
  })

  test('do not touch an account that is not known', async () => {
    const { report, broken, unknown, find } = await probeService([
      respond(request => (isWrite(request) ? json({}, 404) : undefined)),
    ])
    expect(broken).toEqual(['deactivate'])
    expect(find('deactivate').consequence).toBe('The call fails.')
    expect(unknown.slice(-4)).toEqual([
      'reactivate',
      'same-key',
      'same-key-other-request',
      'deactivate-twice',
    ])
    expect(report.requests).toBe(11)
  })

  test('are announced with their largest number before the first is sent', async () => {
    const steps: ProbeStep[] = []
    const sentAtFirst: number[] = []
    const { report } = await probeService([], {
      onProgress: step => {
        steps.push(step)
        sentAtFirst.push(service.requests.length)
      },
    })
    expect(steps.map(({ name }) => name)).toEqual([
      'GET /transactions?page=1',
      'GET /transactions?page=1',
      'GET /transactions?page=2',
      'GET /transactions?page=1&limit=2',
      'GET /transactions?page=2&limit=2',
      'GET /transactions?page=23',
      'GET /transactions?page=0&limit=20',
      'GET /transactions?page=abc',
      'GET /transactions?page=1',
      'GET /transactions?page=1&limit=1000',
      'POST deactivate (new key)',
      'POST deactivate (same key)',
      'POST deactivate (another key)',
      'POST reactivate (key of deactivate)',
      'POST reactivate (new key)',
      'done',
    ])
    expect(steps[0]).toEqual({ done: 0, total: 26, name: 'GET /transactions?page=1' })
    expect(sentAtFirst[0]).toBe(0)
    expect(steps.at(-1)).toEqual({ done: report.requests, total: report.requests, name: 'done' })
  })

  test('never exceed that number, not even when every one is throttled or every limit is refused', async () => {
    const totals: number[] = []
    const onProgress = ({ total }: ProbeStep) => totals.push(total)
    const throttled = await probeService([respond(() => new Response(null, { status: 429 }))], { onProgress })
    expect(throttled.report.requests).toBe(4)
    const refused = respond((_, query) => (Number(query.get('limit')) > 777 ? json({}, 400) : undefined))
    const { report } = await probeService(
      [
        () =>
          refused(
            new FakeService({ transactions: sampleTransactions(9), maxLimit: 999, apiKey: service.apiKey })
              .fetch,
          ),
      ],
      { onProgress, account: undefined },
    )
    expect(report.requests).toBeLessThanOrEqual(21)
    expect(report.requests).toBeGreaterThan(15)
  })

  test('are sent with a pause of a quarter of a second between them', async () => {
    const { report, pauses } = await probeService()
    expect(pauses).toEqual(Array.from({ length: report.requests - 1 }, () => 250))
  })

  test('never carry the key to another place, and a wrong one only once', async () => {
    await probeService()
    const keys = service.requests.map(({ headers }) => headers.get('Api-Key'))
    expect(keys.filter(key => key !== service.apiKey)).toEqual(['wrong-key-of-a-probe'])
  })
})

describe('the report', () => {
  const deviating = [
    changePages(
      page => ({
        ...page,
        data: page.data.map(item => ({
          ...item,
          amount: String(item.amount),
          settledAt: null,
          [`a name of more than forty characters ${'x'.repeat(40)}`]: 1,
          'with spaces': { secret: 1 },
          sequence: 1,
        })),
      }),
      text => text.replaceAll('"sequence":1', '"sequence":12345678901234567890'),
    ),
    changeHeaders(headers => {
      headers.set('Cache-Control', `public, ${'x'.repeat(900)}, ${service.apiKey}`)
      headers.set(`X-Correlation-Id`, service.apiKey)
    }),
  ]

  test('is plain data for JSON and structuredClone', async () => {
    const { report } = await probeService()
    const { findings, suggestedOptions, requests } = report
    expect(JSON.parse(JSON.stringify(report))).toEqual({ findings, suggestedOptions, requests })
    expect(structuredClone(report)).toEqual({ findings, suggestedOptions, requests })
  })

  test('is a table of at most 80 columns', async () => {
    const { report } = await probeService(deviating)
    const lines = String(report).split('\n')
    expect(lines.filter(line => line.length > 80)).toEqual([])
    expect(lines[0]).toBe('kept     Reachable over TLS          https, HTTP 200')
  })

  test('is complete for a service that conforms', async () => {
    const { report } = await probeService()
    expect(String(report)).toMatchInlineSnapshot(`
      "kept     Reachable over TLS          https, HTTP 200
      kept     No redirect                 HTTP 200
      kept     Api-Key accepted            HTTP 200
      kept     Wrong Api-Key refused       HTTP 401
      kept     Page envelope matches       data, page, totalItems and limit
      kept     Items match                 64 items with id, amount, currency,
                                           description
      kept     Further fields              none
      kept     Numbers keep their digits   every number is exact as a double
      kept     Size of an item             94 bytes on average, 105 at most
      kept     page is echoed              pages 1 and 2
      kept     limit is echoed and obeyed  limit 2
      kept     Default limit               20
      kept     Largest limit               100: a larger one is lowered
                                           -> The limit in the response takes
                                              precedence.
      kept     Page beyond the end         an empty page
      kept     Page 0                      HTTP 400
      kept     Text as page                HTTP 400
      kept     totalItems counts the list  250 items
      kept     totalItems is stable        the same in 5 responses
      kept     Order is stable             the same ids twice
      kept     Pages fit together          no item on both pages 1 and 2, and no gap
      kept     Request id                  x-request-id
      kept     Rate limits                 none met in 15 responses; no headers about
                                           it
      unknown  Retry-After                 no 429 and no 503 was met
      kept     Compression                 none
      kept     Not cached                  Cache-Control: no-store
      unknown  CORS                        no origin was named
      kept     Deactivate                  HTTP 200, no body
      kept     Reactivate                  HTTP 200, no body
      kept     Same key again              HTTP 200, no body: replayed
      kept     Same key, other request     HTTP 422, an object (error object)
                                           -> HttpError.
      kept     Deactivate twice            HTTP 200, no body

      0 broken, 29 kept, 2 unknown, in 15 requests.

      Options that suit this service:

      import { Client } from 'virtual-accounts'

      const client = new Client({ baseUrl, apiKey, concurrency: 4 })
      const list = client.transactions.list({ limit: 100 })

      Ask the owner of the service:

      - Does a 429 or 503 come with Retry-After, and in which form?
      - Which origins may call the service from a browser?
      - Is \`amount\` in major or minor units, and does it depend on the currency?
      - For how long is an Idempotency-Key remembered?"
    `)
  })

  test('is complete for a service that deviates', async () => {
    const { report } = await probeService([
      changePages(
        page => ({
          ...page,
          hasMore: true,
          data: page.data.map((item, index) => ({
            ...item,
            id: Number(index),
            currency: index === 0 ? null : item.currency,
            amount: index === 1 ? 'free' : 7,
            tags: [],
            reference: null,
            meta: { depth: 1 },
            ...(index > 0 && { note: index % 2 === 0 }),
            ...Object.fromEntries(Array.from({ length: 18 }, (_, number) => [`field${number}`, 'text'])),
          })),
        }),
        text => text.replaceAll('"amount":7', '"amount":12345678901234567890'),
      ),
      changeHeaders(headers => headers.set('Age', '30')),
      respond((_, query) => (query.get('limit') === '1000' ? json({}, 500) : undefined)),
    ])
    expect(String(report)).toMatchInlineSnapshot(`
      "kept     Reachable over TLS          https, HTTP 200
      kept     No redirect                 HTTP 200
      kept     Api-Key accepted            HTTP 200
      kept     Wrong Api-Key refused       HTTP 401
      kept     Page envelope matches       data, page, totalItems and limit
      broken   Items match                 data[].id: expected a string, got a number;
                                           data[].currency: expected a string, got
                                           null
                                           -> Lists fail with InvalidResponseError,
                                              unless a \`schema\` accepts these items.
      kept     Further fields              tags array, reference null, meta object,
                                           field0 string, field1 string, field2
                                           string, field3 string, field4 string,
                                           field5 string, field6 string, field7
                                           string, field8 string, field9 string,
                                           field10 string, field11 string, field12
                                           string, field13 string, field14 string,
                                           field15 string, field16 string, and 2 more;
                                           in the envelope: hasMore boolean
                                           -> Passed through; a \`schema\` types them.
      broken   Numbers keep their digits   more digits than a double holds:
                                           data[].amount
                                           -> Such a number arrives as a string of its
                                              digits. As \`amount\` it is an
                                              InvalidResponseError, unless a \`schema\`
                                              accepts it.
      kept     Size of an item             437 bytes on average, 450 at most
      kept     page is echoed              pages 1 and 2
      kept     limit is echoed and obeyed  limit 2
      kept     Default limit               20
      kept     Largest limit               100: a larger one is lowered
                                           -> The limit in the response takes
                                              precedence.
      kept     Page beyond the end         an empty page
      kept     Page 0                      HTTP 400
      kept     Text as page                HTTP 400
      kept     totalItems counts the list  250 items
      kept     totalItems is stable        the same in 5 responses
      kept     Order is stable             the same ids twice
      broken   Pages fit together          page 2 repeats page 1
                                           -> Iterating yields repeated items once,
                                              with a \`drift\` event, and can miss
                                              others without an error.
      kept     Request id                  x-request-id
      kept     Rate limits                 none met in 16 responses; no headers about
                                           it
      unknown  Retry-After                 no 429 and no 503 was met
      kept     Compression                 none
      broken   Not cached                  a cache responded instead of the service
                                           -> Pages can come from different states of
                                              the list, and show what is no longer
                                              true. \`verified: true\` notices gaps.
      unknown  CORS                        no origin was named
      kept     Deactivate                  HTTP 200, no body
      kept     Reactivate                  HTTP 200, no body
      kept     Same key again              HTTP 200, no body: replayed
      kept     Same key, other request     HTTP 422, an object (error object)
                                           -> HttpError.
      kept     Deactivate twice            HTTP 200, no body

      4 broken, 25 kept, 2 unknown, in 16 requests.

      Options that suit this service:

      import { Client } from 'virtual-accounts'
      import * as z from 'zod'

      const schema = z.looseObject({
        id: z.number(),
        amount: z.union([z.number(), z.string()]),
        currency: z.string().nullable(),
        description: z.string(),
        tags: z.array(z.unknown()),
        reference: z.null(),
        meta: z.looseObject({}),
        field0: z.string(),
        field1: z.string(),
        field2: z.string(),
        field3: z.string(),
        field4: z.string(),
        field5: z.string(),
        field6: z.string(),
        field7: z.string(),
        field8: z.string(),
        field9: z.string(),
        field10: z.string(),
        field11: z.string(),
        field12: z.string(),
        field13: z.string(),
        field14: z.string(),
        field15: z.string(),
        field16: z.string(),
        field17: z.string(),
        note: z.boolean().optional(),
      })

      const client = new Client({ baseUrl, apiKey, concurrency: 4 })
      const list = client.transactions.list({ limit: 100 }, { schema })

      Ask the owner of the service:

      - Which types do the fields of a transaction have?
      - How large can numbers become, and can they be sent as strings?
      - Can an item be on two pages while nothing changes?
      - Does a 429 or 503 come with Retry-After, and in which form?
      - Which caches are there between the service and its users?
      - Which origins may call the service from a browser?
      - Is \`amount\` in major or minor units, and does it depend on the currency?
      - For how long is an Idempotency-Key remembered?"
    `)
  })

  test('says how little is known of a service without a list of transactions', async () => {
    const { report } = await probeService([respond(() => json({}, 404))])
    expect(String(report)).toMatchInlineSnapshot(`
      "kept     Reachable over TLS          https, HTTP 404
      kept     No redirect                 HTTP 404
      unknown  Api-Key accepted            HTTP 404
      unknown  Wrong Api-Key refused       no page to check
      broken   Page envelope matches       GET /transactions: HTTP 404
                                           -> Lists fail with HttpError. Check the
                                              path of baseUrl.
      unknown  Items match                 no page to check
      unknown  Further fields              no page to check
      unknown  Numbers keep their digits   no page to check
      unknown  Size of an item             no page to check
      unknown  page is echoed              no page to check
      unknown  limit is echoed and obeyed  no page to check
      unknown  Default limit               no page to check
      unknown  Largest limit               no page to check
      unknown  Page beyond the end         no page to check
      unknown  Page 0                      no page to check
      unknown  Text as page                no page to check
      unknown  totalItems counts the list  no page to check
      unknown  totalItems is stable        no page to check
      unknown  Order is stable             no page to check
      unknown  Pages fit together          no page to check
      kept     Request id                  none
                                           -> \`requestId\` is undefined.
      kept     Rate limits                 none met in 1 response; no headers about it
      unknown  Retry-After                 no 429 and no 503 was met
      unknown  Compression                 no Content-Encoding header; some runtimes
                                           hide it
      kept     Not cached                  no Cache-Control
      unknown  CORS                        no page to check
      unknown  Deactivate                  no page to check
      unknown  Reactivate                  no page to check
      unknown  Same key again              no page to check
      unknown  Same key, other request     no page to check
      unknown  Deactivate twice            no page to check

      1 broken, 5 kept, 25 unknown, in 1 request.

      No page of transactions could be read, so little could be checked. Fix what is
      broken above, and probe again."
    `)
  })

  test('never shows a value of a record, or the key, even where the service echoes it', async () => {
    const echoing = changePages(page => ({
      ...page,
      [service.apiKey]: service.apiKey,
      data: page.data.map(item => ({ ...item, [service.apiKey]: service.apiKey, 'caf\u00e9\u009b': 1 })),
    }))
    const { report } = await probeService([...deviating, echoing])
    const text = String(report) + JSON.stringify(report)
    expect(text).not.toContain(service.apiKey)
    const values = service.transactions.flatMap(({ id, description }) => [id, description])
    expect(values.filter(value => text.includes(value))).toEqual([])
    expect(text).toMatch(/^[\n -~]*$/)
  })

  test('ends with options as code, whose schema accepts the items that the service has', async () => {
    const { report } = await probeService(deviating)
    const [, code = ''] = /const schema = (z\.looseObject\(\{[\s\S]*?\n\}\))/.exec(String(report)) ?? []
    const schema = new Function('z', `return ${code}`)(z) as z.ZodType
    const item = {
      id: '1',
      amount: '2',
      currency: 'EUR',
      description: '',
      settledAt: null,
      'with spaces': {},
      sequence: '12345678901234567890',
    }
    expect(schema.safeParse(item).success).toBe(true)
    expect(schema.safeParse({ ...item, amount: 2 }).success).toBe(false)
    expect(String(report)).toContain('const list = client.transactions.list({ limit: 100 }, { schema })')
  })

  test('has no schema in its code for items as documented', async () => {
    const { report } = await probeService()
    expect(String(report)).not.toContain('schema')
    expect(String(report)).toContain(`const client = new Client({ baseUrl, apiKey, concurrency: 4 })
const list = client.transactions.list({ limit: 100 })`)
  })

  test('ends with what to ask the owner of the service', async () => {
    const { report } = await probeService([changeHeaders(headers => headers.set('Age', '30'))])
    expect(
      String(report).split('Ask the owner of the service:\n\n')[1],
    ).toBe(`- Does a 429 or 503 come with Retry-After, and in which form?
- Which caches are there between the service and its users?
- Which origins may call the service from a browser?
- Is \`amount\` in major or minor units, and does it depend on the currency?
- For how long is an Idempotency-Key remembered?`)
  })

  test('suggests pages of at most 1 MiB', async () => {
    const { report } = await probeService([
      changePages(page => ({
        ...page,
        data: page.data.map(item => ({ ...item, note: 'x'.repeat(20_000) })),
      })),
    ])
    expect(report.suggestedOptions.limit).toBe(52)
  })
})

describe('misuse', () => {
  const valid = { baseUrl: service.baseUrl, apiKey: service.apiKey, fetch: service.fetch }

  test.each<[options: object | null | undefined, message: string]>([
    [undefined, 'options: expected an object with at least baseUrl and apiKey, got undefined'],
    [{ ...valid, acount: account }, 'acount: unknown option. Options of probe are: account, apiKey, baseUrl'],
    [{ ...valid, baseUrl: undefined }, 'baseUrl: expected an absolute https URL'],
    [{ ...valid, apiKey: '' }, 'apiKey: expected a non-empty string'],
    [{ ...valid, account: 'v1' }, 'account: expected { customerId, virtualAccountId }, got a string'],
    [
      { ...valid, account: { customerId: 'c1' } },
      'account.virtualAccountId: expected a non-empty string, got undefined',
    ],
    [
      { ...valid, origin: `${origin}/app` },
      'origin: expected the origin of a page, such as "https://app.example.com"',
    ],
    [{ ...valid, origin: `${origin}/app` }, 'got a string that is none (remove the path or trailing slash)'],
    [{ ...valid, origin: 'app' }, 'got a string that is none (remove the path or trailing slash)'],
    [{ ...valid, origin: '' }, 'got an empty string'],
    [{ ...valid, origin: 7 }, 'got 7'],
    [null, 'options: expected an object with at least baseUrl and apiKey, got null'],
    [{ ...valid, account: null }, 'account: expected { customerId, virtualAccountId }, got null'],
    [
      { ...valid, account: { virtualAccountId: 'v1' } },
      'account.customerId: expected a non-empty string, got undefined',
    ],
    [{ ...valid, signal: true }, 'signal: expected an AbortSignal, got true'],
    [{ ...valid, onProgress: 1 }, 'onProgress: expected a function, got 1'],
  ])('of %j is a TypeError, and nothing is sent', async (options, message) => {
    const error = await probe(options as ProbeOptions).catch(error => error)
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toContain(message)
    expect(service.requests).toHaveLength(0)
  })
})

test('an abort rejects with the reason of the signal, and sends no more', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const onProgress = ({ done }: ProbeStep) => done === 3 && controller.abort(reason)
  await expect(probeService([], { signal: controller.signal, onProgress })).rejects.toBe(reason)
  expect(service.requests).toHaveLength(3)
})

test('an abort while the account is deactivated still reactivates it', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const onProgress = ({ name }: ProbeStep) => {
    if (name !== 'POST deactivate (same key)') return
    expect(service.isActive(account)).toBe(false)
    controller.abort(reason)
  }
  await expect(probeService([], { signal: controller.signal, onProgress })).rejects.toBe(reason)
  await vi.waitFor(() => expect(service.isActive(account)).toBe(true))
})

test('an abort before the response to the first deactivation reactivates the account, too', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const abortOnDeactivate: Deviation = fetch => async (input, init) => {
    const response = await fetch(input, init)
    if (String(input).endsWith('/deactivate')) {
      expect(service.isActive(account)).toBe(false)
      controller.abort(reason)
    }
    return response
  }
  await expect(probeService([abortOnDeactivate], { signal: controller.signal })).rejects.toBe(reason)
  await vi.waitFor(() => expect(service.isActive(account)).toBe(true))
})

test('an abort before the first deactivation is sent writes nothing', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const onProgress = ({ name }: ProbeStep) => {
    if (name === 'POST deactivate (new key)') controller.abort(reason)
  }
  await expect(probeService([], { signal: controller.signal, onProgress })).rejects.toBe(reason)
  await new Promise(resolve => setTimeout(resolve, 20))
  expect(service.requests.filter(({ method }) => method === 'POST')).toEqual([])
})

test('errors of the apiKey function and of onProgress propagate unchanged', async () => {
  const error = new Error('no key')
  await expect(probeService([], { apiKey: () => Promise.reject(error) })).rejects.toBe(error)
  const onProgress = () => {
    throw error
  }
  await expect(probeService([], { onProgress })).rejects.toBe(error)
})

test('without a key, a proxy is expected to add it', async () => {
  const addKey: Deviation = fetch => (input, init) => {
    const request = new Request(input, init)
    request.headers.set('Api-Key', service.apiKey)
    return fetch(request)
  }
  const { broken, find } = await probeService([addKey], { apiKey: null })
  expect(broken).toEqual([])
  for (const id of ['api-key', 'wrong-key']) {
    expect(find(id)).toMatchObject({ status: 'unknown', observed: 'no key is sent (apiKey is null)' })
  }
})
