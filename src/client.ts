import { createList, type List, type ListOptions, type ListParams } from './list.js'
import { type ClientOptions, configure, plainHeaders } from './options.js'
import { checkPath, type Query } from './path.js'
import { type Method, type Result, request, type WriteOptions } from './request.js'
import { type Transactions, transactions } from './resources/transactions.js'
import { type VirtualAccounts, virtualAccounts } from './resources/virtual-accounts.js'
import { RetryBudget } from './retry.js'
import { type Output, type Schema, toShape } from './schema.js'
import { KeySource } from './secret.js'
import { type Shared, Transport } from './transport.js'

/**
 * The way to the service. Make one and share it: it holds no connections and nothing to close.
 *
 * @example
 * ```ts
 * const client = new Client({ baseUrl: 'https://api.example.com', apiKey: process.env.API_KEY ?? '' })
 * ```
 */
export class Client {
  /** Deactivates and reactivates virtual accounts. */
  readonly virtualAccounts: VirtualAccounts
  /** Lists transactions. */
  readonly transactions: Transactions

  readonly #options: ClientOptions
  readonly #shared: Shared
  readonly #transport: Transport

  /** @throws TypeError when an option is not what is expected. Nothing is sent. */
  constructor(options: ClientOptions) {
    if (typeof options !== 'object' || options === null) {
      throw new TypeError('options: expected an object with at least baseUrl and apiKey')
    }
    // A copy, so that what the caller does to its own later has no effect.
    this.#options = { ...options }
    if (options.headers !== undefined) this.#options.headers = plainHeaders(options.headers)
    if (options.baseUrl instanceof URL) this.#options.baseUrl = options.baseUrl.href
    this.#shared = {
      configuration: configure(this.#options),
      keys: new KeySource(options.apiKey),
      budget: new RetryBudget(),
    }
    this.#transport = new Transport(this.#shared)
    this.virtualAccounts = virtualAccounts(this.#transport)
    this.transactions = transactions(this.#transport)
  }

  /**
   * Any other list endpoint: all of them page alike.
   *
   * @param path What follows `baseUrl`, with one "/" at its start and ids already encoded.
   * @throws TypeError at once, for a wrong path, wrong params or options.
   * @example
   * ```ts
   * const refunds = client.list('/refunds', { limit: 100 }, { schema: z.looseObject({ id: z.string() }) })
   * ```
   */
  list<S extends Schema>(
    path: string,
    params: ListParams | undefined,
    options: ListOptions<S, Output<S, unknown>> & { schema: S },
  ): List<Output<S, unknown>> {
    checkPath('path', path)
    const shape = toShape(options?.schema, undefined)
    if (shape === undefined)
      throw new TypeError('schema: expected one, as nothing is known of the items of this list')
    return createList<Output<S, unknown>>(this.#transport, { path, shape }, params, options)
  }

  /**
   * Any other endpoint, with the same key, retries, timeouts, errors and events. All methods but GET are writes.
   *
   * @param path What follows `baseUrl`, with one "/" at its start and ids already encoded.
   * @throws ApiError. Misuse rejects with a TypeError.
   */
  async request<S extends Schema | undefined = undefined>(
    method: Method,
    path: string,
    options?: WriteOptions<S> & { query?: Query | undefined },
  ): Promise<Result<Output<S, unknown>>> {
    checkPath('path', path)
    return request(this.#transport, method, path, options)
  }

  /**
   * The same client with some options replaced, each as a whole, `headers` too; `undefined` keeps the old one. The
   * retry budget is shared.
   *
   * @throws TypeError when an option is not what is expected.
   */
  withOptions(options: Partial<ClientOptions>): Client {
    if (typeof options !== 'object' || options === null) throw new TypeError('options: expected an object')
    const given = Object.entries(options).filter(([, value]) => value !== undefined)
    const client = new (this.constructor as typeof Client)({ ...this.#options, ...Object.fromEntries(given) })
    client.#shared.budget = this.#shared.budget
    // The same function is asked once for both.
    if (options.apiKey === undefined) client.#shared.keys = this.#shared.keys
    return client
  }
}
