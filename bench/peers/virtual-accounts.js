import { key, limit, pageNumbers } from '../services.js'

export const packages = ['virtual-accounts']
export const entry = "export { Client } from '../dist/index.js'"
/** How many pages at once: each is an entry of its own. */
export const concurrencies = [1, 2, 4, 8, 16]

export const service = pageNumbers

export async function connect(origin, { concurrency, size = limit, verified, ...options } = {}) {
  const { Client } = await import('../../dist/index.js')
  const client = new Client({ baseUrl: origin, apiKey: key, concurrency, fetch: options.fetch })
  return {
    async walk(visit) {
      for await (const item of client.transactions.list({ limit: size }, { verified })) visit(item)
    },
    get: () => client.request('GET', '/transactions/t1'),
    post: () => client.request('POST', '/transactions', { body: { amount: 12.5, currency: 'EUR' } }),
    page: () => client.transactions.list({ limit: size }),
  }
}
