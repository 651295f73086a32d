import { describe, environmentHint } from './describe.js'

/** Header values: Latin-1 without control characters, and without the white space at the ends that fetch trims. */
const headerValue = /^[\x21-\x7e\xa1-\xff](?:[\x20-\x7e\x80-\xff]*[\x21-\x7e\xa1-\xff])?$/

// Every text that is shown is searched for the key.
const maxKeyLength = 4096

// A service may still name an earlier key: "key … was replaced".
const maxRecentKeys = 6

export type ApiKeyOption = string | null | (() => string | Promise<string>)

/** Gives the API key for each attempt. Inspecting a provider shows no key. */
export class ApiKeyProvider {
  readonly #call: (() => string | Promise<string>) | undefined
  #pending: Promise<string> | undefined
  #recent: readonly string[] = []

  constructor(option: ApiKeyOption) {
    if (typeof option === 'function') this.#call = option
    else if (option !== null) {
      assertApiKey(option, 'a non-empty string, a function that returns one, or null to send none')
      this.#recent = [option]
    }
  }

  recent(): readonly string[] {
    return this.#recent
  }

  /** The key, or null. Concurrent attempts share a pending call of the caller's function. */
  get(): string | null | Promise<string> {
    const call = this.#call
    if (call === undefined) return this.#recent[0] ?? null
    if (this.#pending === undefined) {
      const pending = this.#request(call).finally(() => {
        if (this.#pending === pending) this.#pending = undefined
      })
      this.#pending = pending
    }
    return this.#pending
  }

  /** Forgets a pending call that took too long and may never settle: the next attempt calls the function again. */
  forgetPending(): void {
    this.#pending = undefined
  }

  async #request(call: () => string | Promise<string>): Promise<string> {
    const key = await call()
    assertApiKey(key, 'the function to return a non-empty string')
    this.#recent = [key, ...this.#recent.filter(recent => recent !== key)].slice(0, maxRecentKeys)
    return key
  }
}

/** What is odd about a key that the service refused; undefined if it looks like a key. */
export function oddityOf(key: string): string | undefined {
  const [start] = /^(?:["'<]|Bearer |Api-Key:|[a-z]+:\/\/|YOUR_|\$\{|\{\{)/i.exec(key) ?? []
  return start && `it begins with ${start.trim()}`
}

function assertApiKey(key: unknown, expected: string): asserts key is string {
  const isUnset = !key || key === 'undefined'
  if (isUnset || typeof key !== 'string') {
    // Not a number's value, as `describe` would show: it may be the key.
    const got = typeof key === 'number' ? 'a number' : key === 'undefined' ? `"${key}"` : describe(key)
    throw new TypeError(`apiKey: expected ${expected}, got ${got}${isUnset ? environmentHint : ''}`)
  }
  if (key.length > maxKeyLength) {
    throw new TypeError(`apiKey: expected at most ${maxKeyLength} characters, got ${key.length}`)
  }
  if (!headerValue.test(key)) {
    throw new TypeError(
      'apiKey: cannot be sent as a header: expected Latin-1 without line breaks or other control characters, and no white space around it (the key is not shown; a key read from a file often ends with a line break: trim it)',
    )
  }
}
