// What both programs share: where their state is, their options, and watching a queue until it is done.

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from './bullmq/index.js'
import { Problem, startRedis } from './redis.js'

/** Of both programs, for parseArgs. All values are texts. */
export const commonOptions = {
  workers: { type: 'string', default: String(Math.min(4, Math.max(2, availableParallelism()))) },
  concurrency: { type: 'string', default: '10' },
  rate: { type: 'string', default: '1000' },
  latency: { type: 'string', default: '20' },
  state: { type: 'string' },
  kill: { type: 'boolean', default: false },
  smooth: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
}

export const commonHelp = `
  --workers 2         worker processes: as many as the machine has cores, from 2 to 4, when not given
  --concurrency 10    jobs that each of them has under way
  --rate 1000         jobs a second that all of them begin together
  --kill              kill a worker in the middle with SIGKILL
  --state FOLDER      keep the queue there, to run again; a temporary folder when not given

  The fake service, which stands in where BASE_URL is not set:
  --latency 20        milliseconds that each answer takes
  --smooth            without its bad moments`

/**
 * @param {Record<string, unknown>} values
 * @param {string[]} names
 * @returns {Record<string, number>}
 */
export function wholeNumbers(values, names) {
  return Object.fromEntries(
    names.map(name => {
      const number = Number(values[name])
      const least = name === 'latency' || name === 'refuse' ? 0 : 1
      if (!Number.isSafeInteger(number) || number < least) {
        throw new Problem(`--${name}: expected a whole number from ${least}, got ${values[name]}`)
      }
      return [name, number]
    }),
  )
}

/**
 * A Redis, and a folder for its data and for parts. A temporary one is removed unless it is still needed.
 *
 * @param {string | undefined} given
 */
export async function openState(given) {
  const folder = given === undefined ? await mkdtemp(join(tmpdir(), 'scaling-')) : resolve(given)
  await mkdir(folder, { recursive: true })
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
 * Until no job waits or is under way, or Ctrl-C. Tells each second how far it is.
 *
 * @param {object} options
 * @param {import('bullmq').Queue} options.queue
 * @param {ReturnType<typeof import('./processes.js').startWorkers>} options.workers
 * @param {boolean} options.kill
 * @param {(text: string) => void} options.note
 * @returns {Promise<{ interrupted: boolean, seconds: number, perSecond: number }>} of this run, not of those before it
 */
export async function untilDone({ queue, workers, kill, note }) {
  let interrupted = false
  const interrupt = () => {
    interrupted = true
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, interrupt)
  const began = performance.now()
  const before = await counts(queue)
  let killed = !kill
  let toldAt = 0

  while (!interrupted) {
    const now = await counts(queue)
    const seconds = (performance.now() - began) / 1000
    if (!killed && now.done - before.done >= (before.total - before.done) * 0.3) {
      killed = true
      workers.killOne()
    }
    if (now.left === 0) break
    if (seconds - toldAt >= 1) {
      toldAt = seconds
      const perSecond = (now.done - before.done) / seconds
      const later = now.later > 0 ? `, ${grouped(now.later)} to be tried again` : ''
      const failed = now.failed > 0 ? `, ${grouped(now.failed)} failed` : ''
      const pace = perSecond > 0 ? `, about ${Math.ceil(now.left / perSecond)} s to go` : ''
      note(
        `${grouped(now.done)} of ${grouped(now.total)}${later}${failed}; ${Math.round(perSecond)} a second${pace}`,
      )
    }
    await wait(100)
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, interrupt)
  const seconds = (performance.now() - began) / 1000
  return { interrupted, seconds, perSecond: Math.round(((await counts(queue)).done - before.done) / seconds) }
}

/** @param {import('bullmq').Queue} queue */
async function counts(queue) {
  const states = ['completed', 'failed', 'delayed', 'waiting', 'prioritized', 'active', 'waiting-children']
  const found = await queue.getJobCounts(...states)
  const { completed, failed, delayed } = found
  // One that waits for others that failed waits in vain.
  const left = delayed + found.waiting + found.prioritized + found.active
  return {
    done: completed,
    failed,
    later: delayed,
    left,
    total: completed + failed + left + found['waiting-children'],
  }
}

/** Each failed job once more, with all its attempts. */
export async function retryFailed(queue) {
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

/** What Redis holds in memory, and what it has worked. */
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

/** 1234567 as 1,234,567. */
export function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** Runs a program's main function; its number is the exit code. */
export function runMain(main) {
  main().then(
    code => {
      process.exitCode = code
    },
    error => {
      const isUsage = error instanceof Problem || error.code?.startsWith('ERR_PARSE_ARGS')
      console.error(isUsage ? error.message : error)
      process.exitCode = 1
    },
  )
}
