// How fast a list is walked, against a hand-written loop over fetch that validates nothing, and against what is
// possible: latency × pages ÷ concurrency. See README.md beside this file.
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { startServer } from './server.mjs'

const limit = 100
const self = fileURLToPath(import.meta.url)

const ways = {
  async fetch({ baseUrl }) {
    let items = 0
    for (let page = 1; ; page++) {
      const response = await fetch(`${baseUrl}/transactions?page=${page}&limit=${limit}`, {
        headers: { 'Api-Key': 'key' },
      })
      const { data, totalItems } = await response.json()
      for (const item of data) if (item.amount >= 0) items++
      if (page * limit >= totalItems) return items
    }
  },
  async client({ baseUrl, concurrency, Client }) {
    const client = new Client({ baseUrl, apiKey: 'key', concurrency })
    let items = 0
    for await (const item of client.transactions.list({ limit })) if (item.amount >= 0) items++
    return items
  },
}

async function measure({ way, items, latency, concurrency, origin }) {
  const { Client } = way === 'client' ? await import('../dist/index.js') : {}
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  const seen = await ways[way]({ baseUrl: `${origin}/${items}/${latency}`, concurrency, Client })
  const wallMs = performance.now() - began
  const { user, system } = process.cpuUsage(cpuBefore)
  if (seen !== items) throw new Error(`${seen} of ${items} items seen`)
  console.log(JSON.stringify({ wallMs, cpuMs: (user + system) / 1000 }))
}

function cases() {
  const all = []
  for (const items of [10_000, 100_000]) {
    for (const latency of [0, 20, 100]) {
      const list = `${items} items, ${latency}ms`
      // A thousand pages at 100 ms one by one take minutes, and tell nothing that a hundred do not.
      const isLong = items === 100_000 && latency === 100
      if (!isLong) all.push({ name: `${list}, fetch loop`, way: 'fetch', items, latency, concurrency: 1 })
      for (const concurrency of [1, 2, 4, 8, 16]) {
        if (isLong && concurrency < 4) continue
        all.push({ name: `${list}, ${concurrency} at once`, way: 'client', items, latency, concurrency })
      }
    }
  }
  return all
}

async function run({ only, json }) {
  const rounds = Number(process.env.ROUNDS ?? 5)
  const chosen = cases().filter(({ name }) => name.includes(only))
  if (chosen.length === 0) throw new Error(`no case has "${only}" in its name`)
  const { origin, stop } = await startServer()
  const measured = new Map(chosen.map(({ name }) => [name, []]))
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [index, one] of shuffled(chosen).entries()) {
        process.stderr.write(
          `\rround ${round + 1}/${rounds}, ${index + 1}/${chosen.length}: ${one.name.padEnd(40)}`,
        )
        const { stdout } = await promisify(execFile)(process.execPath, [
          self,
          '--measure',
          JSON.stringify({ ...one, origin }),
        ])
        measured.get(one.name)[round] = JSON.parse(stdout)
      }
    }
  } finally {
    stop()
    process.stderr.write('\n')
  }
  const rows = chosen.map(one => row(one, measured))
  const about = {
    node: process.version,
    cpu: `${cpus().length} × ${cpus()[0].model}`,
    date: new Date().toISOString().slice(0, 10),
    rounds,
    command: `node bench/walk.mjs${only ? ` --only '${only}'` : ''}`,
  }
  print(about, rows)
  if (json) writeFileSync(json, `${JSON.stringify({ about, rows }, null, 2)}\n`)
}

/** Medians over the rounds; ratios are taken within a round, where both met the same machine. */
function row(one, measured) {
  const { name, way, items, latency, concurrency } = one
  const mine = measured.get(name)
  const loop = measured.get(`${items} items, ${latency}ms, fetch loop`)
  const least = (latency * (items / limit)) / concurrency
  return {
    name,
    wallMs: median(mine.map(({ wallMs }) => wallMs)),
    cpuMicrosPerItem: median(mine.map(({ cpuMs }) => (cpuMs * 1000) / items)),
    wallToLoop: loop && median(mine.map(({ wallMs }, round) => wallMs / loop[round].wallMs)),
    cpuToLoop: loop && median(mine.map(({ cpuMs }, round) => cpuMs / loop[round].cpuMs)),
    wallToLeast: latency === 0 ? undefined : median(mine.map(({ wallMs }) => wallMs / least)),
    isBaseline: way === 'fetch',
  }
}

function print({ node, cpu, date, rounds, command }, rows) {
  console.log(`Node ${node}, ${cpu}, ${date}, medians of ${rounds} rounds, \`${command}\`\n`)
  console.log(
    '| | wall ms | × fetch loop | × latency × pages ÷ concurrency | CPU µs/item | CPU × fetch loop |',
  )
  console.log('|---|--:|--:|--:|--:|--:|')
  for (const { name, wallMs, wallToLoop, wallToLeast, cpuMicrosPerItem, cpuToLoop } of rows) {
    const cells = [
      wallMs.toFixed(0),
      ratio(wallToLoop),
      ratio(wallToLeast),
      cpuMicrosPerItem.toFixed(1),
      ratio(cpuToLoop),
    ]
    console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
}

function ratio(value) {
  return value === undefined ? '–' : value.toFixed(2)
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

function shuffled(values) {
  const order = values.map(value => ({ value, at: Math.random() }))
  return order.sort((a, b) => a.at - b.at).map(({ value }) => value)
}

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    json: { type: 'string' },
    measure: { type: 'string' },
  },
})
await (options.measure ? measure(JSON.parse(options.measure)) : run(options))
