// @ts-check
import { Client } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { Problem } from './terminal.js'

/** The service that BASE_URL and API_KEY name, or a fake one inside this program if neither is set. */
export function findService(transactionCount = 1000) {
  const { BASE_URL: baseUrl = '', API_KEY: apiKey = '' } = process.env
  if (baseUrl || apiKey) return { name: baseUrl, baseUrl, apiKey, fetch: globalThis.fetch }
  const fake = new FakeService({ transactions: sampleTransactions(transactionCount), latency: 20 })
  return { name: 'a fake service', baseUrl: fake.baseUrl, apiKey: fake.apiKey, fetch: fake.fetch }
}

/**
 * A client for the programs of this folder.
 *
 * @param {{ baseUrl: string, apiKey: string, fetch: typeof fetch }} service
 * @param {import('virtual-accounts').ClientOptions['onEvent']} [onEvent]
 */
export function connect({ baseUrl, apiKey, fetch }, onEvent) {
  try {
    return new Client({ baseUrl, apiKey, fetch, onEvent })
  } catch (error) {
    // The message names the wrong option and what was expected. It never shows a key.
    const { message } = /** @type {Error} */ (error)
    throw new Problem(message.replace(/^baseUrl/, 'BASE_URL').replace(/^apiKey/, 'API_KEY'))
  }
}
