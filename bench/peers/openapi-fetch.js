import { key, pageNumbers, walkPageNumbers } from '../services.js'

export const packages = ['openapi-fetch']
export const entry = "export { default } from 'openapi-fetch'"

export const service = pageNumbers

export async function connect(origin) {
  const { default: createClient } = await import('openapi-fetch')
  const client = createClient({ baseUrl: origin, headers: { 'Api-Key': key } })
  const ask = async query => (await client.GET('/transactions', { params: { query } })).data
  return {
    walk: visit => walkPageNumbers(ask, visit),
    get: () => client.GET('/transactions/{id}', { params: { path: { id: 't1' } } }),
    post: () => client.POST('/transactions', { body: { amount: 12.5, currency: 'EUR' } }),
  }
}
