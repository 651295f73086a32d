import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Client } from 'virtual-accounts'
import { FlowProducer, Queue } from '../scaling/bullmq/index.js'
import { startService, startWorkers } from '../scaling/processes.js'
import { failedJobs, grouped, openState, retryFailed, untilDone } from '../scaling/program.js'
import { partsOf } from './parts.js'

/**
 * Exports all transactions through a queue. Run again with the same name and state, it does what is left.
 *
 * @param {object} options
 * @param {string} [options.name] of the export
 * @param {string} options.output a file
 * @param {number} options.limit transactions on a page
 * @param {number} options.pages pages that a job reads
 * @param {number} options.transactions how many the fake service has
 * @param {(text: string) => void} options.note is told how it goes
 */
export async function exportAll(options) {
  const { name = randomUUID(), note } = options
  const state = await openState(options.state)
  const { latency, transactions } = options
  const service = await startService({ latency, faulty: !options.smooth, transactions })
  const queueName = `export-${name}`
  const connection = { url: state.url }
  const queue = new Queue(queueName, { connection })
  const flow = new FlowProducer({ connection })
  let keep = true

  try {
    const client = new Client({ baseUrl: service.url, apiKey: service.apiKey })
    const begun = await queue.getJob('join')
    const plan = begun?.data ?? (await newPlan(client, options, join(state.folder, queueName)))
    // All jobs are added as one, so where there is the last there are the others.
    if (begun) await retryFailed(queue)
    else await addJobs(flow, queueName, plan)
    note(
      `Export ${name}: ${grouped(plan.totalItems)} transactions, ${plan.limit} on a page, service ${service.url}`,
    )

    const file = new URL('worker.js', import.meta.url)
    const workers = startWorkers(file, { ...options, redisUrl: state.url, service, queue: queueName })
    const { interrupted, seconds } = await untilDone({ queue, workers, kill: options.kill, note })
    await workers.stop()

    for await (const job of failedJobs(queue)) note(`${job.id}: ${job.failedReason}`)
    const joined = (await queue.getJob('join'))?.returnvalue ?? undefined
    keep = joined === undefined
    if (!keep) await rm(plan.folder, { recursive: true, force: true })
    if (keep) note(`Run again: node examples/export-parallel --name ${name} --state ${state.folder} …`)
    return { joined, interrupted, seconds, ...workers.usage, received: await service.received() }
  } finally {
    await flow.close()
    await queue.close()
    await service.close()
    await state.close({ keep })
  }
}

/** Page 1 tells how much there is, and which limit is in effect, whatever was asked for. */
async function newPlan(client, { limit, pages, output }, folder) {
  await mkdir(folder, { recursive: true })
  const { totalItems, limit: inEffect } = await client.transactions.list({ page: 1, limit })
  return { totalItems, limit: inEffect, pagesInPart: pages, folder, output: resolve(output) }
}

/** The join is begun when every part is there: that much the queue knows itself. */
async function addJobs(flow, queueName, plan) {
  const { totalItems, limit, folder } = plan
  const parts = partsOf(Math.max(1, Math.ceil(totalItems / limit)), plan.pagesInPart)
  const again = { attempts: 8, backoff: { type: 'exponential', delay: 500, jitter: 0.5 } }
  await flow.add({
    name: 'join',
    queueName,
    data: plan,
    opts: { jobId: 'join', ...again },
    children: parts.map(part => ({
      name: 'part',
      queueName,
      data: { ...part, limit, folder },
      opts: { jobId: `pages-${part.from}-${part.to}`, ...again },
    })),
  })
}
