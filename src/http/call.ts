import type { AnyApiError, HttpError } from '../errors.js'
import { assertApiKey } from '../internal/keys.js'
import { resolveBaseUrl } from '../internal/url.js'
import { timedOut, Waiting } from '../internal/waiting.js'
import type { Fetch } from '../options.js'
import { isThenable } from '../schema.js'
import { noAnswer, type Run, runAttempt } from './attempt.js'
import { InvalidBody } from './body.js'
import { CallReport } from './report.js'
import { isRateLimit, isSuccess, isTooMany, mayHaveBeenApplied, retryDelayMs } from './retry.js'
import { type Refusals, type Throttle, throttleOf } from './throttle.js'
import type { Call, NoResponse, ReceivedResponse, Transport } from './types.js'

/** A 2xx response, or another one that the call accepts, and the call that it belongs to. */
export interface SuccessResponse {
  readonly status: number
  readonly headers: Headers
  readonly report: CallReport
}

/** Turns the text of a response into the caller's result. Rejects with an `InvalidBody` or an `ApiError`. */
export type ParseResponse<T> = (text: string, response: SuccessResponse) => T | Promise<T>

/** Sends a call, retries it where that may help, and parses its response. */
export async function send<T>(transport: Transport, call: Call, parse: ParseResponse<T>): Promise<T> {
  const url = `${resolveBaseUrl(transport.baseUrl)}${call.path}${call.query && `?${call.query}`}`
  // Looked up at each call, so that later patches take effect.
  const fetch: Fetch | undefined = transport.fetch ?? globalThis.fetch
  if (typeof fetch !== 'function')
    throw new TypeError('fetch: this runtime has none, so pass one as the option `fetch`')
  const report = new CallReport(transport, call, url)
  const abortedBefore = call.signals.find(signal => signal?.aborted)
  if (abortedBefore) throw report.abortError(abortedBefore.reason)
  const { totalTimeout } = call.settings
  const whole = totalTimeout === undefined ? undefined : new AbortController()
  const waiting = new Waiting([...call.signals, whole?.signal])
  const timer = whole && setTimeout(() => whole.abort(outOfTime), totalTimeout)
  const startedAt = performance.now()
  let received: ReceivedResponse | undefined
  try {
    received = await attemptUntilSuccess({ transport, call, url, fetch, report, waiting })
    const { status, headers, text } = received
    if (text instanceof InvalidBody && isSuccess(status)) throw text
    const parsed = parse(typeof text === 'string' ? text : '', { status, headers, report })
    // The caller's schema may be asynchronous: it can be aborted.
    const result = isThenable(parsed) ? await waiting.within(Number.POSITIVE_INFINITY, parsed) : parsed
    transport.shared.retryBudget.giveBack(report.failures)
    const durationMs = performance.now() - startedAt
    report.emit({ type: 'success', attempts: report.attempts, durationMs })
    return result as T
  } catch (thrown) {
    let error = thrown
    if (received && thrown instanceof InvalidBody) error = report.invalidResponseError(received, thrown)
    else if (thrown === outOfTime)
      error = report.createError({ ...outOfTime, cause: report.lastError }, false, undefined)
    else if (call.signals.some(signal => signal?.aborted && signal.reason === thrown))
      error = report.abortError(thrown)
    const durationMs = performance.now() - startedAt
    report.emit({ type: 'failure', attempt: report.attempts, durationMs, error })
    throw error
  } finally {
    clearTimeout(timer)
    waiting.close()
  }
}

const outOfTime: NoResponse = { ...noAnswer, reason: 'total-timeout' }

async function attemptUntilSuccess(run: Run): Promise<ReceivedResponse> {
  const { transport, call, report, waiting } = run
  const { hasCallerKey, settings } = call
  const { maxRetries, timeout } = settings
  const refusals: Refusals = { count: 0, pausedAt: Number.POSITIVE_INFINITY, since: undefined }
  for (;;) {
    const { apiKey, failure, startedAt, throttle, turn } = await takeTurn(run, refusals)
    report.attempts++
    const outcome = failure ?? (await runAttempt(run, apiKey, startedAt + timeout))
    const isRefused = isTooMany(outcome)
    const isKeyInUse = hasCallerKey || report.mayHaveBeenApplied
    report.mayHaveBeenApplied ||= mayHaveBeenApplied(outcome, hasCallerKey)
    const durationMs = performance.now() - startedAt
    if (outcome.status !== undefined) {
      report.emitResponse(outcome, durationMs)
      if (!isRefused) throttle?.passed(turn, refusals)
      if (isSuccess(outcome.status) || call.accepts?.(outcome.status)) return outcome
    }
    waiting.throwIfAborted()
    if (outcome.status === undefined && outcome.reason === 'not-sent' && !outcome.isTimeout) {
      // An error of the caller's own code, unless it would hide that an earlier attempt may have been applied.
      const { lastError } = report
      if (!lastError?.outcomeUnknown) throw outcome.cause
      const note = 'Not retried: apiKey or fetch threw an error of its own, see error.cause.'
      throw lastError.with({ cause: outcome.cause, note, isRetried: false })
    }
    let delayMs: number | undefined
    let note: string | undefined
    if (throttle && isRefused) {
      const toError = () => report.createError(outcome, true, undefined) as HttpError
      delayMs = throttle.refused(turn, refusals, outcome.retryAfterMs ?? 0, toError)
    }
    if (isRefused && isRateLimit(outcome.status)) {
      // Nothing has failed: it waits for its turn again.
      if (delayMs === undefined) note = `Not retried: ${stuck}`
      if (maxRetries === 0 || refusals.count > maxRefusals) delayMs = undefined
    } else {
      report.failures++
      delayMs = report.failures > maxRetries ? undefined : retryDelayMs(outcome, report.failures, isKeyInUse)
      if (delayMs !== undefined && !transport.shared.retryBudget.take()) {
        delayMs = undefined
        note = 'Not retried: too many calls failed recently (retry budget).'
      }
    }
    const error = report.createError(outcome, delayMs !== undefined, note)
    if (delayMs === undefined) throw error
    report.lastError = error
    report.emitRetry(delayMs, durationMs, error)
    await (throttle ? throttle.pause(delayMs, waiting) : waiting.pause(delayMs))
  }
}

const stuck = 'no call got through for a minute.'
/** A call that is still refused then is refused for itself. */
const maxRefusals = 10

/** How an attempt starts. */
interface Start {
  readonly apiKey: string | null
  /** Why there is no key. */
  readonly failure: NoResponse | undefined
  /** With the time that `apiKey` took. */
  readonly startedAt: number
  readonly throttle: Throttle | undefined
  readonly turn: number | undefined
}

/** Waits until an attempt may start. */
async function takeTurn(run: Run, refusals: Refusals): Promise<Start> {
  const { transport, call, report, waiting } = run
  const read = readApiKey(run)
  const start = isThenable(read) ? await read : read
  if (start.failure) return start
  const throttle = throttleOf(`${transport.baseUrl} ${start.apiKey}`, transport.shared.throttles)
  const turn = throttle.free()
  if (turn !== undefined || call.settings.maxRetries === 0) return { ...start, throttle, turn }
  const taken = await throttle.turn(refusals, waiting, (delayMs, refusal) =>
    report.emitWait(delayMs, refusal),
  )
  if (typeof taken !== 'number') throw notSent(report, taken)
  // A function is called again, as its key may have expired.
  return { ...(await readApiKey(run)), throttle, turn: taken }
}

function readApiKey({ transport, call, report, waiting }: Run): Start | Promise<Start> {
  const startedAt = performance.now()
  const start = { apiKey: null, failure: undefined, startedAt, throttle: undefined, turn: undefined }
  const given = transport.apiKey
  if (typeof given !== 'function') return { ...start, apiKey: given }
  const failed = (isTimeout: boolean, cause: unknown): Start => {
    waiting.throwIfAborted()
    return { ...start, failure: { status: undefined, reason: 'not-sent', isTimeout, cause } }
  }
  const toStart = (apiKey: unknown) => {
    if (apiKey === timedOut) return failed(true, undefined)
    assertApiKey(apiKey, 'the function to return a non-empty string')
    report.hide(apiKey)
    return { ...start, apiKey }
  }
  const work = (async () => given())()
  return waiting
    .within(call.settings.timeout, work)
    .then(toStart)
    .catch(cause => failed(false, cause))
}

/** The error of a call that has waited for its turn in vain: its own, or that of the call that was refused last. */
function notSent(report: CallReport, { status, headers, retryAfterMs }: HttpError): AnyApiError {
  const { lastError } = report
  if (lastError) return lastError.with({ note: `Not retried: ${stuck}`, isRetried: false }) as AnyApiError
  return report.createError({ status, headers, retryAfterMs, text: undefined }, false, `Not sent: ${stuck}`)
}
