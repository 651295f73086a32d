// @ts-check
// Exports all transactions to a CSV file, in constant memory however many there are, with the rate and the time left:
//
//   npm run example examples/export-csv.js                      100,000 of a fake service, to transactions.csv
//   BASE_URL=https://… API_KEY=… npm run example examples/export-csv.js there.csv
//
// A spreadsheet takes an id of digits alone for a number and rounds it: import that column as text.

import { createWriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import Big from 'big.js'
import { stringify } from 'csv-stringify'
import { sampleTransactions } from 'virtual-accounts/testing'
import { connect } from './connect.js'
import { counted, runMain, startProgress } from './terminal.js'

runMain(async () => {
  const [file = 'transactions.csv'] = process.argv.slice(2)
  const { client, where, close } = await connect(() => ({
    transactions: sampleTransactions(100_000),
    maxLimit: 1000,
  }))
  try {
    console.error(`Exporting the transactions of ${where}`)
    const transactions = client.transactions.list({ limit: 1000 })
    const { totalItems } = await transactions
    const progress = startProgress(totalItems)
    let written = 0
    await pipeline(
      transactions,
      async function* (items) {
        for await (const item of items) {
          written++
          progress.step()
          yield item
        }
      },
      stringify({
        header: true,
        columns: ['id', 'amount', 'currency', 'description'],
        // Without it a description such as =HYPERLINK(…) would be a formula to a spreadsheet.
        escape_formulas: true,
        // Digits, never 1e+21.
        cast: { number: amount => new Big(amount).toFixed() },
        // By which Excel recognises UTF-8.
        bom: true,
      }),
      createWriteStream(`${file}.part`),
    )
    progress.end()
    // Half an export never has the name of a whole one.
    await rename(`${file}.part`, file)
    console.log(`Wrote ${counted(written, 'transaction')} to ${file}.`)
  } finally {
    await close()
  }
})
