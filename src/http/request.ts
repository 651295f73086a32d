import { type CallSite, captureCallSite, checkedAt } from '../internal/call-site.js'
import { wrongArgument } from '../internal/describe.js'
import { toJson } from '../internal/json-body.js'
import { createIdempotencyKey, idempotencyKey } from '../internal/keys.js'
import { withHidden, withoutPrototype } from '../internal/object.js'
import { assertPath, encodePathSegment, type Query, toQueryString } from '../internal/url.js'
import {
  assertNoMore,
  type Checks,
  checkedLater,
  type KnownOptions,
  readOptions,
} from '../internal/validate.js'
import { callChecks, mergeSettings, onTheClient, type RequestOptions } from '../options.js'
import {
  type FoundIssue,
  isThenable,
  resolveSchema,
  type Schema,
  type Validator,
  validate,
} from '../schema.js'
import { mismatch, parseUnspecifiedBody } from './body.js'
import { send } from './call.js'
import type { Call, Transport } from './types.js'

/** Options of a write. */
export interface WriteOptions<T = unknown> extends RequestOptions<T> {
  /**
   * Identifies the write, so that the service can recognise a repetition and apply it only once. Every attempt sends the same
   * key. 1 to 255 printable ASCII characters without a space at either end.
   * @defaultValue a fresh UUID v4 for each call
   */
  idempotencyKey?: string | undefined
  /**
   * Request body: a JSON value, not yet as text.
   * @defaultValue no body
   */
  body?: unknown
}

/** Options of {@link Client.request}. */
export interface CustomRequestOptions<T = unknown> extends WriteOptions<T> {
  /** Query parameters. */
  query?: Query | undefined
}

/**
 * Result of a call that is not a list: plain data, so that it survives `structuredClone` and JSON. Both leave out `status`, `headers`
 * and `requestId`, which are not enumerable.
 */
export interface Result<T, Key extends string | undefined = string | undefined> {
  /** The response body: the output of your `schema`; without one a JSON value, else its text, `undefined` if empty. */
  readonly data: T
  /** The HTTP status, from 200 to 299. */
  readonly status: number
  /** The response headers. */
  readonly headers: Headers
  /** Number of attempts, including the first. */
  readonly attempts: number
  /** The idempotency key of the write; `undefined` for GET. */
  readonly idempotencyKey: Key
  /** The `x-request-id` or `request-id` header, if the response has one. Quote it to the service's support. */
  readonly requestId: string | undefined
}

/** HTTP methods of {@link Client.request}. All except GET are writes. */
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const methods: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

const writeChecks: Checks<WriteOptions> = { ...callChecks, idempotencyKey, body: checkedLater }

const writeOptions: KnownOptions<WriteOptions> = {
  checks: writeChecks,
  help: `Options of a write are: ${Object.keys(writeChecks).join(', ')}. ${onTheClient}`,
}

const customRequestOptions: KnownOptions<CustomRequestOptions> = {
  checks: { ...writeChecks, query: checkedLater },
  help: `Options of request are: ${Object.keys(writeChecks).join(', ')}, query (for filters). ${onTheClient}`,
}

/** What a database record of an account may not have; `body` and `schema` may be its own. */
const notOfAnAccount = ['idempotencyKey', 'signal', 'timeout', 'totalTimeout', 'maxRetries', 'headers']

/** A write, as its resource declares it. */
export interface WriteEndpoint {
  /** What callers call. */
  readonly name: string
  readonly method: HttpMethod
  /** `{name}` stands for the id of that name in the first argument. */
  readonly path: string
  /** Validates the response body unless the caller passes a schema. Without one, any body is accepted. */
  readonly schema?: Schema
}

/** Sends a write to a resource. Public methods must call it directly: stacks of errors begin at who called them. */
export async function write<T>(
  transport: Transport,
  endpoint: WriteEndpoint,
  ids: object,
  givenOptions: WriteOptions<T> | undefined,
  surplus: readonly unknown[],
): Promise<Result<T, string>> {
  return sendCall(transport, captureCallSite(write), () => {
    const idNames = Array.from(endpoint.path.matchAll(/\{(\w+)\}/g), ([, name]) => name).join(', ')
    assertNoMore(surplus, `${endpoint.name}({ ${idNames} }, { idempotencyKey, … })`)
    if (typeof ids !== 'object' || ids === null || Array.isArray(ids) || isThenable(ids))
      throw wrongArgument(endpoint.name, `{ ${idNames} }`, ids)
    // Ids may be those of a database record: among other properties, or on a prototype.
    const path = endpoint.path.replace(/\{(\w+)\}/g, (_, id) => encodePathSegment(id, Reflect.get(ids, id)))
    const options = readOptions<WriteOptions>('options', givenOptions, writeOptions)
    // They would be ignored here: a repeated write would be a new one, or could not be aborted.
    for (const name of notOfAnAccount)
      if (Object.hasOwn(ids, name) && !Object.hasOwn(options, name))
        throw new TypeError(`${name}: pass it in the second argument`)
    return prepare(transport, endpoint, path, options)
  })
}

/** Sends any call that is not a list. Public methods must call it directly: stacks of errors begin at who called them. */
export async function request<T>(
  transport: Transport,
  method: HttpMethod,
  path: string,
  givenOptions: CustomRequestOptions<T> | undefined,
  surplus: readonly unknown[],
): Promise<Result<T>> {
  return sendCall(transport, captureCallSite(request), () => {
    assertNoMore(surplus, 'request(method, path, { … })')
    const endpoint = { method: toMethod(method) }
    assertPath('path', path)
    const options = readOptions<CustomRequestOptions>('options', givenOptions, customRequestOptions)
    return prepare(transport, endpoint, path, options)
  })
}

interface PreparedCall extends Omit<Call, 'site'> {
  readonly validator: Validator | undefined
}

function prepare(
  transport: Transport,
  endpoint: Pick<WriteEndpoint, 'method' | 'schema'>,
  path: string,
  options: CustomRequestOptions,
): PreparedCall {
  const { method, schema } = withoutPrototype(endpoint)
  const isWrite = method !== 'GET'
  if (!isWrite && options.body !== undefined) throw new TypeError('body: expected none, as GET sends no body')
  if (!isWrite && options.idempotencyKey !== undefined)
    throw new TypeError('idempotencyKey: expected none, as GET is not a write')
  const { signal, body, query, idempotencyKey = isWrite ? createIdempotencyKey() : undefined } = options
  return {
    validator: resolveSchema(options.schema, schema && { schema }),
    method,
    path,
    query: toQueryString(query),
    settings: mergeSettings(transport, options),
    idempotencyKey,
    hasCallerKey: options.idempotencyKey !== undefined,
    body: body === undefined ? undefined : toJson(body),
    signals: [signal],
  }
}

function sendCall<T, Key extends string | undefined>(
  transport: Transport,
  site: CallSite,
  prepareCall: () => PreparedCall,
): Promise<Result<T, Key>> {
  const { validator, ...call } = checkedAt(site, prepareCall)
  const { idempotencyKey } = call
  return send(transport, { ...call, site }, async (text, { status, headers, report }) => {
    const received = parseUnspecifiedBody(text, headers)
    const issues: FoundIssue[] = []
    const data = validator ? await validate(received, validator, issues) : received
    if (validator && issues.length > 0) throw mismatch(issues, received, validator)
    const { attempts, requestId } = report
    const plain = { data, attempts, idempotencyKey }
    return withHidden(plain, { status, headers, requestId }) as Result<T, Key>
  })
}

function toMethod(method: unknown): HttpMethod {
  const upper = typeof method === 'string' ? method.toUpperCase() : ''
  if (methods.includes(upper)) return upper as HttpMethod
  throw wrongArgument('method', `one of ${methods.join(', ')}`, method, ': request(method, path, { … })')
}
