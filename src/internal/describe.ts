/** The type of a value in words, such as `a string` or `null`: never the value itself. */
export function typeName(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return withArticle(typeof value)
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  return tag === 'Object' ? 'an object' : withArticle(tag)
}

/** What a caller passed by mistake. Only numbers and booleans are quoted: a string may be a secret. */
export function describe(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (value === '') return 'an empty string'
  const name = typeName(value)
  return name === 'a Promise' ? 'a Promise (is an await missing?)' : name
}

/** The error about a wrong argument. */
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
    else text += `[${escapeNonAscii(JSON.stringify(name))}]`
  }
  return text || 'the body'
}

/** One line of ASCII, as what a service or a caller wrote may hold line breaks and terminal codes. */
export function escapeNonAscii(text: string): string {
  return text.replace(/[^ -~]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
