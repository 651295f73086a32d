import { isExactNumber } from './arguments.js'
import { wrongArgument } from './describe.js'
import { isPlain } from './object.js'

/** A request body as JSON text. JSON.stringify alone silently alters or drops what JSON cannot hold. */
export function toJson(body: unknown): string {
  if (typeof body === 'string' && isJsonOfObject(body))
    throw new TypeError('body: expected a value, got a JSON string. Remove JSON.stringify.')
  let misuse: TypeError | undefined
  // A replacer. It reads the original from its holder, because `value` is already the output of toJSON.
  function assertJsonData(this: Record<string, unknown>, key: string, value: unknown): unknown {
    // An invalid Date or a hole in an array would become null, and bytes an object.
    const original = this[key]
    const isAltered = (value === null && original !== null) || ArrayBuffer.isView(original)
    const isHole = value === undefined && (key === '' || Array.isArray(this))
    if (!isAltered && !isHole && isJsonData(value)) return value
    const place = key === '' ? '' : ` at ${JSON.stringify(key)}`
    misuse = Number.isInteger(value)
      ? new TypeError(`body: an integer above 2^53 - 1 has lost digits${place}. Send it as a string.`)
      : wrongArgument('body', 'JSON data', original, place)
    throw misuse
  }
  try {
    return JSON.stringify(body, assertJsonData)
  } catch (cause) {
    throw misuse ?? new TypeError('body: expected JSON data (is it circular? see error.cause)', { cause })
  }
}

/** Such a string would be encoded twice. Hardly any service accepts that. */
function isJsonOfObject(text: string): boolean {
  try {
    return /^\s*[[{]/.test(text) && typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

/** Checks the tag, because FormData, streams, Blobs and Maps would all become {}. So would an instance with only getters. */
function isJsonData(value: unknown): boolean {
  if (typeof value === 'number') return isExactNumber(value)
  if (typeof value !== 'object') return !['function', 'symbol', 'bigint'].includes(typeof value)
  if (value === null || Array.isArray(value)) return true
  const isObject = Object.prototype.toString.call(value) === '[object Object]'
  const hasData = isPlain(value) || Object.keys(value).length > 0
  return isObject && hasData && !(Symbol.asyncIterator in value)
}
