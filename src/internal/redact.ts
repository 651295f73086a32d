import { findErrorDetails, maxCauseDepth } from './error-details.js'

const redacted = '[api key]'

// A shorter key may be part of any text by chance, and redacting it would garble bodies.
const minKeyLengthInText = 8

/** Removes API keys from what a call shows to others: services echo what they were sent. */
export class Redactor {
  readonly #keys: readonly string[]
  /** Compiled when there is a text that may hold one. */
  readonly #patterns = new Map<string, RegExp>()

  constructor(keys: readonly string[]) {
    // The longest first: a key may begin with another.
    this.#keys = keys.flatMap(asRead).sort((a, b) => b.length - a.length)
  }

  /** A text without keys: in any case, percent-encoded, or as JSON or HTML escapes them. */
  text(text: string, minKeyLength: number = minKeyLengthInText): string {
    let result = text
    for (const key of this.#keys) {
      if (key.length < minKeyLength || key.length > result.length) continue
      const isEchoed = result.toLowerCase().includes(key.toLowerCase())
      if (!isEchoed && !/[%&\\]/.test(result) && !(key.includes(' ') && result.includes('+'))) continue
      const pattern = this.#patterns.get(key) ?? escaped(key)
      this.#patterns.set(key, pattern)
      result = result.replace(pattern, redacted)
    }
    return result
  }

  /** A copy without keys in values, and without headers whose names contain one. */
  headers(headers: Headers): Headers {
    const copy = new Headers()
    for (const [name, value] of headers) {
      if (this.text(name) === name) copy.append(name, this.text(value, 1))
    }
    return copy
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
      // Anything can be thrown, even an object whose getters throw.
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
    const { code } = findErrorDetails(error)
    if (code !== undefined) Object.assign(copy, { code: this.text(code) })
    for (const [key, value] of Object.entries({ name, stack })) {
      if (typeof value !== 'string') continue
      Object.defineProperty(copy, key, { value: this.text(value), configurable: true, writable: true })
    }
    return copy
  }
}

/** The key, and what JSON makes of it where a service puts it between quotes as it is: `\b` is then one character. */
function asRead(key: string): string[] {
  if (!key.includes('\\')) return [key]
  try {
    return [key, JSON.parse(`"${key}"`)]
  } catch {
    return [key]
  }
}

/**
 * Any character may be written as its bytes in a URL, as its code in JSON and HTML, and as a name in HTML; a space in a form
 * as a plus sign. JSON has a backslash before quotes and backslashes; some services also write it before slashes.
 */
function escaped(key: string): RegExp {
  const characters = Array.from(key)
  const asIs = characters.map(character => escapedCharacter(character, character))
  const asJson = characters.map(character =>
    escapedCharacter(character, JSON.stringify(character).slice(1, -1)),
  )
  return new RegExp([...new Set([asJson.join(''), asIs.join('')])].join('|'), 'gi')
}

function escapedCharacter(character: string, text: string): string {
  const literal = text.replace(/[\\^$.*+?()[\]{}|-]/g, '\\$&').replace('/', '\\\\?/')
  const encoded = encodeURIComponent(character)
  const unit = character.charCodeAt(0)
  const code = unit.toString(16)
  const bytes = encoded.startsWith('%') ? encoded : `%${code}`
  const name = /[a-z\d]/i.test(character) ? '' : '|[a-z]{2,6}'
  const html = `&(?:#x0*${code}|#0*${unit}${name});`
  return `(?:${bytes}|\\\\u${code.padStart(4, '0')}|${html}|${literal}${character === ' ' ? '|\\+' : ''})`
}
