import { idOf, indexAfter, key, limit } from '../services.js'

export const packages = ['lithic']
export const entry = "export { default } from 'lithic'"
/** What a bundler must build for: it needs Node's own modules. */
export const platform = 'node'

export const service = {
  path: '/v1/transactions',
  item: index => ({ token: idOf(index), amount: (index % 100_000) / 100, currency: 'EUR' }),
  start: query => (query.has('starting_after') ? indexAfter(query.get('starting_after')) : 0),
  page: ({ data, more }) => `{"data":${data},"has_more":${more}}`,
}

export async function connect(origin) {
  const { default: Lithic } = await import('lithic')
  const client = new Lithic({ baseURL: origin, apiKey: key })
  return {
    async walk(visit) {
      for await (const item of client.transactions.list({ page_size: limit })) visit(item)
    },
    get: () => client.transactions.retrieve(idOf(1)),
    post: () => client.cards.create({ type: 'VIRTUAL', memo: 'EUR 12.50' }),
  }
}
