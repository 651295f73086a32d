import { beforeEach, expect, test } from 'vitest'
import { checkEach } from '../support.ts'
import {
  changeHeaders,
  type Deviation,
  json,
  origin,
  probeHanging,
  probeService,
  respond,
  service,
  undecodable,
} from './service.ts'

beforeEach(() => service.reset())

const isPreflight = ({ method }: Request) => method === 'OPTIONS'
const onPreflight = (response: () => Response) =>
  respond(request => (isPreflight(request) ? response() : undefined))

test('a page of the origin may list transactions, and nothing is said about writes', async () => {
  const expose = changeHeaders(headers => headers.set('Access-Control-Expose-Headers', 'Retry-After'))
  const { broken, find } = await probeService([expose], { origin })
  expect(broken).toEqual([])
  expect(find('cors')).toMatchObject({ status: 'ok', observed: expect.stringContaining('Retry-After') })
  expect(find('cors').consequence).toContain('not checked')
})

test('the body of a preflight is not looked at, as browsers do not', async () => {
  const headers = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': '*' }
  const { broken } = await probeService([onPreflight(() => undecodable(headers))], {
    origin,
  })
  expect(broken).toEqual([])
})

test('a preflight that browsers refuse is broken, although the request after it is throttled', async () => {
  const refuse = onPreflight(() => new Response(null, { status: 405 }))
  const throttle = respond(({ method, headers }) =>
    method === 'GET' && headers.has('origin') ? json({}, 429) : undefined,
  )
  const { find } = await probeService([refuse, throttle], { origin, account: undefined })
  expect(find('cors')).toMatchObject({ status: 'broken', observed: 'the preflight gets HTTP 405' })
})

test('a list of exposed headers that browsers cannot read exposes none', async () => {
  const expose = changeHeaders(headers =>
    headers.set('Access-Control-Expose-Headers', 'X-Request-Id; Retry-After'),
  )
  const { find } = await probeService([expose], { origin })
  expect(find('cors').observed).toContain('no further headers are exposed')
})

test('CORS is broken where a browser would refuse the preflight or the response', () =>
  checkEach<[name: string, deviation: Deviation, observed: string]>(
    [
      [
        'is refused, and the response does not allow the origin',
        fetch =>
          changeHeaders(headers => headers.delete('Access-Control-Allow-Origin'))(
            onPreflight(() => new Response(null, { status: 401 }))(fetch),
          ),
        'the preflight gets HTTP 401; the response does not allow the origin',
      ],
      ['is refused', onPreflight(() => new Response(null, { status: 405 })), 'the preflight gets HTTP 405'],
      [
        'does not allow the origin',
        onPreflight(() => new Response(null, { headers: { 'Access-Control-Allow-Headers': '*' } })),
        'the preflight does not allow the origin',
      ],
      [
        'does not allow the key',
        changeHeaders(headers => headers.set('Access-Control-Allow-Headers', 'X-Api-Key')),
        'the preflight does not allow the header Api-Key',
      ],
      [
        'is right, but the response is no page',
        respond(request => (request.headers.has('origin') ? json({}) : undefined)),
        'a request with this Origin gets HTTP 200, no data, page, totalItems, limit',
      ],
      ...['GET POST', '["GET"]', 'GET, X Custom'].map(
        methods =>
          [
            `has the methods ${methods}`,
            changeHeaders(headers => headers.set('Access-Control-Allow-Methods', methods)),
            'of the preflight is no list of names',
          ] as [string, Deviation, string],
      ),
      [
        'is right, but the response is for another origin',
        changeHeaders((headers, request) => {
          if (!isPreflight(request)) headers.set('Access-Control-Allow-Origin', 'https://other.example')
        }),
        'the response does not allow the origin',
      ],
    ],
    async ([, deviation, observed]) => {
      service.reset()

      const { broken, find } = await probeService([deviation], { origin })
      expect(broken).toEqual(['cors'])
      expect(find('cors').observed).toContain(observed)
    },
  ))

test('a page that a preflight gets, which has no key, is reported, and shows neither time nor caches', async () => {
  const open = changeHeaders((headers, request) => {
    if (isPreflight(request)) headers.set('Age', '600')
  })
  const asGet: Deviation = fetch => (input, init) => {
    const request = new Request(input, init)
    if (!isPreflight(request)) return fetch(request)
    return fetch(new Request(request.url, { headers: { 'Api-Key': service.apiKey } }))
  }
  const { broken, find } = await probeService([asGet, open], { origin })
  expect(broken).toEqual(['cors'])
  const leak = 'a preflight gets a page with 20 items, although it has no key'
  expect(find('cors').observed).toBe(`${leak}; the preflight does not allow the header Api-Key`)
  expect(find('cors').consequence).toMatch(
    /^Anyone can read such pages\. .* Pages of this origin cannot list/,
  )
})

test('CORS is broken where the page is https and the service http, which browsers block', async () => {
  const baseUrl = 'http://service.example'
  const toService: typeof globalThis.fetch = (input, init) =>
    service.fetch(String(input).replace(baseUrl, service.baseUrl), init)
  const options = { baseUrl, allowInsecureHttp: true, origin, fetch: toService as never }
  const { find } = await probeService([], options)
  expect(find('cors')).toMatchObject({ status: 'broken', observed: 'the origin is https, and baseUrl http' })
})

test('a page with an Origin that comes from a cache shows the cache', async () => {
  const keep = changeHeaders((headers, request) => {
    if (request.method === 'GET' && request.headers.has('origin')) headers.set('Age', '600')
  })
  const { broken } = await probeService([keep], { origin })
  expect(broken).toEqual(['cache'])
})

test('CORS is not checked where the response is missing', async () => {
  const isWithOrigin = ({ method, headers }: Request) => method === 'GET' && headers.has('origin')
  const fail = respond(request => (isWithOrigin(request) ? Response.error() : undefined))
  const { broken, find } = await probeService([fail], { origin })
  expect(broken).toEqual([])
  expect(find('cors').status).toBe('not-checked')
})

test('the preflight is that of a browser: with the origin and the names of headers, and without the key', async () => {
  const preflights: Request[] = []
  const watch = respond(request => {
    if (isPreflight(request)) preflights.push(request)
    return undefined
  })
  await probeService([watch], { origin })
  expect(preflights.map(({ url }) => url)).toEqual([`${service.baseUrl}/transactions`])
  const { headers } = preflights[0] as Request
  expect(headers.get('origin')).toBe(origin)
  expect(headers.get('access-control-request-headers')).toBe('api-key')
  expect(headers.has('api-key')).toBe(false)
})

test('a preflight that hangs ends after one minute, and shows nothing', async () => {
  const { broken, notChecked } = await probeHanging(isPreflight, { origin })
  expect(broken).toEqual([])
  expect(notChecked).toContain('cors')
})

test('a response that does not allow the origin is broken, although the preflight is throttled', async () => {
  const throttle = onPreflight(() => json({}, 429))
  const forbid = changeHeaders(headers => headers.delete('Access-Control-Allow-Origin'))
  const { find } = await probeService([forbid, throttle], { origin, account: undefined })
  expect(find('cors')).toMatchObject({
    status: 'broken',
    observed: 'the response does not allow the origin',
  })
})

test('CORS is not checked where a page needs none, or sends no key', async () => {
  const { find } = await probeService([], { origin: new URL(service.baseUrl).origin })
  expect(find('cors')).toMatchObject({
    status: 'not-checked',
    observed: expect.stringContaining('not needed'),
  })
  const { find: findWithoutKey } = await probeService([], { origin, apiKey: null })
  expect(findWithoutKey('cors').status).toBe('not-checked')
})
