// A Worker that responds to GET with the number of transactions in each currency, and to POST by deactivating an
// account. After `npm run build` and `(cd test/runtimes && npm ci)`, on http://127.0.0.1:8788:
//
//   node test/runtimes/workerd.js examples/runtimes/worker.js
//
// BASE_URL is a variable of the Worker, and API_KEY a secret.

import { env } from 'cloudflare:workers'
import { isApiError } from 'virtual-accounts'
import { countByCurrency, createClient, deactivate } from './accounts.js'

// One client for all requests, so they share its retry budget.
const client = createClient(env)

export default {
  async fetch(request) {
    try {
      if (request.method === 'GET') return Response.json(await countByCurrency(client))
      return Response.json({ idempotencyKey: await deactivate(client) })
    } catch (error) {
      if (!isApiError(error)) throw error
      console.error(error.message)
      return Response.json({ error: 'the request to the service failed' }, { status: 502 })
    }
  },
}
