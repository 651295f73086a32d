import { typeName, wrongArgument } from './describe.js'

const expectedShape = 'Headers, an array of [name, value] pairs or an object'

/**
 * Headers in any of their forms as one plain record of lower-case names, which every fetch accepts. A header whose value
 * is `undefined` is skipped. Messages name a wrong header, never its value.
 */
export function normalizeHeaders(given: unknown): Record<string, string> {
  if (typeof given !== 'object' || given === null) {
    throw wrongArgument('headers', expectedShape, given)
  }
  const pairs = Symbol.iterator in given ? [...(given as Iterable<unknown>)] : Object.entries(given)
  const headers = new Headers()
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2 || typeof pair[0] !== 'string') {
      throw wrongArgument('headers', expectedShape, pair, ' among the pairs')
    }
    const [name, value] = pair as [string, unknown]
    if (value === undefined) continue
    if (typeof value !== 'string') {
      throw new TypeError(`headers[${JSON.stringify(name)}]: expected a string, got ${typeName(value)}`)
    }
    if (!isHeaderValue(value)) throw cannotBeSent(name)
    try {
      headers.append(name, value)
    } catch {
      // The runtime's own message would show the value.
      throw cannotBeSent(name)
    }
  }
  return Object.fromEntries(headers)
}

function cannotBeSent(name: string): TypeError {
  return new TypeError(
    `headers[${JSON.stringify(name)}]: cannot be sent: expected a valid header name, and a Latin-1 value without line breaks or other control characters (the value is not shown)`,
  )
}

/** Latin-1 without control characters, except tab. White space around a value is trimmed by fetch. */
function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

/** The id that a service gave to a request, by the two customary names. Neither is specified. */
export function requestIdOf(headers: Headers): string | undefined {
  return headers.get('x-request-id') || headers.get('request-id') || undefined
}
