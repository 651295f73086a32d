/** The type of a value in words, such as `a string` or `null`: never the value itself. */
export function typeName(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return withArticle(typeof value)
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  return tag === 'Object' ? 'an object' : withArticle(tag)
}

/** A text that only a bug makes of a missing id or key, and that no URL keeps: `undefined`, `[object Object]`, `..`. */
export const madeByBug: RegExp = /^(?:undefined|null|NaN|\.\.?|(?:\[|%5B)object(?: |%20)\w+(?:\]|%5D))$/

/** What a caller passed by mistake. Only numbers, booleans and what a bug makes are quoted: a string may be a secret. */
export function describe(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value === 'string' && madeByBug.test(value)) return `"${value}"`
  if (value === '') return 'an empty string'
  const name = typeName(value)
  return name === 'a Promise' ? 'a Promise (is an await missing?)' : name
}

/** For a value that is usually read from the environment. */
export function environmentHint(value: unknown): string {
  return !value || value === 'undefined' ? ' (is the environment variable set?)' : ''
}

export function wrongArgument(name: string, expected: string, value: unknown, hint = ''): TypeError {
  return new TypeError(`${name}: expected ${expected}, got ${describe(value)}${hint}`)
}

function withArticle(noun: string): string {
  return `${/^(?:[aeio]|u(?!int|rl))/i.test(noun) ? 'an' : 'a'} ${noun}`
}

const maxKeyLength = 60

/** `['data', 0, 'amount']` as `data[0].amount`. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = ''
  for (const key of path) {
    const name = String(key).slice(0, maxKeyLength)
    if (typeof key === 'number') text += `[${key}]`
    else if (/^[\w$-]+$/.test(name)) text += text === '' ? name : `.${name}`
    else text += `[${JSON.stringify(name)}]`
  }
  return text || 'the body'
}

/** A text of others as a part of one line. It is cut first, as a response of megabytes must not block the process. */
export function toLine(text: string, maxLength: number): string {
  const line = escapeControl(text.trim().slice(0, maxLength + 1))
  return line.length > maxLength ? `${line.slice(0, maxLength)}...` : line
}

/** A UTF-16 code unit as `\\u0000`. */
export function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Control and bidirectional characters could rewrite a log; other languages stay readable. */
export function escapeControl(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, found => found.split('').map(escapeUnit).join(''))
}
