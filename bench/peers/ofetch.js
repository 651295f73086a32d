import { key, pageNumbers, walkPageNumbers } from '../services.js'

export const packages = ['ofetch']
export const entry = "export { ofetch } from 'ofetch'"

export const service = pageNumbers

export async function connect(origin) {
  const { ofetch } = await import('ofetch')
  const client = ofetch.create({ baseURL: origin, headers: { 'Api-Key': key } })
  return {
    walk: visit => walkPageNumbers(query => client('/transactions', { query }), visit),
    get: () => client('/transactions/t1'),
    post: () => client('/transactions', { method: 'POST', body: { amount: 12.5, currency: 'EUR' } }),
  }
}
