/** The result of one check. It names fields and types, never a value of a record. */
export interface Finding {
  /** The name of the check, such as `smaller-limits`. Every report has the same names. */
  readonly id: FindingId
  /**
   * - `ok`: as the client expects
   * - `note`: the API specification leaves it open, and it has an effect, which `advice` names
   * - `broken`: contradicts the API specification, or something that the client relies on
   * - `not-checked`: could not be seen; `observed` says why
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
