import type { AnyApiError } from '../errors.js'
import type { CallSite } from '../internal/call-site.js'
import { withoutPrototype } from '../internal/object.js'
import type { Redactor } from '../internal/redact.js'
import { resolveBaseUrl } from '../internal/url.js'
import { Waiting } from '../internal/waiting.js'
import type { CallSettings, ClientConfig, Fetch } from '../options.js'
import { type ReceivedResponse, type Run, runAttempt } from './attempt.js'
import { InvalidBody } from './body.js'
import { CallReport } from './report.js'
import { isSuccess, isThrottled, mayHaveBeenApplied, type RetryBudget, retryDelayMs } from './retry.js'

/** What all calls of a client share. */
export interface Transport extends ClientConfig {
  /** Shared with the clients derived from this one. */
  readonly retryBudget: RetryBudget
  /** The paths of lists that cannot be asked for a limit of 100. Shared like that. */
  readonly withoutLimit: Set<string>
  /** Knows the API keys that were sent. */
  readonly redactor: Redactor
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
  /** Whether a status other than 2xx is an answer, too, such as 404 beyond the end of a list. */
  readonly accepts?: ((status: number) => boolean) | undefined
  /** Called as soon as the service asks for fewer requests. */
  readonly onThrottled?: (() => void) | undefined
  readonly site: CallSite
}

/** A 2xx response, or another one that the call accepts, and the call that it belongs to. */
export interface SuccessResponse {
  readonly status: number
  readonly headers: Headers
  readonly report: CallReport
}

/** Turns the text of a response into the caller's result. Rejects with an `InvalidBody` or an `ApiError`. */
export type ParseResponse<T> = (text: string, response: SuccessResponse) => Promise<T>

/** Sends a call, retries it where that may help, and parses its response. */
export async function send<T>(transport: Transport, given: Call, parse: ParseResponse<T>): Promise<T> {
  const call = withoutPrototype(given)
  const url = `${resolveBaseUrl(transport.baseUrl)}${call.path}${call.query && `?${call.query}`}`
  // Looked up at each call, so that later patches take effect.
  const fetch: Fetch | undefined = transport.fetch ?? globalThis.fetch
  if (typeof fetch !== 'function')
    throw new TypeError('fetch: this runtime has none, so pass one as the option `fetch`')
  const report = new CallReport(transport, call, url)
  const waiting = new Waiting(call.signals)
  const startedAt = performance.now()
  let received: ReceivedResponse | undefined
  try {
    received = await attemptUntilSuccess({ transport, call, url, fetch, report, waiting })
    const { status, headers, text } = received
    // The response was a 2xx: an error from here on must say so.
    report.mayHaveBeenApplied = true
    if (text instanceof InvalidBody && isSuccess(status)) throw text
    // The caller's schema may be asynchronous: it can be aborted.
    const parsed = parse(typeof text === 'string' ? text : '', { status, headers, report })
    const result = await waiting.within(Number.POSITIVE_INFINITY, parsed)
    transport.retryBudget.giveBack(report.attempts - 1)
    return result as T
  } catch (thrown) {
    const error =
      received && thrown instanceof InvalidBody ? report.invalidResponseError(received, thrown) : thrown
    const durationMs = performance.now() - startedAt
    report.emit({ type: 'failure', attempt: report.attempts, durationMs, error })
    throw error
  } finally {
    waiting.close()
  }
}

async function attemptUntilSuccess(run: Run): Promise<ReceivedResponse> {
  const { transport, call, report, waiting } = run
  const { hasCallerKey = false } = call
  for (let lastError: AnyApiError | undefined; ; ) {
    report.attempts++
    const startedAt = performance.now()
    const outcome = await runAttempt(run)
    if (outcome.status !== undefined) {
      report.emitResponse(outcome, performance.now() - startedAt)
      waiting.throwIfAborted()
      if (isSuccess(outcome.status) || call.accepts?.(outcome.status)) return outcome
      if (isThrottled(outcome.status)) call.onThrottled?.()
    } else if (outcome.reason === 'not-sent' && !outcome.isTimeout) {
      // The caller's own error, unless it would hide that an earlier attempt may have been applied.
      if (!lastError?.outcomeUnknown) throw outcome.cause
      const note = 'Not retried: the apiKey function failed, see error.cause.'
      throw lastError.with({ cause: outcome.cause, note, isRetried: false })
    }
    const isKeyInUse = hasCallerKey || report.mayHaveBeenApplied
    const isLast = report.attempts > call.settings.maxRetries
    const delayMs = isLast ? undefined : retryDelayMs(outcome, report.attempts, isKeyInUse)
    const isRetried = delayMs !== undefined && transport.retryBudget.take()
    report.mayHaveBeenApplied ||= mayHaveBeenApplied(outcome, hasCallerKey)
    const note = delayMs === undefined || isRetried ? undefined : budgetEmpty
    lastError = report.createError(outcome, isRetried, note)
    if (!isRetried) throw lastError
    report.emit({ type: 'retry', attempt: report.attempts, delayMs, error: lastError })
    await waiting.pause(delayMs)
  }
}

const budgetEmpty = 'Not retried: too many calls failed recently (retry budget).'
