import { atCaller } from '../errors.js'
import {
  assertNoMore,
  bareName,
  type Checks,
  checkedLater,
  type Given,
  readOptions,
} from '../internal/arguments.js'
import { wrongArgument } from '../internal/describe.js'
import { checkedAt } from '../internal/error-stack.js'
import { toJson } from '../internal/json-body.js'
import { createIdempotencyKey, idempotencyKey } from '../internal/keys.js'
import { property, withHidden } from '../internal/object.js'
import { assertPath, encodePathSegment, type Query, toQueryString } from '../internal/url.js'
import { callChecks, mergeSettings, onTheClient, type RequestOptions } from '../options.js'
import { type FoundIssue, isThenable, resolveSchema, validate } from '../schema.js'
import { mismatch, parseUnspecifiedBody } from './body.js'
import { type ParseResponse, send } from './call.js'
import type { Call, Transport } from './types.js'

/** Options of a write, such as its idempotency key and body. */
export interface WriteOptions<T = unknown> extends RequestOptions<T> {
  /**
   * Lets the service recognise a retry of this write and apply it only once. Every attempt sends the same key. 1 to 255 printable
   * ASCII characters without a space at either end.
   * @defaultValue a fresh UUID v4 for each call
   */
  idempotencyKey?: string | undefined
  /**
   * Request body: a value, not a JSON string. The client sends it as JSON.
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
 * Result of a call that is not a list. It is plain data, so it survives `structuredClone` and JSON. Both leave out `status`,
 * `headers` and `requestId`, which are not enumerable.
 */
export interface Result<T, Key extends string | undefined = string | undefined> {
  /** The output of your `schema`. Without one, the response body: a JSON value, else its text, or `undefined` if it is empty. */
  readonly data: T
  /** The HTTP status, from 200 to 299. */
  readonly status: number
  /** The response headers. */
  readonly headers: Headers
  /** Number of attempts, including the first. */
  readonly attempts: number
  /** The idempotency key of the write. `undefined` for GET. */
  readonly idempotencyKey: Key
  /** The `x-request-id` or `request-id` header, if the response has one. Quote it to the service's support. */
  readonly requestId: string | undefined
}

/** HTTP methods of {@link Client.request}. All except GET are writes. */
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const methods: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

const writeChecks: Checks<WriteOptions> = { ...callChecks, idempotencyKey, body: checkedLater }
const requestChecks: Checks<CustomRequestOptions> = { ...writeChecks, query: checkedLater }

/** Options that an account must not contain. A database record may have its own `body` or `schema`. */
const notOfAnAccount = Object.keys(writeChecks).filter(name => name !== 'body' && name !== 'schema')

/**
 * Sends a write to a resource. Public methods must call it directly, because error stacks begin at their callers.
 *
 * @param path Names the ids of the account in braces, as in `/customers/{customerId}`.
 */
export async function write<T>(
  transport: Transport,
  method: HttpMethod,
  path: string,
  account: object,
  givenOptions: WriteOptions<T> | undefined,
  surplus: readonly unknown[],
): Promise<Result<T, string>> {
  return sendCall(transport, write, () => {
    const ids = `{ ${path.match(/(?<=\{)\w+/g)?.join(', ')} }`
    assertNoMore(surplus, `(${ids}, { idempotencyKey, … })`)
    if (typeof account !== 'object' || account === null || Array.isArray(account) || isThenable(account))
      throw wrongArgument('account', ids, account)
    const idPath = path.replace(/\{(\w+)\}/g, (_, id: string) => {
      const similar = Object.keys(account).find(key => key !== id && bareName(key) === bareName(id))
      const hint = similar === undefined ? '' : ` (the account has \`${similar}\`)`
      // The account may be a database record, with other properties, or with ids on its prototype.
      return encodePathSegment(id, property(account, id), hint)
    })
    const options = readOptions('options', givenOptions, writeChecks, 'Options of a write', onTheClient)
    // If an idempotency key were ignored here, a retry would duplicate the write. An ignored signal would not abort it.
    for (const [given, value] of Object.entries(account)) {
      const option = notOfAnAccount.find(known => bareName(known) === bareName(given))
      if (option && value !== undefined && value !== options[option as keyof WriteOptions])
        throw new TypeError(`${given}: pass \`${option}\` in the second argument`)
    }
    return { method, path: idPath, options }
  })
}

/** Sends any call that is not a list. Public methods must call it directly, because error stacks begin at their callers. */
export async function request<T>(
  transport: Transport,
  method: HttpMethod,
  path: string,
  givenOptions: CustomRequestOptions<T> | undefined,
  surplus: readonly unknown[],
): Promise<Result<T>> {
  return sendCall(transport, request, () => {
    assertNoMore(surplus, 'request(method, path, { … })')
    const upper = typeof method === 'string' ? method.toUpperCase() : ''
    if (!methods.includes(upper))
      throw wrongArgument('method', `one of ${methods.join(', ')}`, method, ': request(method, path, { … })')
    assertPath('path', path)
    const options = readOptions('options', givenOptions, requestChecks, 'Options of request', onTheClient)
    for (const name of ['body', 'idempotencyKey'] as const)
      if (upper === 'GET' && options[name] !== undefined)
        throw new TypeError(`${name}: a GET has none (pass query for parameters)`)
    return { method: upper, path, options }
  })
}

interface CheckedCall {
  readonly method: string
  readonly path: string
  readonly options: Given<CustomRequestOptions>
}

async function sendCall<T, Key extends string | undefined>(
  transport: Transport,
  entry: object,
  check: () => CheckedCall,
): Promise<Result<T, Key>> {
  const { validator, call } = checkedAt(entry, () => {
    const { method, path, options } = check()
    const { body, idempotencyKey } = options
    const call: Call = {
      method,
      path,
      query: toQueryString(options.query),
      settings: mergeSettings(transport, options),
      idempotencyKey: idempotencyKey ?? (method === 'GET' ? undefined : createIdempotencyKey()),
      hasCallerKey: idempotencyKey !== undefined,
      body: body === undefined ? undefined : toJson(body),
      signals: [options.signal],
      page: undefined,
      limit: undefined,
      loop: undefined,
      accepts: undefined,
    }
    return { validator: resolveSchema(options.schema), call }
  })
  const parse: ParseResponse<Result<T, Key>> = (text, { status, headers, report }) => {
    const body = parseUnspecifiedBody(text, headers)
    const issues: FoundIssue[] = []
    const toResult = (data: unknown) => {
      if (validator && issues.length > 0) throw mismatch(issues, body, validator)
      const { attempts, requestId } = report
      const plain = { data, attempts, idempotencyKey: call.idempotencyKey }
      return withHidden(plain, { status, headers, requestId }) as Result<T, Key>
    }
    const data = validator ? validate(body, validator, issues) : body
    return validator && isThenable(data) ? data.then(toResult) : toResult(data)
  }
  try {
    return await send(transport, call, parse)
  } catch (error) {
    throw atCaller(error, sendCall)
  }
}
