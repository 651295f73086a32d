import type { Transport } from './http/call.js'
import {
  type CustomRequestOptions,
  type HttpMethod,
  knownRequestOptions,
  type Result,
  request,
  toMethod,
} from './http/request.js'
import { RetryBudget } from './http/retry.js'
import { ApiKeyProvider } from './internal/api-key.js'
import { wrongArgument } from './internal/describe.js'
import { IdempotencyKeys } from './internal/idempotency-key.js'
import { defineHidden } from './internal/object.js'
import { assertPath } from './internal/url.js'
import { readOptions } from './internal/validate.js'
import { type ClientOptions, clientOptions, resolveClientOptions } from './options.js'
import { createList, type List, type ListOptions, type ListParams } from './pagination/list.js'
import { createTransactions, type Transactions } from './resources/transactions.js'
import { createVirtualAccounts, type VirtualAccounts } from './resources/virtual-accounts.js'
import type { Schema, SchemaOutput } from './schema.js'

/**
 * Client for the service. Create one and share it: it holds no connections, and there is nothing to close.
 *
 * To log or measure requests and retries, pass `onEvent`. In tests, pass the `fetch` of a `FakeService` from
 * `virtual-accounts/testing`, rather than an object of your own.
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
  readonly #transport: Transport

  /**
   * Creates a client. Nothing is sent.
   *
   * @throws TypeError for an unknown or wrong option.
   */
  constructor(options: ClientOptions) {
    if (typeof options !== 'object' || options === null) {
      throw wrongArgument('options', 'an object with at least baseUrl and apiKey', options)
    }
    const given = readOptions('options', options, clientOptions) as ClientOptions
    const config = resolveClientOptions(given)
    // Changes that the caller makes to its options later have no effect.
    this.#options = { ...given, baseUrl: config.baseUrl || '/', headers: config.settings.headers }
    this.#transport = {
      retryBudget: new RetryBudget(),
      apiKeys: new ApiKeyProvider(this.#options.apiKey),
      idempotencyKeys: new IdempotencyKeys(),
      refusedLimits: new Set(),
      ...config,
    }
    this.transactions = createTransactions(this.#transport)
    this.virtualAccounts = createVirtualAccounts(this.#transport)
    // Bound, so that they work when destructured, and behind a proxy such as Vue's `ref`.
    for (const name of ['list', 'request', 'withOptions'] as const)
      defineHidden(this, name, (this[name] as (...args: never[]) => unknown).bind(this))
  }

  /**
   * Lists the items of an endpoint that has no method of its own; `schema` describes one item, as nothing else is known of it.
   *
   * @param path Path after `baseUrl`. It must start with one "/". Encode ids in it with `encodeURIComponent`.
   * @throws TypeError immediately, for an invalid path, params or options.
   * @example
   * ```ts
   * const refunds = client.list('/refunds', { limit: 100 }, { schema: z.looseObject({ id: z.string() }) })
   * ```
   */
  list<S extends Schema>(
    path: string,
    params: ListParams | undefined,
    options: ListOptions<S, SchemaOutput<S, unknown>> & { schema: S },
  ): List<SchemaOutput<S, unknown>> {
    assertPath('path', path)
    return createList<SchemaOutput<S, unknown>>(this.#transport, { path }, params, options)
  }

  /**
   * Calls an endpoint that has no method of its own, with the same API key, retries, timeouts, errors and events. All
   * methods except GET are writes.
   *
   * @param method HTTP method.
   * @param path Path after `baseUrl`. It must start with one "/". Encode ids in it with `encodeURIComponent`.
   * @throws ApiError, or a TypeError for a wrong argument.
   * @example
   * ```ts
   * const { data } = await client.request('POST', '/customers', { body: { name: 'Ada' } })
   * ```
   */
  async request<M extends HttpMethod, S extends Schema | undefined = undefined>(
    method: M,
    path: string,
    options?: CustomRequestOptions<S>,
  ): Promise<Result<SchemaOutput<S, unknown>, M extends 'GET' ? undefined : string>> {
    const upperMethod = toMethod(method)
    assertPath('path', path)
    const { route, ...checked } = readOptions('options', options, knownRequestOptions)
    const spec = { method: upperMethod, path, ...(route === undefined ? {} : { route }) }
    return request(this.#transport, spec, checked)
  }

  /**
   * Creates a client with some options replaced. Each given option replaces the old one entirely, `headers` too; `undefined`
   * keeps it. The retry budget is shared.
   *
   * @throws TypeError for an unknown or wrong option.
   */
  withOptions(options: Partial<ClientOptions>): Client {
    if (options === undefined) throw wrongArgument('options', 'a plain object', options)
    const replaced = readOptions('options', options, clientOptions)
    const client = new (this.constructor as typeof Client)({ ...this.#options, ...replaced })
    const { retryBudget, apiKeys } = this.#transport
    // With the same `apiKey` function, its pending calls are shared.
    Object.assign(client.#transport, { retryBudget, ...(replaced.apiKey === undefined && { apiKeys }) })
    return client
  }
}
