import type { Transport } from '../http/call.js'
import { type Result, request, toPath, type WriteOptions, writeOptions } from '../http/request.js'
import { wrongArgument } from '../internal/describe.js'
import { assertNoMore, readOptions } from '../internal/validate.js'
import { isThenable } from '../schema.js'

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
  /**
   * Reactivates a virtual account. A failed attempt is retried with the same idempotency key, if that may help.
   *
   * The response body is not specified: `data` is `unknown` unless `schema` types it.
   *
   * @throws ApiError; its `outcomeUnknown` says whether the write may have been applied. A wrong argument rejects with a TypeError.
   * @example
   * ```ts
   * await client.virtualAccounts.reactivate({ customerId, virtualAccountId })
   * ```
   */
  reactivate<T = unknown>(account: VirtualAccountRef, options?: WriteOptions<T>): Promise<Result<T, string>>

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
  deactivate<T = unknown>(account: VirtualAccountRef, options?: WriteOptions<T>): Promise<Result<T, string>>
}

const accountPath = '/customers/{customerId}/virtual_accounts/{virtualAccountId}'

export function createVirtualAccounts(transport: Transport): VirtualAccounts {
  return {
    async reactivate(account, options, ...surplus: unknown[]) {
      const checked = readWrite('reactivate', account, options, surplus)
      const path = toPath(`${accountPath}/reactivate`, account)
      return request(transport, { method: 'POST', path }, checked)
    },
    async deactivate(account, options, ...surplus: unknown[]) {
      const checked = readWrite('deactivate', account, options, surplus)
      const path = toPath(`${accountPath}/deactivate`, account)
      return request(transport, { method: 'POST', path }, checked)
    },
  }
}

/** Checks the arguments of a write to an account, and returns its options. */
function readWrite<T>(
  name: string,
  account: VirtualAccountRef,
  options: WriteOptions<T> | undefined,
  surplus: readonly unknown[],
): WriteOptions<T> {
  assertNoMore(surplus, `${name}({ customerId, virtualAccountId }, { idempotencyKey, … })`)
  if (typeof account !== 'object' || account === null || Array.isArray(account) || isThenable(account))
    throw wrongArgument(name, '{ customerId, virtualAccountId }', account)
  // An account may have other properties, but a key that is ignored would make a repeated write a new one.
  if ((account as { idempotencyKey?: unknown }).idempotencyKey !== undefined)
    throw new TypeError('account.idempotencyKey: pass it in the second argument')
  return readOptions('options', options, writeOptions) as WriteOptions<T>
}
