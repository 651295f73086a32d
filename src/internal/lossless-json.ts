/** A number that a double may not hold, with 16 or more digits, or a three-digit exponent. Most texts have none. */
const mayBeInexact = /(?:^|[:,[\s])-?\d(?:[\d.]{15}|[\d.]*[eE][+-]?\d{3})/
/** Has no loops around alternatives, because a long string would use up the stack. */
const escapeQuoteOrNumber = /\\.|"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs

/**
 * JSON.parse, except that a number that is not exact as a double becomes a string, as written.
 *
 * @throws SyntaxError for text that is not JSON, and the engine's RangeError for deep nesting.
 */
export function parseLosslessJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!mayBeInexact.test(text)) return value
  let isInString = false
  const quoted = text.replace(escapeQuoteOrNumber, token => {
    if (token === '"') isInString = !isInString
    return isInString || token === '"' || isExact(token) ? token : `"${token}"`
  })
  return JSON.parse(quoted)
}

/**
 * Whether a double holds the written number exactly. Some services print fractions with 17 significant digits (10.119999999999999
 * for 10.12), so these also pass. Whole numbers don't, because JavaScript would print other digits.
 */
export function isExact(source: string): boolean {
  const value = Number(source)
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
