import type { Transaction } from '../resources/transactions.js'
import type { VirtualAccountRef } from '../resources/virtual-accounts.js'
import { type Fault, FaultQueue, isResponse } from './faults.js'
import { pathInUrl, type ReceivedRequest, received } from './received.js'
import { type Answer, failure, Rules } from './rules.js'

/** What a {@link FakeService} can be given. A value that does not fit is a `TypeError`. */
export interface FakeServiceOptions {
  /**
   * Where it is, for those who ask: an absolute http or https URL, which may have a path.
   * @defaultValue 'https://virtual-accounts.test'
   */
  baseUrl?: string | undefined
  /**
   * The only key it accepts.
   * @defaultValue 'test_key'
   */
  apiKey?: string | undefined
  /**
   * What `GET /transactions` lists. Copied, so that `reset()` can restore them.
   * @defaultValue none
   */
  transactions?: Transaction[] | undefined
  /**
   * Items on a page when no `limit` is asked for, but never more than `maxLimit`. The interface shows none.
   * @defaultValue 20
   */
  defaultLimit?: number | undefined
  /**
   * The most items on a page: a larger `limit` is lowered to it. The interface shows none.
   * @defaultValue 100
   */
  maxLimit?: number | undefined
  /**
   * How long each answer takes, in milliseconds.
   * @defaultValue 0
   */
  latency?: number | undefined
}

/**
 * The service of the interface, in memory: for tests, demos and development. It answers Requests and needs no
 * server.
 *
 * What the interface doesn't show had to be chosen. These are the fake's own choices, and no promise of a
 * real service:
 * - Every account exists and is active at first. Deactivate and reactivate answer 200 with an empty body,
 *   also where nothing changes.
 * - Every request needs the key: without it, or with another, 401.
 * - A write without `Idempotency-Key`: 400. The same key again: the same answer, and nothing is applied a
 *   second time. A key that came with another method, path or body: 422. Only writes that were applied count,
 *   and keys are kept until `reset()`.
 * - `page` or `limit` that is not a whole number from 1: 400. A `limit` over `maxLimit` is lowered to it, and
 *   the lowered one echoed. A page beyond the end is empty.
 * - An unknown path: 404. A known one with another method: 405.
 * - Each of these errors has a body `{"error":{"message":"…"}}`.
 * - A request is applied and its answer made when it arrives, in the order of arrival; `latency` holds the
 *   answer back. So a write that is aborted meanwhile has been applied.
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
  /** Where it is, without a slash at the end. */
  readonly baseUrl: string
  /** The only key it accepts. */
  readonly apiKey: string
  /** What `GET /transactions` lists. Live: change it, even while a list is walked, to make the list drift. */
  readonly transactions: Transaction[]
  /** What was sent to `baseUrl`, oldest first, also what a fault then met. Live: it grows with each request. */
  readonly requests: readonly ReceivedRequest[]

  readonly #origin: string
  readonly #basePath: string
  readonly #latency: number
  readonly #initial: Transaction[]
  readonly #requests: ReceivedRequest[] = []
  readonly #faults = new FaultQueue()
  readonly #rules: Rules
  // A request that hangs may be held by nobody else; collected, its signal would never abort.
  readonly #waiting = new Set<Request>()

  /** @throws TypeError where an option does not fit. */
  constructor(options: FakeServiceOptions = {}) {
    if (typeof options !== 'object' || options === null) {
      throw new TypeError('options: expected an object')
    }
    const {
      baseUrl = 'https://virtual-accounts.test',
      apiKey = 'test_key',
      transactions = [],
      defaultLimit = 20,
      maxLimit = 100,
      latency = 0,
    } = options
    if (typeof apiKey !== 'string' || !/^[!-~]([ -~]*[!-~])?$/.test(apiKey)) {
      throw new TypeError(
        'apiKey: expected a non-empty string of printable ASCII, without white space around it',
      )
    }
    checkArray('transactions', transactions)
    checkWholeNumber('defaultLimit', defaultLimit)
    checkWholeNumber('maxLimit', maxLimit)
    if (typeof latency !== 'number' || !(latency >= 0 && latency <= longestTimer)) {
      throw new TypeError(`latency: expected a number of milliseconds from 0 to ${longestTimer}`)
    }
    const { origin, pathname } = parsedBaseUrl(baseUrl)
    this.#origin = origin
    this.#basePath = pathname.replace(/\/+$/, '')
    this.baseUrl = origin + this.#basePath
    this.apiKey = apiKey
    this.#latency = latency
    this.#initial = structuredClone(transactions)
    this.transactions = structuredClone(transactions)
    this.requests = this.#requests
    this.#rules = new Rules(apiKey, { defaultLimit, maxLimit })
    this.#rules.serveList(transactionsPath, this.transactions)
  }

  /**
   * Answers like the platform's `fetch`: give it to a client as its `fetch`. Needs no `this`.
   *
   * Rejects with a `TypeError` where there is no connection (a network fault, or another origin than that of
   * `baseUrl`), and with the signal's reason when the request's signal aborts, or already has.
   */
  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    request.signal?.throwIfAborted()
    const { origin } = new URL(request.url)
    if (origin !== this.#origin) {
      throw new TypeError(`fetch failed: ${origin} is not reachable, the fake service is ${this.baseUrl}`)
    }
    const response = await this.#answer(request)
    if (response.type === 'error') throw new TypeError('fetch failed: a network error given to fail()')
    return response
  }

  /**
   * Answers one request: for MSW, a server, or whatever else hands out Requests.
   *
   * A network fault is `Response.error()`, and so is an abort of the request's signal; what is not below
   * `baseUrl` gets a 404.
   */
  async handle(request: Request): Promise<Response> {
    try {
      return await this.#answer(request)
    } catch (error) {
      if (request.signal?.aborted) return Response.error()
      throw error
    }
  }

  /** Whether an account is active: not deactivated, or reactivated since. Ids as a client is given them. */
  isActive(account: VirtualAccountRef): boolean {
    const { customerId, virtualAccountId } = Object(account) as Partial<VirtualAccountRef>
    if (typeof customerId !== 'string' || typeof virtualAccountId !== 'string') {
      throw new TypeError('account: expected { customerId, virtualAccountId }, both strings')
    }
    return this.#rules.isActive(account)
  }

  /**
   * Lets the next request that matches fail, or the next `times`; the ones after that are answered again.
   *
   * Faults queue: a request gets the first given that matches it. They come before every other rule, the
   * key's included.
   *
   * @throws TypeError where the fault does not fit.
   * @example
   * ```ts
   * service.fail({ path: '/transactions', times: 2, with: new Response(null, { status: 503 }) })
   * service.fail({ method: 'POST', with: 'truncate' })
   * ```
   */
  fail(fault: Fault): void {
    this.#faults.add(fault)
  }

  /**
   * Serves another list at a path, paged as `/transactions` is.
   *
   * Live: changes of the array are seen. A second one for the same path replaces the first.
   *
   * @throws TypeError where the path or the items do not fit.
   * @example
   * ```ts
   * service.serveList('/customers', [{ id: 'c1' }, { id: 'c2' }])
   * ```
   */
  serveList(path: string, items: unknown[]): void {
    const normalPath = pathInUrl(path)
    if (normalPath === transactionsPath) {
      throw new TypeError('path: /transactions is already a list; change `transactions` instead')
    }
    checkArray('items', items)
    this.#rules.serveList(normalPath, items)
  }

  /**
   * Returns the service to how it was constructed: between tests.
   *
   * `transactions` holds fresh copies of those given then. Requests, faults, idempotency keys, deactivations
   * and lists of `serveList` are forgotten. `transactions` and `requests` remain the same arrays.
   */
  reset(): void {
    this.#requests.length = 0
    this.#faults.clear()
    this.#rules.forget()
    this.#rules.serveList(transactionsPath, this.transactions)
    this.transactions.length = 0
    // Not by spreading: an argument list has its limits.
    for (const transaction of structuredClone(this.#initial)) this.transactions.push(transaction)
  }

  async #answer(request: Request): Promise<Response> {
    // Not every runtime gives the requests it received a signal.
    const signal: AbortSignal | undefined = request.signal ?? undefined
    signal?.throwIfAborted()
    const { origin, pathname } = new URL(request.url)
    if (origin !== this.#origin || !`${pathname}/`.startsWith(`${this.#basePath}/`)) {
      return responseOf(failure(404, `Everything here is below ${this.baseUrl}.`))
    }
    // Without a body there is nothing to wait for: lists are noted in the order in which they were asked for.
    const text = request.method === 'GET' || request.method === 'HEAD' ? '' : await request.text()
    const noted = received(request, pathname.slice(this.#basePath.length) || '/', text)
    const fault = this.#faults.take(noted)
    this.#requests.push(noted)
    const response = this.#respond(noted, fault, signal)

    this.#waiting.add(request)
    try {
      await pause(fault === 'hang' ? Infinity : this.#latency, signal)
    } finally {
      this.#waiting.delete(request)
    }
    return response
  }

  #respond(
    request: ReceivedRequest,
    fault: Fault['with'] | undefined,
    signal: AbortSignal | undefined,
  ): Response {
    if (fault === undefined) return responseOf(this.#rules.answer(request))
    if (fault === 'truncate') return responseOf(this.#rules.answer(request), halfOf)
    // Of what hangs nobody gets to see the answer.
    if (fault === 'network-error' || fault === 'hang') return Response.error()
    const response = typeof fault === 'function' ? fault() : fault.clone()
    if (!isResponse(response)) throw new TypeError('with: expected the function to give a Response')
    return abortable(response, signal)
  }
}

const transactionsPath = '/transactions'

/** What setTimeout can hold; beyond it fires at once. */
const longestTimer = 2 ** 31 - 1

function checkArray(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw new TypeError(`${name}: expected an array`)
}

function checkWholeNumber(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new TypeError(`${name}: expected a whole number from 1`)
  }
}

function parsedBaseUrl(baseUrl: string): URL {
  const url = typeof baseUrl === 'string' && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || /[?#]/.test(baseUrl)) {
    throw new TypeError(
      'baseUrl: expected an absolute http or https URL without user info, query and fragment',
    )
  }
  return url
}

function responseOf({ status, headers, body }: Answer, cut?: (body: string) => BodyInit): Response {
  return new Response(cut ? cut(body ?? '') : body, { status, headers })
}

/** The first half of a body, and then none of the rest. */
function halfOf(body: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  const bytes = new TextEncoder().encode(body)
  const half = bytes.slice(0, bytes.length / 2)
  const rest = half.length ? [half] : []
  return new ReadableStream({
    pull(controller) {
      const chunk = rest.pop()
      if (chunk) controller.enqueue(chunk)
      else controller.error(new TypeError('terminated: the answer was cut off by a fault given to fail()'))
    },
  })
}

/** Waits, if only until the caller had the chance to abort. An abort rejects at once, with its reason. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await undefined
  signal?.throwIfAborted()
  if (ms === 0) return
  await new Promise<void>((resolve, reject) => {
    const timer = ms === Infinity ? undefined : setTimeout(end, ms)
    signal?.addEventListener('abort', end)
    function end() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(signal.reason)
      else resolve()
    }
  })
}

/** A body that ends with the signal, as those of the network do. The fake's own are there at once. */
function abortable(response: Response, signal: AbortSignal | undefined): Response {
  if (!signal || !response.body) return response
  return new Response(response.body.pipeThrough(new TransformStream(), { signal }), response)
}
