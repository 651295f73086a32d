import { Client, type ClientOptions } from 'virtual-accounts'
import { describe, expect, test, vi } from 'vitest'
import { createClient, service, startService } from '../service.ts'
import { account, checkEach, rejectionOf } from '../support.ts'

startService()

describe('baseUrl', () => {
  test('may be plain http on loopback, and elsewhere with allowInsecureHttp', async () => {
    await checkEach(
      [
        'http://localhost:1',
        'http://127.0.0.1',
        'http://127.9.9.9',
        'http://127.10.20.30',
        'http://[::1]:8080',
        'http://a.localhost',
      ],
      baseUrl => expect(() => createClient({ baseUrl })).not.toThrow(),
    )
    expect(() => createClient({ baseUrl: 'http://10.0.0.1', allowInsecureHttp: true })).not.toThrow()
  })

  test('comes before every path, with the path that it has', async () => {
    const fetch = vi.fn(async (_url: string, _init: RequestInit) => new Response(null, { status: 404 }))
    await checkEach<[given: string | URL, url: string]>(
      [
        ['https://api.example.com', 'https://api.example.com/transactions?page=1'],
        ['https://api.example.com/', 'https://api.example.com/transactions?page=1'],
        ['HTTPS://API.example.com/v1', 'https://api.example.com/v1/transactions?page=1'],
        ['https://api.example.com/v1//', 'https://api.example.com/v1/transactions?page=1'],
        // A URL of another realm is no instance of ours.
        [{ href: 'https://api.example.com/v1' } as URL, 'https://api.example.com/v1/transactions?page=1'],
        [new URL('https://api.example.com/v1'), 'https://api.example.com/v1/transactions?page=1'],
      ],
      async ([baseUrl, url]) => {
        await rejectionOf(createClient({ baseUrl, fetch }).transactions.list())
        expect(fetch.mock.lastCall?.[0]).toBe(url)
      },
    )
  })
})

describe('the params of a list', () => {
  test('are its query, without an idempotency key', async () => {
    await createClient().transactions.list({ page: 2, limit: 10 })
    const [request] = service.requests
    expect(request).toMatchObject({ method: 'GET', path: '/transactions', query: { page: '2', limit: '10' } })
    expect(request?.headers.get('Api-Key')).toBe(service.apiKey)
    expect(request?.headers.get('Accept')).toBe('application/json')
    expect(request?.headers.has('Idempotency-Key')).toBe(false)
    expect(request?.headers.has('Content-Type')).toBe(false)
  })

  test('always include the page, and the limit only if it is given', async () => {
    await createClient().transactions.list()
    expect(service.requests[0]?.query).toEqual({ page: '1' })
  })

  test('may have a query: an array repeats its name, undefined is left out', async () => {
    const fetch = vi.fn((url: string, init: RequestInit) => service.fetch(url, init))
    const query = { currency: ['AED', 'USD'], 'a b': 'ü&=', none: undefined, open: true, least: 0 }
    await createClient({ fetch }).transactions.list({ limit: 5, query })
    expect(fetch.mock.calls[0]?.[0]).toBe(
      `${service.baseUrl}/transactions?page=1&limit=5&currency=AED&currency=USD&a%20b=%C3%BC%26%3D&open=true&least=0`,
    )
  })

  test('may have a filter that is called query', async () => {
    const fetch = vi.fn((url: string, init: RequestInit) => service.fetch(url, init))
    await createClient({ fetch }).transactions.list({ query: { query: 'rent', limit: undefined } })
    expect(fetch.mock.calls[0]?.[0]).toBe(`${service.baseUrl}/transactions?page=1&query=rent`)
  })
})

describe('headers', () => {
  test("of client and call are merged case-insensitively; the call's take precedence", async () => {
    const client = createClient({
      headers: { 'X-Team': 'a', 'x-trace': '1', ACCEPT: 'application/vnd.api+json' },
    })
    await client.transactions.list({}, { headers: [['x-team', 'b']] })
    const headers = service.requests[0]?.headers
    expect(headers?.get('X-Team')).toBe('b')
    expect(headers?.get('X-Trace')).toBe('1')
    expect(headers?.get('Accept')).toBe('application/vnd.api+json')
  })

  test('whose value is undefined are skipped', async () => {
    const headers = { 'X-Trace': undefined, 'X-Team': 'a' } as unknown as Record<string, string>
    await createClient({ headers }).transactions.list({}, { headers })
    expect(service.requests[0]?.headers.has('X-Trace')).toBe(false)
    expect(service.requests[0]?.headers.get('X-Team')).toBe('a')
  })
})

describe('options', () => {
  test('of a class are refused: what is inherited would be read or ignored by chance', async () => {
    const inherited = Object.create({ idempotencyKey: 'k1' }) as object
    expect(await rejectionOf(createClient().virtualAccounts.deactivate(account, inherited))).toMatchObject({
      message: 'options: expected a plain object, got a class instance',
    })
    expect(service.requests).toEqual([])
  })

  test('are read once each', async () => {
    let read = 0
    const options = {
      get idempotencyKey() {
        return `k${++read}`
      },
    }
    const { idempotencyKey } = await createClient().virtualAccounts.deactivate(account, options)
    expect(idempotencyKey).toBe('k1')
    expect(service.requests[0]?.headers.get('Idempotency-Key')).toBe('k1')
  })
})

/** A value of each client option, and an effect that it has. An option without a line does not compile. */
const effects: {
  readonly [Name in keyof ClientOptions]-?: readonly [
    value: ClientOptions[Name],
    effectOf: (client: Client) => unknown,
  ]
} = {
  baseUrl: [`${service.baseUrl}/v1`, client => messageOf(client.request('GET', '/x'))],
  apiKey: ['key of another tenant', client => sent(client, 'Api-Key')],
  headers: [{ 'X-Team': 'a' }, client => sent(client, 'X-Team')],
  timeout: [5, client => hanging(client)],
  totalTimeout: [6, client => hanging(client)],
  maxRetries: [
    1,
    client => {
      const controller = new AbortController()
      const { signal } = controller
      const onEvent: ClientOptions['onEvent'] = ({ type }) => type === 'retry' && controller.abort()
      service.fail({ with: new Response(null, { status: 503 }) })
      return messageOf(client.withOptions({ onEvent }).request('GET', '/x', { signal }))
    },
  ],
  maxResponseBytes: [3, client => messageOf(client.transactions.list())],
  concurrency: [
    1,
    client =>
      mostInFlight(client, async client => {
        for await (const _ of client.transactions.list({ limit: 1 }));
      }),
  ],
  maxInFlight: [
    1,
    client =>
      mostInFlight(client, client => Promise.all([1, 2, 3].map(page => client.transactions.list({ page })))),
  ],
  allowInsecureHttp: [
    true,
    client => {
      try {
        return client.withOptions({ baseUrl: 'http://10.0.0.1' }) instanceof Client
      } catch {
        return false
      }
    },
  ],
  fetch: [
    async () => Response.json('from another fetch'),
    async client => (await client.request('GET', '/transactions')).data,
  ],
  onEvent: [
    event => events.push(event.type),
    async client => {
      events.length = 0
      await client.transactions.list()
      return events.length > 0
    },
  ],
}
const events: string[] = []

async function sent(client: Client, header: string): Promise<string | null | undefined> {
  await client.transactions.list().catch(() => {})
  return service.requests.at(-1)?.headers.get(header)
}

/** How many requests were in flight together. */
async function mostInFlight(client: Client, run: (client: Client) => Promise<unknown>): Promise<number> {
  let inFlight = 0
  let most = 0
  const fetch = async (url: string, init: RequestInit) => {
    most = Math.max(most, ++inFlight)
    await new Promise(resolve => setTimeout(resolve))
    inFlight--
    return service.fetch(url, init)
  }
  await run(client.withOptions({ fetch }))
  return most
}

function messageOf(call: PromiseLike<unknown>): PromiseLike<string | undefined> {
  return call.then(
    () => undefined,
    (error: Error) => error.message,
  )
}

function hanging(client: Client): PromiseLike<string | undefined> {
  service.fail({ with: 'hang' })
  return messageOf(client.transactions.list())
}

describe('withOptions', () => {
  test('keeps every option, and replaces every option', async () => {
    const { baseUrl, apiKey, fetch } = service
    await checkEach(
      Object.entries<(typeof effects)[keyof ClientOptions]>(effects),
      async ([name, [value, effectOf]]) => {
        // Only what hangs needs to end soon.
        const timeout = /timeout/i.test(name) ? 20 : undefined
        const plain = { baseUrl, apiKey, fetch, maxRetries: 0, timeout }
        const seen = []
        for (const client of [
          new Client({ ...plain, [name]: value }),
          new Client({ ...plain, [name]: value }).withOptions({}),
          new Client({ ...plain, [name]: value }).withOptions({}).withOptions({ timeout: undefined }),
          new Client(plain).withOptions({ [name]: value }),
          new Client(plain),
        ]) {
          service.reset()
          seen.push(await effectOf(client))
        }
        const without = seen.pop()
        expect(seen).toEqual(Array(4).fill(seen[0]))
        expect(seen[0]).not.toEqual(without)
      },
    )
  })

  test('checks the options that the constructor of a subclass adds', () => {
    const added: object[] = [{}, { timout: 5 }]
    class Ours extends Client {
      constructor(options: ClientOptions) {
        super({ ...options, ...added.shift() })
      }
    }
    const client = new Ours({ baseUrl: 'https://a.example.com', apiKey: 'key' })
    expect(() => client.withOptions({ maxRetries: 0 })).toThrow('timout: unknown option.')
  })

  test('sends the new key to the new URL, whatever the constructor of a subclass makes of its arguments', async () => {
    const fetch = vi.fn(async (_url: string, _init: RequestInit) => new Response(null, { status: 404 }))
    class TenantA extends Client {
      constructor() {
        super({ baseUrl: 'https://a.example.com', apiKey: 'key of tenant A', fetch })
      }
    }
    const options = { baseUrl: 'https://b.example.com', apiKey: 'key of tenant B' }
    await rejectionOf(new TenantA().withOptions(options).virtualAccounts.deactivate(account))
    const [url, init] = fetch.mock.calls[0] ?? []
    expect(url).toMatch(/^https:\/\/b\.example\.com\//)
    expect(init?.headers).toMatchObject({ 'api-key': 'key of tenant B' })
  })

  test('replaces the API key', async () => {
    const client = createClient({ apiKey: 'wrong_key' })
    await client.withOptions({ apiKey: service.apiKey }).transactions.list()
    expect(service.requests[0]?.headers.get('Api-Key')).toBe(service.apiKey)
  })

  test("leaves its parent's options unchanged, for the parent's calls and for further clients", async () => {
    const apiKey = vi.fn(async () => service.apiKey)
    const client = createClient({ apiKey, headers: { 'X-A': '1' }, maxRetries: 0 })
    const other = client.withOptions({ apiKey: 'wrong_key', headers: { 'X-B': '2' }, maxRetries: 1 })
    await rejectionOf(other.transactions.list())
    await client.transactions.list()
    await client.withOptions({ timeout: 1000 }).transactions.list()
    expect(service.requests.map(({ headers }) => ['X-A', 'X-B', 'Api-Key'].map(n => headers.get(n)))).toEqual(
      [
        [null, '2', 'wrong_key'],
        ['1', null, service.apiKey],
        ['1', null, service.apiKey],
      ],
    )
    expect(apiKey).toHaveBeenCalledTimes(2)
  })

  test('keeps the headers as they were when the client was created', async () => {
    const headers: Record<string, string> = { 'X-Team': 'a' }
    const client = createClient({ headers })
    headers['X-Team'] = 'b'
    await client.withOptions({ maxRetries: 0 }).transactions.list()
    expect(service.requests[0]?.headers.get('X-Team')).toBe('a')
  })

  test('keeps the baseUrl as it was when the client was created', async () => {
    const baseUrl = new URL('https://api.example.com/v1')
    const fetch = vi.fn(async () => new Response(null, { status: 404 }))
    const client = createClient({ baseUrl, fetch })
    baseUrl.host = 'evil.example'
    await rejectionOf(client.withOptions({ timeout: 1000 }).transactions.list())
    expect(fetch).toHaveBeenCalledWith('https://api.example.com/v1/transactions?page=1', expect.anything())
  })

  test('replaces an option entirely, headers too, and keeps it for undefined', async () => {
    const client = createClient({ headers: { 'X-A': '1', 'X-B': '2' }, maxRetries: 0 })
    const other = client.withOptions({ headers: { 'X-B': '3' }, maxRetries: undefined as never })
    service.fail({ times: 2, with: () => new Response(null, { status: 503 }) })
    await rejectionOf(other.transactions.list())
    await rejectionOf(client.transactions.list())
    const [first, second] = service.requests.map(({ headers }) => [headers.get('X-A'), headers.get('X-B')])
    expect(first).toEqual([null, '3'])
    expect(second).toEqual(['1', '2'])
    expect(service.requests).toHaveLength(2)
  })
})
