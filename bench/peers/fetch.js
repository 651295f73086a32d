// What one writes by hand: nothing checked, nothing tried again. All ratios are to this.
import { key, pageNumbers, walkPageNumbers } from '../services.js'

export const packages = []
export const entry = ''

export const service = pageNumbers

const headers = { 'Api-Key': key }

export function connect(origin, options = {}) {
  const send = options.fetch ?? fetch
  const json = async (path, init) => (await send(`${origin}${path}`, { headers, ...init })).json()
  const body = JSON.stringify({ amount: 12.5, currency: 'EUR' })
  const writes = { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' } }
  return {
    walk: visit =>
      walkPageNumbers(({ page, limit }) => json(`/transactions?page=${page}&limit=${limit}`), visit),
    get: () => json('/transactions/t1'),
    post: () => json('/transactions', { ...writes, body }),
    page: () => json('/transactions?page=1'),
  }
}
