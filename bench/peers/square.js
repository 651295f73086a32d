import { idOf, indexAfter, key, limit } from '../services.js'

export const packages = ['square']
export const entry = "export { SquareClient } from 'square'"

export const service = {
  path: '/v2/payments',
  start: query => (query.has('cursor') ? indexAfter(query.get('cursor')) : 0),
  page: ({ data, end, more }) => `{"payments":${data}${more ? `,"cursor":"${idOf(end - 1)}"` : ''}}`,
}

export async function connect(origin) {
  const { SquareClient } = await import('square')
  const client = new SquareClient({ baseUrl: origin, token: key })
  return {
    async walk(visit) {
      for await (const item of await client.payments.list({ limit })) visit(item)
    },
    get: () => client.payments.get({ paymentId: idOf(1) }),
    post: () => client.payments.create({ sourceId: 'EUR 12.50', idempotencyKey: crypto.randomUUID() }),
  }
}
