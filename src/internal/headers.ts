import { assertObject } from './arguments.js'
import { wrongArgument } from './describe.js'

const expectedShape = 'Headers, an array of [name, value] pairs or an object'

/** Silently replacing a key could duplicate writes. Runtimes refuse or drop the other headers when they send. */
const reserved =
  /^(?:api-key|idempotency-key|content-type|content-length|transfer-encoding|expect|keep-alive|upgrade)$/i
const reservedHint = 'cannot be set here. Remove it. For keys, use the options apiKey and idempotencyKey.'

/**
 * Headers in any of their forms as one record of lower-case names. A header whose value is `undefined` is skipped. Messages name
 * a wrong header, never its value.
 */
export function readHeaders(given: unknown): Record<string, string> {
  if (typeof given !== 'object' || given === null) throw wrongArgument('headers', expectedShape, given)
  const pairs =
    Symbol.iterator in given ? (given as Iterable<unknown>) : Object.entries(assertObject('headers', given))
  const headers = new Headers()
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2 || typeof pair[0] !== 'string')
      throw wrongArgument('headers', expectedShape, pair, ' among the pairs')
    const [name, value] = pair as [string, unknown]
    if (value === undefined) continue
    const label = `headers[${JSON.stringify(name)}]`
    if (reserved.test(name)) throw new TypeError(`${label}: ${reservedHint}`)
    try {
      // Some runtimes refuse control characters only when they send.
      if (typeof value !== 'string' || /[^\t\x20-\x7e\x80-\xff]/.test(value)) throw value
      headers.append(name, value)
    } catch {
      // The runtime's own message would show the value.
      throw wrongArgument(label, 'a valid name and a value of one line of Latin-1', value)
    }
  }
  return Object.fromEntries(headers)
}
