import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { expect, onTestFinished, test } from 'vitest'
import { account, rejectionOf } from '../support.ts'

const source = fileURLToPath(new URL('../../src', import.meta.url))
const ky = fileURLToPath(new URL('../../node_modules/ky/distribution', import.meta.url))
/** These break every program, because the engine itself reads them. */
const fatal = [
  'get',
  'set',
  'value',
  'writable',
  'enumerable',
  'configurable',
  'then',
  'toJSON',
  'return',
  'throw',
]

/** Each name that the source or ky has anywhere, such as those of options and of the fields of its own objects. */
function namesInSource(): Set<string> {
  const filesOf = (folder: string, ending: string) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith(ending))
      .map(name => readFileSync(join(folder, name), 'utf8'))
  const text = [...filesOf(source, '.ts'), ...filesOf(ky, '.js')].join()
  return new Set((text.match(/\b[a-z]\w+\b/g) ?? []).filter(name => !fatal.includes(name) && !(name in {})))
}

/** Runs with a property of each name on `Object.prototype`; returns where in the source they were read. */
async function readsOf(run: () => Promise<void>): Promise<string[]> {
  const reads = new Set<string>()
  const names = [...namesInSource()]
  const define = (name: string) =>
    Object.defineProperty(Object.prototype, name, {
      configurable: true,
      get() {
        const [, reader = ''] = (new Error().stack ?? '').split('\n    at ').slice(1)
        if (reader.includes(`${source}/`) || reader.includes(`${ky}/`)) reads.add(`${name}: ${reader}`)
        return undefined
      },
      set(value) {
        Object.defineProperty(this, name, { value, configurable: true, writable: true, enumerable: true })
      },
    })
  const clean = () => {
    for (const name of names) Reflect.deleteProperty(Object.prototype, name)
  }
  onTestFinished(clean)
  for (const name of names) define(name)
  await run()
  clean()
  return [...reads]
}

test('nothing that Object.prototype holds is read', async () => {
  const service = new FakeService({ transactions: sampleTransactions(250) })
  const { baseUrl, apiKey, fetch } = service
  const reads = await readsOf(async () => {
    const client = new Client({ baseUrl, apiKey, fetch, maxRetries: 0, onEvent: () => {} })
    const page = await client.transactions.list()
    await page.nextPage()
    let cursor: string | undefined
    for await (const batch of client.transactions.list({ limit: 20 }).batches()) {
      cursor = batch.cursor
      service.transactions.shift()
      if (batch.items.length < 20) break
    }
    for await (const _ of client.transactions.list({}, { after: cursor })) break
    for await (const _ of client.transactions.list({ limit: 100 }, { verified: false }));
    await client.virtualAccounts.deactivate(account)
    await client.withOptions({ timeout: 1000 }).request('GET', '/transactions', { query: { page: 2 } })
    for (const fault of [
      'network-error',
      'truncate',
      Response.json({ error: {} }, { status: 409 }),
    ] as const) {
      service.fail({ with: fault })
      await rejectionOf(client.virtualAccounts.deactivate(account))
    }
    service.fail({ with: Response.json({ data: [{}], page: 1, totalItems: 1, limit: 1 }) })
    await rejectionOf(client.transactions.list())
    service.fail({ with: new Response('<html>') })
    await rejectionOf(client.request('GET', '/x'))
    service.fail({ with: 'hang' })
    await rejectionOf(client.transactions.list({}, { timeout: 5 }))
  })
  // ky reads these two from an object of its own. What it finds is replaced, as the next test shows.
  const own = /^(?:hooks|headers): deepMergeInternal /
  expect(reads.filter(read => !own.test(read))).toEqual([])
})

test('nothing that Object.prototype holds is sent, or breaks a call', async () => {
  const service = new FakeService({ transactions: sampleTransactions(5) })
  const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey, fetch: service.fetch })
  const failing = () => Promise.reject(new Error('this is of Object.prototype'))
  const values = {
    headers: { 'X-Polluted': '1' },
    json: { polluted: true },
    searchParams: { polluted: 1 },
    limit: 7,
    page: 3,
    after: 'polluted',
    idempotencyKey: 'polluted',
    totalTimeout: 1e-9,
    signal: AbortSignal.abort(),
    prefix: 'https://polluted.example.com',
    fetch: failing,
    init: [failing],
    beforeRequest: [failing],
    afterResponse: [failing],
    hooks: { beforeRequest: [failing] },
  }
  const sent = async () => {
    service.reset()
    for await (const _ of client.transactions.list());
    await client.virtualAccounts.deactivate(account, { idempotencyKey: 'k1' })
    await client.virtualAccounts.deactivate(account)
    return service.requests.map(({ headers, ...request }) => {
      const hasOwnKey = headers.get('Idempotency-Key') === 'k1'
      return { ...request, headers: [...headers.keys()], hasOwnKey }
    })
  }
  const clean = () => {
    for (const name of Object.keys(values)) Reflect.deleteProperty(Object.prototype, name)
  }
  onTestFinished(clean)
  const expected = await sent()
  for (const [name, value] of Object.entries(values))
    Object.defineProperty(Object.prototype, name, {
      value,
      configurable: true,
      writable: true,
      enumerable: true,
    })
  const polluted = await sent()
  clean()
  expect(polluted).toEqual(expected)
})

test('what is not given is not taken from Object.prototype', async () => {
  const service = new FakeService({ transactions: [] })
  const { baseUrl, apiKey, fetch } = service
  const client = new Client({ baseUrl, apiKey, fetch })
  const values = {
    href: 'https://polluted.example.com',
    customerId: 'polluted',
    virtualAccountId: 'polluted',
  }
  onTestFinished(() => {
    for (const name of Object.keys(values)) Reflect.deleteProperty(Object.prototype, name)
  })
  for (const [name, value] of Object.entries(values))
    Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true })
  expect(() => new Client({ baseUrl: undefined, apiKey, fetch })).toThrow(/^baseUrl: /)
  const error = await rejectionOf(client.virtualAccounts.deactivate({ customerId: 'c1' } as never))
  expect(error).toBeInstanceOf(TypeError)
  expect(service.requests).toEqual([])
})
