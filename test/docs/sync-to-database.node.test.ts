import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { failPages, printed, run, service } from './guide.ts'
import { snippet } from './snippets.ts'

// sync-to-database.md: its programs in this process, with a database in a folder of its own.

const databaseCode = snippet('sync-to-database.md', 'Sync into a database')
const programs = {
  sync: snippet('sync-to-database.md', 'Sync'),
  reconcile: snippet('sync-to-database.md', 'Reconcile every night'),
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-sync-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const openDatabase = () => new DatabaseSync(join(folder, 'transactions.sqlite'))

/** node:sqlite, within the folder. */
const sqlite = {
  DatabaseSync: class extends DatabaseSync {
    constructor(name: string) {
      super(join(folder, name))
    }
  },
}

/** Runs a program, and returns the lines that it printed. */
async function start(program: keyof typeof programs): Promise<string[]> {
  const before = printed().length
  const database = await run(databaseCode, { 'node:sqlite': () => sqlite })
  try {
    await run(programs[program], { './database.js': () => database })
  } finally {
    database.db.close()
  }
  return printed().slice(before)
}

function query(sql: string): unknown[] {
  const db = openDatabase()
  try {
    return db.prepare(sql).all()
  } finally {
    db.close()
  }
}

/** What the database holds, as JSON text by id. */
function stored(): Map<unknown, unknown> {
  const rows = query('SELECT id, json FROM transactions') as { id: string; json: string }[]
  return new Map(rows.map(({ id, json }) => [id, json]))
}

const expected = () => new Map(service.transactions.map(item => [item.id, JSON.stringify(item)]))

describe('sync.js', () => {
  async function stopAfterTwoPages(): Promise<void> {
    const restore = failPages(400, page => page === 3)
    await expect(start('sync')).rejects.toMatchObject({ status: 400, page: 3 })
    restore()
    expect(stored().size).toBe(200)
    expect(query('SELECT * FROM progress')).toEqual([{ page: 3, limit: 100, totalItems: 250 }])
  }

  test('stores every transaction, and adds nothing when it is run again', async () => {
    const lines = ['page 1 of 3', 'page 2 of 3', 'page 3 of 3', '250 rows in transactions.sqlite']
    expect(await start('sync')).toEqual(lines)
    expect(stored()).toEqual(expected())
    expect(query('SELECT * FROM progress')).toEqual([])
    expect(await start('sync')).toEqual(lines)
  })

  test('resumes after the last stored page', async () => {
    await stopAfterTwoPages()
    expect(await start('sync')).toEqual(['page 3 of 3', '250 rows in transactions.sqlite'])
    expect(stored()).toEqual(expected())
  })

  test('starts over when the list has grown since, so that rows before the stored page are added, too', async () => {
    await stopAfterTwoPages()
    service.transactions.unshift(...sampleTransactions(10, 7))
    await start('sync')
    expect(stored()).toEqual(expected())
  })

  test.each([200, 404])('starts over when the stored page no longer exists: HTTP %s', async status => {
    await stopAfterTwoPages()
    service.transactions.length = 30
    if (status === 404) failPages(404, page => page > 1)
    expect(await start('sync')).toEqual(['page 1 of 1', '200 rows in transactions.sqlite'])
    expect(query('SELECT * FROM progress')).toEqual([])
  })

  test('stops at a 404 of its first page', async () => {
    failPages(404, () => true)
    await expect(start('sync')).rejects.toMatchObject({ status: 404 })
  })

  test('stores an empty list', async () => {
    service.transactions.length = 0
    expect((await start('sync')).at(-1)).toBe('0 rows in transactions.sqlite')
  })
})

describe('reconcile.js', () => {
  test('deletes rows that are gone, and replaces and adds the others', async () => {
    await start('sync')
    service.transactions.splice(20, 3, ...sampleTransactions(1, 9))
    Object.assign(service.transactions[0]!, { description: 'changed' })
    await start('reconcile')
    expect(stored()).toEqual(expected())
  })

  test('changes nothing when the iteration fails', async () => {
    await start('sync')
    const before = stored()
    service.transactions.splice(0, 10)
    failPages(400, page => page === 3)
    await expect(start('reconcile')).rejects.toMatchObject({ status: 400 })
    expect(stored()).toEqual(before)
  })

  test('fills an empty database', async () => {
    await start('reconcile')
    expect(stored()).toEqual(expected())
  })
})
