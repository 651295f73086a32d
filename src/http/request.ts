import { captureCallSite } from '../internal/call-site.js'
import { wrongArgument } from '../internal/describe.js'
import { toJson } from '../internal/json-body.js'
import { createIdempotencyKey, idempotencyKey } from '../internal/keys.js'
import { encodePathSegment, type Query, toQueryString } from '../internal/url.js'
import { type Checks, checkedLater, type KnownOptions } from '../internal/validate.js'
import { type CallOptions, callChecks, mergeSettings, onTheClient } from '../options.js'
import { type FoundIssue, isThenable, resolveSchema, type Schema, validate } from '../schema.js'
import { mismatch, parseUnspecifiedBody } from './body.js'
import { send, type Transport } from './call.js'

/** Options of every call. */
export interface RequestOptions<T = unknown> extends CallOptions {
  /**
   * A schema of any library that implements Standard Schema. It validates and types the response body (in a list, each
   * item), and replaces the built-in schema.
   */
  schema?: Schema<T> | undefined
}

/** Options of a write. */
export interface WriteOptions<T = unknown> extends RequestOptions<T> {
  /**
   * Identifies the write, so that the service can recognise a repetition and apply it only once. Every attempt sends the same
   * key. 1 to 255 printable ASCII characters without a space at either end.
   * @defaultValue a fresh UUID v4 for each call
   */
  idempotencyKey?: string | undefined
  /**
   * Request body: a JSON value.
   * @defaultValue no body
   */
  body?: unknown
}

/** Options of {@link Client.request}. */
export interface CustomRequestOptions<T = unknown> extends WriteOptions<T> {
  /** Query parameters. */
  query?: Query | undefined
}

/** Result of a call that is not a list. */
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

/** The options of a write. */
export const writeOptions: KnownOptions<WriteOptions> = {
  checks: writeChecks,
  help: `Options of a write are: ${Object.keys(writeChecks).join(', ')}. ${onTheClient}`,
}

/** The options of `client.request`. */
export const customRequestOptions: KnownOptions<CustomRequestOptions> = {
  checks: { ...writeChecks, query: checkedLater },
  help: `Options of request are: ${Object.keys(writeChecks).join(', ')}, query (for filters). ${onTheClient}`,
}

/** What is sent, as a resource declares it. */
export interface Endpoint {
  readonly method: HttpMethod
  /** Checked and encoded. */
  readonly path: string
}

/**
 * Sends a call that is not a list. Public methods must call it directly: stacks of errors begin at who called them.
 * Options come from `readOptions`; wrong values reject.
 */
export async function request<T, Key extends string | undefined>(
  transport: Transport,
  { method, path }: Endpoint,
  options: CustomRequestOptions<T>,
): Promise<Result<T, Key>> {
  const site = captureCallSite(request, 1)
  const isWrite = method !== 'GET'
  if (!isWrite && options.body !== undefined) throw new TypeError('body: expected none, as GET sends no body')
  if (!isWrite && options.idempotencyKey !== undefined)
    throw new TypeError('idempotencyKey: expected none, as GET is not a write')
  const { signal, body, query, idempotencyKey = isWrite ? createIdempotencyKey() : undefined } = options
  const validator = resolveSchema(options.schema, undefined)
  const call = {
    method,
    path,
    query: toQueryString(query),
    settings: mergeSettings(transport.settings, options),
    idempotencyKey,
    hasCallerKey: options.idempotencyKey !== undefined,
    body: body === undefined ? undefined : toJson(body),
    signals: [signal],
    site,
  }
  return send(transport, call, (text, { status, headers, report }) => {
    const received = parseUnspecifiedBody(text, headers)
    const issues: FoundIssue[] = []
    const toResult = (data: unknown) => {
      if (validator && issues.length > 0) throw mismatch(issues, received, validator)
      const { attempts, requestId } = report
      return { data, status, headers, attempts, idempotencyKey, requestId } as Result<T, Key>
    }
    const data = validator ? validate(received, validator, issues) : received
    return isThenable(data) ? data.then(toResult) : toResult(data)
  })
}

export function toMethod(method: unknown): HttpMethod {
  const upper = typeof method === 'string' ? method.toUpperCase() : ''
  if (methods.includes(upper)) return upper as HttpMethod
  throw wrongArgument('method', `one of ${methods.join(', ')}`, method)
}

/** The path of a template: `{name}` stands for the id of that name. */
export function toPath(template: string, ids: object): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodePathSegment(name, (ids as Record<string, unknown>)[name]),
  )
}
