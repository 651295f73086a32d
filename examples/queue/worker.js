// One of several workers. It takes jobs from the queue and deactivates their accounts. index.js starts it.

import { RateLimitError, UnrecoverableError, Worker } from 'bullmq'
import { Client, isApiError } from 'virtual-accounts'

const { BASE_URL, API_KEY, REDIS_URL, QUEUE } = process.env
// The queue retries. Its delays occupy no worker, survive a crash and are seen by all workers.
const client = new Client({ baseUrl: BASE_URL, apiKey: API_KEY, maxRetries: 0, timeout: 10_000 })

const worker = new Worker(QUEUE, deactivate, {
  connection: { url: REDIS_URL, maxRetriesPerRequest: null },
  concurrency: 10,
  // The service's rate, for all workers together.
  limiter: { max: 1000, duration: 1000 },
  // When a worker is killed, the others get its jobs after this time. The defaults are 30 s each.
  lockDuration: 5000,
  stalledInterval: 2000,
  // How often a job may lose its worker. The default is 1.
  maxStalledCount: 5,
})
// BullMQ reconnects by itself.
worker.on('error', () => {})
// Ends after its current jobs, or with the program that started it.
process.on('SIGTERM', () => worker.close().then(() => process.exit()))
process.on('disconnect', () => process.exit())

async function deactivate(job) {
  const { account, idempotencyKey } = job.data
  try {
    await client.virtualAccounts.deactivate(account, { idempotencyKey })
  } catch (error) {
    // Such as a mistake in the call. A retry would fail in the same way.
    if (!isApiError(error)) throw new UnrecoverableError(String(error))
    // Stored, because a later refusal says nothing about this attempt. `job.stalledCounter` counts killed workers.
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
