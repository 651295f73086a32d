import {
  type CallInfo,
  ConnectionError,
  type ErrorFacts,
  HttpError,
  InvalidResponseError,
  TimeoutError,
} from '../errors.js'
import { type EventDetails, emit } from '../events.js'
import { toLine } from '../internal/describe.js'
import { findErrorDetails } from '../internal/error-details.js'
import { Redactor } from '../internal/redact.js'
import { totalTimeoutOf } from '../options.js'
import type { ReceivedResponse } from './attempt.js'
import type { Call, Transport } from './call.js'
import { describeHttpError, maxReasonLength } from './http-error.js'
import type { NetworkFailure } from './network-error.js'
import { type InvalidBody, parseErrorBody } from './response-body.js'
import type { RefusedAttempt } from './retry.js'

let callCount = 0
const callIdPrefix = /* @__PURE__ */ Math.random().toString(36).slice(2, 10)

/** Whether another attempt follows a failure, and why not. */
export type Sequel = Pick<ErrorFacts, 'isRetried' | 'note'>

/** What a call tells others, without API keys: its events and its errors. Its fields are what is known of the call so far. */
export class CallReport {
  attempts = 0
  /** An attempt may have been applied. */
  mayHaveBeenApplied = false
  /** The id of the last complete response, as it came. */
  requestId: string | undefined
  readonly sentKeys: Set<string> = new Set()
  readonly #transport: Transport
  readonly #call: Call
  readonly #url: string
  readonly #callId = `${callIdPrefix}-${++callCount}`

  constructor(transport: Transport, call: Call, url: string) {
    this.#transport = transport
    this.#call = call
    this.#url = url
  }

  /** What every error says about the call. */
  get info(): CallInfo {
    const { method, path, idempotencyKey, page, limit, loop, site } = this.#call
    return {
      method,
      path: this.#redactor.text(path),
      attempts: this.attempts,
      idempotencyKey,
      outcomeUnknown: this.#isOutcomeUnknown,
      page,
      limit,
      loop,
      requestId: this.#redactedRequestId,
      site,
    }
  }

  emit(details: EventDetails): void {
    const { onEvent } = this.#transport
    if (onEvent === undefined) return
    const { method, path, route = path, page, loop } = this.#call
    const redactor = this.#redactor
    const base = {
      callId: this.#callId,
      method,
      url: redactor.text(this.#url),
      path: redactor.text(path),
      route: redactor.text(route),
      page,
      loop,
    }
    emit(onEvent, { ...base, ...details })
  }

  emitResponse({ status, headers }: ReceivedResponse, durationMs: number): void {
    if (this.#transport.onEvent === undefined) return
    this.emit({
      type: 'response',
      attempt: this.attempts,
      status,
      headers: this.#redactor.headers(headers),
      requestId: this.#redactedRequestId,
      durationMs,
    })
  }

  httpError(received: ReceivedResponse, { retryAfterMs }: RefusedAttempt, sequel: Sequel): HttpError {
    const { status, headers, bytes } = received
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
      outcomeUnknown: this.#isOutcomeUnknown,
      apiKey: [...this.sentKeys].at(-1) ?? this.#keys[0],
    })
    return new HttpError({ ...sequel, ...failed, info: this.info, problem: redactor.text(problem), hint })
  }

  connectionError(error: unknown, network: NetworkFailure, sequel: Sequel): ConnectionError {
    const cause = this.#redactor.cause(error)
    const problem = this.#redactor.text(network.problem) + reasonOf(cause)
    return new ConnectionError({ ...sequel, info: this.info, cause, problem, hint: network.hint })
  }

  timeoutError(
    limit: 'timeout' | 'totalTimeout',
    problem: string,
    hint: string,
    sequel?: Sequel,
  ): TimeoutError {
    const { settings } = this.#call
    const timeoutMs = limit === 'timeout' ? settings.timeout : totalTimeoutOf(settings)
    // Perhaps every attempt took too long, and only the last was cut by this limit.
    const name = limit === 'totalTimeout' && this.attempts > 1 ? 'timeout` and `totalTimeout' : limit
    return new TimeoutError({
      ...sequel,
      info: this.info,
      problem: `${problem} within the ${limit} of ${timeoutMs} ms`,
      hint: `Raise \`${name}\` (milliseconds)${hint}`,
      timeoutMs,
    })
  }

  invalidResponseError({ status, headers }: ReceivedResponse, { facts }: InvalidBody): InvalidResponseError {
    const redactor = this.#redactor
    const { issues, hint, body, isCustomSchema = false } = facts
    return new InvalidResponseError({
      info: this.info,
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

  get #isOutcomeUnknown(): boolean {
    return this.mayHaveBeenApplied && this.#call.idempotencyKey !== undefined
  }

  get #redactedRequestId(): string | undefined {
    return this.requestId && this.#redactor.text(this.requestId, 1)
  }

  /** The API keys that a service may name: those of this call, and those before. */
  get #keys(): readonly string[] {
    const { 'api-key': ownKey } = this.#call.settings.headers
    if (ownKey !== undefined) return [ownKey]
    return [...new Set([...this.sentKeys, ...this.#transport.apiKeys.recent()])]
  }

  get #redactor(): Redactor {
    return new Redactor(this.#keys)
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
