import type { Page, Transaction } from 'virtual-accounts'
import { account } from '../support.ts'
import { stubbed } from './stub.ts'
/** A transaction, as JSON text. */
export const transaction = (rest = '') =>
  `{"id":"t1","amount":10.12,"currency":"EUR","description":"Rent"${rest}}`
/** A page, as JSON text. */
export const envelope = (items: string, rest = '"page":1,"totalItems":1,"limit":20') =>
  `{"data":[${items}],${rest}}`

/** A list request, a write and a GET that all get the same body. */
export function given(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const respond = () => new Response(body, { headers: { 'content-type': 'application/json', ...headers } })
  const { client, requests } = stubbed([respond])
  return {
    requests,
    list: async () => (await client.transactions.list()) as Page<Transaction & { x?: unknown }>,
    write: () => client.virtualAccounts.deactivate(account),
    get: () => client.request('GET', '/anything'),
  }
}
