import { parseLosslessJson } from '../internal/lossless-json.js'
import type { FoundIssue, Validator } from '../schema.js'

/** Maximum number of issues that an error lists. */
export const maxIssues = 20

/** A response body that does not match its documentation or a schema. `CallReport` turns it into an `InvalidResponseError`. */
export class InvalidBody {
  readonly issues: readonly FoundIssue[]
  readonly hint: string
  readonly body: unknown
  /** The validator that rejected the body, and would do so again. Messages of a caller's schema may quote values. */
  readonly validator: Validator | undefined

  constructor(issues: readonly FoundIssue[], hint: string, body: unknown, validator?: Validator) {
    this.issues = issues
    this.hint = hint
    this.body = body
    this.validator = validator
  }
}

function invalid(message: string, hint: string, body?: unknown): InvalidBody {
  return new InvalidBody([{ path: [], message, cause: undefined }], hint, body)
}

export function mismatch(issues: readonly FoundIssue[], body: unknown, validator: Validator): InvalidBody {
  const hint = validator.isCustom
    ? 'See error.issues, error.body and error.cause. If the response is right, change the schema. In a list, it describes one item of `data`.'
    : `Pass a \`schema\` that accepts the response if the service is right. ${seeBody}`
  return new InvalidBody(issues, hint, body, validator)
}

/** The text of a body. `undefined` if the body of an error could not be read. */
export type BodyText = string | InvalidBody | undefined

/** Reads a body to its end. Cancels it when the signal aborts, because some fetch libraries ignore a request's signal. */
export async function readBody(response: Response, maxBytes: number, signal: AbortSignal): Promise<BodyText> {
  const { body } = response
  if (body === null) return ''
  const reader = readerOf(body)
  // React Native and some polyfills have no streams.
  if (reader === undefined) {
    const text = await response.text()
    const { length } = new TextEncoder().encode(text)
    return length > maxBytes ? tooLarge(maxBytes) : text.replace(/^\uFEFF/, '')
  }
  // The reader of a custom fetch may throw synchronously, or return no promise.
  const cancel = () => void (async () => reader.cancel())().catch(() => {})
  signal.addEventListener('abort', cancel)
  if (signal.aborted) cancel()
  let bytes = new Uint8Array()
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return decode(bytes.subarray(0, length))
    // Without instanceof, because under Jest a runtime's arrays belong to another realm.
    if (Object.prototype.toString.call(value) !== '[object Uint8Array]')
      throw new TypeError('the body does not consist of bytes')
    const end = length + value.length
    if (end > maxBytes) {
      cancel()
      return tooLarge(maxBytes)
    }
    if (end > bytes.length) {
      // Most bodies are one chunk, which needs no copy. An array of a million tiny chunks would take gigabytes.
      const larger = length === 0 ? value : new Uint8Array(Math.min(maxBytes, 2 * end + 16 * 1024))
      larger.set(bytes.subarray(0, length))
      bytes = larger
    }
    if (bytes !== value) bytes.set(value, length)
    length = end
  }
}

type Reader = Pick<ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>, 'read' | 'cancel'>

/** The reader of a web stream, or of a Node stream such as node-fetch's. */
function readerOf(body: Response['body'] | undefined): Reader | undefined {
  if (typeof body?.getReader === 'function') return body.getReader()
  const iterator = (body as AsyncIterable<unknown> | undefined)?.[Symbol.asyncIterator]?.()
  return (
    iterator && {
      read: () => iterator.next() as ReturnType<Reader['read']>,
      cancel: async () => void (await iterator.return?.()),
    }
  )
}

function tooLarge(maxBytes: number): InvalidBody {
  const hint = 'Raise `maxResponseBytes`, or request smaller pages of a list with `limit`.'
  return invalid(`expected at most ${maxBytes} bytes`, hint)
}

let utf8: TextDecoder | undefined

function decode(bytes: Uint8Array): BodyText {
  try {
    // TextDecoder also drops a byte-order mark.
    utf8 ??= new TextDecoder('utf-8', { fatal: true })
    return utf8.decode(bytes)
  } catch {
    const hint = 'Ask the owner of the service for UTF-8 and the right Content-Encoding.'
    return invalid('expected UTF-8, got other bytes', hint)
  }
}

const seeBody = 'The response is in error.body.'
const checkBaseUrl = 'Check baseUrl, as a proxy or a login page may have responded.'
const html = /^\s*<(?:!doctype|html)\b/i

/** The body of a list, which must be JSON. */
export function parseListBody(text: string): unknown {
  const json = parseJson(text)
  if (json === undefined)
    throw notJson(text, false, `${checkBaseUrl} Is this a list? For other endpoints use client.request.`)
  return json
}

function notJson(text: string, isHtml: boolean, hint: string): InvalidBody {
  const isCut = !isHtml && /^\s*[[{]/.test(text)
  let got = 'plain text'
  if (text.trim() === '') got = 'an empty body'
  else if (isHtml || html.test(text)) got = 'an HTML page'
  else if (isCut)
    got = `text of ${text.length} characters that begins like JSON and breaks ${whereItBreaks(text)}`
  const cutHint = `Was it cut off? If not, report it to the service's owner. ${seeBody}`
  return invalid(`expected JSON, got ${got}`, isCut ? cutHint : hint, text || undefined)
}

/** Only the position from the engine's message, because the message quotes the text. */
function whereItBreaks(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch (error) {
    return /\bat (?:position|line) \d+(?: column \d+)?/.exec(String(error))?.[0] ?? 'off'
  }
}

/** The body of any other response. The API documents none, so it may be JSON, text or empty. */
export function parseUnspecifiedBody(text: string, headers: Headers): unknown {
  const json = parseJson(text)
  if (json !== undefined || text.trim() === '') return json
  const contentType = headers.get('content-type') ?? ''
  // A proxy's error page must not count as a success.
  const isHtml = html.test(text) || /^(?:text\/html|application\/xhtml\+xml)\b/i.test(contentType)
  if (!isHtml && !/^(?:(?:application|text)\/json|[^;]+\+json)\s*(?:;|$)/i.test(contentType)) return text
  throw notJson(text, isHtml, `${checkBaseUrl} ${seeBody}`)
}

/** The body of an error as JSON, else as text. `undefined` if it is empty or unreadable. */
export function parseErrorBody(text: BodyText): unknown {
  if (typeof text !== 'string') return undefined
  try {
    const json = parseJson(text)
    return json === undefined ? text || undefined : json
  } catch {
    return undefined
  }
}

/** The value of a JSON text, or `undefined` if it is not JSON. */
function parseJson(text: string): unknown {
  try {
    return text === '' ? undefined : parseLosslessJson(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    // The body is nested too deeply for the engine's stack.
    throw invalid('expected JSON that is less deeply nested', seeBody, text)
  }
}
