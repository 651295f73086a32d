import type { Check } from './arguments.js'
import { environmentHint, madeByBug, wrongArgument } from './describe.js'

/** A header value that fetch sends unchanged. Latin-1, without control characters or white space at its ends. */
const headerValue = /^[\x21-\x7e\xa1-\xff](?:[\x20-\x7e\x80-\xff]*[\x21-\x7e\xa1-\xff])?$/
const quotedOrPlaceholder = /^(["'`]).*\1$|^\$\{.*\}$/

/** Throws unless an API key can be sent. The message never shows it, even if it is a number. */
export function assertApiKey(key: unknown, expected: string): asserts key is string {
  if (typeof key !== 'string' || key === '' || madeByBug.test(key))
    throw wrongArgument('apiKey', expected, key, environmentHint(key))
  const isRaw = quotedOrPlaceholder.test(key)
  const problem = isRaw
    ? 'it is in quotes, or a placeholder'
    : 'it has white space or a line break around it, or characters other than Latin-1'
  if (isRaw || !headerValue.test(key))
    throw new TypeError(`apiKey: ${problem}. Check the file that it comes from.`)
}

/** A fresh UUID v4. */
export function createIdempotencyKey(): string {
  if (crypto.randomUUID) return crypto.randomUUID()
  // Pages outside secure contexts lack it. Each 0, 1 and 8 becomes a random digit. The 8 becomes one from 8 to b.
  return '10000000-1000-4000-8000-100000000000'.replace(/[018]/g, digit => {
    const [random = 0] = crypto.getRandomValues(new Uint8Array(1))
    return (Number(digit) ^ (random & (15 >> (Number(digit) / 4)))).toString(16)
  })
}

/** Throws unless an idempotency key arrives unchanged. Fetch would trim white space at its ends. */
export const idempotencyKey: Check = (name, value) => {
  const isText = typeof value === 'string' && !madeByBug.test(value)
  const hint = isText && value.includes('${') ? '. Write the string in backticks.' : ''
  if (!isText || hint || !/^(?=[^ ])[ -~]{1,255}(?<! )$/.test(value))
    throw wrongArgument(
      name,
      '1 to 255 printable ASCII characters without a space at either end',
      value,
      hint,
    )
}
