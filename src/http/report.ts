import {
  AbortError,
  type AnyApiError,
  type CallInfo,
  ConnectionError,
  HttpError,
  InvalidResponseError,
  TimeoutError,
} from '../errors.js'
import type { EventDetails } from '../events.js'
import { isControlFlow } from '../internal/error-code.js'
import type { Redactor } from '../internal/redact.js'
import { type InvalidBody, maxIssues, parseErrorBody } from './body.js'
import { describeHttpError, describeIssues, describeNoResponse } from './failure.js'
import type { Call, NoResponse, Outcome, ReceivedResponse, Transport } from './types.js'

let callCount = 0
const callIdPrefix = Math.random().toString(36).slice(2, 10)

/** The events and errors of a call. They never contain an API key. The fields are the facts known about the call so far. */
export class CallReport {
  attempts = 0
  /** Number of failed attempts that count against `maxRetries`. A 429 does not count. */
  failures = 0
  /** When the last attempt began. */
  startedAt = 0
  /** The error of the last attempt, if it failed. */
  lastError: AnyApiError | undefined
  /** Whether an attempt may have been applied. */
  mayHaveBeenApplied = false
  /** Whether an event has announced that the call waits. */
  #hasSaidToWait = false
  /** Why the call waits. Either a refusal, or no place is free. */
  waitsFor: AnyApiError | 'place' | undefined
  /** The id of the last complete response. */
  requestId: string | undefined
  readonly #transport: Transport
  readonly #call: Call
  readonly #url: string
  readonly #callId = `${callIdPrefix}-${++callCount}`
  /** The API keys of this call. They are redacted from all later events and errors. */
  readonly keys: string[] = []

  constructor(transport: Transport, call: Call, url: string) {
    this.#transport = transport
    this.#call = call
    this.#url = url
    if (typeof transport.apiKey === 'string') this.keys.push(transport.apiKey)
  }

  /** The facts about the call that every error and event shows. */
  get #shown(): Pick<CallInfo, 'method' | 'path' | 'page' | 'loop'> {
    const { method, path, page, loop } = this.#call
    return { method, path: this.#redactor().text(path), page, loop }
  }

  /** The facts about the call that every error shows. */
  get info(): CallInfo {
    const { idempotencyKey, limit } = this.#call
    const { attempts, requestId } = this
    const outcomeUnknown = this.mayHaveBeenApplied && idempotencyKey !== undefined
    return { ...this.#shown, idempotencyKey, limit, attempts, outcomeUnknown, requestId }
  }

  emit(details: EventDetails): void {
    const { onEvent, shared } = this.#transport
    if (onEvent === undefined) return
    const base = { ...this.#shown, callId: this.#callId, url: this.#redactor().text(this.#url) }
    // Observing a call must not break it.
    void (async () => onEvent({ ...base, ...details }))().catch(error => {
      if (shared.hasFailedListener) return
      shared.hasFailedListener = true
      // biome-ignore lint/suspicious/noConsole: an error of a listener would otherwise never be seen
      console.error('virtual-accounts: onEvent threw (only its first error is shown):', error)
    })
  }

  emitResponse({ status, headers }: ReceivedResponse, durationMs: number): void {
    const redact = this.#redactor()
    // The customary names. The API documents neither.
    const requestId = headers.get('x-request-id') || headers.get('request-id') || undefined
    this.requestId = requestId && redact.text(requestId)
    if (this.#transport.onEvent === undefined) return
    const shown = { status, headers: redact.headers(headers), requestId: this.requestId }
    this.emit({ type: 'response', attempt: this.attempts, ...shown, durationMs })
  }

  /** The call waits. Emits at most one event for it, and only if a refusal is the reason. */
  waits(delayMs: number, refusal: AnyApiError | undefined): void {
    this.waitsFor = refusal ?? 'place'
    // A retry has announced the delay.
    if (!refusal || this.lastError || this.#hasSaidToWait) return
    this.#hasSaidToWait = true
    this.emit({ type: 'wait', attempt: this.attempts + 1, delayMs, error: refusal })
  }

  /** The error for an abort. A framework's control flow propagates unchanged, unless a write may have been applied. */
  abortError(reason: unknown): unknown {
    const { info } = this
    if (isControlFlow(reason) && !info.outcomeUnknown) return reason
    const problem = `aborted by your signal${info.attempts === 0 ? ', before anything was sent' : ''}`
    return new AbortError({ info, problem, cause: reason })
  }

  /** The error to throw when the caller's code threw. It must not hide that an earlier attempt may have been applied. */
  callerError(cause: unknown): unknown {
    if (!this.lastError?.outcomeUnknown) return cause
    const note = 'Not retried: apiKey or fetch threw an error. See error.cause.'
    return this.lastError.with({ cause, note, isRetried: false })
  }

  /** The error for a failed attempt. `note` says why it is not retried. */
  createError(outcome: Outcome, isRetried: boolean, note?: string): AnyApiError {
    const redact = this.#redactor()
    const common = { info: this.info, isRetried, note }
    if (outcome.status === undefined) {
      const { timeout, totalTimeout = 0 } = this.#call.settings
      const timeoutMs = outcome.reason === 'total-timeout' ? totalTimeout : timeout
      const cause = outcome.isTimeout ? outcome.cause : redact.cause(outcome.cause)
      const shown = describeNoResponse(outcome, cause as Error, this.#url, timeoutMs, this.attempts)
      const facts = { ...common, cause, ...shown }
      if (outcome.isTimeout) return new TimeoutError({ ...facts, own: { timeoutMs } })
      return new ConnectionError({ ...facts, problem: redact.text(facts.problem) })
    }
    const { status, headers, text, retryAfterMs } = outcome
    const body = redact.json(parseErrorBody(text))
    const own = { status, headers: redact.headers(headers), body, retryAfterMs }
    const description = describeHttpError(own, this.#call, this.#transport, this.#url)
    return new HttpError({ ...common, own, ...description })
  }

  /** The error of a call that exceeded its `totalTimeout`, perhaps while it waited. */
  outOfTimeError(outcome: NoResponse): AnyApiError {
    const { waitsFor, lastError } = this
    const refusal = waitsFor === 'place' ? undefined : waitsFor
    const { maxInFlight } = this.#transport
    const why = refusal
      ? `${refusal.method} ${refusal.path} was refused`
      : `maxInFlight (${maxInFlight}) was reached`
    const note = waitsFor && `It was still waiting, because ${why}.`
    return this.createError({ ...outcome, cause: lastError ?? refusal }, false, note)
  }

  invalidResponseError({ status, headers }: ReceivedResponse, invalid: InvalidBody): InvalidResponseError {
    const redact = this.#redactor()
    const toShown = (key: PropertyKey) => (typeof key === 'number' ? key : redact.text(String(key)))
    const issues = invalid.issues
      .slice(0, maxIssues)
      .map(({ path, message }) => ({ path: path.map(toShown), message: redact.text(message) }))
    const body = redact.json(invalid.body)
    const facts = {
      info: this.info,
      own: { status, headers: redact.headers(headers), issues },
      problem: describeIssues(issues, invalid, body),
      hint: invalid.hint,
      isFinal: invalid.validator !== undefined,
      cause: redact.cause(invalid.issues.find(({ cause }) => cause !== undefined)?.cause),
    }
    return new InvalidResponseError(facts, body)
  }

  /** Adds the keys of this call again, because the redactor forgets old keys. */
  #redactor(): Redactor {
    const { redactor } = this.#transport
    for (const key of this.keys) redactor.add(key)
    return redactor
  }
}
