import { idOf, indexAfter, key } from '../services.js'

export const packages = ['stripe']
export const entry = "export { default } from 'stripe'"

export const service = {
  path: '/v1/charges',
  start: query => (query.has('starting_after') ? indexAfter(query.get('starting_after')) : 0),
  page: ({ data, more }) => `{"object":"list","url":"/v1/charges","has_more":${more},"data":${data}}`,
}

export async function connect({ origin, limit }) {
  const { default: Stripe } = await import('stripe')
  const { hostname, port } = new URL(origin)
  const client = new Stripe(key, { protocol: 'http', host: hostname, port })
  return {
    async walk(visit) {
      for await (const item of client.charges.list({ limit })) visit(item)
    },
    get: () => client.charges.retrieve(idOf(1)),
    post: () => client.charges.create({ amount: 1250, currency: 'EUR' }),
  }
}
