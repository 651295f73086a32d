import { type Result, type WriteOptions, write } from '../http/request.js'
import type { Transport } from '../http/types.js'
import type { Schema } from '../schema.js'

/** Identifies a virtual account and the customer that owns it. */
export interface VirtualAccountRef {
  /** Identifies the customer. */
  customerId: string
  /** Identifies the virtual account. */
  virtualAccountId: string
}

/** Deactivates and reactivates virtual accounts. For other endpoints, see {@link Client.list} and {@link Client.request}. */
export interface VirtualAccounts {
  // Declared first, because TypeScript suggests the first similar name for `activate`. It must not be the opposite.
  /** Reactivates a virtual account. `data` is the output of your `schema`. */
  reactivate<T>(
    account: VirtualAccountRef,
    options: WriteOptions<T> & { schema: Schema<T> },
  ): Promise<Result<T, string>>
  /**
   * Reactivates a virtual account. A failed attempt is retried with the same idempotency key, unless a retry cannot succeed.
   *
   * The API documents no response body, so `data` is `unknown` unless `schema` types it.
   *
   * @param account Its ids: `{ customerId, virtualAccountId }`.
   * @returns `data`, `status`, `headers`, `attempts` and `idempotencyKey`.
   * @throws ApiError. Its `outcomeUnknown` says whether the write may have been applied. A wrong argument rejects with a TypeError.
   * @example
   * ```ts
   * await client.virtualAccounts.reactivate({ customerId, virtualAccountId })
   * ```
   */
  reactivate(account: VirtualAccountRef, options?: WriteOptions): Promise<Result<unknown, string>>

  /** Deactivates a virtual account. `data` is the output of your `schema`. */
  deactivate<T>(
    account: VirtualAccountRef,
    options: WriteOptions<T> & { schema: Schema<T> },
  ): Promise<Result<T, string>>
  /**
   * Deactivates a virtual account. A failed attempt is retried with the same idempotency key, unless a retry cannot succeed.
   *
   * The API documents no response body, so `data` is `unknown` unless `schema` types it.
   *
   * @param account Its ids: `{ customerId, virtualAccountId }`.
   * @returns `data`, `status`, `headers`, `attempts` and `idempotencyKey`.
   * @throws ApiError. Its `outcomeUnknown` says whether the write may have been applied. A wrong argument rejects with a TypeError.
   * @example
   * ```ts
   * await client.virtualAccounts.deactivate({ customerId, virtualAccountId })
   * ```
   */
  deactivate(account: VirtualAccountRef, options?: WriteOptions): Promise<Result<unknown, string>>
}

export function createVirtualAccounts(transport: Transport): VirtualAccounts {
  const createWrite = (name: string) => {
    const path = `/customers/{customerId}/virtual_accounts/{virtualAccountId}/${name}`
    return async <T>(account: VirtualAccountRef, options?: WriteOptions<T>, ...surplus: unknown[]) =>
      write(transport, 'POST', path, account, options, surplus)
  }
  return { reactivate: createWrite('reactivate'), deactivate: createWrite('deactivate') }
}
