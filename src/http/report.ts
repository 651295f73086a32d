import {
  type AnyApiError,
  type CallInfo,
  ConnectionError,
  type ErrorFacts,
  HttpError,
  InvalidResponseError,
  TimeoutError,
} from '../errors.js'
import { type EventDetails, emit } from '../events.js'
import { requestIdOf } from '../internal/headers.js'
import type { Redactor } from '../internal/redact.js'
import type { NoResponse, Outcome, ReceivedResponse } from './attempt.js'
import { type InvalidBody, parseErrorBody } from './body.js'
import type { Call, Transport } from './call.js'
import { describeHttpError, describeNoResponse } from './failure.js'
import { parseRetryAfter } from './retry.js'

let callCount = 0
const callIdPrefix = /* @__PURE__ */ Math.random().toString(36).slice(2, 10)

/** Whether another attempt follows a failure, and why not. */
export type Sequel = Pick<ErrorFacts, 'isRetried' | 'note'>

/**
 * What a call says to others: its events and its errors. Nothing leaves it with an API key. Its fields are what is known of the
 * call so far.
 */
export class CallReport {
  attempts = 0
  /** An attempt may have been applied. */
  mayHaveBeenApplied = false
  /** The id of the last complete response. */
  requestId: string | undefined
  readonly #transport: Transport
  readonly #call: Call
  readonly #url: string
  readonly #callId = `${callIdPrefix}-${++callCount}`
  readonly #keys = new Set<string>()

  constructor(transport: Transport, call: Call, url: string) {
    this.#transport = transport
    this.#call = call
    this.#url = url
  }

  /** What every error says about the call. */
  get info(): CallInfo {
    const { method, path, idempotencyKey, page, limit, loop, site } = this.#call
    const { attempts, requestId } = this
    const outcomeUnknown = this.mayHaveBeenApplied && idempotencyKey !== undefined
    const call = { method, path: this.#redact.text(path), idempotencyKey, page, limit, loop, site }
    return { ...call, attempts, outcomeUnknown, requestId }
  }

  emit(details: EventDetails): void {
    const { onEvent } = this.#transport
    if (onEvent === undefined) return
    const { method, path, page, loop } = this.#call
    const url = this.#redact.text(this.#url)
    const base = { callId: this.#callId, method, url, path: this.#redact.text(path), page, loop }
    emit(onEvent, { ...base, ...details })
  }

  emitRequest(apiKey: string | null): void {
    if (apiKey !== null) {
      this.#keys.add(apiKey)
      this.#transport.redactor.add(apiKey)
    }
    this.emit({ type: 'request', attempt: this.attempts, idempotencyKey: this.#call.idempotencyKey })
  }

  emitResponse({ status, headers }: ReceivedResponse, durationMs: number): void {
    const requestId = requestIdOf(headers)
    this.requestId = requestId && this.#redact.text(requestId)
    if (this.#transport.onEvent === undefined) return
    const shown = { status, headers: this.#redact.headers(headers), requestId: this.requestId }
    this.emit({ type: 'response', attempt: this.attempts, ...shown, durationMs })
  }

  /** The error for an attempt that failed. */
  createError(outcome: Outcome, sequel: Sequel): AnyApiError {
    if (outcome.status !== undefined) return this.#httpError(outcome, sequel)
    return outcome.isTimeout ? this.#timeoutError(outcome, sequel) : this.#connectionError(outcome, sequel)
  }

  #httpError({ status, headers, text }: ReceivedResponse, sequel: Sequel): HttpError {
    const shown = {
      status,
      headers: this.#redact.headers(headers),
      body: this.#redact.json(parseErrorBody(text)),
      retryAfterMs: parseRetryAfter(headers),
    }
    const { page, idempotencyKey } = this.#call
    const hasIdempotencyKey = idempotencyKey !== undefined
    const { problem, hint } = describeHttpError({ ...shown, url: this.#url, page, hasIdempotencyKey })
    // Where a redirect leads was parsed, which may show a key that was spelled otherwise.
    return new HttpError({ ...shown, problem: this.#redact.text(problem), hint, ...sequel, info: this.info })
  }

  #timeoutError({ reason }: NoResponse, sequel: Sequel): TimeoutError {
    const timeoutMs = this.#call.settings.timeout
    const isSent = reason !== 'not-sent'
    const problem = isSent ? 'no complete response' : 'the apiKey function returned no key'
    const hint = `Raise \`timeout\` (milliseconds) if ${isSent ? 'the service' : 'apiKey'} needs longer.`
    return new TimeoutError({
      ...sequel,
      info: this.info,
      problem: `${problem} within the timeout of ${timeoutMs} ms`,
      hint,
      timeoutMs,
    })
  }

  #connectionError(outcome: NoResponse, sequel: Sequel): ConnectionError {
    const { problem, hint } = describeNoResponse(outcome, this.#url)
    const cause = this.#redact.cause(outcome.cause)
    return new ConnectionError({
      ...sequel,
      info: this.info,
      problem: this.#redact.text(problem),
      hint,
      cause,
    })
  }

  invalidResponseError({ status, headers }: ReceivedResponse, { facts }: InvalidBody): InvalidResponseError {
    const { issues, hint, body, isCustomSchema = false } = facts
    const redact = this.#redact
    const toShown = (key: PropertyKey) =>
      redact.text(String(key)) === String(key) ? key : redact.text(String(key))
    return new InvalidResponseError({
      info: this.info,
      status,
      headers: redact.headers(headers),
      issues: issues.map(({ path, message }) => ({ path: path.map(toShown), message: redact.text(message) })),
      cause: redact.cause(issues.find(issue => issue.cause !== undefined)?.cause),
      body: redact.json(body),
      hint,
      isCustomSchema,
    })
  }

  /** Knows the keys of this call, however many others were sent meanwhile. */
  get #redact(): Redactor {
    const { redactor } = this.#transport
    for (const key of this.#keys) redactor.add(key)
    return redactor
  }
}
