// @ts-check
// Keeps a copy of all transactions in SQLite. A run adds, replaces and deletes
// rows, all in its last step. Kill it at any time: the next run resumes.
//
//   npm run example examples/sync-sqlite.js [-- FILE]
//   BASE_URL=https://… API_KEY=… npm run example examples/sync-sqlite.js
//
// FILE is transactions.sqlite unless given. Remove it to start over. It needs
// Node 22.13 or later.

import { DatabaseSync } from 'node:sqlite'
import { PaginationError } from 'virtual-accounts'
import { connect, findService } from './connect.js'
import { counted, grouped, Problem, runMain } from './terminal.js'

async function sync(name = 'transactions.sqlite') {
  const db = new DatabaseSync(name)
  try {
    const copy = new Copy(db)
    await copy.read()
    copy.replace(name)
    console.log(`${counted(copy.count(), 'transaction')} in ${name}`)
  } finally {
    // An open transaction is rolled back.
    db.close()
  }
}

/** Ends a database transaction. The next run reads the list from its beginning. */
const forget = 'DELETE FROM found; DELETE FROM position; COMMIT'

class Copy {
  #db
  /** The saved cursor. Part of the list is already in `found`. */
  #last

  /** @param {DatabaseSync} db */
  constructor(db) {
    this.#db = db
    // Text, as sum() of SQLite would round amounts.
    const columns = '(id TEXT PRIMARY KEY, amount TEXT, json TEXT)'
    db.exec(`
      CREATE TABLE IF NOT EXISTS transactions ${columns};
      CREATE TABLE IF NOT EXISTS found ${columns};
      CREATE TABLE IF NOT EXISTS position (cursor TEXT);
    `)
    this.#last = this.#savedCursor()
  }

  /** Reads the list into `found`, each batch with its cursor. */
  async read() {
    /** @type {import('virtual-accounts').EndEvent | undefined} */
    let end
    const client = connect(findService(), event => {
      if (event.type === 'end') end = event
    })
    const add = this.#db.prepare('REPLACE INTO found VALUES (?, ?, ?)')
    const save = this.#db.prepare('INSERT INTO position VALUES (?)')
    const options = { verified: true, after: this.#last }
    try {
      for await (const { items, cursor } of client.transactions.list({ limit: 100 }, options).batches()) {
        this.#begin()
        for (const item of items) add.run(item.id, String(item.amount), JSON.stringify(item))
        this.#db.exec('DELETE FROM position')
        save.run(cursor ?? null)
        this.#db.exec('COMMIT')
        this.#last = cursor
      }
    } catch (error) {
      if (!options.after || !(error instanceof PaginationError)) throw error
      this.#begin()
      this.#db.exec(forget)
      throw new Problem(
        `The list has changed too much to resume (${error.reason}). Run it again to start over.`,
      )
    }
    if (!end?.isComplete) throw new Problem(`Not complete: ${end?.reason}. The copy is unchanged.`)
  }

  /**
   * Makes `transactions` what was found. The check and the change are one transaction.
   *
   * @param {string} name
   */
  replace(name) {
    this.#begin()
    const gone = 'FROM transactions WHERE id NOT IN (SELECT id FROM found)'
    const before = this.count()
    const deleted = this.count(gone)
    // An empty or tiny list is more likely a bug than news.
    if (deleted * 2 > before) {
      // The next run must see the whole list again.
      this.#db.exec(forget)
      const counts = `${grouped(deleted)} of ${counted(before, 'row')}`
      throw new Problem(
        `${counts} would be deleted, so nothing was. If that is right, remove ${name} and run it again.`,
      )
    }
    this.#db.exec(`
      DELETE ${gone};
      REPLACE INTO transactions SELECT * FROM found;
      ${forget};
    `)
  }

  count(rows = 'FROM transactions') {
    return Number(this.#db.prepare(`SELECT count(*) AS count ${rows}`).get()?.count)
  }

  #savedCursor() {
    const cursor = this.#db.prepare('SELECT cursor FROM position').get()?.cursor
    return typeof cursor === 'string' ? cursor : undefined
  }

  #begin() {
    this.#db.exec('BEGIN IMMEDIATE')
    if (this.#savedCursor() !== this.#last) throw new Problem('Another run is in progress.')
  }
}

runMain(import.meta.filename, sync, 1)
