import { LostDigitsError, parseLosslessJson } from '../internal/lossless-json.js'
import type { RecordedResponse } from './session.js'

/** A page as the service sent it, whether or not its items match. */
export interface ListedPage {
  readonly data: readonly unknown[]
  readonly page: number
  readonly totalItems: number
  readonly limit: number
  /** The whole body. */
  readonly body: Readonly<Record<string, unknown>>
  /** Where numbers are that a double cannot hold, as `data[].amount`. */
  readonly lostDigits: readonly string[]
}

/** The page in a response; `undefined` unless it is 2xx and has the form of a page. */
export function toListedPage(response: RecordedResponse | undefined): ListedPage | undefined {
  const body = response && response.status >= 200 && response.status < 300 ? parse(response.text) : undefined
  if (typeof body !== 'object' || body === null) return undefined
  const { data, page, totalItems, limit } = body as Record<string, unknown>
  if (!Array.isArray(data) || !isWhole(page) || !isWhole(totalItems) || !isWhole(limit)) return undefined
  const lostDigits = findLostDigits(response?.text ?? '', body)
  return { data, page, totalItems, limit, body: body as Record<string, unknown>, lostDigits }
}

/** The ids of the items, where all have one. */
export function idsOf(page: ListedPage): string[] | undefined {
  const ids = page.data.map(item => (item as { id?: unknown } | null)?.id)
  return ids.every(id => typeof id === 'string' || typeof id === 'number') ? ids.map(String) : undefined
}

/** JSON of any kind; `undefined` for text that is not JSON, or so deeply nested that checks would use up the stack. */
export function parse(text: string | undefined): unknown {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return isShallow(value) ? value : undefined
  } catch {
    return undefined
  }
}

const maxDepth = 1000

function isShallow(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return false
    level = level.flatMap(parent =>
      typeof parent === 'object' && parent !== null ? Object.values(parent) : [],
    )
  }
  return true
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** Where the lossless parser of the client keeps digits as a string that JSON.parse has rounded. */
function findLostDigits(text: string, rounded: unknown): string[] {
  const found = new Set<string>()
  const compare = (exact: unknown, plain: unknown, path: string): void => {
    if (typeof plain === 'number') {
      if (typeof exact === 'string') found.add(path)
    } else if (Array.isArray(plain)) {
      for (const [index, item] of plain.entries()) compare((exact as unknown[])[index], item, `${path}[]`)
    } else if (typeof plain === 'object' && plain !== null) {
      for (const [name, value] of Object.entries(plain)) {
        compare((exact as Record<string, unknown>)[name], value, path === '' ? name : `${path}.${name}`)
      }
    }
  }
  try {
    compare(parseLosslessJson(text, new TextEncoder().encode(text)), rounded, '')
  } catch (error) {
    if (!(error instanceof LostDigitsError)) throw error
    found.add('a number')
  }
  return [...found]
}
