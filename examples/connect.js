// @ts-check
import { Client } from 'virtual-accounts'
import { startFakeServer } from './fake-server.js'
import { Problem } from './terminal.js'

/**
 * The service that BASE_URL and API_KEY name, or undefined when neither is set.
 *
 * @returns {{ baseUrl: string, apiKey: string } | undefined}
 */
export function realService() {
  const { BASE_URL: baseUrl, API_KEY: apiKey } = process.env
  if (!baseUrl && !apiKey) return undefined
  if (!baseUrl || !apiKey) {
    const [set, missing] = baseUrl ? ['BASE_URL', 'API_KEY'] : ['API_KEY', 'BASE_URL']
    throw new Problem(`${set} is set, but ${missing} is not: set both, or none for a fake service.`)
  }
  // Not shown: someone may have put the key there.
  if (!URL.canParse(baseUrl)) {
    throw new Problem('BASE_URL: expected an absolute URL, such as https://api.example.com.')
  }
  try {
    new Client({ baseUrl, apiKey })
  } catch (error) {
    // It says which option is wrong and what was expected, and never shows a key.
    const { message } = /** @type {Error} */ (error)
    throw new Problem(message.replace(/^baseUrl/, 'BASE_URL').replace(/^apiKey/, 'API_KEY'))
  }
  return { baseUrl, apiKey }
}

/**
 * A client for the programs of this folder: of the service that BASE_URL and API_KEY name, or of a fake one on this
 * machine, which ends with the program.
 *
 * @param {() => Parameters<typeof startFakeServer>[0]} [fake] options of the fake service, when one is needed
 * @returns {Promise<{ client: Client, where: string, close: () => Promise<void> }>}
 */
export async function connect(fake) {
  const real = realService()
  if (real) return { client: new Client(real), where: real.baseUrl, close: async () => {} }
  const { service, url, close } = await startFakeServer({ port: 0, latency: 20, ...fake?.() })
  const client = new Client({ baseUrl: url, apiKey: service.apiKey })
  return { client, where: `a fake service on ${url}`, close }
}
