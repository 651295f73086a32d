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
import ts from 'typescript'
import { Client } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { chromiumOptions } from '../tools/chromium.js'

// The documentation runs. Each ```ts block is a program of its own, checked by the compiler and then run against a
// fake service with 250 transactions. What a block uses and does not declare is given: `service`, that fake; `client`,
// one that talks to it; `account`, one of its accounts. A block may instead make a client for
// https://api.example.com with the key API_KEY: that is where the fake is. Above a block may stand
//   <!-- first: service.fail({ with: 'hang' }) -->                  to be run before it
//   <!-- then: expect(service.requests).toHaveLength(1) -->         to be run after it
//   <!-- not run: it needs a browser -->                            to be checked only
// What a comment behind a console.log says must be what it prints.
// The test, beforeEach … of vitest and Jest are ours: tests are run, one after the other, when the block has come to its
// end. What imports from playwright is given a `page` of Chromium, or skipped where there is none. Files are in memory. What pino writes is printed. OpenTelemetry has a provider that collects: `telemetry`.

const root = join(import.meta.dirname, '..')
const guides = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.md') && !file.startsWith('api'))
  .map(file => `docs/${file.replaceAll('\\', '/')}`)

interface Block {
  readonly name: string
  readonly code: string
  readonly first: string
  readonly last: string
  readonly reasonNotToRun: string | undefined
}

const blocks = ['README.md', ...guides.toSorted()].flatMap(blocksOf)

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8')
  const found = text.matchAll(/((?:<!-- .* -->\n+)*)```ts\n([\s\S]*?)```/g)
  return [...found].map(([, marks = '', code = ''], index) => ({
    name: `${page} ${index + 1}: ${code.trim().split('\n').at(-1)}`,
    code,
    first: remarks(marks, 'first').join('\n'),
    last: remarks(marks, 'then').join('\n'),
    reasonNotToRun: remarks(marks, 'not run')[0],
  }))
}

function remarks(marks: string, mark: string): string[] {
  const found = marks.matchAll(new RegExp(`^<!-- ${mark}: (.*) -->$`, 'gm'))
  return [...found].map(([, remark]) => remark as string)
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
  const needsBrowser = ({ code }: Block) => code.includes(`from 'playwright'`)

  test.each(toRun.filter(block => !needsBrowser(block)))('runs: $name', block => run(block))

  const testWithBrowser = test.skipIf(!existsSync(chromiumOptions.executablePath))
  testWithBrowser.each(toRun.filter(needsBrowser))('runs in Chromium: $name', async block => {
    const playwright = await import('playwright')
    const browser = await playwright.chromium.launch(chromiumOptions)
    try {
      await run(block, { page: await browser.newPage() })
    } finally {
      await browser.close()
    }
  })

  async function run({ code, first, last }: Block, more: object = {}): Promise<void> {
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
      '@jest/globals': async () => runner.module,
      msw: () => import('msw'),
      'msw/node': () => import('msw/node'),
      zod: () => import('zod'),
      valibot: () => import('valibot'),
      arktype: () => import('arktype'),
      pino: printingPino,
      '@opentelemetry/api': () => import('@opentelemetry/api'),
      'node:crypto': () => import('node:crypto'),
      'node:fs': async () => files,
      'node:fs/promises': async () => files,
      'node:stream/promises': () => import('node:stream/promises'),
      'node:timers/promises': () => import('node:timers/promises'),
    }
    const load = (name: string) => modules[name]?.() ?? Promise.reject(new Error(`no module ${name} here`))
    const printed = () => vi.mocked(console.log).mock.calls.map(values => values.join(' '))
    const givens = { load, service, client, account, expect, files, printed, telemetry, ...more }
    const program = new AsyncFunction(...Object.keys(givens), runnable(`${first}\n${code}\n${last}`))
    await program(...Object.values(givens))
    await runner.run()
    expect(printed()).toEqual(expect.arrayContaining(outputsOf(code)))
  }
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
    .replace(/^export \{\};?$/m, '')
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

/** Collects what the code of one block tells OpenTelemetry. */
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

// What is used of Jest is alike in vitest; Jest itself is not installed here.
const jest = `
  declare module '@jest/globals' {
    export { beforeEach, expect, test } from 'vitest'
  }
`

/** What the compiler says of the blocks, as modules beside the tests that are nowhere but in memory. */
function problemsOf(blocks: readonly Block[]): string[] {
  const { config } = ts.readConfigFile(join(root, 'test/tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(root, 'test'))
  const texts = new Map(
    blocks.map(({ name, code }) => [`${root}/test/${name.split(':')[0]}.ts`, `${code}\nexport {}`]),
  )
  texts.set(`${root}/test/given.d.ts`, given)
  texts.set(`${root}/test/jest.d.ts`, jest)
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
