import { assertApiKey } from '../internal/keys.js'
import { resolveBaseUrl } from '../internal/url.js'
import { timedOut, Waiting } from '../internal/waiting.js'
import type { Fetch } from '../options.js'
import { isThenable } from '../schema.js'
import { noResponseInTime, type Run, runAttempt } from './attempt.js'
import { InvalidBody } from './body.js'
import { QueuedCall } from './pace.js'
import { CallReport } from './report.js'
import { decide, isOutage, isRateLimited, isSuccess, mayHaveBeenApplied } from './retry.js'
import type { Call, NoResponse, Outcome, ReceivedResponse, Transport } from './types.js'

/** A response that the call accepts, usually a 2xx, and the report of its call. */
export interface SuccessResponse extends Pick<ReceivedResponse, 'status' | 'headers'> {
  readonly report: CallReport
}

/** Turns the text of a response into the caller's result. Rejects with an `InvalidBody` or an `ApiError`. */
export type ParseResponse<T> = (text: string, response: SuccessResponse) => T | Promise<T>

/** Sends a call, retries it if that may help, and parses its response. */
export async function send<T>(transport: Transport, call: Call, parse: ParseResponse<T>): Promise<T> {
  const url = `${resolveBaseUrl(transport.baseUrl)}${call.path}${call.query && `?${call.query}`}`
  // Looked up at each call, so that later patches, such as MSW's, take effect.
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
  const dueAt = startedAt + (totalTimeout ?? Number.POSITIVE_INFINITY)
  const queued = new QueuedCall(transport.maxInFlight, (delayMs, refusal) => report.waits(delayMs, refusal))
  let received: ReceivedResponse | undefined
  try {
    received = await attemptUntilSuccess({ transport, call, url, fetch, report, waiting, dueAt, queued })
    const { status, headers, text } = received
    if (text instanceof InvalidBody && isSuccess(status)) throw text
    const parsed = parse(typeof text === 'string' ? text : '', { status, headers, report })
    // An abort must not wait for an asynchronous schema of the caller.
    const result = isThenable(parsed) ? await waiting.within(Number.POSITIVE_INFINITY, parsed) : parsed
    transport.shared.retryBudget.giveBack(report.failures)
    const durationMs = performance.now() - startedAt
    report.emit({ type: 'success', attempts: report.attempts, durationMs })
    return result as T
  } catch (thrown) {
    let error = thrown
    if (received && thrown instanceof InvalidBody) error = report.invalidResponseError(received, thrown)
    else if (thrown === outOfTime) error = report.outOfTimeError(outOfTime)
    else if (call.signals.some(signal => signal?.aborted && Object.is(signal.reason, thrown)))
      error = report.abortError(thrown)
    const durationMs = performance.now() - startedAt
    report.emit({ type: 'failure', attempt: report.attempts, durationMs, error })
    throw error
  } finally {
    clearTimeout(timer)
    waiting.close()
    if (queued.pace) queued.pace.calls--
  }
}

const outOfTime: NoResponse = { ...noResponseInTime, reason: 'total-timeout' }

async function attemptUntilSuccess(run: Run): Promise<ReceivedResponse> {
  const { transport, call, report, waiting, queued } = run
  const { retryBudget, paces } = transport.shared
  const { hasCallerKey } = call
  if (typeof transport.apiKey !== 'function') assignPace(run, transport.apiKey)
  for (;;) {
    const outcome = await sendAttempt(run)
    const { attempts: attempt, failures } = report
    const durationMs = performance.now() - report.startedAt
    if (outcome.status !== undefined) report.emitResponse(outcome, durationMs)
    let decision = decide(
      outcome,
      call,
      hasCallerKey || report.mayHaveBeenApplied,
      failures,
      queued.refusedMs,
    )
    if (decision.next === 'return') return outcome as ReceivedResponse
    waiting.throwIfAborted()
    if (decision.next === 'retry' && !retryBudget.take())
      decision = { next: 'fail', note: 'Not retried: too many calls failed recently (retry budget).' }
    if (decision.next !== 'wait') report.failures++
    if (decision.next === 'fail') {
      if (outcome.status === undefined && outcome.isTimeout && outcome.reason !== 'not-sent')
        paces.queue.timedOut(report.startedAt)
      throw report.createError(outcome, false, decision.note)
    }
    report.lastError = report.createError(outcome, true)
    const { delayMs } = decision
    report.emit({ type: 'retry', attempt, durationMs, delayMs, error: report.lastError })
    if (decision.next === 'wait') report.waitsFor = report.lastError
    // If the pace is closed, the call waits in the queue instead.
    if (queued.refusedMs === undefined || queued.pace?.state !== 'closed')
      await waiting.within(delayMs, new Promise(() => {}))
  }
}

/** Without retries, a call fails at its first refusal, so it waits for no pace. */
function assignPace({ transport, call, queued }: Run, apiKey: string | null): void {
  if (call.settings.maxRetries > 0) transport.shared.paces.assign(transport, apiKey, queued)
}

/** Sends a request once the call has a turn and a place. */
async function sendAttempt(run: Run): Promise<Outcome> {
  const { transport, call, report, waiting, queued } = run
  const { apiKey } = transport
  const { queue } = transport.shared.paces
  try {
    let key = typeof apiKey === 'function' ? undefined : apiKey
    let readMs = 0
    while (key === undefined) {
      queued.needs = 'turn'
      if (!queue.take(queued)) await waitForTurn(run)
      report.startedAt = performance.now()
      const read = await readApiKey(run, apiKey as () => string)
      if (read === timedOut) {
        report.attempts++
        return { ...noResponseInTime, reason: 'not-sent' }
      }
      readMs = performance.now() - report.startedAt
      // The pace depends on the API key, which is known only now.
      const before = queued.pace
      assignPace(run, read)
      if (queued.pace === before || queued.pace?.takeTurn(queued, queue.now)) key = read
      queue.leave(queued, false)
      queued.needs = 'place'
    }
    if (!queue.take(queued)) await waitForTurn(run)
    if (performance.now() > run.dueAt) throw outOfTime
    report.startedAt = performance.now() - readMs
    report.attempts++
    report.waitsFor = undefined
    const outcome = await runAttempt(run, key, report.startedAt + call.settings.timeout)
    report.mayHaveBeenApplied ||= mayHaveBeenApplied(outcome, call.hasCallerKey)
    if (outcome.status !== undefined) queue.responded()
    const { pace } = queued
    if (pace && isRateLimited(outcome)) {
      const retryAfterMs = outcome.status === undefined ? 0 : (outcome.retryAfterMs ?? 0)
      pace.refused(queued, retryAfterMs, queue.now, () => report.createError(outcome, true))
      if (pace.state === 'closed') queue.reportRefusal(pace)
    } else if (isOutage(outcome) && !waiting.isAborted) pace?.failed(queued, queue.now)
    else if (outcome.status !== undefined && outcome.status !== 429) pace?.passed(queued, queue.now)
    return outcome
  } finally {
    queue.leave(queued, waiting.isAborted)
  }
}

const noneResponded = 'no request in flight got a response.'

async function waitForTurn({ transport, report, waiting, queued }: Run): Promise<void> {
  await transport.shared.paces.queue.wait(queued, waiting)
  if (queued.holds) return
  const refusal = queued.pace?.isOver ? queued.pace.refusal : undefined
  const why = refusal ? 'no call got through for more than a minute.' : noneResponded
  const { lastError, info } = report
  if (lastError) throw lastError.with({ note: `Not retried: ${why}`, isRetried: false })
  if (!refusal) throw report.createError({ ...noResponseInTime, reason: 'hanging' }, false)
  const note = `Not sent: ${why} The last to be refused was ${refusal.method} ${refusal.path}.`
  throw refusal.with({ info, note, isRetried: false })
}

/** After this long, the next call's `apiKey` function also runs, because the first may wait for a call that it made. */
const slowMs = 100

async function readApiKey(run: Run, read: () => string | Promise<string>): Promise<string | typeof timedOut> {
  const { transport, call, report, waiting, queued } = run
  const timer = setTimeout(() => transport.shared.paces.queue.leave(queued, false), slowMs)
  try {
    const key = await waiting.within(call.settings.timeout, (async () => read())())
    if (key === timedOut) return key
    assertApiKey(key, 'the function to return a non-empty string')
    report.keys.push(key)
    return key
  } catch (cause) {
    waiting.throwIfAborted()
    report.attempts++
    throw report.callerError(cause)
  } finally {
    clearTimeout(timer)
  }
}
