import { describe } from './describe.js'

const expected = 'body: expected JSON data'

/** A request body as JSON text. JSON.stringify alone silently alters or drops what JSON cannot hold. */
export function toJson(body: unknown): string {
  // As it is passed to fetch; here it would be written as a string within JSON.
  if (typeof body === 'string' && /^\s*(?:\{.*\}|\[.*\])\s*$/s.test(body)) {
    throw new TypeError(`${expected}, got a string of JSON: pass the value itself, without JSON.stringify`)
  }
  try {
    const text = JSON.stringify(body, assertJsonValue) as string | undefined
    if (text === undefined) throw notJson(undefined)
    return text
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith(expected)) throw error
    const problem = 'got an object that cannot be written (circular, or its toJSON throws)'
    throw new TypeError(`${expected}, ${problem}`, { cause: error })
  }
}

/** A replacer for JSON.stringify. It reads the value from its holder, as `value` is already the output of toJSON. */
function assertJsonValue(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const original = this[key]
  if (typeof value === 'number' && !Number.isFinite(value)) throw notJson(value, key)
  if (typeof value === 'bigint') throw notJson(value, key, ': send its digits as a string')
  if (!isJsonData(value)) throw notJson(value, key)
  // An invalid Date would become null, bytes an object, a hole in an array null.
  const isAltered = (value === null && original !== null) || ArrayBuffer.isView(original)
  if (isAltered || (value === undefined && Array.isArray(this))) throw notJson(original, key)
  return value
}

/** @param key Name of the property, or index in its array; empty for the body itself. */
function notJson(value: unknown, key = '', hint = ''): TypeError {
  const where = key === '' ? '' : ` at ${JSON.stringify(key)}`
  return new TypeError(`${expected}, got ${describe(value)}${where}${hint}`)
}

/** By its tag: FormData, streams, Blobs and Maps would all be written as {}. */
function isJsonData(value: unknown): boolean {
  if (typeof value === 'function' || typeof value === 'symbol') return false
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return true
  const isStream = Symbol.asyncIterator in value || typeof (value as { pipe?: unknown }).pipe === 'function'
  return !isStream && Object.prototype.toString.call(value) === '[object Object]'
}
