import { startService, startWorkers } from '../scaling/processes.js'
import { openQueue, openState, redisUsage, resume, takenOver, untilDone } from '../scaling/program.js'
import { counted, grouped, openStatus, Problem } from '../terminal.js'
import { keyOf, madeUp, pathOf } from './accounts.js'

/**
 * Deactivates all accounts of a batch through a queue. Run again with the same batch and state, it does what is left.
 *
 * @param {object} options
 * @param {string} options.batch names the intent: the same batch gives the same keys
 * @param {AsyncIterable<import('virtual-accounts').VirtualAccountRef>} options.accounts
 * @param {import('../terminal.js').Status} [options.status] is told how it goes
 */
export async function deactivateAll(options) {
  const { batch, status = openStatus() } = options
  const requested = await byKey(batch, options.accounts, status)
  const state = await openState(options.state)
  const refused = Array.from(
    { length: options.refuse },
    (_, index) => `${pathOf(madeUp(index * 7 + 1))}/deactivate`,
  )
  const service = await startService({ latency: options.latency, faulty: options.faulty, refused })
  // The limiter is the queue's: two batches in parallel would each have the whole rate.
  const name = `deactivate-${batch}`
  const queue = openQueue(name, state.url)
  let keep = true

  try {
    const before = await redisUsage(state.url)
    const retried = await resume(queue)
    if (retried > 0)
      status.note(`${counted(retried, 'failed job')} of an earlier run retried, with the same keys`)
    const began = Date.now()
    for (const jobs of chunks(requested, 1000)) {
      // A job whose id is there already is not added again, whatever became of it.
      await queue.addBulk(jobs.map(([id, account]) => jobOf(id, account)))
      status.show(`Adding ${counted(requested.size, 'job')} to the queue`)
    }

    const file = new URL('worker.js', import.meta.url)
    const workers = startWorkers(file, {
      ...options,
      redisUrl: state.url,
      service,
      queue: name,
      note: status.note,
    })
    const run = await untilDone({ queue, workers, noun: 'account', kill: options.kill, status }).finally(
      workers.stop,
    )

    const outcomes = await outcomesOf(queue, requested, began)
    const takeover = await takenOver(queue, run.killed)
    const received = await service.received()
    if (received) dropUnconfirmed(outcomes, new Set(received.deactivated), batch)
    const after = await redisUsage(state.url)
    keep = outcomes.deactivated.length < requested.size
    return {
      ...run,
      ...outcomes,
      requested: requested.size,
      stateFolder: state.folder,
      refusal: workers.refusal(),
      takeover,
      received,
      ...workers.usage,
      redisBytes: after.bytes - before.bytes,
      redisCpuMs: after.cpuMs - before.cpuMs,
    }
  } finally {
    await queue.close().catch(() => {})
    await service.close()
    await state.close({ keep })
  }
}

/** Each account once, by its key. All are read before the first write, so a wrong line stops the batch here. */
async function byKey(batch, accounts, status) {
  const requested = new Map()
  let given = 0
  for await (const account of accounts) {
    given++
    requested.set(keyOf(batch, account), account)
  }
  if (given === 0) throw new Problem('There are no accounts to deactivate.')
  if (given > requested.size)
    status.note(`${grouped(given - requested.size)} of ${grouped(given)} accounts are duplicates`)
  return requested
}

function jobOf(jobId, account) {
  return {
    name: 'deactivate',
    data: { account },
    opts: {
      jobId,
      attempts: 8,
      // 0.5, 1, 2 … 32 s, each shortened at random by up to a half: a minute in all.
      backoff: { type: 'exponential', delay: 500, jitter: 0.5 },
    },
  }
}

/**
 * What became of each account. An empty queue proves nothing: it may have lost its jobs. Neither does a finished job. Only
 * the 2xx response stored in it does.
 *
 * @returns {Promise<{ deactivated: Outcome[], failed: Outcome[], unproven: Outcome[] }>}
 *
 * @typedef {{ account: VirtualAccountRef, isOfThisRun?: boolean, why?: string, report?: object }} Outcome
 * @typedef {import('virtual-accounts').VirtualAccountRef} VirtualAccountRef
 */
async function outcomesOf(queue, requested, began) {
  const outcomes = { deactivated: [], failed: [], unproven: [] }
  for (const chunk of chunks(requested, 1000)) {
    const jobs = await Promise.all(chunk.map(([id]) => queue.getJob(id)))
    for (const [index, [id, account]] of chunk.entries()) {
      const job = jobs[index]
      const { status, idempotencyKey } = (job?.finishedOn && job.returnvalue) || {}
      if (status >= 200 && status < 300 && idempotencyKey === id) {
        outcomes.deactivated.push({ account, isOfThisRun: job.finishedOn >= began })
      } else if (job?.finishedOn && job.failedReason) {
        outcomes.failed.push({ account, why: 'failed for good', report: failureOf(job) })
      } else outcomes.unproven.push(unproven(account, id, whyUnproven(job)))
    }
  }
  return outcomes
}

function whyUnproven(job) {
  if (!job) return 'the queue lost its job'
  return job.finishedOn ? 'its job ended without a response' : 'still in the queue'
}

function unproven(account, idempotencyKey, why) {
  return { account, why, report: { ...account, reason: why, idempotencyKey } }
}

function failureOf(job) {
  return {
    ...job.data.account,
    reason: job.failedReason,
    response: job.data.response,
    idempotencyKey: job.id,
    // A worker that was killed could not say what became of its call.
    outcomeUnknown: Boolean(job.data.outcomeUnknown) || job.stalledCounter > 0,
  }
}

/** What the fake service does not confirm is not proven, whatever a worker says. It knows this run only. */
function dropUnconfirmed(outcomes, confirmed, batch) {
  const isConfirmed = ({ account, isOfThisRun }) => !isOfThisRun || confirmed.has(pathOf(account))
  for (const { account } of outcomes.deactivated.filter(outcome => !isConfirmed(outcome))) {
    outcomes.unproven.push(unproven(account, keyOf(batch, account), 'the service did not receive it'))
  }
  outcomes.deactivated = outcomes.deactivated.filter(isConfirmed)
}

/** @param {Iterable<T>} items @param {number} size @template T */
function* chunks(items, size) {
  let chunk = []
  for (const item of items) {
    chunk.push(item)
    if (chunk.length < size) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}
