/**
 * The service of the interface, in memory: for tests, demos and development, without a network or an account.
 *
 * {@link FakeService} responds as `docs/interface.md` describes, and fails on request in the ways real services do;
 * {@link sampleTransactions} generates something to list. It uses only web standards, so it runs wherever the client does,
 * browsers included.
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
export type { ProbeFinding } from './probe/finding.js'
export type { ProbeOptions, ProbeStep } from './probe/options.js'
export { probe } from './probe/probe.js'
export type { ProbeReport } from './probe/report.js'
export type { SuggestedOptions } from './probe/suggestions.js'
export type { ReceivedRequest } from './received.js'
export { sampleTransactions } from './sample-transactions.js'
