import * as fs from 'node:fs'
import * as fsPromises from 'node:fs/promises'
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

/**
 * Runs a program that may use `service`, `client`, `account` and `idempotencyKey` without declaring them, in a folder of its
 * own. Returns what it declares.
 */
export function run(code: string, modules: Modules = {}, givens: object = {}): Promise<Declared> {
  const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey })
  const scope = { service, client, account, idempotencyKey: 'k1', ...givens }
  return runCode(code, scope, { ...filesIn(folder), ...modules })
}

export function keys(): (string | null)[] {
  return service.requests.map(({ headers }) => headers.get('Idempotency-Key'))
}

/** Responds with a status to requests for some pages, until the returned function is called. */
export function failPages(status: number, isFailing: (page: number) => boolean): () => void {
  const fetch: typeof service.fetch = async (input, init) => {
    const page = Number(new URL(String(input)).searchParams.get('page'))
    return isFailing(page) ? new Response(null, { status }) : service.fetch(input, init)
  }
  vi.stubGlobal('fetch', fetch)
  return () => vi.stubGlobal('fetch', service.fetch)
}

/** `node:fs` and `node:fs/promises`, as if the folder were the root of the file system. */
export function filesIn(folder: string): Modules {
  const within = (module: object) => () =>
    Object.fromEntries(
      Object.entries(module).map(([name, use]) => [
        name,
        typeof use === 'function'
          ? (path: string, ...rest: unknown[]) => use(join(folder, path), ...rest)
          : use,
      ]),
    )
  return { 'node:fs': within(fs), 'node:fs/promises': within(fsPromises) }
}
