// @ts-check
// The five ways in which a call fails, and what to do about each. Against a fake service that is told to fail:
//
//   npm run example examples/handle-errors.js

import { Client, isApiError } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'

const service = new FakeService({ transactions: sampleTransactions(250) })
const { baseUrl, apiKey, fetch } = service
// No retries, so that each failure shows at once. Left out, a call is tried three times.
const client = new Client({ baseUrl, apiKey, fetch, maxRetries: 0 })
const account = { customerId: 'c1', virtualAccountId: 'v1' }

heading('http: the service says no')
service.fail({ with: Response.json({ error: { message: 'no such account' } }, { status: 404 }) })
await attempt(() => client.virtualAccounts.deactivate(account))

heading('http: the service asks to wait')
service.fail({ with: new Response(null, { status: 429, headers: { 'Retry-After': '90' } }) })
await attempt(() => client.transactions.list())

heading('connection: nobody answers')
service.fail({ with: 'network-error' })
await attempt(() => client.transactions.list())

heading('timeout: the answer takes too long')
service.fail({ with: 'hang' })
await attempt(() => client.transactions.list({}, { timeout: 100 }))

heading('response: the answer is not what the interface says')
const odd = { data: [{ id: 't1', amount: '12.50', currency: 'EUR', description: '' }] }
service.fail({ with: Response.json({ ...odd, page: 1, totalItems: 1, limit: 20 }) })
await attempt(() => client.transactions.list())

heading('pagination: the list changes while it is read')
const seen = new Set()
const stoppedAt = await attempt(async () => {
  for await (const { id } of client.transactions.list({ limit: 50 }, { concurrency: 1 })) {
    seen.add(id)
    if (seen.size === 100) service.transactions.splice(0, 3)
  }
})
for await (const { id } of client.transactions.list({ page: stoppedAt?.page ?? 1, limit: 50 })) seen.add(id)
console.log(`  resumed: ${seen.size} of 250 read, none missed`)

heading('A write whose answer is lost: repeat it, with the same key')
service.fail({ method: 'POST', with: 'truncate' })
const lost = await attempt(() => client.virtualAccounts.deactivate(account))
if (lost?.outcomeUnknown) {
  const { idempotencyKey } = lost
  const { status } = await client.virtualAccounts.deactivate(account, { idempotencyKey })
  console.log(
    `  repeated with the same key: ${status}, and the account is active: ${service.isActive(account)}`,
  )
}

heading('No ApiError: an abort, and a mistake of our own')
service.fail({ with: 'hang' })
await attempt(() => client.transactions.list({}, { signal: AbortSignal.timeout(50) }))
await attempt(() => client.transactions.list({ limit: 0 }))

/**
 * Gives the failure of a call, after it said what to do; undefined when there was none.
 *
 * @param {() => PromiseLike<unknown>} call
 */
async function attempt(call) {
  try {
    await call()
    return undefined
  } catch (error) {
    if (!isApiError(error)) {
      console.log(`  ${error instanceof Error ? `${error.name}: ${error.message}` : error}`)
      return undefined
    }
    // One line for the log: which call, what was found, what to do. It never holds the key.
    console.log(`  ${error.message}`)
    console.log(`  → ${advice(error)}`)
    return error
  }
}

/** @param {import('virtual-accounts').AnyApiError} error */
function advice(error) {
  switch (error.kind) {
    case 'http':
      if (error.retryAfterMs !== undefined) return `come back in ${error.retryAfterMs / 1000} s`
      return `look at status ${error.status} and body ${JSON.stringify(error.body)}`
    case 'connection':
      if (error.outcomeUnknown) return 'repeat it with the key of the error'
      return 'check baseUrl and the network, or try later'
    case 'timeout':
      return `more than ${error.timeoutMs} ms: raise timeout, or try later`
    case 'response':
      return `look at ${error.issues.map(issue => issue.path.join('.'))}: pass a schema if that is right`
    case 'pagination':
      return `resume at page ${error.page}`
  }
}

/** @param {string} text */
function heading(text) {
  console.log(`\n${text}`)
}
