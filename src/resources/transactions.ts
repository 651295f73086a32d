import * as z from 'zod/mini'
import type { Transport } from '../http/transport.js'
import { typeName } from '../internal/describe.js'
import { isExact } from '../internal/lossless-json.js'
import { createList, type List, type ListOptions, type ListParams } from '../pagination/list.js'
import type { ListEndpoint } from '../pagination/page.js'
import { builtIn, type Schema, type SchemaOutput } from '../schema.js'

/**
 * A movement of money. Fields beyond these four are passed through at run time; pass a `schema` to type them.
 *
 * A number that a double cannot hold exactly arrives as the string of its digits.
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

function string() {
  return z.string({ error: ({ input }) => `expected a string, got ${typeName(input)}` })
}

function number() {
  return z.number({
    error: ({ input }) => `expected a number, got ${isDigits(input) ? tooManyDigits : typeName(input)}`,
  })
}

const tooManyDigits = 'one with more digits than a double holds (kept as a string)'

function isDigits(input: unknown): boolean {
  return (
    typeof input === 'string' &&
    /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(input) &&
    !isExact(input, Number(input))
  )
}

const transaction = /* @__PURE__ */ z.looseObject(
  {
    id: /* @__PURE__ */ string(),
    amount: /* @__PURE__ */ number(),
    currency: /* @__PURE__ */ string(),
    description: /* @__PURE__ */ string(),
  },
  { error: ({ input }) => `expected an object, got ${typeName(input)}` },
)

/** Transactions: see {@link Client.transactions}. */
export interface Transactions {
  /**
   * Lists transactions. Iterate the list for every transaction, or await it for one page.
   *
   * @throws TypeError immediately, for wrong params or options.
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
  validator: /* @__PURE__ */ builtIn(transaction),
  itemKey: item => (item as Partial<Transaction> | null)?.id,
}

export function createTransactions(transport: Transport): Transactions {
  return { list: (params, options) => createList(transport, endpoint, params, options) }
}
