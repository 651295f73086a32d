import { Misfit } from './errors.js'

/** The bytes of an answer, or `undefined` when there are more than `maxBytes`: the rest is then refused. */
export async function readBytes(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  // Some fetches know no streams: what they give is counted when it is there.
  if (response.body && typeof response.body.getReader !== 'function') {
    const bytes = new Uint8Array(await response.arrayBuffer())
    return bytes.length > maxBytes ? undefined : bytes
  }
  const reader = response.body?.getReader()
  if (!reader) return new Uint8Array()
  const cancel = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', cancel)
  try {
    const chunks: Uint8Array[] = []
    let length = 0
    for (;;) {
      const { done, value } = await reader.read()
      // A cancelled body ends as if it were whole.
      if (done) return signal.aborted ? undefined : concat(chunks, length)
      length += value.length
      if (length > maxBytes) {
        cancel()
        return undefined
      }
      chunks.push(value)
    }
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

function concat(chunks: Uint8Array[], length: number): Uint8Array {
  if (chunks.length === 1) return chunks[0] as Uint8Array
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

// Both drop a byte-order mark.
const strict = new TextDecoder('utf-8', { fatal: true })
const lenient = new TextDecoder()

function decode(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes)
  } catch {
    throw new Misfit([{ path: [], message: 'expected UTF-8' }])
  }
}

/** What a list answered: it must be JSON. */
export function parseList(bytes: Uint8Array, contentType: string): unknown {
  const text = decode(bytes)
  try {
    return parseJson(text, bytes)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const seen = text === '' ? 'an empty body' : isHtml(contentType) ? 'an HTML page' : 'something else'
    throw new Misfit([{ path: [], message: `expected JSON, not ${seen}` }], { body: text || undefined })
  }
}

/** What anything else answered, which the interface does not show: a JSON value, text, or nothing. */
export function parseAny(bytes: Uint8Array, contentType: string): unknown {
  const text = decode(bytes)
  if (text === '') return undefined
  // A proxy's page, or a login form: the service itself was not reached.
  if (isHtml(contentType)) {
    throw new Misfit([{ path: [], message: 'expected an answer of the service, not an HTML page' }], {
      body: text,
    })
  }
  return jsonOrText(text, bytes)
}

/** The body of an error: whatever can be made of it. */
export function parseError(bytes: Uint8Array): unknown {
  const text = lenient.decode(bytes)
  try {
    return text === '' ? undefined : jsonOrText(text, bytes)
  } catch {
    return text
  }
}

function isHtml(contentType: string): boolean {
  return /^text\/html\b/i.test(contentType)
}

function jsonOrText(text: string, bytes: Uint8Array): unknown {
  try {
    return parseJson(text, bytes)
  } catch (error) {
    if (error instanceof SyntaxError) return text
    throw error
  }
}

function parseJson(text: string, bytes: Uint8Array): unknown {
  try {
    return parseExactly(text, bytes)
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof Misfit) throw error
    // The engine's stack is what it has used up.
    throw new Misfit([{ path: [], message: 'expected JSON that is less deeply nested' }], { body: text })
  }
}

/** JSON.parse, but a number that a double would not hold arrives as the string of its exact digits. */
function parseExactly(text: string, bytes: Uint8Array): unknown {
  if (!mayLoseDigits(bytes[0] === byteOrderMark ? bytes.subarray(3) : bytes)) return JSON.parse(text)
  const parsed: unknown = JSON.parse(text, (_key, value, context?: { source?: string }) => {
    const source = typeof value === 'number' ? context?.source : undefined
    return source === undefined || isHeld(source, value) ? value : source
  })
  if (!tellsSource()) refuseUnheld(text)
  return parsed
}

/** Whether this engine tells the source text of a number. */
function tellsSource(): boolean {
  return JSON.parse('1', (_key, _value, context?: { source?: string }) => context?.source === '1')
}

function refuseUnheld(text: string): void {
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token[0] === '"' || isHeld(token, Number(token))) continue
    const message = 'expected no number with more digits than this engine can hold'
    throw new Misfit([{ path: [], message }], { body: text })
  }
}

/**
 * Whether a number may need a closer look. A double holds every number of up to 15 digits whose exponent has fewer
 * than three, so what can go wrong has 16 digits and dots in a row, or an exponent of three digits. Looking at every
 * third byte meets every such run. What stands around it tells most strings apart; where that deceives, the closer look
 * only costs time.
 */
function mayLoseDigits(bytes: Uint8Array): boolean {
  const { length } = bytes
  for (let at = 2; at < length; at += 3) {
    if (!isDigitOrDot(bytes[at])) continue
    let first = at
    while (isDigitOrDot(bytes[first - 1])) first--
    let end = at + 1
    while (isDigitOrDot(bytes[end])) end++
    if (end - first >= 3 && isOneOf(',]}eE \n\r\t', bytes[end])) {
      if (isExponent(bytes, first) || (end - first >= 16 && isNumber(bytes, first))) return true
    }
    at = end
  }
  return false
}

/** Whether the digits that begin here are those of 1e400 or 1.5E-400. */
function isExponent(bytes: Uint8Array, first: number): boolean {
  const before = bytes[first - 1]
  const at = before === minus || before === plus ? first - 2 : first - 1
  return (bytes[at] === lowerE || bytes[at] === upperE) && isDigitOrDot(bytes[at - 1])
}

/** Whether they begin a number, rather than stand in a string. */
function isNumber(bytes: Uint8Array, first: number): boolean {
  return isOneOf(':,[ \n\r\t', bytes[first - 1] === minus ? bytes[first - 2] : bytes[first - 1])
}

/** The first of its three bytes, which begin no other JSON. */
const byteOrderMark = 0xef
const plus = 0x2b
const minus = 0x2d
const dot = 0x2e
const nine = 0x39
const upperE = 0x45
const lowerE = 0x65

/** Also "/", which stands between them and does no harm. False where there is no byte. */
function isDigitOrDot(byte: number | undefined): boolean {
  return (byte as number) >= dot && (byte as number) <= nine
}

/** Also at either end of the text, where there is no byte. */
function isOneOf(characters: string, byte: number | undefined): boolean {
  return byte === undefined || characters.includes(String.fromCharCode(byte))
}

/**
 * Whether a double stands for the number that was written: as its shortest form, or with 17 digits, as some services
 * print it (10.119999999999999 for 10.12).
 */
function isHeld(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return false
  const written = decimal(source)
  return written === decimal(String(value)) || written === decimal(value.toPrecision(17))
}

/** A decimal number in a form in which equal numbers are equal strings: 1.50, 15e-1 and 1.5 alike. */
function decimal(source: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(
    source,
  ) as unknown as [string, string, string, string?, string?]
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  if (digits === '') return '0'
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}
