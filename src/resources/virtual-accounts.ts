import type { Transport } from '../http/call.js'
import { knownWriteOptions, type Result, request, type WriteOptions } from '../http/request.js'
import { wrongArgument } from '../internal/describe.js'
import { encodePathSegment } from '../internal/url.js'
import { type KnownOptions, readOptions } from '../internal/validate.js'
import { isThenable, type Schema, type SchemaOutput } from '../schema.js'

/** Identifies a virtual account and the customer that owns it. Options, such as `idempotencyKey`, are the second argument. */
export interface VirtualAccountRef {
  /** Identifies the customer. */
  customerId: string
  /** Identifies the virtual account. */
  virtualAccountId: string
}

/** The methods of `client.virtualAccounts`. For other endpoints, see {@link Client.list} and {@link Client.request}. */
export interface VirtualAccounts {
  // First, as TypeScript then suggests it, and not the opposite, for `activate`.
  /** Reactivates a virtual account, in the same way as {@link VirtualAccounts.deactivate}. */
  reactivate: VirtualAccounts['deactivate']

  /**
   * Deactivates a virtual account. A failed attempt is retried with the same idempotency key, if that may help.
   *
   * The response body is not specified: `data` is `unknown` unless `schema` types it.
   *
   * @throws ApiError; its `outcomeUnknown` says whether the write may have been applied. A wrong argument rejects with a TypeError.
   * @example
   * ```ts
   * await client.virtualAccounts.deactivate({ customerId, virtualAccountId })
   * ```
   */
  deactivate<S extends Schema | undefined = undefined>(
    account: VirtualAccountRef,
    options?: WriteOptions<S>,
  ): Promise<Result<SchemaOutput<S, unknown>, string>>
}

const known = /* @__PURE__ */ knownWriteOptions(['customerId', 'virtualAccountId'])

export function createVirtualAccounts(transport: Transport): VirtualAccounts {
  const createMethod = (operation: 'deactivate' | 'reactivate') => {
    return async <S extends Schema | undefined>(account: VirtualAccountRef, options?: WriteOptions<S>) => {
      const { path, route, checked } = readArguments(operation, known, account, options)
      const spec = { method: 'POST', path: `${path}/${operation}`, route: `${route}/${operation}` } as const
      return request<S>(transport, spec, checked)
    }
  }
  return { deactivate: createMethod('deactivate'), reactivate: createMethod('reactivate') }
}

/** Checks the arguments of a method of an account: the account's path, and the options. */
function readArguments<S>(
  operation: string,
  known: KnownOptions,
  account: VirtualAccountRef,
  options: WriteOptions<S> | undefined,
) {
  assertAccount(operation, account)
  const checked = readOptions('options', options, known)
  if (checked.idempotencyKey === undefined) assertNoKey(account)
  const customer = encodeId(operation, account, 'customerId')
  const virtualAccount = encodeId(operation, account, 'virtualAccountId')
  const path = `/customers/${customer}/virtual_accounts/${virtualAccount}`
  return { path, route: '/customers/{customerId}/virtual_accounts/{virtualAccountId}', checked }
}

function assertAccount(operation: string, account: VirtualAccountRef): void {
  if (typeof account === 'object' && account !== null && !Array.isArray(account) && !isThenable(account))
    return
  throw wrongArgument(operation, '{ customerId, virtualAccountId }', account)
}

/** An account may come with other properties, but a key that is ignored would make a repeated write a new one. */
function assertNoKey(account: VirtualAccountRef): void {
  const { idempotencyKey } = account as { idempotencyKey?: unknown }
  if (idempotencyKey === undefined) return
  throw new TypeError('account.idempotencyKey: pass it in the second argument')
}

function encodeId(operation: string, account: VirtualAccountRef, name: keyof VirtualAccountRef): string {
  const id: unknown = account[name]
  if (id !== undefined) return encodePathSegment(name, id)
  const snakeCase = name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
  const hint = snakeCase in account ? ` (there is a "${snakeCase}": pass it as ${name})` : ''
  throw wrongArgument(`${operation}: ${name}`, 'a non-empty string', id, hint)
}
