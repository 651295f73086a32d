// One of several: takes accounts from the queue and deactivates them. index.js starts it.

import { Client } from 'virtual-accounts'
import { work } from '../scaling/worker.js'

const client = new Client({
  baseUrl: process.env.BASE_URL,
  apiKey: process.env.API_KEY,
  // The queue does the retries: a delay there takes no place in a worker, survives a kill, and obeys the one limit of
  // all workers. With retries here as well, 8 attempts would be 24 requests.
  maxRetries: 0,
  timeout: 30_000,
})

work(async job => {
  const { status, idempotencyKey } = await client.virtualAccounts.deactivate(job.data.account, {
    idempotencyKey: job.id,
  })
  // What index.js takes as proof.
  return { status, idempotencyKey }
})
