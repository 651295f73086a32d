import { randomUUID } from 'node:crypto'
import { Queue } from '../scaling/bullmq/index.js'
import { startService, startWorkers } from '../scaling/processes.js'
import { failedJobs, grouped, openState, redisUsage, retryFailed, untilDone } from '../scaling/program.js'
import { accountsOf, bunches, keyOf, madeUp } from './accounts.js'

/**
 * Deactivates all accounts of a batch through a queue. Run again with the same batch and state, it does what is left.
 *
 * @param {object} options
 * @param {string} [options.batch] names the intent: the same batch gives the same keys
 * @param {string} [options.accounts] a file
 * @param {number} options.count how many to make up, without a file
 * @param {(failure: object) => void} options.onFailure is given each account that failed for good
 * @param {(text: string) => void} options.note is told how it goes
 */
export async function deactivateAll(options) {
  const { batch = randomUUID(), note } = options
  const state = await openState(options.state)
  const refused = Array.from({ length: options.refuse }, (_, index) => pathOf(madeUp(index * 7 + 1)))
  const service = await startService({ latency: options.latency, faulty: !options.smooth, refused })
  // The limiter is the queue's: two batches at a time would each have the whole rate.
  const name = `deactivate-${batch}`
  const queue = new Queue(name, { connection: { url: state.url } })
  let keep = true

  try {
    const before = await redisUsage(state.url)
    note(
      `Batch ${batch}, ${options.workers} workers with ${options.concurrency} jobs each, service ${service.url}`,
    )
    const retried = await retryFailed(queue)
    if (retried > 0) note(`${grouped(retried)} that failed before are tried again, with the keys they had`)
    const began = performance.now()
    const added = await addJobs(queue, batch, accountsOf({ file: options.accounts, count: options.count }))
    note(
      `${grouped(added)} jobs are in the queue, after ${((performance.now() - began) / 1000).toFixed(1)} s`,
    )

    const file = new URL('worker.js', import.meta.url)
    const workers = startWorkers(file, { ...options, redisUrl: state.url, service, queue: name })
    const { interrupted, seconds, perSecond } = await untilDone({ queue, workers, kill: options.kill, note })
    await workers.stop()

    const { completed, failed } = await queue.getJobCounts('completed', 'failed')
    for await (const job of failedJobs(queue)) options.onFailure(failureOf(job))
    const after = await redisUsage(state.url)
    keep = interrupted || failed > 0
    if (keep) note(`Run again: node examples/bulk-deactivate --batch ${batch} --state ${state.folder} …`)
    return {
      completed,
      failed,
      interrupted,
      seconds,
      perSecond,
      ...workers.usage,
      redisBytes: after.bytes - before.bytes,
      redisCpuMs: after.cpuMs - before.cpuMs,
      received: await service.received(),
    }
  } finally {
    await queue.close()
    await service.close()
    await state.close({ keep })
  }
}

async function addJobs(queue, batch, accounts) {
  let added = 0
  for await (const bunch of bunches(accounts, 1000)) {
    // A job whose id is there already is not added again, whatever became of it.
    await queue.addBulk(bunch.map(account => jobOf(batch, account)))
    added += bunch.length
  }
  return added
}

function jobOf(batch, account) {
  return {
    name: 'deactivate',
    data: { account },
    opts: {
      jobId: keyOf(batch, account),
      attempts: 8,
      // 0.5, 1, 2 … 32 s, each shortened at random by up to a half: a minute in all.
      backoff: { type: 'exponential', delay: 500, jitter: 0.5 },
    },
  }
}

function failureOf(job) {
  return {
    ...job.data.account,
    reason: job.failedReason,
    answer: job.data.answer,
    idempotencyKey: job.id,
    // A worker that was killed could not tell what became of its call.
    outcomeUnknown: Boolean(job.data.outcomeUnknown) || job.stalledCounter > 0,
  }
}

function pathOf({ customerId, virtualAccountId }) {
  return `/customers/${customerId}/virtual_accounts/${virtualAccountId}/deactivate`
}
