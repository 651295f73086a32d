import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { Client } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

// The documentation runs. Each ```ts block is a program of its own, checked by the compiler and then run against a
// fake service with 250 transactions. What a block uses and does not declare is given: `service`, that fake; `client`,
// one that talks to it; `account`, one of its accounts. A block may instead make a client for
// https://api.example.com with the key API_KEY: that is where the fake is. Above a block may stand
//   <!-- first: service.fail({ with: 'hang' }) -->   to be run before it
//   <!-- not run: it needs a browser -->             to be checked only
// What a comment behind a console.log says must be what it prints.
// vitest's test, beforeEach … are ours: tests are run, one after the other, when the block has come to its end.

const root = join(import.meta.dirname, '..')
const guides = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.md') && !file.startsWith('api'))
  .map(file => `docs/${file.replaceAll('\\', '/')}`)

interface Block {
  readonly name: string
  readonly code: string
  readonly first: string
  readonly reasonNotToRun: string | undefined
}

const blocks = ['README.md', ...guides.toSorted()].flatMap(blocksOf)

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8')
  const found = text.matchAll(/(?:<!-- (first|not run): (.*) -->\n+)?```ts\n([\s\S]*?)```/g)
  return [...found].map(([, mark, remark = '', code = ''], index) => ({
    name: `${page} ${index + 1}: ${code.trim().split('\n').at(-1)}`,
    code,
    first: mark === 'first' ? remark : '',
    reasonNotToRun: mark === 'not run' ? remark : undefined,
  }))
}

describe('what the documentation shows', () => {
  test('compiles', { timeout: 60_000 }, () => {
    expect(problemsOf(blocks)).toEqual([])
  })

  let service: FakeService
  beforeEach(() => {
    vi.stubEnv('API_KEY', 'test_key')
    service = new FakeService({ baseUrl: 'https://api.example.com', transactions: sampleTransactions(250) })
    for (const method of ['log', 'error', 'warn'] as const) vi.spyOn(console, method).mockReturnValue()
  })
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
  })

  const toRun = blocks.filter(({ reasonNotToRun }) => reasonNotToRun === undefined)
  test.each(toRun)('runs: $name', async ({ code, first }) => {
    const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey })
    const account = { customerId: 'c1', virtualAccountId: 'v1' }
    // MSW leaves a fetch alone that is not the runtime's own.
    if (!code.includes(`from 'msw'`)) vi.stubGlobal('fetch', service.fetch)
    const runner = new Runner()
    const modules: Record<string, () => Promise<unknown>> = {
      'virtual-accounts': () => import('virtual-accounts'),
      'virtual-accounts/testing': () => import('virtual-accounts/testing'),
      vitest: async () => runner.module,
      msw: () => import('msw'),
      'msw/node': () => import('msw/node'),
      zod: () => import('zod'),
      'node:crypto': () => import('node:crypto'),
      'node:fs/promises': async () => files(),
    }
    const load = (name: string) => modules[name]?.() ?? Promise.reject(new Error(`no module ${name} here`))
    const run = new AsyncFunction('load', 'service', 'client', 'account', runnable(`${first}\n${code}`))
    await run(load, service, client, account)
    await runner.run()
    const printed = vi.mocked(console.log).mock.calls.map(values => values.join(' '))
    expect(printed).toEqual(expect.arrayContaining(outputsOf(code)))
  })
})

function outputsOf(code: string): string[] {
  return [...code.matchAll(/console\.log\(.*\) \/\/ (.*)/g)].map(([, output]) => output as string)
}

const AsyncFunction = (async () => {}).constructor as new (
  ...parameters: string[]
) => (...values: unknown[]) => Promise<void>

/** As the body of a function: without types, its imports loaded. In braces, to declare what is given anew. */
function runnable(code: string): string {
  const script = ts
    .transpile(code, { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext })
    .replace(
      /^import (?:\* as (\w+)|(\{[\s\S]*?\})) from '([^']+)'/gm,
      (_, all: string | undefined, some: string | undefined, name: string) =>
        `const ${all ?? some?.replaceAll(' as ', ': ')} = await load('${name}')`,
    )
  return `{\n${script}\n}`
}

/** Enough of vitest to run the tests of a block within a test. */
class Runner {
  readonly #tests: (() => unknown)[] = []
  readonly #before: (() => unknown)[] = []
  readonly #after: (() => unknown)[] = []

  readonly module = {
    expect,
    vi,
    test: (_name: string, run: () => unknown) => this.#tests.push(run),
    beforeAll: (run: () => unknown) => this.#tests.unshift(run),
    beforeEach: (run: () => unknown) => this.#before.push(run),
    afterAll: (run: () => unknown) => this.#after.push(run),
  }

  async run(): Promise<void> {
    try {
      for (const run of this.#tests) {
        for (const prepare of this.#before) await prepare()
        await run()
      }
    } finally {
      for (const end of this.#after) await end()
    }
  }
}

/** A file system in memory. */
function files() {
  const texts = new Map<string, string>()
  return {
    writeFile: async (name: string, text: string) => void texts.set(name, text),
    readFile: async (name: string) => texts.get(name),
    rm: async (name: string) => void texts.delete(name),
  }
}

const given = `
  declare global {
    const service: import('virtual-accounts/testing').FakeService
    const client: import('virtual-accounts').Client
    const account: import('virtual-accounts').VirtualAccountRef
  }
  export {}
`

/** What the compiler says of the blocks, as modules beside the tests that are nowhere but in memory. */
function problemsOf(blocks: readonly Block[]): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.test.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const texts = new Map(
    blocks.map(({ name, code }) => [`${root}/test/${name.split(':')[0]}.ts`, `${code}\nexport {}`]),
  )
  texts.set(`${root}/test/given.d.ts`, given)
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile } = host
  host.fileExists = file => texts.has(file) || fileExists(file)
  host.readFile = file => texts.get(file) ?? readFile(file)
  const program = ts.createProgram([...texts.keys()], options, host)
  const problems = [...texts.keys()].flatMap(file =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(file)),
  )
  return problems.map(({ file, start = 0, messageText }) => {
    const line = (file?.getLineAndCharacterOfPosition(start).line ?? 0) + 1
    return `${file?.fileName.slice(root.length)} line ${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
}
