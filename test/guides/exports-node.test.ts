import { execFile } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { startFakeServer } from '../../examples/fake-server.js'
import { failPages, Guide } from './guide.ts'

// The program of the guide and examples/export-csv.js as a user runs them: processes in a folder of their own.

vi.setConfig({ testTimeout: 60_000 })

const root = join(import.meta.dirname, '../..')
const guide = new Guide('docs/exports.md')
const code = guide.code('readIds')
const command = guide.code('node --env-file')

let folder: string
let fake: { service: FakeService; url: string; close: () => Promise<void> }

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-export-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'export.js'), code)
  fake = await startFakeServer({ port: 0, transactions: sampleTransactions(350) })
  const { url, service } = fake
  writeFileSync(join(folder, '.env'), `BASE_URL='${url}'\nAPI_KEY='${service.apiKey}'\n`)
})
afterEach(async () => {
  await fake.close()
  rmSync(folder, { recursive: true, force: true })
})

function run(args: string[], env: Record<string, string> = {}): Promise<{ lines: string[]; stderr: string }> {
  const fromSource = new URL('../../tools/from-source.js', import.meta.url).href
  // Vitest sets a BASE_URL, which takes precedence over a file.
  const { BASE_URL: _, ...inherited } = process.env
  const options = { cwd: folder, env: { ...inherited, NO_COLOR: '1', ...env } }
  return new Promise(resolve => {
    execFile(process.execPath, ['--import', fromSource, ...args], options, (_error, stdout, stderr) => {
      resolve({ lines: stdout.trimEnd().split('\n'), stderr })
    })
  })
}

const ids = () => fake.service.transactions.map(({ id }) => id)
const pagesRequested = () => fake.service.requests.map(({ query }) => Number(query.page))

const programs = [
  {
    name: 'the program of the guide',
    file: 'transactions.jsonl',
    part: 'transactions.jsonl',
    cutOff: '{"id":"1',
    start: () => run(command.trim().split(' ').slice(1)),
    idsIn: (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line).id as string),
  },
  {
    name: 'examples/export-csv.js',
    file: 'transactions.csv',
    part: 'transactions.csv.part',
    cutOff: '1024,"',
    start: () =>
      run([join(root, 'examples/export-csv.js')], { BASE_URL: fake.url, API_KEY: fake.service.apiKey }),
    idsIn: (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .slice(1)
        .map(line => line.split(',')[0] as string),
  },
]

describe.each(programs)('$name', ({ file, part, cutOff, start, idsIn }) => {
  const written = (name = file) => idsIn(readFileSync(join(folder, name), 'utf8'))

  /** Two pages and a line that was cut off, as after a crash. */
  async function crash(): Promise<void> {
    const restore = failPages(fake.service, 400, page => page >= 4)
    const { stderr } = await start()
    restore()
    expect(stderr).toContain('HTTP 400')
    expect(written(part).length).toBeGreaterThan(150)
    expect(written(part).length).toBeLessThan(350)
    appendFileSync(join(folder, part), cutOff)
    fake.service.reset()
  }

  test('writes every transaction in order', async () => {
    const { stderr } = await start()
    expect(stderr).not.toContain('Error')
    expect(written()).toEqual(ids())
  })

  test('continues after a crash where it was', async () => {
    await crash()
    await start()
    // The example requests page 1 for its total.
    expect(pagesRequested().filter(page => page === 1).length).toBeLessThan(2)
    expect(written()).toEqual(ids())
  })

  test('writes nothing twice when the list has grown at its start', async () => {
    await crash()
    const added = sampleTransactions(20, 7).map(item => ({ ...item, id: `new-${item.id}` }))
    const before = ids()
    fake.service.transactions.unshift(...added)
    await start()
    expect(written().filter(id => !id.startsWith('new-'))).toEqual(before)
    expect(new Set(written()).size).toBe(written().length)
  })

  test('misses nothing when so much was removed that nothing overlaps', async () => {
    await crash()
    fake.service.transactions.splice(0, 120)
    await start()
    expect(Math.min(...pagesRequested())).toBe(1)
    expect(written()).toEqual(expect.arrayContaining(ids()))
    expect(new Set(written()).size).toBe(written().length)
  })

  test('starts over when its page no longer exists, which the service says with a 404', async () => {
    await crash()
    fake.service.transactions.length = 30
    const restore = failPages(fake.service, 404, page => page > 1)
    const { stderr } = await start()
    restore()
    expect(stderr).not.toContain('HTTP 404')
    expect(written()).toEqual(expect.arrayContaining(ids()))
  })

  test('throws for a 404 of its first page', async () => {
    fake.service.fail({ with: () => new Response(null, { status: 404 }) })
    expect((await start()).stderr).toContain('HTTP 404')
  })
})

test('the program of the guide shows its progress', async () => {
  const { lines, stderr } = await run(command.trim().split(' ').slice(1))
  expect({ lines, stderr }).toEqual({ lines: ['350 of 350'], stderr: '' })
})

test('examples/export-csv.js leaves only the export behind', async () => {
  const env = { BASE_URL: fake.url, API_KEY: fake.service.apiKey }
  const { lines } = await run([join(root, 'examples/export-csv.js')], env)
  expect(lines).toEqual(['Wrote 350 transactions to transactions.csv.'])
  expect(['.part', '.part.json'].some(suffix => existsSync(join(folder, `transactions.csv${suffix}`)))).toBe(
    false,
  )
})
