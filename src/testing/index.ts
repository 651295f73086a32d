/**
 * An in-memory fake of the service, for tests, demos and development.
 *
 * {@link FakeService} responds as `docs/service.md` describes, and fails on demand in the ways real services do.
 * {@link sampleTransactions} generates transactions to list. Both use only web standards, so they run wherever the client runs,
 * including browsers.
 *
 * @example
 * ```ts
 * import { Client } from 'virtual-accounts'
 * import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
 *
 * const service = new FakeService({ transactions: sampleTransactions(250) })
 * const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey, fetch: service.fetch })
 *
 * service.fail({ with: new Response(null, { status: 503 }) })
 * const page = await client.transactions.list({ limit: 100 })   // retried after the 503
 * ```
 *
 * @module virtual-accounts/testing
 */

export { FakeService, type FakeServiceOptions } from './fake-service.js'
export type { Fault } from './faults.js'
export type { RateLimit } from './rate-limit.js'
export type { ReceivedRequest } from './received.js'
export { sampleTransactions } from './sample-transactions.js'
