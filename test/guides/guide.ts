import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { Client } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { vi } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** A guide whose code blocks are taken by what they contain. */
export class Guide {
  readonly #blocks: readonly string[]
  readonly #untaken: Set<string>

  constructor(page: string) {
    const text = readFileSync(join(root, page), 'utf8')
    this.#blocks = Array.from(text.matchAll(/^```\w+\n([\s\S]*?)^```$/gm), ([, code = '']) => code)
    this.#untaken = new Set(this.#blocks)
  }

  /** The code of the only block that contains this text. */
  code(text: string): string {
    const found = this.#blocks.filter(code => code.includes(text))
    const [code] = found
    if (code === undefined || found.length > 1) {
      throw new Error(`expected one block with ${JSON.stringify(text)}, found ${found.length}`)
    }
    this.#untaken.delete(code)
    return code
  }

  /** The blocks that no test has taken so far. */
  get untaken(): string[] {
    return [...this.#untaken]
  }
}

/** A fake service with 250 transactions at the address that the guides use. */
export function createService(): FakeService {
  return new FakeService({ baseUrl: 'https://api.example.com', transactions: sampleTransactions(250) })
}

/** Responds with a status to requests for some pages, until the returned function is called. */
export function failPages(
  service: FakeService,
  status: number,
  isFailing: (page: number) => boolean,
): () => void {
  const respond = vi.spyOn(service, 'handle')
  const handle = FakeService.prototype.handle.bind(service)
  respond.mockImplementation(async request =>
    isFailing(Number(new URL(request.url).searchParams.get('page')))
      ? new Response(null, { status })
      : handle(request),
  )
  return () => respond.mockRestore()
}

/** What a block may import, by name. */
export type Modules = Record<string, () => Promise<unknown>>

/**
 * Runs a block against a service, as readers would: its imports are loaded, and `client` is there if it does not make one.
 * Returns what `last`, further statements of the same scope, return.
 */
export async function run(
  service: FakeService,
  code: string,
  { modules = {}, givens = {}, last = '' }: { modules?: Modules; givens?: object; last?: string } = {},
): Promise<unknown> {
  vi.stubEnv('API_KEY', service.apiKey)
  vi.stubGlobal('fetch', service.fetch)
  const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey })
  const account = { customerId: 'c1', virtualAccountId: 'v1' }
  const all: Modules = { 'virtual-accounts': () => import('virtual-accounts'), ...modules }
  const load = (name: string) => all[name]?.() ?? Promise.reject(new Error(`no module ${name} here`))
  const scope = { load, service, client, account, ...givens }
  const program = new AsyncFunction(...Object.keys(scope), toFunctionBody(`${code}\n${last}`))
  return program(...Object.values(scope))
}

const AsyncFunction = (async () => {}).constructor as new (
  ...parameters: string[]
) => (...values: unknown[]) => Promise<unknown>

/** In braces, so that a block may declare again what is given. */
function toFunctionBody(code: string): string {
  const script = ts
    .transpile(code, { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, jsx: ts.JsxEmit.React })
    .replace(/^export \{\};?$/gm, '')
    .replace(/^export (?=const|function|async|class)/gm, '')
    .replace(
      /^import (?:\* as (\w+)|(\{[\s\S]*?\})) from '([^']+)';?/gm,
      (_, all: string | undefined, some: string | undefined, name: string) =>
        `const ${all ?? some?.replaceAll(' as ', ': ')} = await load('${name}')`,
    )
  return `{\n${script}\n}`
}
