import { errorCode } from './error-code.js'

const redacted = '[api key]'

// A shorter key may be part of any text by chance, and redacting it would shred bodies.
const minKeyLengthInText = 8

// A key is searched for in parts of so many characters, of which the first is enough to redact: the time stays linear even
// for a key that repeats itself.
const partLength = 24

// An error chain of a runtime is three deep; a longer one may be a circle.
const maxCauseDepth = 4

/** Removes the API keys that a call has used from what others see of it: services echo what they were sent. */
export class Redactor {
  /** Each key with its pattern, which is only compiled when there is something to redact. */
  readonly #patterns = new Map<string, RegExp | undefined>()

  addKey(key: string): void {
    if (!this.#patterns.has(key)) this.#patterns.set(key, undefined)
  }

  text(text: string, minKeyLength: number = minKeyLengthInText): string {
    let result = text
    // The longest first: a key may begin with another.
    const keys = Array.from(this.#patterns).sort(([a], [b]) => b.length - a.length)
    for (const [key, compiled] of keys) {
      // Every spelling of a key is at least as long as the key.
      if (key.length < minKeyLength || key.length > result.length) continue
      const pattern = compiled ?? keyPattern(key)
      this.#patterns.set(key, pattern)
      result = result.replace(pattern, redacted)
    }
    return result
  }

  /** A copy without keys in values, and without headers that have a key in their name. */
  headers(headers: Headers): Headers {
    const copy = new Headers()
    for (const [name, value] of headers) {
      if (!this.#isInName(name)) copy.append(name, this.text(value, 1))
    }
    return copy
  }

  /** Names are in lower case, so a key in one is, too. */
  #isInName(name: string): boolean {
    return Array.from(this.#patterns.keys()).some(
      key => key.length >= minKeyLengthInText && name.toLowerCase().includes(key.toLowerCase()),
    )
  }

  /** A copy of a JSON value, its keys and numbers included; undefined for one that is nested too deeply to search. */
  json(value: unknown): unknown {
    try {
      return this.#json(value)
    } catch {
      return undefined
    }
  }

  #json(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number') return this.text(String(value)) === String(value) ? value : redacted
    if (Array.isArray(value)) return value.map(item => this.#json(item))
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([key, inner]) => [this.text(key), this.#json(inner)])
    // Not by assignment: a key may be __proto__.
    return Object.fromEntries(entries)
  }

  /** A copy of an error chain as plain errors: the originals of some fetches hold the request with its headers. */
  cause(error: unknown): Error | undefined {
    try {
      return this.#cause(error, 0)
    } catch {
      // Anything can be thrown, also an object whose getters throw.
      return undefined
    }
  }

  #cause(error: unknown, depth: number): Error | undefined {
    if (error === undefined || depth === maxCauseDepth) return undefined
    // Not by instanceof: under Jest a runtime's errors are of another realm.
    const { name, message, stack, cause } = Object(error) as Record<keyof Error, unknown>
    const inner = this.#cause(cause, depth + 1)
    const text = [message, error, Object.prototype.toString.call(error)].find(
      candidate => typeof candidate === 'string',
    )
    const copy = new Error(this.text(text as string), inner && { cause: inner })
    const code = errorCode(error)
    if (code !== undefined) Object.assign(copy, { code: this.text(code) })
    for (const [key, value] of Object.entries({ name, stack })) {
      if (typeof value !== 'string') continue
      Object.defineProperty(copy, key, { value: this.text(value), configurable: true, writable: true })
    }
    return copy
  }
}

/** Matches the key verbatim, as JSON writes it, and in every mix of URL encoding in either case. */
function keyPattern(key: string): RegExp {
  const characters = Array.from(key, characterPattern)
  let pattern = ''
  for (
    let start = Math.floor((characters.length - 1) / partLength) * partLength;
    start >= 0;
    start -= partLength
  ) {
    const part = characters.slice(start, start + partLength).join('')
    pattern = pattern === '' ? part : `${part}(?:${pattern})?`
  }
  return new RegExp(pattern, 'g')
}

function characterPattern(character: string): string {
  const literal = character.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  const bytes = encodeURIComponent(character)
  const encoded = bytes.startsWith('%') ? bytes : `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`
  const anyCase = encoded.replace(/[a-f]/gi, letter => `[${letter.toLowerCase()}${letter.toUpperCase()}]`)
  const more = { ' ': '|\\+', '"': '|\\\\"', '\\': '|\\\\\\\\' }[character] ?? ''
  return `(?:${literal}|${anyCase}${more})`
}
