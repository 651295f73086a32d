import { execFile } from 'node:child_process'
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { startFakeServer } from '../../examples/fake-server.js'
import { failPages, filesIn, printed, run, service } from './guide.ts'
import { root, snippet } from './snippets.ts'

// exports.md, and examples/export-csv.js, which resumes in the same way.

const code = snippet('exports.md', 'Exports')
const command = snippet('exports.md', 'Exports', 2)

let folder: string
let fake: Awaited<ReturnType<typeof startFakeServer>>
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-export-'))
  fake = await startFakeServer({ port: 0, transactions: sampleTransactions(350) })
})
afterEach(async () => {
  await fake.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs the program of the guide in this process, and returns what it failed with. */
async function runGuide(): Promise<string> {
  const files: FileHandle[] = []
  const opened = async (name: string, flags: string) => {
    const file = await open(join(folder, name), flags)
    files.push(file)
    return file
  }
  const failure = await run(code, { 'node:fs/promises': () => ({ open: opened }) }).then(() => '', String)
  for (const file of files) await file.close()
  return failure
}

/** Runs a program as a user does, and returns what it failed with, and what it printed. */
function runNode(...args: string[]): Promise<{ stdout: string; stderr: string; code: unknown }> {
  const { BASE_URL: _, API_KEY: __, ...env } = process.env
  writeFileSync(join(folder, '.env'), `BASE_URL='${fake.url}'\nAPI_KEY='${fake.service.apiKey}'\n`)
  const all = ['--import', join(root, 'tools/from-source.js'), '--env-file=.env', ...args]
  return new Promise(resolve => {
    execFile(process.execPath, all, { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ stdout, stderr, code: error?.code ?? 0 })
    })
  })
}

/** Like failPages, for requests that arrive over HTTP. */
function failPagesOfServer(status: number, isFailing: (page: number) => boolean): () => void {
  const handle = FakeService.prototype.handle.bind(fake.service)
  const spy = vi.spyOn(fake.service, 'handle').mockImplementation(async request => {
    const page = Number(new URL(request.url).searchParams.get('page'))
    return isFailing(page) ? new Response(null, { status }) : handle(request)
  })
  return () => spy.mockRestore()
}

const programs = [
  {
    name: 'the program of the guide',
    file: 'transactions.jsonl',
    part: 'transactions.jsonl',
    cutOff: '{"id":"1',
    serviceOf: () => service,
    failsFrom: 3,
    start: runGuide,
    fail: failPages,
    idsIn: (lines: string[]) => lines.map(line => JSON.parse(line).id as string),
  },
  {
    name: 'examples/export-csv.js',
    file: 'transactions.csv',
    part: 'transactions.csv.part',
    cutOff: '1024,"',
    serviceOf: () => fake.service,
    failsFrom: 4,
    start: async () => {
      const { stderr, code } = await runNode(join(root, 'examples/export-csv.js'))
      return code === 0 ? '' : stderr
    },
    fail: failPagesOfServer,
    idsIn: (lines: string[]) => lines.slice(1).map(line => line.split(',')[0] as string),
  },
]

describe.each(programs)('$name', ({ file, part, cutOff, serviceOf, failsFrom, start, fail, idsIn }) => {
  const ids = () => serviceOf().transactions.map(({ id }) => id)
  const written = (name = file) => idsIn(readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))

  test('throws for a 404 of its first page', async () => {
    fail(404, () => true)
    expect(await start()).toContain('HTTP 404')
  })

  describe('after a crash', () => {
    beforeEach(async () => {
      const restore = fail(400, page => page >= failsFrom)
      expect(await start()).toContain('HTTP 400')
      restore()
      expect(written(part).length).toBeGreaterThan(150)
      expect(written(part).length).toBeLessThan(ids().length)
      appendFileSync(join(folder, part), cutOff)
    })

    test('continues where it was', async () => {
      const before = serviceOf().requests.length
      expect(await start()).toBe('')
      const pages = serviceOf()
        .requests.slice(before)
        .map(({ query }) => query.page)
      // The example requests page 1 for its total.
      expect(pages.filter(page => page === '1').length).toBeLessThan(2)
      expect(written()).toEqual(ids())
    })

    test('writes nothing twice when the list has grown at its start', async () => {
      const before = ids()
      const added = sampleTransactions(20, 7).map(item => ({ ...item, id: `new-${item.id}` }))
      serviceOf().transactions.unshift(...added)
      await start()
      expect(written().filter(id => !id.startsWith('new-'))).toEqual(before)
      expect(new Set(written()).size).toBe(written().length)
    })

    test('misses nothing when so much was removed that nothing overlaps', async () => {
      serviceOf().transactions.splice(0, 120)
      await start()
      expect(written()).toEqual(expect.arrayContaining(ids()))
      expect(new Set(written()).size).toBe(written().length)
    })

    test('starts over when its page no longer exists, which the service says with a 404', async () => {
      serviceOf().transactions.length = 30
      fail(404, page => page > 1)
      expect(await start()).toBe('')
      expect(written()).toEqual(expect.arrayContaining(ids()))
    })
  })
})

test('the command of the guide writes every transaction, and shows its progress', async () => {
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'export.js'), code)
  expect(command).toBe('node --env-file=.env export.js\n')
  expect(await runNode('export.js')).toEqual({ stdout: '350 of 350\n', stderr: '', code: 0 })
  expect(readFileSync(join(folder, 'transactions.jsonl'), 'utf8').trimEnd().split('\n')).toHaveLength(350)
})

test('examples/export-csv.js leaves only the export behind', async () => {
  const { stdout } = await runNode(join(root, 'examples/export-csv.js'))
  expect(stdout).toBe('Wrote 350 transactions to transactions.csv.\n')
  expect(readdirSync(folder).toSorted()).toEqual(['.env', 'transactions.csv'])
})

test('without resuming, `pipeline` writes every transaction', async () => {
  await run(snippet('exports.md', 'CSV, without resuming'), filesIn(folder))
  const lines = readFileSync(join(folder, 'transactions.csv'), 'utf8').trimEnd().split('\n')
  expect(lines).toHaveLength(251)
  expect(lines.slice(0, 2)).toEqual([
    'id,amount,currency,description',
    '10246215274470382904834,4841890,JPY,Refund for order 65155',
  ])
  expect(printed()).toEqual([])
})
