import type { Client, VirtualAccountRef } from '../index.js'
import { broken, type Finding, notChecked, ok } from './finding.js'
import { isConclusive, outcomeOf, outOfTime } from './read.js'

const noRetries = 'A retry may fail or apply the write again. Pass `maxRetries: 0` to writes.'
const howLong = 'Ask the owner of the service how long it remembers keys.'

/** Thrown, because a finding could go unread while the account stays inactive. */
export class NotReactivatedError extends Error {}

/**
 * Whether writes honour their idempotency key. Deactivates an account twice with the same key, then reactivates it.
 *
 * The writes ignore the signal. An aborted one could be applied after the reactivation.
 *
 * @throws NotReactivatedError if the account may be inactive.
 */
export async function checkWrites(
  { virtualAccounts }: Client,
  signal: AbortSignal,
  account: VirtualAccountRef,
): Promise<Finding> {
  if (signal.aborted) return notChecked('idempotency', outOfTime)
  const deactivate = (idempotencyKey?: string) =>
    outcomeOf(() => virtualAccounts.deactivate(account, { idempotencyKey }))
  const first = await deactivate()
  if (first.error?.outcomeUnknown === false) return notChecked('idempotency', first.problem ?? '')
  const second = first.value && !signal.aborted ? await deactivate(first.value.idempotencyKey) : undefined
  const reactivated = await outcomeOf(() => virtualAccounts.reactivate(account))
  if (reactivated.problem !== undefined)
    throw new NotReactivatedError(`The account may be inactive: ${reactivated.problem} Reactivate it.`)

  if (first.error?.kind === 'http' && isConclusive(first))
    return broken('idempotency', `a write fails: ${first.problem}`, "Report it to the service's owner.")
  if (first.value === undefined) return notChecked('idempotency', first.problem ?? '')
  if (second === undefined) return notChecked('idempotency', outOfTime)
  const { value, problem = '' } = second
  if (value === undefined) {
    if (!isConclusive(second)) return notChecked('idempotency', `a repeated key: ${problem}`)
    return broken('idempotency', `a repeated key: ${problem}`, noRetries)
  }
  if (value.headers.get('idempotent-replayed') === 'true')
    return ok('idempotency', 'a repeated key gets a response that is marked as a replay', howLong)
  if (toComparable(value.data) !== toComparable(first.value.data)) {
    const observed = 'a repeated key gets another response, as if it were a new write'
    return broken('idempotency', observed, noRetries)
  }
  const response = value.data === undefined ? 'empty response' : 'response'
  return ok('idempotency', `a repeated key gets the same ${response} (no proof of a single write)`, howLong)
}

/** Sorts fields, because a stored response may have them in another order. */
function toComparable(data: unknown): string | undefined {
  return JSON.stringify(data, (_name, value) => {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? Object.fromEntries(Object.entries(value).sort()) : value
  })
}
