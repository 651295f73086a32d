import type { Transport } from '../http/call.js'
import { number, object, string } from '../internal/zod.js'
import { createList, type List, type ListOptions, type ListParams } from '../pagination/list.js'
import type { ListEndpoint } from '../pagination/page.js'
import type { Schema, SchemaOutput } from '../schema.js'

/**
 * A movement of money. Fields beyond these four are passed through at run time; pass a `schema` to type them.
 *
 * In those, a number that JavaScript would round arrives as a string of its digits. An `amount` like that fails with an
 * `InvalidResponseError`, unless your `schema` accepts a string.
 * @see docs/interface.md#transaction
 */
export interface Transaction {
  /** Identifies the transaction. */
  id: string
  /** Amount of the transaction. Its unit (major or minor) is not specified. */
  amount: number
  /** Currency code. Its format is not specified. */
  currency: string
  /** Free text. */
  description: string
}

const transaction = /* @__PURE__ */ object({
  id: /* @__PURE__ */ string(),
  amount: /* @__PURE__ */ number(),
  currency: /* @__PURE__ */ string(),
  description: /* @__PURE__ */ string(),
})

/** The methods of `client.transactions`. For other endpoints, see {@link Client.list} and {@link Client.request}. */
export interface Transactions {
  /**
   * Lists transactions. Iterate the list for every transaction, or await it for one page.
   *
   * @throws TypeError immediately, for invalid params or options.
   * @example
   * ```ts
   * for await (const transaction of client.transactions.list()) console.log(transaction.id)
   * const page = await client.transactions.list({ page: 2, limit: 50 })
   * ```
   */
  list<S extends Schema | undefined = undefined>(
    params?: ListParams,
    options?: ListOptions<S, SchemaOutput<S, Transaction>>,
  ): List<SchemaOutput<S, Transaction>>
}

const endpoint: ListEndpoint = {
  path: '/transactions',
  validator: { schema: transaction },
  itemKey: item => (item as Partial<Transaction> | null)?.id,
}

export function createTransactions(transport: Transport): Transactions {
  return { list: (params, options) => createList(transport, endpoint, params, options) }
}
