import { codeOf, maxCauseDepth } from './error-code.js'
import { defineHidden, properties } from './object.js'
import { WordFilter } from './word-filter.js'

const redacted = '[api key]'
const causeProperties = ['name', 'message', 'stack', 'cause', 'errors']

// A shorter key may be part of any text by chance, and redacting it would garble bodies.
const minKeyLength = 8

// Of an AggregateError: one for each address of a host.
const maxErrors = 10

// A service may still name an earlier key: "key … was replaced".
const maxKeys = 8

/** Removes API keys from what a client shows to others: services echo what they were sent. */
export class Redactor {
  readonly #keys = new Set<string>()
  /** Of each key as it is and percent-encoded. */
  #filter = new WordFilter([])

  /** From here on, this key appears in no text. */
  add(key: string): void {
    if (key.length < minKeyLength || this.#keys.has(key)) return
    this.#keys.add(key)
    for (const oldest of [...this.#keys].slice(0, -maxKeys)) this.#keys.delete(oldest)
    const spellings = [...this.#keys].flatMap(key => {
      const encoded = encodeURIComponent(key)
      // Encoders differ in what they leave as it is in a path, and in the case of their escapes.
      const kept = encoded.replace(/%(?:2[46BC]|3[ABD]|40)/g, code => decodeURIComponent(code))
      const strict = encoded.replace(/[!'()*]/g, unit => `%${unit.charCodeAt(0).toString(16).toUpperCase()}`)
      const form = new URLSearchParams([['', key]]).toString().slice(1)
      const all = [encoded, kept, strict, form].flatMap(text => [text, text.replaceAll('%2F', '/')])
      return [key, ...all, ...all.map(text => text.replace(/%../g, code => code.toLowerCase()))]
    })
    this.#filter = new WordFilter(spellings)
  }

  text(text: string): string {
    return this.#filter.replace(text, redacted)
  }

  /** A copy without keys in values, and without headers whose names contain one. */
  headers(headers: Headers): Headers {
    const copy = new Headers()
    for (const [name, value] of headers) if (this.text(name) === name) copy.append(name, this.text(value))
    return copy
  }

  /** A copy of a parsed JSON value, its names and numbers included; `undefined` for one that is nested too deeply to search. */
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
    // Not by assignment: a name may be __proto__.
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [this.text(name), this.#json(inner)]),
    )
  }

  /** A copy of an error chain as plain errors: the originals of some fetches hold the request with its headers. */
  cause(error: unknown, depth = 0): Error | undefined {
    if (error === undefined || depth === maxCauseDepth) return undefined
    try {
      // Not by instanceof: under Jest a runtime's errors are of another realm.
      const [name, message, stack, cause, errors] = properties(error, causeProperties)
      const inner = this.cause(cause, depth + 1)
      const text = typeof message === 'string' ? message : String(error)
      const copy = new Error(this.text(text), inner && { cause: inner })
      const code = codeOf(error)
      for (const [key, value] of Object.entries({ name, stack, code })) {
        if (typeof value !== 'string') continue
        const enumerable = key === 'code'
        const shown = { value: this.text(value), configurable: true, writable: true, enumerable }
        Object.defineProperty(copy, key, shown)
      }
      if (Array.isArray(errors)) {
        const copies = errors.slice(0, maxErrors).map(each => this.cause(each, depth + 1))
        defineHidden(
          copy,
          'errors',
          copies.filter(each => each !== undefined),
        )
      }
      return copy
    } catch {
      // Anything can be thrown, even an object whose getters throw.
      return undefined
    }
  }
}
