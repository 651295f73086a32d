import { beforeEach, expect, test } from 'vitest'
import { changeHeaders, type Deviation, origin, probeService, respond, service } from './probe-service.js'

beforeEach(() => service.reset())

test('tells which headers a page can read', async () => {
  const { find } = await probeService(
    [changeHeaders(headers => headers.set('Access-Control-Expose-Headers', 'Retry-After'))],
    { origin },
  )
  expect(find('cors')).toMatchObject({ status: 'kept', observed: 'allowed; exposes Retry-After' })
})

test.each<[name: string, deviation: Deviation, observed: string]>([
  [
    'a preflight that is refused',
    respond(({ method }) => (method === 'OPTIONS' ? new Response(null, { status: 405 }) : undefined)),
    'the preflight gets HTTP 405',
  ],
  [
    'a preflight without a response',
    fetch => (input, init) => {
      const request = new Request(input, init)
      return request.method === 'OPTIONS' ? Promise.reject(new TypeError('fetch failed')) : fetch(request)
    },
    'the preflight gets no response',
  ],
  [
    'a preflight that does not allow the origin',
    changeHeaders((headers, { method }) => {
      if (method === 'OPTIONS') headers.delete('Access-Control-Allow-Origin')
    }),
    'the preflight does not allow the origin',
  ],
  [
    'a preflight that does not allow the key',
    changeHeaders(headers => headers.set('Access-Control-Allow-Headers', 'X-Api-Key')),
    'the preflight does not allow Api-Key',
  ],
  [
    'responses for another origin',
    changeHeaders((headers, { method }) => {
      if (method === 'GET') headers.set('Access-Control-Allow-Origin', 'https://other.example')
    }),
    'the response does not allow the origin',
  ],
])('tells %s as that one finding', async (_, deviation, observed) => {
  const { broken, find } = await probeService([deviation], { origin })
  expect(broken).toEqual(['cors'])
  expect(find('cors').observed).toBe(observed)
})

test('sends a preflight like a browser: with the origin and the names of headers, and without the key', async () => {
  const preflights: Request[] = []
  const watch = respond(request => {
    if (request.method === 'OPTIONS') preflights.push(request)
    return undefined
  })
  const { report } = await probeService([watch], { origin })
  expect(preflights.map(({ url, headers }) => [url, Object.fromEntries(headers)])).toEqual([
    [
      `${service.baseUrl}/transactions`,
      { origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'api-key' },
    ],
  ])
  expect(report.requests).toBe(17)
})
