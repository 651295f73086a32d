import type { ClientOptions } from './options.js'

/** Header values: Latin-1 without control characters; fetch would trim white space around one. */
const headerValue = /^[\x21-\x7e\x80-\xff](?:[\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/

type ApiKeyOption = ClientOptions['apiKey']

/** Where a client gets its key from, asked before every attempt. Inspecting it shows nothing. */
export class KeySource {
  readonly #option: ApiKeyOption
  #pending: Promise<string> | undefined

  constructor(option: ApiKeyOption) {
    if (option !== null && typeof option !== 'function') checkKey(option)
    this.#option = option
  }

  /** The key, or null: none is sent. Attempts that begin while a function's answer is pending share it. */
  get(): string | null | Promise<string> {
    const option = this.#option
    if (typeof option !== 'function') return option
    if (this.#pending === undefined) {
      const pending = ask(option).finally(() => this.forget(pending))
      this.#pending = pending
    }
    return this.#pending
  }

  /** What did not come in time may never come: the next attempt asks anew. */
  forget(pending: unknown): void {
    if (this.#pending === pending) this.#pending = undefined
  }
}

async function ask(option: () => string | Promise<string>): Promise<string> {
  const key = await option()
  checkKey(key)
  return key
}

function checkKey(key: unknown): asserts key is string {
  if (typeof key !== 'string' || key === '') {
    throw new TypeError('apiKey: expected a non-empty string, a function giving one, or null to send none')
  }
  if (!headerValue.test(key)) {
    throw new TypeError(
      'apiKey: expected a value that can be sent as a header: no line breaks or other control characters, no white space around it, nothing beyond Latin-1 (the value is not shown)',
    )
  }
}

const hidden = '[api key]'

// A shorter key may stand in any text by chance, and hiding it would shred bodies.
const shortestInBodies = 8

/** Hides the keys a call has used in what others get to see of it: services echo what they were sent. */
export class Redactor {
  /** Each key, and what finds it: made when first looked for, as most calls have nothing to hide. */
  readonly #keys = new Map<string, RegExp | undefined>()

  add(key: string): void {
    this.#keys.set(key, undefined)
  }

  text(text: string, shortest = shortestInBodies): string {
    let result = text
    for (const [key, spelling = spellings(key)] of this.#keys) {
      this.#keys.set(key, spelling)
      // Every spelling is at least as long as the key.
      if (key.length >= shortest && key.length <= result.length) result = result.replace(spelling, hidden)
    }
    return result
  }

  headers(headers: Headers): Headers {
    const result = new Headers()
    for (const [name, value] of headers) result.append(name, this.text(value, 1))
    return result
  }

  /** Any JSON value, in its keys and numbers, too. One that is nested too deeply to be looked through is not shown. */
  json(value: unknown): unknown {
    try {
      return this.#json(value)
    } catch {
      return undefined
    }
  }

  #json(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number') return this.text(String(value)) === String(value) ? value : hidden
    if (Array.isArray(value)) return value.map(item => this.#json(item))
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([key, inner]) => [this.text(key), this.#json(inner)])
    // Not by assignment: a key may be __proto__.
    return Object.fromEntries(entries)
  }

  /**
   * What lay beneath a failure, as plain errors of name, message, code and stack: the originals of some fetches hold
   * the request with its headers.
   */
  cause(error: unknown): Error | undefined {
    try {
      return this.#cause(error, 0)
    } catch {
      // Anything can be thrown, also what throws when it is looked at.
      return undefined
    }
  }

  #cause(error: unknown, depth: number): Error | undefined {
    if (error === undefined || depth === deepestCause) return undefined
    // Not by instanceof: under Jest a runtime's errors are of another realm.
    const { name, message, stack, cause } = Object(error) as Record<keyof Error, unknown>
    const inner = this.#cause(cause, depth + 1)
    const said = [message, error, Object.prototype.toString.call(error)].find(
      text => typeof text === 'string',
    )
    const copy = new Error(this.text(said as string), inner && { cause: inner })
    const code = codeOf(error)
    if (code !== undefined) Object.assign(copy, { code: this.text(code) })
    for (const [key, value] of Object.entries({ name, stack })) {
      if (typeof value !== 'string') continue
      Object.defineProperty(copy, key, { value: this.text(value), configurable: true, writable: true })
    }
    return copy
  }
}

/** A pattern for the key verbatim, as JSON writes it, and in every mix of URL encoding in either case. */
function spellings(key: string): RegExp {
  const characters = Array.from(key, character => {
    const literal = character.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
    const bytes = encodeURIComponent(character)
    const encoded = bytes.startsWith('%')
      ? bytes
      : `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`
    const anyCase = encoded.replace(/[a-f]/gi, letter => `[${letter.toLowerCase()}${letter.toUpperCase()}]`)
    const more = { ' ': '|\\+', '"': '|\\\\"', '\\': '|\\\\\\\\' }[character] ?? ''
    return `(?:${literal}|${anyCase}${more})`
  })
  return new RegExp(characters.join(''), 'g')
}

const deepestCause = 4

/** The error code a runtime gave, on the error or along its causes. */
export function codeOf(error: unknown): string | undefined {
  try {
    let at = error
    for (let depth = 0; depth < deepestCause && at; depth++) {
      const { code, cause, errors } = Object(at) as Record<'code' | 'cause' | 'errors', unknown>
      if (typeof code === 'string' && /^\w{1,60}$/.test(code)) return code
      at = cause ?? (Array.isArray(errors) ? errors[0] : undefined)
    }
  } catch {
    // As in `cause`.
  }
  return undefined
}
