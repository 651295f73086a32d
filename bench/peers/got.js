import { key, limit, links } from '../services.js'

export const packages = ['got']
export const entry = "export { default } from 'got'"
/** What a bundler must build for: it needs Node's own modules. */
export const platform = 'node'

export const service = links

export async function connect(origin) {
  const { default: got } = await import('got')
  const client = got.extend({ headers: { 'api-key': key } })
  return {
    async walk(visit) {
      const items = client.paginate(`${origin}/transactions?page=1&per_page=${limit}`)
      for await (const item of items) visit(item)
    },
    get: () => client(`${origin}/transactions/t1`).json(),
    post: () => client.post(`${origin}/transactions`, { json: { amount: 12.5, currency: 'EUR' } }).json(),
  }
}
