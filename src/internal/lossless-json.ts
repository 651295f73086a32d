/** A number has more digits than a double holds, and this engine does not show its source text. */
export class LostDigitsError extends Error {}

/**
 * JSON.parse, except that a number that is not exact as a double becomes a string, as written.
 *
 * @param bytes The text as UTF-8, without a byte-order mark: scanned for long numbers, which is cheaper than text.
 * @throws SyntaxError for text that is not JSON, LostDigitsError, and the engine's RangeError for deep nesting.
 */
export function parseLosslessJson(text: string, bytes: Uint8Array): unknown {
  if (!mayContainUnsafeNumber(bytes)) return JSON.parse(text)
  const value: unknown = JSON.parse(text, keepDigits)
  if (!supportsJsonSource()) rejectUnsafeNumbers(text)
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

function rejectUnsafeNumbers(text: string): void {
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token[0] !== '"' && !isExact(token, Number(token))) throw new LostDigitsError()
  }
}

/**
 * Whether a number may need a closer look. A double holds every number of up to 15 digits whose exponent has at most
 * two. So an unsafe number has a run of at least 16 digits and dots, or an exponent of three digits. Every such run covers a
 * multiple of three, so only every third byte is read. The bytes around a run exclude most strings; a string that looks
 * like a number only costs time.
 */
function mayContainUnsafeNumber(bytes: Uint8Array): boolean {
  const { length } = bytes
  for (let at = 2; at < length; at += 3) {
    if (!isDigitOrDot(bytes[at])) continue
    let first = at
    while (isDigitOrDot(bytes[first - 1])) first--
    let end = at + 1
    while (isDigitOrDot(bytes[end])) end++
    const digits = end - first
    const isSuspect =
      (digits >= 3 && isExponent(bytes, first)) || (digits >= 16 && startsNumber(bytes, first))
    if (isSuspect && isOneOf(',]}eE \n\r\t', bytes[end])) return true
    at = end
  }
  return false
}

/** Whether the digits that begin at `first` are those of 1e400 or 1.5E-400. */
function isExponent(bytes: Uint8Array, first: number): boolean {
  const before = bytes[first - 1]
  const at = before === minus || before === plus ? first - 2 : first - 1
  return (bytes[at] === lowerE || bytes[at] === upperE) && isDigitOrDot(bytes[at - 1])
}

/** Whether the digits that begin at `first` begin a number rather than being part of a string. */
function startsNumber(bytes: Uint8Array, first: number): boolean {
  return isOneOf(':,[ \n\r\t', bytes[first - 1] === minus ? bytes[first - 2] : bytes[first - 1])
}

const plus = 0x2b
const minus = 0x2d
const dot = 0x2e
const nine = 0x39
const upperE = 0x45
const lowerE = 0x65

/** Also true for "/", which lies between dot and zero and is harmless. False where there is no byte. */
function isDigitOrDot(byte: number | undefined): boolean {
  return (byte as number) >= dot && (byte as number) <= nine
}

/** Also true at either end of the text, where there is no byte. */
function isOneOf(characters: string, byte: number | undefined): boolean {
  return byte === undefined || characters.includes(String.fromCharCode(byte))
}

/**
 * Whether a double holds the number that was written: as its shortest form, or with 17 significant digits, as some
 * services print it (10.119999999999999 for 10.12).
 */
export function isExact(source: string, value: number): boolean {
  const written = normalizeDecimal(source)
  return (
    written === normalizeDecimal(value.toExponential()) ||
    written === normalizeDecimal(value.toExponential(16))
  )
}

/** Equal numbers as equal strings: 1.50, 15e-1 and 1.5 are all `15e-1`. */
function normalizeDecimal(source: string): string {
  const mantissaEnd = source.search(/[eE]/)
  const mantissa = mantissaEnd === -1 ? source : source.slice(0, mantissaEnd)
  let exponent = mantissaEnd === -1 ? 0 : Number(source.slice(mantissaEnd + 1))
  const sign = mantissa[0] === '-' ? '-' : ''
  const point = mantissa.indexOf('.')
  let digits = mantissa
  if (point !== -1) {
    digits = mantissa.slice(0, point) + mantissa.slice(point + 1)
    exponent -= mantissa.length - point - 1
  }
  let start = sign.length
  let end = digits.length
  while (digits[start] === '0') start++
  if (start === end) return '0'
  while (digits[end - 1] === '0') end--
  return `${sign}${digits.slice(start, end)}e${exponent + digits.length - end}`
}
