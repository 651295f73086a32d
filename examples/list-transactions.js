// @ts-check
// All transactions, counted and added up by currency:
//
//   npm run example examples/list-transactions.js
//   BASE_URL=https://… API_KEY=… npm run example examples/list-transactions.js

import { connect } from './connect.js'
import { DecimalSum } from './decimal-sum.js'

const { client, close } = await connect()
try {
  // Nothing is sent yet: what is done with the list decides what is asked for.
  const transactions = client.transactions.list({ limit: 100 })

  // Awaited, it is one page, the first.
  const { totalItems, pageCount, data } = await transactions
  console.log(`${totalItems} transactions on ${pageCount} pages. The first ones:`)
  console.table(data.slice(0, 5), ['id', 'amount', 'currency', 'description'])

  // In a loop, it is every item, in order, each once. Four pages are fetched at a time.
  /** @type {Map<string, { count: number, sum: DecimalSum }>} */
  const currencies = new Map()
  for await (const { currency, amount } of transactions) {
    const entry = currencies.get(currency) ?? { count: 0, sum: new DecimalSum() }
    currencies.set(currency, entry)
    entry.count++
    entry.sum.add(amount)
  }
  console.log('All of them, by currency:')
  for (const [currency, { count, sum }] of [...currencies].sort())
    console.log(`${currency}: ${count}, ${sum}`)
} finally {
  await close()
}
