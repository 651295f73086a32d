import { beforeEach, describe, expect, test } from 'vitest'
import { account, checkEach, rejectionOf } from '../support.ts'
import {
  changeHeaders,
  type Deviation,
  isDeactivation,
  isRead,
  json,
  probeService,
  respond,
  service,
} from './service.ts'

beforeEach(() => service.reset())

const isReactivation = ({ url }: Request) => url.endsWith('/reactivate')
const writes = () => service.requests.filter(({ method }) => method === 'POST')
const unmarked = changeHeaders(headers => headers.delete('Idempotent-Replayed'))

/** What the service responds to each deactivation, in order. */
function deactivations(...responses: (() => Response)[]): Deviation {
  let count = 0
  return respond(request => (isDeactivation(request) ? responses[count++]?.() : undefined))
}

const ok = () => json({ status: 'inactive' })
const other = () => json({ status: 'inactive', at: crypto.randomUUID() })
const conflict = () => json({ error: 'the account is inactive' }, 409)
const keyUsed = () => json({ error: 'the key was used' }, 422)
const tooMany = () => new Response(null, { status: 429, headers: { 'Retry-After': '90' } })

test('without an account, the probe only reads', async () => {
  const { notChecked } = await probeService([], { account: undefined })
  expect(writes()).toEqual([])
  expect(notChecked.slice(1)).toEqual(['deactivate', 'reactivate', 'same-key', 'deactivate-twice'])
})

test('an account is deactivated with a key, with the same and with another one, and reactivated', async () => {
  const { broken, pauses } = await probeService()
  // A service may refuse a write while it processes another one.
  expect(pauses.slice(-5)).toEqual([...Array(4).fill(1_100), 250])
  const keys = writes().map(({ headers }) => headers.get('Idempotency-Key'))
  expect(writes().map(({ path }) => path.split('/').at(-1))).toEqual([
    'deactivate',
    'deactivate',
    'deactivate',
    'reactivate',
  ])
  expect(keys[1]).toBe(keys[0])
  expect(new Set(keys).size).toBe(3)
  expect(service.isActive(account)).toBe(true)
  expect(broken).toEqual([])
})

test('the same key again is judged by what it gets, and by what another key gets', () =>
  checkEach<[name: string, status: string, maxRetries: number | undefined, ...deviations: Deviation[]]>(
    [
      [
        'a response that is marked as a replay is one',
        'ok',
        undefined,
        deactivations(ok, () => Response.json({}, { headers: { 'Idempotency-Replayed': 'True' } }), ok),
      ],
      [
        'a mark that the first response has, too, shows nothing',
        'broken',
        0,
        deactivations(other, other, other),
        changeHeaders(headers => headers.set('Idempotent-Replayed', 'true')),
      ],
      [
        'a mark that another key gets, too, shows nothing',
        'broken',
        0,
        deactivations(
          other,
          ...[1, 2].map(at => () => Response.json({ at }, { headers: { 'Idempotent-Replayed': 'true' } })),
        ),
      ],
      [
        'the first response again is a replay if another key gets something else',
        'ok',
        undefined,
        deactivations(ok, ok, conflict),
      ],
      [
        'values that only differ for another key show a replay',
        'ok',
        undefined,
        deactivations(ok, ok, other),
      ],
      [
        'the first values in another order, with another status, are a replay',
        'ok',
        undefined,
        deactivations(
          () => json({ id: 1, at: { from: 1, to: 2 } }, 201),
          () => json({ at: { to: 2, from: 1 }, id: 1 }),
          other,
        ),
      ],
      [
        'a body that has the key of its request shows nothing by it',
        'not-checked',
        undefined,
        respond(request => {
          const key = request.headers.get('Idempotency-Key') ?? ''
          return isDeactivation(request) ? json([key, key.toUpperCase(), key.replaceAll('-', '')]) : undefined
        }),
      ],
      ['three equal responses do not show whether the key is looked at', 'not-checked', undefined, unmarked],
      [
        'other values are no replay, although every response has the same fields',
        'broken',
        0,
        deactivations(other, other, other),
      ],
      [
        'numbers that differ in their last of many digits are no replay',
        'broken',
        0,
        deactivations(
          ...[1, 2, 3].map(digit => () => new Response(`{"id":900719925474099${digit}0${digit}}`)),
        ),
      ],
      [
        'a refusal with the status that another key gets is no replay',
        'broken',
        0,
        deactivations(ok, conflict, () => json({ at: 7 }, 409)),
      ],
      ['a refusal of its own makes retries fail', 'broken', undefined, deactivations(ok, keyUsed, conflict)],
      [
        'a failure of its own makes retries fail',
        'broken',
        undefined,
        deactivations(ok, () => json({}, 500), ok),
      ],
      ['a throttled request shows nothing', 'not-checked', undefined, deactivations(ok, tooMany, ok)],
      [
        'a throttled request with another key shows nothing',
        'not-checked',
        undefined,
        deactivations(ok, ok, tooMany),
      ],
      [
        'a request that is accepted, and may be applied later, shows nothing',
        'not-checked',
        undefined,
        deactivations(
          () => json({}, 202),
          () => json({}, 202),
          conflict,
        ),
      ],
      [
        'a request with another key of which nobody knows the outcome shows nothing',
        'not-checked',
        undefined,
        deactivations(ok, ok, () => json({}, 408)),
      ],
      [
        'a request with another key that is forbidden shows nothing',
        'not-checked',
        undefined,
        deactivations(ok, ok, () => json({}, 403)),
      ],
      [
        'a request with another key that is redirected shows nothing',
        'not-checked',
        undefined,
        deactivations(ok, ok, () => new Response(null, { status: 307, headers: { Location: '/login' } })),
      ],
    ],
    async ([, status, maxRetries, ...deviations]) => {
      service.reset()

      const { report, find } = await probeService(deviations)
      expect(find('same-key').status).toBe(status)
      expect(report.suggestedOptions.maxRetries).toBe(maxRetries)
      expect(String(report).includes('// Pass { maxRetries: 0 } to each write')).toBe(maxRetries === 0)
    },
  ))

test('an account that cannot be deactivated is left alone', async () => {
  const { broken, find, notChecked } = await probeService([
    respond(request => (isRead(request) ? undefined : json({}, 404))),
  ])
  expect(broken).toEqual(['deactivate'])
  expect(notChecked).toEqual(expect.arrayContaining(['reactivate', 'same-key', 'deactivate-twice']))
  expect(find('deactivate').consequence).toContain('does it exist, and is it active now?')
})

describe('the account is active at the end,', () => {
  test('whatever its writes get', () =>
    checkEach<[name: string, broken: string[], deviation: Deviation]>(
      [
        [
          'every deactivation gets an HTML page',
          ['deactivate'],
          respond(async request =>
            isDeactivation(request) ? applied(request, '<!doctype html>') : undefined,
          ),
        ],
        [
          'every deactivation gets a 500',
          ['deactivate'],
          respond(async request => (isDeactivation(request) ? applied(request, '{}', 500) : undefined)),
        ],
      ],
      async ([, expected, deviation]) => {
        service.reset()

        const { broken } = await probeService([deviation])
        expect(broken).toEqual(expected)
        expect(service.isActive(account)).toBe(true)
      },
    ))

  test('at a later attempt if the first fails, and the report says at which', async () => {
    const { broken, find } = await probeService([respond(once(isReactivation, () => json({}, 500)))])
    expect(broken).toEqual([])
    expect(find('reactivate').observed).toBe('HTTP 200, no body, at attempt 2')
    expect(service.isActive(account)).toBe(true)
  })

  test('even if every response to a deactivation is lost', async () => {
    service.fail({ with: 'truncate', path: /\/deactivate$/, times: 9 })
    const { broken, find } = await probeService([], { fetch: service.fetch })
    expect(broken).toEqual(['deactivate'])
    expect(find('deactivate').consequence).toContain('may be or become inactive')
    expect(service.isActive(account)).toBe(true)
  })
})

test('the report says so if a deactivation without a response may be applied after the reactivation', async () => {
  let count = 0
  const loseThird = respond(request =>
    isDeactivation(request) && ++count === 3 ? Response.error() : undefined,
  )
  const { broken, find } = await probeService([loseThird])
  expect(broken).toEqual(['deactivate'])
  expect(find('deactivate').consequence).toContain('may be or become inactive')
})

test('a 409 to a repeated deactivation puts the first one in no doubt', async () => {
  const { broken, find } = await probeService([deactivations(ok, conflict, conflict)])
  expect(find('deactivate').status).toBe('ok')
  expect(broken).toEqual(['same-key'])
})

test('the report says so if a change is accepted, but may not be applied yet', () =>
  checkEach<[id: string, matches: (request: Request) => boolean]>(
    [
      ['deactivate', isDeactivation],
      ['reactivate', isReactivation],
    ],
    async ([id, matches]) => {
      service.reset()
      const accept = respond(request => (matches(request) ? json({ status: 'pending' }, 202) : undefined))
      const { broken, find } = await probeService([accept])
      expect(broken).toContain(id)
      expect(find(id).consequence).toContain('may be or become inactive')
    },
  ))

test('the report says so if the account may be left inactive', async () => {
  const { broken, find } = await probeService([
    respond(request => (isReactivation(request) ? json({}, 500) : undefined)),
  ])
  expect(broken).toEqual(['reactivate'])
  expect(find('reactivate').consequence).toContain('reactivate it')
})

test('the error says so if the key for the reactivation cannot be had, whatever its function throws', async () => {
  const apiKey = async () => {
    if (writes().length === 3) throw undefined
    return service.apiKey
  }
  const error = await rejectionOf(probeService([], { apiKey }))
  expect(error).toMatchObject({ message: expect.stringContaining('may be or become inactive') })
})

test('the account that is reactivated is the one that was deactivated', async () => {
  const changing = { ...account }
  const onProgress = ({ name }: { name: string }) => {
    if (name === 'POST reactivate') changing.virtualAccountId = 'v2'
  }
  await probeService([], { account: changing, onProgress })
  expect(service.isActive(account)).toBe(true)
})

async function applied(request: Request, body: string, status = 200): Promise<Response> {
  await service.handle(request)
  return new Response(body, { status, headers: { 'Content-Type': 'text/html' } })
}

function once(matches: (request: Request) => boolean, response: () => Response) {
  let isFirst = true
  return (request: Request) => {
    if (!isFirst || !matches(request)) return undefined
    isFirst = false
    return response()
  }
}

test('an account whose first deactivation is throttled for good is not checked', async () => {
  const { broken, notChecked } = await probeService([
    respond(request => (isDeactivation(request) ? tooMany() : undefined)),
  ])
  expect(broken).toEqual([])
  expect(notChecked).toEqual(expect.arrayContaining(['deactivate', 'reactivate']))
  expect(service.isActive(account)).toBe(true)
})

test('a rate limit of writes slows down no list', async () => {
  const { find, report } = await probeService([respond(once(isDeactivation, tooMany))])
  expect(find('rate-limit').observed).toBe('HTTP 429 with Retry-After: 90 for POST')
  expect(report.suggestedOptions).not.toHaveProperty('concurrency')
})

test('a rate limit of writes does not hide that a list got a 503', async () => {
  const unavailable = () => new Response(null, { status: 503, headers: { 'Retry-After': '1' } })
  const { find } = await probeService([
    respond(once(isDeactivation, tooMany)),
    respond(once(isRead, unavailable)),
  ])
  expect(find('rate-limit').observed).toContain('HTTP 503 with Retry-After: 1')
})
