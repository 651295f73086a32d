import { describe } from './describe.js'

/** A fresh UUID v4. Not by crypto.randomUUID, which pages outside secure contexts lack. */
export function createIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Throws unless the value is a key that arrives as it was given: fetch would trim white space at the ends. */
export function assertIdempotencyKey(value: unknown): asserts value is string {
  if (typeof value === 'string' && /^(?=[^ ])[ -~]{1,255}(?<! )$/.test(value)) return
  const got = typeof value === 'string' && value !== '' ? 'a string that breaks this rule' : describe(value)
  throw new TypeError(
    `idempotencyKey: expected 1 to 255 printable ASCII characters without a space at either end, got ${got} (leave it out for a fresh UUID)`,
  )
}
