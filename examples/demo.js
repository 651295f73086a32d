// @ts-check
// What the client does, in a few seconds. Against a fake service on this machine, or against a real one:
//
//   npm run demo
//   BASE_URL=https://… API_KEY=… npm run demo                             reads only
//   … ALLOW_WRITES=1 CUSTOMER_ID=… VIRTUAL_ACCOUNT_ID=… npm run demo      also deactivates and reactivates

import { styleText } from 'node:util'
import Big from 'big.js'
import { Client, isApiError } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { realService } from './connect.js'
import { startFakeServer } from './fake-server.js'
import { bar, counted, grouped, heading, Problem, runMain, wrapped } from './terminal.js'

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
  console.log(styleText('bold', 'virtual-accounts: a typed client for virtual accounts and transactions'))
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
  console.log(`Against ${service.baseUrl}, ${account ? 'writes allowed' : 'read-only'}.`)
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
    console.log(`Against a fake service at ${fake.url}, which stops after this demo.`)
    showListing()
    const { totalItems, pageCount } = await firstPage(service)
    console.log(`  ${counted(totalItems, 'transaction')} on ${pageCount} pages, 20 ms per response:`)
    const one = await timed({ label: 'one page at a time', service, pageCount, concurrency: 1 })
    const four = await timed({ label: '4 in parallel (default)', service, pageCount, scale: one.ms })
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
 * Runs `sumByCurrency` with a bar that grows with time. `scale` is the time of a full bar: that of the whole list if it
 * is not given.
 *
 * @param {{ label: string, service: Service, pageCount: number, concurrency?: number, scale?: number }} run
 */
async function timed({ label, service, pageCount, concurrency = 4, scale }) {
  const { stdout } = process
  const began = performance.now()
  let pages = 0
  /**
   * @param {number} share
   * @param {string} text
   */
  const line = (share, text) => `  ${label.padEnd(24)}${bar(share, 24)}  ${text}`

  const sums = await sumByCurrency({
    ...service,
    concurrency,
    onEvent({ type }) {
      if (type !== 'response') return
      pages++
      if (!stdout.isTTY) return
      const share = scale ? (performance.now() - began) / scale : pages / pageCount
      stdout.write(`\r${line(share, `page ${grouped(pages)} of ${grouped(pageCount)}`)}\x1b[K`)
    },
  })
  const ms = performance.now() - began
  const seconds = `${(ms / 1000).toFixed(2)} s`
  stdout.write(
    `${stdout.isTTY ? '\r' : ''}${line(scale ? ms / scale : 1, seconds)}${stdout.isTTY ? '\x1b[K' : ''}\n`,
  )
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
      console.log(`  attempt ${event.attempt}: connection lost before the response was complete; ${retry}`)
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
    `  ✓ The service received ${counted(keys.length, 'request')} with ` +
      `${counted(new Set(keys).size, 'idempotency key')}: deactivated once.`,
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
  const rows = [...sums].sort().map(([currency, sum]) => {
    const [whole = '', fraction = ''] = sum.toFixed().split('.')
    return { currency, whole: grouped(whole), fraction: fraction && `.${fraction}` }
  })
  const width = Math.max(...rows.map(({ whole }) => whole.length))
  // The decimal points are below each other.
  for (const { currency, whole, fraction } of rows) {
    console.log(`  ${currency}  ${whole.padStart(width)}${fraction}`)
  }
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

runMain(main)
