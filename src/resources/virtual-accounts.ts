import { segment } from '../path.js'
import { type Result, request, type WriteOptions } from '../request.js'
import type { Output, Schema } from '../schema.js'
import type { Transport } from '../transport.js'

/** Which virtual account, and whose. */
export interface VirtualAccountRef {
  /** Identifies the customer that owns the account. */
  customerId: string
  /** Identifies the account. */
  virtualAccountId: string
}

/** `client.virtualAccounts` */
export interface VirtualAccounts {
  /**
   * Deactivates a virtual account. Sent again with the same idempotency key when an attempt fails on the way.
   *
   * What the service answers is not specified: `data` is `unknown` unless `schema` narrows it.
   *
   * @throws ApiError, whose `outcomeUnknown` says whether it may have been done all the same. Misuse rejects with a
   * TypeError.
   * @example
   * ```ts
   * await client.virtualAccounts.deactivate({ customerId, virtualAccountId })
   * ```
   */
  deactivate<S extends Schema | undefined = undefined>(
    account: VirtualAccountRef,
    options?: WriteOptions<S>,
  ): Promise<Result<Output<S, unknown>>>

  /**
   * Reactivates a virtual account. Sent again with the same idempotency key when an attempt fails on the way.
   *
   * What the service answers is not specified: `data` is `unknown` unless `schema` narrows it.
   *
   * @throws ApiError, whose `outcomeUnknown` says whether it may have been done all the same. Misuse rejects with a
   * TypeError.
   * @example
   * ```ts
   * await client.virtualAccounts.reactivate({ customerId, virtualAccountId })
   * ```
   */
  reactivate<S extends Schema | undefined = undefined>(
    account: VirtualAccountRef,
    options?: WriteOptions<S>,
  ): Promise<Result<Output<S, unknown>>>
}

export function virtualAccounts(transport: Transport): VirtualAccounts {
  return {
    deactivate: async (account, options) =>
      request(transport, 'POST', pathTo('deactivate', account), options),
    reactivate: async (account, options) =>
      request(transport, 'POST', pathTo('reactivate', account), options),
  }
}

function pathTo(change: string, account: VirtualAccountRef): string {
  if (typeof account !== 'object' || account === null) {
    throw new TypeError(`${change}: expected { customerId, virtualAccountId }`)
  }
  const customer = segment('customerId', account.customerId)
  const virtualAccount = segment('virtualAccountId', account.virtualAccountId)
  return `/customers/${customer}/virtual_accounts/${virtualAccount}/${change}`
}
