// Shared by command.js on Bun, Deno and Node, and worker.js on Cloudflare.

import { Client } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'

/** A client of the service that BASE_URL and API_KEY name, or of a fake one if BASE_URL is not set. */
export function createClient({ BASE_URL: baseUrl, API_KEY: apiKey }) {
  if (baseUrl) return new Client({ baseUrl, apiKey })
  const fake = new FakeService({ transactions: sampleTransactions(1000) })
  return new Client({ baseUrl: fake.baseUrl, apiKey: fake.apiKey, fetch: fake.fetch })
}

/** The number of transactions in each currency. */
export async function countByCurrency(client) {
  const counts = {}
  for await (const { currency } of client.transactions.list({ limit: 100 })) {
    counts[currency] = (counts[currency] ?? 0) + 1
  }
  return counts
}

/** Deactivates an account, and returns the key for a retry. */
export async function deactivate(client) {
  const account = { customerId: 'c1', virtualAccountId: 'v1' }
  const { idempotencyKey } = await client.virtualAccounts.deactivate(account)
  return idempotencyKey
}
