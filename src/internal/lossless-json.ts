/** A number has more digits than a double holds, and this engine does not show its source text. */
export class LostDigitsError extends Error {}

// A double holds every number of up to 15 digits whose exponent has at most two. The character before the number excludes
// most strings; a string that looks like a number only costs time.
const mayBeInexact = /(?:^|[:,[\s])-?(?:[\d.]{16}|[\d.]+[eE][+-]?\d{3})/

/**
 * JSON.parse, except that a number that is not exact as a double becomes a string, as written.
 *
 * @throws SyntaxError for text that is not JSON, LostDigitsError, and the engine's RangeError for deep nesting.
 */
export function parseLosslessJson(text: string): unknown {
  if (!mayBeInexact.test(text)) return JSON.parse(text)
  const value: unknown = JSON.parse(text, keepDigits)
  if (!supportsJsonSource()) rejectInexactNumbers(text)
  return value
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = typeof value === 'number' ? context?.source : undefined
  return source === undefined || isExact(source, value as number) ? value : source
}
/** Whether the reviver of this engine is given the source text of a number. */
function supportsJsonSource(): boolean {
  return JSON.parse('1', (_key, _value, context?: { source?: string }) => context?.source === '1')
}

function rejectInexactNumbers(text: string): void {
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token[0] !== '"' && !isExact(token, Number(token))) throw new LostDigitsError()
  }
}

/**
 * Whether a double holds the number that was written: as its shortest form, or a fraction with 17 significant digits, as some
 * services print it (10.119999999999999 for 10.12). A whole number of 17 digits would print others.
 */
export function isExact(source: string, value: number): boolean {
  const written = normalizeDecimal(source)
  if (written === normalizeDecimal(value.toExponential())) return true
  return !Number.isInteger(value) && written === normalizeDecimal(value.toExponential(16))
}

/** Equal numbers as equal strings: 1.50, 15e-1 and 1.5 are all `15e-1`. */
function normalizeDecimal(source: string): string {
  const [, sign, whole = '', fraction = '', exponent = 0] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e(.+))?$/i.exec(source) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return end === 0
    ? '0'
    : `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}
