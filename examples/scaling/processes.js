// @ts-check

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { realService } from '../connect.js'

/**
 * The service of BASE_URL and API_KEY, or a fault server in a process of its own.
 *
 * @param {{ latency?: number, faulty?: boolean, transactions?: number, refused?: string[] }} options of the fault server
 */
export async function startService(options) {
  const real = realService()
  if (real) {
    const { baseUrl: url, apiKey } = real
    return { url, apiKey, name: url, received: async () => undefined, close: async () => {} }
  }

  const child = fork(fileURLToPath(new URL('fault-server-process.js', import.meta.url)), [
    JSON.stringify(options),
  ])
  const [{ url, apiKey }] = await answerOf(child)
  return {
    url,
    apiKey,
    name: 'a fake service',
    /** @returns {Promise<import('./fault-server.js').Received>} */
    async received() {
      const answer = answerOf(child)
      child.send('what did you receive?')
      return (await answer)[0]
    },
    async close() {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
  }
}

/** @param {import('node:child_process').ChildProcess} child */
async function answerOf(child) {
  const gone = once(child, 'exit').then(() => {
    throw new Error('the fault server ended')
  })
  return Promise.race([once(child, 'message'), gone])
}

/**
 * Worker processes that are replaced when they end, as systemd, Kubernetes or pm2 do it.
 *
 * @param {URL} file what each runs
 * @param {object} options
 * @param {string} options.redisUrl
 * @param {{ url: string, apiKey: string }} options.service
 * @param {string} options.queue its name
 * @param {number} options.workers how many
 * @param {number} options.concurrency jobs that each runs in parallel
 * @param {number} options.rate of all together
 * @param {(text: string) => void} options.note prints a line
 *
 * @typedef {{ refusal: string } | { retried: string } | { usage: { calls: number, cpuMs: number } }} Message of a worker
 */
export function startWorkers(file, { redisUrl, service, queue, workers: count, concurrency, rate, note }) {
  const env = {
    ...process.env,
    REDIS_URL: redisUrl,
    BASE_URL: service.url,
    API_KEY: service.apiKey,
    QUEUE: queue,
    RATE: String(rate),
    CONCURRENCY: String(concurrency),
  }
  /** @type {Map<string, import('node:child_process').ChildProcess>} by name */
  const workers = new Map()
  const usage = { calls: 0, cpuMs: 0 }
  /** @type {string | undefined} */
  let refusal
  /** @type {string | undefined} */
  let retried
  /** @type {string | undefined} */
  let victim
  let started = 0
  let stopping = false

  function start() {
    const name = `worker ${++started}`
    const child = fork(fileURLToPath(file), { env: { ...env, WORKER: name } })
    workers.set(name, child)
    child.on('message', (/** @type {Message} */ message) => {
      if ('refusal' in message) refusal ??= message.refusal
      else if ('retried' in message) retried = message.retried
      else {
        usage.calls += message.usage.calls
        usage.cpuMs += message.usage.cpuMs
      }
    })
    child.once('exit', async (code, signal) => {
      workers.delete(name)
      if (stopping) return
      if (name !== victim) note(`${name} ended (${signal ?? `exit code ${code}`}), another takes its place`)
      // One that ends at once must not be started a hundred times a second.
      await wait(500)
      if (!stopping) start()
    })
  }
  for (let index = 0; index < count; index++) start()

  return {
    usage,
    /** Why no more should be tried, such as a wrong key: the message of the first response that said so. */
    refusal: () => refusal,
    /** Why a job is to be retried: the message of the last one. */
    retried: () => retried,
    /**
     * SIGKILL: no handler runs, nothing is cleaned up. As when memory runs out, or the power does.
     *
     * @returns the name of the worker that is dead
     */
    async killOne() {
      const [[name, child] = []] = workers
      if (!name || !child) return undefined
      const ended = once(child, 'exit')
      victim = name
      child.kill('SIGKILL')
      await ended
      return name
    },
    /** They finish what they have begun, and take nothing new. */
    async stop() {
      stopping = true
      const ended = [...workers.values()].map(child => once(child, 'exit'))
      for (const child of workers.values()) child.kill('SIGTERM')
      // Without Redis they would wait for it.
      const late = wait(10_000, undefined, { ref: false }).then(() => {
        for (const child of workers.values()) child.kill('SIGKILL')
      })
      await Promise.race([Promise.all(ended), late])
    },
  }
}
