// One of several: takes accounts from the queue and deactivates them. index.js starts it.

import { Client } from 'virtual-accounts'
import { work } from '../scaling/worker.js'

const client = new Client({
  baseUrl: process.env.BASE_URL,
  apiKey: process.env.API_KEY,
  // The queue does the waiting: there it holds up no place in a worker, outlives a kill, and keeps to the one limit of
  // all workers. With retries here as well, 8 attempts would be 24 requests.
  maxRetries: 0,
  // Shorter than a job may take to be noticed as lost, and long enough for a slow answer.
  timeout: 30_000,
})

work(async job => {
  const { status } = await client.virtualAccounts.deactivate(job.data.account, { idempotencyKey: job.id })
  return { status }
})
