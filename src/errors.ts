import { toLine } from './internal/describe.js'
import { captureCaller } from './internal/error-stack.js'
import { defineHidden, property } from './internal/object.js'

/** The facts about a call that every error shows, and the number of its loop. */
export type CallInfo = Omit<ApiError, keyof Error | 'kind' | 'cursor' | 'withCursor' | 'with' | 'toJSON'> & {
  readonly loop: number | undefined
}

/** The argument of every error's constructor. */
export interface ErrorFacts {
  readonly info: CallInfo
  /** The facts that only this kind of error shows. */
  readonly own?: object
  readonly problem: string
  readonly hint?: string | undefined
  /** Why the client does not retry. */
  readonly note?: string | undefined
  readonly cause?: unknown
  /** Whether the client retries by itself, so the message gives no advice. */
  readonly isRetried?: boolean
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
 * Three kinds of error are not `ApiError`s. A wrong argument throws a `TypeError`. Errors thrown by `apiKey` or `itemKey`
 * propagate unchanged. So do errors that a framework throws for control flow (those with a `digest`). If an earlier attempt of a write may
 * have been applied, you get that attempt's error instead, with the thrown one as its `cause`.
 *
 * An API key of 8 characters or more never appears in an `ApiError`, even if the service echoed it. Exception: your own errors
 * and abort reasons appear unchanged.
 *
 * @example
 * ```ts
 * if (!isApiError(error) || !error.outcomeUnknown) throw error
 * const { idempotencyKey } = error
 * await client.virtualAccounts.deactivate(account, { idempotencyKey })
 * ```
 */
export abstract class ApiError extends Error {
  /** The kind of failure. Narrows {@link AnyApiError}. */
  abstract readonly kind: 'http' | 'connection' | 'timeout' | 'aborted' | 'invalid-response' | 'pagination'
  /** The HTTP method of the call, in capitals. */
  declare readonly method: string
  /** The path of the call after `baseUrl`, without the query. */
  declare readonly path: string
  /** Number of attempts, including the first. 0 if none began. */
  declare readonly attempts: number
  /** The idempotency key that every attempt carried. `undefined` for GET. */
  declare readonly idempotencyKey: string | undefined
  /** Whether a failed write may have been applied. If so, retry it with the same `idempotencyKey`. */
  declare readonly outcomeUnknown: boolean
  /** For a list: the page that failed, counted in pages of `limit` items. `undefined` for all other calls. */
  declare readonly page: number | undefined
  /** For a list: the `limit` that the page was requested with. `undefined` if the request had none. */
  declare readonly limit: number | undefined
  /**
   * For a loop over a list: `list(params, { after: error.cursor })` resumes after the last item that the loop yielded. If it
   * yielded none, this is the given `after`, or `undefined`. If the loop had `until`, run it again instead.
   */
  declare readonly cursor: string | undefined
  /**
   * The `x-request-id` or `request-id` header of the last complete response, if it has one. Quote it to the service's
   * support.
   */
  declare readonly requestId: string | undefined

  readonly #facts: ErrorFacts
  readonly #shown: Readonly<Record<string, unknown>>

  /**
   * Checks the class by its name, so it also works across the ESM and CommonJS builds.
   * @internal
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (!isApiError(value)) return false
    // biome-ignore lint/complexity/noThisInStatic: it is ApiError or one of the classes below
    return this === ApiError || this === classes[String(Reflect.get(value, brand))]
  }

  /** @internal */
  constructor(given: ErrorFacts) {
    const className = Object.keys(classes).find(name => classes[name] === new.target)
    if (given?.info === undefined || className === undefined) {
      throw new TypeError(
        `${new.target.name}: only a client creates these errors (in tests, use fail() of FakeService)`,
      )
    }
    // Without a prototype, so a polluted `Object.prototype` is never read.
    const facts: ErrorFacts = Object.assign(Object.create(null), given)
    const { info, own, cause } = facts
    super(formatMessage(facts), cause === undefined ? undefined : { cause })
    const { loop: _, ...shown } = info
    this.#facts = facts
    this.#shown = { ...shown, cursor: undefined, ...own }
    for (const [name, value] of Object.entries(this.#shown)) show(this, name, value)
    const isTimeout = className === 'AbortError' && property(cause, 'name') === 'TimeoutError'
    defineHidden(this, 'name', isTimeout ? 'TimeoutError' : className)
    defineHidden(this, brand, className)
    unseen.add(this)
  }

  /**
   * Adds the cursor of a loop. `itemKey` may throw the error of another loop, which stays unchanged.
   * @internal
   */
  withCursor(loop: number, cursor: string, isResumable: boolean): ApiError {
    const { info, isFinal } = this.#facts
    if (loop !== info.loop) return this
    show(this, 'cursor', cursor)
    this.message = formatMessage(this.#facts, isResumable && !isFinal)
    return this
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
    const { name, message, kind, cursor } = this
    // Only known names, because other code may attach secrets, or values that are not plain data.
    const { headers: _, ...shown } = this.#shown
    const { cause } = this
    return { name, message, kind, ...shown, cursor, ...(cause !== undefined && { cause: toPlain(cause) }) }
  }
}

/** Hides `undefined` from `console.log`. Hides headers, which Node prints as `Headers {}` for an uncaught error. */
function show(error: ApiError, name: string, value: unknown): void {
  const enumerable = value !== undefined && name !== 'headers'
  Object.defineProperty(error, name, { value, enumerable, configurable: true, writable: true })
}

/**
 * A cause as plain data. It can be any value, such as the reason of an abort. An `AggregateError` in its chain has one error
 * for each address of a host.
 */
function toPlain(cause: unknown, isNested = false): unknown {
  if (Object(cause) !== cause) return typeof cause === 'bigint' ? String(cause) : cause
  const text = (name: string) => {
    const value = property(cause, name)
    return typeof value === 'string' || typeof value === 'number' ? value : undefined
  }
  const errors = property(cause, 'errors') ?? property(property(cause, 'cause'), 'errors')
  const plain = !isNested && Array.isArray(errors) ? errors.map(each => toPlain(each, true)) : undefined
  return { name: text('name'), message: text('message'), code: text('code'), errors: plain }
}

/** `GET /transactions (page 5): HTTP 503 (3 attempts). What to do.` */
function formatMessage(facts: ErrorFacts, isResumable = false): string {
  const { info, problem, note, hint, isRetried } = facts
  const { method, path, page, attempts, outcomeUnknown } = info
  const shownPage = page === undefined ? '' : ` (page ${page})`
  const shownAttempts = attempts < 2 ? '' : ` (${attempts} attempts)`
  const sentence = `${method} ${toLine(path, 300)}${shownPage}: ${problem}${shownAttempts}.`
  // The service's own reason may end with a full stop.
  const happened = sentence.replace(/(?<!\.)\."\.$/, '."')
  if (isRetried) return happened
  const unknown =
    'The write may have been applied: retry with the same idempotencyKey (error.idempotencyKey).'
  const resume = isResumable && 'To resume: list(params, { after: error.cursor }).'
  return [happened, outcomeUnknown && unknown, note, hint, resume].filter(Boolean).join(' ')
}

/** The service responded with a status other than 2xx. This includes redirects, which are not followed. */
export class HttpError extends ApiError {
  readonly kind = 'http'
  /** The HTTP status. 0 for a redirect in a browser, which hides the status. */
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
}

/** The client could not connect, or the response was cut off. */
export class ConnectionError extends ApiError {
  readonly kind = 'connection'
}

/** No complete response arrived in time. */
export class TimeoutError extends ApiError {
  readonly kind = 'timeout'
  /** The `timeout` or `totalTimeout` that was exceeded, in milliseconds. */
  declare readonly timeoutMs: number
}

/**
 * Your `signal` aborted the call. `cause` is the signal's reason. `name` is `'TimeoutError'` if the reason has that name, as
 * after `AbortSignal.timeout`.
 */
export class AbortError extends ApiError {
  readonly kind = 'aborted'
}

/** A 2xx response is not valid. For example, it is not JSON, or does not match your `schema`. It is not retried. */
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
  constructor(facts: ErrorFacts, body: unknown) {
    super(facts)
    this.#body = body
  }
}

/**
 * Why a list could not be read completely. Most are also reasons of the `end` event: see {@link IncompleteReason}. The others:
 *
 * - `cursor-gone`: all recently read items are gone
 * - `no-progress`: the list changes faster than it can be read, or the service ignores `page`
 * - `contradiction`: a response contradicts the request or another response
 */
export type PaginationReason =
  | 'no-item-key'
  | 'item-key-not-unique'
  | 'limit-not-honoured'
  | 'short-page'
  | 'order-not-stable'
  | 'missed-items'
  | 'added-elsewhere'
  | 'cursor-gone'
  | 'no-progress'
  | 'contradiction'

/** The pages of a list contradict each other, or items may have been missed. `reason` says why. */
export class PaginationError extends ApiError {
  readonly kind = 'pagination'
  /** Why the list failed. The message says what to do. */
  declare readonly reason: PaginationReason
}

const classes: Readonly<Record<string, unknown>> = {
  HttpError,
  ConnectionError,
  TimeoutError,
  AbortError,
  InvalidResponseError,
  PaginationError,
}

/** The union of all {@link ApiError} classes. `kind` narrows it to one. */
export type AnyApiError =
  | HttpError
  | ConnectionError
  | TimeoutError
  | AbortError
  | InvalidResponseError
  | PaginationError

/** Errors that no public method has thrown yet. An error thrown again, such as by `apiKey`, keeps its stack. */
const unseen = new WeakSet<object>()

/** Starts the stack of a new error at the code that awaits the public method. Removes a frame of Node's queue. */
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
 * if (isApiError(error) && error.kind === 'http') {
 *   console.log(error.status)
 * }
 * ```
 */
export function isApiError(error: unknown): error is AnyApiError {
  return typeof error === 'object' && error !== null && brand in error
}
