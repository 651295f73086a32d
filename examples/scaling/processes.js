// @ts-check

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/**
 * The service of BASE_URL and API_KEY, or a fault server in a process of its own.
 *
 * @param {{ latency?: number, faulty?: boolean, transactions?: number, refused?: string[] }} options of the fault server
 */
export async function startService(options) {
  const { BASE_URL, API_KEY } = process.env
  if (BASE_URL)
    return { url: BASE_URL, apiKey: API_KEY ?? '', received: async () => undefined, close: async () => {} }

  const child = fork(fileURLToPath(new URL('fault-server-process.js', import.meta.url)), [
    JSON.stringify(options),
  ])
  const [{ url, apiKey }] = await answerOf(child)
  return {
    url,
    apiKey,
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
 * Worker processes that are started anew when they end, as systemd, Kubernetes or pm2 do it.
 *
 * @param {URL} file what each runs
 * @param {object} options
 * @param {string} options.redisUrl
 * @param {{ url: string, apiKey: string }} options.service
 * @param {string} options.queue its name
 * @param {number} options.workers how many
 * @param {number} options.concurrency jobs at a time in each
 * @param {number} options.rate of all together
 * @param {(text: string) => void} options.note is told how it goes
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
  /** @type {Set<import('node:child_process').ChildProcess>} */
  const workers = new Set()
  const usage = { calls: 0, cpuMs: 0 }
  let stopping = false

  function start() {
    const child = fork(fileURLToPath(file), { env })
    workers.add(child)
    child.on('message', (/** @type {typeof usage} */ used) => {
      usage.calls += used.calls
      usage.cpuMs += used.cpuMs
    })
    child.once('exit', async (code, signal) => {
      workers.delete(child)
      if (stopping) return
      note(`worker ${child.pid} ended (${signal ?? `exit code ${code}`}), another takes its place`)
      // One that ends at once must not be started a hundred times a second.
      await wait(500)
      if (!stopping) start()
    })
  }
  for (let started = 0; started < count; started++) start()

  return {
    usage,
    /** SIGKILL: no handler runs, nothing is tidied up. As when memory runs out, or the power does. */
    killOne() {
      const [victim] = workers
      note(`worker ${victim?.pid} is killed`)
      victim?.kill('SIGKILL')
    },
    /** They finish what they have begun, and take nothing new. */
    async stop() {
      stopping = true
      const ended = [...workers].map(child => once(child, 'exit'))
      for (const child of workers) child.kill('SIGTERM')
      await Promise.all(ended)
    },
  }
}
