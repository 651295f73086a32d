import {
  type ClientOptions,
  isApiError,
  type ListOptions,
  type ListParams,
  type WriteOptions,
} from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import { createClient, startService } from '../service.ts'
import { account, rejectionOf } from '../support.ts'

// Every message that a failed call can have, once. Other tests assert properties, so that a hint can be reworded here alone.

startService()

interface Given {
  /** What fetch does, one after another: a response, or an error with this code. */
  readonly steps: readonly (Response | string)[]
  readonly client?: Partial<ClientOptions>
  readonly write?: WriteOptions
}

/** An error as Node's fetch rejects with it; browsers give no code. */
function failedFetch(code: string, details: object = {}): TypeError {
  if (code === 'no code') return new TypeError('Failed to fetch')
  return new TypeError('fetch failed', { cause: Object.assign(new Error('inner'), { code, ...details }) })
}

function fetchOf(steps: Given['steps'], details?: object): ClientOptions['fetch'] {
  const left = [...steps]
  return async () => {
    const step = left.shift() as Response | string
    if (typeof step === 'string') throw failedFetch(step, details)
    return step
  }
}

const respond = (status: number, body?: unknown, headers: Record<string, string> = {}) =>
  new Response(body === undefined ? null : JSON.stringify(body), { status, headers })

async function messageOf(call: PromiseLike<unknown>): Promise<string> {
  const error = await rejectionOf(call)
  if (!isApiError(error)) throw new Error('expected an ApiError', { cause: error })
  expect(error.stack?.startsWith(`${error.name}: ${error.message}\n`)).toBe(true)
  return error.message
}

const write = ({ steps, client, write }: Given, details?: object) =>
  messageOf(
    createClient({ maxRetries: 0, fetch: fetchOf(steps, details), ...client }).virtualAccounts.deactivate(
      account,
      write,
    ),
  )

const read = (step: Response | string, params: ListParams = {}, options: ListOptions = {}) =>
  messageOf(createClient({ maxRetries: 0, fetch: fetchOf([step]) }).transactions.list(params, options))

const post = 'POST /customers/c1/virtual_accounts/v1/deactivate'
const get = 'GET /transactions (page 1)'
const applied = 'The request may have been applied: retry with the same idempotencyKey.'

describe('a write fails with', () => {
  test.each<[string, Given, string]>([
    ['400', { steps: [respond(400)] }, 'HTTP 400 (1 attempt).'],
    [
      '400 and a body without a reason',
      { steps: [respond(400, { code: 7 })] },
      'HTTP 400 (1 attempt). See error.body.',
    ],
    ['401', { steps: [respond(401)] }, 'HTTP 401 (1 attempt). Check that apiKey belongs to this baseUrl.'],
    [
      '403',
      { steps: [respond(403)] },
      'HTTP 403 (1 attempt). Check that apiKey belongs to this baseUrl, and is allowed to do this.',
    ],
    [
      '401 and a key in quotes',
      { steps: [respond(401)], client: { apiKey: '"test_key"' } },
      'HTTP 401 (1 attempt). Check apiKey: it begins with ", which is hardly part of the key.',
    ],
    [
      '401 and a key with a scheme',
      { steps: [respond(401)], client: { apiKey: 'Bearer test_key' } },
      'HTTP 401 (1 attempt). Check apiKey: it begins with Bearer, which is hardly part of the key.',
    ],
    [
      '401 and a key that was not filled in',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as a template that nobody filled in
      { steps: [respond(401)], client: { apiKey: '${API_KEY}' } },
      'HTTP 401 (1 attempt). Check apiKey: it begins with ${, which is hardly part of the key.',
    ],
    [
      '401 and no key',
      { steps: [respond(401)], client: { apiKey: null } },
      'HTTP 401 (1 attempt). No key was sent (apiKey is null): check the proxy that should add it.',
    ],
    [
      '404',
      { steps: [respond(404)] },
      'HTTP 404 (1 attempt). Check the path and the ids in it, and the path of baseUrl.',
    ],
    ['409', { steps: [respond(409)] }, 'HTTP 409 (1 attempt).'],
    [
      "409 and the caller's own key",
      { steps: [respond(409)], write: { idempotencyKey: 'k' } },
      `HTTP 409 (1 attempt). ${applied} A request with this idempotencyKey may still be in progress: retry with the same key.`,
    ],
    [
      "409, the caller's own key and a reason",
      { steps: [respond(409, { message: 'account is already inactive' })], write: { idempotencyKey: 'k' } },
      `HTTP 409: "account is already inactive" (1 attempt). ${applied}`,
    ],
    ['422', { steps: [respond(422)] }, 'HTTP 422 (1 attempt).'],
    [
      "422 and the caller's own key",
      { steps: [respond(422)], write: { idempotencyKey: 'k' } },
      'HTTP 422 (1 attempt). The idempotencyKey may have been used for another request.',
    ],
    [
      '422 and a reason',
      { steps: [respond(422, { error: { message: 'account is frozen' } })], write: { idempotencyKey: 'k' } },
      'HTTP 422: "account is frozen" (1 attempt).',
    ],
    ['429', { steps: [respond(429)] }, 'HTTP 429, rate limited (1 attempt). Retry later.'],
    [
      '429 and a delay',
      { steps: [respond(429, undefined, { 'Retry-After': '90' })] },
      'HTTP 429, rate limited (1 attempt). Retry after 90 s.',
    ],
    ['500', { steps: [respond(500)] }, `HTTP 500 (1 attempt). ${applied} The service failed: retry later.`],
    [
      '503 and a delay',
      { steps: [respond(503, undefined, { 'Retry-After': '90' })] },
      `HTTP 503 (1 attempt). ${applied} The service failed: retry after 90 s.`,
    ],
    [
      '501',
      { steps: [respond(501)] },
      `HTTP 501 (1 attempt). ${applied} The service does not support this request.`,
    ],
    [
      '302',
      { steps: [respond(302, undefined, { Location: 'https://login.example.com/sso?from=api' })] },
      `HTTP 302, a redirect to https://login.example.com/sso, which is not followed (1 attempt). ${applied} Check baseUrl and the path: use an address that does not redirect.`,
    ],
    [
      '308 to nowhere',
      { steps: [respond(308)] },
      'HTTP 308, a redirect, which is not followed (1 attempt). Check baseUrl and the path: use an address that does not redirect.',
    ],
    [
      'a refused connection',
      { steps: ['ECONNREFUSED'], client: { baseUrl: 'http://localhost:8080/v1' } },
      'could not connect to localhost:8080 (ECONNREFUSED) (1 attempt). Check baseUrl and the network.',
    ],
    [
      'an unknown host, that of a FakeService',
      { steps: ['ENOTFOUND'] },
      'could not connect to virtual-accounts.test:443 (ENOTFOUND) (1 attempt). A FakeService is only reached through its fetch: pass `fetch: service.fetch`.',
    ],
    [
      'a rejected certificate',
      { steps: ['CERT_HAS_EXPIRED'] },
      'the TLS certificate of virtual-accounts.test:443 was rejected (CERT_HAS_EXPIRED) (1 attempt). Check that it is valid for this host and has not expired, and that this runtime trusts its authority.',
    ],
    [
      'a failed handshake',
      { steps: ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'] },
      'the request could not be sent to virtual-accounts.test:443 (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION) (1 attempt). Check the scheme and port of baseUrl, and the TLS versions of both sides.',
    ],
    [
      'a refused proxy tunnel',
      { steps: ['ERR_PROXY_TUNNEL'] },
      'the request could not be sent to virtual-accounts.test:443 (ERR_PROXY_TUNNEL) (1 attempt). Check the proxy.',
    ],
    [
      'a refused header',
      { steps: ['UND_ERR_INVALID_ARG'] },
      'the request could not be sent to virtual-accounts.test:443 (UND_ERR_INVALID_ARG) (1 attempt). Check baseUrl and the headers.',
    ],
    [
      'a lost connection',
      { steps: ['ECONNRESET'] },
      `connection lost before a response arrived (ECONNRESET) (1 attempt). ${applied} Check baseUrl and the network.`,
    ],
    [
      'an error without a code, as in browsers',
      { steps: ['no code'] },
      `could not connect to virtual-accounts.test:443, or connection lost before a response arrived: "Failed to fetch" (1 attempt). ${applied} Check baseUrl and the network. The reason may be in error.cause; a browser shows it in its console (CORS, Content-Security-Policy).`,
    ],
    [
      'HTML where text may be',
      { steps: [new Response('<!doctype html><p>Welcome', { status: 200 })] },
      `the response is not valid: expected JSON, got an HTML page. ${applied} Is this the service? A proxy or a login page may have responded: check baseUrl.`,
    ],
    [
      'text that is said to be JSON',
      { steps: [new Response('ok', { headers: { 'Content-Type': 'application/json' } })] },
      `the response is not valid: expected JSON, got text. ${applied} The Content-Type says JSON, but the body is not. The text is in error.body.`,
    ],
  ])('%s', async (_what, given, message) => {
    expect(await write(given)).toBe(`${post}: ${message}`)
  })

  test('a refused connection to a proxy, whose address it names', async () => {
    const message = await write({ steps: ['ECONNREFUSED'] }, { address: '10.0.0.7', port: 3128 })
    expect(message).toContain(
      'could not connect to virtual-accounts.test:443 (ECONNREFUSED at 10.0.0.7:3128)',
    )
  })

  test('the proxy’s status where the runtime has it in a text', async () => {
    const text = 'Proxy response (407) !== 200 when HTTP Tunneling'
    const message = await write({ steps: ['UND_ERR_ABORTED'] }, { message: text })
    expect(message).toContain('Check the proxy: it responded with HTTP 407.')
  })

  test('an apiKey function that fails after an attempt that may have been applied', async () => {
    let calls = 0
    const apiKey = () => {
      if (++calls === 2) throw new Error('vault is sealed')
      return 'test_key'
    }
    const message = await write({ steps: [respond(500)], client: { apiKey, maxRetries: 1 } })
    expect(message).toBe(
      `${post}: HTTP 500 (1 attempt). ${applied} Not retried: the apiKey function failed, see error.cause. The service failed: retry later.`,
    )
  })
})

describe('a page of a list fails with', () => {
  const page = (data: string, rest = '"page":1,"totalItems":1,"limit":20') =>
    new Response(`{"data":${data},${rest}}`)
  const notAnEnvelope =
    'Is this a list? Its response must be { data, page, totalItems, limit }; `schema` describes one item of `data`. For other endpoints use client.request.'
  const notAList =
    'Is this a list? For other endpoints use client.request. A proxy or a login page may also have responded.'
  const seeBody =
    'If the response is as intended, pass a `schema` that accepts it. The response is in error.body.'

  test.each<[string, Response, string]>([
    ['404', respond(404), 'HTTP 404 (1 attempt). Check the path, and the path of baseUrl.'],
    [
      '429',
      respond(429),
      'HTTP 429, rate limited (1 attempt). Retry later. If this recurs, lower `concurrency`.',
    ],
    [
      'an object',
      new Response('{"items":[]}'),
      `the response is not valid: data: expected an array, got undefined; page: expected a whole number of at least 1, got undefined; totalItems: expected a whole number of at least 0, got undefined; limit: expected a whole number of at least 1, got undefined. ${notAnEnvelope}`,
    ],
    [
      'an empty body',
      new Response(''),
      `the response is not valid: expected JSON, got an empty body. ${notAList}`,
    ],
    ['text', new Response('ok'), `the response is not valid: expected JSON, got text. ${notAList}`],
    [
      'HTML',
      new Response('\n<html lang="en">'),
      'the response is not valid: expected JSON, got an HTML page. Is this the service? A proxy or a login page may have responded: check baseUrl.',
    ],
    [
      'JSON that was cut off',
      new Response('{"data":[{"id":"t1"'),
      'the response is not valid: expected JSON, got JSON that ends too early. The response was cut off, often by a proxy: retry.',
    ],
    [
      'an item that does not match',
      page('[{"id":"t1","amount":"1","currency":"EUR","description":""}]'),
      `the response is not valid: data[0].amount: expected a number, got a string. ${seeBody}`,
    ],
    [
      'a number that a double does not hold',
      page('[{"id":"t1","amount":9007199254740993,"currency":"EUR","description":""}]'),
      `the response is not valid: data[0].amount: expected a number, got one with more digits than a double holds (kept as a string). ${seeBody}`,
    ],
    [
      'another page',
      page('[]', '"page":2,"totalItems":0,"limit":20'),
      "page 1 was requested, but page 2 was returned. The service contradicts itself: report it to the service's owner.",
    ],
  ])('%s', async (_what, response, message) => {
    expect(await read(response)).toBe(`${get}: ${message}`)
  })

  test('404 above page 1, which may be beyond the end', async () => {
    expect(await read(respond(404), { page: 7 })).toBe(
      'GET /transactions (page 7): HTTP 404 (1 attempt). Check the path, and the path of baseUrl. The page may also be beyond the end of the list.',
    )
  })

  test.each([
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
  ])('the reason that the service gave in %s', async (body, reason) => {
    expect(await read(new Response(body, { status: 403 }))).toContain(`HTTP 403: "${reason}" (1 attempt).`)
  })
})
