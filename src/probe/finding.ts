/** The result of one check. It shows names of fields and types, but no values of records. */
export interface Finding {
  /** The name of the check, such as `smaller-limits`. All reports have the same checks. */
  readonly id: FindingId
  /**
   * - `ok`: The client expects this.
   * - `note`: The API specification leaves this open. `advice` explains the effect.
   * - `broken`: This contradicts the API specification, or breaks the client.
   * - `not-checked`: The probe could not see this. `observed` says why.
   */
  readonly status: 'ok' | 'note' | 'broken' | 'not-checked'
  /** The observation, in one line. */
  readonly observed: string
  /** The effect, and the client option that helps. */
  readonly advice?: string
}

/** In the order of the report. */
export const findingIds = [
  'reachable',
  'api-key',
  'envelope',
  'page-numbers',
  'items',
  'smaller-limits',
  'largest-limit',
  'ids',
  'order',
  'growth',
  'total',
  'beyond-end',
  'cors',
  'idempotency',
] as const

export type FindingId = (typeof findingIds)[number]

export function ok(id: FindingId, observed: string, advice?: string): Finding {
  return advice === undefined ? { id, status: 'ok', observed } : { id, status: 'ok', observed, advice }
}

export function note(id: FindingId, observed: string, advice: string): Finding {
  return { id, status: 'note', observed, advice }
}

export function broken(id: FindingId, observed: string, advice: string): Finding {
  return { id, status: 'broken', observed, advice }
}

export function notChecked(id: FindingId, observed: string): Finding {
  return { id, status: 'not-checked', observed }
}

export const emptyList = 'the list is empty'

/** `1 item`, `2,000 items`. */
export function countOf(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}
