import type { IncompleteReason } from './events.js'
import { captureCaller } from './internal/checked.js'
import { toLine } from './internal/describe.js'
import { property } from './internal/object.js'

/** The facts about a call that every error shows, and the number of its loop. */
export type CallInfo = Omit<ApiError, keyof Error | 'kind' | 'cursor' | 'inLoop' | 'with' | 'toJSON'> & {
  readonly loop: number | undefined
}

/** The argument of every error's constructor. */
export interface ErrorFacts {
  readonly info: CallInfo
  readonly problem: string
  readonly hint?: string | undefined
  /** Why the client does not retry. */
  readonly note?: string | undefined
  readonly cause?: unknown
  /** Whether the client retries by itself, so the message gives no advice. */
  readonly isRetried?: boolean
  /** Resumes the list. */
  readonly cursor?: string | undefined
  /** Whether resuming at the cursor would fail again, or is pointless. */
  readonly isFinal?: boolean
}

/** One validation problem in a response. */
export interface Issue {
  /** Path from the root of the response body, as keys and indexes. Empty for the body as a whole. */
  readonly path: readonly PropertyKey[]
  /** What was expected and what type was found. Messages from your own schema are passed through. */
  readonly message: string
}

// In the global registry, so that the ESM and CommonJS builds recognise each other's errors.
const brand = Symbol.for('virtual-accounts.ApiError')

/**
 * Base class of all failures of a call. Use {@link isApiError} to detect one, and `kind` to tell them apart. `kind` narrows the
 * union {@link AnyApiError}.
 *
 * Three errors are not `ApiError`s. A wrong argument throws a `TypeError`. Errors thrown by `apiKey` or `itemKey` propagate
 * unchanged. So do errors that a framework throws for control flow (those with a `digest`). If an earlier attempt of a write may
 * have been applied, you get that attempt's error instead, with the thrown one as its `cause`.
 *
 * An API key of 8 characters or more never appears in an `ApiError`, even if the service echoed it. Exception: your own errors
 * and abort reasons appear unchanged.
 */
export abstract class ApiError extends Error {
  /** Which failure it is. Narrows {@link AnyApiError}. */
  abstract readonly kind: 'http' | 'connection' | 'timeout' | 'aborted' | 'invalid-response' | 'pagination'
  /** The HTTP method of the call, in capitals. */
  declare readonly method: string
  /** The path of the call after `baseUrl`, without the query. */
  declare readonly path: string
  /** Number of attempts, including the first. 0 if nothing was sent. */
  declare readonly attempts: number
  /** The idempotency key that every attempt carried. `undefined` for GET. */
  declare readonly idempotencyKey: string | undefined
  /** Whether a failed write may have been applied. If so, retry it with the same `idempotencyKey`. */
  declare readonly outcomeUnknown: boolean
  /** For a list: the page that failed, in pages of `limit` items. `undefined` for all other calls. */
  declare readonly page: number | undefined
  /** For a list: the `limit` that the page was requested with. `undefined` if it was sent without one. */
  declare readonly limit: number | undefined
  /**
   * For a loop over a list: `list(params, { after: error.cursor })` resumes after the last item that it yielded. If it yielded
   * none, this is the given `after`, or `undefined`.
   */
  declare readonly cursor: string | undefined
  /**
   * The `x-request-id` or `request-id` header of the last complete response, if it has one. Quote it to the service's
   * support.
   */
  declare readonly requestId: string | undefined

  readonly #facts: ErrorFacts
  readonly #names: readonly string[]

  /**
   * Checks `kind`, so it also works across the ESM and CommonJS builds.
   * @internal
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: it is one of the classes below, or one of the caller's that extends one
    return isInstance(value, this)
  }

  /**
   * @param own The names of additional facts that this kind of error shows.
   * @internal
   */
  constructor(name: string, given: ErrorFacts, own: readonly string[] = []) {
    if (given?.info === undefined) {
      throw new TypeError(
        `${name}: only a client creates these errors (to test your error handling, use fail() of FakeService from virtual-accounts/testing)`,
      )
    }
    // Without a prototype, so a polluted `Object.prototype` is never read.
    const facts: ErrorFacts & Record<string, unknown> = { __proto__: null, ...given }
    const { info, cause, cursor } = facts
    super(formatMessage(facts), cause === undefined ? undefined : { cause })
    this.#facts = facts
    const { loop: _, ...shown } = info
    const entries = [
      ...Object.entries({ ...shown, cursor }),
      ...own.map(name => [name, facts[name]] as const),
    ]
    this.#names = ['kind', ...entries.map(([name]) => name)]
    // Hides `undefined` from `console.log`. Hides headers, which Node prints as `Headers {}` for an uncaught error.
    for (const [name, value] of entries) {
      const enumerable = value !== undefined && name !== 'headers'
      Object.defineProperty(this, name, { ...changeable, value, enumerable })
    }
    Object.defineProperty(this, 'name', { ...changeable, value: name })
    Object.defineProperty(this, brand, { value: true })
    unseen.add(this)
  }

  /**
   * The same error with the cursor of its loop. An error of another loop, such as the caller's abort reason, is returned unchanged.
   * @internal
   */
  inLoop(loop: number, cursor: string, isResumable: boolean): ApiError {
    if (loop !== this.#facts.info.loop) return this
    return this.with(isResumable ? { cursor } : { cursor, isFinal: true })
  }

  /**
   * A copy of the error with some facts replaced.
   * @internal
   */
  with(facts: Partial<ErrorFacts>): ApiError {
    const Class = this.constructor as new (facts: ErrorFacts) => ApiError
    return new Class({ ...this.#facts, ...facts })
  }

  /** The error as plain data for a log. It omits response headers, and the body of a 2xx response. */
  toJSON(): object {
    const plain: Record<string, unknown> = { name: this.name, message: this.message }
    // Only known names, because other code may attach secrets, or values that are not plain data.
    for (const name of this.#names) if (name !== 'headers') plain[name] = this[name as keyof this]
    const { cause } = this as { cause?: CopiedCause }
    // The reason of an abort can be any value.
    if (cause !== undefined) plain.cause = Object(cause) === cause ? toPlain(cause) : cause
    return plain
  }
}

/** A cause that the client has copied and redacted. */
type CopiedCause = Error & { code?: string; errors?: readonly CopiedCause[]; cause?: CopiedCause }

/** A cause as plain data. An `AggregateError` in its chain has one error for each address of a host. */
function toPlain({ name, message, code, errors, cause }: CopiedCause): object {
  return { name, message, code, errors: (errors ?? cause?.errors)?.map(toPlain) }
}

const changeable = { configurable: true, writable: true }

/** `GET /transactions (page 5): HTTP 503 (3 attempts). What to do.` */
function formatMessage(facts: ErrorFacts): string {
  const { info, problem, note, hint, isRetried, cursor, isFinal } = facts
  const { method, path, page, attempts, outcomeUnknown } = info
  const shownPage = page === undefined ? '' : ` (page ${page})`
  const shownAttempts = attempts < 2 ? '' : ` (${attempts} attempts)`
  const sentence = `${method} ${toLine(path, 300)}${shownPage}: ${problem}${shownAttempts}.`
  // The service's own reason may end with a full stop.
  const happened = sentence.replace(/(?<!\.)\."\.$/, '."')
  if (isRetried) return happened
  const unknown = `${attempts === 1 ? 'The request' : 'An attempt'} may have been applied: ${repeatIt}`
  const resume = cursor && !isFinal && 'To resume: list(params, { after: error.cursor }).'
  return [happened, outcomeUnknown && unknown, note, hint, resume].filter(Boolean).join(' ')
}

const repeatIt = 'retry with the same idempotencyKey (error.idempotencyKey).'

/** The service responded with a status other than 2xx. This includes redirects, which are not followed. */
export class HttpError extends ApiError {
  readonly kind = 'http'
  /** The HTTP status; 0 for a redirect in a browser, which hides the status. */
  declare readonly status: number
  /** The response headers. */
  declare readonly headers: Headers
  /**
   * The response body: a JSON value if it is JSON, else its text. `undefined` if it is empty, too large, not UTF-8, nested too
   * deeply, or did not arrive in time.
   */
  declare readonly body: unknown
  /** The delay that the service asked for in `Retry-After`, in milliseconds. `undefined` if absent or unreadable. */
  declare readonly retryAfterMs: number | undefined

  /** @internal */
  constructor(facts: ErrorFacts & Pick<HttpError, 'status' | 'headers' | 'body' | 'retryAfterMs'>) {
    super('HttpError', facts, ['status', 'headers', 'body', 'retryAfterMs'])
  }
}

/** The client could not connect, or the response was cut off. */
export class ConnectionError extends ApiError {
  readonly kind = 'connection'

  /** @internal */
  constructor(facts: ErrorFacts) {
    super('ConnectionError', facts)
  }
}

/** No complete response arrived in time. */
export class TimeoutError extends ApiError {
  readonly kind = 'timeout'
  /** The `timeout` or `totalTimeout` that was exceeded, in milliseconds. */
  declare readonly timeoutMs: number

  /** @internal */
  constructor(facts: ErrorFacts & Pick<TimeoutError, 'timeoutMs'>) {
    super('TimeoutError', facts, ['timeoutMs'])
  }
}

/**
 * Your `signal` aborted the call. `cause` is the signal's reason. `name` is `'TimeoutError'` if the reason has that name, as
 * after `AbortSignal.timeout`.
 */
export class AbortError extends ApiError {
  readonly kind = 'aborted'

  /** @internal */
  constructor(facts: ErrorFacts) {
    super(property(facts?.cause, 'name') === 'TimeoutError' ? 'TimeoutError' : 'AbortError', facts)
  }
}

/** A 2xx response does not match its documentation or your `schema`. It is not retried. */
export class InvalidResponseError extends ApiError {
  readonly kind = 'invalid-response'
  /** The HTTP status, from 200 to 299. */
  declare readonly status: number
  /** The response headers. */
  declare readonly headers: Headers
  /** The validation problems found, at most 20. */
  declare readonly issues: readonly Issue[]
  /**
   * The response body: the JSON value, else the text, else `undefined`. It is not enumerable. The message, `console.log` and
   * `toJSON` do not show it.
   */
  get body(): unknown {
    return this.#body
  }

  // Private, because console.log can show properties that are not enumerable.
  readonly #body: unknown

  /** @internal */
  constructor(facts: ErrorFacts & Pick<InvalidResponseError, 'status' | 'headers' | 'issues' | 'body'>) {
    super('InvalidResponseError', facts, ['status', 'headers', 'issues'])
    this.#body = facts.body
  }
}

/**
 * Why a list could not be read completely. Most are also reasons of the `end` event: see {@link IncompleteReason}. The others:
 *
 * - `cursor-gone`: every item that the cursor names is gone
 * - `no-progress`: the list changes faster than it can be read, or the service ignores `page`
 * - `contradiction`: a response contradicts the request or another response
 */
export type PaginationReason =
  | Exclude<IncompleteReason, 'verified-false' | 'max-items'>
  | 'cursor-gone'
  | 'no-progress'
  | 'contradiction'

/** The pages of a list are inconsistent, or the list changed and items may have been missed. `reason` says which. */
export class PaginationError extends ApiError {
  readonly kind = 'pagination'
  /** The reason of the failure. The message says what to do. */
  declare readonly reason: PaginationReason

  /** @internal */
  constructor(facts: ErrorFacts & Pick<PaginationError, 'reason'>) {
    super('PaginationError', facts, ['reason'])
  }
}

const classes = {
  http: HttpError,
  connection: ConnectionError,
  timeout: TimeoutError,
  aborted: AbortError,
  'invalid-response': InvalidResponseError,
  pagination: PaginationError,
}

function isInstance(value: unknown, Class: typeof ApiError): boolean {
  if (Class === ApiError) return isApiError(value)
  if (Object.values<unknown>(classes).includes(Class))
    return isApiError(value) && (classes[value.kind] as unknown) === Class
  return Function.prototype[Symbol.hasInstance].call(Class, value)
}

/** The union of all {@link ApiError} classes. `kind` narrows it to one. */
export type AnyApiError =
  | HttpError
  | ConnectionError
  | TimeoutError
  | AbortError
  | InvalidResponseError
  | PaginationError

/** Errors that no public method has thrown yet. The stack of an error that a caller passes on stays unchanged. */
const unseen = new WeakSet<object>()

/** Starts the stack of a new error at the code that awaits the public method, after a frame of Node's queue. */
export function atCaller(error: unknown, method: object): unknown {
  return unseen.delete(error as object)
    ? captureCaller(error as Error, method, /\n {4}at process\.processTicks.*/)
    : error
}

/**
 * Whether a caught value is a failure of a call. Works across the ESM and CommonJS builds of the package.
 *
 * @example
 * ```ts
 * if (isApiError(error) && error.kind === 'http') console.log(error.status)
 * ```
 */
export function isApiError(error: unknown): error is AnyApiError {
  return typeof error === 'object' && error !== null && brand in error
}
