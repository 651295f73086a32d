import type { VirtualAccountRef } from '../../resources/virtual-accounts.js'
import type { Findings } from '../findings.js'
import { describeOutcome, type Outcome, parseJson, type Session } from '../session.js'
import { describeFields, jsonType, Shape, toJson } from '../shape.js'

const reactivateOptions = { maxRetries: 2, totalTimeout: 60_000 }

// A time of whole seconds in the body is then another one, unless it is a replay; and what a write began has mostly ended.
const writePauseMs = 1_100

/** Requests that the writes take at most: three deactivations, and a reactivation that may be retried. */
export const maxWrites: number = 3 + 1 + reactivateOptions.maxRetries

/** What cannot be checked without an account to write to. */
export const writeFindings = ['deactivate', 'reactivate', 'same-key', 'deactivate-twice'] as const

/** Deactivates the account, again with the same key, and again with another one. Reactivates it, whatever happens. */
export async function checkWrites(
  findings: Findings,
  session: Session,
  account: VirtualAccountRef,
): Promise<void> {
  const { virtualAccounts } = session.client
  let isWritten = false
  // A reactivation proves nothing about a deactivation that is applied after it.
  let unknown: Outcome | undefined
  const deactivate = async (note: string, idempotencyKey?: string) => {
    // Without the signal: a write that is aborted may be applied nevertheless.
    const send = () => virtualAccounts.deactivate(account, { idempotencyKey })
    const outcome = await session.call(`POST deactivate (${note})`, send, writePauseMs)
    const { response, error } = outcome
    isWritten ||= isDone(outcome) || error?.outcomeUnknown === true
    // A 409 is an answer, although the same key was used before.
    const isUnknown = (error?.outcomeUnknown && response?.status !== 409) || isAccepted(outcome)
    if (isUnknown) unknown ??= outcome
    return outcome
  }
  const deactivateAll = async () => {
    const first = await deactivate('new key')
    reportDeactivate(findings, first)
    if (isDone(first)) {
      const again = await deactivate('same key', first.idempotencyKey)
      const twice = await deactivate('another key')
      reportSameKey(findings, first, again, twice)
      reportTwice(findings, twice)
    }
    if (unknown) {
      const observed = `it is unknown whether and when one is applied: ${describeOutcome(unknown)}`
      findings.broken('deactivate', observed, mayBeInactive)
    }
    if (isWritten) await session.announce('POST reactivate')
  }
  // Aborted, or stopped by a callback.
  const stopped = await deactivateAll().then(undefined, (reason: unknown) => ({ reason }))
  const fail = (problem: string, cause: unknown): never => {
    throw new Error(`${mayBeInactive} ${problem}`, { cause })
  }
  let problem = unknown && `Deactivate: ${describeOutcome(unknown)}.`
  if (isWritten) {
    const send = () => virtualAccounts.reactivate(account, reactivateOptions)
    const sent = session.requests
    const outcome = await session
      .callAnyway(send, writePauseMs)
      .catch((error: unknown) => fail(messageOf(error), stopped?.reason ?? error))
    const attempts = session.requests - sent
    const retried = attempts > 1 ? `, at attempt ${attempts}` : ''
    if (isDone(outcome) && !isAccepted(outcome)) findings.ok('reactivate', describeWrite(outcome) + retried)
    else {
      findings.broken('reactivate', describeWrite(outcome), mayBeInactive)
      problem ??= `Reactivate: ${describeOutcome(outcome)}.`
    }
  }
  findings.notCheckedElse(writeFindings, 'no deactivation was confirmed')
  const stop = stopped ?? (session.signal?.aborted ? session.signal : undefined)
  if (stop && problem) fail(problem, stop.reason)
  if (stop) throw stop.reason
}

/** Anything may be thrown by an `apiKey` function. */
function messageOf(error: unknown): string {
  return (error as Partial<Error> | null | undefined)?.message ?? String(error)
}

const mayBeInactive = 'The test account may be or become inactive: check it later, and reactivate it.'

/** Not applied yet, and perhaps never. */
function isAccepted({ response }: Outcome): boolean {
  return response?.status === 202
}

function isDone({ verdict, error }: Outcome): boolean {
  return verdict === 'ok' && error === undefined
}

function reportDeactivate(findings: Findings, outcome: Outcome): void {
  const { verdict } = outcome
  const observed = describeWrite(outcome)
  if (isDone(outcome)) findings.ok('deactivate', observed)
  else if (verdict === 'none') findings.notCheckedElse(writeFindings, observed)
  else {
    const hint =
      verdict === 'refused'
        ? ' Check the API key, the path, and the test account: does it exist, and is it active now?'
        : ''
    findings.broken('deactivate', observed, `The call fails.${hint}`)
  }
}

/** Whether the service says that it is a replay. */
function isMarked({ response }: Outcome): boolean {
  return ['idempotent-replayed', 'idempotency-replayed'].some(
    name => response?.headers.get(name)?.toLowerCase() === 'true',
  )
}

/** A replay has the body of the first response. A write that is applied again usually has not, but it may. */
function reportSameKey(findings: Findings, first: Outcome, again: Outcome, twice: Outcome): void {
  const response = describeWrite(again)
  // Not the body of a refusal: it often has a time or an id of its own.
  const hasStatusOfOther = again.response?.status === twice.response?.status
  if (isDone(again) && isMarked(again) && !isMarked(first) && !isMarked(twice))
    findings.ok('same-key', `${response}, marked as a replay`)
  else if (isAccepted(again) && hasSameBody(first, again))
    findings.notChecked('same-key', `${response}: it may be applied later, once or twice`)
  else if (isDone(again) && hasSameBody(first, again)) {
    if (hasStatusOfOther && hasSameBody(again, twice)) {
      const observed = `${response}, and the same for another key: a replay and a second application look alike`
      findings.notChecked('same-key', observed)
    } else if (!isAnswer(twice)) findings.notChecked('same-key', `another key: ${describeOutcome(twice)}`)
    else {
      const observed = `${response}: the same body again; another key gets ${describeOutcome(twice)}`
      findings.ok('same-key', observed)
    }
  } else if (isDone(again) || (again.verdict === 'refused' && hasStatusOfOther)) {
    const difference = isDone(again) ? 'unlike the first response' : 'as for another key'
    findings.suggested.maxRetries = 0
    findings.broken(
      'same-key',
      `${response}, ${difference}`,
      'This may be no replay, and a retry may apply the write again: ask the owner of the service. Until then set `maxRetries: 0` for writes.',
    )
  } else if (again.verdict === 'none') findings.notChecked('same-key', response)
  else {
    findings.broken(
      'same-key',
      response,
      'When a response is lost, the retry gets this instead of the result: the call fails, and may have been applied.',
    )
  }
}

/** Whether it may depend on what was written before: a refused caller, path or method does not. */
function isAnswer(outcome: Outcome): boolean {
  if (isDone(outcome)) return !isAccepted(outcome)
  return [400, 409, 410, 422].includes(outcome.response?.status ?? 0)
}

/** A replay may have another status, and the fields of its JSON another order. */
function hasSameBody(one: Outcome, other: Outcome): boolean {
  return toComparable(one) === toComparable(other)
}

/** Without the key: that it is the same again shows no replay. */
function toComparable({ data, text, idempotencyKey = '' }: Outcome): string | undefined {
  const json = toJson(data ?? text, (_key, value) =>
    jsonType(value) === 'object' ? Object.fromEntries(Object.entries(value as object).sort()) : value,
  )
  return (json ?? text)?.replace(new RegExp(idempotencyKey.replaceAll('-', '-?'), 'gi'), '')
}

function reportTwice(findings: Findings, twice: Outcome): void {
  const observed = describeWrite(twice)
  if (twice.verdict === 'none') findings.notChecked('deactivate-twice', observed)
  else if (isDone(twice)) findings.ok('deactivate-twice', observed)
  else findings.ok('deactivate-twice', observed, 'The call fails: handle it where this may happen.')
}

/** Status and body: names and types only. */
function describeWrite(outcome: Outcome): string {
  const { text } = outcome
  const status = describeOutcome(outcome)
  if (text === undefined) return status
  if (text === '') return `${status}, no body`
  const value = parseJson(text)
  const type = value === undefined ? 'text' : jsonType(value)
  if (type !== 'object') return `${status}, ${type === 'text' ? '' : 'JSON: '}${type}`
  const shape = new Shape(() => true)
  shape.add(value, value)
  return `${status}, an object (${describeFields(shape) || 'empty'})`
}
