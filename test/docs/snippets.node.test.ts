import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { Client } from 'virtual-accounts'
import { describe, expect, test, vi } from 'vitest'
import { account, folder, printed, run, service } from './guide.ts'
import { pages, readPage, root, type Snippet, snippetsOf } from './snippets.ts'

// Each program of README.md and of the guides is compiled, if it is TypeScript, and run here, unless another test of this
// folder names it. It must print what its comments show, and tests in it must pass.

const programs = pages.flatMap(snippetsOf)
const nameOf = ({ page, heading }: Pick<Snippet, 'page' | 'heading'>) => `${page}: ${heading}`

const tests = globSync('*.test.ts', { cwd: import.meta.dirname }).map(file =>
  readFileSync(join(import.meta.dirname, file), 'utf8'),
)
const named = tests.flatMap(text =>
  Array.from(text.matchAll(/\bsnippet\('([^']+)', '([^']+)'\)/g), ([, page = '', heading = '']) =>
    nameOf({ page, heading }),
  ),
)

const writeFile = (name: string, text: string) => {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), text)
}
const respond = (body: unknown, status = 200) => service.fail({ with: () => Response.json(body, { status }) })
const serveRefunds = () => service.serveList('/refunds', [{ id: 'r1' }])
const amountsOf = (...amounts: unknown[]) => {
  const data = amounts.map((amount, index) => `{"id":"t${index}","amount":${amount}}`).join()
  const page = `{"data":[${data}],"page":1,"limit":100,"totalItems":${amounts.length}}`
  service.fail({ with: () => new Response(page) })
}

function loseResponses() {
  const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause: lost }))
  vi.stubGlobal('fetch', fetch)
}

/** What a program needs to find. */
const prepared: Record<string, () => void> = {
  'README.md: When it fails': () => loseResponses(),
  'README.md: Other endpoints': serveRefunds,
  // The fake knows no filters.
  'lists.md: A part of a list': () => respond({ data: [], page: 1, limit: 20, totalItems: 0 }),
  'lists.md: Other lists': serveRefunds,
  'options.md: An API key that changes': () => writeFile('run/secrets/api-key', 'test_key\n'),
  'runtimes.md: An agent of undici': () => {
    writeFile('client.pem', '')
    writeFile('client.key', '')
  },
  'testing.md: With MSW': () => vi.unstubAllGlobals(), // MSW intercepts only the runtime's own fetch.
  'typing.md: Numbers': () => amountsOf('9007199254740993', 0.1, 0.2),
  'typing.md: Types and schemas': () =>
    service.fail({ path: '/customers/c1', with: Response.json({ id: 'c1', name: 'Ada' }) }),
}

/** Enough of vitest to run the tests of a program within a test. */
class Runner {
  readonly #steps: Record<string, (() => unknown)[]> = {}
  readonly module: object = {
    expect,
    vi,
    test: (_name: string, body: () => unknown) => this.#add('test', body),
    ...Object.fromEntries(
      ['beforeAll', 'beforeEach', 'afterEach', 'afterAll'].map(name => [
        name,
        (hook: () => unknown) => this.#add(name, hook),
      ]),
    ),
  }

  #add(name: string, step: () => unknown): void {
    this.#steps[name] = [...(this.#steps[name] ?? []), step]
  }

  async run(): Promise<void> {
    try {
      for (const name of ['beforeAll', 'beforeEach', 'test', 'afterEach'])
        for (const step of this.#steps[name] ?? []) await step()
    } finally {
      for (const step of this.#steps.afterAll ?? []) await step()
    }
  }
}

describe('runs, and prints what it shows', () => {
  const others = programs.filter(program => !named.includes(nameOf(program)))
  test.each(others.map(program => [nameOf(program), program] as const))('%s', async (name, program) => {
    prepared[name]?.()
    const runner = new Runner()
    await run(program.code, { vitest: () => runner.module })
    await runner.run()
    if (program.shown !== undefined)
      expect(printed().join(' ')).toContain(program.shown.trim().replaceAll('\n', ' '))
  })
})

test('errors.md shows how messages begin', async () => {
  const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause: lost }))
  const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey })
  const messages = []
  for (const used of [client, client.withOptions({ fetch })]) {
    respond({ message: 'account is already inactive' }, 422)
    messages.push(await used.virtualAccounts.deactivate(account).catch(({ message }) => message))
  }
  const [, shown = ''] = /## Messages[\s\S]*?```text\n([\s\S]*?)```/.exec(readPage('errors.md')) ?? []
  const [refused = '', noResponse = ''] = shown.trim().split('\n\n')
  expect(messages[0]).toBe(refused.replaceAll('\n', ' '))
  expect(messages[1]).toContain(noResponse.replaceAll('\n', ' '))
})

test('the TypeScript of all pages compiles', { timeout: 120_000 }, () => {
  const here = import.meta.dirname
  const files = new Map(
    programs
      .filter(({ language }) => language !== 'js')
      .map((program, index) => {
        const name = `${nameOf(program)} ${index}`.replaceAll('/', ' ')
        return [join(here, `${name}.${program.language}`), `${program.code}\nexport {}`]
      }),
  )
  files.set(join(here, 'given.d.ts'), given)
  const config = ts.getParsedCommandLineOfConfigFile(
    join(here, 'tsconfig.json'),
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} },
  )
  const host = ts.createCompilerHost(config?.options ?? {})
  const { fileExists, readFile } = host
  host.fileExists = file => files.has(file) || fileExists(file)
  host.readFile = file => files.get(file) ?? readFile(file)
  const program = ts.createProgram([...files.keys()], config?.options ?? {}, host)
  const problems = [...files.keys()].flatMap(file =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(file)),
  )
  const shown = problems.map(({ file, start = 0, messageText }) => {
    const line = (file?.getLineAndCharacterOfPosition(start).line ?? 0) + 1
    return `${file?.fileName.slice(root.length)}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
  expect(shown).toEqual([])
})

const given = `
  declare global {
    const service: import('virtual-accounts/testing').FakeService
    const client: import('virtual-accounts').Client
    const account: import('virtual-accounts').VirtualAccountRef
  }
  export {}
`
