/** One line of a {@link ProbeReport}. It names fields and types, never a value of a record, and never the API key. */
export interface ProbeFinding {
  /** Identifies the finding; the same in every report. */
  readonly id: string
  /** What was checked. */
  readonly title: string
  /**
   * - `kept`: what was seen conforms to the API specification, or the specification leaves it open and the client can work
   *   with it
   * - `broken`: what was seen contradicts the API specification, or something that the client relies on
   * - `unknown`: it could not be seen; `observed` says why
   */
  readonly status: 'kept' | 'broken' | 'unknown'
  /** What was seen. */
  readonly observed: string
  /** What the client does then. Always there for a broken finding. */
  readonly consequence?: string
}

/** All findings, in the order of the report. */
const titles = {
  reachable: 'Reachable over TLS',
  redirect: 'No redirect',
  'api-key': 'Api-Key accepted',
  'wrong-key': 'Wrong Api-Key refused',
  envelope: 'Page envelope matches',
  items: 'Items match',
  'further-fields': 'Further fields',
  digits: 'Numbers keep their digits',
  'item-size': 'Size of an item',
  'page-echo': 'page is echoed',
  'limit-echo': 'limit is echoed and obeyed',
  'default-limit': 'Default limit',
  'max-limit': 'Largest limit',
  'page-beyond-end': 'Page beyond the end',
  'page-zero': 'Page 0',
  'page-text': 'Text as page',
  total: 'totalItems counts the list',
  'total-stable': 'totalItems is stable',
  order: 'Order is stable',
  neighbours: 'Pages fit together',
  'request-id': 'Request id',
  'rate-limit': 'Rate limits',
  'retry-after': 'Retry-After',
  compression: 'Compression',
  cache: 'Not cached',
  cors: 'CORS',
  deactivate: 'Deactivate',
  reactivate: 'Reactivate',
  'same-key': 'Same key again',
  'same-key-other-request': 'Same key, other request',
  'deactivate-twice': 'Deactivate twice',
} as const

export type FindingId = keyof typeof titles

/** Collects the findings of a probe. */
export class Findings {
  readonly #byId = new Map<FindingId, ProbeFinding>()

  kept(id: FindingId, observed: string, consequence?: string): void {
    this.#add(id, 'kept', observed, consequence)
  }

  broken(id: FindingId, observed: string, consequence: string): void {
    this.#add(id, 'broken', observed, consequence)
  }

  unknown(id: FindingId, observed: string): void {
    this.#add(id, 'unknown', observed, undefined)
  }

  has(id: FindingId): boolean {
    return this.#byId.has(id)
  }

  isBroken(id: FindingId): boolean {
    return this.#byId.get(id)?.status === 'broken'
  }

  /** Every finding in the order of the report. Those that no check has made are unknown, for this reason. */
  all(reason: string): ProbeFinding[] {
    for (const id of Object.keys(titles) as FindingId[]) {
      if (!this.#byId.has(id)) this.unknown(id, reason)
    }
    return (Object.keys(titles) as FindingId[]).map(id => this.#byId.get(id) as ProbeFinding)
  }

  #add(id: FindingId, status: ProbeFinding['status'], observed: string, consequence?: string): void {
    const finding = { id, title: titles[id], status, observed }
    this.#byId.set(id, consequence === undefined ? finding : { ...finding, consequence })
  }
}

/** `1 response`, `2 responses`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
