// @ts-check
// Reads all transactions into a file, and continues where it was when it is stopped in the middle, however rudely. Kill
// it (Ctrl-C, or kill -9), start it again: no transaction is there twice, and none is missing.
//
//   npm run example examples/resume-after-crash.js [-- FOLDER]
//   BASE_URL=https://… API_KEY=… npm run example examples/resume-after-crash.js
//
// Without BASE_URL: from a fake service. FOLDER is import/ by default.
//
// transactions.jsonl has a transaction on each line. position.json says how many of its bytes are certain, and how many
// transactions those are. Transactions are on the disk before the position that counts them. What follows it in the
// file is cut off at the start: it will come again. With a database, put both into one database transaction instead.

import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from './connect.js'
import { counted, grouped, makeFolder, runMain, startProgress, wrapped } from './terminal.js'

/** @typedef {import('virtual-accounts').Transaction} Transaction */
/** @typedef {{ count: number, bytes: number }} Position */

const limit = 20
let folder = 'import/'

runMain(import.meta.filename, readAll, { positionals: 1 })

/** @param {{ positionals: string[] }} given */
async function readAll({ positionals }) {
  folder = positionals[0] ?? folder
  const { client, where, close } = await connect(() => ({ latency: 400 }))
  try {
    console.log(wrapped(`Reading the transactions of ${where} into ${folder}`))
    await readRest(client)
  } finally {
    await close()
  }
}

/** @param {import('virtual-accounts').Client} client */
async function readRest(client) {
  await makeFolder(folder)
  const file = await open(join(folder, 'transactions.jsonl'), 'a+')
  try {
    const position = await readPosition()
    await file.truncate(position.bytes)
    const written = idsIn(await readFile(join(folder, 'transactions.jsonl'), 'utf8'))
    const before = written.size
    const { totalItems, pageCount } = await client.transactions.list({ limit })
    // The page that the last one was on, as far as one can know now. A list that became shorter may not have it.
    const page = Math.max(1, Math.min(pageCount, Math.ceil(position.count / limit)))
    if (before > 0) {
      console.log(`Continuing after ${counted(before, 'transaction')}, at page ${grouped(page)}`)
    }
    console.log(
      totalItems > before ? 'Press Ctrl-C, and run it again: it continues.' : 'Looking for new transactions',
    )

    const progress = startProgress(Math.max(totalItems, before), before)
    let { bytes } = position
    for await (const fresh of chunks(unwritten(client, page, written))) {
      const lines = fresh.map(transaction => `${JSON.stringify(transaction)}\n`).join('')
      await file.appendFile(lines)
      await file.sync()
      bytes += Buffer.byteLength(lines)
      for (const { id } of fresh) written.add(id)
      await writePosition({ count: written.size, bytes })
      for (const _ of fresh) progress.step()
    }
    if (written.size > before) progress.end()
    const end = written.size > before ? 'Done' : 'Nothing new'
    console.log(`${end}: ${counted(written.size, 'transaction')} in ${folder}, each once`)
  } finally {
    await file.close()
  }
}

/**
 * Yields the transactions from a page on that are not written yet. A verified walk misses nothing after its first item. If
 * that item is already written, nothing before it is missing either. Otherwise something was removed meanwhile, and all
 * pages are read again.
 *
 * @param {import('virtual-accounts').Client} client
 * @param {number} page
 * @param {ReadonlySet<string>} written
 * @returns {AsyncGenerator<Transaction>}
 */
async function* unwritten(client, page, written) {
  let isProven = page === 1
  for await (const transaction of client.transactions.list({ page, limit }, { verified: true })) {
    isProven ||= written.has(transaction.id)
    if (!isProven) break
    if (!written.has(transaction.id)) yield transaction
  }
  if (!isProven) yield* unwritten(client, 1, written)
}

/** @param {AsyncIterable<Transaction>} transactions */
async function* chunks(transactions) {
  /** @type {Transaction[]} */
  let chunk = []
  for await (const transaction of transactions) {
    chunk.push(transaction)
    if (chunk.length < limit) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}

/** @param {string} lines */
function idsIn(lines) {
  const transactions = lines.split('\n').filter(Boolean)
  return new Set(transactions.map(line => /** @type {string} */ (JSON.parse(line).id)))
}

/** @returns {Promise<Position>} */
async function readPosition() {
  try {
    return JSON.parse(await readFile(join(folder, 'position.json'), 'utf8'))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    return { count: 0, bytes: 0 }
  }
}

/**
 * Writes a new file and gives it the name of the old one, which is one step: there is never half a position.
 *
 * @param {Position} position
 */
async function writePosition(position) {
  const path = join(folder, 'position.json')
  const draft = await open(`${path}.new`, 'w')
  try {
    await draft.writeFile(JSON.stringify(position))
    await draft.sync()
  } finally {
    await draft.close()
  }
  await rename(`${path}.new`, path)
}
