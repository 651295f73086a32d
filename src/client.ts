import { type CustomRequestOptions, type HttpMethod, type Result, request } from './http/request.js'
import { Shared, type Transport } from './http/types.js'
import { assertNoMore } from './internal/arguments.js'
import { checkedAt } from './internal/error-stack.js'
import { defineHidden } from './internal/object.js'
import { Redactor } from './internal/redact.js'
import { type ClientOptions, resolveClientOptions } from './options.js'
import { createList, type List, type ListOptions, type ListParams } from './pagination/list.js'
import { createTransactions, type Transactions } from './resources/transactions.js'
import { createVirtualAccounts, type VirtualAccounts } from './resources/virtual-accounts.js'
import type { Schema } from './schema.js'

/**
 * Client for the service, with its URL and API key. Create one and share it. There is nothing to close.
 *
 * To log or measure requests and retries, pass `onEvent`. In tests, pass the `fetch` of a `FakeService` from
 * `virtual-accounts/testing`, rather than a hand-written mock.
 *
 * @example
 * ```ts
 * const client = new Client({
 *   baseUrl: 'https://api.example.com',
 *   apiKey: process.env.API_KEY,
 * })
 * ```
 */
export class Client {
  /** Deactivates and reactivates virtual accounts. */
  readonly virtualAccounts: VirtualAccounts
  /** Lists transactions. */
  readonly transactions: Transactions

  readonly #transport: Transport

  /**
   * Creates a client. Nothing is sent.
   *
   * @throws TypeError for an unknown or wrong option.
   */
  constructor(options: ClientOptions)
  constructor(options: ClientOptions, ...surplus: unknown[]) {
    const config = checkedAt(checkedAt, () => {
      assertNoMore(surplus, 'new Client({ … })')
      return resolveClientOptions(options)
    })
    this.#transport = { ...config, shared: new Shared(), redactor: new Redactor() }
    this.transactions = createTransactions(this.#transport)
    this.virtualAccounts = createVirtualAccounts(this.#transport)
    // Bound, so that they work when destructured, and behind a proxy such as Vue's `ref`.
    for (const name of ['list', 'request', 'withOptions'] as const)
      defineHidden(this, name, (this[name] as (...args: never[]) => unknown).bind(this))
  }

  /**
   * Lists the items of an endpoint that has no method of its own. `schema` is required. It describes one item. Also pass `itemKey`.
   * Without it, a loop cannot prove that it is complete.
   *
   * @param path Path after `baseUrl`. It must start with one "/". Encode ids in it with `encodeURIComponent`.
   * @throws TypeError immediately, for an invalid path, params or options.
   * @example
   * ```ts
   * const schema = z.looseObject({ id: z.string() })
   * const refunds = client.list('/refunds', {}, { schema, itemKey: ({ id }) => id })
   * ```
   */
  list<Item>(
    path: string,
    params: ListParams | undefined,
    options: ListOptions<Item> & { schema: Schema<Item> },
  ): List<Item>
  list<Item>(
    path: string,
    params: ListParams,
    options: ListOptions<Item>,
    ...surplus: unknown[]
  ): List<Item> {
    return createList(this.#transport, { path }, params, options, surplus)
  }

  /** Calls an endpoint that has no method of its own. `data` is the output of your `schema`. */
  async request<M extends HttpMethod, T>(
    method: M,
    path: string,
    options: CustomRequestOptions<T> & { schema: Schema<T> },
  ): Promise<Result<T, M extends 'GET' ? undefined : string>>
  /**
   * Calls an endpoint that has no method of its own, with the same API key, retries, timeouts, errors and events. All
   * methods except GET are writes.
   *
   * @param method HTTP method.
   * @param path Path after `baseUrl`. It must start with one "/". Encode ids in it with `encodeURIComponent`.
   * @throws ApiError, or a TypeError for a wrong argument.
   * @example
   * ```ts
   * const body = { name: 'Ada' }
   * const { data } = await client.request('POST', '/customers', { body })
   * ```
   */
  async request<M extends HttpMethod>(
    method: M,
    path: string,
    options?: CustomRequestOptions,
  ): Promise<Result<unknown, M extends 'GET' ? undefined : string>>
  async request<T>(
    method: HttpMethod,
    path: string,
    options?: CustomRequestOptions<T>,
    ...surplus: unknown[]
  ): Promise<Result<T>> {
    return request(this.#transport, method, path, options, surplus)
  }

  /**
   * Creates a client with some options replaced. Each given option replaces the old one entirely, even `headers`. `undefined`
   * keeps the old one. Exception: an `apiKey` or `baseUrl` of `undefined` throws. Both clients share the retry budget. With
   * the same key and URL, they also share rate limits. A subclass must accept all options in its constructor.
   *
   * @throws TypeError for an unknown or wrong option.
   */
  withOptions(options: Partial<ClientOptions>): Client
  withOptions(options: Partial<ClientOptions>, ...surplus: unknown[]): Client {
    const { redactor: _, shared, ...config } = this.#transport
    return checkedAt(checkedAt, () => {
      assertNoMore(surplus, 'withOptions({ … })')
      const replaced = resolveClientOptions(options, config)
      const client = new (this.constructor as typeof Client)(replaced)
      // The constructor of a subclass may take other arguments and lose the options.
      Object.assign(client.#transport, replaced, { shared })
      return client
    })
  }
}
