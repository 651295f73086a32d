// Counts the transactions in each currency and deactivates an account. After `npm run build`:
//
//   bun examples/runtimes/command.js
//   deno run --allow-net --allow-env=BASE_URL,API_KEY examples/runtimes/command.js
//
// With BASE_URL and API_KEY, it uses that service.

import process from 'node:process'
import { isApiError } from 'virtual-accounts'
import { countByCurrency, createClient, deactivate } from './accounts.js'

try {
  const client = createClient(process.env)
  for (const [currency, count] of Object.entries(await countByCurrency(client))) console.log(currency, count)
  console.log('deactivated with idempotencyKey', await deactivate(client))
} catch (error) {
  if (!isApiError(error)) throw error
  // The message is one line without the API key: which request, what happened, what to do.
  console.error(error.message)
  process.exitCode = 1
}
