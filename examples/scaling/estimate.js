// Prints time and cost for 10,000 to 1,000,000,000 items, from what measure.js measured.
//
//   npm run example examples/scaling/estimate.js [-- options]
//
//   --cpu-hour 0.05       price of a core for an hour
//   --memory-hour 0.02    price of a gigabyte of Redis for an hour

import { readFileSync } from 'node:fs'
import { duration, grouped, Problem, runMain } from '../terminal.js'

const counts = [4, 5, 6, 7, 8, 9].map(exponent => 10 ** exponent)
const rates = [10, 100, 1000]
const pageSize = 100
/** Jobs that are put into the queue at a time. */
const slice = 100_000

const options = /** @type {const} */ ({
  'cpu-hour': { type: 'string', default: '0.05' },
  'memory-hour': { type: 'string', default: '0.02' },
})

async function main({ values }) {
  const [cpuHour, memoryHour] = ['cpu-hour', 'memory-hour'].map(name => {
    if (/^\d*\.?\d+$/.test(values[name])) return Number(values[name])
    throw new Problem(`--${name}: expected a price such as 0.05, got ${values[name]}.`)
  })
  const prices = { cpuHour, memoryHour }
  const measured = JSON.parse(readFileSync(new URL('measured.json', import.meta.url), 'utf8'))

  const otherWork = measured.hasOtherWork ? '; the machine had other work' : ''
  const source = `(${measured.machine}, ${measured.date}${otherWork}.)\n`
  const tables = [measuredTable(measured), writesTable(measured, prices), exportTable(measured, prices)]
  console.log([source, ...tables].join('\n'))
}

function measuredTable({
  count,
  transactions,
  workers,
  writesOfOne,
  writesOfWorkers,
  exportOfOne,
  exportOfWorkers,
}) {
  const row = (name, { perSecond, cpuMs }) => [name, grouped(perSecond), `${milliseconds(cpuMs)}`]
  return table(
    ['', 'a second', 'CPU time each'],
    [
      row(`${grouped(count)} accounts, one process, 40 in parallel`, writesOfOne),
      row(`${grouped(count)} accounts, ${workers} workers, 20 in parallel each`, writesOfWorkers),
      row(`${grouped(transactions)} transactions, one process, \`concurrency: 16\``, exportOfOne),
      row(
        `${grouped(transactions)} transactions, ${workers} workers, 8 jobs in parallel each`,
        exportOfWorkers,
      ),
    ],
  )
}

function writesTable({ latency, writesOfOne, writesOfWorkers: { cpuMs, redisBytes, redisCpuMs } }, prices) {
  return table(
    [
      'accounts',
      'one at a time',
      ...rates.map(rate => `${grouped(rate)}/s`),
      'CPU time',
      'Redis',
      'cost',
      'cost in slices',
    ],
    counts.map(count => {
      const cpuSeconds = (count * (cpuMs + redisCpuMs)) / 1000
      const gigabytes = (count * redisBytes) / 1e9
      const seconds = count / 100
      const all = money(cpuSeconds, gigabytes, seconds, prices)
      const inSlices = money(cpuSeconds, Math.min(gigabytes, (slice * redisBytes) / 1e9), seconds, prices)
      const loop = duration((count * (latency + writesOfOne.cpuMs)) / 1000)
      return [
        grouped(count),
        loop,
        ...rates.map(rate => duration(count / rate)),
        duration(cpuSeconds),
        size(gigabytes),
        all,
        inSlices,
      ]
    }),
  )
}

function exportTable({ latency, exportOfWorkers: { cpuMs, requestsPerPage } }, prices) {
  return table(
    [
      'transactions',
      'requests',
      'one at a time',
      ...rates.map(rate => `${grouped(rate)}/s`),
      'CPU time',
      'cost',
    ],
    counts.map(count => {
      const requests = Math.round((count / pageSize) * requestsPerPage)
      const cpuSeconds = (count * cpuMs) / 1000
      const loop = duration((requests * latency) / 1000 + cpuSeconds)
      const times = rates.map(rate => duration(requests / rate))
      return [
        grouped(count),
        grouped(requests),
        loop,
        ...times,
        duration(cpuSeconds),
        money(cpuSeconds, 0, 0, prices),
      ]
    }),
  )
}

/** For so much CPU time, and so much memory of Redis for so long. */
function money(cpuSeconds, gigabytes, seconds, { cpuHour, memoryHour }) {
  const sum = (cpuSeconds / 3600) * cpuHour + gigabytes * (seconds / 3600) * memoryHour
  if (sum < 0.01) return '< 0.01'
  return sum < 10 ? sum.toFixed(2) : grouped(Math.round(sum))
}

function milliseconds(value) {
  return value < 0.1 ? `${Math.round(value * 1000)} µs` : `${value} ms`
}

function size(gigabytes) {
  if (gigabytes < 1) return `${Math.round(gigabytes * 1000)} MB`
  return `${grouped(Math.round(gigabytes))} GB`
}

/** Columns are aligned in a terminal, and it is Markdown, too. */
function table(head, rows) {
  const widths = head.map((_, index) => Math.max(3, ...[head, ...rows].map(cells => cells[index].length)))
  const line = ([first, ...others]) => {
    const cells = others.map((cell, index) => cell.padStart(widths[index + 1]))
    return `| ${[first.padEnd(widths[0]), ...cells].join(' | ')} |\n`
  }
  const rule = widths.map((width, index) => (index === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [head, rule, ...rows].map(line).join('')
}

runMain(import.meta.filename, main, { options })
