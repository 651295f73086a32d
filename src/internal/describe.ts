import { isPlain } from './object.js'

/** The type of a value in words, such as `a string` or `null`: never the value itself. */
export function typeName(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return withArticle(typeof value)
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  if (tag !== 'Object') return withArticle(tag)
  return isPlain(value) ? 'an object' : 'a class instance'
}

/** Maximum length of a key or value in a message. */
const maxKeyLength = 60

/** An id or key that only a bug produces, such as `undefined` or `[object Object]`. Also `..`, which URLs drop. */
export const madeByBug: RegExp = /^(?:undefined|null|NaN|\.\.?|(?:\[|%5B)object(?: |%20)\w+(?:\]|%5D))$/

/**
 * A caller's wrong argument, for a message. Quotes a URL without user info and query. Hides a secret, unless it is
 * `madeByBug`.
 */
export function describe(value: unknown, isSecret = false): string {
  if (value === '') return 'an empty string'
  if (Array.isArray(value) && value.length === 0) return 'an empty array'
  if (typeof value === 'string' && (!isSecret || madeByBug.test(value)))
    return `"${toLine(value.replace(/^.*@/s, '...@').replace(/[?#].*/s, '...'), maxKeyLength)}"`
  if (Number.isNaN(value) || (!isSecret && /^(?:number|boolean)$/.test(typeof value))) return String(value)
  const name = typeName(value)
  return name === 'a Promise' ? 'a Promise (is an await missing?)' : name
}

/** The beginning of a URL, a path or a host, perhaps after a quote. No token or key has one. */
const likeUrl =
  /^["'`\s]*(?:https?\b|\w+:\/\/|\/|localhost\b|(?:[a-z\d-]+\.)+[a-z]{2,}(?![^:/?#])|\d+(?:\.\d+){3})/

/** The names of arguments whose value may be or contain a secret. */
const secrets = /^(?:options|apiKey|idempotencyKey|headers|body|query)\b/

/** A hint for a value that is usually read from the environment. */
export function environmentHint(value: unknown): string {
  return !value || value === 'undefined' ? ' (is the environment variable set?)' : ''
}

export function wrongArgument(name: string, expected: string, value: unknown, hint = ''): TypeError {
  // The value may be an API key in the wrong place.
  const isKey = name === 'baseUrl' && typeof value === 'string' && !likeUrl.test(value)
  const got = describe(value, isKey || secrets.test(name))
  return new TypeError(`${name}: expected ${expected}, got ${got}${hint}`)
}

export function withArticle(noun: string): string {
  return `${/^(?:[aeio]|u(?!int|rl))/i.test(noun) ? 'an' : 'a'} ${noun}`
}

/** `['data', 0, 'amount']` as `data[0].amount`. */
export function formatPath(path: readonly PropertyKey[]): string {
  const steps = path.map(key => {
    if (typeof key === 'number') return `[${key}]`
    const name = String(key).slice(0, maxKeyLength)
    return /^[\w$-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
  })
  return steps.join('').replace(/^\./, '') || 'the body'
}

/** Foreign text as part of one line. Cut first, because a response of megabytes must not block the process. */
export function toLine(text: string, maxLength: number): string {
  // Control and bidirectional characters could rewrite a log. Other languages stay readable.
  const control = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
  const line = text
    .slice(0, maxLength + 1)
    .replace(control, found => found.split('').map(escapeUnit).join(''))
  // Never cut in the middle of a character.
  return line.length > maxLength ? `${line.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')}...` : line
}

/** A UTF-16 code unit as `\\u0000`. */
export function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
