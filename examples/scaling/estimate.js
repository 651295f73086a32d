// Prints time and cost for 10,000 to 1,000,000,000 items, from what measure.js measured.
//
//   npm run example examples/scaling/estimate.js [-- options]
//
//   --cpu-hour 0.05       price of a core for an hour, in the costs' currency
//   --memory-hour 0.02    price of a gigabyte of Redis for an hour, likewise

import { readFileSync } from 'node:fs'
import { duration, grouped, heading, Problem, runMain, wrapped } from '../terminal.js'

const counts = [4, 5, 6, 7, 8, 9].map(exponent => 10 ** exponent)
const rates = [10, 100, 1000]
const timeHead = ['one at a time', ...rates.map(rate => `${grouped(rate)}/s`)]
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
  const tables = [measuredTable(measured), writesTables(measured, prices), exportTables(measured, prices)]
  console.log(wrapped(`Measured with ${measured.machine}, ${measured.date}${otherWork}:`))
  console.log(['', ...tables.flat()].join('\n'))
}

function measuredTable({ count, transactions, workers, ...measured }) {
  const row = (name, { perSecond, cpuMs }) => [name, grouped(perSecond), milliseconds(cpuMs)]
  return table(
    ['', 'a second', 'CPU time each'],
    [
      row(`${grouped(count)} accounts, one process, 40 in parallel`, measured.writesOfOne),
      row(`${grouped(count)} accounts, ${workers} workers, 20 in parallel each`, measured.writesOfWorkers),
      row(`${grouped(transactions)} transactions, one process, 16 in parallel`, measured.exportOfOne),
      row(`${grouped(transactions)} transactions, ${workers} workers, 8 jobs each`, measured.exportOfWorkers),
    ],
  )
}

/** @returns the lines of two tables: the time by the rate that the service allows, and what it takes */
function writesTables({ latency, writesOfOne, writesOfWorkers: { cpuMs, redisBytes, redisCpuMs } }, prices) {
  const times = counts.map(count => {
    const loop = (count * (latency + writesOfOne.cpuMs)) / 1000
    return [grouped(count), ...[loop, ...rates.map(rate => count / rate)].map(duration)]
  })
  const needs = counts.map(count => {
    const cpuSeconds = (count * (cpuMs + redisCpuMs)) / 1000
    const gigabytes = (count * redisBytes) / 1e9
    const seconds = count / 100
    const all = money(cpuSeconds, gigabytes, seconds, prices)
    const inSlices = money(cpuSeconds, Math.min(gigabytes, (slice * redisBytes) / 1e9), seconds, prices)
    return [grouped(count), duration(cpuSeconds), size(gigabytes), all, inSlices]
  })
  return [
    heading('Writes: how long they take, one at a time or at a rate'),
    ...table(['accounts', ...timeHead], times),
    heading(`Writes: what they take at 100/s; a slice is ${grouped(slice)} accounts`),
    ...table(['accounts', 'CPU time', 'Redis', 'cost', 'cost in slices'], needs),
  ]
}

function exportTables({ latency, exportOfWorkers: { cpuMs, requestsPerPage } }, prices) {
  const requestsOf = count => Math.round((count / pageSize) * requestsPerPage)
  const cpuSecondsOf = count => (count * cpuMs) / 1000
  const times = counts.map(count => {
    const requests = requestsOf(count)
    const loop = (requests * latency) / 1000 + cpuSecondsOf(count)
    return [grouped(count), ...[loop, ...rates.map(rate => requests / rate)].map(duration)]
  })
  const needs = counts.map(count => {
    const cpuSeconds = cpuSecondsOf(count)
    return [grouped(count), grouped(requestsOf(count)), duration(cpuSeconds), money(cpuSeconds, 0, 0, prices)]
  })
  return [
    heading('Export: how long it takes, one page at a time or at a rate'),
    ...table(['transactions', ...timeHead], times),
    heading('Export: what it takes'),
    ...table(['transactions', 'requests', 'CPU time', 'cost'], needs),
  ]
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

/** @returns its lines */
function table(head, rows) {
  const widths = head.map((_, index) => Math.max(...[head, ...rows].map(cells => cells[index].length)))
  return [head, ...rows].map(([first, ...others]) => {
    const cells = others.map((cell, index) => cell.padStart(widths[index + 1]))
    return `  ${[first.padEnd(widths[0]), ...cells].join('  ')}`
  })
}

runMain(import.meta.filename, main, { options })
