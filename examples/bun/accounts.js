// Counts the transactions in each currency and deactivates an account, on Bun. First, in another terminal:
//
//   npm run build && npm run example examples/fake-server.js
//
// Then:
//
//   bun examples/bun/accounts.js
//
// BASE_URL and API_KEY use a real service: it also deactivates account v1 of customer c1 there.

import { Client, isApiError } from 'virtual-accounts'

const client = new Client({
  baseUrl: Bun.env.BASE_URL ?? 'http://127.0.0.1:8787',
  apiKey: Bun.env.API_KEY ?? 'test_key',
})

try {
  const counts = {}
  for await (const { currency } of client.transactions.list({ limit: 100 })) {
    counts[currency] = (counts[currency] ?? 0) + 1
  }
  for (const [currency, count] of Object.entries(counts)) console.log(`${currency} ${count}`)

  const { idempotencyKey } = await client.virtualAccounts.deactivate({
    customerId: 'c1',
    virtualAccountId: 'v1',
  })
  console.log('deactivated with idempotencyKey', idempotencyKey)
} catch (error) {
  if (!isApiError(error)) throw error
  // One line: which request, what happened, what to do. It never holds the key.
  console.error(error.message)
  process.exitCode = 1
}
