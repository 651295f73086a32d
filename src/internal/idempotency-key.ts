import { describe } from './describe.js'

// Filled anew for each key: an array of its own would cost more than the key.
const bytes: Uint8Array<ArrayBuffer> = /* @__PURE__ */ new Uint8Array(16)

/** A fresh UUID v4. Not by crypto.randomUUID, which pages outside secure contexts lack. */
export function createIdempotencyKey(): string {
  crypto.getRandomValues(bytes)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  let key = ''
  for (const [index, byte] of bytes.entries()) {
    if ([4, 6, 8, 10].includes(index)) key += '-'
    key += (byte + 0x100).toString(16).slice(1)
  }
  return key
}

const maxRemembered = 1_000

/** The keys that a client used last. A service may answer a key that it knows without applying the write. */
export class IdempotencyKeys {
  readonly #writes = new Map<string, string>()

  /** Takes a key for a write, such as `POST /refunds`. Throws for the key of another one. */
  take(key: string, write: string): void {
    if ((this.#writes.get(key) ?? write) !== write) {
      throw new TypeError(
        'idempotencyKey: expected a key of its own for each write, got that of another write (for the same one at a corrected path, use a new client)',
      )
    }
    this.#writes.delete(key)
    this.#writes.set(key, write)
    if (this.#writes.size > maxRemembered) this.#writes.delete(this.#writes.keys().next().value as string)
  }
}

/** Throws unless the value is a key that arrives as it was given: fetch would trim white space at the ends. */
export function assertIdempotencyKey(name: string, value: unknown): void {
  const text = typeof value === 'string' ? value : ''
  const [bug] = /\b(?:undefined|null|NaN)\b|\[object \w+\]/.exec(text) ?? []
  if (bug)
    throw new TypeError(`${name}: expected a key of its own for each write, got one with "${bug}" in it`)
  if (/^(?=[^ ])[ -~]{1,255}(?<! )$/.test(text)) return
  const got = text ? 'a string that breaks this rule' : describe(value)
  throw new TypeError(
    `${name}: expected 1 to 255 printable ASCII characters without a space at either end, got ${got} (leave it out for a fresh UUID)`,
  )
}
