import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Client } from 'virtual-accounts'
import { FlowProducer } from '../scaling/bullmq/index.js'
import { startService, startWorkers } from '../scaling/processes.js'
import { failedJobs, openQueue, openState, resume, takenOver, untilDone } from '../scaling/program.js'
import { counted, openStatus, Problem } from '../terminal.js'
import { partsOf } from './parts.js'

/**
 * Exports all transactions through a queue. Run again with the same name and state, it does what is left.
 *
 * @param {object} options
 * @param {string} options.name of the export
 * @param {string} options.output a file
 * @param {number} options.limit transactions on a page
 * @param {number} options.pages pages that a job reads
 * @param {number} options.transactions how many the fake service has
 * @param {import('../terminal.js').Status} [options.status] is told how it goes
 */
export async function exportAll(options) {
  const { name, status = openStatus() } = options
  const state = await openState(options.state)
  const { latency, transactions } = options
  const service = await startService({ latency, faulty: options.faulty, transactions })
  const queueName = `export-${name}`
  const queue = openQueue(queueName, state.url)
  const flow = new FlowProducer({ connection: { url: state.url } })
  flow.on('error', () => {})
  let keep = true

  try {
    const client = new Client({ baseUrl: service.url, apiKey: service.apiKey })
    const begun = await queue.getJob('join')
    const plan = begun?.data ?? (await newPlan(client, options, join(state.folder, queueName)))
    // All jobs are added in one step, so where the last is the others are.
    if (begun) await resume(queue)
    else await addJobs(flow, queueName, plan)
    status.note(`${counted(plan.totalItems, 'transaction')}, ${plan.limit} on a page`)

    const file = new URL('worker.js', import.meta.url)
    const workers = startWorkers(file, {
      ...options,
      redisUrl: state.url,
      service,
      queue: queueName,
      note: status.note,
    })
    const run = await untilDone({ queue, workers, noun: 'job', kill: options.kill, status }).finally(
      workers.stop,
    )

    const failures = []
    for await (const job of failedJobs(queue)) failures.push(`${job.id}: ${job.failedReason}`)
    const lastJob = await queue.getJob('join')
    const joined = lastJob?.finishedOn && lastJob.returnvalue ? lastJob.returnvalue : undefined
    const takeover = await takenOver(queue, run.killed)
    keep = joined === undefined
    if (!keep) await rm(plan.folder, { recursive: true, force: true })
    return {
      ...run,
      joined,
      failures,
      before: plan.totalItems,
      output: plan.output,
      stateFolder: state.folder,
      refusal: workers.refusal(),
      isLost: lastJob === undefined,
      takeover,
      received: await service.received(),
      ...workers.usage,
    }
  } finally {
    await flow.close().catch(() => {})
    await queue.close().catch(() => {})
    await service.close()
    await state.close({ keep })
  }
}

/** Page 1 says how many transactions there are, and which limit is in effect, whatever was requested. */
async function newPlan(client, { limit, pages, output }, folder) {
  const { totalItems, pageCount, limit: inEffect } = await client.transactions.list({ page: 1, limit })
  await checkOverlap(client, inEffect)
  // Parts of another plan, whose queue was lost, may end elsewhere.
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  return { totalItems, pageCount, limit: inEffect, pagesInPart: pages, folder, output: resolve(output) }
}

/** Pages of different sizes are how a verified walk makes them overlap. Better said now than by each part. */
async function checkOverlap(client, limit) {
  const smaller = Math.max(1, limit - 1)
  const { limit: inEffect } = await client.transactions.list({ page: 1, limit: smaller })
  if (inEffect === smaller) return
  throw new Problem(
    `The service turns limit=${smaller} into ${inEffect}, so pages cannot overlap and nothing can be proven.`,
  )
}

/** BullMQ starts the join when every part is there. */
async function addJobs(flow, queueName, plan) {
  const { pageCount, pagesInPart, limit, folder } = plan
  const retries = { attempts: 8, backoff: { type: 'exponential', delay: 500, jitter: 0.5 } }
  await flow.add({
    name: 'join',
    queueName,
    data: plan,
    opts: { jobId: 'join', ...retries },
    children: partsOf(pageCount, pagesInPart, limit).map(part => ({
      name: 'part',
      queueName,
      data: { ...part, limit, folder },
      opts: { jobId: `from-page-${part.page}`, ...retries },
    })),
  })
}
