// Handwritten loops without validation or retries. All ratios refer to them.
import { key, pageNumbers, walkInParallel, walkPageNumbers } from '../services.js'

export const packages = []
export const entry = ''

export const service = pageNumbers

const headers = { 'Api-Key': key }

export function connect({ origin, limit, concurrency }) {
  const json = async (path, init) => (await fetch(`${origin}${path}`, { headers, ...init })).json()
  const getPage = query => json(`/transactions?${query}`)
  const body = JSON.stringify({ amount: 12.5, currency: 'EUR' })
  const writes = { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' } }
  return {
    walk: visit => (concurrency ? walkInParallel : walkPageNumbers)(getPage, limit, visit, concurrency),
    get: () => json('/transactions/t1'),
    post: () => json('/transactions', { ...writes, body }),
  }
}
