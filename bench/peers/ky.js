import { key, pageNumbers } from '../services.js'

export const packages = ['ky']
export const entry = "export { default } from 'ky'"

export const service = pageNumbers

export async function connect({ origin }) {
  const { default: ky } = await import('ky')
  const client = ky.create({ headers: { 'Api-Key': key } })
  return {
    get: () => client(`${origin}/transactions/t1`).json(),
    post: () => client.post(`${origin}/transactions`, { json: { amount: 12.5, currency: 'EUR' } }).json(),
  }
}
