import { Client } from '../client.js'
import { type AnyApiError, isApiError } from '../errors.js'
import { readBytes } from '../http/response-body.js'
import { parseRetryAfter } from '../http/retry-after.js'
import { ApiKey } from '../internal/api-key.js'
import { Redactor } from '../internal/redact.js'
import { parseBaseUrl, resolveBaseUrl } from '../internal/url.js'
import type { Fetch, FetchResponse } from '../options.js'
import { type ListedPage, toListedPage } from './listed-page.js'
import type { ProbeOptions } from './options.js'

/** A response as it came, before the client has looked at it. */
export interface RecordedResponse {
  readonly status: number
  readonly headers: Headers
  /** `undefined` if the body could not be read, or is too large. */
  readonly text: string | undefined
}

/** Outcome of one call. */
export interface Outcome {
  /** The last response; `undefined` if there was none. */
  readonly response: RecordedResponse | undefined
  /** What the client's call rejected with. */
  readonly error: AnyApiError | undefined
}

/** Outcome of a request for a page of transactions. */
export interface PageOutcome extends Outcome {
  readonly requested: { readonly page: number; readonly limit: number | undefined }
  /** The page, even if the client rejects its items; `undefined` unless it has the form of one. */
  readonly page: ListedPage | undefined
}

/** Requests that are sent again when the service throttles them. */
export const maxThrottledRetries = 3

const pauseMs = 250
const throttledPauseMs = 2_000
const maxThrottledPauseMs = 30_000
// One more than the client accepts.
const maxBytes = 10 * 1024 * 1024 + 1

/** Sends the requests of a probe: one at a time, with pauses, and recorded. */
export class Session {
  readonly client: Client
  readonly redactor: Redactor = new Redactor()
  /** Every response so far, in order. */
  readonly responses: RecordedResponse[] = []
  /** Number of requests sent so far. */
  requests = 0

  readonly #options: ProbeOptions
  readonly #maxRequests: number
  #retriesLeft = maxThrottledRetries

  constructor(options: ProbeOptions, maxRequests: number) {
    const { baseUrl, apiKey } = options
    this.#options = options
    this.#maxRequests = maxRequests
    // A pause is part of an attempt here, and what fails is to be seen rather than retried.
    this.client = new Client({ baseUrl, apiKey, fetch: this.fetch, maxRetries: 0, timeout: 120_000 })
  }

  /** Sends a call of the client. What is not an `ApiError` rejects. */
  async call(
    name: string,
    send: (signal: AbortSignal | undefined) => PromiseLike<unknown>,
  ): Promise<Outcome> {
    this.#options.onProgress?.({ done: this.requests, total: this.#maxRequests, name })
    const before = this.responses.length
    let error: AnyApiError | undefined
    try {
      await send(this.#options.signal)
    } catch (caught) {
      if (!isApiError(caught)) throw caught
      error = caught
    }
    const response = this.responses.slice(before).at(-1)
    return { response, error }
  }

  /** Requests a page of transactions. */
  async getPage({ page = 1, limit }: { page?: number; limit?: number } = {}): Promise<PageOutcome> {
    const name = `GET /transactions?page=${page}${limit === undefined ? '' : `&limit=${limit}`}`
    const outcome = await this.call(name, signal =>
      this.client.transactions.list({ page, limit }, { signal }),
    )
    const listed = toListedPage(outcome.response)
    // The client refuses other numbers, and nothing can be computed with them.
    const isPage = listed && listed.page >= 1 && listed.limit >= 1 && listed.totalItems >= 0
    return { ...outcome, requested: { page, limit }, page: isPage ? listed : undefined }
  }

  /** Requests transactions with a query that a list of the client would not accept. */
  get(query: Record<string, string>, client: Client = this.client): Promise<Outcome> {
    const name = `GET /transactions?${new URLSearchParams(query)}`
    return this.call(name, signal => client.request('GET', '/transactions', { query, signal }))
  }

  /** Sends an OPTIONS request for the transactions, which the client cannot. */
  preflight(headers: Record<string, string>): Promise<Outcome> {
    return this.call('OPTIONS /transactions', async () => {
      const url = `${resolveBaseUrl(parseBaseUrl(this.#options.baseUrl, false))}/transactions`
      const signal = this.#options.signal ?? new AbortController().signal
      try {
        const response = await this.fetch(url, { method: 'OPTIONS', headers, redirect: 'manual', signal })
        await response.arrayBuffer()
      } catch {
        signal.throwIfAborted()
      }
    })
  }

  end(): void {
    this.#options.onProgress?.({ done: this.requests, total: this.requests, name: 'done' })
  }

  /** Pauses, sends and records. A throttled request is sent again, as with so few requests one 429 would distort the findings. */
  readonly fetch: Fetch = async (url, init) => {
    const key = init.headers['api-key']
    if (key !== undefined) this.redactor.addKey(new ApiKey(key))
    if (this.requests > 0) await sleep(pauseMs, init.signal)
    for (;;) {
      this.requests++
      const response = await (this.#options.fetch ?? globalThis.fetch)(url, init)
      if ((response as Partial<Response>).type === 'error') return response
      const recorded = this.#record(response, init.signal)
      const { status, headers } = recorded
      const delayMs = parseRetryAfter(headers) ?? throttledPauseMs
      const isSafe = status === 429 || (status === 503 && init.method === 'GET')
      if (!isSafe || this.#retriesLeft === 0 || delayMs > maxThrottledPauseMs) return recorded
      this.#retriesLeft--
      await recorded.arrayBuffer().catch(() => {})
      await sleep(Math.max(delayMs, pauseMs), init.signal)
    }
  }

  /** The response, recorded when its body is read. */
  #record(response: FetchResponse, signal: AbortSignal): FetchResponse & { readonly headers: Headers } {
    const { status } = response
    // A custom fetch may have headers of its own.
    const headers = new Headers(response.headers as Headers)
    const index = this.responses.push({ status, headers, text: undefined }) - 1
    const arrayBuffer = async () => {
      const bytes = await readBytes(response as Response, maxBytes, signal)
      if (bytes === undefined) return new ArrayBuffer(maxBytes)
      this.responses[index] = { status, headers, text: new TextDecoder().decode(bytes) }
      return bytes.slice().buffer
    }
    return { status, headers, arrayBuffer }
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      if (signal.aborted) reject(signal.reason)
      else resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}

/** Whether a status is 2xx. */
export function isOk({ response }: Outcome): boolean {
  return response !== undefined && response.status >= 200 && response.status < 300
}

/** Whether the service refused the request for what it is, rather than for the moment. */
export function isRefused({ response }: Outcome): boolean {
  return (
    response !== undefined && response.status >= 300 && response.status !== 429 && response.status !== 503
  )
}

/** Whether the service failed instead of refusing the request. */
export function isServerError({ response }: Outcome): boolean {
  return response !== undefined && response.status >= 500 && response.status !== 503
}

/** The status or error of an outcome, in a few words. */
export function describeOutcome({ response, error }: Outcome): string {
  if (response !== undefined && response.status !== 0) {
    const isValid = response.status < 200 || response.status >= 300 || error === undefined
    return isValid ? `HTTP ${response.status}` : `HTTP ${response.status}, not valid`
  }
  if (response !== undefined) return 'a redirect'
  // Without the call at its beginning.
  return error === undefined ? 'no response' : error.message.replace(/^.*?: /, '')
}
