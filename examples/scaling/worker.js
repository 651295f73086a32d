// What every worker process does, whatever its jobs are: the part that knows BullMQ.

import { isApiError } from 'virtual-accounts'
import { Queue, RateLimitError, UnrecoverableError, Worker } from './bullmq/index.js'

/**
 * Takes jobs from the queue named by QUEUE until it is told to stop.
 *
 * @param {(job: import('bullmq').Job) => Promise<unknown>} perform
 * @returns {Queue} for holdBack
 */
export function work(perform) {
  const { REDIS_URL: url, QUEUE: name, WORKER, RATE, CONCURRENCY } = process.env
  const connection = { url, maxRetriesPerRequest: null }
  let calls = 0

  const worker = new Worker(
    name,
    async job => {
      calls++
      try {
        return await perform(job)
      } catch (error) {
        throw await toQueueError(error, job, queue)
      }
    },
    {
      connection,
      // Kept with each job that it takes.
      name: WORKER,
      concurrency: Number(CONCURRENCY),
      // For all workers of the queue together. Without a limiter a worker would keep only the delays that it was told
      // itself, not those of the others.
      limiter: { max: Number(RATE), duration: 1000 },
      // When a worker is killed, its jobs go to others once their lock has expired and two checks have found it so.
      // Short here, so that you can watch it. The defaults are 30 s each: a process that is busy or paused for longer
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
  // BullMQ recovers by itself. What is not done the program finds out at the end.
  for (const connected of [worker, queue]) connected.on('error', () => {})

  let stopping = false
  async function stop() {
    if (stopping) return
    stopping = true
    await worker.close()
    await queue.close()
    const { user, system } = process.cpuUsage()
    if (process.connected) process.send({ usage: { calls, cpuMs: (user + system) / 1000 } })
    if (process.connected) process.disconnect()
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, stop)
  // Its supervisor is gone, perhaps with its Redis: then closing would never end.
  process.once('disconnect', () => {
    setTimeout(() => process.exit(), 5_000).unref()
    void stop()
  })
  return queue
}

/**
 * What to throw at BullMQ for a failed call: what delays all jobs, retries this one later, or fails it for good.
 *
 * @param {unknown} error
 * @param {import('bullmq').Job} job
 * @param {Queue} queue
 */
async function toQueueError(error, job, queue) {
  // A wrong argument, say: a retry would fail in the same way.
  if (!isApiError(error)) return new UnrecoverableError(String(error))

  // It stays unknown until an attempt succeeds: a refusal now says nothing about the attempt before it.
  if (error.outcomeUnknown && !job.data.outcomeUnknown) await note(job, { outcomeUnknown: true })

  if (error.kind === 'http' && error.status === 401) {
    // No other job would fare better. This one goes back as well, for a run with the right key.
    await queue.pause()
    process.send?.({ refusal: error.message })
    return new RateLimitError()
  }
  const delayMs = requestedDelay(error)
  if (delayMs !== undefined) {
    await holdBack(queue, delayMs)
    // Back to the head of the queue. It does not count as one of the job's attempts.
    return new RateLimitError()
  }
  if (isRetryable(error)) {
    process.send?.({ retried: error.message })
    return error
  }
  if (error.kind === 'http') await note(job, { response: error.body })
  return new UnrecoverableError(error.message)
}

/** Stores facts with the job, which keeps only the message of an error. */
function note(job, facts) {
  return job.updateData({ ...job.data, ...facts })
}

/**
 * No worker starts a job for so long.
 *
 * @param {Queue} queue
 * @param {number} ms
 */
export async function holdBack(queue, ms) {
  // A later, shorter delay would replace a longer one.
  const left = await queue.getRateLimitTtl()
  if (ms > left) await queue.rateLimit(Math.ceil(ms))
}

/** @param {import('virtual-accounts').AnyApiError} error */
export function requestedDelay(error) {
  if (error.kind !== 'http' || (error.status !== 429 && error.status !== 503)) return undefined
  // A 503 without Retry-After concerns this request; a 429 concerns all.
  const delay = error.retryAfterMs ?? (error.status === 429 ? 1000 : undefined)
  return delay === undefined ? undefined : Math.max(1, delay)
}

/** @param {import('virtual-accounts').AnyApiError} error */
function isRetryable(error) {
  // To be settled, with the same key: a 5xx and a 408 of a write, and a 409, are among them.
  if (error.outcomeUnknown || error.kind === 'connection' || error.kind === 'timeout') return true
  // A list that changed faster than it could be read.
  if (error.kind === 'pagination') return true
  if (error.kind !== 'http') return false
  const { status } = error
  return status === 408 || status === 425 || (status >= 500 && status !== 501 && status !== 505)
}
