import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { expect, onTestFinished, test } from 'vitest'
import { account, rejectionOf } from '../support.ts'

const source = fileURLToPath(new URL('../../src', import.meta.url))
/** What every program breaks with, as the engine itself reads them. */
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

/** Each name that the source has anywhere, such as those of options and of the fields of its own objects. */
function namesInSource(): Set<string> {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.ts'),
  )
  const text = files.map(name => readFileSync(join(source, name), 'utf8')).join()
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
        if (reader.includes(`${source}/`)) reads.add(`${name}: ${reader}`)
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
  expect(reads).toEqual([])
})
