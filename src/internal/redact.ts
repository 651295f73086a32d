import type { ApiKey } from './api-key.js'
import { findErrorCode, maxCauseDepth } from './error-code.js'

const redacted = '[api key]'

// A shorter key may be part of any text by chance, and redacting it would garble bodies.
const minKeyLengthInText = 8

/** Removes API keys from what a call shows to others: services echo what they were sent. */
export class Redactor {
  /** The longest first: a key may begin with another. */
  readonly #keys: ApiKey[] = []

  /** @param keys Keys of earlier calls. Those of this call are added when they are sent. */
  constructor(keys: readonly ApiKey[] = []) {
    for (const key of keys) this.addKey(key)
  }

  addKey(key: ApiKey): void {
    if (this.#keys.some(({ value }) => value === key.value)) return
    this.#keys.push(key)
    this.#keys.sort((a, b) => b.value.length - a.value.length)
  }

  text(text: string, minKeyLength: number = minKeyLengthInText): string {
    let result = text
    for (const key of this.#keys) {
      const { length } = key.value
      // Every spelling of a key is at least as long as the key.
      if (length >= minKeyLength && length <= result.length) result = result.replace(key.pattern, redacted)
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

  #isInName(name: string): boolean {
    return this.#keys.some(
      key =>
        key.value.length >= minKeyLengthInText &&
        key.value.length <= name.length &&
        key.namePattern.test(name),
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
    if (typeof value === 'symbol') return this.#symbol(value)
    if (typeof value === 'number') return this.text(String(value)) === String(value) ? value : redacted
    if (Array.isArray(value)) return value.map(item => this.#json(item))
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([key, inner]) => [this.text(key), this.#json(inner)])
    // Not by assignment: a key may be __proto__.
    return Object.fromEntries(entries)
  }

  /** A symbol, as in the path of an issue: its description may be anything that a schema was given. */
  #symbol(symbol: symbol): symbol {
    const { description = '' } = symbol
    const shown = this.text(description)
    return shown === description ? symbol : Symbol(shown)
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
    const { code } = findErrorCode(error)
    if (code !== undefined) Object.assign(copy, { code: this.text(code) })
    for (const [key, value] of Object.entries({ name, stack })) {
      if (typeof value !== 'string') continue
      Object.defineProperty(copy, key, { value: this.text(value), configurable: true, writable: true })
    }
    return copy
  }
}
