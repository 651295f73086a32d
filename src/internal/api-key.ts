import { describe, typeName } from './describe.js'

/** Header values: Latin-1 without control characters, and without the white space at the ends that fetch trims. */
const headerValue = /^[\x21-\x7e\x80-\xff](?:[\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/

/** A key, a function that returns one, or null: no key is sent. */
export type ApiKeyOption = string | null | (() => string | Promise<string>)

/** Gives the API key for each attempt. Inspecting a provider shows no key. */
export class ApiKeyProvider {
  readonly #option: ApiKeyOption
  #pending: Promise<string> | undefined

  constructor(option: ApiKeyOption) {
    if (option !== null && typeof option !== 'function') assertApiKey(option)
    this.#option = option
  }

  /** The key, or null. Concurrent attempts share a pending call of the caller's function. */
  get(): string | null | Promise<string> {
    const option = this.#option
    if (typeof option !== 'function') return option
    if (this.#pending === undefined) {
      const pending = callOption(option).finally(() => this.invalidate(pending))
      this.#pending = pending
    }
    return this.#pending
  }

  /** Forgets a pending call that may never settle, so that the next attempt calls the function again. */
  invalidate(pending: unknown): void {
    if (this.#pending === pending) this.#pending = undefined
  }
}

async function callOption(option: () => string | Promise<string>): Promise<string> {
  const key = await option()
  assertApiKey(key)
  return key
}

function assertApiKey(key: unknown): asserts key is string {
  const expected = 'apiKey: expected a non-empty string, a function that returns one, or null to send none'
  if (key === undefined || key === '') {
    const got = key === '' ? 'an empty string' : 'undefined'
    throw new TypeError(`${expected}, got ${got} (is the environment variable set?)`)
  }
  if (typeof key !== 'string') {
    // Not a number's value, as `describe` would show: it may be the key.
    const got = typeof key === 'object' ? describe(key) : typeName(key)
    throw new TypeError(`${expected}, got ${got}`)
  }
  if (!headerValue.test(key)) {
    throw new TypeError(
      'apiKey: cannot be sent as a header: expected Latin-1 without line breaks or other control characters, and no white space around it (the key is not shown; a key read from a file often ends with a line break: trim it)',
    )
  }
}
