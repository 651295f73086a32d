import type { Client } from 'virtual-accounts'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createService, Guide, run } from './guide.ts'

// The other blocks are run by test/readme.test.ts.

const guide = new Guide('docs/rate-limits.md')
const service = createService()
/** How long each request waited for its turn, in milliseconds of a clock that stands still. */
let delays: number[]

beforeEach(() => {
  delays = []
  service.reset()
  vi.spyOn(performance, 'now').mockReturnValue(1_000)
  vi.spyOn(console, 'log').mockReturnValue()
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
})

async function runBlock(setTimeout: (ms: number) => unknown = ms => delays.push(ms)): Promise<Client> {
  const modules = {
    'node:timers/promises': async () => ({ setTimeout: async (ms: number) => setTimeout(ms) }),
  }
  return (await run(service, guide.code('function spaced'), { modules, last: 'return client' })) as Client
}

test('requests are sent one interval apart', async () => {
  await runBlock()
  expect(delays).toEqual([0, 100, 200])
  expect(service.requests).toHaveLength(3)
})

test('retries take their turn, too', async () => {
  const client = await runBlock()
  service.fail({ with: () => new Response(null, { status: 503 }) })
  await client.transactions.list()
  expect(delays.slice(3)).toEqual([300, 400])
})

test('a request that is aborted before its turn is not sent', async () => {
  const controller = new AbortController()
  const client = await runBlock(ms => {
    if (ms === 300) controller.abort()
  })
  const fetch = vi.fn(service.fetch)
  vi.stubGlobal('fetch', fetch)
  await expect(client.transactions.list({}, { signal: controller.signal })).rejects.toThrow('aborted')
  await new Promise(resolve => setTimeout(resolve))
  expect(fetch).not.toHaveBeenCalled()
})
