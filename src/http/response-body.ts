import { LostDigitsError, parseLosslessJson } from '../internal/lossless-json.js'
import { InvalidBody } from './invalid-body.js'

// A body that arrives in tiny chunks is read in one run of microtasks: without a pause no timer would ever fire.
const maxBusyMs = 50
const chunksBetweenChecks = 64

/** The bytes of a body, or `undefined` when there are more than `maxBytes` or the signal was aborted. */
export async function readBytes(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  if (response.body === null) return new Uint8Array()
  // React Native and some polyfills have no streams: there the bytes are counted when all have arrived.
  if (typeof response.body?.getReader !== 'function') {
    const buffer: unknown = await response.arrayBuffer()
    if (Object.prototype.toString.call(buffer) !== '[object ArrayBuffer]') {
      throw new TypeError('expected a body of bytes')
    }
    const bytes = new Uint8Array(buffer as ArrayBuffer)
    return bytes.length > maxBytes ? undefined : bytes
  }
  const reader = response.body.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', cancel)
  try {
    const buffer = new ByteBuffer(maxBytes)
    let busySince = performance.now()
    for (let chunks = 1; ; chunks++) {
      const { done, value } = await reader.read()
      // A cancelled body ends as if it were complete, and that of a custom fetch may not end at all.
      if (signal.aborted) return undefined
      if (done) return buffer.bytes
      if (!isBytes(value)) throw new TypeError('expected a body of bytes')
      if (!buffer.append(value)) {
        cancel()
        return undefined
      }
      if (chunks % chunksBetweenChecks === 0 && performance.now() - busySince > maxBusyMs) {
        await new Promise(resolve => setTimeout(resolve))
        busySince = performance.now()
      }
    }
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** Not by instanceof: under Jest a runtime's arrays are of another realm. */
function isBytes(chunk: unknown): boolean {
  return Object.prototype.toString.call(chunk) === '[object Uint8Array]'
}

/** Collects chunks in one growing buffer: an array of a million tiny chunks would take gigabytes. */
class ByteBuffer {
  readonly #maxBytes: number
  #bytes = new Uint8Array()
  #length = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  /** False when the chunk does not fit. */
  append(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length
    if (length > this.#maxBytes) return false
    if (this.#length === 0) {
      // Most bodies are one chunk: it is not copied.
      this.#bytes = chunk as Uint8Array<ArrayBuffer>
    } else {
      if (length > this.#bytes.length) this.#grow(length)
      this.#bytes.set(chunk, this.#length)
    }
    this.#length = length
    return true
  }

  #grow(length: number): void {
    const larger = new Uint8Array(Math.min(this.#maxBytes, Math.max(2 * length, 16 * 1024)))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}

/**
 * Whether a body is shorter than its `Content-Length`, which not every fetch reports as an error. A compressed body has
 * another length, and browsers hide from pages of other origins that it was compressed. 204 and 205 have no body, whatever
 * some services write as its length.
 */
export function isTruncated({ status, headers, type }: Response, bytes: Uint8Array): boolean {
  const length = headers.get('content-length')
  if (length === null || type === 'cors' || headers.has('content-encoding')) return false
  if (status === 204 || status === 205) return false
  return /^\d+$/.test(length) && bytes.length < Number(length)
}

const notTheService = 'Is this the service? A proxy or a login page may have responded: check baseUrl.'
const notAListHint =
  'Is this a list? For other endpoints use client.request. A proxy or a login page may also have responded.'
const notTheTypeHint =
  "The Content-Type says JSON, but the body is not: tell the service's owner. The text is in error.body."
const truncatedHint = 'The response was cut off, often by a proxy: retry.'

/** The body of a list: it must be JSON. */
export function parseListBody(bytes: Uint8Array, contentType: string): unknown {
  const text = decode(bytes)
  if (text === '') throw InvalidBody.forWholeBody('expected JSON, got an empty body', notAListHint)
  return parseText(text, bytes, contentType, notAListHint)
}

/** The body of any other response, which is not specified: a JSON value, text, or nothing. */
export function parseUnspecifiedBody(bytes: Uint8Array, contentType: string): unknown {
  const text = decode(bytes)
  if (text === '') return undefined
  // As the MIME Sniffing Standard says it: application/json-seq, for example, is no JSON.
  const isJson = /^(?:(?:application|text)\/json|[^;]+\+json)\s*(?:;|$)/i.test(contentType)
  return parseText(text, bytes, contentType, isJson ? notTheTypeHint : undefined)
}

/** The JSON value of a text. If it is not JSON: the text, unless there is a hint what to do about that. */
function parseText(
  text: string,
  bytes: Uint8Array,
  contentType: string,
  notJsonHint: string | undefined,
): unknown {
  if (/^text\/html\b/i.test(contentType)) {
    throw InvalidBody.forWholeBody(
      'expected a response from the service, got an HTML page',
      notTheService,
      text,
    )
  }
  try {
    return parseJson(text, bytes)
  } catch (error) {
    if (error instanceof SyntaxError) {
      if (notJsonHint === undefined) return text
      throw notJson(text, notJsonHint)
    }
    const hint = 'The response is in error.body, as text.'
    if (error instanceof LostDigitsError) {
      throw InvalidBody.forWholeBody(
        'expected numbers that this engine can hold, got one with more digits',
        `Newer JavaScript engines keep every digit (docs/runtimes.md). ${hint}`,
        text,
      )
    }
    // The engine has used up its stack.
    throw InvalidBody.forWholeBody('expected JSON that is less deeply nested', hint, text)
  }
}

/** The body of an error, parsed as far as possible. */
export function parseErrorBody(bytes: Uint8Array, contentType: string): unknown {
  const decoder = decoderFor(contentType)
  const text = decoder.decode(bytes)
  if (text === '') return undefined
  try {
    // The parser looks for long numbers in the bytes: those of UTF-16 would hide them.
    return parseJson(text, decoder.encoding === 'utf-8' ? bytes : new TextEncoder().encode(text))
  } catch {
    return text
  }
}

function notJson(text: string, hint: string): InvalidBody {
  const start = text.trimStart()[0]
  const isCut = (start === '{' && !/\}\s*$/.test(text)) || (start === '[' && !/\]\s*$/.test(text))
  if (isCut)
    return InvalidBody.forWholeBody('expected JSON, got JSON that ends too early', truncatedHint, text)
  if (start === '<')
    return InvalidBody.forWholeBody('expected JSON, got markup (HTML or XML)', notTheService, text)
  const got = start === '{' || start === '[' ? 'malformed JSON' : 'text'
  return InvalidBody.forWholeBody(`expected JSON, got ${got}`, hint, text)
}

let utf8: TextDecoder | undefined

function decode(bytes: Uint8Array): string {
  try {
    // Drops a byte-order mark.
    utf8 ??= new TextDecoder('utf-8', { fatal: true })
    return utf8.decode(bytes)
  } catch {
    throw InvalidBody.forWholeBody('expected UTF-8, got other bytes', notTheService)
  }
}

function decoderFor(contentType: string): TextDecoder {
  const [, charset] = /;\s*charset="?([^";\s]+)/i.exec(contentType) ?? []
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}

/** The first of the three bytes of a byte-order mark, which begin no JSON. */
const byteOrderMark = 0xef

function parseJson(text: string, bytes: Uint8Array): unknown {
  return parseLosslessJson(text, bytes[0] === byteOrderMark ? bytes.subarray(3) : bytes)
}
