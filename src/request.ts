import { parseAny } from './body.js'
import { type Issue, Misfit } from './errors.js'
import { checkObject, checkSignal, type Defaults, override, refuseContentType } from './options.js'
import { type Query, queryString } from './path.js'
import { conform, isThenable, type Output, type Schema, type Shape, toShape } from './schema.js'
import type { Answer, Transport } from './transport.js'

/** What every call takes. */
export interface CallOptions<S = undefined> extends Omit<Defaults, 'concurrency'> {
  /**
   * Ends the call at once, which then rejects with the signal's reason. A write aborted under way may have been
   * applied: give your own `idempotencyKey` if you abort writes.
   */
  signal?: AbortSignal | undefined
  /** A schema of any library that speaks Standard Schema: narrows what the interface does not show. */
  schema?: S | undefined
}

/** What a write takes. */
export interface WriteOptions<S = undefined> extends CallOptions<S> {
  /**
   * The same on every attempt: 1 to 255 printable ASCII characters, no space at either end.
   * @defaultValue a fresh UUID v4 for each call
   */
  idempotencyKey?: string | undefined
  /**
   * Sent as JSON.
   * @defaultValue no body
   */
  body?: unknown
}

/** What came of a call that is no list. */
export interface Result<T> {
  /** The JSON value of the answer, its text if it is none, `undefined` if it is empty; or what `schema` made of it. */
  readonly data: T
  /** From 200 to 299. */
  readonly status: number
  /** The headers of the answer. */
  readonly headers: Headers
  /** How many requests it took, the first one included. */
  readonly attempts: number
  /** The key that the write carried; `undefined` on GET. */
  readonly idempotencyKey: string | undefined
}

/** The methods of {@link Client.request}. All but GET are writes. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Sends one call that is no list. Misuse rejects. */
export async function request<S extends Schema | undefined>(
  transport: Transport,
  method: Method,
  path: string,
  given: (WriteOptions<S> & { query?: Query | undefined }) | undefined,
): Promise<Result<Output<S, unknown>>> {
  if (!methods.includes(method)) throw new TypeError(`method: expected one of ${methods.join(', ')}`)
  const options = checkObject('options', given)
  const { signal, body, query } = options
  checkSignal(signal)
  const settings = override(transport.settings, options)
  const shape = toShape(options.schema, undefined)
  const isWrite = method !== 'GET'
  if (isWrite) refuseContentType(settings)
  else if (body !== undefined) throw new TypeError('body: expected none, as GET sends none')
  const idempotencyKey = isWrite
    ? toIdempotencyKey(options.idempotencyKey)
    : refuseIdempotencyKey(options.idempotencyKey)
  const call = {
    method,
    path,
    query: queryString(checkObject('query', query)),
    settings,
    idempotencyKey,
    body: body === undefined ? undefined : toJson(body),
    signals: [signal],
    page: undefined,
  }
  return transport.send(call, answer => {
    const data = readData(answer, shape)
    const result = (data: unknown) => {
      const { status, headers, facts } = answer
      return { data: data as Output<S, unknown>, status, headers, attempts: facts.attempts, idempotencyKey }
    }
    return isThenable(data) ? data.then(result) : result(data)
  })
}

/** The body of an answer that the interface does not show, as the caller's schema has it. */
function readData({ bytes, contentType }: Answer, shape: Shape | undefined): unknown {
  const body = parseAny(bytes, contentType)
  if (shape === undefined) return body
  const issues: Issue[] = []
  const settle = (data: unknown) => {
    if (issues.length > 0) throw new Misfit(issues, { body, givenSchema: true })
    return data
  }
  const data = conform(body, shape, [], issues)
  return isThenable(data) ? data.then(settle) : settle(data)
}

function toIdempotencyKey(given: unknown): string {
  if (given === undefined) return uuid()
  // Fetch would trim spaces at the ends: the key sent would be another than the key given.
  if (typeof given !== 'string' || !/^(?=[^ ])[ -~]{1,255}(?<! )$/.test(given)) {
    throw new TypeError(
      'idempotencyKey: expected 1 to 255 printable ASCII characters, with no space at either end (not given: a fresh UUID)',
    )
  }
  return given
}

function refuseIdempotencyKey(given: unknown): undefined {
  if (given !== undefined) throw new TypeError('idempotencyKey: expected none, as GET sends none')
}

/** Version 4. Not by crypto.randomUUID, which pages outside secure contexts lack. */
function uuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Written once, before the first attempt. JSON.stringify alone would lose what JSON cannot say without a word. */
function toJson(body: unknown): string {
  const expected = 'body: expected JSON data'
  const refuse = (value: unknown) =>
    new TypeError(`${expected}, not ${Object.prototype.toString.call(value).slice(8, -1)}`)
  // By its holder, as `value` is already what toJSON made of it.
  function check(this: Record<string, unknown>, key: string, value: unknown) {
    const given = this[key]
    if (typeof value === 'number' && !Number.isFinite(value))
      throw new TypeError(`${expected}, which has no ${value}`)
    if (typeof value === 'bigint')
      throw new TypeError(`${expected}, which has no bigint: send its digits as a string`)
    if (!isJsonData(value)) throw refuse(value)
    // What it would be written as: an invalid Date as null, bytes as an object, a gap in an array as null.
    const isAltered = (value === null && given !== null) || ArrayBuffer.isView(given)
    if (isAltered || (value === undefined && Array.isArray(this))) throw refuse(given)
    return value
  }
  try {
    const text = JSON.stringify(body, check) as string | undefined
    if (text === undefined) throw refuse(text)
    return text
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith(expected)) throw error
    throw new TypeError(`${expected} (it could not be written: circular, or a toJSON that throws)`)
  }
}

/** By its tag, as FormData, streams, Blobs, Maps and the like would all be written as {}. */
function isJsonData(value: unknown): boolean {
  if (typeof value === 'function' || typeof value === 'symbol') return false
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return true
  const isStream = Symbol.asyncIterator in value || typeof (value as { pipe?: unknown }).pipe === 'function'
  return !isStream && Object.prototype.toString.call(value) === '[object Object]'
}
