import { escapeUnit } from './describe.js'
import { codeOf, maxCauseDepth } from './error-code.js'
import { defineHidden, property } from './object.js'

const redacted = '[api key]'

// A shorter key may be part of any text by chance, and redacting it would garble bodies.
const minKeyLength = 8

// Matches only this much of a longer key, because near matches of a long key would be slow.
const maxKeyLength = 64

// A service may still mention an earlier key, as in "key … was replaced".
const maxKeys = 8

/** Removes API keys from events and errors, because services echo requests. */
export class Redactor {
  readonly #keys = new Set<string>()
  #pattern = /(?!)/g

  /** Redacts this key from now on. */
  add(key: string): void {
    if (key.length < minKeyLength || this.#keys.has(key)) return
    this.#keys.add(key)
    for (const oldest of [...this.#keys].slice(0, -maxKeys)) this.#keys.delete(oldest)
    const longestFirst = [...this.#keys].sort((a, b) => b.length - a.length)
    this.#pattern = new RegExp(longestFirst.map(toPattern).join('|'), 'g')
  }

  text(text: string): string {
    return text.replace(this.#pattern, redacted)
  }

  /** A copy without keys in values, and without headers whose names contain one. */
  headers(headers: Headers): Headers {
    const copy = new Headers()
    for (const [name, value] of headers) if (this.text(name) === name) copy.append(name, this.text(value))
    return copy
  }

  /** A redacted copy of a JSON value, names and numbers included. `undefined` if it is nested too deeply to search. */
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
    // Without assignment, because a name may be __proto__.
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [this.text(name), this.#json(inner)]),
    )
  }

  /** A redacted copy of an error chain. The errors of some fetch libraries hold the request with its headers. */
  cause(error: unknown, depth = 0): Error | undefined {
    if (error === undefined || depth === maxCauseDepth) return undefined
    try {
      const cause = this.cause(property(error, 'cause'), depth + 1)
      // Without instanceof, because under Jest a runtime's errors belong to another realm.
      const given = property(error, 'message')
      const code = codeOf(error)
      const message = typeof given === 'string' || Object(error) === error ? given : String(error)
      if (typeof message !== 'string' && code === undefined) return cause
      const copy = new Error(this.text(String(message ?? code)), cause && { cause })
      for (const name of ['name', 'stack']) {
        const value = property(error, name)
        if (typeof value === 'string') defineHidden(copy, name, this.text(value))
      }
      if (code !== undefined) Object.assign(copy, { code: this.text(code) })
      const errors = property(error, 'errors')
      if (Array.isArray(errors)) {
        const copies = errors.flatMap(each => this.cause(each, depth + 1) ?? [])
        defineHidden(copy, 'errors', copies)
      }
      return copy
    } catch {
      // A thrown value may be an object that cannot be converted to a string.
      return undefined
    }
  }
}

/**
 * Matches a key, plain, percent-encoded, or escaped as in JSON. Encoders differ in the characters that they encode, and in the case
 * of escapes.
 */
function toPattern(key: string): string {
  const units = Array.from(key, unit => {
    const encoded = encodeURIComponent(unit)
    const code = encoded === unit ? `%${unit.charCodeAt(0).toString(16)}` : encoded
    const anyCase = code.replace(/[a-f]/gi, letter => `[${letter.toLowerCase()}${letter.toUpperCase()}]`)
    // JSON in a string of JSON is escaped twice, and some services escape slashes.
    const escaped = /["\\/]/.test(unit) ? '\\\\{0,3}' : ''
    return `(?:${escaped}${escapeUnit(unit)}|${anyCase}${unit === ' ' ? '|\\+' : ''})`
  })
  const rest = units.splice(maxKeyLength).join('')
  // Tokens of one issuer share a prefix, so text after that prefix is a token, even if it is not this one.
  return `${units.join('')}${rest && `(?:${rest})?[\\w.~+/=%-]*`}`
}
