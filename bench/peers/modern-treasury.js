import { idOf, indexAfter, key, limit } from '../services.js'

export const packages = ['modern-treasury']
export const entry = "export { default } from 'modern-treasury'"
/** What a bundler must build for: it needs Node's own modules. */
export const platform = 'node'

export const service = {
  path: '/api/transactions',
  start: query => (query.has('after_cursor') ? indexAfter(query.get('after_cursor')) : 0),
  page: ({ data }) => data,
  headers: ({ end, more }) => ({
    'x-per-page': String(limit),
    ...(more ? { 'x-after-cursor': idOf(end - 1) } : {}),
  }),
}

export async function connect(origin) {
  const { default: ModernTreasury } = await import('modern-treasury')
  const client = new ModernTreasury({ baseURL: origin, apiKey: key, organizationID: 'organization' })
  return {
    async walk(visit) {
      for await (const item of client.transactions.list({ per_page: limit })) visit(item)
    },
    get: () => client.transactions.retrieve(idOf(1)),
    post: () => client.counterparties.create({ name: 'EUR 12.50' }),
  }
}
