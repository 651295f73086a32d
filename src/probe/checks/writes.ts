import { createIdempotencyKey } from '../../internal/idempotency-key.js'
import type { VirtualAccountRef } from '../../resources/virtual-accounts.js'
import { formatShape } from '../fields.js'
import type { Findings } from '../finding.js'
import { parse } from '../listed-page.js'
import { describeOutcome, isOk, isRefused, type Outcome, type Session } from '../session.js'

/** Requests that the writes take at most. */
export const maxWrites = 5

/** What stays unknown without an account to write to. */
export const writeFindings = [
  'deactivate',
  'reactivate',
  'same-key',
  'same-key-other-request',
  'deactivate-twice',
] as const

const replayHeader = /^(?:idempotent|idempotency)-replayed$|^original-request$/

/** Deactivates and reactivates the account, with keys that are new, repeated, and used for another request. */
export async function checkWrites(
  findings: Findings,
  session: Session,
  account: VirtualAccountRef,
): Promise<void> {
  const write = (change: 'deactivate' | 'reactivate', note: string, idempotencyKey: string) =>
    session.call(`POST ${change} (${note})`, signal =>
      session.client.virtualAccounts[change](account, { idempotencyKey, signal }),
    )
  const key = createIdempotencyKey()
  const requestsBefore = session.requests
  try {
    const first = await write('deactivate', 'new key', key)
    reportWrite(findings, 'deactivate', first)
    if (isOk(first) && first.error === undefined) {
      const again = await write('deactivate', 'same key', key)
      const twice = await write('deactivate', 'another key', createIdempotencyKey())
      reportSameKey(findings, first, again, twice)
      reportTwice(findings, twice)
      reportOtherRequest(findings, first, await write('reactivate', 'key of deactivate', key))
    }
    if (isOk(first) || first.error?.outcomeUnknown) {
      reportWrite(findings, 'reactivate', await write('reactivate', 'new key', createIdempotencyKey()))
    }
  } catch (error) {
    // Aborted, or stopped by a callback: not awaited, as an abort must reject immediately.
    if (session.requests > requestsBefore) {
      void session.client.virtualAccounts.reactivate(account).catch(() => {})
    }
    throw error
  }
  for (const id of writeFindings) {
    if (!findings.has(id)) findings.unknown(id, 'deactivate failed')
  }
}

function reportWrite(findings: Findings, id: 'deactivate' | 'reactivate', outcome: Outcome): void {
  if (isOk(outcome) && outcome.error === undefined) {
    findings.kept(id, describeWrite(outcome))
    return
  }
  const failure = isOk(outcome) ? 'The call fails with InvalidResponseError.' : 'The call fails.'
  const isLeftInactive = id === 'reactivate' ? ' The account may still be inactive: reactivate it.' : ''
  findings.broken(id, describeWrite(outcome), failure + isLeftInactive)
}

/**
 * A replayed response and a second application look the same, unless the service marks replays, or responds otherwise to a
 * second deactivation.
 */
function reportSameKey(findings: Findings, first: Outcome, again: Outcome, twice: Outcome): void {
  const response = describeWrite(again)
  const isSame = response === describeWrite(first)
  const isMarked = [...(again.response?.headers.keys() ?? [])].some(name => replayHeader.test(name))
  if (isOk(again) && (isMarked || (isSame && describeWrite(twice) !== response))) {
    findings.kept('same-key', `${response}: replayed`)
  } else if (isOk(again) && isSame) {
    findings.unknown(
      'same-key',
      `${response}, and so does another key: replayed and applied again look the same`,
    )
  } else if (isOk(again)) {
    findings.broken('same-key', `${response}, different from the first response`, appliedAgain)
  } else if (isRefused(again) && response === describeWrite(twice)) {
    findings.broken('same-key', `${response}, as for another key: it was applied again`, appliedAgain)
  } else if (isRefused(again)) {
    findings.broken(
      'same-key',
      response,
      'When a response is lost, the retry gets this instead of the result: the call fails, and may have been applied.',
    )
  } else findings.unknown('same-key', response)
}

const appliedAgain =
  'Retries repeat the write. Set `maxRetries: 0` for writes, and ask the owner of the service.'

function reportTwice(findings: Findings, twice: Outcome): void {
  if (isOk(twice)) findings.kept('deactivate-twice', describeWrite(twice))
  else if (isRefused(twice)) {
    findings.kept('deactivate-twice', describeWrite(twice), 'HttpError: handle it where this may happen.')
  } else findings.unknown('deactivate-twice', describeOutcome(twice))
}

function reportOtherRequest(findings: Findings, first: Outcome, other: Outcome): void {
  const status = other.response?.status ?? 0
  if (isOk(other)) {
    const isReplay = [...(other.response?.headers.keys() ?? [])].some(name => replayHeader.test(name))
    findings.broken(
      'same-key-other-request',
      `${describeWrite(other)}${isReplay || describeWrite(first) === describeWrite(other) ? '' : ', different from the first response'}`,
      'A key that is used twice by mistake goes unnoticed: the second write may not be applied.',
    )
  } else if (isRefused(other) && status < 500) {
    findings.kept('same-key-other-request', describeWrite(other), 'HttpError.')
  } else if (isRefused(other)) {
    const consequence = 'A key that is used twice by mistake looks like an outage, and is retried.'
    findings.broken('same-key-other-request', describeWrite(other), consequence)
  } else findings.unknown('same-key-other-request', describeOutcome(other))
}

/** Status and shape: names and types only. */
function describeWrite(outcome: Outcome): string {
  const { response } = outcome
  if (response === undefined) return describeOutcome(outcome)
  const { status, text } = response
  const json = parse(text)
  const isText = text !== '' && text !== undefined && json === undefined
  return `HTTP ${status}, ${isText ? 'text' : formatShape(json)}`
}
