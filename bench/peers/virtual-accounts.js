import { key, pageNumbers } from '../services.js'

export const packages = ['virtual-accounts']
export const entry = "export { Client } from '../dist/index.js'"

export const service = pageNumbers

export async function connect({ origin, limit, concurrency, verified }) {
  const { Client } = await import('../../dist/index.js')
  const client = new Client({ baseUrl: origin, apiKey: key, concurrency })
  return {
    async walk(visit) {
      for await (const item of client.transactions.list({ limit }, { verified })) visit(item)
    },
    get: () => client.request('GET', '/transactions/t1'),
    post: () => client.request('POST', '/transactions', { body: { amount: 12.5, currency: 'EUR' } }),
  }
}
