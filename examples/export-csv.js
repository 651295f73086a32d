// @ts-check
// Exports all transactions to a CSV file. Stop it in any way, even with kill -9,
// and start it again. It continues, and writes each transaction once, even if the
// list changes.
//
//   npm run example examples/export-csv.js [-- FILE]
//   BASE_URL=https://… API_KEY=… npm run example examples/export-csv.js
//
// Without BASE_URL: 100,000 transactions of a fake service. FILE is
// transactions.csv unless given. An older one is replaced, unless the new one has
// less than half of its size.
//
// Until it is complete, the export is FILE.part. FILE.part.json says how many of
// its bytes are complete, and where to continue.

import { statSync } from 'node:fs'
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import Big from 'big.js'
import { stringify } from 'csv-stringify/sync'
import { PaginationError } from 'virtual-accounts'
import { connect, findService } from './connect.js'
import { counted, Problem, Progress, runMain } from './terminal.js'

/** @typedef {{ bytes: number, count: number, cursor?: string }} Position */

runMain(import.meta.filename, exportTransactions, 1)

async function exportTransactions(name = 'transactions.csv') {
  const part = `${name}.part`
  const positionFile = `${part}.json`
  let { bytes, count, cursor } = await readPosition(positionFile)

  const service = findService(100_000)
  console.error(
    count > 0 ? `Continuing after ${counted(count, 'transaction')}` : `Exporting from ${service.name}`,
  )
  const progress = new Progress({ from: count, advice: 'Run it again to continue.' })
  /** @type {import('virtual-accounts').EndEvent | undefined} */
  let end
  const client = connect(service, event => {
    if (event.type === 'end') end = event
    progress.onEvent(event)
  })
  // It throws rather than miss a transaction.
  const list = client.transactions.list({ limit: 100 }, { verified: true, after: cursor })

  const file = await open(part, 'a')
  /** @param {string} text */
  async function append(text) {
    if ((await file.stat()).size !== bytes) throw new Problem(`Another program writes to ${part}.`)
    await file.appendFile(text)
    await file.sync()
    bytes += Buffer.byteLength(text)
  }
  try {
    if ((await file.stat()).size < bytes)
      throw new Problem(`${part} was cut off: remove it and ${positionFile}.`)
    // Lines after this have no saved cursor, so they are fetched again.
    await file.truncate(bytes)
    if (!cursor) await append(header)
    for await (const batch of list.batches()) {
      await append(toCsv(batch.items))
      count += batch.items.length
      await writePosition(positionFile, { bytes, count, cursor: batch.cursor })
      progress.update(count, batch.totalItems)
    }
    // Checks once more that no other program writes to it.
    await append('')
  } catch (error) {
    if (!cursor || !(error instanceof PaginationError)) throw error
    await rm(positionFile)
    throw new Problem(
      `The list has changed too much to continue (${error.reason}). Run it again to start over.`,
    )
  } finally {
    await file.close()
  }
  progress.end()
  if (!end?.isComplete) throw new Problem(`Not complete: ${end?.reason}. The export is ${part}.`)
  // In this order, because a position must never outlive its file.
  await rm(positionFile, { force: true })
  const before = statSync(name, { throwIfNoEntry: false })?.size ?? 0
  const headerBytes = Buffer.byteLength(header)
  // An empty or tiny list is more likely a bug than news.
  if ((bytes - headerBytes) * 2 < before - headerBytes) {
    const found = `${part} has ${counted(count, 'transaction')}, less than half of ${name}`
    throw new Problem(`${found}, which stays. If that is right, remove ${name} and run it again.`)
  }
  await rename(part, name)
  console.log(`Wrote ${counted(count, 'transaction')} to ${name}`)
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
    return { bytes: 0, count: 0 }
  }
}

/**
 * Writes a new file and renames it, which is one step, so there is never half a position.
 *
 * @param {string} file
 * @param {Position} position
 */
async function writePosition(file, position) {
  await writeFile(`${file}.new`, JSON.stringify(position), { flush: true })
  await rename(`${file}.new`, file)
}

const columns = ['id', 'amount', 'currency', 'description']
// The byte-order mark tells Excel that it is UTF-8.
const header = `\ufeff${columns.join()}\n`

/** @param {import('virtual-accounts').Transaction[]} transactions */
function toCsv(transactions) {
  return stringify(transactions, {
    columns,
    // To a spreadsheet, a description such as =HYPERLINK(…) would be a formula.
    escape_formulas: true,
    // Digits, never 1e+21.
    cast: { number: amount => new Big(amount).toFixed() },
  })
}
