// @ts-check
// Reads all transactions into a file, and goes on where it was when it is ended in the middle, however rudely. Kill it
// (Ctrl-C, or kill -9), start it again: no transaction is there twice, and none is missing.
//
//   npm run example examples/resume-after-crash.js              a fake service's, to the folder import
//   BASE_URL=https://… API_KEY=… npm run example examples/resume-after-crash.js there
//
// transactions.jsonl has a transaction on each line. position.json says how many of its bytes are sure, and which page
// comes next. Items are on the disk before the position that counts them. What stands behind it is cut off at the
// start: it will come again. With a database, put items and position into one transaction instead.

import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { isApiError } from 'virtual-accounts'
import { connect } from './connect.js'
import { counted, grouped, runMain } from './terminal.js'

const [folder = 'import'] = process.argv.slice(2)
// Part of the position: with another limit, pages hold other items.
const limit = 20

/** @typedef {{ page: number, bytes: number, totalItems: number }} Position */

runMain(async () => {
  const { client, where, close } = await connect(() => ({ latency: 400 }))
  console.log(`Reading the transactions of ${where} into ${folder}`)
  await mkdir(folder, { recursive: true })
  const file = await open(join(folder, 'transactions.jsonl'), 'a+')
  try {
    const position = await readPosition()
    await file.truncate(position.bytes)
    const written = idsIn(await readFile(join(folder, 'transactions.jsonl'), 'utf8'))
    let { bytes } = position

    const page = await firstPage(client, position)
    console.log(`${counted(written.size, 'transaction')} there already, continuing at page ${page}`)
    const transactions = client.transactions.list({ page, limit })
    for await (const { data, page: number, totalItems } of transactions.pages()) {
      const fresh = data.filter(({ id }) => !written.has(id))
      const lines = fresh.map(transaction => `${JSON.stringify(transaction)}\n`).join('')
      await file.appendFile(lines)
      await file.sync()
      bytes += Buffer.byteLength(lines)
      await writePosition({ page: number + 1, bytes, totalItems })
      for (const { id } of fresh) written.add(id)
      console.log(`page ${number}: ${grouped(written.size)} of ${grouped(totalItems)} written`)
    }
    console.log(`Done: ${counted(written.size, 'transaction')} in ${folder}`)
  } catch (error) {
    if (isApiError(error)) console.error('Start it again: it continues where it was.')
    throw error
  } finally {
    await file.close()
    await close()
  }
})

/**
 * Where to go on. When the total is another, the list has changed and its pages hold other items than they did: all
 * are read again, and those that are written already are known by their ids. As many added as removed cannot be seen: if
 * that may be, read all again whenever it was ended.
 *
 * @param {import('virtual-accounts').Client} client
 * @param {Position} position
 */
async function firstPage(client, { page, totalItems }) {
  if (page === 1) return 1
  const now = await client.transactions.list({ limit })
  return now.totalItems === totalItems ? page : 1
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
    return { page: 1, bytes: 0, totalItems: 0 }
  }
}

/**
 * Writes a new file and gives it the name of the old one, which is one step: there is no half of a position.
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
