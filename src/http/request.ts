import { captureCallSite } from '../internal/call-site.js'
import { describe } from '../internal/describe.js'
import { assertIdempotencyKey, createIdempotencyKey } from '../internal/idempotency-key.js'
import { toJson } from '../internal/json-body.js'
import { assertPath, type Query, toQueryString } from '../internal/url.js'
import { assertObject, type Check, checkedLater, type KnownOptions } from '../internal/validate.js'
import { type CommonOptions, callChecks, clientOptionHint, mergeSettings } from '../options.js'
import {
  type FoundIssue,
  isThenable,
  resolveSchema,
  type Schema,
  type SchemaOutput,
  type Validator,
  validate,
} from '../schema.js'
import { send, type Transport } from './call.js'
import { mismatch, parseUnspecifiedBody } from './response-body.js'

/** Options of every call. */
export interface RequestOptions<S = undefined> extends Omit<CommonOptions, 'concurrency'> {
  /**
   * Cancels the call when it is aborted: the call rejects immediately, with the signal's reason. A write that is aborted after
   * it was sent may have been applied: pass your own `idempotencyKey` if you abort writes. `AbortSignal.timeout` starts when it
   * is created: create one for each call, or set `totalTimeout`.
   */
  signal?: AbortSignal | undefined
  /**
   * A schema of any library that implements Standard Schema. It validates and types the response body (in a list, each
   * item), and replaces the built-in schema.
   */
  schema?: S | undefined
}

/** Options of a write. */
export interface WriteOptions<S = undefined> extends RequestOptions<S> {
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

const writeChecks = { ...callChecks, idempotencyKey: assertIdempotencyKey, ...checkedLater('body') }

/**
 * The options of a resource's method whose first argument has these names.
 *
 * @param setsBody The method sets the body itself: `body` is no option.
 */
export function knownWriteOptions(argumentNames: readonly string[], setsBody = false): KnownOptions {
  const { body: _body, ...withoutBody }: Readonly<Record<string, Check>> = writeChecks
  return {
    title: 'Options of a write',
    checks: setsBody ? withoutBody : writeChecks,
    elsewhere: name =>
      argumentNames.includes(name) ? 'pass it in the first argument' : clientOptionHint(name),
  }
}

/** Options of {@link Client.request}. */
export interface CustomRequestOptions<S = undefined> extends WriteOptions<S> {
  /** Query parameters. */
  query?: Query | undefined
  /**
   * The path with names instead of ids, such as `/customers/{customerId}/notes`: what events call `route`, so that metrics
   * have one series for all ids.
   * @defaultValue the path
   */
  route?: string | undefined
}

export const knownRequestOptions: KnownOptions = {
  title: 'Options of request',
  checks: { ...writeChecks, route: assertPath, ...checkedLater('query') },
  elsewhere: clientOptionHint,
}

export interface RequestSpec {
  readonly method: HttpMethod
  readonly path: string
  /** The path with names instead of ids; the path itself when not given. */
  readonly route?: string
  /** Validates the response body unless the caller passes a schema. */
  readonly validator?: Validator
}

/**
 * Sends a call that is not a list. Public methods must call it directly: stacks of errors begin at who called them.
 * Options come from `readOptions`; wrong values reject.
 */
export async function request<
  S extends Schema | undefined,
  T = unknown,
  Key extends string | undefined = string,
>(
  transport: Transport,
  { method, path, route, validator: ownValidator }: RequestSpec,
  options: WriteOptions<S> & { query?: Query | undefined },
): Promise<Result<SchemaOutput<S, T>, Key>> {
  const site = captureCallSite(request, 1)
  const isWrite = method !== 'GET'
  const { signal, body, query } = options
  const settings = mergeSettings(transport.settings, options)
  const validator = resolveSchema(options.schema, ownValidator)
  if (!isWrite) assertNoWriteOptions(options)
  const { idempotencyKey = isWrite ? createIdempotencyKey() : undefined } = options
  const call = {
    method,
    path,
    route,
    query: toQueryString(assertObject('query', query)),
    settings,
    idempotencyKey,
    hasCallerKey: options.idempotencyKey !== undefined,
    body: body === undefined ? undefined : toJson(body),
    signals: [signal],
    site,
  }
  return send(transport, call, (bytes, { status, headers, report }) => {
    const received = parseUnspecifiedBody(bytes, headers)
    const issues: FoundIssue[] = []
    const toResult = (data: unknown) => {
      if (validator && issues.length > 0) throw mismatch(issues, received, validator)
      const { attempts, requestId } = report
      return { data, status, headers, attempts, idempotencyKey, requestId } as Result<SchemaOutput<S, T>, Key>
    }
    const data = validator ? validate(received, validator, issues) : received
    return isThenable(data) ? data.then(toResult) : toResult(data)
  })
}

export function toMethod(method: unknown): HttpMethod {
  const upper = typeof method === 'string' ? method.toUpperCase() : ''
  if (methods.includes(upper)) return upper as HttpMethod
  const got = typeof method === 'string' ? JSON.stringify(method) : describe(method)
  throw new TypeError(`method: expected one of ${methods.join(', ')}, got ${got}`)
}

function assertNoWriteOptions(options: WriteOptions<Schema | undefined>): void {
  if (options.body !== undefined) throw new TypeError('body: expected none, as GET sends no body')
  if (options.idempotencyKey !== undefined) {
    throw new TypeError('idempotencyKey: expected none, as GET is not a write')
  }
}
