import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { ApiError, Client, type ClientOptions } from 'virtual-accounts'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { account, rejectionOf } from '../support.ts'

// Over a real connection: its events come from Node's own queues, whose frames must not come first.
const server = createServer((request, response) => {
  const page = Number(new URL(request.url ?? '', 'http://localhost').searchParams.get('page'))
  const body = { data: [{ id: `t${page}`, amount: 1, currency: 'AED', description: '' }], totalItems: 9 }
  response.statusCode = page > 0 && page < 3 ? 200 : 503
  response.end(JSON.stringify({ ...body, page, limit: 1 }))
})

beforeAll(() => new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve)))
afterAll(() => void server.close())

function createClient(options: Partial<ClientOptions> = {}): Client {
  const { port } = server.address() as AddressInfo
  return new Client({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'key', ...options })
}

const thisFile = fileURLToPath(import.meta.url)

function framesOf(error: unknown): string[] {
  if (!(error instanceof ApiError)) throw new Error('expected an ApiError', { cause: error })
  const [first, ...frames] = (error.stack ?? '').split('\n')
  expect(first).toBe(`${error.name}: ${error.message}`)
  return frames
}

async function callerOf(call: (client: Client) => Promise<unknown>, options?: Partial<ClientOptions>) {
  await call(createClient({ maxRetries: 0, ...options }))
}

test.each<[string, () => Promise<unknown>]>([
  [
    'a loop over the items of a list',
    () =>
      callerOf(async client => {
        for await (const _ of client.transactions.list()) await null
      }),
  ],
  [
    'a loop over pages that were made elsewhere',
    () =>
      callerOf(async client => {
        const pages = await Promise.resolve([client.transactions.list().batches()])
        for await (const _ of pages[0] as AsyncIterable<unknown>) await null
      }),
  ],
  ['an awaited list', () => callerOf(async client => await client.transactions.list({ page: 3 }))],
  [
    'nextPage',
    () => callerOf(async client => await (await client.transactions.list({ page: 2 })).nextPage()),
  ],
  [
    'a write that is retried',
    () => callerOf(async client => await client.virtualAccounts.deactivate(account), { maxRetries: 1 }),
  ],
  ['client.request', () => callerOf(async client => await client.request('GET', '/a'))],
])('the first frame of an error from %s is the caller', async (_what, call) => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const frames = framesOf(await rejectionOf(call()))
  expect(frames[0]).toContain(thisFile)
  expect(frames.filter(frame => /\/src\/|\/node_modules\/ky\//.test(frame))).toEqual([])
})
