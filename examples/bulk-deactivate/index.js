// Deactivates many accounts through a queue, with several worker processes. One command starts all of it, the Redis and
// a fake service included:
//
//   npm run build && npm ci --prefix examples/scaling/bullmq
//   node examples/bulk-deactivate --kill
//
// The accounts that failed for good are printed on stdout, one JSON object a line; all else goes to stderr.

import { parseArgs } from 'node:util'
import { commonHelp, commonOptions, grouped, runMain, wholeNumbers } from '../scaling/program.js'
import { Problem } from '../scaling/redis.js'
import { deactivateAll } from './run.js'

const help = `node examples/bulk-deactivate [options]

  --count 10000       accounts to make up
  --accounts FILE     or those of a file: {"customerId":"…","virtualAccountId":"…"} on each line
  --batch NAME        the same name, the same idempotency keys; a new one when not given
${commonHelp}
  --refuse 0          accounts that it refuses

BASE_URL, API_KEY and ALLOW_WRITES=1 send it to a real service, REDIS_URL to a Redis that runs.
Exit code: 0, all are deactivated; 1, some are not.`

async function main() {
  const { values } = parseArgs({
    options: {
      ...commonOptions,
      count: { type: 'string', default: '10000' },
      accounts: { type: 'string' },
      batch: { type: 'string' },
      refuse: { type: 'string', default: '0' },
    },
  })
  if (values.help) {
    console.log(help)
    return 0
  }
  checkService(values)
  const numbers = wholeNumbers(values, ['count', 'workers', 'concurrency', 'rate', 'latency', 'refuse'])
  if (values.batch !== undefined && !/^[\w.-]{1,100}$/.test(values.batch)) {
    throw new Problem('--batch: expected letters, digits, ".", "_" and "-", at most 100')
  }
  const result = await deactivateAll({
    ...values,
    ...numbers,
    note: text => console.error(text),
    onFailure: failure => console.log(JSON.stringify(failure)),
  })
  for (const line of summary(result)) console.error(line)
  return result.failed > 0 || result.interrupted ? 1 : 0
}

function checkService({ accounts }) {
  const { BASE_URL, API_KEY, ALLOW_WRITES } = process.env
  if (!BASE_URL) return
  if (!API_KEY) throw new Problem('BASE_URL is set, but API_KEY is not.')
  if (ALLOW_WRITES !== '1')
    throw new Problem('BASE_URL is set: ALLOW_WRITES=1 allows to deactivate accounts there.')
  if (!accounts) throw new Problem('BASE_URL is set: give the accounts with --accounts FILE.')
}

function* summary({ completed, failed, seconds, perSecond, calls, cpuMs, received }) {
  yield `${grouped(completed)} deactivated, ${grouped(failed)} failed for good, ${seconds.toFixed(1)} s: ${grouped(perSecond)} a second`
  if (calls > 0) yield `CPU of the workers: ${(cpuMs / calls).toFixed(2)} ms a try`
  if (!received) return
  const { requests, accounts, deactivated, keys, keysOfSeveralAccounts, accountsWithSeveralKeys, faults } =
    received
  yield `The service received ${grouped(requests)} requests for ${grouped(accounts)} accounts, ${grouped(deactivated)} of which are deactivated.`
  yield `It saw ${grouped(keys)} keys: ${keysOfSeveralAccounts} for more than one account, ${accountsWithSeveralKeys} accounts with more than one.`
  const bad = Object.entries(faults).map(([name, times]) => `${times} × ${name}`)
  yield `Its bad moments: ${bad.join(', ') || 'none'}`
}

runMain(main)
