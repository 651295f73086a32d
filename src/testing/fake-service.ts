import type { Transaction, VirtualAccountRef } from '../index.js'
import {
  assertNoMore,
  type Checks,
  checkedLater,
  maxTimerMs,
  readOptions,
  wholeNumber,
} from '../internal/arguments.js'
import { describe, wrongArgument } from '../internal/describe.js'
import { type Fault, FaultQueue, isResponse } from './faults.js'
import { type RateLimit, RateLimiter } from './rate-limit.js'
import { type ReceivedRequest, toReceivedRequest, toUrlPath } from './received.js'
import { errorResponse, type ResponseData, Rules } from './rules.js'

/** Options of the {@link FakeService}. All are optional. A wrong or unknown one throws a `TypeError`. */
export interface FakeServiceOptions {
  /**
   * Root of the API: an absolute http or https URL. It may have a path.
   * @defaultValue 'https://virtual-accounts.test'
   */
  baseUrl?: string | undefined
  /**
   * The only API key that is accepted.
   * @defaultValue 'test_key'
   */
  apiKey?: string | undefined
  /**
   * The items of `GET /transactions`, each with a unique id. The fake copies them, so `reset()` can restore them.
   * @defaultValue none
   */
  transactions?: Transaction[] | undefined
  /**
   * Page size of requests without `limit`, at most `maxLimit`. Real services may differ.
   * @defaultValue 20
   */
  defaultLimit?: number | undefined
  /**
   * Maximum page size. The fake lowers a larger `limit` to it. Real services may differ.
   * @defaultValue 100
   */
  maxLimit?: number | undefined
  /**
   * Delay of each response, in milliseconds.
   * @defaultValue 0
   */
  latency?: number | undefined
}

const checks: Checks<FakeServiceOptions> = {
  baseUrl: checkedLater,
  apiKey: checkedLater,
  transactions: checkedLater,
  defaultLimit: wholeNumber(1),
  maxLimit: wholeNumber(1),
  latency: checkedLater,
}

/**
 * An in-memory fake of the service, for tests, demos and development. It needs no server.
 *
 * The API specification leaves much open. A real service may make other choices than the fake:
 * - Every account exists and starts active, whatever its ids are. Deactivate and reactivate respond with 200 and an empty
 *   body, even if nothing changes. Use `fail()` to test a service that refuses, such as with a 422.
 * - A request without the right API key gets a 401.
 * - A write without `Idempotency-Key` gets a 400. A repeated key gets the same response, and nothing is applied twice. A
 *   repeated key with another method, path or body gets a 422. The fake remembers the keys of applied writes until `reset()`.
 * - Filters have no effect. The fake warns once on the console for each query parameter except `page` and `limit`.
 * - A `page` or `limit` that is not a whole number of at least 1 gets a 400. The fake lowers a larger `limit` to `maxLimit`.
 *   A page beyond the end is empty.
 * - An unknown path or operation gets a 404. A known path with another method gets a 405.
 * - Each of these errors has the body `{"error":{"message":"…"}}`.
 * - A write is applied when its body arrives. `latency` only delays the response. If you abort a write during `latency`, it has
 *   already been applied.
 *
 * @example As the fetch of a client
 * ```ts
 * const service = new FakeService({ transactions: sampleTransactions(250) })
 * const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey, fetch: service.fetch })
 *
 * await client.virtualAccounts.deactivate({ customerId: 'c1', virtualAccountId: 'v1' })
 * service.isActive({ customerId: 'c1', virtualAccountId: 'v1' })   // false
 * service.requests.at(-1)?.headers.get('Idempotency-Key')          // what the client sent
 * ```
 *
 * @example Behind MSW
 * ```ts
 * http.all(`${service.baseUrl}/*`, ({ request }) => service.handle(request))
 * ```
 */
export class FakeService {
  /** Root of the API, without a slash at the end. */
  readonly baseUrl: string
  /** The only API key that is accepted. */
  readonly apiKey: string

  readonly #origin: string
  readonly #basePath: string
  readonly #latency: number
  readonly #initial: Transaction[]
  readonly #transactions: Transaction[]
  readonly #requests: ReceivedRequest[] = []
  readonly #faults = new FaultQueue()
  #limiter: RateLimiter | undefined
  readonly #rules: Rules
  // Keeps hanging requests alive. If one were garbage-collected, its signal would never abort.
  readonly #pending = new Set<Request>()

  /** @throws TypeError for an unknown or wrong option. */
  constructor(options?: FakeServiceOptions)
  constructor(options: FakeServiceOptions = {}, ...surplus: unknown[]) {
    assertNoMore(surplus, 'new FakeService({ … })')
    if (Array.isArray(options)) throw wrongArgument('options', 'an object such as { transactions }', options)
    const {
      baseUrl = 'https://virtual-accounts.test',
      apiKey = 'test_key',
      transactions = [],
      defaultLimit = 20,
      maxLimit = 100,
      latency = 0,
    } = readOptions('options', options, checks, 'FakeService options')
    if (typeof apiKey !== 'string' || !/^[!-~]([ -~]*[!-~])?$/.test(apiKey)) {
      const expected = 'a non-empty string of printable ASCII without white space around it'
      throw wrongArgument('apiKey', expected, apiKey)
    }
    assertArray('transactions', transactions)
    assertUniqueIds(transactions)
    if (typeof latency !== 'number' || !(latency >= 0 && latency <= maxTimerMs)) {
      throw new TypeError(`latency: expected milliseconds from 0 to ${maxTimerMs}, got ${describe(latency)}`)
    }
    const { origin, pathname } = parseBaseUrl(baseUrl)
    this.#origin = origin
    this.#basePath = pathname.replace(/\/+$/, '')
    this.baseUrl = origin + this.#basePath
    this.apiKey = apiKey
    this.#latency = latency
    this.#initial = structuredClone(transactions)
    this.#transactions = structuredClone(transactions)
    this.#rules = new Rules(apiKey, { defaultLimit, maxLimit })
    this.#rules.serveList(transactionsPath, this.transactions)
  }

  /** The items of `GET /transactions`. Live: change the array, even while a client iterates the list. */
  get transactions(): Transaction[] {
    return this.#transactions
  }

  /** Requests received under `baseUrl`, oldest first, including those that failed. Live: it grows with each request. */
  get requests(): readonly ReceivedRequest[] {
    return this.#requests
  }

  /**
   * Faults of `fail()` that are not used up, oldest first. `times` is the number of requests still to fail.
   * At the end of a test, assert that it is empty, or a fault with a misspelt path goes unnoticed.
   *
   * @example
   * ```ts
   * expect(service.unusedFaults).toEqual([])
   * ```
   */
  get unusedFaults(): readonly Fault[] {
    return this.#faults.unused
  }

  /**
   * Responds like the platform's `fetch`. Pass it to a client as its `fetch`. It needs no `this`.
   *
   * Rejects with a `TypeError` for a network fault, or if the origin is not that of `baseUrl`. Rejects with the signal's
   * reason if the request's signal aborts.
   */
  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    request.signal?.throwIfAborted()
    const { origin } = new URL(request.url)
    if (origin !== this.#origin) {
      throw new TypeError(`fetch failed: cannot reach ${origin}. The fake service is at ${this.baseUrl}.`)
    }
    const response = await this.#receive(request)
    if (response.type === 'error') throw new TypeError('fetch failed: a network error passed to fail()')
    return response
  }

  /**
   * Responds to one `Request`, such as one from MSW or a server.
   *
   * Resolves with `Response.error()` for a network fault, or if the request's signal aborts. A request outside `baseUrl` gets
   * a 404.
   */
  async handle(request: Request): Promise<Response> {
    if (typeof request?.url !== 'string') {
      throw new TypeError(
        `handle: expected a Request, got ${describe(request)} (with MSW: ({ request }) => service.handle(request); for a client: fetch: service.fetch)`,
      )
    }
    try {
      return await this.#receive(request)
    } catch (error) {
      if (request.signal?.aborted) return Response.error()
      throw error
    }
  }

  /** Whether an account is active. Pass the ids unencoded. */
  isActive(account: VirtualAccountRef): boolean {
    const { customerId, virtualAccountId } = Object(account) as Partial<VirtualAccountRef>
    if (typeof customerId !== 'string' || typeof virtualAccountId !== 'string') {
      throw new TypeError(
        `account: expected { customerId, virtualAccountId }, both strings, got ${describeAccount(account)}`,
      )
    }
    return this.#rules.isActive(account)
  }

  /**
   * Makes the next matching request fail, or the next `times` requests. Later requests get their usual responses.
   *
   * Each request uses the earliest added fault that matches it. Faults take precedence over every other rule, including the
   * check of the API key.
   *
   * @throws TypeError for an unknown or wrong option of the fault.
   * @example
   * ```ts
   * service.fail({ path: '/transactions', times: 2, with: new Response(null, { status: 503 }) })
   * service.fail({ method: 'POST', with: 'truncate' })
   * ```
   */
  fail(fault: Fault): void
  fail(fault: Fault, ...surplus: unknown[]): void {
    assertNoMore(surplus, "fail({ times, method, path, with: 'network-error' })")
    this.#faults.add(fault)
  }

  /**
   * Limits the rate of requests until `reset()`. Extra requests get a 429 with `Retry-After`, and are not applied. A request
   * that meets a fault gets that fault, and does not count towards the limit.
   *
   * @throws TypeError for an unknown or wrong option of the limit.
   * @example
   * ```ts
   * service.limit({ perSecond: 50 })
   * ```
   */
  limit(limit: RateLimit): void {
    this.#limiter = new RateLimiter(limit)
  }

  /**
   * Serves another list at a path, paged in the same way as `/transactions`.
   *
   * Live: later changes to the array are served. A second list for the same path replaces the first.
   *
   * @throws TypeError for a wrong path, or items that are not an array.
   * @example
   * ```ts
   * service.serveList('/customers', [{ id: 'c1' }, { id: 'c2' }])
   * ```
   */
  serveList(path: string, items: unknown[]): void {
    const urlPath = toUrlPath(path)
    if (urlPath === transactionsPath) {
      throw new TypeError('path: /transactions is already a list: change `service.transactions` instead')
    }
    assertArray('items', items)
    this.#rules.serveList(urlPath, items)
  }

  /**
   * Resets the service to its state after construction, for example between tests.
   *
   * `transactions` contains fresh copies of the original ones. The fake forgets requests, faults, the rate limit, idempotency
   * keys, deactivations and the lists of `serveList`. `transactions` and `requests` remain the same arrays.
   */
  reset(): void {
    this.#requests.length = 0
    this.#faults.clear()
    this.#limiter = undefined
    this.#rules.reset()
    this.#rules.serveList(transactionsPath, this.transactions)
    this.transactions.length = 0
    // Spreading would fail: the number of arguments is limited.
    for (const transaction of structuredClone(this.#initial)) this.transactions.push(transaction)
  }

  async #receive(request: Request): Promise<Response> {
    // In some runtimes, the requests of a server have no signal.
    const signal: AbortSignal | undefined = request.signal ?? undefined
    signal?.throwIfAborted()
    const { origin, pathname } = new URL(request.url)
    if (origin !== this.#origin || !`${pathname}/`.startsWith(`${this.#basePath}/`)) {
      return toResponse(errorResponse(404, `The fake service only has paths below ${this.baseUrl}.`))
    }
    // Without a body, a request is recorded synchronously, so requests stay in the order in which they were sent.
    const text = request.method === 'GET' || request.method === 'HEAD' ? '' : await request.text()
    const received = toReceivedRequest(request, pathname.slice(this.#basePath.length) || '/', text)
    const fault = this.#faults.take(received)
    this.#requests.push(received)
    const response = this.#respond(received, fault, signal)

    this.#pending.add(request)
    try {
      await delay(fault === 'hang' ? Number.POSITIVE_INFINITY : this.#latency, signal)
    } finally {
      this.#pending.delete(request)
    }
    return response
  }

  #respond(
    request: ReceivedRequest,
    fault: Fault['with'] | undefined,
    signal: AbortSignal | undefined,
  ): Response {
    const seconds = fault === undefined ? this.#limiter?.take() : undefined
    if (seconds !== undefined)
      return toResponse(
        errorResponse(429, 'Too many requests.', { 'Retry-After': String(Math.ceil(seconds)) }),
      )
    if (fault === undefined) return toResponse(this.#rules.respond(request))
    if (fault === 'truncate') return toTruncatedResponse(this.#rules.respond(request))
    // A hanging request never gets this response.
    if (fault === 'network-error' || fault === 'hang') return Response.error()
    const response = typeof fault === 'function' ? fault() : fault
    if (!isResponse(response)) {
      throw new TypeError(`with: expected the function to return a Response, got ${describe(response)}`)
    }
    // The fault may last: each request needs its own body.
    return abortable(response.clone(), signal)
  }
}

const transactionsPath = '/transactions'

function assertArray(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw new TypeError(`${name}: expected an array, got ${describe(value)}`)
}

/** A loop yields each id once, so copies of a transaction with the same id would silently be missing. */
function assertUniqueIds(transactions: readonly Transaction[]): void {
  const ids = new Set<unknown>()
  for (const [index, transaction] of transactions.entries()) {
    const { id } = Object(transaction) as Partial<Transaction>
    if (id !== undefined && ids.has(id)) {
      throw new TypeError(
        `transactions[${index}].id: expected a unique id, got a duplicate (to test duplicates, change \`service.transactions\`)`,
      )
    }
    ids.add(id)
  }
}

function parseBaseUrl(baseUrl: string): URL {
  const url = typeof baseUrl === 'string' && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || /[?#]/.test(baseUrl)) {
    const expected = 'an absolute http or https URL without user info, query or fragment'
    throw wrongArgument('baseUrl', expected, baseUrl)
  }
  return url
}

function describeAccount(account: unknown): string {
  if (typeof account !== 'object' || account === null) return describe(account)
  const { customerId, virtualAccountId } = account as Partial<VirtualAccountRef>
  return `{ customerId: ${describe(customerId)}, virtualAccountId: ${describe(virtualAccountId)} }`
}

function toResponse({ status, headers, body }: ResponseData): Response {
  return new Response(body, { status, headers })
}

/** Status, headers and the first half of the body arrive, then the body fails. */
function toTruncatedResponse({ status, headers, body }: ResponseData): Response {
  const bytes = new TextEncoder().encode(body ?? '')
  const half = bytes.slice(0, bytes.length / 2)
  const chunks = half.length ? [half] : []
  const stream = new ReadableStream({
    pull(controller) {
      const chunk = chunks.pop()
      if (chunk) controller.enqueue(chunk)
      else controller.error(new TypeError('terminated: the response was cut off by a fault passed to fail()'))
    },
  })
  return new Response(stream, { status, headers })
}

/** Waits at least one microtask, so the caller can abort. An abort rejects immediately, with the signal's reason. */
async function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await undefined
  signal?.throwIfAborted()
  if (ms === 0) return
  await new Promise<void>((resolve, reject) => {
    const timer = ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(end, ms)
    signal?.addEventListener('abort', end)
    function end() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(signal.reason)
      else resolve()
    }
  })
}

/** Fails the body if the signal aborts, as a network would. The fake's own bodies arrive at once. */
function abortable(response: Response, signal: AbortSignal | undefined): Response {
  const reader = signal && response.body?.getReader()
  if (!reader) return response
  // Sandboxes of test runners lack TransformStream.
  const body = new ReadableStream({
    start(controller) {
      signal.addEventListener('abort', () => {
        controller.error(signal.reason)
        reader.cancel(signal.reason).catch(() => {})
      })
    },
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: reason => reader.cancel(reason),
  })
  return new Response(body, response)
}
