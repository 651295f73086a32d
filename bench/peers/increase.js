import { idOf, indexAfter, key } from '../services.js'

// Version 0.x, because the registry's latest, 1.0.0, is another package.
export const packages = ['increase']
export const entry = "export { default } from 'increase'"

export const service = {
  path: '/transactions',
  start: query => (query.has('cursor') ? indexAfter(query.get('cursor')) : 0),
  page: ({ data, end, more }) => `{"data":${data},"next_cursor":${more ? `"${idOf(end - 1)}"` : null}}`,
}

export async function connect({ origin, limit }) {
  const { default: Increase } = await import('increase')
  const client = new Increase({ baseURL: origin, apiKey: key })
  return {
    async walk(visit) {
      for await (const item of client.transactions.list({ limit })) visit(item)
    },
    get: () => client.transactions.retrieve(idOf(1)),
    post: () => client.accounts.create({ name: 'EUR 12.50' }),
  }
}
