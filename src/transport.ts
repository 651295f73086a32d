import ky from 'ky'
import { type Arrival, Attempt, noStore, whyLost } from './attempt.js'
import { parseError } from './body.js'
import {
  type AnyApiError,
  type CallFacts,
  ConnectionError,
  HttpError,
  type Issue,
  isApiError,
  Misfit,
  ResponseError,
  TimeoutError,
} from './errors.js'
import { type Happening, tell } from './events.js'
import { type Configuration, type Fetch, resolveBaseUrl, type Settings } from './options.js'
import {
  backoffMs,
  isAmbiguousStatus,
  isSlowDown,
  isTransient,
  longestRetryAfterMs,
  type Outcome,
  type RetryBudget,
  readRetryAfter,
} from './retry.js'
import { isThenable } from './schema.js'
import { type KeySource, Redactor } from './secret.js'

/** One call, checked and ready to be sent. */
export interface Call {
  readonly method: string
  /** Checked and encoded. */
  readonly path: string
  /** With its question mark, or empty. */
  readonly query: string
  readonly settings: Settings
  /** Set on writes, and only there. */
  readonly idempotencyKey: string | undefined
  /** JSON. */
  readonly body: string | undefined
  /** Any of them ends the call. */
  readonly signals: readonly (AbortSignal | undefined)[]
  readonly page: number | undefined
  /** Told at once when the service answers 429 or 503. */
  readonly onSlowDown?: (() => void) | undefined
}

/** A 2xx answer, whole. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  readonly contentType: string
  readonly facts: CallFacts
  /** What events name the call by. */
  readonly call: string
}

/** Makes of an answer what the caller gets; throws a `Misfit` or an `ApiError` where it cannot. */
export type Read<T> = (answer: Answer) => T | Promise<T>

/** What all calls of a client share, and in part those of clients derived from it. */
export interface Shared {
  readonly configuration: Configuration
  keys: KeySource
  budget: RetryBudget
}

/** Sends calls: all that is the same for every endpoint. */
export class Transport {
  readonly #shared: Shared
  readonly #id = Math.random().toString(36).slice(2, 10)
  #calls = 0

  constructor(shared: Shared) {
    this.#shared = shared
  }

  /** What holds for a call that says nothing else. */
  get settings(): Settings {
    return this.#shared.configuration.settings
  }

  /** Sends a call, again where that makes sense, and reads its answer. */
  async send<T>(call: Call, read: Read<T>): Promise<T> {
    for (const signal of call.signals) if (signal?.aborted) throw signal.reason
    const { configuration } = this.#shared
    const url = `${resolveBaseUrl(configuration)}${call.path}${call.query}`
    // Looked up now, so that patches made later are seen.
    const fetch: Fetch | undefined = configuration.fetch ?? globalThis.fetch
    if (typeof fetch !== 'function')
      throw new TypeError('fetch: expected one, as this runtime has none of its own')
    return new Exchange(call, `${this.#id}-${++this.#calls}`, url, fetch, this.#shared).run(read)
  }

  /** For what only several calls together show. */
  tell({ facts, call }: Pick<Answer, 'facts' | 'call'>, happening: Happening): void {
    const { method, path, page } = facts
    tell(this.#shared.configuration.onEvent, { call, method, path, page, ...happening })
  }
}

/** One call under way: its attempts, and what is learnt from them. */
class Exchange {
  readonly #call: Call
  readonly #id: string
  readonly #url: string
  readonly #fetch: Fetch
  readonly #shared: Shared

  readonly #began = performance.now()
  readonly #redactor = new Redactor()
  /** Aborted with the caller's reason; ends ky's wait before a retry, too. */
  readonly #stop = new AbortController()
  /** Ends what else is under way. */
  #interrupt: () => void = () => {}

  #attempts = 0
  /** An attempt may have been applied, and nobody knows. */
  #ambiguous = false
  /** What the last attempt failed with, as ky wraps what it takes for a network error of its own. */
  #failure: { error: unknown } | undefined
  /** It failed with an error of the caller's, which comes out as it is. */
  #isForeign = false
  /** How long to wait before the next attempt; undefined: there is none. */
  #delayMs: number | undefined
  /** What the retry under way has cost. */
  #cost: number | undefined

  constructor(call: Call, id: string, url: string, fetch: Fetch, shared: Shared) {
    this.#call = call
    this.#id = id
    this.#url = url
    this.#fetch = fetch
    this.#shared = shared
  }

  async run<T>(read: Read<T>): Promise<T> {
    const { signals } = this.#call
    const stop = () => {
      // Not of the event: in Node it has lost its target by the time a second listener hears of it.
      this.#stop.abort(signals.find(signal => signal?.aborted)?.reason)
      this.#interrupt()
    }
    for (const signal of signals) signal?.addEventListener('abort', stop)
    try {
      const answer = await this.#ask()
      this.#shared.budget.reward(this.#cost)
      return await this.#read(answer, read)
    } catch (error) {
      const isOurs = !this.#isForeign && !this.#stop.signal.aborted
      if (isOurs && isApiError(error)) showCaller(error)
      this.#tell({
        type: 'failure',
        attempt: this.#attempts,
        durationMs: performance.now() - this.#began,
        error,
      })
      throw error
    } finally {
      for (const signal of signals) signal?.removeEventListener('abort', stop)
    }
  }

  /**
   * The first attempt leaves at once. When it fails in a way that may pass, ky takes over from there: it runs the
   * attempts and waits between them. What it makes for each request costs half as much as the request, so most calls
   * go without. It is given nothing but the URL: headers, body and time limit belong to the attempt, so that one limit
   * covers the whole answer, and nothing of ky's ever holds the key.
   */
  async #ask(): Promise<Answer> {
    let first: Promise<Answer> | undefined = this.#attempt()
    try {
      return await first
    } catch (error) {
      if (this.#delayMs === undefined) throw error
    }
    const { method, settings } = this.#call
    let answer: Answer | undefined
    try {
      await ky(this.#url, {
        method,
        timeout: false,
        throwHttpErrors: false,
        signal: this.#stop.signal,
        retry: {
          limit: settings.maxRetries,
          methods: [method.toLowerCase() as 'get'],
          shouldRetry: () => this.#delayMs !== undefined,
          delay: () => this.#delayMs ?? 0,
        },
        fetch: async () => {
          // What has failed is told to ky, too, as it counts.
          const attempt = first ?? this.#attempt()
          first = undefined
          answer = await attempt
          return new Response()
        },
      })
    } catch (error) {
      this.#stop.signal.throwIfAborted()
      throw this.#failure ? this.#failure.error : error
    }
    return answer as Answer
  }

  /** One attempt, from the key to the last byte. */
  async #attempt(): Promise<Answer> {
    this.#stop.signal.throwIfAborted()
    this.#attempts++
    this.#delayMs = undefined
    this.#failure = undefined
    const { configuration, keys } = this.#shared
    const { method, settings, idempotencyKey, body } = this.#call
    const headers = { ...settings.headers }
    if (idempotencyKey !== undefined) {
      headers['content-type'] = 'application/json'
      headers['idempotency-key'] = idempotencyKey
    }
    const began = performance.now()
    const limit = this.#limit()
    let pendingKey: unknown
    const attempt = new Attempt({
      url: this.#url,
      init: { method, headers, ...noStore(), ...(body === undefined ? {} : { body }) },
      key: () => {
        const key = keys.get()
        pendingKey = key
        return key
      },
      fetch: this.#fetch,
      maxBytes: configuration.maxResponseBytes,
      onSend: key => {
        const sent = key ?? headers['api-key']
        if (sent !== undefined) this.#redactor.add(sent)
        this.#tell({ type: 'request', attempt: this.#attempts, idempotencyKey })
      },
    })
    this.#interrupt = () => attempt.stop()
    const arrival = await attempt.run(limit.ms)
    if (arrival.what === 'late' && !arrival.sent) keys.forget(pendingKey)
    if (arrival.what === 'answer') {
      const { status } = arrival.response
      this.#tell({ type: 'response', attempt: this.#attempts, status, durationMs: performance.now() - began })
    }
    try {
      return this.#judge(arrival, limit)
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  /** What bounds an attempt that begins now. */
  #limit(): { option: 'timeout' | 'totalTimeout'; ms: number } {
    const { timeout } = this.#call.settings
    const left = this.#timeLeft()
    return timeout <= left ? { option: 'timeout', ms: timeout } : { option: 'totalTimeout', ms: left }
  }

  #timeLeft(): number {
    return Math.max(0, this.#began + this.#call.settings.totalTimeout - performance.now())
  }

  /** The answer, if it is one to be read; else what the attempt fails with. */
  #judge(arrival: Arrival, limit: { option: 'timeout' | 'totalTimeout' }): Answer {
    const none = { status: undefined, retryAfterMs: undefined, certificateRefused: false, ambiguous: true }
    switch (arrival.what) {
      case 'stopped':
        throw this.#stop.signal.reason
      case 'keyless':
        this.#isForeign = true
        throw arrival.error
      case 'late':
        throw this.#fail({ ...none, ambiguous: arrival.sent }, (facts, note) => {
          const what = arrival.sent ? 'no complete answer' : 'no key from apiKey'
          return new TimeoutError(facts, limit.option, this.#call.settings[limit.option], what, note)
        })
      case 'lost':
        throw this.#lost(arrival.error, arrival.reading, none)
      case 'answer':
        return this.#answered(arrival.response, arrival.bytes)
    }
  }

  #lost(error: unknown, reading: boolean, none: Outcome): AnyApiError {
    const { because, code } = whyLost(error, reading)
    const shownCode = this.#redactor.text(code ?? '')
    const found = {
      certificate: `the TLS certificate was refused: ${shownCode}`,
      refused: `could not connect: ${shownCode}`,
      broken: `connection lost ${reading ? 'while reading the answer' : 'before an answer came'}`,
    }[because]
    const outcome = {
      ...none,
      certificateRefused: because === 'certificate',
      ambiguous: because === 'broken',
    }
    return this.#fail(outcome, (facts, note) => {
      const advice = [note, facts.outcomeUnknown ? '' : 'Check baseUrl and the network.']
        .filter(Boolean)
        .join(' ')
      return new ConnectionError(facts, { found, advice, cause: this.#redactor.cause(error) })
    })
  }

  #answered(response: Response, bytes: Uint8Array | undefined): Answer {
    const { status, headers } = response
    if (response.ok) {
      if (bytes === undefined) throw this.#misfit(response, this.#tooLong())
      const contentType = headers.get('content-type') ?? ''
      return { status, headers, bytes, contentType, facts: this.#facts(), call: this.#id }
    }
    if (isSlowDown(status)) this.#call.onSlowDown?.()
    const retryAfterMs = readRetryAfter(headers)
    const outcome = { status, retryAfterMs, certificateRefused: false, ambiguous: isAmbiguousStatus(status) }
    throw this.#fail(outcome, (facts, note) => {
      const body = bytes && this.#redactor.json(parseError(bytes))
      return new HttpError(
        facts,
        { status, headers: this.#redactor.headers(headers), body, retryAfterMs },
        note,
      )
    })
  }

  /** Decides whether there is another attempt, and words this one's failure accordingly. */
  #fail(outcome: Outcome, word: (facts: CallFacts, note: string | undefined) => AnyApiError): AnyApiError {
    const again = isTransient(outcome, this.#ambiguous) ? this.#planRetry(outcome) : undefined
    this.#ambiguous ||= outcome.ambiguous
    const isPoor = again === 'out of budget'
    const error = word(
      this.#facts(),
      isPoor ? 'Not tried again: too many calls failed of late (retry budget).' : undefined,
    )
    if (again !== undefined && !isPoor) {
      this.#delayMs = again
      this.#tell({ type: 'retry', attempt: this.#attempts, delayMs: again, error })
    }
    return error
  }

  /** The wait before the next attempt; undefined when there is none. */
  #planRetry({ status, retryAfterMs = 0 }: Outcome): number | 'out of budget' | undefined {
    if (this.#attempts > this.#call.settings.maxRetries) return undefined
    const delayMs = Math.max(backoffMs(this.#attempts), retryAfterMs)
    if (retryAfterMs > longestRetryAfterMs || delayMs >= this.#timeLeft()) return undefined
    this.#cost = this.#shared.budget.take(status)
    return this.#cost === undefined ? 'out of budget' : delayMs
  }

  /** Makes of the answer what the caller gets. A caller's schema may take its time, and is left like an attempt. */
  async #read<T>(answer: Answer, read: Read<T>): Promise<T> {
    try {
      const value = read(answer)
      return isThenable(value) ? await this.#within(value) : value
    } catch (error) {
      throw error instanceof Misfit ? this.#misfit(answer, error) : error
    }
  }

  #within<T>(work: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout>
    return new Promise<T>((resolve, reject) => {
      work.then(resolve, reject)
      this.#interrupt = () => reject(this.#stop.signal.reason)
      // It may have come while the schema began.
      if (this.#stop.signal.aborted) this.#interrupt()
      timer = setTimeout(() => {
        this.#ambiguous = true
        const { totalTimeout } = this.#call.settings
        reject(new TimeoutError(this.#facts(), 'totalTimeout', totalTimeout, 'no verdict of the schema'))
      }, this.#timeLeft())
    }).finally(() => clearTimeout(timer))
  }

  #misfit({ status, headers }: Pick<Answer, 'status' | 'headers'>, misfit: Misfit): ResponseError {
    this.#ambiguous = true
    const redacted = new Misfit(this.#redactor.json(misfit.issues) as Issue[], {
      ...misfit,
      body: this.#redactor.json(misfit.body),
    })
    return new ResponseError(this.#facts(), { status, headers: this.#redactor.headers(headers) }, redacted)
  }

  #tooLong(): Misfit {
    const { maxResponseBytes } = this.#shared.configuration
    return new Misfit([{ path: [], message: `expected at most ${maxResponseBytes} bytes` }], {
      way: 'Ask for smaller pages, or raise maxResponseBytes.',
    })
  }

  #facts(): CallFacts {
    const { method, path, idempotencyKey, page } = this.#call
    const outcomeUnknown = this.#ambiguous && idempotencyKey !== undefined
    return { method, path, attempts: this.#attempts, idempotencyKey, outcomeUnknown, page }
  }

  #tell(happening: Happening): void {
    const { method, path, page } = this.#call
    tell(this.#shared.configuration.onEvent, { call: this.#id, method, path, page, ...happening })
  }
}

/** Where the engine can: a stack that leads to who made the call, not into ky, which would fill it. */
function showCaller(error: Error): void {
  const { captureStackTrace } = Error as { captureStackTrace?: (error: Error, above: unknown) => void }
  captureStackTrace?.(error, showCaller)
}
