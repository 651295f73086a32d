// A Worker that responds to GET with the number of transactions in each currency, and to POST by deactivating an
// account. First, in another terminal:
//
//   npm run build && npm run example examples/fake-server.js
//
// Then, on http://127.0.0.1:8788:
//
//   (cd test/runtimes && npm ci)
//   node test/runtimes/workerd.js examples/worker/accounts.js
//
// BASE_URL is a variable of the Worker, and API_KEY a secret.

import { env } from 'cloudflare:workers'
import { Client, isApiError } from 'virtual-accounts'

// One for all requests, so that they share its retry budget.
const client = new Client({ baseUrl: env.BASE_URL, apiKey: env.API_KEY })

export default {
  async fetch(request) {
    try {
      return Response.json(request.method === 'GET' ? await countByCurrency() : await deactivate())
    } catch (error) {
      if (!isApiError(error)) throw error
      console.error(error.message)
      return Response.json({ error: 'the request to the service failed' }, { status: 502 })
    }
  },
}

async function countByCurrency() {
  const counts = {}
  for await (const { currency } of client.transactions.list({ limit: 100 })) {
    counts[currency] = (counts[currency] ?? 0) + 1
  }
  return counts
}

async function deactivate() {
  const account = { customerId: 'c1', virtualAccountId: 'v1' }
  const { idempotencyKey } = await client.virtualAccounts.deactivate(account)
  return { idempotencyKey }
}
