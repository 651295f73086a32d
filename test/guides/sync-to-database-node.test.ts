import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseEnv } from 'node:util'
import { type FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { startFakeServer } from '../../examples/fake-server.js'
import { failPages, Guide } from './guide.ts'

// The programs of the guide as a reader has them: files in a folder of their own, run by Node.

// Each starts processes, which take seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const root = join(import.meta.dirname, '../..')
const guide = new Guide('docs/sync-to-database.md')
const programs = {
  'database.js': guide.code('CREATE TABLE IF NOT EXISTS'),
  'sync.js': guide.code('async function sync'),
  'reconcile.js': guide.code('verified: true'),
  'sums.js': guide.code('new Big(0)'),
}
const output = guide.code('page 1 of 3').trimEnd().split('\n')
guide.code('npm install')
const createEnvFile = guide.code('read -rs API_KEY')
guide.code('node --env-file=.env reconcile.js')

let folder: string
let fake: { service: FakeService; url: string; close: () => Promise<void> }

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-sync-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const [name, code] of Object.entries(programs)) writeFileSync(join(folder, name), code)
  fake = await startFakeServer({ port: 0, transactions: sampleTransactions(250) })
})
afterEach(async () => {
  await fake.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a program of the guide to its end: the lines that it printed, and what it failed with. */
function run(
  program: keyof typeof programs,
  apiKey = fake.service.apiKey,
): Promise<{ lines: string[]; stderr: string }> {
  const fromSource = new URL('../../tools/from-source.js', import.meta.url).href
  const args = ['--disable-warning=ExperimentalWarning', '--import', fromSource, program]
  const env = { ...process.env, BASE_URL: fake.url, API_KEY: apiKey, NO_COLOR: '1' }
  return new Promise(resolve => {
    execFile(process.execPath, args, { cwd: folder, env }, (_error, stdout, stderr) => {
      resolve({ lines: stdout.trimEnd().split('\n'), stderr })
    })
  })
}

/** What the database holds, as JSON text by id. */
function stored(): Map<string, string> {
  const rows = query('SELECT id, json FROM transactions') as { id: string; json: string }[]
  return new Map(rows.map(({ id, json }) => [id, json]))
}

function expected(): Map<string, string> {
  return new Map(fake.service.transactions.map(item => [item.id, JSON.stringify(item)]))
}

function query(sql: string): unknown[] {
  const db = new DatabaseSync(join(folder, 'transactions.sqlite'))
  try {
    return db.prepare(sql).all()
  } finally {
    db.close()
  }
}

/** Runs a program while page 3 fails for good. */
async function runWithoutPage3(program: keyof typeof programs) {
  const restore = failPages(fake.service, 400, page => page === 3)
  const result = await run(program)
  restore()
  return result
}

async function stopAfterTwoPages(): Promise<void> {
  const { lines, stderr } = await runWithoutPage3('sync.js')
  expect(lines).toEqual(['page 1 of 3', 'page 2 of 3'])
  expect(stderr).toContain('GET /transactions (page 3): HTTP 400')
  expect(stored().size).toBe(200)
}

describe('sync.js', () => {
  test('stores every transaction, and prints what the guide shows', async () => {
    const { lines, stderr } = await run('sync.js')
    expect(stderr).toBe('')
    expect(lines).toEqual(output)
    expect(stored()).toEqual(expected())
    expect(query('SELECT * FROM progress')).toEqual([])
  })

  test('adds nothing when it is run again', async () => {
    await run('sync.js')
    const { lines } = await run('sync.js')
    expect(lines.at(-1)).toBe('250 rows in transactions.sqlite')
  })

  test('resumes after the last stored page', async () => {
    await stopAfterTwoPages()
    expect(query('SELECT * FROM progress')).toEqual([{ page: 3, limit: 100, totalItems: 250 }])
    const requestsBefore = fake.service.requests.length
    expect((await run('sync.js')).lines).toEqual(['page 3 of 3', '250 rows in transactions.sqlite'])
    const requests = fake.service.requests.slice(requestsBefore)
    expect(requests.map(({ query }) => query)).toEqual([{ page: '3', limit: '100' }])
    expect(stored()).toEqual(expected())
  })

  test('starts over when the list has grown since, so that rows before the stored page are added, too', async () => {
    await stopAfterTwoPages()
    fake.service.transactions.unshift(...sampleTransactions(10, 7))
    const { lines } = await run('sync.js')
    expect(lines.at(-1)).toBe('260 rows in transactions.sqlite')
    expect(stored()).toEqual(expected())
  })

  test('starts over when the list has shrunk so far that the stored page no longer exists', async () => {
    await stopAfterTwoPages()
    fake.service.transactions.length = 30
    const { lines, stderr } = await run('sync.js')
    expect(stderr).toBe('')
    expect(lines).toEqual(['page 1 of 1', '200 rows in transactions.sqlite'])
  })

  test('starts over when the service responds with a 404 beyond the end', async () => {
    await stopAfterTwoPages()
    fake.service.transactions.length = 30
    const restore = failPages(fake.service, 404, page => page > 1)
    const { lines, stderr } = await run('sync.js')
    restore()
    expect(stderr).toBe('')
    expect(lines[0]).toBe('page 1 of 1')
    expect(query('SELECT * FROM progress')).toEqual([])
  })

  test('stops at a 404 of its first page', async () => {
    fake.service.fail({ with: () => new Response(null, { status: 404 }) })
    expect((await run('sync.js')).stderr).toContain('HTTP 404')
  })

  test('stores an empty list', async () => {
    fake.service.transactions.length = 0
    const { lines, stderr } = await run('sync.js')
    expect(stderr).toBe('')
    expect(lines.at(-1)).toBe('0 rows in transactions.sqlite')
  })

  test('says what is missing when API_KEY is not set', async () => {
    const { stderr } = await run('sync.js', '')
    expect(stderr).toContain('is the environment variable set?')
  })
})

describe('reconcile.js', () => {
  test('deletes rows that are gone, and updates and adds the others', async () => {
    await run('sync.js')
    const { transactions } = fake.service
    transactions.splice(20, 3, ...sampleTransactions(1, 9))
    Object.assign(transactions[0]!, { description: 'changed' })
    const { lines, stderr } = await run('reconcile.js')
    expect(stderr).toBe('')
    expect(lines).toEqual(['3 deleted, 2 added or changed'])
    expect(stored()).toEqual(expected())
  })

  test('changes nothing when the iteration fails', async () => {
    await run('sync.js')
    const before = stored()
    fake.service.transactions.splice(0, 10)
    const { lines, stderr } = await runWithoutPage3('reconcile.js')
    expect(lines).toEqual([''])
    expect(stderr).toContain('HTTP 400')
    expect(stored()).toEqual(before)
  })

  test('fills an empty database', async () => {
    expect((await run('reconcile.js')).lines).toEqual(['0 deleted, 250 added or changed'])
    expect(stored()).toEqual(expected())
  })
})

test('sums.js adds decimals exactly, where SQLite does not', async () => {
  const { transactions } = fake.service
  transactions.length = 0
  for (const amount of [0.1, 0.2]) {
    transactions.push({ id: `t${amount}`, amount, currency: 'EUR', description: 'Coffee' })
  }
  await run('sync.js')
  expect(await run('sums.js')).toEqual({ lines: ['EUR 0.3'], stderr: '' })
  expect(query('SELECT sum(amount) AS sum FROM transactions')).toEqual([{ sum: 0.1 + 0.2 }])
})

test('the file .env is for its owner only, and Node reads it', () => {
  const script = createEnvFile.replace('https://api.example.com', fake.url)
  execFileSync('bash', ['-c', script], { cwd: folder, input: `${fake.service.apiKey}\n` })
  const file = join(folder, '.env')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(parseEnv(readFileSync(file, 'utf8'))).toEqual({ BASE_URL: fake.url, API_KEY: fake.service.apiKey })
})

test('every block is run', () => {
  expect(guide.untaken).toEqual([])
})
