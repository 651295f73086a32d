import { Client } from '../client.js'
import { type AnyApiError, isApiError } from '../errors.js'
import { isSuccess } from '../http/attempt.js'
import { afterDelay } from '../http/http-error.js'
import { isUndecodable } from '../http/network-error.js'
import { isThrottled } from '../http/retry.js'
import { Redactor } from '../internal/redact.js'
import type { Fetch, FetchResponse } from '../options.js'
import type { ProbeOptions } from './options.js'
import { findEnvelopeProblems, type ListedPage, Sample, toListedPage } from './page.js'

/** Outcome of a request. */
export interface Outcome {
  /**
   * - `ok`: a 2xx response
   * - `refused`: a redirect or 4xx
   * - `failed`: 5xx, or a body with a wrong Content-Encoding
   * - `none`: nothing to judge by: no complete response, one that throttled, or the time for the probe was over
   */
  readonly verdict: 'ok' | 'refused' | 'failed' | 'none'
  readonly response?: RecordedResponse | undefined
  /** The body; `undefined` if it was not complete, or too large. */
  readonly text?: string | undefined
  /** What the client returned as `data`. */
  readonly data?: unknown
  /** What the client's call rejected with. */
  readonly error?: AnyApiError | undefined
  /** The key that a write was sent with. */
  readonly idempotencyKey?: string | undefined
}

export interface RecordedResponse {
  readonly method: string
  readonly status: number
  readonly headers: Headers
  /** Milliseconds until it was complete, or until the client gave up. */
  durationMs: number
}

/** Outcome of a request of the list. */
export interface ListOutcome extends Outcome {
  /** `undefined` unless the response is a page. */
  readonly page: ListedPage | undefined
  /** What breaks the envelope of a 2xx response. */
  readonly problems: readonly string[]
  /** The value of JSON.parse, which rounds long numbers; `undefined` unless a 2xx response is JSON. */
  readonly plain?: unknown
}

/** Outcome of a request for a page. It has no body: pages may be large, and several are compared. */
export interface PageOutcome extends ListOutcome {
  readonly requested: { readonly page: number; readonly limit: number | undefined }
  /** The body was neither cut off nor larger than the client allows. */
  readonly isComplete: boolean
}

/** A call of the client. */
type Send = () => Promise<{ data: unknown; idempotencyKey: string | undefined }>

/** How often a throttled request is sent again in all: with so few requests, one 429 would hide most of the findings. */
export const maxRepeats = 3

const shortPauseMs = 250
const throttledPauseMs = 2_000
const maxThrottledPauseMs = 30_000
const timeLimitMs = 240_000

/** Sends the requests of a probe: one at a time, with pauses and a time limit, and recorded. */
export class Session {
  readonly client: Client
  /** Ends the session: reads at once, writes never. */
  readonly signal: AbortSignal | undefined
  /** What all pages of the list have shown. */
  readonly sample: Sample = new Sample(name => this.redact(name) === name)
  /** Every response so far, in order. */
  readonly responses: RecordedResponse[] = []
  /** Those of them that were pages of the list. */
  readonly pages: RecordedResponse[] = []
  /** Every request for a page so far, in order. */
  readonly reads: PageOutcome[] = []
  /** Number of requests sent so far. */
  requests = 0
  /** Set if a call showed nothing, as it got no complete response or was throttled: the longest `Retry-After`, or 0. */
  retryAfterMs: number | undefined

  readonly #options: Omit<ProbeOptions, 'account' | 'origin'>
  readonly #path: string
  readonly #maxRequests: number
  readonly #keys = new Set<string>()
  readonly #endsAt = performance.now() + timeLimitMs
  #repeatsLeft = maxRepeats
  /** Of the last request. */
  #recording: { response?: RecordedResponse; text?: string; startedAt: number } = { startedAt: 0 }

  constructor(options: Omit<ProbeOptions, 'account' | 'origin'>, path: string, maxRequests: number) {
    const { baseUrl, apiKey, allowInsecureHttp } = options
    this.#options = options
    this.signal = options.signal
    this.#path = path
    this.#maxRequests = maxRequests
    if (typeof apiKey === 'string') this.#keys.add(apiKey)
    // What fails is to be seen rather than retried.
    this.client = new Client({ baseUrl, apiKey, allowInsecureHttp, fetch: this.fetch, maxRetries: 0 })
  }

  /** Sends a call of the client, again if it is throttled. What is not an `ApiError` rejects. */
  async call(name: string, send: Send, pauseMs: number = shortPauseMs): Promise<Outcome> {
    for (;;) {
      if (performance.now() > this.#endsAt) {
        this.#addGap(undefined)
        return { verdict: 'none' }
      }
      if (this.requests > 0) await sleep(pauseMs, this.signal)
      await this.announce(name)
      // Aborted by the callback.
      if (this.signal?.aborted) throw this.signal.reason
      const outcome = await this.#send(send)
      const delayMs = this.#repeatDelay(outcome.error)
      if (delayMs === undefined) {
        if (outcome.verdict === 'none') this.#addGap(outcome.error)
        return outcome
      }
      await this.announce(`${name}, again ${afterDelay(delayMs)}`)
      await sleep(delayMs, this.signal)
    }
  }

  #addGap(error: AnyApiError | undefined): void {
    const { retryAfterMs = 0 } = error?.kind === 'http' ? error : {}
    this.retryAfterMs = Math.max(this.retryAfterMs ?? 0, retryAfterMs)
  }

  /** Sends a call whatever happened before: after the time limit, and after an abort, too. Only the client repeats it. */
  async callAnyway(send: Send, pauseMs: number): Promise<Outcome> {
    await sleep(pauseMs)
    return this.#send(send)
  }

  async announce(name: string): Promise<void> {
    await this.#options.onProgress?.({
      done: this.requests,
      total: this.#maxRequests,
      name: this.redact(name),
    })
  }

  async #send(send: Send): Promise<Outcome> {
    this.#recording = { startedAt: performance.now() }
    const result = await send().catch(toApiError)
    const { response, text, startedAt } = this.#recording
    if (response) response.durationMs = performance.now() - startedAt
    const error = isApiError(result) ? result : undefined
    const data = isApiError(result) ? undefined : result.data
    const { idempotencyKey } = result
    return { verdict: verdictOn(response, error), response, text, data, error, idempotencyKey }
  }

  /** Requests the list with any query. */
  async get(
    query: Record<string, string>,
    client: Client = this.client,
    method = 'GET',
  ): Promise<ListOutcome> {
    const params = String(new URLSearchParams(query))
    const name = `${method} ${this.#path}${params && `?${params}`}`
    const send = () => client.request('GET', this.#path, { query, signal: this.signal })
    const outcome = await this.call(name, send)
    const isRead = outcome.verdict === 'ok' && outcome.error === undefined
    const plain = isRead ? parseJson(outcome.text) : undefined
    const problems = isRead ? findProblems(outcome, plain) : []
    const page = isRead && problems.length === 0 ? toListedPage(outcome.data) : undefined
    if (page && method === 'GET') this.pages.push(outcome.response as RecordedResponse)
    return { ...outcome, problems, page, plain }
  }

  /** Requests a page of the list, and adds what it got to the sample. */
  async getPage({
    page = 1,
    limit,
  }: {
    page?: number
    limit?: number | undefined
  } = {}): Promise<PageOutcome> {
    const query = { page: String(page), ...(limit !== undefined && { limit: String(limit) }) }
    const { text, data, plain, ...outcome } = await this.get(query)
    if (outcome.page) this.sample.add(plain, data)
    else if (plain !== undefined) this.sample.addOther(plain, data)
    const read = { ...outcome, requested: { page, limit }, isComplete: text !== undefined }
    this.reads.push(read)
    return read
  }

  /** Without the API keys that were sent: a service may echo them anywhere, even as the name of a field or a header. */
  redact(text: string): string {
    return new Redactor([...this.#keys]).text(text)
  }

  /** Sends a request and records its response. */
  readonly fetch: Fetch = async (url, init) => {
    const key = init.headers['api-key']
    if (key !== undefined) this.#keys.add(key)
    this.requests++
    this.#recording = { startedAt: performance.now() }
    const response = await (this.#options.fetch ?? globalThis.fetch)(url, init)
    const { status, type } = Object(response) as Partial<Response>
    const isResponse = typeof status === 'number' && type !== 'error'
    // What the client cannot read is left to it, here and below.
    const isReadable = isResponse && Symbol.iterator in Object(response.headers)
    return isReadable ? this.#record(response, init.method) : response
  }

  #record(response: FetchResponse, method: string): FetchResponse {
    const { status, type, bodyUsed } = response as Response
    const recording = this.#recording
    // A custom fetch may have headers of its own.
    const headers = new Headers(response.headers as Headers)
    recording.response = { method, status, headers: new Headers(headers), durationMs: 0 }
    this.responses.push(recording.response)
    // Whether a page is JSON is told by its body alone.
    if (method === 'GET') headers.delete('content-type')
    const decoder = new TextDecoder()
    const arrayBuffer = async () => {
      const buffer = await response.arrayBuffer()
      recording.text = decoder.decode(buffer)
      return buffer
    }
    const body = response.body as ReadableStream<Uint8Array> | null | undefined
    if (bodyUsed || body?.locked) return response
    if (body === null) recording.text = ''
    const copy = { status, type, headers, arrayBuffer }
    if (typeof body?.pipeThrough !== 'function') return { ...copy, body }
    // The client reads, so its limits of size and time hold here.
    let text = ''
    const recorder = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        text += decoder.decode(chunk, { stream: true })
        controller.enqueue(chunk)
      },
      flush: () => {
        recording.text = text + decoder.decode()
      },
    })
    return { ...copy, body: body.pipeThrough(recorder) }
  }

  /** How long to pause before the same request is sent again; `undefined` if it is not. */
  #repeatDelay(error: AnyApiError | undefined): number | undefined {
    if (error?.kind !== 'http' || !isThrottled(error.status)) return undefined
    const { status, method, retryAfterMs = throttledPauseMs } = error
    const mayBeApplied = status !== 429 && method !== 'GET'
    if (mayBeApplied || retryAfterMs > maxThrottledPauseMs || this.#repeatsLeft === 0) return undefined
    this.#repeatsLeft--
    return retryAfterMs
  }
}

function toApiError(error: unknown): AnyApiError {
  if (isApiError(error)) return error
  throw error
}

/** Some services limit rates with a 403. */
export function isRateLimited({ status, headers }: RecordedResponse): boolean {
  return isThrottled(status) || (status === 403 && headers.has('retry-after'))
}

function verdictOn(
  response: RecordedResponse | undefined,
  error: AnyApiError | undefined,
): Outcome['verdict'] {
  if (response && error?.kind === 'connection' && isUndecodable(error.cause)) return 'failed'
  const isLost = error?.kind === 'connection' || error?.kind === 'timeout'
  const isTransient = response && (isRateLimited(response) || [408, 425].includes(response.status))
  if (response === undefined || isLost || isTransient) return 'none'
  if (response.status >= 500) return 'failed'
  return isSuccess(response.status) ? 'ok' : 'refused'
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(signal.reason)
      else resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
  })
}

/** The value of a JSON text; `undefined` for any other text. */
export function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

export const markup = 'HTML or other markup'

export function isMarkup(text: string): boolean {
  return /^\s*</.test(text)
}

/** What breaks the envelope of a 2xx response. */
function findProblems({ text = '', data }: Outcome, plain: unknown): string[] {
  if (plain !== undefined) return findEnvelopeProblems(data)
  if (text === '') return ['expected JSON, got an empty body']
  if (isMarkup(text)) return [`expected JSON, got ${markup}`]
  return [`expected JSON, got ${/^\s*[{[]/.test(text) ? 'JSON that is malformed or cut off' : 'text'}`]
}

/** The status or error of an outcome, in a few words. */
export function describeOutcome(outcome: Outcome | ListOutcome): string {
  const { response, error } = outcome
  if (response === undefined)
    return error?.parts.problem ?? 'no request, as the 4 minutes of the probe are over'
  if (response.status === 0) return 'a redirect'
  const problem = 'problems' in outcome ? outcome.problems[0] : undefined
  const cause = error && error.kind !== 'http' ? error.parts.problem : problem
  return `HTTP ${response.status}${cause ? `, ${cause}` : ''}`
}

/** What to do about an error of a list, which has no ids in its path, for somebody who does not have the error. */
export function adviceIn({ error }: Outcome): string {
  const hint = error?.parts.hint ?? ''
  const others = /; elsewhere, see error\.cause|: see error\.cause| ?[^.]* error\.body\.| and the ids in it/g
  return hint.replace(others, '')
}
