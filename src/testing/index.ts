/**
 * The service of the interface, in memory: for tests, demos and development, without a network or an account.
 *
 * {@link FakeService} answers requests as `docs/interface.md` describes and can be told to fail in the ways
 * real services do; {@link sampleTransactions} makes it something to list. Only web standards: it runs where
 * the client does, browsers included.
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
 * const page = await client.transactions.list({ limit: 100 })   // asked twice: the first answer is the 503
 * ```
 *
 * @module virtual-accounts/testing
 */
export { FakeService, type FakeServiceOptions } from './fake-service.js'
export type { Fault } from './faults.js'
export type { ReceivedRequest } from './received.js'
export { sampleTransactions } from './sample-transactions.js'
