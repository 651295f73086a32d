import { LostDigitsError, parseLosslessJson } from '../internal/lossless-json.js'
import type { FoundIssue, Validator } from '../schema.js'
import { InvalidFetchError } from './network-error.js'

// A body that arrives in tiny chunks is read in one run of microtasks: without a pause no timer would ever fire.
const chunksBetweenPauses = 1024

export class BodyReader {
  #reader: ReadableStreamDefaultReader<unknown> | undefined

  /** Ends the reading, even of a stream that ignores the signal of its request. */
  cancel(): void {
    // A reader of somebody else's may throw at once, or return no promise.
    void (async () => this.#reader?.cancel())().catch(() => {})
  }

  /** The bytes of a body; `undefined` when there are more than `maxBytes`, or when cancelled. */
  async read(response: Response, maxBytes: number): Promise<Uint8Array | undefined> {
    if (response.body === null) return new Uint8Array()
    // React Native and some polyfills have no streams: there the bytes are counted when all have arrived.
    if (typeof response.body?.getReader !== 'function') {
      const buffer: unknown = await response.arrayBuffer()
      if (Object.prototype.toString.call(buffer) !== '[object ArrayBuffer]')
        throw new InvalidFetchError(notBytes)
      const bytes = new Uint8Array(buffer as ArrayBuffer)
      return bytes.length > maxBytes ? undefined : bytes
    }
    const reader = response.body.getReader()
    this.#reader = reader
    let bytes = new Uint8Array()
    let length = 0
    for (let chunks = 1; ; chunks++) {
      const { done, value } = await reader.read()
      if (done) return bytes.subarray(0, length)
      if (!isBytes(value)) throw new InvalidFetchError(notBytes)
      const end = length + value.length
      if (end > maxBytes) {
        this.cancel()
        return undefined
      }
      if (length === 0) {
        // Most bodies are one chunk: it is not copied.
        bytes = value
      } else {
        if (end > bytes.length) {
          // One growing buffer: an array of a million tiny chunks would take gigabytes.
          const larger = new Uint8Array(Math.min(maxBytes, Math.max(2 * end, 16 * 1024)))
          larger.set(bytes.subarray(0, length))
          bytes = larger
        }
        bytes.set(value, length)
      }
      length = end
      if (chunks % chunksBetweenPauses === 0) await new Promise(resolve => setTimeout(resolve))
    }
  }
}

const notBytes = 'expected a body of bytes'

/** Not by instanceof: under Jest a runtime's arrays are of another realm. */
function isBytes(chunk: unknown): chunk is Uint8Array<ArrayBuffer> {
  return Object.prototype.toString.call(chunk) === '[object Uint8Array]'
}

/** A response whose body may not have arrived, and its headers as they can be read safely. */
export interface ResponseHead {
  readonly response: Response
  readonly status: number
  readonly headers: Headers
}

/**
 * Whether a body is shorter than its `Content-Length`, which not every fetch reports as an error. A compressed body has
 * another length, and browsers hide from pages of other origins that it was compressed. 204 and 205 have no body, whatever
 * some services write as its length.
 */
export function isTruncated({ response, status, headers }: ResponseHead, bytes: Uint8Array): boolean {
  const length = headers.get('content-length')
  if (length === null || response.type === 'cors' || headers.has('content-encoding')) return false
  if (status === 204 || status === 205) return false
  return /^\d+$/.test(length) && bytes.length < Number(length)
}

/** What is wrong with a response body, before it is known which call it belongs to. */
interface InvalidBodyFacts {
  readonly issues: readonly FoundIssue[]
  readonly hint: string
  readonly body?: unknown
  /** The messages come from the caller's schema, and may quote values. */
  readonly isCustomSchema?: boolean
}

/** A response body that breaks the API specification or a schema. */
export class InvalidBody {
  readonly facts: InvalidBodyFacts

  constructor(facts: InvalidBodyFacts) {
    this.facts = facts
  }
}

/** A body that is not what it should be as a whole. */
export function invalid(message: string, hint: string, body?: unknown): InvalidBody {
  return new InvalidBody({ issues: [{ path: [], message }], hint, body })
}

/** A body that a schema has not accepted. */
export function mismatch(issues: readonly FoundIssue[], body: unknown, { isCustom }: Validator): InvalidBody {
  const isThrown = issues.some(issue => 'cause' in issue)
  const isOfList = issues.some(({ path: [first, index] }) => first === 'data' && typeof index === 'number')
  const ofList = isOfList ? ': it describes one item of `data`, not the page' : ''
  const custom = isThrown
    ? 'The schema threw: see error.cause. The response is in error.body.'
    : `Details are in error.issues, and the response is in error.body. If the response is right, change the schema${ofList}.`
  const own =
    'If the response is as intended, pass a `schema` that accepts it. The response is in error.body.'
  return new InvalidBody({ issues, hint: isCustom ? custom : own, body, isCustomSchema: isCustom === true })
}

const notTheService = 'Is this the service? A proxy or a login page may have responded: check baseUrl.'
const notAList =
  'Is this a list? For other endpoints use client.request. A proxy or a login page may also have responded.'
const truncated = 'If it was cut off, often by a proxy, retry.'
const seeText = 'The text is in error.body.'

/** The body of a list: it must be JSON. */
export function parseListBody(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  if (text === '') throw invalid('expected JSON, got an empty body', notAList)
  const json = parseJson(text)
  if (json === undefined) throw notJson(text, notAList)
  return json
}

/** The body of any other response, which is not specified: a JSON value, text, or nothing. */
export function parseUnspecifiedBody(bytes: Uint8Array, headers: Headers): unknown {
  const text = decode(bytes)
  if (text === '') return undefined
  const json = parseJson(text)
  if (json !== undefined) return json
  const contentType = headers.get('content-type') ?? ''
  // As the MIME Sniffing Standard says it: application/json-seq, for example, is no JSON.
  const isToBeJson = /^(?:(?:application|text)\/json|[^;]+\+json)\s*(?:;|$)/i.test(contentType)
  // A page of a proxy must not pass for a success.
  const isPage = /^(?:text\/html|application\/xhtml\+xml)\b/i.test(contentType) || isHtml(text)
  if (isToBeJson || isPage)
    throw notJson(text, `The Content-Type says JSON, but the body is not. ${seeText}`, isPage)
  return text
}

/** The body of an error, parsed as far as possible. */
export function parseErrorBody(bytes: Uint8Array): unknown {
  const text = new TextDecoder().decode(bytes)
  if (text === '') return undefined
  try {
    const json = parseJson(text)
    return json === undefined ? text : json
  } catch {
    return text
  }
}

/** The value of a JSON text, or `undefined` if it is not JSON. Throws for JSON that this engine cannot hold. */
function parseJson(text: string): unknown {
  try {
    return parseLosslessJson(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    if (error instanceof LostDigitsError) {
      throw invalid(
        'expected numbers that this engine can hold, got one with more digits',
        `Newer JavaScript engines keep every digit (docs/runtimes.md). ${seeText}`,
        text,
      )
    }
    // The engine has used up its stack.
    throw invalid('expected JSON that is less deeply nested', seeText, text)
  }
}

function isHtml(text: string): boolean {
  return /^\s*<(?:!doctype|html)\b/i.test(text)
}

function notJson(text: string, hint: string, isPage = isHtml(text)): InvalidBody {
  if (isPage) return invalid('expected JSON, got an HTML page', notTheService, text)
  const isCut = /^\s*(?:\{.*[^}\s]|\[.*[^\]\s]|[{[])\s*$/s.test(text)
  return isCut
    ? invalid('expected JSON, got JSON that is malformed or cut off', truncated, text)
    : invalid('expected JSON, got text', hint, text)
}

let utf8: TextDecoder | undefined

function decode(bytes: Uint8Array): string {
  try {
    // Drops a byte-order mark.
    utf8 ??= new TextDecoder('utf-8', { fatal: true })
    return utf8.decode(bytes)
  } catch {
    throw invalid(
      'expected UTF-8, got other bytes',
      'If this is the service, ask its owner for UTF-8, and for the right Content-Encoding.',
    )
  }
}
