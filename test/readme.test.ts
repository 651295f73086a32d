import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { metrics, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Browser, Page } from 'playwright'
import ts from 'typescript'
import { Client } from 'virtual-accounts'
import { FakeService, type ReceivedRequest, sampleTransactions } from 'virtual-accounts/testing'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { chromiumOptions } from '../tools/chromium.js'

// The documentation runs. Each block of ts, js, tsx or html is a program of its own. ts is also checked by the compiler.
// All run against a fake service with 250 transactions, html as a page in Chromium.
//
// A block can use, without declaring them: `service`, that fake; `client`, which calls it; `account`, one of its accounts.
// Instead it can make a client for https://api.example.com with the key API_KEY: there, too, is the fake.
//
// Each block must say what it prints, throws or sends, or else a block that does nothing would pass. The comment after a
// `console.log(…) // output` is what it prints. Above a block there can be
//   <!-- first: service.fail({ with: 'hang' }) -->                  code that runs before it
//   <!-- then: expect(sent()).toHaveLength(1) -->                   code that runs after it
//   <!-- throws: PaginationError: the list shrank -->               the class of its error, and a part of the message
//   <!-- not run: examples/scaling has the whole program -->        neither compiled nor run, and why
// In this code there are also
//   printed(), errors()   the lines of console.log; those of console.error and console.warn
//   sent(), keys()        `GET /transactions?page=1` for each request received; its idempotency keys
//   tests()               the names of the tests that the block declared: they run when it has ended
//   files, telemetry      files in memory instead of node:fs; what OpenTelemetry collected
//   page                  a page of Chromium, for a block that imports playwright

const root = join(import.meta.dirname, '..')
const guides = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .map(file => `docs/${file.replaceAll('\\', '/')}`)
  .filter(file => file.endsWith('.md') && !file.startsWith('docs/api/'))

interface Block {
  readonly name: string
  readonly language: string
  readonly code: string
  readonly first: string
  readonly then: string
  readonly throws: string | undefined
  readonly reasonNotToRun: string | undefined
}

const blocks = ['README.md', 'tools/site/home.md', ...guides.toSorted()].flatMap(readBlocks)

function readBlocks(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8')
  const found = text.matchAll(/((?:<!-- .* -->\n+)*)^```(ts|js|tsx|html)\n([\s\S]*?)^```/gm)
  return Array.from(found, ({ 1: marks = '', 2: language = '', 3: code = '', index }) => ({
    name: `${page} line ${text.slice(0, index + marks.length).split('\n').length}`,
    language,
    code,
    first: valuesOf(marks, 'first').join('\n'),
    then: valuesOf(marks, 'then').join('\n'),
    throws: valuesOf(marks, 'throws')[0],
    reasonNotToRun: valuesOf(marks, 'not run')[0],
  }))
}

function valuesOf(marks: string, name: string): string[] {
  return Array.from(
    marks.matchAll(new RegExp(`^<!-- ${name}: (.*) -->$`, 'gm')),
    ([, value]) => value as string,
  )
}

describe('the documentation', () => {
  const blocksToRun = blocks.filter(({ reasonNotToRun }) => reasonNotToRun === undefined)
  const isPage = ({ language }: Block) => language === 'html'
  const needsBrowser = (block: Block) => isPage(block) || block.code.includes(`from 'playwright'`)

  test('has examples that compile', { timeout: 60_000 }, () => {
    expect(compile(blocksToRun.filter(({ language }) => language === 'ts'))).toEqual([])
  })

  test('says of every example what it prints, throws or sends', () => {
    const saysNothing = ({ code, then, throws }: Block) =>
      throws === undefined && !then.includes('expect(') && outputsOf(code).length === 0
    const silent = blocksToRun.filter(block => !isPage(block) && saysNothing(block))
    expect(silent.map(({ name }) => name)).toEqual([])
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

  test.each(blocksToRun.filter(block => !needsBrowser(block)))('has an example that works: $name', block =>
    run(block),
  )

  const testInBrowser = test.skipIf(!existsSync(chromiumOptions.executablePath))
  testInBrowser.each(blocksToRun.filter(needsBrowser))(
    'has an example that works in Chromium: $name',
    // A browser takes long to start on a busy machine.
    { timeout: 60_000 },
    async block => {
      const page = await (await startBrowser()).newPage()
      await (isPage(block) ? open(page, block) : run(block, { page }))
    },
  )

  let browser: Promise<Browser> | undefined
  const startBrowser = () => {
    browser ??= import('playwright').then(({ chromium }) => chromium.launch(chromiumOptions))
    return browser
  }
  afterAll(async () => (await browser)?.close())

  async function run({ code, first, then, throws }: Block, more: object = {}): Promise<void> {
    const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey })
    const account = { customerId: 'c1', virtualAccountId: 'v1' }
    // MSW leaves a fetch alone that is not the runtime's own.
    if (!code.includes(`from 'msw'`)) vi.stubGlobal('fetch', service.fetch)
    const runner = new Runner()
    const files = new Files()
    const telemetry = new Telemetry()
    const modules: Record<string, () => Promise<unknown>> = {
      'virtual-accounts': () => import('virtual-accounts'),
      'virtual-accounts/testing': () => import('virtual-accounts/testing'),
      vitest: async () => runner.module,
      msw: () => import('msw'),
      'msw/node': () => import('msw/node'),
      zod: () => import('zod'),
      valibot: () => import('valibot'),
      'big.js': () => import('big.js'),
      pino: printingPino,
      '@opentelemetry/api': () => import('@opentelemetry/api'),
      'node:crypto': () => import('node:crypto'),
      'node:fs': async () => files,
      'node:fs/promises': async () => files,
      'node:stream': () => import('node:stream'),
      'node:stream/promises': () => import('node:stream/promises'),
      'node:timers/promises': () => import('node:timers/promises'),
    }
    const load = (name: string) => modules[name]?.() ?? Promise.reject(new Error(`no module ${name} here`))
    const linesOf = (method: 'log' | 'error' | 'warn') =>
      vi.mocked(console[method]).mock.calls.map(values => values.join(' '))
    const printed = () => linesOf('log')
    const globals = {
      load,
      service,
      client,
      account,
      expect,
      files,
      telemetry,
      printed,
      errors: () => [...linesOf('error'), ...linesOf('warn')],
      sent: () => service.requests.map(toLine),
      keys: () => service.requests.map(({ headers }) => headers.get('Idempotency-Key')).filter(Boolean),
      tests: () => runner.names,
      runTests: () => runner.run(),
      ...more,
    }
    // In braces, so that a block can declare a client of its own.
    const program = `{\n${toScript(`${first}\n${code}`)}\nawait runTests()\n${then}\n}`
    const execution = new AsyncFunction(...Object.keys(globals), program)(...Object.values(globals))
    await (throws === undefined ? execution : expectRejection(execution, throws))
    expectInOrder(printed(), outputsOf(code))
  }

  /** Loads a page that imports the package by its URL, as `browser.md` says. */
  async function open(page: Page, { code }: Block): Promise<void> {
    const problems: string[] = []
    page.on('pageerror', error => problems.push(error.message))
    page.on('response', response => {
      if (!response.ok()) problems.push(`${response.status()} ${response.url()}`)
    })
    const modules: Record<string, string> = {
      'index.js': 'src/index.ts',
      'testing.js': 'src/testing/index.ts',
    }
    const loaded: string[] = []
    await page.route('https://app.example.com/**', async route => {
      const name = new URL(route.request().url()).pathname.replace('/virtual-accounts/', '')
      if (name === '/') return route.fulfill({ contentType: 'text/html', body: code })
      const entry = modules[name]
      if (entry === undefined) return route.fulfill({ status: name === '/favicon.ico' ? 204 : 404 })
      loaded.push(name)
      const body = await bundle(entry)
      return route.fulfill({ contentType: 'text/javascript', body })
    })
    await page.goto('https://app.example.com/', { waitUntil: 'networkidle' })
    expect(problems).toEqual([])
    expect(loaded).not.toEqual([])
  }
})

async function bundle(entry: string): Promise<string> {
  const { build } = await import('esbuild')
  const options = { bundle: true, format: 'esm', write: false, absWorkingDir: root } as const
  const { outputFiles } = await build({ ...options, entryPoints: [entry] })
  return outputFiles[0]?.text ?? ''
}

function toLine({ method, path, query }: ReceivedRequest): string {
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${value}`)
  return `${method} ${path}${parameters.length === 0 ? '' : `?${parameters.join('&')}`}`
}

async function expectRejection(execution: Promise<void>, expected: string): Promise<void> {
  const error = await execution.then(
    () => undefined,
    (reason: Error) => reason,
  )
  const [type, ...message] = expected.split(': ')
  expect(error?.constructor.name).toBe(type)
  expect(error?.message).toContain(message.join(': '))
}

function outputsOf(code: string): string[] {
  return Array.from(code.matchAll(/console\.log\(.*\) \/\/ (.*)/g), ([, output]) => output as string)
}

function expectInOrder(lines: readonly string[], expected: readonly string[]): void {
  let from = 0
  for (const output of expected) {
    const at = lines.indexOf(output, from)
    if (at === -1) expect(lines.slice(from), `after the first ${from} lines`).toContain(output)
    from = at + 1
  }
}

const AsyncFunction = (async () => {}).constructor as new (
  ...parameters: string[]
) => (...values: unknown[]) => Promise<void>

/** As statements of a function: without types, and with imports loaded. */
function toScript(code: string): string {
  return ts
    .transpile(code, { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext })
    .replace(/^export \{\};?$/m, '')
    .replace(
      /^import (?:\* as (\w+)|(\w+)|(\{[\s\S]*?\})) from '([^']+)'/gm,
      (_, all?: string, only?: string, some?: string, name?: string) => {
        const names = all ?? (only ? `{ default: ${only} }` : some?.replaceAll(' as ', ': '))
        return `const ${names} = await load('${name}')`
      },
    )
}

/** Enough of vitest to run the tests of a block within a test. */
class Runner {
  readonly names: string[] = []
  readonly #tests: (() => unknown)[] = []
  readonly #before: (() => unknown)[] = []
  readonly #afterEach: (() => unknown)[] = []
  readonly #after: (() => unknown)[] = []

  readonly module = {
    expect,
    vi,
    test: (name: string, run: () => unknown) => {
      this.#tests.push(async () => {
        for (const prepare of this.#before) await prepare()
        try {
          await run()
        } finally {
          for (const end of this.#afterEach) await end()
        }
        this.names.push(name)
      })
    },
    beforeAll: (run: () => unknown) => this.#tests.unshift(run),
    beforeEach: (run: () => unknown) => this.#before.push(run),
    afterEach: (run: () => unknown) => this.#afterEach.push(run),
    afterAll: (run: () => unknown) => this.#after.push(run),
  }

  async run(): Promise<void> {
    try {
      for (const run of this.#tests) await run()
    } finally {
      for (const end of this.#after) await end()
    }
  }
}

/** A file system in memory: what of node:fs and node:fs/promises the documentation uses. */
class Files {
  readonly texts = new Map<string, string>()

  readonly writeFile = async (name: string, text: string) => void this.texts.set(name, text)
  readonly readFile = async (name: string) => this.texts.get(name)
  readonly rm = async (name: string) => void this.texts.delete(name)

  readonly createWriteStream = (name: string) => {
    this.texts.set(name, '')
    const write = (chunk: unknown, _encoding: string, done: () => void) => {
      this.texts.set(name, `${this.texts.get(name)}${chunk}`)
      done()
    }
    return new Writable({ write })
  }
}

/** pino, writing to console.log what would go to stdout. */
async function printingPino() {
  const { pino } = await import('pino')
  const write = (line: string) => console.log(line)
  return { pino: (options: object = {}) => pino(options, { write }) }
}

/** Collects what the code of one block sends to OpenTelemetry. */
class Telemetry {
  readonly #spans = new InMemorySpanExporter()
  readonly #metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  readonly #meters = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter: this.#metrics, exportIntervalMillis: 60_000 })],
  })

  constructor() {
    trace.disable()
    metrics.disable()
    const spanProcessors = [new SimpleSpanProcessor({ exporter: this.#spans })]
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }))
    metrics.setGlobalMeterProvider(this.#meters)
  }

  get spans() {
    return this.#spans.getFinishedSpans()
  }

  /** By the name of the metric, the attributes and value of each of its points. */
  async metrics(): Promise<Record<string, unknown[]>> {
    await this.#meters.forceFlush()
    const scopes = this.#metrics.getMetrics().at(-1)?.scopeMetrics ?? []
    const all = scopes.flatMap(({ metrics }) => metrics)
    return Object.fromEntries(all.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]))
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

/** What the compiler reports for the blocks, as modules in memory beside the tests. */
function compile(blocks: readonly Block[]): string[] {
  const { config } = ts.readConfigFile(join(root, 'test/tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(root, 'test'))
  const texts = new Map(blocks.map(({ name, code }) => [`${root}/test/${name}.ts`, `${code}\nexport {}`]))
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
