import * as z from 'zod/mini'
import type { Transport } from '../http/types.js'
import {
  createList,
  type List,
  type ListEndpoint,
  type ListOptions,
  type ListParams,
} from '../pagination/list.js'
import type { Schema } from '../schema.js'

/**
 * A movement of money. Other fields are passed through at run time. Pass a `schema` to type them.
 *
 * In additional fields, a number that JavaScript would round arrives as a string of its digits. An `amount` like that fails with an
 * `InvalidResponseError`, unless your `schema` accepts a string.
 * @see docs/service.md#transaction
 */
export interface Transaction {
  /** Identifies the transaction. */
  id: string
  /** Amount of the transaction. The API does not document its unit (major or minor). */
  amount: number
  /** Currency code. The API does not document its format. */
  currency: string
  /** Free text. */
  description: string
}

/** Lists transactions. For other endpoints, see {@link Client.list} and {@link Client.request}. */
export interface Transactions {
  /** Lists transactions, each as the output of your `schema`. */
  list<Item>(
    params: ListParams | undefined,
    options: ListOptions<Item> & { schema: Schema<Item> },
  ): List<Item>
  /**
   * Lists transactions. Iterate the list for every transaction, or await it for one page. Nothing is sent before that. With fake
   * timers, call `then` or `next` before you advance them.
   *
   * @throws TypeError immediately, for invalid params or options.
   * @example
   * ```ts
   * for await (const item of client.transactions.list()) console.log(item.id)
   * const page = await client.transactions.list({ page: 2, limit: 50 })
   * ```
   */
  list(params?: ListParams, options?: ListOptions<Transaction>): List<Transaction>
}

const transactions: ListEndpoint = {
  path: '/transactions',
  schema: z.looseObject({
    id: z.string(),
    amount: z.number(),
    currency: z.string(),
    description: z.string(),
  }),
  itemKey: item => (item as Partial<Transaction> | null)?.id,
}

export function createTransactions(transport: Transport): Transactions {
  return {
    list: <Item>(params?: ListParams, options?: ListOptions<Item>, ...surplus: unknown[]) =>
      createList(transport, transactions, params, options, surplus),
  }
}
