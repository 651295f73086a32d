// What the tables of docs/scaling.md are made of: the same work by one process and by workers on a queue, against a fake
// service that answers after 100 ms and has no bad moments. Takes about two minutes, and wants a machine that has
// nothing else to do.
//
//   node examples/scaling/measure.js        writes measured.json
//   node examples/scaling/estimate.js       makes the tables of it

import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Client } from 'virtual-accounts'
import { accountsOf, keyOf } from '../bulk-deactivate/accounts.js'
import { deactivateAll } from '../bulk-deactivate/run.js'
import { exportAll } from '../export-parallel/run.js'
import { startService } from './processes.js'
import { grouped, runMain } from './program.js'

const latency = 100
const count = 10_000
const transactions = 100_000
const workers = 2
const shared = { workers, latency, smooth: true, rate: 100_000, note: () => {} }

async function main() {
  const folder = await mkdtemp(join(tmpdir(), 'scaling-measured-'))
  try {
    const measured = {
      machine: `Node ${process.versions.node}, ${availableParallelism()} × ${cpus()[0]?.model}`,
      date: new Date().toISOString().slice(0, 10),
      latency,
      workers,
      count,
      transactions,
      writesOfOne: await one(count, { smooth: true }, client => deactivateInOne(client, 40)),
      writesOfWorkers: await writesOfWorkers(20),
      exportOfOne: await one(transactions, { transactions }, client =>
        exportInOne(client, join(folder, 'one')),
      ),
      exportOfWorkers: await exportOfWorkers(join(folder, 'workers')),
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
async function one(items, options, perform) {
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

/** The whole of what 10,000 accounts need: so many at once, each with a key that is the same when it is run again. */
async function deactivateInOne(client, atOnce) {
  const accounts = accountsOf({ count })
  async function lane() {
    for await (const account of sharedBy(accounts)) {
      await client.virtualAccounts.deactivate(account, { idempotencyKey: keyOf('measured', account) })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}

/** Several loops over one iterator: one that ends must not end it for the others. */
function sharedBy(iterator) {
  return { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) }
}

async function exportInOne(client, file) {
  async function* lines() {
    for await (const page of client.transactions.list({ limit: 100 }, { concurrency: 16 }).pages()) {
      yield page.data.map(item => `${JSON.stringify(item)}\n`).join('')
    }
  }
  await pipeline(lines, createWriteStream(file))
}

async function writesOfWorkers(concurrency) {
  const options = { ...shared, concurrency, count, refuse: 0, onFailure: () => {} }
  const { completed, seconds, cpuMs, redisBytes, redisCpuMs } = await deactivateAll(options)
  return {
    ...figures(completed, seconds, cpuMs),
    redisBytes: Math.round(redisBytes / completed),
    redisCpuMs: rounded(redisCpuMs / completed),
  }
}

async function exportOfWorkers(output) {
  const options = { ...shared, concurrency: 8, output, limit: 100, pages: 10, transactions }
  const { joined, seconds, cpuMs } = await exportAll(options)
  return figures(joined.items, seconds, cpuMs)
}

function figures(items, seconds, cpuMs) {
  return { perSecond: Math.round(items / seconds), cpuMs: rounded(cpuMs / items) }
}

function rounded(number) {
  return Number(number.toPrecision(2))
}

runMain(main)
