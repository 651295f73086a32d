// One of several: takes jobs from the queue, and deactivates their accounts. index.js starts it.

import { RateLimitError, UnrecoverableError, Worker } from 'bullmq'
import { Client, isApiError } from 'virtual-accounts'

const { BASE_URL, API_KEY, REDIS_URL, QUEUE } = process.env
// The queue does the retries: there, a delay occupies no worker, survives a crash and is seen by all workers.
const client = new Client({ baseUrl: BASE_URL, apiKey: API_KEY, maxRetries: 0, timeout: 10_000 })

const worker = new Worker(QUEUE, deactivate, {
  connection: { url: REDIS_URL, maxRetriesPerRequest: null },
  concurrency: 10,
  // Of all workers together: what the service allows.
  limiter: { max: 1000, duration: 1000 },
  // When a worker is killed, the others get its jobs after this time. The defaults are 30 s each.
  lockDuration: 5000,
  stalledInterval: 2000,
  // How often a job may lose its worker. The default is 1.
  maxStalledCount: 5,
})
// BullMQ reconnects by itself.
worker.on('error', () => {})
// Ends after the jobs that it has, or with the program that started it.
process.on('SIGTERM', () => worker.close().then(() => process.exit()))
process.on('disconnect', () => process.exit())

async function deactivate(job) {
  const { account, idempotencyKey } = job.data
  try {
    await client.virtualAccounts.deactivate(account, { idempotencyKey })
  } catch (error) {
    // A mistake in the call, say: another attempt would fail in the same way.
    if (!isApiError(error)) throw new UnrecoverableError(String(error))
    // Noted, as a refusal of a later attempt says nothing about this one. If a worker is killed, `job.stalledCounter` says so.
    if (error.outcomeUnknown) await job.updateData({ ...job.data, outcomeUnknown: true })
    if (error.retryAfterMs !== undefined) {
      // All workers pause, and the job goes back to the queue with as many attempts as before.
      await worker.rateLimit(error.retryAfterMs)
      throw new RateLimitError()
    }
    const mayHelp = error.outcomeUnknown || error.kind !== 'http' || [425, 429].includes(error.status)
    throw mayHelp ? error : new UnrecoverableError(error.message)
  }
}
