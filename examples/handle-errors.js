// @ts-check
// The six ways a call can fail, and what to do about each. A fake service inside
// this program fails on purpose:
//
//   npm run example examples/handle-errors.js

import { styleText } from 'node:util'
import { Client, isApiError } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { runMain, wrapped } from './terminal.js'

const service = new FakeService({ transactions: sampleTransactions(250) })
const { baseUrl, apiKey, fetch } = service
// No retries, so that each failure shows at once. By default there are three attempts.
const client = new Client({ baseUrl, apiKey, fetch, maxRetries: 0 })
const account = { customerId: 'c1', virtualAccountId: 'v1' }

runMain(import.meta.filename, async () => {
  console.log('A fake service fails on purpose. Each error shows what to do about it.')

  title('http: the service refuses')
  service.fail({ with: Response.json({ error: { message: 'no such account' } }, { status: 404 }) })
  await attempt(() => client.virtualAccounts.deactivate(account))

  title('http: rate limited')
  service.fail({ with: new Response(null, { status: 429, headers: { 'Retry-After': '90' } }) })
  await attempt(() => client.transactions.list())

  title('connection: there is no response')
  service.fail({ with: 'network-error' })
  await attempt(() => client.transactions.list())

  title('timeout: the response takes too long')
  service.fail({ with: 'hang' })
  await attempt(() => client.transactions.list({}, { timeout: 100 }))

  title('invalid-response: the response is not valid')
  const invalid = { data: [{ id: 't1', amount: '12.50', currency: 'EUR', description: '' }] }
  service.fail({ with: Response.json({ ...invalid, page: 1, totalItems: 1, limit: 20 }) })
  await attempt(() => client.transactions.list())

  title('pagination: a loop cannot keep its promise')
  let count = 0
  await attempt(async () => {
    const options = { verified: true, itemKey: () => 'not unique' }
    for await (const _ of client.transactions.list({}, options)) count++
  })

  title('A loop that fails in the middle')
  count = 0
  const stopped = await attempt(async () => {
    for await (const _ of client.transactions.list({ limit: 50 })) {
      if (++count === 50) service.fail({ with: new Response(null, { status: 503 }) })
    }
  })
  for await (const _ of client.transactions.list({ limit: 50 }, { after: stopped?.cursor })) count++
  say(`resumed with error.cursor: ${count} of 250 read`)

  title('A write whose response is lost')
  service.fail({ method: 'POST', with: 'truncate' })
  const lost = await attempt(() => client.virtualAccounts.deactivate(account))
  if (lost?.outcomeUnknown) {
    const { idempotencyKey } = lost
    const { status } = await client.virtualAccounts.deactivate(account, { idempotencyKey })
    say(`retried: HTTP ${status}, isActive is ${service.isActive(account)}`)
  }

  title('aborted: your signal ends the call')
  service.fail({ with: 'hang' })
  await attempt(() => client.transactions.list({}, { signal: AbortSignal.timeout(50) }))

  title('Not an ApiError: a mistake in the call')
  await attempt(() => client.transactions.list({ limit: 0 }))
})

/**
 * Makes a call and prints why it failed and what to do. Returns its error, if it is an ApiError.
 *
 * @param {() => PromiseLike<unknown>} call
 */
async function attempt(call) {
  try {
    await call()
    return undefined
  } catch (error) {
    if (!isApiError(error)) {
      say(String(error))
      return undefined
    }
    // The message is one line without the API key: which call, what happened, what to do.
    say(error.message)
    say(`→ ${advice(error)}`)
    return error
  }
}

/** @param {import('virtual-accounts').AnyApiError} error */
function advice(error) {
  switch (error.kind) {
    case 'http':
      if (error.retryAfterMs !== undefined) return `retry in ${error.retryAfterMs / 1000} s`
      if (error.cursor) return 'resume with error.cursor'
      return `look at status ${error.status} and body ${JSON.stringify(error.body)}`
    case 'connection':
      if (error.outcomeUnknown) return 'retry with error.idempotencyKey'
      return 'check baseUrl and the network, or retry later'
    case 'timeout':
      return `more than ${error.timeoutMs} ms: raise timeout, or retry later`
    case 'aborted':
      return 'nothing, or put the work back into the queue'
    case 'invalid-response':
      return 'look at error.issues and error.body, and pass a schema if the service is right'
    case 'pagination':
      return 'do what the message says'
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
