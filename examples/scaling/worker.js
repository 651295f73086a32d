// What every worker process does, whatever its jobs are: the BullMQ side of it.

import { isApiError } from 'virtual-accounts'
import { Queue, RateLimitError, UnrecoverableError, Worker } from './bullmq/index.js'

/**
 * Takes jobs from the queue named by QUEUE until it is told to stop.
 *
 * @param {(job: import('bullmq').Job) => Promise<unknown>} perform
 * @returns {Queue} to tell it of waits
 */
export function work(perform) {
  const { REDIS_URL: url, QUEUE: name, RATE, CONCURRENCY } = process.env
  const connection = { url, maxRetriesPerRequest: null }
  let calls = 0

  const worker = new Worker(
    name,
    async job => {
      calls++
      try {
        return await perform(job)
      } catch (error) {
        throw await verdict(error, job, queue)
      }
    },
    {
      connection,
      concurrency: Number(CONCURRENCY),
      // For all workers of the queue together. Without a limiter a worker would not see the waits that others were
      // told to keep, only its own.
      limiter: { max: Number(RATE), duration: 1000 },
      // When a worker is killed, its jobs go to others once their lock has run out and two checks have found it so.
      // Short here, so that one can watch it. The defaults are 30 s each: a process that is busy or paused for longer
      // than its lock loses its jobs to another, and they run twice (with the same key).
      lockDuration: 5_000,
      stalledInterval: 2_000,
      // How often a job may be in a worker that is killed. 1 by default: then the second kill fails the job.
      maxStalledCount: 5,
      // Remembered, so that adding them again does nothing.
      removeOnComplete: { age: 7 * 24 * 3600 },
    },
  )
  const queue = new Queue(name, { connection })
  for (const connected of [worker, queue])
    connected.on('error', error => console.error(`worker: ${error.message}`))

  let stopping = false
  async function stop() {
    if (stopping) return
    stopping = true
    await worker.close()
    await queue.close()
    const { user, system } = process.cpuUsage()
    if (process.connected) process.send({ calls, cpuMs: (user + system) / 1000 })
    if (process.connected) process.disconnect()
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, stop)
  // Its supervisor is gone, and may have taken Redis along: then there is nobody left to say goodbye to.
  process.once('disconnect', () => {
    setTimeout(() => process.exit(), 5_000).unref()
    void stop()
  })
  return queue
}

/**
 * What BullMQ is to be told of a failed call: wait with all jobs, try this one later, or never.
 *
 * @param {unknown} error
 * @param {import('bullmq').Job} job
 * @param {Queue} queue
 */
async function verdict(error, job, queue) {
  // A wrong argument, say. Another try mends nothing.
  if (!isApiError(error)) return new UnrecoverableError(String(error))

  // It stays unknown until a try succeeds: a clear "no" to this one says nothing of the one before.
  if (error.outcomeUnknown && !job.data.outcomeUnknown) await note(job, { outcomeUnknown: true })

  const waitMs = askedWait(error)
  if (waitMs !== undefined) {
    await holdBack(queue, waitMs)
    // Back to the head of the queue. It does not count as one of the job's attempts.
    return new RateLimitError()
  }
  if (isWorthAnotherTry(error, job)) return error
  if (error.kind === 'http') await note(job, { answer: error.body })
  return new UnrecoverableError(error.message)
}

/** Kept with the job: the error itself goes with the process, but for its message. */
function note(job, facts) {
  return job.updateData({ ...job.data, ...facts })
}

/**
 * No worker begins a job for so long.
 *
 * @param {Queue} queue
 * @param {number} ms
 */
export async function holdBack(queue, ms) {
  // A later, shorter wait replaces a longer one, if it is let.
  const left = await queue.getRateLimitTtl()
  if (ms > left) await queue.rateLimit(Math.ceil(ms))
}

/** @param {import('virtual-accounts').AnyApiError} error */
export function askedWait(error) {
  if (error.kind !== 'http' || (error.status !== 429 && error.status !== 503)) return undefined
  // A 503 without Retry-After is this request's trouble; a 429 is everybody's.
  const wait = error.retryAfterMs ?? (error.status === 429 ? 1000 : undefined)
  return wait === undefined ? undefined : Math.max(1, wait)
}

/**
 * @param {import('virtual-accounts').AnyApiError} error
 * @param {import('bullmq').Job} job
 */
function isWorthAnotherTry(error, job) {
  if (error.kind === 'connection' || error.kind === 'timeout') return true
  if (error.kind !== 'http') return false
  const { status } = error
  // "Still being processed", if an earlier try may have come through.
  if (status === 409) return Boolean(job.data.outcomeUnknown) || job.stalledCounter > 0
  return status === 408 || status === 425 || (status >= 500 && status !== 501 && status !== 505)
}
