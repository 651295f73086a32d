import { once } from 'node:events'
import * as fs from 'node:fs'
import * as fsPromises from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, vi } from 'vitest'
import { type Declared, type Modules, runCode } from './snippets.ts'

export { printed } from './snippets.ts'

// What every test of a guide has: a service with 250 transactions at the address that the guides use, reset before each
// test, an API key in the environment, a folder of its own, a console that prints nothing, and retries without their delays.

export const service: FakeService = new FakeService({
  baseUrl: 'https://api.example.com',
  transactions: sampleTransactions(250),
})
export const account = { customerId: 'c1', virtualAccountId: 'v1' }
export let folder: string

const { setTimeout } = globalThis
/** Delays of retries pass at once; time limits, which are longer, stay. */
const impatient = (callback: (value: unknown) => void, ms = 0, value?: unknown) =>
  setTimeout(callback, ms > 2_000 ? ms : 0, value)

beforeEach(() => {
  service.reset()
  folder = fs.mkdtempSync(join(tmpdir(), 'virtual-accounts-docs-'))
  vi.stubGlobal('setTimeout', impatient)
  vi.stubEnv('API_KEY', service.apiKey)
  vi.stubEnv('BASE_URL', service.baseUrl)
  vi.stubGlobal('fetch', service.fetch)
  vi.spyOn(console, 'log').mockReturnValue()
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
  fs.rmSync(folder, { recursive: true, force: true })
})

/** Runs a program that may use `service`, `client` and `account` without declaring them. Returns what it declares. */
export function run(code: string, givens: object = {}, modules: Modules = {}): Promise<Declared> {
  const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey })
  return runCode(code, { service, client, account, ...givens }, { ...files, ...modules })
}

export function keys(): (string | null)[] {
  return service.requests.map(({ headers }) => headers.get('Idempotency-Key'))
}

/** `node:fs` and `node:fs/promises`, as if the folder were the root of the file system. */
const within = (module: object) => () =>
  Object.fromEntries(
    Object.entries(module).map(([name, use]) => [
      name,
      typeof use === 'function'
        ? (path: string, ...rest: unknown[]) => use(join(folder, path), ...rest)
        : use,
    ]),
  )
const files: Modules = { 'node:fs': within(fs), 'node:fs/promises': within(fsPromises) }

/** Serves a fake over HTTP, for programs that are run as a user runs them. */
export async function serve(
  transactions: number,
): Promise<{ service: FakeService; env: Record<string, string>; close: () => void }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const service = new FakeService({ baseUrl, transactions: sampleTransactions(transactions), latency: 5 })
  server.on('request', async ({ method = 'GET', url, headers }, reply) => {
    const request = new Request(baseUrl + url, { method, headers: headers as Record<string, string> })
    const response = await service.handle(request)
    reply.writeHead(response.status, Object.fromEntries(response.headers))
    reply.end(await response.text())
  })
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { service, env: { BASE_URL: baseUrl, API_KEY: service.apiKey }, close }
}
