import {
  type AnyApiError,
  type CallInfo,
  ConnectionError,
  HttpError,
  InvalidResponseError,
  TimeoutError,
} from '../errors.js'
import type { EventDetails } from '../events.js'
import { requestIdOf } from '../internal/headers.js'
import { property } from '../internal/object.js'
import type { Redactor } from '../internal/redact.js'
import { parseRetryAfter } from './backoff.js'
import { type InvalidBody, maxIssues, parseErrorBody } from './body.js'
import { describeHttpError, describeIssues, describeMismatch, describeNoResponse } from './failure.js'
import type { Call, Outcome, ReceivedResponse, Transport } from './types.js'

let callCount = 0
const callIdPrefix = /* @__PURE__ */ Math.random().toString(36).slice(2, 10)

/**
 * What a call says to others: its events and its errors. Nothing leaves it with an API key. Its fields are what is known of the
 * call so far.
 */
export class CallReport {
  attempts = 0
  /** Attempts that count against `maxRetries`: all that failed but for a 429. */
  failures = 0
  /** Of the last attempt, if it failed. */
  lastError: AnyApiError | undefined
  /** An attempt may have been applied. */
  mayHaveBeenApplied = false
  /** An event has said that it waits for its turn. */
  #hasSaidToWait = false
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
    const call = { method, path: this.#redactor().text(path), idempotencyKey, page, limit, loop, site }
    return { ...call, attempts, outcomeUnknown, requestId }
  }

  emit(details: EventDetails): void {
    const { onEvent } = this.#transport
    if (onEvent === undefined) return
    const { method, path, page, loop } = this.#call
    const url = this.#redactor().text(this.#url)
    const base = { callId: this.#callId, method, url, path: this.#redactor().text(path), page, loop }
    // What a listener throws or rejects with is ignored: observing a call must not break it.
    void (async () => onEvent({ ...base, ...details }))().catch(() => {})
  }

  emitRequest(): void {
    this.emit({ type: 'request', attempt: this.attempts, idempotencyKey: this.#call.idempotencyKey })
  }

  emitResponse({ status, headers }: ReceivedResponse, durationMs: number): void {
    const requestId = requestIdOf(headers)
    this.requestId = requestId && this.#redactor().text(requestId)
    if (this.#transport.onEvent === undefined) return
    const shown = { status, headers: this.#redactor().headers(headers), requestId: this.requestId }
    this.emit({ type: 'response', attempt: this.attempts, ...shown, durationMs })
  }

  /** From here on, events and errors show no such key. */
  hide(apiKey: string | null): void {
    if (apiKey === null) return
    this.#keys.add(apiKey)
    this.#transport.redactor.add(apiKey)
  }

  /** Says once that the call waits for its turn, and whose refusal is the reason. */
  emitWait(delayMs: number, error: HttpError): void {
    if (!this.#hasSaidToWait) this.emit({ type: 'wait', attempt: this.attempts + 1, delayMs, error })
    this.#hasSaidToWait = true
  }

  emitRetry(delayMs: number, error: AnyApiError): void {
    this.#hasSaidToWait = true
    this.emit({ type: 'retry', attempt: this.attempts, delayMs, error })
  }

  /** The error for an attempt that failed. `note` says why no other follows. */
  createError(outcome: Outcome, isRetried: boolean, note: string | undefined): AnyApiError {
    const redact = this.#redactor()
    const common = { info: this.info, isRetried, note }
    if (outcome.status === undefined) {
      const { timeout, totalTimeout = 0 } = this.#call.settings
      const timeoutMs = outcome.reason === 'total-timeout' ? totalTimeout : timeout
      const facts = { ...common, ...describeNoResponse(outcome, this.#url, timeoutMs) }
      if (outcome.isTimeout) return new TimeoutError({ ...facts, timeoutMs, cause: outcome.cause })
      const cause = redact.cause(outcome.cause)
      return new ConnectionError({ ...facts, problem: redact.text(facts.problem), cause })
    }
    const { status, headers, text } = outcome
    const shown = {
      status,
      headers: redact.headers(headers),
      body: redact.json(parseErrorBody(text)),
      retryAfterMs: parseRetryAfter(headers),
    }
    const description = describeHttpError(
      shown,
      this.#call,
      this.#url,
      redact,
      this.#transport.apiKey !== null,
    )
    return new HttpError({ ...common, ...shown, ...description })
  }

  invalidResponseError({ status, headers }: ReceivedResponse, { facts }: InvalidBody): InvalidResponseError {
    const { issues, hint, body, isMismatch = false, isCustomSchema = false } = facts
    const redact = this.#redactor()
    const toShown = (key: PropertyKey) =>
      redact.text(String(key)) === String(key) ? key : redact.text(String(key))
    const shown = issues
      .slice(0, maxIssues)
      .map(({ path, message }) => ({ path: path.map(toShown), message: redact.text(message) }))
    return new InvalidResponseError({
      info: this.info,
      problem: isCustomSchema ? describeMismatch(shown, body) : describeIssues(shown),
      status,
      headers: redact.headers(headers),
      issues: shown,
      cause: redact.cause(issues.map(issue => property(issue, 'cause')).find(cause => cause !== undefined)),
      body: redact.json(body),
      hint,
      isFinal: isMismatch,
    })
  }

  /** It knows the keys of this call, however many others were sent meanwhile. */
  #redactor(): Redactor {
    const { redactor } = this.#transport
    for (const key of this.#keys) redactor.add(key)
    return redactor
  }
}
