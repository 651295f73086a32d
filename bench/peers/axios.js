import { key, pageNumbers, walkPageNumbers } from '../services.js'

export const packages = ['axios']
export const entry = "export { default } from 'axios'"

export const service = pageNumbers

export async function connect(origin) {
  const { default: axios } = await import('axios')
  const client = axios.create({ baseURL: origin, headers: { 'Api-Key': key } })
  const ask = async params => (await client.get('/transactions', { params })).data
  return {
    walk: visit => walkPageNumbers(ask, visit),
    get: () => client.get('/transactions/t1'),
    post: () => client.post('/transactions', { amount: 12.5, currency: 'EUR' }),
  }
}
