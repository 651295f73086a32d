// @ts-check
import { Client } from 'virtual-accounts'
import { startFakeServer } from './fake-server.js'

/**
 * A client for these examples: of the service that BASE_URL and API_KEY name, or, when neither is set, of a fake one
 * on this machine, which ends with the program.
 *
 * @param {() => Parameters<typeof startFakeServer>[0]} [fake] gives what the fake service is like, when there is to be one
 * @returns {Promise<{ client: Client, close: () => Promise<void> }>}
 */
export async function connect(fake) {
  const { BASE_URL: baseUrl, API_KEY: apiKey } = process.env
  if (baseUrl && apiKey) return { client: new Client({ baseUrl, apiKey }), close: async () => {} }
  if (baseUrl || apiKey) throw new Error('Set both BASE_URL and API_KEY, or none for a fake service.')
  const { service, url, close } = await startFakeServer({ port: 0, latency: 20, ...fake?.() })
  return { client: new Client({ baseUrl: url, apiKey: service.apiKey }), close }
}
