import type { ClientOptions, WriteOptions } from 'virtual-accounts'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { failedFetch, passing, stubbed, useFakeTime } from '../http/stub.ts'
import { createClient, respondWith, startService } from '../service.ts'
import { account, checkEach, rejectionOf } from '../support.ts'

// Every message that a failed write can have, once. Those of wrong arguments are in mistakes/*.test.ts, those of lists in
// list-messages.test.ts. Other tests assert properties, so that a hint can be reworded here alone.

startService()

interface Given {
  /** What fetch does, one after another: a response, or an error with this code. */
  readonly steps: readonly (Response | string)[]
  readonly client?: Partial<ClientOptions>
  readonly options?: object
}

/** The message of a write that fails, without the method and the path. */
async function write({ steps, client, options }: Given): Promise<string> {
  const left = [...steps]
  const fetch = async () => {
    const step = left.shift() ?? steps[0]
    if (step === 'no code') throw new TypeError('Failed to fetch')
    if (typeof step === 'string') throw failedFetch(step)
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

const applied = 'The write may have been applied: retry with the same idempotencyKey (error.idempotencyKey).'
const host = 'virtual-accounts.test:443'
const network = 'Check baseUrl and the network.'
const inProgress = 'A request with this idempotencyKey may still be in progress: retry with the same key.'
const key = 'Check apiKey. The client sends it unchanged and adds no `Bearer`.'

describe('the message of an HttpError', () => {
  test('has the status, the reason that the service gave, and what to do', () =>
    checkMessages([
      ['400', { steps: [respond(400)] }, 'HTTP 400.'],
      ['a body without a reason', { steps: [respond(400, { code: 7 })] }, 'HTTP 400.'],
      ['401', { steps: [respond(401)] }, `HTTP 401. ${key}`],
      ['403', { steps: [respond(403, { error: 'closed' })] }, `HTTP 403: "closed". ${key}`],
      [
        '404',
        { steps: [respond(404)] },
        'HTTP 404. Check the ids, the path and baseUrl (https://virtual-accounts.test).',
      ],
      ['409', { steps: [respond(409)] }, `HTTP 409. ${inProgress}`],
      [
        "409 and the caller's own key",
        { steps: [respond(409)], options: { idempotencyKey: 'k' } },
        `HTTP 409. ${applied} ${inProgress}`,
      ],
      ['409 and a reason', { steps: [respond(409, { title: 'no' })] }, 'HTTP 409: "no".'],
      ['422', { steps: [respond(422, { detail: 'It is frozen.' })] }, 'HTTP 422: "It is frozen."'],
      [
        'a blank reason',
        { steps: [respond(422, { message: ' ', detail: 'frozen' })] },
        'HTTP 422: "frozen".',
      ],
      ['500', { steps: [respond(500)] }, `HTTP 500. ${applied} Retry later.`],
      ['501', { steps: [respond(501)] }, `HTTP 501. ${applied}`],
    ]))

  test('quotes the reason wherever services put it', () =>
    checkEach(
      [
        { message: 'frozen' },
        { error: { message: 'frozen', code: 7 } },
        { error: 'frozen' },
        { detail: 'frozen' },
        { title: 'frozen', type: 'about:blank' },
        { error: { detail: 'frozen' } },
        { error: {}, error_description: 'frozen' },
        { errors: [{ message: 'frozen' }, { message: 'closed' }] },
        { errors: [{ detail: 'frozen' }] },
        { errors: [{ title: 'frozen' }] },
        { errors: ['frozen'] },
        { message: ['frozen', 'closed'], error: 7 },
        { message: [{ message: 'frozen' }] },
        ' frozen\n',
      ],
      async body => {
        const response = typeof body === 'string' ? new Response(body, { status: 422 }) : respond(422, body)
        expect(await write({ steps: [response] })).toBe('HTTP 422: "frozen".')
      },
    ))

  test('quotes no HTML, no text of several lines, and only the beginning of a long reason', () =>
    checkEach(
      [
        ['<p>frozen</p>', ''],
        ['frozen\nclosed', ''],
        [`${'\n'.repeat(100_000)}x${'\n'.repeat(100_000)}y`, ''],
        ['f'.repeat(300), `: "${'f'.repeat(200)}..."`],
        ['fro\u202ezen', ': "fro\\u202ezen"'],
      ],
      async ([body, quoted]) => {
        const response = new Response(body, { status: 422 })
        expect(await write({ steps: [response] })).toBe(`HTTP 422${quoted}.`)
      },
    ))

  test('says when to retry, and why it was not retried', async () => {
    const later = { 'Retry-After': '90' }
    await checkMessages([
      ['429', { steps: [respond(429)] }, 'HTTP 429, rate limited. Retry later.'],
      [
        '429 and a delay',
        { steps: [respond(429, undefined, later)] },
        'HTTP 429, rate limited. Retry after 90 s.',
      ],
      ['403 and a delay', { steps: [respond(403, {}, later)] }, 'HTTP 403, rate limited. Retry after 90 s.'],
      ['503 and a delay', { steps: [respond(503, {}, later)] }, `HTTP 503. ${applied} Retry after 90 s.`],
    ])
    let calls = 0
    const apiKey = () => {
      if (++calls === 2) throw new Error('vault is sealed')
      return 'test_key'
    }
    expect(await write({ steps: [respond(500)], client: { apiKey, maxRetries: 1 } })).toBe(
      `HTTP 500. ${applied} Not retried: apiKey or fetch threw an error. See error.cause. Retry later.`,
    )
  })

  test('says when the retry budget is used up, and otherwise does not mention it', async () => {
    useFakeTime()
    onTestFinished(() => void vi.useRealTimers())
    const { client } = stubbed([() => respond(500)], { maxRetries: 1 })
    const messages: string[] = []
    for (let call = 0; call < 501; call++) {
      const error = await rejectionOf(passing(client.virtualAccounts.deactivate(account)))
      messages.push((error as Error).message.replace(/^.*?: /, ''))
    }
    expect(messages[0]).toBe(
      `HTTP 500 (2 attempts). ${applied.replace('The request', 'An attempt')} Retry later.`,
    )
    expect(messages[500]).toBe(
      `HTTP 500. ${applied} Not retried: too many calls failed recently (retry budget). Retry later.`,
    )
  })

  test('says where a redirect leads, without its query', async () => {
    const hint = 'Use a baseUrl and a path that do not redirect.'
    const to = (location: string) => respond(302, undefined, { Location: location })
    await checkMessages([
      [
        '302',
        { steps: [to('https://login.example.com/sso?from=api')] },
        `HTTP 302, a redirect to https://login.example.com/sso, which is not followed. ${applied} ${hint}`,
      ],
      ['308 to nowhere', { steps: [respond(308)] }, `HTTP 308, a redirect, which is not followed. ${hint}`],
      ['a Location, but no redirect', { steps: [respond(400, undefined, { Location: '/v1' })] }, 'HTTP 400.'],
    ])
    // What `redirect: 'manual'` gives in a browser.
    const opaque = { status: 0, ok: false, type: 'opaqueredirect', headers: new Headers(), body: null }
    expect(await write({ steps: [], client: { fetch: async () => opaque as Response } })).toBe(
      `HTTP 0, a redirect, which is not followed. ${applied} ${hint}`,
    )
  })
})

test('the message of a ConnectionError names the host, what is known, and what to check', () =>
  checkMessages([
    [
      'a refused connection',
      { steps: ['ECONNREFUSED'], client: { baseUrl: 'http://localhost:8080/v1' } },
      `could not connect to localhost:8080 (ECONNREFUSED). ${network}`,
    ],
    [
      'without a port',
      { steps: ['ENOTFOUND'], client: { baseUrl: 'http://localhost' } },
      `could not connect to localhost:80 (ENOTFOUND). ${network}`,
    ],
    [
      'a FakeService whose fetch is not passed',
      { steps: ['ENOTFOUND'] },
      `could not connect to ${host} (ENOTFOUND). This is a FakeService: pass its \`fetch\` to the client.`,
    ],
    [
      'more sockets than the process may have',
      { steps: ['EMFILE'] },
      'too many open files to connect (EMFILE). Lower `maxInFlight`, or raise the limit of this process.',
    ],
    [
      'a rejected certificate',
      { steps: ['CERT_HAS_EXPIRED'] },
      `the TLS certificate of ${host} was rejected (CERT_HAS_EXPIRED). Check that it is valid for this host, and that this runtime trusts its authority.`,
    ],
    [
      'a lost connection',
      { steps: ['ECONNRESET'] },
      `no readable response from ${host} (ECONNRESET). ${applied} ${network}`,
    ],
    [
      'a port that does not speak TLS',
      { steps: ['ERR_SSL_WRONG_VERSION_NUMBER'] },
      `no readable response from ${host} (ERR_SSL_WRONG_VERSION_NUMBER). ${applied} Check baseUrl: is this an http port?`,
    ],
    [
      'a response that is cut off on the way',
      { steps: [brokenBody('UND_ERR_SOCKET')] },
      `the response was incomplete or damaged (UND_ERR_SOCKET). ${applied} ${network}`,
    ],
    [
      'an error without a code, as in browsers',
      { steps: ['no code'] },
      `no readable response from ${host}: "Failed to fetch". ${applied} ${network} In a browser, see the console.`,
    ],
    [
      'a mock that knows no such request',
      {
        steps: [],
        client: {
          fetch: () =>
            Promise.reject(new TypeError('fetch failed', { cause: new Error('not mocked: POST') })),
        },
      },
      `no readable response from ${host}: "not mocked: POST". ${applied} ${network} See error.cause.`,
    ],
    [
      'a response that says to be compressed, and is not',
      { steps: [brokenBody('Z_DATA_ERROR')] },
      `the response was incomplete or damaged (Z_DATA_ERROR). ${applied} ${network}`,
    ],
  ]))

function brokenBody(code: string): Response {
  const error = new TypeError('terminated', { cause: Object.assign(new Error('no reason'), { code }) })
  return new Response(new ReadableStream({ pull: controller => controller.error(error) }))
}

test('the message of a TimeoutError says what took too long', async () => {
  const hang = () => new Promise<never>(() => {})
  const hangsTheSecondTime = () => {
    let calls = 0
    return () => (calls++ === 0 ? 'test_key' : hang())
  }
  await checkMessages([
    [
      'the service',
      { steps: [], client: { fetch: hang, timeout: 5 } },
      `no complete response within the timeout of 5 ms. ${applied} Raise \`timeout\` (milliseconds) if the service needs longer.`,
    ],
    [
      'an apiKey function',
      { steps: [], client: { apiKey: hang, timeout: 5 } },
      'the request was not sent within the timeout of 5 ms. Raise `timeout` (milliseconds) if the apiKey function needs longer. Otherwise, does something block the event loop?',
    ],
    [
      'an apiKey function, after an attempt that may have been applied',
      { steps: [respond(500)], client: { apiKey: hangsTheSecondTime(), timeout: 5, maxRetries: 1 } },
      `the last retry was not sent within the timeout of 5 ms (2 attempts). ${applied} Raise \`timeout\` (milliseconds) if the apiKey function needs longer. Otherwise, does something block the event loop?`,
    ],
  ])
})

test('a message shows only the beginning of a long path', async () => {
  const shown = [
    [`/${'a'.repeat(299)}`, `/${'a'.repeat(299)}`],
    [`/${'a'.repeat(300)}`, `/${'a'.repeat(299)}...`],
  ] as const
  await checkEach(shown, async ([path, shown]) => {
    respondWith(null, { status: 404 })
    const error = await rejectionOf(createClient().request('GET', path))
    expect(error).toMatchObject({ path })
    expect((error as Error).message).toMatch(`GET ${shown}: HTTP 404.`)
  })
})
