// @ts-check
// All transactions in a CSV file, in constant memory however many there are, with the rate and the time left:
//
//   npm run example examples/export-csv.js                      100,000 of a fake service, to transactions.csv
//   BASE_URL=https://… API_KEY=… npm run example examples/export-csv.js there.csv
//
// A spreadsheet takes an id of digits alone for a number and rounds it: import that column as text.

import { createWriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { stringify } from 'csv-stringify'
import { sampleTransactions } from 'virtual-accounts/testing'
import { connect } from './connect.js'
import { DecimalSum } from './decimal-sum.js'

const [file = 'transactions.csv'] = process.argv.slice(2)
const { client, close } = await connect(() => ({ transactions: sampleTransactions(100_000), maxLimit: 1000 }))
try {
  const transactions = client.transactions.list({ limit: 1000 })
  const { totalItems } = await transactions
  await pipeline(
    transactions,
    items => counted(items, totalItems),
    stringify({
      header: true,
      columns: ['id', 'amount', 'currency', 'description'],
      // Without it a description such as =HYPERLINK(…) would be a formula to a spreadsheet.
      escape_formulas: true,
      // Digits, never 1e+21.
      cast: { number: amount => new DecimalSum().add(amount).toString() },
      // By which Excel knows UTF-8.
      bom: true,
    }),
    createWriteStream(`${file}.part`),
  )
  // Half an export never has the name of a whole one.
  await rename(`${file}.part`, file)
  console.log(`Wrote ${file}.`)
} finally {
  await close()
}

/**
 * Passes items on and tells how far it is. On stderr, which is no part of what the program has to say.
 *
 * @template T
 * @param {AsyncIterable<T>} items
 * @param {number} total
 */
async function* counted(items, total) {
  const { stderr } = process
  const began = performance.now()
  // A terminal's line is written again ten times a second; elsewhere there is a line for every tenth.
  const pauseMs = 100
  let done = 0
  let nextAt = stderr.isTTY ? began + pauseMs : total / 10

  function show() {
    const seconds = (performance.now() - began) / 1000
    const rate = done / seconds
    const left = rate > 0 ? Math.ceil(Math.max(0, total - done) / rate) : 0
    const reached = total > 0 ? Math.min(done / total, 1) : 1
    const bar = '█'.repeat(Math.round(reached * 20)).padEnd(20, '░')
    const line = `${bar} ${done} of ${total}, ${Math.round(rate)} a second, ${left} s left`
    stderr.write(stderr.isTTY ? `\r\x1b[K${line}` : `${line}\n`)
  }

  for await (const item of items) {
    done++
    if (stderr.isTTY && performance.now() >= nextAt) {
      show()
      nextAt = performance.now() + pauseMs
    } else if (!stderr.isTTY && done >= nextAt && done < total) {
      show()
      nextAt += total / 10
    }
    yield item
  }
  show()
  if (stderr.isTTY) stderr.write('\n')
}
