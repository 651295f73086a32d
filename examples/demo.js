// @ts-check
// What the client does, in a few seconds. Against a fake service on this machine, or against a real one:
//
//   npm run demo
//   BASE_URL=https://… API_KEY=… npm run demo
//
// A real service is only read, unless you allow it to deactivate and reactivate an account, by these in addition:
//
//   ALLOW_WRITES=1 CUSTOMER_ID=… VIRTUAL_ACCOUNT_ID=…

import { styleText } from 'node:util'
import Big from 'big.js'
import { Client, isApiError } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { realService } from './connect.js'
import { startFakeServer } from './fake-server.js'
import { aligned, bar, counted, elapsed, grouped, heading, Problem, runMain, wrapped } from './terminal.js'

/** @typedef {{ baseUrl: string, apiKey: string }} Service */
/** @typedef {import('virtual-accounts').VirtualAccountRef} VirtualAccountRef */

/**
 * The demo prints the body of this function, then runs it.
 *
 * @param {Service & Pick<import('virtual-accounts').ClientOptions, 'concurrency' | 'onEvent'>} options
 */
async function sumByCurrency({ baseUrl, apiKey, concurrency, onEvent }) {
  const client = new Client({ baseUrl, apiKey, concurrency, onEvent })
  const transactions = client.transactions.list({ limit: 100 })
  const sums = new Map()
  for await (const { currency, amount } of transactions) {
    sums.set(currency, (sums.get(currency) ?? new Big(0)).plus(amount))
  }
  return sums
}

async function main() {
  console.log(
    styleText('bold', wrapped('virtual-accounts: a typed client for virtual accounts and transactions')),
  )
  const real = realService()
  const account = accountOf(process.env, real)
  if (real) await againstReal(real, account)
  else await againstFake()
  console.log(heading('Next'))
  console.log(`  npm run example:react                      a page with tables and charts
  npm run example examples/handle-errors.js  each failure and how to handle it
  docs/getting-started.md                    from npm install to your first loop
  examples/demo.js                           the code of this demo`)
}

/**
 * @param {Service} service
 * @param {VirtualAccountRef | undefined} account
 */
async function againstReal(service, account) {
  console.log(wrapped(`Against ${service.baseUrl}, ${account ? 'writes allowed' : 'read-only'}.`))
  showListing()
  const { totalItems, pageCount } = await firstPage(service)
  console.log(`  ${counted(totalItems, 'transaction')} on ${counted(pageCount, 'page')}:`)
  const { sums } = await timed({ label: '4 in parallel (default)', service, pageCount })
  console.log()
  printSums(sums)
  if (!account) return

  console.log(heading('Deactivate and reactivate an account'))
  const client = new Client(service)
  for (const operation of /** @type {const} */ (['deactivate', 'reactivate'])) {
    const { status, idempotencyKey } = await client.virtualAccounts[operation](account)
    console.log(`  ${operation}  HTTP ${status}, idempotencyKey ${idempotencyKey}`)
  }
}

async function againstFake() {
  const transactions = sampleTransactions(5000)
  const fake = await startFakeServer({ port: 0, latency: 20, transactions })
  const service = { baseUrl: fake.url, apiKey: fake.service.apiKey }
  try {
    console.log(wrapped(`Against a fake service at ${fake.url}, which stops after this demo.`))
    showListing()
    const { totalItems, pageCount } = await firstPage(service)
    console.log(`  ${counted(totalItems, 'transaction')} on ${pageCount} pages, 20 ms per response. Time:`)
    // Neither of the two pays for the first use of all code.
    await sumByCurrency(service)
    const one = await timed({ label: 'one page at a time', service, pageCount, concurrency: 1 })
    const four = await timed({ label: '4 in parallel (default)', service, pageCount, longest: one.ms })
    console.log(`  ${(one.ms / four.ms).toFixed(1)}× as fast, with every transaction in order\n`)
    printSums(four.sums)
    await showLostResponse(fake.service, service)
    await showMessage(service)
  } finally {
    await fake.close()
  }
}

function showListing() {
  const lines = sumByCurrency.toString().split('\n')
  // Without the signature, `return sums` and the last brace.
  const body = lines.slice(1, -2).join('\n')
  console.log(heading('List every transaction and add up the amounts'))
  console.log(`${styleText('cyan', body)}\n`)
}

/** @param {Service} service */
async function firstPage(service) {
  return await new Client(service).transactions.list({ limit: 100 })
}

/**
 * Runs `sumByCurrency`, and then shows how long it took: by a bar, and the one of the longest run is full.
 *
 * @param {object} run
 * @param {string} run.label
 * @param {Service} run.service
 * @param {number} run.pageCount
 * @param {number} [run.concurrency]
 * @param {number} [run.longest] in milliseconds; this run by default
 */
async function timed({ label, service, pageCount, concurrency = 4, longest }) {
  const { stdout } = process
  const began = performance.now()
  let pages = 0
  /** @param {string} text */
  const show = text => stdout.write(`${stdout.isTTY ? '\r\x1b[K' : ''}  ${label.padEnd(24)}${text}`)

  const sums = await sumByCurrency({
    ...service,
    concurrency,
    onEvent({ type }) {
      if (type === 'response' && stdout.isTTY) show(`page ${grouped(++pages)} of ${grouped(pageCount)}`)
    },
  })
  const ms = performance.now() - began
  show(`${bar(ms / (longest ?? ms), 24)}  ${elapsed(ms / 1000)}\n`)
  return { sums, ms }
}

/**
 * @param {import('virtual-accounts/testing').FakeService} fake
 * @param {Service} service
 */
async function showLostResponse(fake, service) {
  const account = { customerId: 'c1', virtualAccountId: 'v1' }
  const client = new Client({
    ...service,
    onEvent(event) {
      if (event.type === 'response') console.log(`  attempt ${event.attempt}: HTTP ${event.status}`)
      if (event.type !== 'retry') return
      const retry = `retry in ${Math.round(event.delayMs)} ms`
      const lost = `attempt ${event.attempt}: connection lost before the response was complete; ${retry}`
      console.log(wrapped(lost, '  '))
    },
  })

  console.log(heading('Deactivate an account when the response is lost'))
  console.log(
    `${styleText('cyan', '  await client.virtualAccounts.deactivate({ customerId, virtualAccountId })')}\n`,
  )
  fake.fail({ method: 'POST', with: 'truncate' })
  const earlier = fake.requests.length
  await client.virtualAccounts.deactivate(account)
  const keys = fake.requests.slice(earlier).map(({ headers }) => headers.get('Idempotency-Key'))
  if (fake.isActive(account)) throw new Error('the account is still active')
  console.log(
    wrapped(
      `✓ The service received ${counted(keys.length, 'request')} with ` +
        `${counted(new Set(keys).size, 'idempotency key')}: deactivated once.`,
      '  ',
    ),
  )
}

/** @param {Service} service */
async function showMessage({ baseUrl }) {
  console.log(heading('Error messages say what to do'))
  try {
    await new Client({ baseUrl, apiKey: 'another_key' }).transactions.list()
  } catch (error) {
    if (!isApiError(error)) throw error
    console.log(wrapped(error.message, '  '))
  }
}

/** @param {Map<string, Big>} sums */
function printSums(sums) {
  const sorted = [...sums].sort()
  const amounts = aligned(sorted.map(([, sum]) => sum.toFixed()))
  for (const [index, [currency]] of sorted.entries())
    console.log(`  ${currency}  ${amounts[index]}`.trimEnd())
}

/**
 * The account to write to. Nothing is guessed, and nothing is written unless it is allowed.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {Service | undefined} real
 */
function accountOf({ ALLOW_WRITES, CUSTOMER_ID, VIRTUAL_ACCOUNT_ID }, real) {
  if (ALLOW_WRITES !== '1') return undefined
  if (!real) throw new Problem('ALLOW_WRITES is for a real service: set BASE_URL and API_KEY as well.')
  if (!CUSTOMER_ID || !VIRTUAL_ACCOUNT_ID) {
    throw new Problem(
      'ALLOW_WRITES=1 deactivates and reactivates an account: name it with CUSTOMER_ID and VIRTUAL_ACCOUNT_ID.',
    )
  }
  return { customerId: CUSTOMER_ID, virtualAccountId: VIRTUAL_ACCOUNT_ID }
}

runMain(import.meta.filename, main)
