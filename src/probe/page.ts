import { envelopeValidator } from '../pagination/page.js'
import { type FoundIssue, validate } from '../schema.js'
import { grouped } from './findings.js'
import { jsonType, Shape, toJson } from './shape.js'

/** What the envelope of a page says, and what pages are compared by. It holds no item. */
export interface ListedPage {
  readonly page: number
  readonly limit: number
  readonly totalItems: number
  /** Number of items on the page. */
  readonly count: number
  /** The ids of the items; `undefined` unless all have one. */
  readonly ids: readonly string[] | undefined
}

const maxNames = 10
const maxNameLength = 40

/**
 * What breaks the envelope of a page, such as `totalItems: expected a whole number of at least 0, got a string`; last the
 * names that it has, each as a whole, as half an API key could not be found.
 */
export function findEnvelopeProblems(body: unknown): string[] {
  const issues: FoundIssue[] = []
  validate(body, envelopeValidator, issues)
  if (jsonType(body) !== 'object') return issues.map(({ message }) => message)
  const isMissing = ({ path: [name = ''] }: FoundIssue) => !Object.hasOwn(body as object, name)
  const problems = issues.flatMap(issue =>
    isMissing(issue) ? [] : `${String(issue.path[0])}: ${issue.message}`,
  )
  const missing = issues.filter(isMissing).map(({ path }) => String(path[0]))
  if (missing.length === 0) return problems
  problems.push(`no ${missing.join(', ')}`)
  const names = Object.keys(body as object)
  const shown = names.filter(({ length }) => length <= maxNameLength).slice(0, maxNames)
  if (shown.length < names.length) shown.push('and more')
  return [...problems, `the object has ${shown.join(', ') || 'no fields'}`]
}

/** A body without envelope problems as a page. */
export function toListedPage(body: unknown): ListedPage {
  const { data, page, limit, totalItems } = body as ListedPage & { data: readonly unknown[] }
  const ids = data.map(item => (item as { id?: unknown } | null)?.id)
  const isIdentified = ids.every(id => typeof id === 'string' || typeof id === 'number')
  return {
    page,
    limit,
    totalItems,
    count: data.length,
    ids: isIdentified ? ids.map(id => JSON.stringify(id)) : undefined,
  }
}

/** The last page that the total points at, with a limit that may be another than that of the page. */
export function lastPageNumber({ totalItems }: ListedPage, limit: number): number {
  return Math.max(1, Math.ceil(totalItems / limit))
}

/** How many items a page lacks by its own total; negative for items too many. */
export function missingOn({ page, limit, count, totalItems }: ListedPage): number {
  return Math.max(0, Math.min(limit, totalItems - (page - 1) * limit)) - count
}

/** `page 2 with limit 20`. */
export function nameOf({ page, limit }: ListedPage): string {
  return `page ${grouped(page)} with limit ${grouped(limit)}`
}

/** The fields of a transaction that the API specification names. */
export const documentedFields: Readonly<Record<string, string>> = {
  id: 'string',
  amount: 'number',
  currency: 'string',
  description: 'string',
}

export function isDocumented(name: string): boolean {
  return Object.hasOwn(documentedFields, name)
}

/** The same item. A shape has a part of its fields if there are very many. */
function documentedFirst(item: unknown): unknown {
  if (jsonType(item) !== 'object') return item
  const documented = Object.entries(item as object).filter(([name]) => isDocumented(name))
  return { ...Object.fromEntries(documented), ...(item as object) }
}

// More than are shown.
const maxProblems = 6

/** What all pages of a list have shown about its items. */
export class Sample {
  /** Number of items. */
  items = 0
  /** Number of pages. */
  pages = 0
  /** Length of an item as JSON: the average of the page where it is largest. */
  itemBytes = 0
  /** How items differ from the API specification, such as `amount: string instead of number`. */
  readonly problems: Set<string> = new Set()
  readonly item: Shape
  /** The fields of the envelope that the API specification does not name. */
  readonly envelope: Shape
  /** The last JSON body that was no page. */
  otherBody: Shape | undefined
  readonly #isShown: (name: string) => boolean

  /** @param isShown Whether the name of a field may be shown. */
  constructor(isShown: (name: string) => boolean) {
    this.#isShown = isShown
    this.item = new Shape(isShown)
    this.envelope = new Shape(isShown)
  }

  /** Adds a page: the value of JSON.parse, and the value that the client returned. */
  add(plain: unknown, exact: unknown): void {
    const { data, page, totalItems, limit, ...envelope } = plain as Record<string, unknown>
    const items = data as readonly unknown[]
    const exactItems = (exact as { data: readonly unknown[] }).data
    this.pages++
    this.items += items.length
    const bytes = Math.ceil((toJson(items)?.length ?? 0) / Math.max(1, items.length))
    this.itemBytes = Math.max(this.itemBytes, bytes)
    this.envelope.add(envelope, exact)
    for (const [index, item] of items.entries()) {
      this.item.add(documentedFirst(item), exactItems[index])
      if (this.problems.size < maxProblems) this.#addProblems(item)
    }
  }

  addOther(plain: unknown, exact: unknown): void {
    this.otherBody = new Shape(this.#isShown)
    this.otherBody.add(plain, exact)
  }

  #addProblems(item: unknown): void {
    if (jsonType(item) !== 'object') {
      this.problems.add(`${jsonType(item)} instead of an object`)
      return
    }
    for (const [name, type] of Object.entries(documentedFields)) {
      const value = (item as Record<string, unknown>)[name]
      const got = value === undefined ? 'missing' : `${jsonType(value)} instead of ${type}`
      // Also an id that is a number: one with too many digits arrives as a string, but others do not.
      if (typeof value !== type) this.problems.add(`${name}: ${got}`)
    }
  }
}
