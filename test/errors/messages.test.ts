import type { ClientOptions, WriteOptions } from 'virtual-accounts'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { failedFetch, passing, stubbed, useFakeTime } from '../http/stub.ts'
import { createClient, respondWith, startService } from '../service.ts'
import { account, checkEach, rejectionOf } from '../support.ts'

// Every message that a failed call can have, once. Those of wrong arguments are in mistakes/*.test.ts, those about
// responses in response-messages.test.ts. Other tests assert properties, so that a hint can be reworded here alone.

startService()

interface Given {
  /** What fetch does, one after another: a response, or an error with this code. */
  readonly steps: readonly (Response | string)[]
  readonly client?: Partial<ClientOptions>
  readonly options?: object
}

/** The message of a write that fails, without the method and the path. */
async function write({ steps, client, options }: Given, details?: object): Promise<string> {
  const left = [...steps]
  const fetch = async () => {
    const step = left.shift() ?? steps[0]
    if (step === 'no code') throw new TypeError('Failed to fetch')
    if (typeof step === 'string') throw failedFetch(step, details)
    return step?.clone() as Response
  }
  const failing = createClient({ maxRetries: 0, fetch, ...client })
  const error = await rejectionOf(failing.virtualAccounts.deactivate(account, options as WriteOptions))
  const { name, message, stack } = error as Error
  expect(stack?.startsWith(`${name}: ${message}\n`), 'the stack begins with name and message').toBe(true)
  const call = 'POST /customers/c1/virtual_accounts/v1/deactivate: '
  expect(message.slice(0, call.length)).toBe(call)
  return message.slice(call.length)
}

const respond = (status: number, body?: unknown, headers: Record<string, string> = {}) =>
  new Response(body === undefined ? null : JSON.stringify(body), { status, headers })

type Row = readonly [what: string, given: Given, message: string]

const checkMessages = (rows: readonly Row[]) =>
  checkEach(rows, async ([, given, message]) => expect(await write(given)).toBe(message))

const applied =
  'The request may have been applied: retry with the same idempotencyKey (error.idempotencyKey).'
const host = 'virtual-accounts.test:443'

describe('the message of an HttpError', () => {
  test('has the status, and where to look', () =>
    checkMessages([
      ['400', { steps: [respond(400)] }, 'HTTP 400.'],
      [
        '400 and a body without a reason',
        { steps: [respond(400, { code: 7 })] },
        'HTTP 400. See error.body.',
      ],
      [
        '404',
        { steps: [respond(404)] },
        'HTTP 404. Check the path and the ids in it, and that of baseUrl (none, or one such as /v1).',
      ],
      [
        '422 and a reason',
        {
          steps: [respond(422, { error: { message: 'account is frozen' } })],
          options: { idempotencyKey: 'k' },
        },
        'HTTP 422: "account is frozen".',
      ],
    ]))

  test('says what to check about the API key', () =>
    checkMessages([
      ['401', { steps: [respond(401)] }, 'HTTP 401. Check that apiKey belongs to this baseUrl.'],
      [
        '403',
        { steps: [respond(403)] },
        'HTTP 403. Check that apiKey belongs to this baseUrl, and is allowed to do this. Some gateways also respond so to a wrong path.',
      ],
      [
        'a key in quotes',
        { steps: [respond(401)], client: { apiKey: '"test_key"' } },
        'HTTP 401. Check apiKey: it begins with ", which is hardly part of the key.',
      ],
      [
        'a key with a scheme',
        { steps: [respond(401)], client: { apiKey: 'Bearer test_key' } },
        'HTTP 401. Check apiKey: it begins with Bearer, which is hardly part of the key.',
      ],
      [
        'a key that may well begin so',
        { steps: [respond(401)], client: { apiKey: '/qP7m3x0' } },
        'HTTP 401. Check that apiKey belongs to this baseUrl.',
      ],
      [
        'a key that was not filled in',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: as a template that nobody filled in
        { steps: [respond(401)], client: { apiKey: '${API_KEY}' } },
        'HTTP 401. Check apiKey: it begins with ${, which is hardly part of the key.',
      ],
      [
        'no key',
        { steps: [respond(401)], client: { apiKey: null } },
        'HTTP 401. No key was sent (apiKey is null): pass one, unless a proxy adds it.',
      ],
    ]))

  test('says what to check about the API key that was sent last', async () => {
    const keys = ['test_key', '"test_key"']
    const given = {
      steps: [respond(503), respond(401)],
      client: { apiKey: () => keys.shift() ?? '', maxRetries: 1 },
    }
    expect(await write(given)).toBe(
      `HTTP 401 (2 attempts). ${applied} Check apiKey: it begins with ", which is hardly part of the key.`,
    )
  })

  test('says what an idempotency key has to do with it, if it is your own', () =>
    checkMessages([
      ['409', { steps: [respond(409)] }, 'HTTP 409.'],
      [
        "409 and the caller's own key",
        { steps: [respond(409)], options: { idempotencyKey: 'k' } },
        `HTTP 409. ${applied} A request with this idempotencyKey may still be in progress: retry with the same key.`,
      ],
      [
        "409, the caller's own key and a reason",
        { steps: [respond(409, { message: 'it is already inactive' })], options: { idempotencyKey: 'k' } },
        `HTTP 409: "it is already inactive". ${applied}`,
      ],
      ['422', { steps: [respond(422)] }, 'HTTP 422.'],
      [
        "422 and the caller's own key",
        { steps: [respond(422)], options: { idempotencyKey: 'k' } },
        'HTTP 422. The idempotencyKey may have been used for another request.',
      ],
    ]))

  test('says when to retry, and why it was not retried', async () => {
    await checkMessages([
      ['429', { steps: [respond(429)] }, 'HTTP 429, rate limited. Retry later.'],
      [
        '429 and a delay',
        { steps: [respond(429, undefined, { 'Retry-After': '90' })] },
        'HTTP 429, rate limited. Retry after 90 s.',
      ],
      [
        '403 and a delay',
        { steps: [respond(403, undefined, { 'Retry-After': '90' })] },
        'HTTP 403. Retry after 90 s.',
      ],
      ['500', { steps: [respond(500)] }, `HTTP 500. ${applied} The service failed: retry later.`],
      [
        '503 and a delay',
        { steps: [respond(503, undefined, { 'Retry-After': '90' })] },
        `HTTP 503. ${applied} The service failed: retry after 90 s.`,
      ],
      ['501', { steps: [respond(501)] }, `HTTP 501. ${applied} The service does not support this request.`],
    ])
    let calls = 0
    const apiKey = () => {
      if (++calls === 2) throw new Error('vault is sealed')
      return 'test_key'
    }
    expect(await write({ steps: [respond(500)], client: { apiKey, maxRetries: 1 } })).toBe(
      `HTTP 500. ${applied} Not retried: the apiKey function failed, see error.cause. The service failed: retry later.`,
    )
  })

  test('says when the retry budget is used up, and never that it is not', async () => {
    useFakeTime()
    onTestFinished(() => void vi.useRealTimers())
    const { client } = stubbed([() => respond(500)], { maxRetries: 1 })
    const messages: string[] = []
    for (let call = 0; call < 36; call++) {
      const error = await rejectionOf(passing(client.virtualAccounts.deactivate(account)))
      messages.push((error as Error).message.replace(/^.*?: /, ''))
    }
    expect(messages[0]).toBe(`HTTP 500 (2 attempts). ${applied} The service failed: retry later.`)
    expect(messages[35]).toBe(
      `HTTP 500. ${applied} Not retried: too many calls failed recently (retry budget). The service failed: retry later.`,
    )
  })

  test('says where a redirect leads', async () => {
    const hint = 'Check baseUrl and the path: use an address that does not redirect.'
    await checkMessages([
      [
        '302',
        { steps: [respond(302, undefined, { Location: 'https://login.example.com/sso?from=api' })] },
        `HTTP 302, a redirect to https://login.example.com/sso, which is not followed. ${applied} ${hint}`,
      ],
      [
        '302 to an app',
        { steps: [respond(302, undefined, { Location: 'bank-id://start/1' })] },
        `HTTP 302, a redirect to bank-id://start/1, which is not followed. ${applied} ${hint}`,
      ],
      [
        '302 to an address without a host',
        { steps: [respond(302, undefined, { Location: 'mailto:help@example.com' })] },
        `HTTP 302, a redirect to mailto:help@example.com, which is not followed. ${applied} ${hint}`,
      ],
      ['308 to nowhere', { steps: [respond(308)] }, `HTTP 308, a redirect, which is not followed. ${hint}`],
    ])
    // What `redirect: 'manual'` gives in a browser.
    const opaque = { status: 0, ok: false, type: 'opaqueredirect', headers: new Headers(), body: null }
    const fetch = async () => opaque as Response
    expect(await write({ steps: [], client: { fetch } })).toBe(
      `a redirect, which is not followed. ${applied} Check baseUrl and the path: use an address that does not redirect; the browser's network tab shows where it leads.`,
    )
  })
})

describe('the message of a ConnectionError', () => {
  test('says what to check, by the code of the error', () =>
    checkMessages([
      [
        'a refused connection',
        { steps: ['ECONNREFUSED'], client: { baseUrl: 'http://localhost:8080/v1' } },
        'could not connect to localhost:8080 (ECONNREFUSED). Check baseUrl and the network; for a proxy, see docs/networks.md.',
      ],
      [
        'an unknown host, that of a FakeService',
        { steps: ['ENOTFOUND'] },
        `could not connect to ${host} (ENOTFOUND). A FakeService is only reached through its fetch: pass \`fetch: service.fetch\`.`,
      ],
      [
        'a rejected certificate',
        { steps: ['CERT_HAS_EXPIRED'] },
        `the TLS certificate of ${host}, or of a proxy, was rejected (CERT_HAS_EXPIRED). Check that it is valid for this host and has not expired, and that this runtime trusts its authority: see docs/networks.md.`,
      ],
      [
        'a failed handshake',
        { steps: ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'] },
        `the request could not be sent to ${host} (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION). Check the scheme and port of baseUrl and of any proxy, the TLS versions, and whether a client certificate is needed.`,
      ],
      [
        'a refused proxy tunnel',
        { steps: ['ERR_PROXY_TUNNEL'] },
        `the request could not be sent to ${host} (ERR_PROXY_TUNNEL). Check the proxy: see error.cause.`,
      ],
      [
        'a refused header',
        { steps: ['UND_ERR_INVALID_ARG'] },
        `the request could not be sent to ${host} (UND_ERR_INVALID_ARG). Check baseUrl, the headers and your own fetch: see error.cause.`,
      ],
      [
        'a lost connection',
        { steps: ['ECONNRESET'] },
        `no readable response from ${host} (ECONNRESET). ${applied} Check baseUrl and the network; for a proxy, see docs/networks.md.`,
      ],
      [
        'an error without a code, as in browsers',
        { steps: ['no code'] },
        `no readable response from ${host}: "Failed to fetch". ${applied} Check baseUrl and the network; for a proxy, see docs/networks.md. In a browser, its console shows the reason (if it is CORS, see docs/browser.md); elsewhere, see error.cause.`,
      ],
      [
        'what is no error',
        { steps: [], client: { fetch: () => Promise.reject(7) } },
        `no readable response from ${host}. ${applied} Check baseUrl and the network; for a proxy, see docs/networks.md. In a browser, its console shows the reason (if it is CORS, see docs/browser.md); elsewhere, see error.cause.`,
      ],
      [
        'a response in another encoding than it says',
        { steps: [brokenBody('Z_DATA_ERROR')] },
        `the response could not be decoded (Z_DATA_ERROR). ${applied} Its Content-Encoding is wrong: report it to its owner.`,
      ],
      [
        'a response that is cut off',
        { steps: [new Response('{"a', { headers: { 'Content-Length': '9' } })] },
        `the response could not be read to its end: "the body is shorter than its Content-Length". ${applied} Check the network; if this lasts, ask the owner of the service.`,
      ],
    ]))

  test('names a proxy by its address, or by the status that it gave', async () => {
    const refused = await write({ steps: ['ECONNREFUSED'] }, { address: '10.0.0.7', port: 3128 })
    expect(refused).toContain(`could not connect to ${host} (ECONNREFUSED at 10.0.0.7:3128)`)
    const text = 'Proxy response (407) !== 200 when HTTP Tunneling'
    const aborted = await write({ steps: ['UND_ERR_ABORTED'] }, { message: text })
    expect(aborted).toContain('Check the proxy: it responded with HTTP 407.')
  })
})

function brokenBody(code: string): Response {
  const error = new TypeError('terminated', { cause: Object.assign(new Error('no reason'), { code }) })
  return new Response(new ReadableStream({ pull: controller => controller.error(error) }))
}

describe('the message of a TimeoutError', () => {
  test('says what took too long, and which limit to raise', async () => {
    const hang = () => new Promise<never>(() => {})
    const schema = { '~standard': { version: 1 as const, vendor: 'test', validate: hang } }
    const late = { fetch: hang }
    await checkMessages([
      [
        'timeout',
        { steps: [], client: { ...late, timeout: 5 } },
        `no complete response within the timeout of 5 ms. ${applied} Raise \`timeout\` (milliseconds) if the service needs longer.`,
      ],
      [
        'totalTimeout',
        { steps: [], client: { ...late, totalTimeout: 5 } },
        `no success within the totalTimeout of 5 ms. ${applied} Raise \`totalTimeout\` (milliseconds) if the service needs longer.`,
      ],
      [
        'an apiKey function',
        { steps: [], client: { apiKey: hang, timeout: 5 } },
        'the apiKey function returned no key within the timeout of 5 ms. Raise `timeout` (milliseconds) if apiKey needs longer.',
      ],
      [
        'a schema',
        { steps: [respond(200, {})], client: { totalTimeout: 20 }, options: { schema } },
        `the schema did not finish within the totalTimeout of 20 ms. ${applied} Raise \`totalTimeout\` (milliseconds), or make the schema faster.`,
      ],
    ])
  })
})

test('a message shows only the beginning of a long path, without control characters', async () => {
  const shown = [
    [`/${'a'.repeat(299)}`, `/${'a'.repeat(299)}`],
    [`/${'a'.repeat(300)}`, `/${'a'.repeat(299)}...`],
    ['/café‮', '/café\\u202e'],
  ] as const
  await checkEach(shown, async ([path, shown]) => {
    respondWith(null, { status: 404 })
    const error = await rejectionOf(createClient().request('GET', path))
    expect(error).toMatchObject({ path })
    expect((error as Error).message).toMatch(`GET ${shown}: HTTP 404.`)
  })
})
