import { escapeControl } from '../internal/describe.js'

/** One line of a {@link ProbeReport}. It names fields and types, never a value of a record. */
export interface ProbeFinding {
  /** Identifies the finding; the same in every report. */
  readonly id: string
  /** What was checked. */
  readonly title: string
  /**
   * - `ok`: what was seen conforms to the API specification, or the specification leaves it open and the client can work with it
   * - `broken`: what was seen contradicts the API specification, or something that the client relies on
   * - `not-checked`: it could not be seen; `observed` says why
   */
  readonly status: 'ok' | 'broken' | 'not-checked'
  /** What was seen. */
  readonly observed: string
  /** What the client does then. Always there for a broken finding. */
  readonly consequence?: string
}

/** Client options that suit a service. Pass `limit` to lists, `maxRetries` to writes, and the others to the client. */
export interface SuggestedOptions {
  /** Number of items per page. */
  limit?: number
  /** 1 if the service throttled lists. */
  concurrency?: number
  /** 0 if a retry of a write may apply it again. */
  maxRetries?: number
}

/** The titles of all findings, in the order of the report. */
const titles = {
  reachable: 'Reachable',
  'api-key': 'Api-Key',
  'wrong-key': 'Wrong Api-Key',
  envelope: 'List of transactions',
  items: 'Items',
  'further-fields': 'Further fields',
  digits: 'Digits of numbers',
  'page-echo': 'Page number',
  'page-zero': 'First page',
  'limit-echo': 'Limit',
  'max-limit': 'Larger limits',
  total: 'totalItems',
  'page-beyond-end': 'Page beyond the end',
  order: 'Order of items',
  neighbours: 'Items on pages',
  speed: 'Response time',
  'request-id': 'Request id',
  'rate-limit': 'Rate limit',
  cache: 'Caches',
  cors: 'CORS',
  deactivate: 'Deactivate',
  reactivate: 'Reactivate',
  'same-key': 'Same key again',
  'deactivate-twice': 'Deactivate twice',
} as const

export type FindingId = keyof typeof titles

const maxTextLength = 1_200
const maxListed = 5
const ids = Object.keys(titles) as FindingId[]

/** Collects the findings of a probe, and the options that follow from them. A later finding replaces an earlier one with the same id. */
export class Findings {
  readonly suggested: SuggestedOptions = {}
  readonly #redact: (text: string) => string
  readonly #byId = new Map<FindingId, ProbeFinding>()

  /** @param redact Removes API keys from a text. */
  constructor(redact: (text: string) => string) {
    this.#redact = redact
  }

  ok(id: FindingId, observed: string, consequence?: string): void {
    this.#set(id, 'ok', observed, consequence)
  }

  broken(id: FindingId, observed: string, consequence: string): void {
    this.#set(id, 'broken', observed, consequence)
  }

  notChecked(id: FindingId, observed: string): void {
    this.#set(id, 'not-checked', observed)
  }

  /** Gives the reason for those that no check has made. */
  notCheckedElse(ids: readonly FindingId[], reason: string): void {
    for (const id of ids) if (!this.#byId.has(id)) this.notChecked(id, reason)
  }

  isBroken(id: FindingId): boolean {
    return this.#byId.get(id)?.status === 'broken'
  }

  /** Every finding in the order of the report. */
  all(reason: string): ProbeFinding[] {
    this.notCheckedElse(ids, reason)
    return ids.map(id => this.#byId.get(id) as ProbeFinding)
  }

  #set(id: FindingId, status: ProbeFinding['status'], observed: string, consequence?: string): void {
    // Names and headers are the service's: of any length, and they may hold terminal codes or the key.
    const shown = (text: string) => cut(escapeControl(this.#redact(text)))
    const finding = { id, title: titles[id], status, observed: shown(observed) }
    this.#byId.set(id, consequence ? { ...finding, consequence: shown(consequence) } : finding)
  }
}

/** A long text ends after a word, and says that it is cut. */
function cut(text: string): string {
  return text.length > maxTextLength
    ? `${text.slice(0, maxTextLength).replace(/ ?[^ ]{0,100}$/, '')} ...`
    : text
}

/** The first few, and whether there are more. */
export function listed(texts: Iterable<string>, separator: string): string {
  const all = [...texts]
  return [...all.slice(0, maxListed), ...(all.length > maxListed ? ['and more'] : [])].join(separator)
}

/** `1,234`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

/** `1 response`, `2,000 responses`. */
export function countOf(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`
}
