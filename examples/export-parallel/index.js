// Exports all transactions through a queue, with several worker processes, to a file with one transaction per line. One
// command starts all of it, including a Redis and a fake service:
//
//   (cd examples/scaling/bullmq && npm ci)
//   npm run example examples/export-parallel -- --kill

import { join, relative } from 'node:path'
import { sampleTransactions } from 'virtual-accounts/testing'
import { realService } from '../connect.js'
import { commandOf, commonHelp, commonOptions, nameOf, wholeNumbers, withQueue } from '../scaling/options.js'
import { takeoverSummary } from '../scaling/takeover.js'
import { counted, elapsed, grouped, openStatus, runMain, wrapped } from '../terminal.js'
import { itemsIn } from './parts.js'

// In the current folder it would be a new file in a clone.
const defaultOutput = join(import.meta.dirname, 'transactions.ndjson')

const help = `npm run example examples/export-parallel -- [options]

  --output FILE       by default
                      examples/export-parallel/transactions.ndjson
  --name NAME         name of the export; the same name continues it, by
                      default a new one
  --limit 100         transactions on a page
  --pages 20          pages that a job reads
${commonHelp}
  --transactions 100000
                      number of transactions of the fake service

Set BASE_URL and API_KEY to use a real service, and REDIS_URL to use a running
Redis.
Exit code: 0, the file is complete; 1, it is not, or there is none.`

const options = /** @type {const} */ ({
  ...commonOptions,
  concurrency: { type: 'string', default: '4' },
  output: { type: 'string', default: defaultOutput },
  name: { type: 'string' },
  limit: { type: 'string', default: '100' },
  pages: { type: 'string', default: '20' },
  transactions: { type: 'string', default: '100000' },
})

async function main({ values }) {
  const real = realService()
  const names = /** @type {const} */ ([
    'limit',
    'pages',
    'transactions',
    'workers',
    'concurrency',
    'rate',
    'latency',
  ])
  const numbers = wholeNumbers(values, names)
  const name = nameOf('name', values.name)
  const { exportAll } = await withQueue(() => import('./run.js'))
  const status = openStatus()
  status.note(`Exporting the transactions of ${real?.baseUrl ?? 'a fake service'} to ${shown(values.output)}`)
  status.note(`${counted(numbers.workers, 'worker')}, export ${name}`)
  status.note(
    'The file will have every transaction that is in the list from start to end, once. ' +
      'One that is added or removed meanwhile may be in it or not: no page shows that.',
  )
  const result = await exportAll({ ...values, ...numbers, faulty: !values['no-faults'], name, status })
  const { joined, output } = result
  const expected = real ? [] : sampleTransactions(numbers.transactions)
  const file = joined && (await examined(output, joined.items, expected))
  for (const line of summaryLines(result, values.kill, file)) console.error(line)
  if (file?.isRight) return 0

  const again = joined ? { name: undefined, state: undefined } : { name, state: result.stateFolder }
  console.error(`\n${joined ? 'To export it again' : 'To continue with what is left'}:\n`)
  console.error(`  ${commandOf('export-parallel', { ...values, ...again }, options)}`)
  return 1
}

/**
 * What is in the file, whatever a worker says.
 *
 * @param {string} file
 * @param {number} items how many it should have
 * @param {import('virtual-accounts').Transaction[]} expected those of the fake service, which do not change
 */
async function examined(file, items, expected) {
  const ids = new Set()
  let lines = 0
  for await (const { id } of itemsIn(file)) {
    lines++
    ids.add(id)
  }
  const missing = expected.filter(({ id }) => !ids.has(id)).length
  return { lines, ids: ids.size, missing, isRight: lines === items && ids.size === items && missing === 0 }
}

function* summaryLines({ joined, output, before, seconds, failures, received, ...result }, kill, file) {
  if (!joined) {
    yield '✗ Not all parts could be read: there is no file yet'
    if (result.refusal) yield wrapped(`Stopped at the first refusal: ${result.refusal}`, '  ')
    if (result.interrupted) yield '  Interrupted.'
    if (result.isLost) yield '  The queue lost its jobs.'
    for (const failure of failures) yield wrapped(failure, '  ')
  } else {
    const { items, overlaps, readAgain, totalItems } = joined
    const perSecond = grouped(Math.round(items / seconds))
    if (file.isRight) {
      yield `✓ ${counted(items, 'transaction')} in ${shown(output)}, each exactly once`
    } else {
      yield `✗ ${shown(output)} is incomplete or wrong: ${counted(file.lines, 'line')} for ${counted(items, 'transaction')}`
      yield `  ${grouped(file.lines - file.ids)} duplicates, ${grouped(file.missing)} missing`
    }
    yield `  in ${elapsed(seconds)}: ${perSecond} a second`
    if (overlaps > 0) {
      yield `✓ ${counted(overlaps, 'overlap')} between parts verified, ${grouped(readAgain)} of them after reading again`
    }
    if (totalItems !== before || totalItems !== items) {
      yield wrapped(
        `The list changed meanwhile, from ${grouped(before)} to ${grouped(totalItems)} transactions.`,
        '  ',
      )
    }
  }
  if (received) yield `  The service received ${counted(received.requests, 'request')}.`
  if (kill) yield* takeoverSummary(result.takeover)
}

/** @param {string} file */
function shown(file) {
  return relative('', file)
}

runMain(import.meta.filename, main, { options, help })
