import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { failPages, printed, run, service } from './guide.ts'
import { snippet } from './snippets.ts'

// sync-to-database.md: its program in this process, with a database in a folder of its own.

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-sync-'))
})
const opened: DatabaseSync[] = []
afterEach(() => {
  for (const db of opened.splice(0)) db.close()
  rmSync(folder, { recursive: true, force: true })
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

const sync = () =>
  run(snippet('sync-to-database.md', 'Sync into a database'), { 'node:sqlite': () => sqlite })

/** What the database holds, as JSON text by id. */
function stored(): Map<unknown, unknown> {
  const rows = new sqlite.DatabaseSync('transactions.sqlite')
    .prepare('SELECT id, json FROM transactions')
    .all()
  return new Map(rows.map(({ id, json }) => [id, json]))
}

const expected = () => new Map(service.transactions.map(item => [item.id, JSON.stringify(item)]))

test('stores every transaction, and nothing else when it is run again', async () => {
  for (let i = 0; i < 2; i++) {
    await sync()
    expect(stored()).toEqual(expected())
  }
  expect(printed()).toEqual(Array(2).fill('250 rows in transactions.sqlite'))
})

test('deletes rows that are gone, and replaces and adds the others', async () => {
  await sync()
  service.transactions.splice(20, 3, ...sampleTransactions(1, 9))
  Object.assign(service.transactions[0]!, { description: 'changed' })
  await sync()
  expect(stored()).toEqual(expected())
})

test('misses nothing when the list shrinks during a run', async () => {
  service.fail({
    with: () => {
      const data = service.transactions.slice(0, 100)
      service.transactions.splice(50, 30)
      return Response.json({ data, page: 1, totalItems: 250, limit: 100 })
    },
  })
  await sync()
  expect([...stored().keys()]).toEqual(expect.arrayContaining([...expected().keys()]))
})

test('changes nothing when the iteration fails', async () => {
  await sync()
  const before = stored()
  service.transactions.splice(0, 10)
  failPages(400, page => page === 3)
  await expect(sync()).rejects.toMatchObject({ status: 400 })
  expect(stored()).toEqual(before)
})

test('stores an empty list', async () => {
  service.transactions.length = 0
  await sync()
  expect(printed()).toEqual(['0 rows in transactions.sqlite'])
})
