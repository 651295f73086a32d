// Measures what estimate.js calculates with: the same work by one process and by workers on a queue, against a fake
// service that responds after 100 ms and injects no faults. Takes about two minutes, on a machine that has nothing else
// to do.
//
//   npm run example examples/scaling/measure.js        writes measured.json
//   npm run example examples/scaling/estimate.js       prints the tables

import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Client } from 'virtual-accounts'
import { accountsOf, keyOf } from '../bulk-deactivate/accounts.js'
import { grouped, openStatus, runMain } from '../terminal.js'
import { withQueue } from './options.js'
import { startService } from './processes.js'

const latency = 100
const count = 10_000
const transactions = 100_000
const workers = 2
const shared = { workers, latency, faulty: false, rate: 100_000, status: openStatus() }

async function main() {
  const [{ deactivateAll }, { exportAll }] = await withQueue(() =>
    Promise.all([import('../bulk-deactivate/run.js'), import('../export-parallel/run.js')]),
  )
  const folder = await mkdtemp(join(tmpdir(), 'scaling-measured-'))
  try {
    const measured = {
      machine: `Node ${process.versions.node}, ${availableParallelism()} × ${cpus()[0]?.model}`,
      date: new Date().toISOString().slice(0, 10),
      hasOtherWork: (loadavg()[0] ?? 0) > 0.5,
      latency,
      workers,
      count,
      transactions,
      writesOfOne: await measureOneProcess(count, {}, client => deactivateInOne(client, 40)),
      writesOfWorkers: await writesOfWorkers(deactivateAll, 20),
      exportOfOne: await measureOneProcess(transactions, { transactions }, client =>
        exportInOne(client, join(folder, 'one')),
      ),
      exportOfWorkers: await exportOfWorkers(exportAll, join(folder, 'workers')),
    }
    await writeFile(new URL('measured.json', import.meta.url), `${JSON.stringify(measured, null, 2)}\n`)
    for (const [name, { perSecond, cpuMs }] of Object.entries(measured).filter(([, value]) => value.cpuMs)) {
      console.log(`${name}: ${grouped(perSecond)} a second, ${cpuMs} ms of CPU time each`)
    }
    return 0
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** This process alone. The CPU time is its own. */
async function measureOneProcess(items, options, perform) {
  const service = await startService({ latency, faulty: false, ...options })
  try {
    const client = new Client({ baseUrl: service.url, apiKey: service.apiKey })
    const before = process.cpuUsage()
    const began = performance.now()
    await perform(client)
    const { user, system } = process.cpuUsage(before)
    return figures(items, (performance.now() - began) / 1000, (user + system) / 1000)
  } finally {
    await service.close()
  }
}

/** All that 10,000 accounts need: so many in parallel, each with a key that is the same when it is run again. */
async function deactivateInOne(client, concurrency) {
  await runInParallel(accountsOf({ count }), concurrency, account =>
    client.virtualAccounts.deactivate(account, { idempotencyKey: keyOf('measured', account) }),
  )
}

/** Several loops over one iterator: one that ends must not end it for the others. */
async function runInParallel(iterator, concurrency, perform) {
  const shared = { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) }
  async function loop() {
    for await (const item of shared) await perform(item)
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
}

async function exportInOne(client, file) {
  async function* lines() {
    for await (const item of client.transactions.list({ limit: 100 }, { verified: true, concurrency: 16 })) {
      yield `${JSON.stringify(item)}\n`
    }
  }
  await pipeline(lines, createWriteStream(file))
}

async function writesOfWorkers(deactivateAll, concurrency) {
  const options = { ...shared, concurrency, batch: 'measured', accounts: accountsOf({ count }), refuse: 0 }
  const { deactivated, seconds, cpuMs, redisBytes, redisCpuMs } = await deactivateAll(options)
  return {
    ...figures(deactivated.length, seconds, cpuMs),
    redisBytes: Math.round(redisBytes / count),
    redisCpuMs: rounded(redisCpuMs / count),
  }
}

async function exportOfWorkers(exportAll, output) {
  const options = { ...shared, name: 'measured', concurrency: 8, output, limit: 100, pages: 20, transactions }
  const { joined, seconds, cpuMs, received } = await exportAll(options)
  return {
    ...figures(joined.items, seconds, cpuMs),
    requestsPerPage: Number((received.requests / (transactions / options.limit)).toFixed(2)),
  }
}

function figures(items, seconds, cpuMs) {
  return { perSecond: Math.round(items / seconds), cpuMs: rounded(cpuMs / items) }
}

function rounded(number) {
  return Number(number.toPrecision(2))
}

runMain(import.meta.filename, main)
