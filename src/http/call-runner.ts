import {
  type AnyApiError,
  type CallInfo,
  ConnectionError,
  HttpError,
  InvalidResponseError,
  TimeoutError,
} from '../errors.js'
import { type EventDetails, emit } from '../events.js'
import { ApiKey } from '../internal/api-key.js'
import { requestIdOf } from '../internal/headers.js'
import { Redactor } from '../internal/redact.js'
import type { Fetch } from '../options.js'
import { Attempt, type AttemptResult, isSuccess, noStoreOption, type ReceivedResponse } from './attempt.js'
import type { Call, ClientState, ParseResponse, SuccessResponse } from './call.js'
import { describeNetworkError, httpErrorHint } from './error-hints.js'
import { InvalidBody } from './invalid-body.js'
import { AttemptFailure, runAttempts } from './ky.js'
import { classifyNetworkError } from './network-error.js'
import { parseErrorBody } from './response-body.js'
import {
  backoffMs,
  type CallHistory,
  type FailedAttempt,
  isKeyInUse,
  isRetryable,
  isThrottled,
  maxRetryAfterMs,
  mayHaveBeenApplied,
} from './retry.js'
import { parseRetryAfter } from './retry-after.js'

/** The limit that applies to an attempt: its own, or the rest of the call's. */
type TimeLimit = 'timeout' | 'totalTimeout'

/** Runs one call: its attempts, the decision after each, and the call's result or error. */
export class CallRunner {
  readonly #call: Call
  readonly #callId: string
  readonly #url: string
  readonly #fetch: Fetch
  readonly #state: ClientState

  readonly #startedAt = performance.now()
  readonly #redactor: Redactor
  #attempts = 0
  /** An earlier attempt may have been applied. */
  #mayHaveBeenApplied = false
  #lastStatus: number | undefined
  #requestId: string | undefined
  /** What the last attempt failed with. */
  #lastError: AnyApiError | undefined
  /** What the latest retry has cost. */
  #retryCost: number | undefined
  #isAborted = false
  /** Cancels what the call is waiting for. */
  #cancel: () => void = () => {}

  constructor(
    call: Call,
    { callId, url, fetch }: { callId: string; url: string; fetch: Fetch },
    state: ClientState,
  ) {
    this.#call = call
    this.#callId = callId
    this.#url = url
    this.#fetch = fetch
    this.#state = state
    this.#redactor = new Redactor(state.apiKeys.recent)
  }

  async run<T>(parse: ParseResponse<T>): Promise<T> {
    const { signals } = this.#call
    const onAbort = () => {
      if (this.#isAborted) return
      this.#isAborted = true
      this.#cancel()
    }
    for (const signal of signals) signal?.addEventListener('abort', onAbort)
    try {
      const response = await this.#send()
      this.#state.retryBudget.refund(this.#retryCost)
      return await this.#parse(response, parse)
    } catch (error) {
      const durationMs = performance.now() - this.#startedAt
      this.#emit({ type: 'failure', attempt: this.#attempts, durationMs, error })
      throw error
    } finally {
      for (const signal of signals) signal?.removeEventListener('abort', onAbort)
    }
  }

  /** ky runs the attempts. It never sees headers or a body, so nothing in it holds the API key. */
  async #send(): Promise<SuccessResponse> {
    let success: SuccessResponse | undefined
    try {
      await runAttempts(this.#url, {
        method: this.#call.method,
        fetch: async () => {
          const received = await this.#attempt()
          success = this.#toSuccess(received)
          return received.response
        },
      })
    } catch (error) {
      if (error instanceof AttemptFailure) throw error.reason
      // The response has been read: what ky then meets in one of a custom fetch changes nothing.
      if (success === undefined) throw error
    }
    return success as SuccessResponse
  }

  /** One attempt, from the API key to the last byte. Throws an `AttemptFailure` unless the response is 2xx. */
  async #attempt(): Promise<ReceivedResponse> {
    if (this.#isAborted) throw new AttemptFailure(this.#abortReason)
    this.#attempts++
    const { maxResponseBytes, apiKeys } = this.#state
    const { method, settings, idempotencyKey, body } = this.#call
    const headers = { ...settings.headers }
    if (idempotencyKey !== undefined) {
      headers['content-type'] = 'application/json'
      headers['idempotency-key'] = idempotencyKey
    }
    const startedAt = performance.now()
    const remainingMs = this.#remainingMs()
    const limit = settings.timeout <= remainingMs ? 'timeout' : 'totalTimeout'
    let pendingKey: ReturnType<typeof apiKeys.get> = null
    const attempt = new Attempt({
      url: this.#url,
      init: { method, headers, ...noStoreOption(), ...(body === undefined ? {} : { body }) },
      apiKey: () => {
        pendingKey = apiKeys.get()
        return pendingKey
      },
      fetch: this.#fetch,
      maxResponseBytes,
      onSend: apiKey => {
        const { 'api-key': ownKey } = headers
        if (apiKey !== null) this.#redactor.addKey(apiKey)
        else if (ownKey !== undefined) this.#redactor.addKey(new ApiKey(ownKey))
        this.#emit({ type: 'request', attempt: this.#attempts, idempotencyKey })
      },
    })
    this.#cancel = () => attempt.cancel()
    const result = await attempt.run(Math.min(settings.timeout, remainingMs))
    if (result.type === 'timeout' && !result.isSent) apiKeys.invalidate(pendingKey)
    if (result.type === 'response') this.#onResponse(result.received, performance.now() - startedAt)
    return this.#toResponse(result, limit)
  }

  #onResponse({ status, headers }: ReceivedResponse, durationMs: number): void {
    this.#requestId = requestIdOf(headers)
    if (this.#state.onEvent === undefined) return
    this.#emit({
      type: 'response',
      attempt: this.#attempts,
      status,
      headers: this.#redactor.headers(headers),
      requestId: this.#redactedRequestId,
      durationMs,
    })
  }

  #remainingMs(): number {
    return Math.max(0, this.#startedAt + this.#call.settings.totalTimeout - performance.now())
  }

  /** The response of an attempt if it is 2xx. */
  #toResponse(result: AttemptResult, limit: TimeLimit): ReceivedResponse {
    switch (result.type) {
      case 'response':
        if (isSuccess(result.received.status)) return result.received
        // The listener of the response may have aborted the call.
        if (this.#isAborted) throw new AttemptFailure(this.#abortReason)
        throw this.#onHttpError(result.received)
      case 'network-error':
        throw this.#onNetworkError(result.error, result.phase)
      case 'timeout':
        throw this.#onTimeout(result.isSent, limit)
      case 'api-key-error':
        throw this.#onApiKeyError(result.error)
      case 'aborted':
        throw new AttemptFailure(this.#abortReason)
    }
  }

  #onHttpError({ status, headers, bytes }: ReceivedResponse): AttemptFailure {
    if (isThrottled(status)) this.#call.onThrottled?.()
    const retryAfterMs = parseRetryAfter(headers)
    return this.#fail({ status, retryAfterMs }, info => {
      const body = bytes && this.#redactor.json(parseErrorBody(bytes, headers.get('content-type') ?? ''))
      const response = { status, headers: this.#redactor.headers(headers), body, retryAfterMs }
      const { page, settings } = this.#call
      const hint = httpErrorHint(status, retryAfterMs, {
        ...this.#history,
        isList: page !== undefined,
        sendsNoKey: settings.sendsNoApiKey && settings.headers['api-key'] === undefined,
        isOutcomeUnknown: info.outcomeUnknown,
      })
      return HttpError.create(info, response, hint)
    })
  }

  #onNetworkError(error: unknown, phase: 'sending' | 'reading'): AttemptFailure {
    const { reason, code } = classifyNetworkError(error, phase)
    return this.#fail({ networkError: reason }, info => {
      const { problem, hint } = describeNetworkError(reason, phase, {
        code: code && this.#redactor.text(code),
        isOutcomeUnknown: info.outcomeUnknown,
      })
      return ConnectionError.create({ info, problem, hint, cause: this.#redactor.cause(error) })
    })
  }

  #onTimeout(isSent: boolean, limit: TimeLimit): AttemptFailure {
    const ms = this.#call.settings[limit]
    return this.#fail(isSent ? {} : { networkError: 'not-connected' }, info => {
      const missing = isSent ? 'no complete response' : 'the apiKey function returned no key'
      // After earlier attempts, each of which had its own limit, more time for the call alone may change nothing.
      const options =
        limit === 'totalTimeout' && info.attempts > 1 ? '`timeout` and `totalTimeout`' : `\`${limit}\``
      const hint = `Raise ${options} if ${isSent ? 'the service' : 'apiKey'} needs longer.`
      return TimeoutError.create({ info, problem: `${missing} within the ${limit} of ${ms} ms`, hint }, ms)
    })
  }

  /** The caller's error, unless it would hide that an earlier attempt may have been applied. */
  #onApiKeyError(error: unknown): AttemptFailure {
    // The retry that this cost is not sent.
    this.#state.retryBudget.refund(this.#retryCost ?? 0)
    const earlier = this.#lastError
    if (!earlier?.outcomeUnknown) return new AttemptFailure(error)
    earlier.message += ' Not retried: the apiKey function failed, see error.cause.'
    Object.defineProperty(earlier, 'cause', { value: error, configurable: true, writable: true })
    return new AttemptFailure(earlier)
  }

  /** Plans the retry of a failed attempt, and creates its error accordingly. */
  #fail(failed: FailedAttempt, createError: (info: CallInfo) => AnyApiError): AttemptFailure {
    const retry = isRetryable(failed, this.#history) ? this.#planRetry(failed) : undefined
    this.#mayHaveBeenApplied ||= this.#call.idempotencyKey !== undefined && mayHaveBeenApplied(failed)
    // No response and "rate limited" say nothing about an earlier request with the same key.
    if (failed.status !== undefined && failed.status !== 429) this.#lastStatus = failed.status
    const isBudgetExhausted = retry === 'budget exhausted'
    const error = createError({ ...this.#callInfo(), isBudgetExhausted })
    this.#lastError = error
    if (retry === undefined || isBudgetExhausted) return new AttemptFailure(error)
    this.#emit({ type: 'retry', attempt: this.#attempts, delayMs: retry, error })
    return new AttemptFailure(error, () => this.#backoff(retry))
  }

  /** The delay before the next attempt, why there is none, or `undefined` if there must be none. */
  #planRetry({ status, retryAfterMs = 0 }: FailedAttempt): number | 'budget exhausted' | undefined {
    if (this.#attempts > this.#call.settings.maxRetries) return undefined
    const delayMs = Math.max(backoffMs(this.#attempts), retryAfterMs)
    if (retryAfterMs > maxRetryAfterMs || delayMs >= this.#remainingMs()) return undefined
    this.#retryCost = this.#state.retryBudget.take(status)
    return this.#retryCost === undefined ? 'budget exhausted' : delayMs
  }

  #backoff(delayMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, delayMs)
      this.#cancel = () => {
        clearTimeout(timer)
        // The retry that this cost is not sent.
        this.#state.retryBudget.refund(this.#retryCost)
        reject(new AttemptFailure(this.#abortReason))
      }
      if (this.#isAborted) this.#cancel()
    })
  }

  #toSuccess({ status, headers, bytes }: ReceivedResponse): SuccessResponse {
    if (bytes === undefined) {
      const { maxResponseBytes } = this.#state
      const hint =
        this.#call.page === undefined
          ? 'Raise `maxResponseBytes`.'
          : 'Request smaller pages with `limit`, or raise `maxResponseBytes`.'
      const invalid = InvalidBody.forWholeBody(`expected at most ${maxResponseBytes} bytes`, hint)
      throw new AttemptFailure(this.#toInvalidResponseError(status, headers, invalid))
    }
    this.#lastStatus = status
    return {
      status,
      headers,
      requestId: this.#requestId,
      contentType: headers.get('content-type') ?? '',
      bytes,
      info: this.#callInfo(),
      emit: details => this.#emit(details),
    }
  }

  async #parse<T>(response: SuccessResponse, parse: ParseResponse<T>): Promise<T> {
    try {
      return await this.#withinTotalTimeout(parse(response))
    } catch (error) {
      if (!(error instanceof InvalidBody)) throw error
      throw this.#toInvalidResponseError(response.status, response.headers, error)
    }
  }

  /** The caller's schema may be asynchronous: it can be aborted, and must finish in time. */
  #withinTotalTimeout<T>(value: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout>
    return new Promise<T>((resolve, reject) => {
      value.then(resolve, reject)
      this.#cancel = () => reject(this.#abortReason)
      // The signal may have been aborted when the schema began.
      if (this.#isAborted) this.#cancel()
      timer = setTimeout(() => {
        this.#mayHaveBeenApplied = true
        const { totalTimeout } = this.#call.settings
        const problem = `the schema did not finish within the totalTimeout of ${totalTimeout} ms`
        const hint = 'Raise `totalTimeout`, or make the schema faster.'
        reject(TimeoutError.create({ info: this.#callInfo(), problem, hint }, totalTimeout))
      }, this.#remainingMs())
    }).finally(() => clearTimeout(timer))
  }

  #toInvalidResponseError(status: number, headers: Headers, invalid: InvalidBody): InvalidResponseError {
    this.#mayHaveBeenApplied = true
    return InvalidResponseError.create(this.#callInfo(), {
      status,
      headers: this.#redactor.headers(headers),
      issues: this.#redactor.json(invalid.issues) as InvalidBody['issues'],
      cause: this.#redactor.cause(invalid.cause),
      body: this.#redactor.json(invalid.body),
      hint: invalid.hint,
      isCustomSchema: invalid.isCustomSchema,
    })
  }

  /** Read from the signals: in Node, the target of the event is null for every listener after the first. */
  get #abortReason(): unknown {
    return this.#call.signals.find(signal => signal?.aborted)?.reason
  }

  get #history(): CallHistory {
    return { mayHaveBeenApplied: this.#mayHaveBeenApplied, hasCallerKey: this.#call.hasCallerKey === true }
  }

  #callInfo(): CallInfo {
    const { method, path, idempotencyKey, page } = this.#call
    const isOpen = this.#mayHaveBeenApplied || isKeyInUse(this.#lastStatus, this.#history)
    return {
      method,
      path: this.#redactor.text(path),
      attempts: this.#attempts,
      idempotencyKey,
      outcomeUnknown: isOpen && idempotencyKey !== undefined,
      page,
      requestId: this.#redactedRequestId,
    }
  }

  get #redactedRequestId(): string | undefined {
    return this.#requestId && this.#redactor.text(this.#requestId, 1)
  }

  #emit(details: EventDetails): void {
    const { onEvent } = this.#state
    if (onEvent === undefined) return
    const { method, path, route = path, page } = this.#call
    const shown = (text: string) => this.#redactor.text(text)
    const base = {
      callId: this.#callId,
      method,
      url: shown(this.#url),
      path: shown(path),
      route: shown(route),
      page,
    }
    emit(onEvent, { ...base, ...details })
  }
}
