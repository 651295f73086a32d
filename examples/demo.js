// @ts-check
// What the client does, in a few seconds, with a fake service inside this program:
//
//   npm run demo

import { styleText } from 'node:util'
import Big from 'big.js'
import { Client, isApiError } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { grouped, runMain, wrapped } from './terminal.js'

/** @typedef {import('virtual-accounts').Transaction} Transaction */
/** @typedef {{ baseUrl: string, apiKey: string, fetch: typeof fetch }} Service */

runMain(import.meta.filename, async () => {
  console.log(styleText('bold', 'virtual-accounts, with a fake service inside this program'))

  title('A list that changes while it is read')
  say(
    '5,000 transactions. With each response, the first is removed and another is added at the end, so the total stays the same.',
  )
  console.log()
  await compare('a loop over page=1, 2, 3 …', readPages)
  await compare('for await (… of client.transactions.list())', readList)

  title('A write whose response is lost')
  await loseResponse()

  title('A message that says what to do')
  await failWithMessage()

  title('The six lines that ran')
  console.log(`  const client = new Client({ baseUrl, apiKey, fetch })
  for await (const transaction of client.transactions.list()) {
    transactions.push(transaction)
  }
  const account = { customerId: 'c1', virtualAccountId: 'v1' }
  await client.virtualAccounts.deactivate(account)`)

  title('Next')
  console.log('  Write your first loop: docs/getting-started.md')
})

/** A handwritten loop. @param {Service} service */
async function readPages({ baseUrl, apiKey, fetch }) {
  /** @type {Transaction[]} */
  const transactions = []
  for (let page = 1; ; page++) {
    const url = `${baseUrl}/transactions?page=${page}&limit=100`
    const response = await fetch(url, { headers: { 'Api-Key': apiKey } })
    const { data, totalItems } = await response.json()
    transactions.push(...data)
    if (page * 100 >= totalItems) return transactions
  }
}

/** With the client. @param {Service} service */
async function readList({ baseUrl, apiKey, fetch }) {
  const client = new Client({ baseUrl, apiKey, fetch })
  const transactions = []
  for await (const transaction of client.transactions.list()) transactions.push(transaction)
  return transactions
}

/**
 * Reads a list that changes, and prints the missed items that were in it throughout.
 *
 * @param {string} name
 * @param {(service: Service) => Promise<Transaction[]>} read
 */
async function compare(name, read) {
  const service = new FakeService({ transactions: sampleTransactions(5000), latency: 40 })
  const atFirst = [...service.transactions]
  /** @type {typeof globalThis.fetch} */
  const fetch = async (input, init) => {
    const response = await service.fetch(input, init)
    const [removed] = service.transactions.splice(0, 1)
    if (removed) service.transactions.push({ ...removed, id: `new-${removed.id}` })
    return response
  }
  const found = new Set((await read({ ...service, fetch })).map(({ id }) => id))
  const atLast = new Set(service.transactions)
  const missed = atFirst.filter(transaction => atLast.has(transaction) && !found.has(transaction.id))
  const euros = missed
    .filter(({ currency }) => currency === 'EUR')
    .reduce((sum, { amount }) => sum.plus(amount), new Big(0))
  const result =
    missed.length === 0
      ? styleText('green', '✓ misses none')
      : styleText('red', `✗ misses ${missed.length} (${grouped(euros.toFixed(2))} in EUR)`)
  console.log(`  ${name.padEnd(44)} ${result}`)
}

async function loseResponse() {
  const service = new FakeService()
  const { baseUrl, apiKey, fetch } = service
  const client = new Client({
    baseUrl,
    apiKey,
    fetch,
    onEvent(event) {
      if (event.type === 'retry') say(`${event.error.message} Retry in ${Math.round(event.delayMs)} ms.`)
      if (event.type === 'response') say(`POST: HTTP ${event.status}, attempt ${event.attempt}.`)
    },
  })
  service.fail({ method: 'POST', with: 'truncate' })
  await client.virtualAccounts.deactivate({ customerId: 'c1', virtualAccountId: 'v1' })
  const keys = new Set(service.requests.map(({ headers }) => headers.get('Idempotency-Key')))
  say(
    styleText(
      'green',
      `✓ ${service.requests.length} requests, ${keys.size} idempotency key: deactivated once`,
    ),
  )
}

async function failWithMessage() {
  const { baseUrl, fetch } = new FakeService()
  try {
    await new Client({ baseUrl, apiKey: 'another_key', fetch }).transactions.list()
  } catch (error) {
    if (!isApiError(error)) throw error
    say(error.message)
  }
}

/** @param {string} text */
function title(text) {
  console.log(`\n${styleText('bold', text)}\n`)
}

/** @param {string} text */
function say(text) {
  console.log(wrapped(text, '  '))
}
