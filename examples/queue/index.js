// @ts-check
// Deactivates 10,000 accounts of a fake service with four workers on a queue, and
// kills one of them partway through. The fake service loses some responses and
// refuses some requests. The exit code is 1 unless each account was deactivated
// once, with one key.
//
//   npm run example examples/queue
//
// It needs redis-server, or the URL of a Redis in REDIS_URL.

import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Queue, QueueEvents } from 'bullmq'
import { FakeService } from 'virtual-accounts/testing'
import { counted, Problem, Progress, runMain } from '../terminal.js'

const name = `deactivate-${Date.now()}`
const accounts = Array.from({ length: 10_000 }, (_, index) => ({
  customerId: `c${index % 100}`,
  virtualAccountId: `v${index}`,
}))

runMain(import.meta.filename, async () => {
  const url = process.env.REDIS_URL || (await startRedis())
  const { service, env } = await startService()
  const queue = new Queue(name, { connection: { url } })
  queue.on('error', endWith)
  const events = new QueueEvents(name, { connection: { url } })
  events.on('error', endWith)
  let takenOver = 0
  events.on('stalled', () => takenOver++)

  await queue.addBulk(accounts.map(toJob))
  const file = join(import.meta.dirname, 'worker.js')
  const workers = [1, 2, 3, 4].map(() => fork(file, { env: { ...env, REDIS_URL: url, QUEUE: name } }))
  await finish(queue, () => workers[0]?.kill('SIGKILL'))
  for (const worker of workers) worker.kill()
  const problems = verify(service, await queue.getFailed())
  await queue.obliterate({ force: true })
  await Promise.all([queue.close(), events.close()])

  if (problems.length > 0) throw new Problem(problems.join('\n'))
  const repeats = service.requests.length - accounts.length
  console.log(
    `${counted(takenOver, 'job')} of the killed worker done by others, ${counted(repeats, 'request')} repeated`,
  )
  console.log(`${counted(accounts.length, 'account')} deactivated, each once and with one key`)
})

/** @param {Error} error */
function endWith({ message }) {
  console.error(`Redis: ${message}`)
  process.exit(1)
}

/** @param {typeof accounts[number]} account */
function toJob(account) {
  const ids = [account.customerId, account.virtualAccountId]
  return {
    name: 'deactivate',
    // The key is stored with the job, so every worker sends the same one.
    data: { account, idempotencyKey: crypto.randomUUID() },
    opts: {
      // BullMQ ignores a job whose id it has, so an account that is added again keeps its first key.
      jobId: ids.map(encodeURIComponent).join('/'),
      attempts: 8,
      // 0.5, 1, 2 … 32 s, each shortened at random by up to a half.
      backoff: { type: 'exponential', delay: 500, jitter: 0.5 },
    },
  }
}

/**
 * Resolves when no job is left.
 *
 * @param {Queue} queue
 * @param {() => void} disturb called when a quarter is done
 */
async function finish(queue, disturb) {
  const progress = new Progress()
  for (let done = 0, isDisturbed = false; done < accounts.length; await wait(100)) {
    const { completed = 0, failed = 0 } = await queue.getJobCounts('completed', 'failed')
    done = completed + failed
    progress.update(done, accounts.length)
    if (done < accounts.length / 4 || isDisturbed) continue
    isDisturbed = true
    disturb()
  }
  progress.end()
}

/**
 * The problems found, judged by the requests that the service received.
 *
 * @param {FakeService} service
 * @param {import('bullmq').Job[]} failed
 */
function verify(service, failed) {
  /** @type {Map<string, Set<string | null>>} */
  const keys = new Map()
  for (const { path, headers } of service.requests) {
    keys.set(path, (keys.get(path) ?? new Set()).add(headers.get('Idempotency-Key')))
  }
  const active = accounts.filter(account => service.isActive(account)).length
  const withTwoKeys = [...keys.values()].filter(({ size }) => size > 1).length
  const distinctKeys = new Set([...keys.values()].flatMap(set => [...set])).size
  return [
    active > 0 && `${counted(active, 'account')} still active`,
    withTwoKeys > 0 && `${counted(withTwoKeys, 'account')} with two keys`,
    distinctKeys !== accounts.length &&
      `${counted(distinctKeys, 'key')} for ${counted(accounts.length, 'account')}`,
    ...failed.map(({ id, failedReason, data, stalledCounter }) => {
      const isUnknown = data.outcomeUnknown || stalledCounter > 0
      return `${id}: ${failedReason}${isUnknown ? ' An earlier attempt may have been applied.' : ''}`
    }),
  ].filter(problem => problem !== false)
}

/** A fake service over HTTP that fails now and then. */
async function startService() {
  const service = new FakeService()
  let count = 0
  const server = createServer(async ({ method = 'GET', url, headersDistinct }, reply) => {
    count++
    if (count % 3000 === 0) return reply.writeHead(429, { 'Retry-After': '1' }).end()
    if (count % 100 === 0) return reply.writeHead(503).end()
    const headers = new Headers()
    for (const [name, values = []] of Object.entries(headersDistinct)) headers.set(name, values.join())
    const response = await service.handle(new Request(service.baseUrl + url, { method, headers }))
    // Applied, but the response is lost.
    if (count % 70 === 0) return reply.destroy()
    reply.writeHead(response.status).end(await response.text())
  })
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { service, env: { BASE_URL: `http://127.0.0.1:${port}`, API_KEY: service.apiKey } }
}

/** Starts a Redis that ends with this program. A queue is data: it is kept on disk, and nothing is evicted. */
async function startRedis() {
  const folder = mkdtempSync(join(tmpdir(), 'queue-'))
  const socket = join(folder, 'redis.sock')
  const settings = ['--port', '0', '--unixsocket', socket, '--dir', folder]
  const kept = ['--appendonly', 'yes', '--save', '', '--maxmemory-policy', 'noeviction']
  const redis = spawn('redis-server', [...settings, ...kept], { stdio: 'ignore' })
  redis.unref()
  process.on('exit', () => {
    // Otherwise it would remove its socket while the folder is removed, which may then stay.
    redis.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  redis.on('error', () => {
    console.error('Install redis-server (Debian: apt-get install redis-server), or set REDIS_URL.')
    process.exit(1)
  })
  while (!existsSync(socket)) await wait(20)
  return `unix://${socket}`
}
