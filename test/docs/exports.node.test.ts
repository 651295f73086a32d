import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import * as fsPromises from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { failPages, filesIn, printed, run, service } from './guide.ts'
import { snippet } from './snippets.ts'

// exports.md: its programs in this process, with files in a folder of their own.

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-export-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const linesOf = (file: string) => readFileSync(join(folder, file), 'utf8').trimEnd().split('\n')
const ids = () => service.transactions.map(({ id }) => id)

/** Runs a whole program while another waits for page 3. */
function meanwhile(program: () => Promise<unknown>): void {
  vi.stubGlobal('fetch', async (...[url, init]: Parameters<typeof service.fetch>) => {
    if (new URL(String(url)).searchParams.get('page') === '3') {
      vi.stubGlobal('fetch', service.fetch)
      await program()
    }
    return service.fetch(url, init)
  })
}

describe('to a file', () => {
  const code = snippet('exports.md', 'To a file')
  const written = () => linesOf('transactions.jsonl').map(line => JSON.parse(line).id as string)
  const within = (name: string) => join(folder, name)

  /** Runs the program, and closes what it has left open when it failed. */
  async function exportAll(): Promise<string> {
    const files: fsPromises.FileHandle[] = []
    const { open, readFile, rename, writeFile } = fsPromises
    const fs = {
      open: async (name: string, flags: string) => {
        const file = await open(within(name), flags)
        files.push(file)
        return file
      },
      readFile: (name: string, encoding: 'utf8') => readFile(within(name), encoding),
      writeFile: (name: string, text: string, options: object) => writeFile(within(name), text, options),
      rename: (from: string, to: string) => rename(within(from), within(to)),
    }
    const failure = await run(code, { 'node:fs/promises': () => fs }).then(() => '', String)
    for (const file of files) await file.close()
    return failure
  }

  test('writes every transaction once, and what is added later', async () => {
    expect(await exportAll()).toBe('')
    expect(written()).toEqual(ids())
    expect(printed().at(-1)).toBe('250 of 250')
    service.transactions.push(...sampleTransactions(30, 7))
    expect(await exportAll()).toBe('')
    expect(written()).toEqual(ids())
  })

  test('continues after a crash, although the list has changed and a line was cut off', async () => {
    const restore = failPages(403, page => page === 3)
    expect(await exportAll()).toContain('HTTP 403')
    restore()
    const before = written()
    expect(before.length).toBeGreaterThan(90)
    expect(before.length).toBeLessThan(250)
    await fsPromises.appendFile(within('transactions.jsonl'), '{"id":"1')
    service.transactions.splice(0, 30)
    service.transactions.push(...sampleTransactions(30, 7))
    expect(await exportAll()).toBe('')
    expect(written().slice(0, before.length)).toEqual(before)
    expect(new Set(written()).size).toBe(written().length)
    expect(written()).toEqual(expect.arrayContaining(ids()))
  })

  test('stops when it is run twice at once, and writes nothing twice', async () => {
    meanwhile(async () => {
      // The first waits for page 3 now.
      await vi.waitFor(() => expect(printed()).toHaveLength(2), 5_000)
      await exportAll()
    })
    expect(await exportAll()).toContain('Another program writes to the file.')
    expect(written()).toEqual(ids())
  })
})

describe('to SQLite', () => {
  const opened: DatabaseSync[] = []
  afterEach(() => {
    for (const db of opened.splice(0)) db.close()
  })
  /** node:sqlite, within the folder. */
  const sqlite = {
    DatabaseSync: class extends DatabaseSync {
      constructor(name: string) {
        super(join(folder, name))
        opened.push(this)
      }
    },
  }
  const sync = () => run(snippet('exports.md', 'To SQLite'), { 'node:sqlite': () => sqlite })

  /** What the database holds, as JSON text by id. */
  function stored(): Map<unknown, unknown> {
    const select = 'SELECT id, json FROM transactions'
    const rows = new sqlite.DatabaseSync('transactions.sqlite').prepare(select).all()
    return new Map(rows.map(({ id, json }) => [id, json]))
  }
  const expected = () => new Map(service.transactions.map(item => [item.id, JSON.stringify(item)]))

  test('adds, replaces and deletes rows, and only those', async () => {
    await sync()
    expect(stored()).toEqual(expected())
    service.transactions.splice(20, 3, ...sampleTransactions(1, 9))
    Object.assign(service.transactions[0]!, { description: 'changed' })
    await sync()
    expect(stored()).toEqual(expected())
    service.transactions.length = 0
    await sync()
    expect(printed()).toEqual(['250 transactions', '248 transactions', '0 transactions'])
  })

  test('changes nothing when it fails, and then continues', async () => {
    await sync()
    const before = stored()
    service.transactions.splice(0, 10)
    const restore = failPages(403, page => page === 3)
    await expect(sync()).rejects.toMatchObject({ status: 403 })
    restore()
    for (const db of opened.splice(0)) db.close()
    expect(stored()).toEqual(before)
    const requests = service.requests.length
    await sync()
    expect(stored()).toEqual(expected())
    expect(service.requests[requests]?.query.page).not.toBe('1')
  })

  test('stops when it is run twice at once, and loses no row', async () => {
    await sync()
    meanwhile(sync)
    await expect(sync()).rejects.toThrow('Another run is in progress.')
    expect(stored()).toEqual(expected())
  })
})

test('to CSV, `pipeline` writes every transaction', async () => {
  await run(snippet('exports.md', 'To CSV, without continuing'), filesIn(folder))
  const lines = linesOf('transactions.csv')
  expect(lines).toHaveLength(251)
  expect(lines.slice(0, 2)).toEqual([
    'id,amount,currency,description',
    '10246215274470382904834,4841890,JPY,Refund for order 65155',
  ])
})
