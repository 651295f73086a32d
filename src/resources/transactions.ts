import * as z from 'zod/mini'
import { createList, type List, type ListKind, type ListOptions, type ListParams } from '../list.js'
import { type Output, ownShape, type Schema } from '../schema.js'
import type { Transport } from '../transport.js'

/**
 * A movement of money. Fields that the interface does not show are passed through as they come.
 * @see docs/interface.md#transaction
 */
export interface Transaction {
  /** Identifies the transaction. */
  id: string
  /** How much. The unit (major or minor) is not specified. */
  amount: number
  /** A currency code. Its format is not specified. */
  currency: string
  /** Free text. */
  description: string
  /** Not specified. A number that a double cannot hold arrives as the string of its digits. */
  [notShown: string]: unknown
}

const transaction = ownShape(
  z.looseObject(
    {
      id: z.string('expected a string'),
      amount: z.number('expected a number that a double can hold'),
      currency: z.string('expected a string'),
      description: z.string('expected a string'),
    },
    'expected an object',
  ),
)

/** `client.transactions` */
export interface Transactions {
  /**
   * All transactions: iterate them, or await one page.
   *
   * @throws TypeError at once, for wrong params or options.
   * @example
   * ```ts
   * for await (const transaction of client.transactions.list()) console.log(transaction.id)
   * const page = await client.transactions.list({ page: 2, limit: 50 })
   * ```
   */
  list<S extends Schema | undefined = undefined>(
    params?: ListParams,
    options?: ListOptions<S, Output<S, Transaction>>,
  ): List<Output<S, Transaction>>
}

const kind: ListKind = {
  path: '/transactions',
  shape: transaction,
  identify: raw => (raw as Partial<Transaction> | null)?.id,
}

export function transactions(transport: Transport): Transactions {
  return { list: (params, options) => createList(transport, kind, params, options) }
}
