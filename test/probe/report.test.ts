import { sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import {
  changeHeaders,
  changeItems,
  changePages,
  countingFromZero,
  type Deviation,
  type FakeFetch,
  from,
  json,
  probeService,
  respond,
  service,
} from './service.ts'

beforeEach(() => {
  service.reset()
  vi.setSystemTime('2026-11-22T16:40:31Z')
})

afterEach(() => void vi.useRealTimers())

/** Items of all kinds, and the key and terminal codes wherever a service can put them. */
const deviating = [
  changeItems((item, index) => ({
    ...item,
    amount: String(item.amount),
    settledAt: null,
    'with spaces': { deep: [1, 'a'] },
    ...(index && { tags: [] }),
    sequence: 1,
    [service.apiKey]: service.apiKey,
    'caf\u00e9\u009b': service.apiKey,
  })),
  changePages(
    page => ({ ...page, [service.apiKey]: service.apiKey, hasMore: true }),
    text => text.replaceAll('"sequence":1', '"sequence":12345678901234567890'),
  ),
  changeHeaders(headers => {
    headers.set('Age', '30')
    headers.set('X-Correlation-Id', service.apiKey)
    headers.set(`X-${service.apiKey}-Request-Id`, '1')
  }),
  changeHeaders((headers, { method }) => {
    if (method === 'POST') headers.delete('Idempotent-Replayed')
  }),
]

// The words of a report are pinned here only. The other tests look at the status of findings.
test('a report has what is broken first, one line for what was not checked for the same reason, and a summary last', async () => {
  vi.spyOn(performance, 'now').mockReturnValue(0)
  const { report } = await probeService(deviating)
  expect(String(report)).toMatchInlineSnapshot(`
    "Probe of https://virtual-accounts.test by virtual-accounts, 2026-11-22 16:40 UTC

    broken       Items                amount: string instead of number
                                      -> Lists can fail with InvalidResponseError,
                                         unless a \`schema\` accepts these items.
    broken       Caches               a page has an Age above 0: it was cached
                                      -> Pages can be out of date, and come from
                                         different states of the list. \`verified:
                                         true\` notices gaps.
    ok           Further fields       settledAt null, with spaces object, sequence
                                      number, café\\u009b string, tags? array, and
                                      more; in the envelope: hasMore boolean, and
                                      more
                                      -> Passed through; a \`schema\` types them.
    ok           Digits of numbers    more than a number can hold: sequence; not
                                      every field was looked at
                                      -> Such a number arrives as a string of its
                                         digits.
    ok           Request id           none by the customary names, but
                                      x-correlation-id
                                      -> \`requestId\` is undefined: log
                                         headers.get("x-correlation-id") instead.
    ok           Reachable            https, HTTP 200
    ok           Api-Key              accepted
    ok           Wrong Api-Key        refused: HTTP 401
    ok           List of transactions page 1 has data, page, totalItems and limit
    ok           Page number          pages 1 and 2 have the numbers requested
    ok           First page           page 0 gets HTTP 400
    ok           Limit                2 is obeyed; the default is 20
    ok           Larger limits        1,000 gets limit 100 and 100 items
    ok           totalItems           250, as the last page shows
    ok           Page beyond the end  an empty page
    ok           Order of items       page 1 has the same ids when it is read again
    ok           Items on pages       no item had two places on the pages that were
                                      compared
    ok           Response time        pages took at most 0 ms, median 0 ms
    ok           Rate limit           no 429 or 503 in 15 requests
    ok           Deactivate           HTTP 200, no body
    ok           Reactivate           HTTP 200, no body
    ok           Deactivate twice     HTTP 200, no body
    not-checked  CORS: no origin was given (--origin)
    not-checked  Same key again: HTTP 200, no body, and the same for another key: a
                 replay and a second application look alike

    Ask the owner of the service to repair what is broken; "->" says what the
    client, virtual-accounts, does until then.

    Options for this service:

    import { Client } from 'virtual-accounts'
    import * as z from 'zod' // npm install zod

    // As the items were that were read: others may differ.
    const schema = z.looseObject({
      id: z.string(),
      amount: z.string(),
      currency: z.string(),
      description: z.string(),
    })

    const client = new Client({
      baseUrl: 'https://virtual-accounts.test',
      apiKey: process.env.API_KEY ?? '',
    })
    const list = client.transactions.list({ limit: 100 }, { schema })

    No response shows this. Ask the owner of the service:
    - Is \`amount\` in major or minor units, and does it depend on the currency?
    - For how long is an Idempotency-Key remembered?

    2 broken: Items, Caches. 20 ok, 2 not checked, 15 requests."
  `)
})

test('the table of a report fits terminals of 60 columns', async () => {
  const { report } = await probeService(deviating)
  const [narrow = [], usual = []] = [60, undefined].map(width => report.toString(width).split('\n'))
  const table = narrow.slice(0, narrow.indexOf("import { Client } from 'virtual-accounts'"))
  expect(table.filter(({ length }) => length > 60)).toEqual([])
  expect(narrow.length).toBeGreaterThan(usual.length)
  expect([report.toString(0), report.toString(60.5)]).toEqual(Array(2).fill(narrow.join('\n')))
  expect([report.toString(200), report.toString(Number.NaN)]).toEqual(Array(2).fill(usual.join('\n')))
})

test('a report without a page of transactions is short', async () => {
  vi.spyOn(performance, 'now').mockReturnValue(0)
  const { report } = await probeService([respond(() => json({}, 404))], { account: undefined })
  expect(String(report)).toMatchInlineSnapshot(`
    "Probe of https://virtual-accounts.test by virtual-accounts, 2026-11-22 16:40 UTC

    failed       List of transactions HTTP 404, from
                                      https://virtual-accounts.test/transactions
                                      -> The list could not be read. Check the path,
                                         and that of baseUrl (none, or one such as
                                         /v1).
    ok           Reachable            https, HTTP 404
    not-checked  everything else: no page of transactions could be read

    Not probed: List of transactions. 1 ok, 22 not checked, 1 request."
  `)
})

test('a report without a response says so once', async () => {
  const { report } = await probeService([respond(() => Response.error())], { account: undefined })
  expect(String(report).split('\n').slice(-3)).toEqual([
    'not-checked  everything else: no page of transactions could be read',
    '',
    'Not probed: Reachable. 0 ok, 23 not checked, 1 request.',
  ])
})

test('a report says so where requests that showed nothing leave gaps', async () => {
  const down = from(
    5,
    respond(() => new Response(null, { status: 503, headers: { 'Retry-After': '300' } })),
  )
  const { report } = await probeService([down], { account: undefined })
  expect(String(report).split('\n').slice(-4)).toEqual([
    'Some requests showed nothing: probe again after 300 s. If that shows no more,',
    'ask the owner of the service.',
    '',
    expect.stringMatching(/^Nothing is broken in what was checked\. /),
  ])
})

test('a report quotes why the first request was refused, and what the service asks for', async () => {
  const headers = { 'www-authenticate': 'Bearer realm="api"' }
  const refuse = respond(() => Response.json({ message: 'no bearer token' }, { status: 401, headers }))
  const { find } = await probeService([refuse])
  expect(find('api-key').observed).toBe('HTTP 401: "no bearer token", WWW-Authenticate: Bearer')
  const { find: findText } = await probeService([
    respond(() => new Response('no such address', { status: 403 })),
  ])
  expect(findText('api-key').observed).toBe('HTTP 403: "no such address"')
  const { find: findMarkup } = await probeService([respond(() => new Response('\n<p>no', { status: 403 }))])
  expect(findMarkup('api-key').observed).toBe('HTTP 403, HTML or other markup')
  for (const body of ['{"data":[{"id":"t1"', '\u0000\u0001']) {
    const { find: findOther } = await probeService([respond(() => new Response(body, { status: 403 }))])
    expect(findOther('api-key').observed).toBe('HTTP 403')
  }
})

test('a report shows no part of the API key where the service echoes it in a header', async () => {
  const apiKey = 'abcdefgh,ijklmnop'
  const echo = respond(() => new Response(null, { status: 401, headers: { 'WWW-Authenticate': apiKey } }))
  const { report } = await probeService([echo], { apiKey })
  expect(String(report)).not.toContain('abcdefgh')
  const headers = { Location: `https://login.example/${'s'.repeat(2_000)}` }
  const { find } = await probeService([respond(() => new Response(null, { status: 302, headers }))])
  expect(find('reachable').observed).toMatch(/^HTTP 302 to https:\/\/login\.example\/s{1000,} \.\.\.$/)
})

test('a report suggests no code for a service that counts pages from 0', async () => {
  const { report } = await probeService(countingFromZero)
  expect(String(report)).toContain('pages are counted from 0')
  expect(String(report)).not.toContain('new Client')
})

test('counts have their digits in groups', async () => {
  service.transactions.push(...sampleTransactions(1000, 7))
  const { find } = await probeService()
  expect(find('total').observed).toBe('1,250, as the last page shows')
})

test('the last line says that nothing is broken', async () => {
  const { report } = await probeService()
  expect(String(report).split('\n').at(-1)).toMatch(
    /^Nothing is broken in what was checked\. 23 ok, 1 not checked, 15 requests\.$/,
  )
})

test('no line has more than 80 columns, except for the summary', async () => {
  const { report } = await probeService(deviating)
  const lines = String(report).split('\n').slice(0, -1)
  expect(lines.filter(line => line.length > 80)).toEqual([])
})

test('the report shows no value of a record, no key where the service echoes it, and no control character', async () => {
  const { report } = await probeService(deviating)
  const text = String(report) + JSON.stringify(report)
  const values = service.transactions.flatMap(({ id, description }) => [id, description])
  expect([service.apiKey, ...values].filter(value => text.includes(value))).toEqual([])
  expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
})

test('a long API key is not shown, nor its beginning, where the service echoes it as the name of a field', async () => {
  const apiKey = `key_${'0123456789'.repeat(5)}`
  const accept: Deviation = fetch => (input, init) => {
    const request = new Request(input, init)
    request.headers.set('Api-Key', service.apiKey)
    return fetch(request)
  }
  const { report } = await probeService(
    [
      accept,
      respond(request => (request.method === 'POST' ? json({ [apiKey]: 1 }) : undefined)),
      changeItems(item => ({ ...item, [apiKey]: 1 })),
      changePages(page => ({ ...page, [apiKey]: 1 })),
    ],
    { apiKey },
  )
  expect(report.findings.find(({ id }) => id === 'deactivate')?.observed).toBe(
    'HTTP 200, an object (and more)',
  )
  expect(String(report)).not.toContain('key_')
})

test('findings, options and the number of requests survive JSON and structuredClone', async () => {
  const { report } = await probeService()
  const { findings, suggestedOptions, requests } = report
  expect(JSON.parse(JSON.stringify(report))).toEqual({ findings, suggestedOptions, requests })
  expect(structuredClone(report)).toEqual({ findings, suggestedOptions, requests })
})

describe('the code in the report', () => {
  test('has a schema of the fields that are specified, which accepts the items as the client returns them', async () => {
    const { report } = await probeService(deviating)
    const [, code] = /const schema = (z\.looseObject\(\{[\s\S]*?\n\}\))/.exec(String(report)) ?? []
    const schema = new Function('z', `return ${code}`)(z) as z.ZodType
    const item = { id: '1', amount: '2', currency: 'EUR', description: '', settledAt: null }
    const further = {
      'with spaces': { deep: [1, 'b'] },
      sequence: '12345678901234567890',
      'caf\u00e9\u009b': '',
    }
    expect(schema.safeParse({ ...item, ...further })).toMatchObject({ success: true })
    expect(schema.safeParse({ ...item, ...further, amount: 2 }).success).toBe(false)
  })

  test('has a schema that accepts items of many kinds, with names of their own', async () => {
    const kinds = ['card', 'payout', 'fee'].map(kind =>
      Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`${kind}${index}`, index])),
    )
    const { report } = await probeService([
      changeItems(({ description }, index) =>
        index % 3 ? { ...kinds[index % 3] } : { ...kinds[0], description },
      ),
    ])
    expect(String(report)).toContain(
      '\nconst schema = z.looseObject({\n  description: z.string().optional(),\n})\n',
    )
  })

  test('has the address that was probed, and no key', async () => {
    const path = `/it's/${service.apiKey}`
    const fetch: FakeFetch = (input, init) => service.fetch(String(input).replace(path, ''), init)
    const { report } = await probeService([], { baseUrl: service.baseUrl + path, fetch })
    const address = `'${service.baseUrl}/it\\'s/[api key]'`
    expect(String(report)).toContain(`  baseUrl: ${address},\n  apiKey: process.env.API_KEY ?? '',\n`)
  })

  test('has no schema for items as they are specified', async () => {
    const { report } = await probeService()
    expect(String(report)).not.toContain('schema')
  })

  test('is not doubted for a larger limit that fails', async () => {
    const fail = respond((_, query) => (Number(query.get('limit')) > 100 ? json({}, 500) : undefined))
    const { report, broken } = await probeService([fail], { account: undefined })
    expect(broken).toEqual(['max-limit'])
    expect(String(report)).toMatch(/\nOptions for this service:\n[\s\S]*list\(\{ limit: 100 \}\)/)
  })

  test('fetches one page at a time where the service throttles', async () => {
    let isFirst = true
    const throttleOnce = respond(() => {
      const response = isFirst ? json({}, 429) : undefined
      isFirst = false
      return response
    })
    const { report } = await probeService([from(2, throttleOnce)])
    expect(String(report)).toContain('concurrency: 1')
  })
})
