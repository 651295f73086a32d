// @ts-check
// What the client does, in a minute. Against a fake service on this machine, or against a real one:
//
//   npm run demo
//   BASE_URL=https://… API_KEY=… npm run demo                             reads only
//   … ALLOW_WRITES=1 CUSTOMER_ID=… VIRTUAL_ACCOUNT_ID=… npm run demo      deactivates and reactivates, too

import { styleText } from 'node:util'
import { Client, isApiError } from 'virtual-accounts'
import { DecimalSum } from './decimal-sum.js'
import { startFakeServer } from './fake-server.js'

/** @typedef {import('virtual-accounts').VirtualAccountRef} VirtualAccountRef */

async function main() {
  const real = realService(process.env)
  if (!real) return againstFake()

  const { client, baseUrl, account } = real
  console.log(`Against ${baseUrl}, ${account ? 'writes allowed' : 'reading only'}.`)
  await listTransactions(client)
  if (account) await deactivateAndReactivate(client, account)
}

async function againstFake() {
  const { service, url, close } = await startFakeServer({ port: 0, latency: 20 })
  try {
    const client = new Client({ baseUrl: url, apiKey: service.apiKey })
    const account = { customerId: 'customer-1', virtualAccountId: 'account-1' }
    console.log(`Against a fake service on ${url}, which ends with this demo.`)
    await listTransactions(client)
    await deactivateAndReactivate(client, account)
    await showFailures(client, service, account)
  } finally {
    await close()
  }
}

/** @param {Client} client */
async function listTransactions(client) {
  heading('List all transactions, and add them up')
  const transactions = client.transactions.list({ limit: 100 })

  // Awaited, a list is one page. It knows the total, which the progress bar needs.
  const { totalItems } = await transactions
  const progress = progressBar(totalItems)

  /** @type {Map<string, { count: number, sum: DecimalSum }>} */
  const currencies = new Map()
  // Iterated, it is every item: page after page, several of them asked for at a time.
  for await (const { currency, amount } of transactions) {
    const entry = currencies.get(currency) ?? { count: 0, sum: new DecimalSum() }
    currencies.set(currency, entry)
    entry.count++
    entry.sum.add(amount)
    progress.step()
  }
  progress.end()
  printTable(currencies)
}

/**
 * @param {Client} client
 * @param {VirtualAccountRef} account
 */
async function deactivateAndReactivate(client, account) {
  heading('Deactivate an account, and reactivate it')
  for (const operation of /** @type {const} */ (['deactivate', 'reactivate'])) {
    const { status, attempts, idempotencyKey } = await client.virtualAccounts[operation](account)
    console.log(`  ${operation}  status ${status}, attempts ${attempts}, idempotencyKey ${idempotencyKey}`)
  }
}

/**
 * @param {Client} client
 * @param {import('virtual-accounts/testing').FakeService} service
 * @param {VirtualAccountRef} account
 */
async function showFailures(client, service, account) {
  heading('A wrong key')
  try {
    await client.withOptions({ apiKey: 'another_key' }).transactions.list()
  } catch (error) {
    if (!isApiError(error) || error.kind !== 'http') throw error
    console.log(`  ${error.name}, kind ${error.kind}, status ${error.status}`)
    console.log(`  ${error.message}`)
  }

  const watched = client.withOptions({
    onEvent(event) {
      if (event.type !== 'retry') return
      const { attempt, error, delayMs } = event
      const what = error.kind === 'http' ? `answered ${error.status}` : 'no complete answer'
      console.log(`  attempt ${attempt}: ${what}, trying again in ${Math.round(delayMs)} ms`)
    },
  })

  heading('A service that is down for a moment')
  service.fail({ times: 2, with: () => new Response(null, { status: 503 }) })
  const page = await watched.transactions.list()
  console.log(`  and then the page: ${page.data.length} of ${grouped(page.totalItems)} transactions`)

  heading('A write whose answer is lost on the way')
  service.fail({ method: 'POST', with: 'truncate' })
  const earlier = service.requests.length
  const result = await watched.virtualAccounts.deactivate(account)
  const keys = service.requests.slice(earlier).map(({ headers }) => headers.get('Idempotency-Key'))
  console.log(`  and then status ${result.status}, attempts ${result.attempts}`)
  console.log(
    `  the service saw ${keys.length} requests with ${new Set(keys).size} idempotencyKey: applied once`,
  )
}

/**
 * Where the demo goes when it isn't the fake. Nothing is guessed, and nothing written unless allowed.
 *
 * @param {NodeJS.ProcessEnv} env
 */
function realService(env) {
  const { BASE_URL: baseUrl, API_KEY: apiKey, ALLOW_WRITES, CUSTOMER_ID, VIRTUAL_ACCOUNT_ID } = env
  if (!baseUrl && !apiKey) {
    if (ALLOW_WRITES)
      throw new Problem('ALLOW_WRITES is for a real service: set BASE_URL and API_KEY as well.')
    return undefined
  }
  if (!baseUrl)
    throw new Problem('API_KEY is set, but BASE_URL is not: set both, or none for the fake service.')
  if (!apiKey)
    throw new Problem('BASE_URL is set, but API_KEY is not: set both, or none for the fake service.')
  if (!URL.canParse(baseUrl)) throw new Problem('BASE_URL: expected an absolute URL, https://…')
  const client = clientFor(baseUrl, apiKey)
  if (ALLOW_WRITES !== '1') return { client, baseUrl, account: undefined }
  if (!CUSTOMER_ID || !VIRTUAL_ACCOUNT_ID) {
    throw new Problem(
      'ALLOW_WRITES=1 needs CUSTOMER_ID and VIRTUAL_ACCOUNT_ID: the account to deactivate and reactivate.',
    )
  }
  return { client, baseUrl, account: { customerId: CUSTOMER_ID, virtualAccountId: VIRTUAL_ACCOUNT_ID } }
}

/**
 * @param {string} baseUrl
 * @param {string} apiKey
 */
function clientFor(baseUrl, apiKey) {
  try {
    return new Client({ baseUrl, apiKey })
  } catch (error) {
    // It says what was expected, and never shows a key.
    throw new Problem(error instanceof Error ? error.message : String(error))
  }
}

/** Something the user can mend: its message is all they need. */
class Problem extends Error {}

/** @param {string} text */
function heading(text) {
  console.log(`\n${styleText('bold', text)}`)
}

/**
 * A bar that is redrawn on a terminal, and a few plain lines elsewhere.
 *
 * @param {number} total
 */
function progressBar(total) {
  const { stdout } = process
  const start = performance.now()
  const steps = stdout.isTTY ? 40 : 4
  let done = 0
  let shown = stdout.isTTY ? -1 : 0

  function draw() {
    const reached = total > 0 ? Math.min(Math.floor((done / total) * steps), steps) : steps
    if (reached === shown) return
    shown = reached
    const bar = '█'.repeat(reached) + '░'.repeat(steps - reached)
    stdout.write(stdout.isTTY ? `\r  ${bar} ${grouped(done)} of ${grouped(total)}` : `  ${reached * 25} %\n`)
  }
  draw()

  return {
    step() {
      done++
      draw()
    },
    end() {
      if (stdout.isTTY) stdout.write('\n')
      console.log(`  ${grouped(done)} transactions in ${((performance.now() - start) / 1000).toFixed(2)} s`)
    },
  }
}

/** @param {Map<string, { count: number, sum: DecimalSum }>} currencies */
function printTable(currencies) {
  if (currencies.size === 0) return
  const rows = [...currencies].sort().map(([currency, { count, sum }]) => {
    const [whole = '', fraction] = sum.toString().split('.')
    return {
      currency,
      count: grouped(count),
      whole: grouped(whole),
      fraction: fraction ? `.${fraction}` : '',
    }
  })
  const head = { currency: 'currency', count: 'count', whole: 'sum', fraction: '' }
  /** @param {keyof head} column */
  const width = column => Math.max(...[head, ...rows].map(row => row[column].length))
  console.log()
  for (const row of [head, ...rows]) {
    const { currency, count, whole, fraction } = row
    // The points of all sums are below each other.
    const sum =
      row === head
        ? 'sum'.padStart(width('whole') + width('fraction'))
        : whole.padStart(width('whole')) + fraction.padEnd(width('fraction'))
    const line =
      `  ${currency.padEnd(width('currency'))}  ${count.padStart(width('count'))}  ${sum}`.trimEnd()
    console.log(row === head ? styleText('dim', line) : line)
  }
}

/**
 * 1234567 as 1,234,567. Of digits, which may be more than a number holds.
 *
 * @param {number | string} digits
 */
function grouped(digits) {
  return String(digits).replace(/\B(?=(\d{3})+$)/g, ',')
}

main().catch(error => {
  console.error(error instanceof Problem || isApiError(error) ? `\n${error.message}` : error)
  if (isApiError(error) && error.idempotencyKey) console.error(`idempotencyKey: ${error.idempotencyKey}`)
  process.exitCode = 1
})
