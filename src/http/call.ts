import type { AnyApiError } from '../errors.js'
import type { CallSite } from '../internal/call-site.js'
import type { Redactor } from '../internal/redact.js'
import { resolveBaseUrl } from '../internal/url.js'
import { Waiting } from '../internal/waiting.js'
import type { CallSettings, ClientConfig, Fetch } from '../options.js'
import { isThenable } from '../schema.js'
import { type AttemptOptions, type ReceivedResponse, runAttempt } from './attempt.js'
import { InvalidBody } from './body.js'
import { CallReport } from './report.js'
import { isSuccess, isThrottled, mayHaveBeenApplied, type RetryBudget, retryDelayMs } from './retry.js'

/** What all calls of a client share. */
export interface Transport extends ClientConfig {
  /** Shared with the clients derived from this one. */
  readonly retryBudget: RetryBudget
  /** Knows the API keys that were sent. */
  readonly redactor: Redactor
  /** Lists whose service has refused a limit smaller than its own. */
  readonly refusedLimits: Set<string>
}

/** One call, checked and ready to be sent. */
export interface Call {
  readonly method: string
  /** Checked and encoded. */
  readonly path: string
  /** Without its question mark. */
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

/** Turns the text of a response into the caller's result. Throws an `InvalidBody` or an `ApiError`. */
export type ParseResponse<T> = (text: string, response: SuccessResponse) => T | Promise<T>

/** Sends a call, retries it where that may help, and parses its response. */
export async function send<T>(transport: Transport, call: Call, parse: ParseResponse<T>): Promise<T> {
  for (const signal of call.signals) signal?.throwIfAborted()
  const url = `${resolveBaseUrl(transport.baseUrl)}${call.path}${call.query && `?${call.query}`}`
  // Looked up at each call, so that later patches take effect.
  const fetch: Fetch | undefined = transport.fetch ?? globalThis.fetch
  if (typeof fetch !== 'function')
    throw new TypeError('fetch: this runtime has none, so pass one as the option `fetch`')
  const report = new CallReport(transport, call, url)
  const waiting = new Waiting(call.signals)
  const startedAt = performance.now()
  try {
    const received = await attemptUntilSuccess(transport, call, { url, fetch, report, waiting })
    const result = await parseSuccess(received, parse, report, waiting)
    transport.retryBudget.giveBack(report.attempts - 1)
    return result
  } catch (error) {
    const durationMs = performance.now() - startedAt
    if (!call.expects?.(error)) report.emit({ type: 'failure', attempt: report.attempts, durationMs, error })
    throw error
  } finally {
    waiting.close()
  }
}

interface Run extends Pick<AttemptOptions, 'url' | 'fetch' | 'waiting'> {
  readonly report: CallReport
}

async function attemptUntilSuccess(transport: Transport, call: Call, run: Run): Promise<ReceivedResponse> {
  const { retryBudget, maxResponseBytes, getApiKey } = transport
  const { method, settings, idempotencyKey, hasCallerKey = false, body } = call
  const { report, waiting } = run
  const headers = { ...settings.headers }
  if (idempotencyKey !== undefined) {
    headers['content-type'] = 'application/json'
    headers['idempotency-key'] = idempotencyKey
  }
  const { timeout, maxRetries } = settings
  const onSend = (apiKey: string | null) => report.emitRequest(apiKey)
  const attempt = { ...run, method, headers, body, getApiKey, maxResponseBytes, timeout, onSend }

  for (let lastError: AnyApiError | undefined; ; ) {
    report.attempts++
    const startedAt = performance.now()
    const outcome = await runAttempt(attempt)
    if (outcome.status !== undefined) {
      report.emitResponse(outcome, performance.now() - startedAt)
      waiting.throwIfAborted()
      if (isSuccess(outcome.status)) return outcome
      if (isThrottled(outcome.status)) call.onThrottled?.()
    } else if (outcome.reason === 'not-sent' && !outcome.isTimeout) {
      // The caller's own error, unless it would hide that an earlier attempt may have been applied.
      if (!lastError?.outcomeUnknown) throw outcome.cause
      const note = 'Not retried: the apiKey function failed, see error.cause.'
      throw lastError.with({ cause: outcome.cause, note, isRetried: false })
    }
    const history = { mayHaveBeenApplied: report.mayHaveBeenApplied, hasCallerKey }
    const delayMs = report.attempts > maxRetries ? undefined : retryDelayMs(outcome, report.attempts, history)
    const isRetried = delayMs !== undefined && retryBudget.take()
    const isBudgetEmpty = delayMs !== undefined && !isRetried
    report.mayHaveBeenApplied ||= mayHaveBeenApplied(outcome, history)
    lastError = report.createError(outcome, { isRetried, note: isBudgetEmpty ? budgetEmpty : undefined })
    if (!isRetried) throw lastError
    report.emit({ type: 'retry', attempt: report.attempts, delayMs, error: lastError })
    await waiting.pause(delayMs)
  }
}

const budgetEmpty = 'Not retried: too many calls failed recently (retry budget).'

async function parseSuccess<T>(
  received: ReceivedResponse,
  parse: ParseResponse<T>,
  report: CallReport,
  waiting: Waiting,
): Promise<T> {
  const { status, headers, text = '' } = received
  // For an error from here on.
  report.mayHaveBeenApplied = true
  try {
    if (text instanceof InvalidBody) throw text
    const parsed = parse(text, { status, headers, report })
    // The caller's schema may be asynchronous: it can be aborted.
    if (isThenable(parsed)) return (await waiting.within(Number.POSITIVE_INFINITY, parsed)) as T
    waiting.throwIfAborted()
    return parsed
  } catch (error) {
    throw error instanceof InvalidBody ? report.invalidResponseError(received, error) : error
  }
}
