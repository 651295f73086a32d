import type { AnyApiError, ApiError } from '../errors.js'
import type { ApiKeyProvider } from '../internal/api-key.js'
import type { CallSite } from '../internal/call-site.js'
import { requestIdOf } from '../internal/headers.js'
import type { IdempotencyKeys } from '../internal/idempotency-key.js'
import { resolveBaseUrl } from '../internal/url.js'
import { type CallSettings, type ClientConfig, type Fetch, totalTimeoutOf } from '../options.js'
import { isThenable } from '../schema.js'
import { Attempt, isSuccess, noStoreOption, type ReceivedResponse } from './attempt.js'
import { CallReport, type Sequel } from './call-report.js'
import { classifyNetworkError } from './network-error.js'
import { InvalidBody, invalid } from './response-body.js'
import {
  backoffMs,
  type CallHistory,
  type FailedAttempt,
  isRetryable,
  isThrottled,
  maxRetryAfterMs,
  mayHaveBeenApplied,
  parseRetryAfter,
  type RetryBudget,
  successBonus,
} from './retry.js'

/** What all calls of a client share. Clients derived from it share the budget, and the API key unless it was replaced. */
export interface Transport extends ClientConfig {
  readonly apiKeys: ApiKeyProvider
  readonly retryBudget: RetryBudget
  /** Of this client alone: another may be of another service. */
  readonly idempotencyKeys: IdempotencyKeys
  /** Lists whose service has refused a limit smaller than its own. */
  readonly refusedLimits: Set<string>
}

/** One call, checked and ready to be sent. */
export interface Call {
  readonly method: string
  /** Checked and encoded. */
  readonly path: string
  /** The path with names instead of ids; the path itself when not given. */
  readonly route?: string | undefined
  /** With its question mark, or empty. */
  readonly query: string
  readonly settings: CallSettings
  /** Set on writes, and only there. */
  readonly idempotencyKey?: string | undefined
  /** The idempotency key is the caller's own. */
  readonly hasCallerKey?: boolean
  /** JSON. */
  readonly body?: string | undefined
  /** Any of them cancels the call. */
  readonly signals: readonly (AbortSignal | undefined)[]
  /** Set on lists, and only there. */
  readonly page?: number
  /** The limit that is requested. */
  readonly limit?: number | undefined
  /** Of a loop over a list: its number. */
  readonly loop?: number | undefined
  /** Whether an error says what the caller wanted to know: then it is no failure. */
  readonly expects?: ((error: unknown) => boolean) | undefined
  /** Called as soon as the service asks for fewer requests. */
  readonly onThrottled?: (() => void) | undefined
  readonly site: CallSite
}

/** A 2xx response, and the call that it belongs to. */
export interface SuccessResponse {
  readonly status: number
  readonly headers: Headers
  readonly report: CallReport
}

/** Turns the body of a response into the caller's result. Throws an `InvalidBody` or an `ApiError`. */
export type ParseResponse<T> = (bytes: Uint8Array, response: SuccessResponse) => T | Promise<T>

/** Sends a call, retries it where that may help, and parses its response. */
export async function send<T>(transport: Transport, call: Call, parse: ParseResponse<T>): Promise<T> {
  const { method, path, idempotencyKey, signals } = call
  for (const signal of signals) if (signal?.aborted) throw signal.reason
  if (idempotencyKey !== undefined) transport.idempotencyKeys.take(idempotencyKey, `${method} ${path}`)
  return new CallRun(transport, call).run(parse)
}

const timedOut = Symbol('timed out')

const maxErrorBodyMs = 5_000

/** How an attempt ended: with a 2xx response, or with an error and the delay before the next attempt, if there is one. */
type AttemptResult =
  | { readonly success: ReceivedResponse }
  | { readonly success?: undefined; readonly error: AnyApiError; readonly delayMs: number | undefined }

/** One call: its attempts, what follows from each, and its result or error. */
class CallRun {
  readonly #transport: Transport
  readonly #call: Call
  readonly #url: string
  readonly #fetch: Fetch
  readonly #report: CallReport
  readonly #startedAt = performance.now()
  /** What the latest retry has cost. */
  #retryCost: number | undefined
  /** The same until that retry is sent, then 0: a retry that is not sent costs nothing. */
  #unsentCost = 0
  #lastError: ApiError | undefined
  /** Ends what the call is waiting for. */
  #interrupt: () => void = () => {}

  constructor(transport: Transport, call: Call) {
    this.#transport = transport
    this.#call = call
    this.#url = `${resolveBaseUrl(transport.baseUrl)}${call.path}${call.query}`
    // Looked up at each call, so that later patches take effect.
    const fetch: Fetch | undefined = transport.fetch ?? globalThis.fetch
    if (typeof fetch !== 'function')
      throw new TypeError('fetch: this runtime has none, so pass one as the option `fetch`')
    this.#fetch = fetch
    this.#report = new CallReport(transport, call, this.#url)
  }

  async run<T>(parse: ParseResponse<T>): Promise<T> {
    const { signals } = this.#call
    const { retryBudget } = this.#transport
    const onAbort = () => this.#interrupt()
    for (const signal of signals) signal?.addEventListener('abort', onAbort)
    try {
      for (;;) {
        const result = await this.#runAttempt()
        if (result.success) {
          retryBudget.refund(this.#retryCost ?? successBonus)
          return await this.#parse(result.success, parse)
        }
        if (result.delayMs === undefined) throw result.error
        // A new promise each time: one for all would keep every call that waited for it in memory.
        await this.#within(result.delayMs, new Promise<never>(() => {}))
        // The program was too busy.
        if (this.#remainingMs() === 0) throw result.error.with({ isRetried: false })
      }
    } catch (error) {
      this.#refundUnsentRetry()
      const durationMs = performance.now() - this.#startedAt
      if (!this.#call.expects?.(error))
        this.#report.emit({ type: 'failure', attempt: this.#report.attempts, durationMs, error })
      throw error
    } finally {
      for (const signal of signals) signal?.removeEventListener('abort', onAbort)
    }
  }

  /**
   * Settles as the work does, unless the call is aborted before (it rejects) or the time is over before (it resolves to
   * `timedOut`). Work that ignores both is not waited for. By `finally` it would settle a microtask later than the abort.
   */
  #within<T>(ms: number, work: Promise<T>): Promise<T | typeof timedOut> {
    return new Promise((resolve, reject) => {
      // A program that was too busy may be late: Node warns of a negative delay.
      const timer = setTimeout(resolve, Math.max(0, ms), timedOut)
      const end =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          clearTimeout(timer)
          settle(value)
        }
      this.#interrupt = () => end(reject)(this.#aborted?.reason)
      if (this.#aborted) this.#interrupt()
      work.then(end(resolve), end(reject))
    })
  }

  /** One request and its whole response, within one time limit. */
  async #runAttempt(): Promise<AttemptResult> {
    this.#report.attempts++
    const startedAt = performance.now()
    const remainingMs = this.#remainingMs()
    const { timeout } = this.#call.settings
    const limit = timeout <= remainingMs ? 'timeout' : 'totalTimeout'
    const endsAt = startedAt + Math.min(timeout, remainingMs)
    const attempt = this.#createAttempt(endsAt)
    let complete: ReceivedResponse | undefined
    try {
      const sending = attempt.send()
      const received = await this.#within(endsAt - performance.now(), sending)
      if (received === timedOut) return this.#failOnTimeout(attempt, limit)
      const leftMs = endsAt - performance.now()
      complete = isSuccess(received.status) ? received : await this.#readError(attempt, received, leftMs)
    } catch (error) {
      this.#throwIfAborted()
      if (error === timedOut) return this.#failOnTimeout(attempt, limit)
      return attempt.phase === 'key' ? this.#failOnKey(error) : this.#failOnNetwork(error, attempt.phase)
    } finally {
      if (complete === undefined) attempt.cancel()
    }
    this.#report.requestId = requestIdOf(complete.headers)
    this.#report.emitResponse(complete, performance.now() - startedAt)
    this.#throwIfAborted()
    return isSuccess(complete.status) ? { success: complete } : this.#failOnStatus(complete)
  }

  /** An error is reported with or without its body: half of the remaining time must be enough for it. */
  async #readError(attempt: Attempt, received: ReceivedResponse, leftMs: number): Promise<ReceivedResponse> {
    const limitMs = Math.min(maxErrorBodyMs, leftMs / 2)
    const bytes = await this.#within(limitMs, attempt.readErrorBody(received))
    if (bytes !== timedOut) return { ...received, bytes }
    attempt.cancel()
    return received
  }

  #createAttempt(endsAt: number): Attempt {
    const { method, settings, idempotencyKey, body } = this.#call
    const headers = { ...settings.headers }
    if (idempotencyKey !== undefined) {
      headers['content-type'] = 'application/json'
      headers['idempotency-key'] = idempotencyKey
    }
    const { apiKeys, maxResponseBytes } = this.#transport
    return new Attempt({
      apiKeys,
      maxResponseBytes,
      url: this.#url,
      fetch: this.#fetch,
      init: { method, headers, ...(body === undefined ? {} : { body }), ...noStoreOption() },
      onSend: (apiKey, hasWaited) => {
        // A program that was too busy may get the key too late, before any timer fires.
        if (hasWaited && performance.now() >= endsAt) throw timedOut
        if (apiKey !== null) this.#report.sentKeys.add(apiKey)
        this.#unsentCost = 0
        this.#report.emit({ type: 'request', attempt: this.#report.attempts, idempotencyKey })
        this.#throwIfAborted()
      },
    })
  }

  #failOnStatus(received: ReceivedResponse): AttemptResult {
    const { status, headers } = received
    if (isThrottled(status)) this.#call.onThrottled?.()
    const failed = { status, retryAfterMs: parseRetryAfter(headers) }
    return this.#fail(failed, sequel => this.#report.httpError(received, failed, sequel))
  }

  #failOnNetwork(error: unknown, phase: 'sending' | 'reading'): AttemptResult {
    const failed = classifyNetworkError(error, phase, this.#url)
    return this.#fail(failed, sequel => this.#report.connectionError(error, failed, sequel))
  }

  #failOnTimeout({ phase }: Attempt, limit: 'timeout' | 'totalTimeout'): AttemptResult {
    const isSent = phase !== 'key'
    if (!isSent) this.#transport.apiKeys.forgetPending()
    // Within `totalTimeout` there may have been responses that were retried.
    const awaited = limit === 'timeout' ? 'no complete response' : 'no success'
    const problem = isSent ? awaited : 'the apiKey function returned no key'
    const hint = ` if ${isSent ? 'the service' : 'apiKey'} needs longer.`
    return this.#fail({ isSent, isRetryable: true }, sequel =>
      this.#report.timeoutError(limit, problem, hint, sequel),
    )
  }

  /** The caller's error, unless it would hide that an earlier attempt may have been applied. */
  #failOnKey(cause: unknown): never {
    if (!this.#lastError || !this.#report.info.outcomeUnknown) throw cause
    const note = 'Not retried: the apiKey function failed, see error.cause.'
    throw this.#lastError.with({ cause, note, isRetried: false })
  }

  /** Decides whether a failed attempt is retried, and creates its error accordingly. */
  #fail(failed: FailedAttempt, createError: (sequel: Sequel) => AnyApiError): AttemptResult {
    this.#refundUnsentRetry()
    const report = this.#report
    const { hasCallerKey = false } = this.#call
    // As it was before this attempt: a 409 is judged by the earlier ones.
    const history: CallHistory = { hasCallerKey, mayHaveBeenApplied: report.mayHaveBeenApplied }
    let delayMs = isRetryable(failed, history) ? this.#delayOf(failed) : undefined
    let note: string | undefined
    if (delayMs !== undefined) {
      this.#retryCost = this.#transport.retryBudget.take(failed.status)
      this.#unsentCost = this.#retryCost ?? 0
      if (this.#retryCost === undefined) {
        delayMs = undefined
        note = 'Not retried: too many calls failed recently (retry budget).'
      }
    }
    report.mayHaveBeenApplied ||= mayHaveBeenApplied(failed, history)
    const error = createError({ isRetried: delayMs !== undefined, note })
    this.#lastError = error
    if (delayMs !== undefined) report.emit({ type: 'retry', attempt: report.attempts, delayMs, error })
    return { error, delayMs }
  }

  /** The delay before the next attempt; `undefined` if there must be none. */
  #delayOf(failed: FailedAttempt): number | undefined {
    const { retryAfterMs = 0 } = failed.status === undefined ? {} : failed
    const delayMs = Math.max(backoffMs(this.#report.attempts), retryAfterMs)
    const isTooLong = retryAfterMs > maxRetryAfterMs || delayMs >= this.#remainingMs()
    return isTooLong || this.#report.attempts > this.#call.settings.maxRetries ? undefined : delayMs
  }

  #refundUnsentRetry(): void {
    this.#transport.retryBudget.refund(this.#unsentCost)
    this.#unsentCost = 0
  }

  #remainingMs(): number {
    return Math.max(0, this.#startedAt + totalTimeoutOf(this.#call.settings) - performance.now())
  }

  async #parse<T>(received: ReceivedResponse, parse: ParseResponse<T>): Promise<T> {
    const { status, headers, bytes } = received
    // For an error from here on.
    this.#report.mayHaveBeenApplied = true
    try {
      if (bytes === undefined) throw this.#tooLarge()
      const parsed = parse(bytes, { status, headers, report: this.#report })
      // The caller's schema may be asynchronous: it can be aborted, and must finish in time.
      const value = isThenable(parsed) ? await this.#within(this.#remainingMs(), parsed) : parsed
      this.#throwIfAborted()
      if (value !== timedOut) return value
    } catch (error) {
      if (!(error instanceof InvalidBody)) throw error
      throw this.#report.invalidResponseError(received, error)
    }
    const problem = 'the schema did not finish'
    throw this.#report.timeoutError('totalTimeout', problem, ', or make the schema faster.')
  }

  #tooLarge(): InvalidBody {
    const smaller = this.#call.page === undefined ? 'Raise' : 'Request smaller pages with `limit`, or raise'
    return invalid(
      `expected at most ${this.#transport.maxResponseBytes} bytes`,
      `${smaller} \`maxResponseBytes\`.`,
    )
  }

  /** Read from the signals: in Node, the target of the event is null for every listener after the first. */
  get #aborted(): AbortSignal | undefined {
    return this.#call.signals.find(signal => signal?.aborted)
  }

  #throwIfAborted(): void {
    if (this.#aborted) throw this.#aborted.reason
  }
}
