// What both queue programs share: where their state is, and watching a queue until it is done.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { counted, grouped, makeFolder, Problem, pace } from '../terminal.js'
import { Queue, Redis } from './bullmq/index.js'
import { startRedis } from './redis.js'

/**
 * A Redis, and a folder for its data and for parts. A temporary one is removed unless it is still needed.
 *
 * @param {string | undefined} given
 */
export async function openState(given) {
  const folder = given === undefined ? await mkdtemp(join(tmpdir(), 'scaling-')) : resolve(given)
  await makeFolder(folder)
  async function remove() {
    if (given === undefined) await rm(folder, { recursive: true, force: true })
  }
  try {
    const { url, close } = await startRedis(folder)
    return {
      folder,
      url,
      async close({ keep }) {
        await close()
        if (!keep) await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/**
 * A queue for the program that watches it. When Redis is gone for a few seconds its calls fail, rather than wait.
 *
 * @param {string} name
 * @param {string} url
 */
export function openQueue(name, url) {
  const retryStrategy = attempt => (attempt > 20 ? null : 250)
  const queue = new Queue(name, { connection: { url, maxRetriesPerRequest: 20, retryStrategy } })
  // Calls that fail reject.
  queue.on('error', () => {})
  return queue
}

/**
 * Waits until no job is left, the key is refused, or Ctrl-C. Meanwhile it says how far it is.
 *
 * @param {object} options
 * @param {import('bullmq').Queue} options.queue
 * @param {ReturnType<typeof import('./processes.js').startWorkers>} options.workers
 * @param {string} options.noun of what a job is
 * @param {boolean} options.kill
 * @param {import('../terminal.js').Status} options.status
 * @returns {Promise<{ interrupted: boolean, killed: Killed | undefined, seconds: number, perSecond: number }>} of this
 *   run, not of those before it
 *
 * @typedef {{ name: string, at: number, jobIds: string[] }} Killed a worker, and the jobs that it had when it was killed
 */
export async function untilDone({ queue, workers, noun, kill, status }) {
  let interrupted = false
  const interrupt = () => {
    interrupted = true
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, interrupt)
  const began = performance.now()
  const before = await counts(queue)
  let done = before.done
  let isTold = false
  /** @type {Killed | undefined} */
  let killed

  try {
    while (!interrupted && !workers.refusal()) {
      const now = await counts(queue)
      done = now.done
      const seconds = (performance.now() - began) / 1000
      if (kill && !killed && done - before.done >= (now.total - before.done) * 0.3) {
        killed = await killOne(workers, queue)
        if (killed) {
          status.note(`${killed.name} was killed: ${counted(killed.jobIds.length, 'job')} to take over`)
        }
      }
      if (now.left === 0) break
      // As when the service is down.
      const isStuck = done === before.done && seconds > 1 && workers.retried()
      if (isStuck && !isTold) status.note(`Nothing succeeds yet, retrying. ${workers.retried()}`)
      isTold ||= Boolean(isStuck)
      const total = now.total - before.done
      const speed = pace({ done: done - before.done, total, seconds, left: now.left })
      status.show(progressOf(now, noun, speed))
      await wait(100)
    }
  } catch (error) {
    if (!/closed|ECONN|retries/i.test(error.message)) throw error
    throw new Problem(`Redis does not respond any more: ${error.message}`)
  } finally {
    status.clear()
    for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, interrupt)
  }
  const seconds = (performance.now() - began) / 1000
  return { interrupted, killed, seconds, perSecond: Math.round((done - before.done) / seconds) }
}

function progressOf({ done, total, later, failed }, noun, speed) {
  const parts = [`${grouped(done)} of ${counted(total, noun)}`]
  if (later > 0) parts.push(`${grouped(later)} to retry`)
  if (failed > 0) parts.push(`${grouped(failed)} failed`)
  if (speed) parts.push(speed)
  return parts.join(', ')
}

/** @returns {Promise<Killed | undefined>} */
async function killOne(workers, queue) {
  const name = await workers.killOne()
  if (name === undefined) return undefined
  const at = Date.now()
  const active = await queue.getActive(0, -1)
  return { name, at, jobIds: active.filter(job => job.processedBy === name).map(({ id }) => id) }
}

/**
 * What became of the jobs of a killed worker.
 *
 * @param {import('bullmq').Queue} queue
 * @param {Killed | undefined} killed
 */
export async function takenOver(queue, killed) {
  if (!killed) return undefined
  const jobs = await Promise.all(killed.jobIds.map(id => queue.getJob(id)))
  const taken = jobs.filter(job => job?.finishedOn && job.processedBy !== killed.name)
  const seconds = Math.round((Math.max(...taken.map(job => job.processedOn)) - killed.at) / 1000)
  return { jobs: jobs.length, taken: taken.length, seconds }
}

/** @param {import('bullmq').Queue} queue */
async function counts(queue) {
  const states = ['completed', 'failed', 'delayed', 'waiting', 'prioritized', 'active', 'waiting-children']
  const found = await queue.getJobCounts(...states)
  const { completed, failed, delayed } = found
  // A job that waits for others that failed waits in vain.
  const left = delayed + found.waiting + found.prioritized + found.active
  return {
    done: completed,
    failed,
    later: delayed,
    left,
    total: completed + failed + left + found['waiting-children'],
  }
}

/** Gives each failed job all its attempts again, and resumes a queue that a wrong key has paused. */
export async function resume(queue) {
  await queue.resume()
  let retried = 0
  for await (const job of failedJobs(queue)) {
    await job.retry('failed', { resetAttemptsMade: true })
    retried++
  }
  return retried
}

/** @param {import('bullmq').Queue} queue */
export async function* failedJobs(queue) {
  // All at first: retrying them takes them out of the list that is read.
  const jobs = []
  for (let from = 0; ; from += 1000) {
    const some = await queue.getFailed(from, from + 999)
    jobs.push(...some)
    if (some.length < 1000) break
  }
  yield* jobs
}

/** The memory that Redis uses, and its CPU time. */
export async function redisUsage(url) {
  const redis = new Redis(url)
  const [memory, cpu] = [await redis.info('memory'), await redis.info('cpu')]
  await redis.quit()
  const figure = (text, name) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(text)?.[1])
  return {
    bytes: figure(memory, 'used_memory'),
    cpuMs: 1000 * (figure(cpu, 'used_cpu_user') + figure(cpu, 'used_cpu_sys')),
  }
}
