import {
  type AnyApiError,
  type ApiError,
  type CallInfo,
  ConnectionError,
  type ErrorFacts,
  HttpError,
  InvalidResponseError,
  TimeoutError,
} from '../errors.js'
import { type EventDetails, emit } from '../events.js'
import type { ApiKeyProvider } from '../internal/api-key.js'
import type { CallSite } from '../internal/call-site.js'
import { toLine } from '../internal/describe.js'
import { findErrorDetails } from '../internal/error-details.js'
import { requestIdOf } from '../internal/headers.js'
import type { IdempotencyKeys } from '../internal/idempotency-key.js'
import { Redactor } from '../internal/redact.js'
import { resolveBaseUrl } from '../internal/url.js'
import type { CallSettings, ClientConfig, Fetch } from '../options.js'
import { isThenable } from '../schema.js'
import { Attempt, isSuccess, noStoreOption, type ReceivedResponse } from './attempt.js'
import { describeHttpError, maxReasonLength } from './http-error.js'
import { classifyNetworkError, InvalidFetchError } from './network-error.js'
import { InvalidBody, invalid, parseErrorBody } from './response-body.js'
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

/** What all calls of a client share. Clients derived from it share the budget; the API key and what it was used for, unless it or the service is another. */
export interface Transport extends ClientConfig {
  readonly apiKeys: ApiKeyProvider
  readonly retryBudget: RetryBudget
  readonly idempotencyKeys: IdempotencyKeys
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
  /** Called as soon as the service asks for fewer requests. */
  readonly onThrottled?: (() => void) | undefined
  readonly site: CallSite
}

/** A 2xx response, and the call that it belongs to. */
export interface SuccessResponse {
  readonly status: number
  readonly headers: Headers
  readonly requestId: string | undefined
  readonly attempts: number
  /** What an error says about the call. */
  readonly info: () => CallInfo
  /** Emits an event of this call. */
  readonly emit: (details: EventDetails) => void
}

/** Turns the body of a response into the caller's result. Throws an `InvalidBody` or an `ApiError`. */
export type ParseResponse<T> = (bytes: Uint8Array, response: SuccessResponse) => T | Promise<T>

/** Sends a call, retries it where that may help, and parses its response. */
export async function send<T>(transport: Transport, call: Call, parse: ParseResponse<T>): Promise<T> {
  for (const signal of call.signals) if (signal?.aborted) throw signal.reason
  return new CallRun(transport, call).run(parse)
}

const timedOut = Symbol('timed out')

const maxErrorBodyMs = 5_000

/** How an attempt ended: with a 2xx response, or with an error and the delay before the next attempt, if there is one. */
type AttemptResult =
  | { readonly success: ReceivedResponse }
  | { readonly success?: undefined; readonly error: AnyApiError; readonly delayMs: number | undefined }

type CreateError = (facts: Pick<ErrorFacts, 'info' | 'isRetried' | 'note'>) => AnyApiError

let callCount = 0
const callIdPrefix = /* @__PURE__ */ Math.random().toString(36).slice(2, 10)

/** One call: its attempts, what follows from each, and its result or error. */
class CallRun {
  readonly #transport: Transport
  readonly #call: Call
  readonly #url: string
  readonly #fetch: Fetch
  readonly #callId = `${callIdPrefix}-${++callCount}`
  readonly #startedAt = performance.now()
  #attempts = 0
  /** An attempt may have been applied. */
  #mayHaveBeenApplied = false
  #requestId: string | undefined
  /** What the latest retry has cost. */
  #retryCost: number | undefined
  /** The part of it that is given back unless the retry is sent. */
  #unsentCost = 0
  #lastError: ApiError | undefined
  readonly #sentKeys = new Set<string>()
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
        this.#throwIfAborted()
        if (result.delayMs === undefined) throw result.error
        // A promise of its own: one of all calls would hold on to each of them.
        await this.#within(result.delayMs, new Promise<never>(() => {}))
      }
    } catch (error) {
      this.#refundUnsentRetry()
      const durationMs = performance.now() - this.#startedAt
      this.#emit({ type: 'failure', attempt: this.#attempts, durationMs, error })
      throw error
    } finally {
      for (const signal of signals) signal?.removeEventListener('abort', onAbort)
    }
  }

  /**
   * Settles with the work, rejects when the call is aborted, and resolves to `timedOut` when the time is over: at once, even if
   * the work ignores both. Not by `finally`, which would settle a microtask later than the abort.
   */
  #within<T>(ms: number, work: Promise<T>): Promise<T | typeof timedOut> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms, timedOut)
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
    this.#attempts++
    const startedAt = performance.now()
    const remainingMs = this.#remainingMs()
    const { timeout } = this.#call.settings
    const limit = timeout <= remainingMs ? 'timeout' : 'totalTimeout'
    const limitMs = Math.min(timeout, remainingMs)
    const attempt = this.#createAttempt()
    let complete: ReceivedResponse | undefined
    try {
      const received = await this.#within(limitMs, attempt.send())
      if (received === timedOut) return this.#failOnTimeout(attempt, limit)
      const leftMs = startedAt + limitMs - performance.now()
      complete = isSuccess(received.status) ? received : await this.#readError(attempt, received, leftMs)
    } catch (error) {
      this.#throwIfAborted()
      return attempt.phase === 'key' ? this.#failOnKey(error) : this.#failOnNetwork(error, attempt.phase)
    } finally {
      if (complete === undefined) attempt.cancel()
    }
    this.#onResponse(complete, performance.now() - startedAt)
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

  #createAttempt(): Attempt {
    const { method, settings, idempotencyKey, body } = this.#call
    const headers = { ...settings.headers }
    if (idempotencyKey !== undefined) {
      headers['content-type'] = 'application/json'
      headers['idempotency-key'] = idempotencyKey
    }
    const { apiKeys, idempotencyKeys, maxResponseBytes } = this.#transport
    return new Attempt({
      apiKeys,
      maxResponseBytes,
      url: this.#url,
      fetch: this.#fetch,
      init: { method, headers, ...(body === undefined ? {} : { body }), ...noStoreOption() },
      onSend: apiKey => {
        if (apiKey !== null) this.#sentKeys.add(apiKey)
        this.#unsentCost = 0
        if (idempotencyKey !== undefined) idempotencyKeys.remember(idempotencyKey, this.#call)
        this.#emit({ type: 'request', attempt: this.#attempts, idempotencyKey })
        this.#throwIfAborted()
      },
    })
  }

  #onResponse({ status, headers }: ReceivedResponse, durationMs: number): void {
    this.#requestId = requestIdOf(headers)
    if (this.#transport.onEvent === undefined) return
    this.#emit({
      type: 'response',
      attempt: this.#attempts,
      status,
      headers: this.#redactor.headers(headers),
      requestId: this.#redactedRequestId,
      durationMs,
    })
    this.#throwIfAborted()
  }

  #failOnStatus({ status, headers, bytes }: ReceivedResponse): AttemptResult {
    if (isThrottled(status)) this.#call.onThrottled?.()
    const retryAfterMs = parseRetryAfter(headers)
    return this.#fail({ status, retryAfterMs }, facts => {
      const redactor = this.#redactor
      const failed = {
        status,
        headers: redactor.headers(headers),
        body: bytes && redactor.json(parseErrorBody(bytes)),
        retryAfterMs,
      }
      const { problem, hint } = describeHttpError({
        ...failed,
        url: this.#url,
        page: this.#call.page,
        hasCallerKey: this.#call.hasCallerKey === true,
        mayHaveBeenApplied: this.#isOutcomeUnknown,
        apiKey: [...this.#sentKeys].at(-1) ?? this.#keys[0],
        isEmpty: this.#call.idempotencyKey !== undefined && this.#call.body === undefined,
      })
      return new HttpError({ ...facts, ...failed, problem: redactor.text(problem), hint })
    })
  }

  #failOnNetwork(error: unknown, phase: 'sending' | 'reading'): AttemptResult {
    const network = classifyNetworkError(error, phase, this.#url)
    return this.#fail(network, facts => {
      const cause = this.#redactor.cause(error)
      const isShown = phase === 'sending' || error instanceof InvalidFetchError
      const reason = isShown ? reasonOf(cause) : ''
      const problem = this.#redactor.text(network.problem) + reason
      return new ConnectionError({ ...facts, cause, problem, hint: network.hint })
    })
  }

  #failOnTimeout({ phase }: Attempt, limit: 'timeout' | 'totalTimeout'): AttemptResult {
    const isSent = phase !== 'key'
    if (!isSent) this.#transport.apiKeys.forgetPending()
    const timeoutMs = this.#call.settings[limit]
    return this.#fail({ isSent, isRetryable: true }, facts => {
      const missing = isSent ? 'no complete response' : 'the apiKey function returned no key'
      const hint = `Raise \`${limit}\` (milliseconds) if ${isSent ? 'the service' : 'apiKey'} needs longer.`
      const problem = `${missing} within the ${limit} of ${timeoutMs} ms`
      return new TimeoutError({ ...facts, problem, hint, timeoutMs })
    })
  }

  /** The caller's error, unless it would hide that an earlier attempt may have been applied. */
  #failOnKey(cause: unknown): AttemptResult {
    if (!this.#lastError || !this.#isOutcomeUnknown) throw cause
    const note = 'Not retried: the apiKey function failed, see error.cause.'
    throw this.#lastError.with({ cause, note, isRetried: false })
  }

  /** Decides whether a failed attempt is retried, and creates its error accordingly. */
  #fail(failed: FailedAttempt, createError: CreateError): AttemptResult {
    this.#refundUnsentRetry()
    const { hasCallerKey = false } = this.#call
    // As it was before this attempt: a 409 is judged by the earlier ones.
    const history: CallHistory = { hasCallerKey, mayHaveBeenApplied: this.#mayHaveBeenApplied }
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
    this.#mayHaveBeenApplied ||= mayHaveBeenApplied(failed, history)
    const error = createError({ info: this.#callInfo, isRetried: delayMs !== undefined, note })
    this.#lastError = error
    if (delayMs !== undefined) this.#emit({ type: 'retry', attempt: this.#attempts, delayMs, error })
    return { error, delayMs }
  }

  /** The delay before the next attempt; `undefined` if there must be none. */
  #delayOf(failed: FailedAttempt): number | undefined {
    const { retryAfterMs = 0 } = failed.status === undefined ? {} : failed
    const delayMs = Math.max(backoffMs(this.#attempts), retryAfterMs)
    const isTooLong = retryAfterMs > maxRetryAfterMs || delayMs >= this.#remainingMs()
    return isTooLong || this.#attempts > this.#call.settings.maxRetries ? undefined : delayMs
  }

  #refundUnsentRetry(): void {
    this.#transport.retryBudget.refund(this.#unsentCost)
    this.#unsentCost = 0
  }

  #remainingMs(): number {
    return Math.max(0, this.#startedAt + this.#call.settings.totalTimeout - performance.now())
  }

  async #parse<T>({ status, headers, bytes }: ReceivedResponse, parse: ParseResponse<T>): Promise<T> {
    try {
      if (bytes === undefined) throw this.#tooLarge()
      const parsed = parse(bytes, {
        status,
        headers,
        requestId: this.#requestId,
        attempts: this.#attempts,
        info: () => this.#callInfo,
        emit: details => this.#emit(details),
      })
      // The caller's schema may be asynchronous: it can be aborted, and must finish in time.
      const value = isThenable(parsed) ? await this.#within(this.#remainingMs(), parsed) : parsed
      this.#throwIfAborted()
      if (value !== timedOut) return value
    } catch (error) {
      if (error instanceof InvalidBody) throw this.#toInvalidResponseError(status, headers, error)
      throw error
    }
    this.#mayHaveBeenApplied = true
    const { totalTimeout } = this.#call.settings
    throw new TimeoutError({
      info: this.#callInfo,
      problem: `the schema did not finish within the totalTimeout of ${totalTimeout} ms`,
      hint: 'Raise `totalTimeout`, or make the schema faster.',
      timeoutMs: totalTimeout,
    })
  }

  #tooLarge(): InvalidBody {
    const smaller = this.#call.page === undefined ? 'Raise' : 'Request smaller pages with `limit`, or raise'
    return invalid(
      `expected at most ${this.#transport.maxResponseBytes} bytes`,
      `${smaller} \`maxResponseBytes\`.`,
    )
  }

  #toInvalidResponseError(status: number, headers: Headers, { facts }: InvalidBody): InvalidResponseError {
    this.#mayHaveBeenApplied = true
    const redactor = this.#redactor
    const { issues, hint, body, isCustomSchema = false } = facts
    return new InvalidResponseError({
      info: this.#callInfo,
      status,
      headers: redactor.headers(headers),
      issues: issues.map(({ path, message }) => ({
        path: path.map(key =>
          redactor.text(String(key)) === String(key) ? key : redactor.text(String(key)),
        ),
        message: redactor.text(message),
      })),
      cause: redactor.cause(issues.find(issue => issue.cause !== undefined)?.cause),
      body: redactor.json(body),
      hint,
      isCustomSchema,
    })
  }

  /** Read from the signals: in Node, the target of the event is null for every listener after the first. */
  get #aborted(): AbortSignal | undefined {
    return this.#call.signals.find(signal => signal?.aborted)
  }

  #throwIfAborted(): void {
    if (this.#aborted) throw this.#aborted.reason
  }

  get #isOutcomeUnknown(): boolean {
    return this.#mayHaveBeenApplied && this.#call.idempotencyKey !== undefined
  }

  get #callInfo(): CallInfo {
    const { method, path, idempotencyKey, page, site } = this.#call
    return {
      method,
      path: this.#redactor.text(path),
      attempts: this.#attempts,
      idempotencyKey,
      outcomeUnknown: this.#isOutcomeUnknown,
      page,
      requestId: this.#redactedRequestId,
      site,
    }
  }

  get #redactedRequestId(): string | undefined {
    return this.#requestId && this.#redactor.text(this.#requestId, 1)
  }

  /** The API keys that a service may name: those of this call, and those before. */
  get #keys(): readonly string[] {
    const { 'api-key': ownKey } = this.#call.settings.headers
    if (ownKey !== undefined) return [ownKey]
    return [...new Set([...this.#sentKeys, ...this.#transport.apiKeys.recent()])]
  }

  get #redactor(): Redactor {
    return new Redactor(this.#keys)
  }

  #emit(details: EventDetails): void {
    const { onEvent } = this.#transport
    if (onEvent === undefined) return
    const { method, path, route = path, page } = this.#call
    const redactor = this.#redactor
    const base = {
      callId: this.#callId,
      method,
      url: redactor.text(this.#url),
      path: redactor.text(path),
      route: redactor.text(route),
      page,
    }
    emit(onEvent, { ...base, ...details })
  }
}

/** Where the runtime gives no code, the text of its innermost error is all there is: "bad port". */
function reasonOf(cause: Error | undefined): string {
  let inner = cause
  while (inner?.cause instanceof Error) inner = inner.cause
  const isKnown = findErrorDetails(cause).code !== undefined
  return isKnown || !inner?.message || inner.message.startsWith('[object')
    ? ''
    : `: "${toLine(inner.message, maxReasonLength)}"`
}
