import { InvalidResponseError, type Issue } from '../../errors.js'
import { formatPath } from '../../internal/describe.js'
import { type Field, fieldsOf, formatFields } from '../fields.js'
import type { Findings } from '../finding.js'
import type { ListedPage } from '../listed-page.js'
import { describeOutcome, isOk, isRefused, type PageOutcome } from '../session.js'

const documented = ['id', 'amount', 'currency', 'description']
const documentedEnvelope = ['data', 'page', 'totalItems', 'limit']

/** What the bodies of all pages showed. */
export interface Bodies {
  /** Fields of an item, the documented ones too. Empty if there was no item. */
  readonly fields: readonly Field[]
  /** Names of the fields, as `data[].amount`, whose numbers a double cannot hold. */
  readonly lostDigits: readonly string[]
  /** Bytes of the largest item; `undefined` if there was none. */
  readonly itemBytes: number | undefined
}

/** The items of every page, and the fields of its envelope. */
export function checkBodies(findings: Findings, outcomes: readonly PageOutcome[]): Bodies {
  const pages = outcomes.flatMap(({ page }) => (page ? [page] : []))
  const items = pages.flatMap(({ data }) => data)
  const lostDigits = Array.from(new Set(pages.flatMap(page => page.lostDigits)))
  const fields = fieldsOf(items)
  const sizes = items.map(item => new TextEncoder().encode(JSON.stringify(item)).length)
  const itemBytes = sizes.length === 0 ? undefined : Math.max(...sizes)

  checkFields(findings, pages, fields)
  if (items.length === 0) {
    for (const id of ['items', 'digits', 'item-size'] as const) findings.unknown(id, 'no item to look at')
    return { fields, lostDigits, itemBytes }
  }
  checkItems(findings, outcomes, items.length, lostDigits)
  checkDigits(findings, lostDigits)
  const average = Math.round(sizes.reduce((sum, size) => sum + size, 0) / sizes.length)
  findings.kept('item-size', `${average} bytes on average, ${itemBytes} at most`)
  return { fields, lostDigits, itemBytes }
}

/** Whether lists have pages at all. */
export function checkEnvelope(findings: Findings, outcomes: readonly PageOutcome[]): void {
  const [first] = outcomes as [PageOutcome]
  if (!isOk(first)) {
    if (isRefused(first) && !findings.isBroken('redirect') && !findings.isBroken('api-key')) {
      const consequence = 'Lists fail with HttpError. Check the path of baseUrl.'
      findings.broken('envelope', `GET /transactions: ${describeOutcome(first)}`, consequence)
    }
    return
  }
  const issues = issuesOf(outcomes).filter(issue => !isOfItem(issue))
  if (issues.length > 0) {
    findings.broken('envelope', formatIssues(issues), 'Lists fail with InvalidResponseError.')
  } else findings.kept('envelope', 'data, page, totalItems and limit')
}

function checkItems(
  findings: Findings,
  outcomes: readonly PageOutcome[],
  count: number,
  lostDigits: readonly string[],
): void {
  const issues = issuesOf(outcomes).filter(issue => isOfItem(issue) && !lostDigits.includes(toField(issue)))
  if (issues.length > 0) {
    findings.broken(
      'items',
      formatIssues(issues),
      'Lists fail with InvalidResponseError, unless a `schema` accepts these items.',
    )
  } else findings.kept('items', `${count} items with ${documented.join(', ')}`)
}

function checkFields(findings: Findings, pages: readonly ListedPage[], fields: readonly Field[]): void {
  const further = fields.filter(({ name }) => !documented.includes(name))
  const ofEnvelope = fieldsOf(pages.map(({ body }) => body)).filter(
    ({ name }) => !documentedEnvelope.includes(name),
  )
  const parts = [
    further.length > 0 ? formatFields(further) : 'none',
    ofEnvelope.length > 0 ? `in the envelope: ${formatFields(ofEnvelope)}` : '',
  ].filter(Boolean)
  if (further.length === 0) findings.kept('further-fields', parts.join('; '))
  else findings.kept('further-fields', parts.join('; '), 'Passed through; a `schema` types them.')
}

function checkDigits(findings: Findings, lostDigits: readonly string[]): void {
  if (lostDigits.length === 0) findings.kept('digits', 'every number is exact as a double')
  else {
    findings.broken(
      'digits',
      `more digits than a double holds: ${lostDigits.slice(0, 5).join(', ')}`,
      'Such a number arrives as a string of its digits. As `amount` it is an InvalidResponseError, unless a `schema` accepts it.',
    )
  }
}

function issuesOf(outcomes: readonly PageOutcome[]): Issue[] {
  return outcomes.flatMap(({ error }) => (error instanceof InvalidResponseError ? error.issues : []))
}

function isOfItem({ path }: Issue): boolean {
  return path[0] === 'data' && path.length > 1
}

/** `['data', 3, 'amount']` as `data[].amount`. */
function toField({ path }: Issue): string {
  return formatPath(path).replace(/\[\d+\]/g, '[]')
}

function formatIssues(issues: readonly Issue[]): string {
  const lines = new Set(issues.map(issue => `${toField(issue)}: ${issue.message}`))
  return [...lines].slice(0, 5).join('; ')
}
