import { inferSchema, probe } from 'virtual-accounts/probe'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { cases } from '../cases.ts'
import { account, checkEach, rejectionOf } from '../support.ts'
import {
  apiKey,
  baseUrl,
  type Change,
  itemsFrom,
  json,
  pageOf,
  probeService,
  service,
  status,
} from './service.ts'

beforeEach(() => service.reset())
afterEach(() => vi.useRealTimers())

test('nothing is broken in a service that conforms to the API specification', async () => {
  const { report, broken, find } = await probeService(undefined, { account })
  expect(broken).toEqual([])
  expect(report.verdict).toBe('Nothing is broken. With a stable order, loops can prove they are complete.')
  expect(find('largest-limit')).toMatchObject({
    observed: 'limit 1000 is changed to 100',
    advice: 'Loops without a `limit` use it.',
  })
  expect(report.findings.filter(({ status }) => status === 'not-checked').map(({ id }) => id)).toEqual([
    'growth',
    'cors',
  ])
})

test('it says at which end the list seems to grow, if its items have a date', () =>
  checkEach(
    [
      ['oldest first, by created_at', 1, /`after`/],
      ['newest first, by created_at', -1, /`until`/],
    ] as const,
    async ([observed, sign, advice]) => {
      const dated: Change = ({ data, page, limit }) => ({
        data: data.map((item, index) => ({
          ...Object(item),
          created_at: new Date(1e12 + sign * 1e7 * ((page - 1) * limit + index)).toISOString(),
        })),
      })
      const { broken, find } = await probeService(dated)
      expect(broken).toEqual([])
      expect(find('growth')).toMatchObject({ status: 'ok', observed, advice: expect.stringMatching(advice) })
    },
  ))

test('nothing is broken in a list of any length', () =>
  checkEach([0, 1, 2, 19, 20, 21, 99, 100, 101], async totalItems => {
    const { report, broken } = await probeService(undefined, {}, totalItems)
    expect(broken).toEqual([])
    const verdict = totalItems === 0 ? 'the list is empty' : 'loops can prove they are complete'
    expect(report.verdict).toContain(verdict)
  }))

test('each deviation is found, and nothing else', () =>
  checkEach<[name: string, broken: string, change: Change]>(
    [
      [
        'amounts are strings',
        'items',
        ({ data }) => ({ data: data.map(item => ({ ...Object(item), amount: '1' })) }),
      ],
      ['items are no objects', 'items ids', ({ data }) => ({ data: data.map(() => 1) })],
      ['all pages are page 1', 'page-numbers smaller-limits total beyond-end', () => ({ page: 1 })],
      ['page 2 fails', 'page-numbers', ({ page }, asked) => page === 2 && asked === 20 && status(500)],
      [
        'pages are counted from 0',
        'page-numbers',
        ({ page, limit }) => ({ ...pageOf(page + 1, limit), page }),
      ],
      ['the limit is ignored', 'smaller-limits', ({ page }) => pageOf(page, 20)],
      [
        'the limit is only repeated',
        'smaller-limits largest-limit total beyond-end',
        ({ page }) => ({ data: itemsFrom((page - 1) * 20, 20) }),
      ],
      ['small limits are raised', 'smaller-limits', ({ page }, asked) => asked < 20 && pageOf(page, 20)],
      ['a small limit is exceeded', 'smaller-limits', (_, asked) => asked < 20 && { data: itemsFrom(0, 20) }],
      ['small limits are forbidden', 'smaller-limits', (_, asked) => asked < 20 && status(403)],
      ['large limits fail', 'largest-limit', (_, asked) => asked > 100 && status(500)],
      [
        'page 1 lacks an item',
        'total',
        ({ page, data }, asked) => page * asked === 20 && { data: data.slice(1) },
      ],
      ['the total is that of the page', 'total beyond-end', ({ data }) => ({ totalItems: data.length })],
      ['the total is too low by a few', 'total', () => ({ totalItems: 243 })],
      [
        'the total is too low by pages',
        'beyond-end',
        ({ page, limit }) => ({ ...pageOf(page, limit), totalItems: 100 }),
      ],
      ['the total is too high by one', 'total', () => ({ totalItems: 251 })],
      ['the total is too high by pages', 'total', () => ({ totalItems: 400 })],
      [
        'the total is of the default limit',
        'total',
        ({ page }, asked) => asked === 20 && pageOf(page, 20, 40),
      ],
      ['pages from 3 on fail', 'total beyond-end', ({ page }) => page > 2 && status(500)],
      ['page 2 is page 1', 'order', ({ page, limit }) => page === 2 && { data: itemsFrom(0, limit) }],
      [
        'page 2 begins too early',
        'order',
        ({ page, limit }) => page === 2 && { data: itemsFrom(limit - 1, limit) },
      ],
      [
        'page 2 begins too late',
        'order',
        ({ page, limit }) => page === 2 && { data: itemsFrom(limit + 1, limit) },
      ],
      [
        'the order changes',
        'order',
        ({ data }, _, number) => number % 2 === 0 && { data: data.toReversed() },
      ],
      [
        'another limit sorts equals in another way',
        'order',
        ({ data }, asked) => asked === 34 && { data: data.toReversed() },
      ],
      [
        'an id is on page 1 twice',
        'ids',
        ({ page, data }) => page === 1 && { data: [...data.slice(1), data[1]] },
      ],
      ['the last page is repeated', 'beyond-end', ({ page }) => page === 4 && { data: itemsFrom(200, 50) }],
      ['the last page is returned', 'beyond-end', ({ page, limit }) => page === 4 && pageOf(3, limit)],
      ['pages beyond the end fail', 'beyond-end', ({ page }) => page === 4 && status(400)],
    ],
    async ([, expected, change]) => {
      const { report, broken, find } = await probeService(change)
      expect(broken.join(' ')).toBe(expected)
      for (const id of broken) expect(find(id)?.advice).toMatch(/\.$/)
      expect(report.verdict).toBe(`Broken: ${broken.join(', ')}.`)
    },
  ))

test('what the specification leaves open is a note that says what follows', () => {
  let isLate = true
  return checkEach<[id: string, observed: RegExp, change: Change]>(
    [
      ['smaller-limits', /^limit 19: .*HTTP 422/, (_, asked) => asked % 10 > 0 && status(422)],
      ['beyond-end', /^page 4 at limit 100 gets HTTP 404$/, ({ page }) => page === 4 && status(404)],
      [
        'beyond-end',
        /^page 4 at limit 100 is empty, and its totalItems is 0$/,
        ({ data }) => data.length === 0 && { totalItems: 0 },
      ],
      [
        'total',
        /^page 3 at limit 100 has 50 items, but its totalItems, 251, promises 51. It is right when fetched again$/,
        ({ page, limit }) => {
          if (page * limit !== 300 || !isLate) return false
          isLate = false
          return { totalItems: 251 }
        },
      ],
    ],
    async ([id, observed, change]) => {
      const { broken, find } = await probeService(change)
      expect(broken).toEqual([])
      expect(find(id)).toMatchObject({ status: 'note', observed: expect.stringMatching(observed) })
    },
  )
})

test('the largest limit is found', () =>
  checkEach<[observed: RegExp, change: Change]>(
    [
      [/^limit 1000 is changed to 100$/, () => undefined],
      [/^limit 100 is honoured$/, (_, asked) => asked > 100 && status(400)],
      [/^limit 100 is honoured$/, ({ page }, asked) => asked > 100 && pageOf(page, 20)],
      [/^20, the default: limit 1000 is changed to 20$/, ({ page }, asked) => asked > 20 && pageOf(page, 20)],
      [/^20, the default, as limit 1000 is refused: .*HTTP 400/, (_, asked) => asked > 20 && status(400)],
      [/^the default is 1000: /, ({ page }, asked) => pageOf(page, asked === 20 ? 1_000 : asked)],
    ],
    async ([observed, change]) => {
      const { broken, find } = await probeService(change)
      expect(broken).toEqual([])
      expect(find('largest-limit')).toMatchObject({ status: 'ok', observed: expect.stringMatching(observed) })
    },
  ))

test('where no list can be read, the finding quotes the error', () =>
  checkEach<[message: string, id: string, change: Change]>(
    [
      ['HTTP 401: "no such key"', 'api-key', () => json({ error: 'no such key' }, 401)],
      ['HTTP 404', 'envelope', () => status(404)],
      ['data: ', 'envelope', () => json({ items: [] })],
      ['HTML', 'envelope', () => new Response('<!doctype html>')],
      ['no readable response', 'reachable', () => Promise.reject(new TypeError('fetch failed'))],
      ['page 0 has 5 items', 'page-numbers', ({ page }) => ({ ...pageOf(page + 1, 20, 5), page })],
    ],
    async ([message, id, change]) => {
      const { report, broken, find } = await probeService(change)
      expect(find(id)).toMatchObject({ status: 'broken', observed: expect.stringContaining(message) })
      // The client's advice would be a second one.
      expect(find(id)?.observed).not.toMatch(/\. [A-Z]/)
      expect(find('total')?.status).toBe('not-checked')
      const verdict = `No list of transactions could be read: see ${broken.join(', ')}.`
      expect(String(report).split('\n')[0]).toBe(verdict)
    },
  ))

describe('a list that changes while it is read has nothing broken', () => {
  const added = () => ({ id: crypto.randomUUID(), amount: 1, currency: 'EUR', description: '' })
  test('with each request', () =>
    checkEach<[name: string, change: (items: unknown[]) => unknown]>(
      [
        ['items are added', items => items.unshift(added())],
        ['items are removed', items => items.shift()],
        ['one is added and one is removed', items => items.pop() && items.unshift(added())],
        ['one is replaced', items => items.splice(5, 1, added())],
        ['it becomes empty', items => items.splice(0, 40)],
      ],
      async ([, change]) => {
        const items = itemsFrom(0, 250)
        const { broken } = await probeService(({ limit, page }) => {
          if (page === 0) return undefined
          change(items)
          return { data: items.slice((page - 1) * limit, page * limit), totalItems: items.length }
        })
        expect(broken).toEqual([])
      },
    ))

  test('once, at any time', () =>
    checkEach([2, 3, 4, 5, 6, 7, 8, 9, 10, 11], async time => {
      const { broken } = await probeService(
        ({ page, limit }, _, number) => page > 0 && number >= time && pageOf(page, limit, 180),
      )
      expect(broken).toEqual([])
    }))
})

/** A small generator, so that a failure can be repeated. */
function createRandom(seed: number) {
  let state = seed
  return <T>(from: readonly T[]): T => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return from[Math.floor((state / 2 ** 32) * from.length)] as T
  }
}

test('with random faults, a page that contradicts itself never passes', () =>
  checkEach(
    Array.from({ length: cases(300) }, (_, seed) => seed),
    async seed => {
      const pick = createRandom(seed)
      const total = pick([1, 5, 19, 20, 21, 40, 101, 250])
      const fault = pick<Change>([
        () => status(500),
        ({ page }) => ({ page: page + 1 }),
        ({ totalItems }) => ({ totalItems: totalItems * 2 }),
        ({ totalItems }) => ({ totalItems: totalItems - 1 }),
        ({ data }) => ({ data: data.slice(1) }),
        ({ data }) => ({ data: [...data, data[0]] }),
      ])
      const isHit = pick<(page: number, asked: number) => boolean>([
        () => true,
        page => page === 1,
        page => page > 1,
        (_, asked) => asked < 20,
        (_, asked) => asked > 20,
      ])
      let isSeen = false
      const change: Change = (body, asked, number) => {
        const { page, data } = body
        if (page === 0 || data.length === 0 || !isHit(page, asked)) return undefined
        isSeen = true
        return fault(body, asked, number)
      }
      const { broken } = await probeService(change, {}, total)
      if (isSeen) expect(broken).not.toEqual([])
    },
  ))

test('what was found before the time limit is reported', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { broken, find } = await probeService((_, asked) => {
    if (asked <= 20) return undefined
    vi.runAllTimers()
    return new Promise(() => {})
  })
  expect(broken).toEqual([])
  expect(find('smaller-limits')?.status).toBe('ok')
  expect(find('items')).toMatchObject({ status: 'not-checked', observed: 'the probe ran out of time' })
})

test('an aborted probe rejects with the reason', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const abort = () => {
    controller.abort(reason)
    return undefined
  }
  expect(await rejectionOf(probeService(abort, { signal: controller.signal }))).toBe(reason)
})

test('a URL instead of options is a TypeError that says so', async () => {
  const expected = 'TypeError: options: expected a plain object, got a string'
  for (const call of [probe, inferSchema])
    expect(String(await rejectionOf(call(service.baseUrl as never)))).toBe(expected)
  expect(String(await rejectionOf(probe(undefined as never)))).toMatch(
    /^TypeError: apiKey: expected .* got undefined/,
  )
})

test('wrong options are TypeErrors, and nothing is sent', () =>
  checkEach<[name: string, options: object]>(
    [
      ['origin', { origin: 'https://app.example.com/' }],
      ['orgin', { orgin: 'https://app.example.com' }],
      ['apiKey', { apiKey: undefined }],
      ['virtualAccountId', { account: { customerId: 'c1', virtualAccountId: 'undefined' } }],
    ],
    async ([name, options]) => {
      const change = vi.fn<Change>()
      expect(String(await rejectionOf(probeService(change, options)))).toMatch(
        new RegExp(`^TypeError: ${name}: `),
      )
      expect(change).not.toHaveBeenCalled()
    },
  ))

describe('writes', () => {
  const paths = () => service.requests.map(({ path }) => path.split('/').at(-1))
  /** A service that responds to deactivations in this order. */
  const probeWrites = (responses: (() => Response)[], options: object = {}) => {
    for (const response of responses) service.fail({ method: 'POST', path: /deactivate$/, with: response })
    return probeService(undefined, { account, ...options })
  }

  test('nothing is written without an account', async () => {
    await probeService()
    expect(service.requests).toEqual([])
  })

  test('the account is deactivated twice with the same key, and reactivated with another', async () => {
    await probeWrites([])
    const keys = service.requests.map(({ headers }) => headers.get('Idempotency-Key'))
    expect(paths()).toEqual(['deactivate', 'deactivate', 'reactivate'])
    expect(keys[1]).toBe(keys[0])
    expect(keys[2]).not.toBe(keys[0])
    expect(service.isActive(account)).toBe(true)
  })

  const ok = () => json({ at: 1, by: 'me' })
  const none = () => new Response(null, { status: 204 })
  const reordered = () => json({ by: 'me', at: 1 })
  const marked = () => Response.json({}, { headers: { 'Idempotent-Replayed': 'true' } })
  test('the second response shows whether the key is honoured', () =>
    checkEach<[name: string, responses: (() => Response)[], status: string, observed: string]>(
      [
        ['the same', [ok, reordered], 'ok', 'gets the same response'],
        ['a replay', [ok, marked], 'ok', 'marked as a replay'],
        ['something else', [ok, () => json({ at: 2 })], 'broken', 'gets another response'],
        ['a refusal', [ok, () => json({}, 422)], 'broken', 'HTTP 422'],
        ['nothing for now', [ok, () => json({}, 429)], 'not-checked', 'HTTP 429'],
        ['a refusal the first time', [() => json({}, 403)], 'not-checked', 'HTTP 403'],
        ['a conflict the first time', [() => json({}, 409)], 'not-checked', 'HTTP 409'],
        ['a failure', [() => json({}, 501), ok], 'broken', 'a write fails: '],
        ['nothing', [none, none], 'ok', 'gets the same empty response'],
      ],
      async ([, responses, status, observed]) => {
        service.reset()
        const { find } = await probeWrites(responses)
        expect(find('idempotency')).toMatchObject({ status, observed: expect.stringContaining(observed) })
        expect(service.isActive(account)).toBe(true)
        expect(paths().includes('reactivate')).toBe(responses.length > 1)
      },
    ))

  test('the account is reactivated after an abort, and where a response was lost', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const abort = () => {
      controller.abort(reason)
      return json({})
    }
    expect(await rejectionOf(probeWrites([abort], { signal: controller.signal }))).toBe(reason)
    expect(paths()).toEqual(['deactivate', 'reactivate'])
    service.reset()
    service.fail({ method: 'POST', with: 'truncate' })
    service.fail({ method: 'POST', with: 'network-error' })
    const error = await rejectionOf(probeService(undefined, { account }))
    expect(String(error)).toMatch(/The account may be inactive: POST .*reactivate/)
  })
})

describe('CORS', () => {
  const origin = 'https://app.example.com'
  /** Probes a service that responds to preflights, and all else, with these headers. */
  const probeCors = (preflight: HeadersInit, headers: HeadersInit, status = 204) => {
    const fetch: typeof service.fetch = async (input, init) => {
      const request = new Request(input, init)
      if (request.method === 'OPTIONS') {
        expect(request.headers.has('api-key')).toBe(false)
        return new Response(null, { status, headers: preflight })
      }
      return new Response((await service.fetch(request)).body, { headers })
    }
    return probeService(undefined, { fetch, origin })
  }
  const allowed = { 'Access-Control-Allow-Origin': origin }
  const withKey = { ...allowed, 'Access-Control-Allow-Headers': 'Content-Type, API-Key' }

  test('a page may list transactions if preflight and response allow it', () =>
    checkEach<[name: string, status: string, observed: string, Parameters<typeof probeCors>]>(
      [
        ['both', 'ok', `pages of ${origin} may list`, [withKey, allowed]],
        [
          'anybody',
          'ok',
          `pages of ${origin} may list`,
          [{ ...withKey, 'Access-Control-Allow-Origin': '*' }, allowed],
        ],
        ['no key', 'broken', 'the header Api-Key', [allowed, allowed]],
        [
          'another origin',
          'broken',
          'the preflight (OPTIONS): ',
          [{ ...withKey, ...{ 'Access-Control-Allow-Origin': 'null' } }, allowed],
        ],
        ['no header in the response', 'broken', 'a request with this Origin: ', [withKey, {}]],
        ['no preflight', 'broken', 'HTTP 403', [withKey, allowed, 403]],
      ],
      async ([, status, observed, args]) => {
        // Browsers do not let programs set Origin.
        const isBrowser = !new Request(baseUrl, { headers: { origin } }).headers.has('origin')
        const { find } = await probeCors(...args)
        expect(find('cors')).toMatchObject(
          isBrowser ? { status: 'not-checked' } : { status, observed: expect.stringContaining(observed) },
        )
      },
    ))
})

test('the API key is nowhere in a report, even if the service echoes it', async () => {
  const { report } = await probeService(() => json({ error: `wrong key: ${apiKey}` }, 401))
  expect(`${report}${JSON.stringify(report)}`).not.toContain(apiKey)
})

test('a report is at most 80 columns wide', async () => {
  const { report } = await probeService((_, asked) => asked < 20 && status(422))
  expect(
    Math.max(
      ...String(report)
        .split('\n')
        .map(({ length }) => length),
    ),
  ).toBeLessThanOrEqual(80)
})
