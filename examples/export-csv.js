// @ts-check
// Exports all transactions to a CSV file: complete, in constant memory however many there are, with the rate and the time
// left. Kill it and start it again: it continues where it was.
//
//   npm run example examples/export-csv.js [-- FILE]
//   BASE_URL=https://… API_KEY=… npm run example examples/export-csv.js [-- FILE]
//
// Without BASE_URL: 100,000 transactions of a fake service. FILE is transactions.csv by default; an older one is
// replaced.
//
// Until it is complete, the export is FILE.part. Beside it, FILE.part.json says how much of it is certain.
// docs/exports.md says why nothing is missing between two runs.
//
// A spreadsheet takes an id of digits alone for a number and rounds it: import that column as text.

import { existsSync } from 'node:fs'
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import Big from 'big.js'
import { stringify } from 'csv-stringify/sync'
import { isApiError } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { connect } from './connect.js'
import { counted, runMain, startProgress, wrapped } from './terminal.js'

/** @typedef {import('virtual-accounts').Transaction} Transaction */
/** @typedef {import('virtual-accounts').Page<Transaction>} Page */

/**
 * How much of the file is certain: its bytes, its transactions, and the ids of the last ones.
 *
 * @typedef {{ bytes: number, count: number, lastIds: string[] }} Position
 */

/** @type {Position} */
const start = { bytes: 0, count: 0, lastIds: [] }

// The service may use a smaller one.
const maxLimit = 1000
// By so many, what was added meanwhile may have moved the transactions that are already in the file.
const idsToKeep = 10_000

runMain(import.meta.filename, exportAll, { positionals: 1 })

/** @param {{ positionals: string[] }} given */
async function exportAll({ positionals: [name = 'transactions.csv'] }) {
  const { client, where, close } = await connect(() => ({
    transactions: sampleTransactions(100_000),
    maxLimit: 1000,
  }))
  try {
    console.error(wrapped(`Exporting the transactions of ${where}`))
    await exportTo(name, client)
  } finally {
    await close()
  }
}

/**
 * @param {string} name
 * @param {import('virtual-accounts').Client} client
 */
async function exportTo(name, client) {
  const part = `${name}.part`
  const positionFile = `${part}.json`
  let { bytes, count, lastIds } = await readPosition(positionFile)
  let first = await fetchPage(client, 1)
  if (count > 0) {
    // The page that the last one was on, if the list has not changed.
    const page = await fetchPage(client, Math.ceil(count / first.limit), first.limit).catch(error => {
      if (isNotFound(error)) return undefined
      throw error
    })
    if (page && lastIds.includes(page.data[0]?.id ?? '')) {
      first = page
      console.error(`Continuing after ${counted(count, 'transaction')}`)
    } else {
      console.error('Starting again: the list has changed too much for the two runs to overlap')
      ;({ bytes, count, lastIds } = start)
    }
  }
  const file = await open(part, bytes === 0 ? 'w' : 'r+')
  const written = new Set(lastIds)
  const progress = startProgress(Math.max(first.totalItems, count), count)
  try {
    // What follows was not certain: it comes again.
    await file.truncate(bytes)
    for await (const items of chunks(first, written)) {
      const text = toCsv(items, bytes === 0)
      const { bytesWritten } = await file.write(text, bytes)
      await file.sync()
      bytes += bytesWritten
      count += items.length
      for (const { id } of items) written.add(id)
      for (const id of written) {
        if (written.size <= idsToKeep) break
        written.delete(id)
      }
      await writePosition(positionFile, { bytes, count, lastIds: [...written] })
      for (const _ of items) progress.step()
    }
    progress.end()
  } finally {
    await file.close()
  }
  // Half an export never has the name of a whole one.
  await rm(positionFile, { force: true })
  const older = existsSync(name) ? ', in place of an older file' : ''
  await rename(part, name)
  console.log(`Wrote ${counted(count, 'transaction')} to ${name}${older}.`)
}

/**
 * One page, of which iterating yields all that follow, too. Where the list has become too short for a page, the response is
 * empty or a 404.
 *
 * @param {import('virtual-accounts').Client} client
 * @param {number} page
 */
async function fetchPage(client, page, limit = maxLimit) {
  return await client.transactions.list({ page, limit }, { verified: true })
}

/** @param {unknown} error */
function isNotFound(error) {
  return isApiError(error) && error.kind === 'http' && error.status === 404
}

/**
 * The transactions that are not written yet. An empty list has one empty chunk, so that the file gets its header.
 *
 * @param {Page} first
 * @param {ReadonlySet<string>} written
 */
async function* chunks(first, written) {
  /** @type {Transaction[]} */
  let chunk = []
  for await (const transaction of first) {
    if (written.has(transaction.id)) continue
    chunk.push(transaction)
    if (chunk.length < first.limit) continue
    yield chunk
    chunk = []
  }
  yield chunk
}

/**
 * @param {readonly Transaction[]} transactions
 * @param {boolean} isStart of the file
 */
function toCsv(transactions, isStart) {
  return stringify([...transactions], {
    header: isStart,
    columns: ['id', 'amount', 'currency', 'description'],
    // Without it a description such as =HYPERLINK(…) would be a formula to a spreadsheet.
    escape_formulas: true,
    // Digits, never 1e+21.
    cast: { number: amount => new Big(amount).toFixed() },
    // By which Excel recognises UTF-8.
    bom: isStart,
  })
}

/**
 * @param {string} file
 * @returns {Promise<Position>}
 */
async function readPosition(file) {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    return start
  }
}

/**
 * Writes a new file and gives it the name of the old one, which is one step: there is never half a position.
 *
 * @param {string} file
 * @param {Position} position
 */
async function writePosition(file, position) {
  await writeFile(`${file}.new`, JSON.stringify(position), { flush: true })
  await rename(`${file}.new`, file)
}
