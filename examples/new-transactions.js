// @ts-check
// Adds only new transactions to a file, one line of JSON each, for a list that
// shows the newest first. Run it as often as you like, with cron for example.
//
//   npm run example examples/new-transactions.js [-- FILE]
//   BASE_URL=https://… API_KEY=… npm run example examples/new-transactions.js
//
// Default FILE: transactions.jsonl. FILE.json holds the cursor of the last
// complete run. You can kill the program at any time. The next run starts there
// again.

import { createReadStream } from 'node:fs'
import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { connect, findService } from './connect.js'
import { counted, Problem, runMain } from './terminal.js'

/** @typedef {{ bytes: number, newest?: string }} Position */

runMain(import.meta.filename, addNewTransactions, 1)

async function addNewTransactions(name = 'transactions.jsonl') {
  const positionFile = `${name}.json`

  /** @type {import('virtual-accounts').EndEvent | undefined} */
  let end
  const client = connect(findService(), event => {
    if (event.type === 'end') end = event
  })

  const file = await open(name, 'a')
  let bytes = 0
  let count = 0
  try {
    const saved = await readPosition(positionFile, name)
    bytes = saved.bytes
    if ((await file.stat()).size < bytes)
      throw new Problem(
        `${name} was cut off. To add what is missing, remove ${positionFile} and run it again.`,
      )
    // Lines after this belong to a run that did not finish.
    await file.truncate(bytes)
    // The list can repeat items of earlier runs. It repeats all of them if every item that the cursor names is gone.
    const known = await readIds(name)

    const options = { verified: true, until: saved.newest }
    let newest
    for await (const { items, cursor } of client.transactions.list({ limit: 100 }, options).batches()) {
      newest ??= cursor
      const added = items.filter(({ id }) => !known.has(id))
      for (const { id } of added) known.add(id)
      const lines = added.map(item => `${JSON.stringify(item)}\n`).join('')
      await verifySize()
      await file.appendFile(lines)
      bytes += Buffer.byteLength(lines)
      count += added.length
    }
    if (!end?.isComplete) throw new Problem(`Not complete: ${end?.reason}. Nothing was added.`)
    await verifySize()
    await file.sync()
    // If nothing is new, the old cursor stays.
    const position = JSON.stringify({ bytes, newest: newest ?? saved.newest })
    await writeFile(`${positionFile}.new`, position, { flush: true })
    await rename(`${positionFile}.new`, positionFile)
  } finally {
    await file.close()
  }
  console.log(`Added ${counted(count, 'transaction')} to ${name}`)

  async function verifySize() {
    if ((await file.stat()).size !== bytes) throw new Problem(`Another program writes to ${name}.`)
  }
}

/**
 * @param {string} file
 * @param {string} name
 * @returns {Promise<Position>}
 */
async function readPosition(file, name) {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    // Its complete lines stay. The whole list is read, and missing items are added.
    return { bytes: (await readFile(name)).lastIndexOf('\n') + 1 }
  }
}

/**
 * The ids of the transactions in a file.
 *
 * @param {string} file
 */
async function readIds(file) {
  /** @type {Set<string>} */
  const ids = new Set()
  for await (const line of createInterface({ input: createReadStream(file) })) ids.add(JSON.parse(line).id)
  return ids
}
