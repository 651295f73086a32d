// @ts-check
// Lists all transactions and adds them up by currency:
//
//   npm run example examples/list-transactions.js
//   BASE_URL=https://… API_KEY=… npm run example examples/list-transactions.js

import Big from 'big.js'
import { connect, findService } from './connect.js'
import { aligned, counted, grouped, runMain } from './terminal.js'

runMain(import.meta.filename, async () => {
  const service = findService()
  const client = connect(service)
  console.log(`Listing the transactions of ${service.name}`)
  // Nothing is sent yet. Awaiting or iterating the list sends requests.
  const transactions = client.transactions.list({ limit: 100 }, { verified: true })

  // Awaiting it fetches the first page.
  const { totalItems, pageCount, data } = await transactions
  console.log(
    `\n${counted(totalItems, 'transaction')} on ${counted(pageCount, 'page')}. From the first page:`,
  )
  const shown = data.slice(0, 5)
  const amounts = aligned(shown.map(({ amount }) => amount))
  for (const [index, { id, currency, description }] of shown.entries()) {
    console.log(`  ${id}  ${currency} ${amounts[index]}  ${description}`)
  }

  // A loop yields every item once, in order, or throws. It fetches four pages in parallel.
  /** @type {Map<string, { count: number, sum: Big }>} */
  const currencies = new Map()
  for await (const { currency, amount } of transactions) {
    const entry = currencies.get(currency) ?? { count: 0, sum: new Big(0) }
    currencies.set(currency, entry)
    entry.count++
    entry.sum = entry.sum.plus(amount)
  }
  console.log('\nAll pages, by currency:')
  const sorted = [...currencies].sort()
  const sums = aligned(sorted.map(([, { sum }]) => sum.toFixed()))
  for (const [index, [currency, { count }]] of sorted.entries()) {
    console.log(`  ${currency}  ${grouped(count).padStart(7)}  ${sums[index]}`.trimEnd())
  }
})
