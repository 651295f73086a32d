// Exports all transactions through a queue, with several worker processes, to a file with one of them on each line. One
// command starts all of it, the Redis and a fake service included:
//
//   npm run build && npm ci --prefix examples/scaling/bullmq
//   node examples/export-parallel --kill

import { parseArgs } from 'node:util'
import { commonHelp, commonOptions, grouped, runMain, wholeNumbers } from '../scaling/program.js'
import { Problem } from '../scaling/redis.js'
import { exportAll } from './run.js'

const help = `node examples/export-parallel [options]

  --output transactions.ndjson
  --name NAME         of this export: the same name goes on with it; a new one when not given
  --limit 100         transactions on a page
  --pages 10          pages that a job reads
${commonHelp}
  --transactions 100000

BASE_URL and API_KEY send it to a real service, REDIS_URL to a Redis that runs.
Exit code: 0, the file is complete; 1, jobs failed; 2, the list shrank; 3, it changes faster than it is read.`

const exitCodes = { complete: 0, shrank: 2, 'still changing': 3 }

async function main() {
  const { values } = parseArgs({
    options: {
      ...commonOptions,
      concurrency: { type: 'string', default: '4' },
      output: { type: 'string', default: 'transactions.ndjson' },
      name: { type: 'string' },
      limit: { type: 'string', default: '100' },
      pages: { type: 'string', default: '10' },
      transactions: { type: 'string', default: '100000' },
    },
  })
  if (values.help) {
    console.log(help)
    return 0
  }
  if (process.env.BASE_URL && !process.env.API_KEY) throw new Problem('BASE_URL is set, but API_KEY is not.')
  const names = ['limit', 'pages', 'transactions', 'workers', 'concurrency', 'rate', 'latency']
  if (values.name !== undefined && !/^[\w.-]{1,100}$/.test(values.name)) {
    throw new Problem('--name: expected letters, digits, ".", "_" and "-", at most 100')
  }
  const result = await exportAll({
    ...values,
    ...wholeNumbers(values, names),
    note: text => console.error(text),
  })
  for (const line of summary(result, values.output)) console.error(line)
  return result.joined ? exitCodes[result.joined.outcome] : 1
}

function* summary({ joined, seconds, calls, cpuMs, received }, output) {
  if (!joined) {
    yield 'Not all parts could be read: there is no file yet.'
    return
  }
  const { items, before, after, readAgain, outcome } = joined
  yield `${grouped(items)} transactions in ${output}, ${seconds.toFixed(1)} s: ${grouped(Math.round(items / seconds))} a second`
  if (calls > 0) yield `CPU of the workers: ${((cpuMs / items) * 1000).toFixed(1)} µs a transaction`
  if (after > before)
    yield `The list grew from ${grouped(before)} to ${grouped(after)}: ${readAgain} pages were read again.`
  if (outcome === 'shrank') {
    yield `The list shrank, or lost some and gained others, while it was read (${grouped(before)} before, ${grouped(after)} now): transactions that moved may be missing, and removed ones may be in the file. Export it again.`
  }
  if (outcome === 'still changing') {
    yield `${grouped(after - items)} are missing: the list changes faster than it is read. Export it again when it is quiet.`
  }
  if (received) yield `The service received ${grouped(received.requests)} requests.`
}

runMain(main)
