// Deactivates many accounts through a queue, with several worker processes. One command starts all of it, including a
// Redis and a fake service:
//
//   (cd examples/scaling/bullmq && npm ci)
//   npm run example examples/bulk-deactivate -- --kill
//
// The accounts that are not deactivated are printed on stdout, one JSON object per line; all else goes to stderr.

import { realService } from '../connect.js'
import { commandOf, commonHelp, commonOptions, nameOf, wholeNumbers, withQueue } from '../scaling/options.js'
import { takeoverSummary } from '../scaling/takeover.js'
import { counted, elapsed, grouped, openStatus, Problem, runMain, wrapped } from '../terminal.js'
import { accountsOf } from './accounts.js'

const help = `npm run example examples/bulk-deactivate -- [options]

  --count 10000       number of made-up accounts
  --accounts FILE     or the accounts of a file, on each line:
                      {"customerId":"…","virtualAccountId":"…"}
  --batch NAME        the same name gives the same idempotency keys; by
                      default a new one
${commonHelp}
  --refuse 0          number of accounts that the fake service refuses

Set BASE_URL, API_KEY and ALLOW_WRITES=1 to use a real service, and REDIS_URL
to use a running Redis.
Exit code: 0, every account is deactivated; 1, some are not.`

const options = /** @type {const} */ ({
  ...commonOptions,
  count: { type: 'string', default: '10000' },
  accounts: { type: 'string' },
  batch: { type: 'string' },
  refuse: { type: 'string', default: '0' },
})

async function main({ values }) {
  const real = realService()
  checkWrites(real, values)
  const numbers = wholeNumbers(values, ['count', 'workers', 'concurrency', 'rate', 'latency', 'refuse'])
  const batch = nameOf('batch', values.batch)
  const { deactivateAll } = await withQueue(() => import('./run.js'))
  const status = openStatus()
  status.note(
    `Deactivating ${values.accounts ? `the accounts of ${values.accounts}` : counted(numbers.count, 'account')}`,
  )
  status.note(`${counted(numbers.workers, 'worker')}, ${real?.baseUrl ?? 'a fake service'}, batch ${batch}`)

  const accounts = accountsOf({ file: values.accounts, count: numbers.count })
  const result = await deactivateAll({
    ...values,
    ...numbers,
    faulty: !values['no-faults'],
    accounts,
    batch,
    status,
  })
  printReports([...result.failed, ...result.unproven])
  for (const line of summaryLines(result, values.kill)) console.error(line)
  if (areKeysMixedUp(result.received)) return 1
  if (result.deactivated.length === result.requested) return 0

  console.error('\nTo continue with what is left:\n')
  console.error(`  ${commandOf('bulk-deactivate', { ...values, batch, state: result.stateFolder }, options)}`)
  return 1
}

function checkWrites(real, { accounts }) {
  if (!real) return
  if (process.env.ALLOW_WRITES !== '1') {
    throw new Problem('BASE_URL is set: to deactivate accounts there, set ALLOW_WRITES=1 as well.')
  }
  if (!accounts) throw new Problem('BASE_URL is set: give the accounts with --accounts FILE.')
}

function* summaryLines({ requested, deactivated, failed, unproven, seconds, perSecond, ...result }, kill) {
  const { refusal, interrupted, takeover, received } = result
  const all = counted(requested, 'account')
  if (areKeysMixedUp(received))
    yield `✗ The service received several keys for one account, or one key for several accounts`
  else if (deactivated.length === requested) {
    const what = received ? 'each exactly once' : 'each with a 2xx response for its own key'
    yield `✓ ${all}, ${what}, in ${elapsed(seconds)}: ${grouped(perSecond)} a second`
  } else {
    yield `✗ ${grouped(deactivated.length)} of ${all} are proven to be deactivated`
    if (refusal) yield wrapped(`Stopped at the first refusal: ${refusal}`, '  ')
    if (interrupted) yield '  Interrupted.'
    for (const [reason, count] of tally([...failed, ...unproven])) yield `  ${grouped(count)}: ${reason}`
  }
  if (received) {
    const { requests, accounts, keys, faults } = received
    yield `  The service received ${counted(requests, 'request')} for ${counted(accounts, 'account')} with ${counted(keys, 'key')}.`
    const injected = Object.entries(faults).map(([name, times]) => `${times} × ${name}`)
    yield wrapped(`Faults that it injected: ${injected.join(', ') || 'none'}`, '  ')
  }
  if (kill) yield* takeoverSummary(takeover)
}

/** For programs JSON, for people a few lines. */
function printReports(outcomes) {
  if (!process.stdout.isTTY) {
    for (const { report } of outcomes) console.log(JSON.stringify(report))
    return
  }
  const shown = outcomes.slice(0, 5)
  for (const { report } of shown) {
    console.log(wrapped(`${report.customerId} ${report.virtualAccountId}: ${report.reason}`))
  }
  if (outcomes.length > 0) console.log('All of them, as JSON: redirect stdout to a file\n')
}

function areKeysMixedUp(received) {
  return received !== undefined && received.keysOfSeveralAccounts + received.accountsWithSeveralKeys > 0
}

/** How often each reason occurs. (Reasons of failed jobs name their account, so they are grouped as "failed for good".) */
function tally(outcomes) {
  const counts = new Map()
  for (const { why } of outcomes) counts.set(why, (counts.get(why) ?? 0) + 1)
  return counts
}

runMain(import.meta.filename, main, { options, help })
