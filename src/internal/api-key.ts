import { describe, typeName } from './describe.js'

/** Header values: Latin-1 without control characters, and without the white space at the ends that fetch trims. */
const headerValue = /^[\x21-\x7e\x80-\xff](?:[\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/

/** A key, a function that returns one, or null: no key is sent. */
export type ApiKeyOption = string | null | (() => string | Promise<string>)

/** An API key. Inspecting it does not show it. */
export class ApiKey {
  readonly #value: string
  #pattern: RegExp | undefined
  #namePattern: RegExp | undefined

  constructor(value: string) {
    this.#value = value
  }

  get value(): string {
    return this.#value
  }

  /** Matches the key in a text. Compiled when there is a text to redact. */
  get pattern(): RegExp {
    this.#pattern ??= keyPattern(this.#value)
    return this.#pattern
  }

  /** Matches the key in the name of a header, which is in lower case. */
  get namePattern(): RegExp {
    this.#namePattern ??= new RegExp(this.pattern.source, 'i')
    return this.#namePattern
  }
}

// A service may still name the key before the last one: "key … was replaced".
const maxRecentKeys = 5

/** Gives the API key for each attempt. Inspecting a provider shows no key. */
export class ApiKeyProvider {
  readonly #call: (() => string | Promise<string>) | undefined
  #pending: Promise<ApiKey> | undefined
  /** The keys that were given last, the newest first. */
  recent: readonly ApiKey[] = []

  constructor(option: ApiKeyOption) {
    if (typeof option === 'function') this.#call = option
    else if (option !== null)
      this.#remember(
        toApiKey(option, 'a non-empty string, a function that returns one, or null to send none'),
      )
  }

  /** The key, or null. Concurrent attempts share a pending call of the caller's function. */
  get(): ApiKey | null | Promise<ApiKey> {
    const call = this.#call
    if (call === undefined) return this.recent[0] ?? null
    if (this.#pending === undefined) {
      const pending = this.#request(call).finally(() => this.invalidate(pending))
      this.#pending = pending
    }
    return this.#pending
  }

  /** Forgets a pending call that may never settle, so that the next attempt calls the function again. */
  invalidate(pending: unknown): void {
    if (this.#pending === pending) this.#pending = undefined
  }

  async #request(call: () => string | Promise<string>): Promise<ApiKey> {
    const value = await call()
    return (
      this.recent.find(key => key.value === value) ??
      this.#remember(toApiKey(value, 'the function to return a non-empty string'))
    )
  }

  #remember(key: ApiKey): ApiKey {
    this.recent = [key, ...this.recent].slice(0, maxRecentKeys)
    return key
  }
}

function toApiKey(key: unknown, expected: string): ApiKey {
  if (key === undefined || key === '') {
    const got = key === '' ? 'an empty string' : 'undefined'
    throw new TypeError(`apiKey: expected ${expected}, got ${got} (is the environment variable set?)`)
  }
  if (typeof key !== 'string') {
    // Not a number's value, as `describe` would show: it may be the key.
    const got = typeof key === 'object' ? describe(key) : typeName(key)
    throw new TypeError(`apiKey: expected ${expected}, got ${got}`)
  }
  if (!headerValue.test(key)) {
    throw new TypeError(
      'apiKey: cannot be sent as a header: expected Latin-1 without line breaks or other control characters, and no white space around it (the key is not shown; a key read from a file often ends with a line break: trim it)',
    )
  }
  return new ApiKey(key)
}

// A key is matched in parts of this many characters. The first part is enough for a match, so the time stays linear even
// if the key repeats itself.
const partLength = 24

/** Matches the key verbatim, and as JSON, HTML and URLs write it, in every mix of these and in either case. */
function keyPattern(key: string): RegExp {
  const characters = Array.from(key, characterPattern)
  let pattern = characters.slice(0, partLength).join('')
  for (let start = partLength; start < characters.length; start += partLength) {
    pattern += `(?:${characters.slice(start, start + partLength).join('')})?`
  }
  return new RegExp(pattern, 'g')
}

function characterPattern(character: string): string {
  const literal = character.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  const hex = inAnyCase(character.charCodeAt(0).toString(16).padStart(2, '0'))
  const bytes = encodeURIComponent(character)
  let pattern = `${literal}|${bytes.startsWith('%') ? inAnyCase(bytes) : `%${hex}`}`
  // Backslashes or a number in JSON, and any entity in HTML, as the characters around it tell that this is the key. JSON within
  // JSON has more backslashes each time.
  const slashes = character === '\\' ? '\\\\' : '\\\\{1,15}'
  if (/[^a-z0-9]/i.test(character)) pattern += `|${slashes}(?:${literal}|u00${hex})|&#?\\w{1,9};`
  if (character === ' ') pattern += '|\\+'
  return `(?:${pattern})`
}

function inAnyCase(hex: string): string {
  return hex.replace(/[a-f]/gi, letter => `[${letter.toLowerCase()}${letter.toUpperCase()}]`)
}
