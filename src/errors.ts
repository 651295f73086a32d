import { escapeNonAscii, formatPath } from './internal/describe.js'

/** What every failure says about its call. */
export interface CallInfo
  extends Pick<
    ApiError,
    'method' | 'path' | 'attempts' | 'idempotencyKey' | 'outcomeUnknown' | 'page' | 'requestId'
  > {
  /** There is no other attempt, because the retry budget of the client is empty. */
  readonly isBudgetExhausted?: boolean
}

/** What an error is created from. */
interface ErrorParts {
  readonly info: CallInfo
  /** What happened. */
  readonly problem: string
  /** What to do. */
  readonly hint: string | undefined
  readonly cause?: unknown
  /** This failure is not retried, so "1 attempt" would tell nothing. */
  readonly isNeverRetried?: boolean
}

/** One validation problem in a response. */
export interface Issue {
  /** Path from the root of the response body, as keys and indexes; empty for the body as a whole. */
  readonly path: readonly PropertyKey[]
  /** What was expected and what type was found. Messages from your own schema are passed through. */
  readonly message: string
}

// In the global registry, so that the ESM and the CJS copy of this package recognise each other's errors.
const brand = Symbol.for('virtual-accounts.ApiError')

const maxPathLength = 300

/**
 * Base class of the five failures of a call. `kind` says which one it is.
 *
 * Three failures are not `ApiError`s: a wrong argument throws a `TypeError`, an aborted call rejects with the signal's
 * reason, and errors thrown by `apiKey` or `dedupeBy` propagate unchanged (those of `apiKey` become the `cause` if an earlier
 * attempt of a write may have been applied). An API key of 8 characters or more appears nowhere in an `ApiError`, even if
 * the service echoed it.
 */
export abstract class ApiError extends Error {
  /** Which of the five failures it is. Narrows {@link AnyApiError}. */
  abstract readonly kind: 'http' | 'connection' | 'timeout' | 'invalid-response' | 'pagination'
  /** The HTTP method of the call, in capitals. */
  readonly method: string
  /** The path of the call after `baseUrl`, without the query. */
  readonly path: string
  /** Number of attempts, including the first. */
  readonly attempts: number
  /** The idempotency key that every attempt carried; `undefined` for GET. */
  readonly idempotencyKey: string | undefined
  /** `true` for a write that may have been applied although it failed: retry it with the same `idempotencyKey`. */
  readonly outcomeUnknown: boolean
  /**
   * For a list: the page from which `list({ page: error.page, limit })` resumes without missing an item, as far as the
   * responses can tell. It is the page that failed, or an earlier one if the list shrank. `undefined` for calls that are
   * not lists.
   */
  readonly page: number | undefined
  /** The `x-request-id` or `request-id` header of the last response, if it has one. Quote it to the service's support. */
  readonly requestId: string | undefined

  /** @internal */
  protected constructor(parts: ErrorParts) {
    if (parts?.info === undefined) {
      throw new TypeError(
        `${new.target.prototype.name}: only a client creates these errors (to test your error handling, use fail() of FakeService from virtual-accounts/testing)`,
      )
    }
    const { info, cause } = parts
    super(formatMessage(parts), cause === undefined ? undefined : { cause })
    this.method = info.method
    this.path = info.path
    this.attempts = info.attempts
    this.idempotencyKey = info.idempotencyKey
    this.outcomeUnknown = info.outcomeUnknown
    this.page = info.page
    this.requestId = info.requestId
    // Own, as Bun does not print a name that a prototype computes.
    Object.defineProperty(this, 'name', { value: this.name, configurable: true, writable: true })
    Object.defineProperty(this, brand, { value: true })
  }

  /** The error as plain data for a log: without response headers, and without the body of a 2xx response. */
  toJSON(): object {
    const { cause } = this
    return {
      name: this.name,
      kind: this.kind,
      message: this.message,
      method: this.method,
      path: this.path,
      attempts: this.attempts,
      idempotencyKey: this.idempotencyKey,
      outcomeUnknown: this.outcomeUnknown,
      page: this.page,
      requestId: this.requestId,
      cause: cause instanceof Error ? causeToJson(cause) : undefined,
    }
  }
}

function causeToJson({ name, message, code }: Error & { code?: unknown }): object {
  return { name, message, code }
}

/** `GET /transactions (page 5): HTTP 503 (3 attempts). What to do.` */
function formatMessage({ info, problem, hint, isNeverRetried = false }: ErrorParts): string {
  const { method, path, page, attempts, outcomeUnknown, isBudgetExhausted } = info
  const shownPath = escapeNonAscii(path.length > maxPathLength ? `${path.slice(0, maxPathLength)}...` : path)
  const shownPage = page === undefined ? '' : ` (page ${page})`
  const shownAttempts =
    isNeverRetried && attempts === 1 ? '' : ` (${attempts} ${attempts === 1 ? 'attempt' : 'attempts'})`
  const advice = [outcomeUnknown && mayHaveBeenApplied, isBudgetExhausted && budgetExhausted, hint]
    .filter(Boolean)
    .join(' ')
  return `${method} ${shownPath}${shownPage}: ${problem}${shownAttempts}.${advice && ` ${advice}`}`
}

const mayHaveBeenApplied = 'The request may have been applied: retry with the same idempotencyKey.'
const budgetExhausted = 'Not retried: too many calls failed recently (retry budget).'

/** The service responded with a status other than 2xx. This includes redirects, which are not followed. */
export class HttpError extends ApiError {
  readonly kind = 'http'
  /** The HTTP status; 0 for a redirect in a browser, which hides the status. */
  readonly status: number
  /** The response headers. */
  readonly headers: Headers
  /**
   * The response body: a JSON value if it is JSON, else its text. `undefined` if it is empty, over 1 MiB, cut off, not complete
   * in half of the time that the attempt had left, or nested too deeply.
   */
  readonly body: unknown
  /** The delay that the service asked for in `Retry-After`, in milliseconds; `undefined` if absent or unreadable. */
  readonly retryAfterMs: number | undefined

  /** The name of the class. */
  override get name(): string {
    return 'HttpError'
  }

  private constructor(parts: ErrorParts, response: HttpErrorResponse) {
    super(parts)
    this.status = response.status
    this.headers = response.headers
    this.body = response.body
    this.retryAfterMs = response.retryAfterMs
  }

  /** @internal */
  static create(info: CallInfo, response: HttpErrorResponse, hint: string | undefined): HttpError {
    return new this({ info, problem: describeStatus(response.status), hint }, response)
  }

  override toJSON(): object {
    const { status, retryAfterMs, body } = this
    return { ...super.toJSON(), status, retryAfterMs, body }
  }
}

type HttpErrorResponse = Pick<HttpError, 'status' | 'headers' | 'body' | 'retryAfterMs'>

function describeStatus(status: number): string {
  if (status === 0) return 'a redirect, which is not followed'
  if (status === 429) return 'HTTP 429, rate limited'
  return `HTTP ${status}${isRedirect(status) ? ', a redirect, which is not followed' : ''}`
}

/** Whether a response says where to go; 0 is how a browser shows that. 300, 304 and 305 lead nowhere. */
export function isRedirect(status: number): boolean {
  return [0, 301, 302, 303, 307, 308].includes(status)
}

/** No connection could be made, or it was lost before the response was complete. */
export class ConnectionError extends ApiError {
  readonly kind = 'connection'

  /** The name of the class. */
  override get name(): string {
    return 'ConnectionError'
  }

  private constructor(parts: ErrorParts) {
    super(parts)
  }

  /** @internal */
  static create(parts: ErrorParts): ConnectionError {
    return new this(parts)
  }
}

/** There was no complete response in time, or an asynchronous `schema` did not finish. */
export class TimeoutError extends ApiError {
  readonly kind = 'timeout'
  /** The limit that was exceeded, in milliseconds: that of `timeout` or `totalTimeout`. */
  readonly timeoutMs: number

  /** The name of the class. */
  override get name(): string {
    return 'TimeoutError'
  }

  private constructor(parts: ErrorParts, timeoutMs: number) {
    super(parts)
    this.timeoutMs = timeoutMs
  }

  /** @internal */
  static create(parts: ErrorParts, timeoutMs: number): TimeoutError {
    return new this(parts, timeoutMs)
  }

  override toJSON(): object {
    return { ...super.toJSON(), timeoutMs: this.timeoutMs }
  }
}

/** Maximum number of issues that an error lists. */
export const maxIssues = 20
const maxIssuesLength = 2_000

/** A 2xx response that does not have the documented shape, or does not match your `schema`. It is not retried. */
export class InvalidResponseError extends ApiError {
  readonly kind = 'invalid-response'
  /** The HTTP status, from 200 to 299. */
  readonly status: number
  /** The response headers. */
  readonly headers: Headers
  /** The validation problems found, at most 20. */
  readonly issues: readonly Issue[]
  /**
   * The response body: the JSON value, else the text, else `undefined`. Not enumerable, and not part of the message,
   * of what `console.log` prints or of `toJSON`.
   */
  get body(): unknown {
    return this.#body
  }

  // Private, as console.log can show properties that are not enumerable.
  readonly #body: unknown

  /** The name of the class. */
  override get name(): string {
    return 'InvalidResponseError'
  }

  private constructor(parts: ErrorParts, response: InvalidResponse) {
    super(parts)
    this.status = response.status
    this.headers = response.headers
    this.issues = response.issues
    this.#body = response.body
  }

  /** @internal */
  static create(info: CallInfo, response: InvalidResponse): InvalidResponseError {
    const { hint, isCustomSchema } = response
    const issues = response.issues.slice(0, maxIssues)
    const text = isCustomSchema ? formatCustomIssues(issues) : formatIssues(issues)
    const shown = text.length > maxIssuesLength ? `${text.slice(0, maxIssuesLength)}...` : text
    const problem = `the response is not valid: ${shown}`
    const { cause } = response
    return new this({ info, problem, hint, cause, isNeverRetried: true }, { ...response, issues })
  }

  override toJSON(): object {
    return { ...super.toJSON(), status: this.status, issues: this.issues }
  }
}

interface InvalidResponse
  extends Pick<InvalidResponseError, 'status' | 'headers' | 'issues' | 'body' | 'cause'> {
  readonly hint: string
  readonly isCustomSchema: boolean
}

function formatIssues(issues: readonly Issue[]): string {
  return issues
    .map(({ path, message }) => (path.length === 0 ? message : `${formatPath(path)}: ${message}`))
    .join('; ')
}

const maxShownPaths = 3

/** Messages of the caller's schema may quote values: they are only in `issues`, and just the first paths are named. */
function formatCustomIssues(issues: readonly Issue[]): string {
  const paths = [...new Set(issues.map(({ path }) => formatPath(path)))]
  const shown = paths.slice(0, maxShownPaths).join(', ')
  const more = paths.length > maxShownPaths ? ` and ${paths.length - maxShownPaths} more` : ''
  return `${shown}${more} ${paths.length === 1 ? 'does' : 'do'} not match the schema`
}

/** The pages of a list are inconsistent, or the list changed and items may have been missed. */
export class PaginationError extends ApiError {
  readonly kind = 'pagination'

  /** The name of the class. */
  override get name(): string {
    return 'PaginationError'
  }

  private constructor(parts: ErrorParts) {
    super(parts)
  }

  /** @internal */
  static create(info: CallInfo, problem: string, hint: string, resumePage = info.page): PaginationError {
    const error = new this({ info, problem, hint, isNeverRetried: true })
    return Object.assign(error, { page: resumePage })
  }
}

/** Sets the page of a list's error from which the list can be resumed, counted in pages of `limit`. */
export function setResumePage(error: ApiError, page: number, limit: number): void {
  Object.assign(error, {
    page,
    message: `${error.message} Resume with list({ page: ${page}, limit: ${limit} }), and all else unchanged.`,
  })
}

const thrown: WeakSet<ApiError> = /* @__PURE__ */ new WeakSet()

/** Notes that a caller has the error: nothing may change it from now on. */
export function markAsThrown(error: ApiError): void {
  thrown.add(error)
}

/**
 * Whether an error was created for the call that failed with it. Any other is the caller's own: it may abort a call with the
 * error of another one, and its `apiKey` function may throw one.
 */
export function isNew(error: unknown): error is ApiError {
  return error instanceof ApiError && !thrown.has(error)
}

/** Any of the five failures of a call; `kind` narrows it. */
export type AnyApiError = HttpError | ConnectionError | TimeoutError | InvalidResponseError | PaginationError

/**
 * Whether a caught value is one of the five failures of a call.
 *
 * By a brand rather than `instanceof`, so that it also recognises errors that the other copy of the package, ESM or CommonJS,
 * created.
 *
 * @example
 * ```ts
 * if (isApiError(error) && error.kind === 'http') console.log(error.status)
 * ```
 */
export function isApiError(error: unknown): error is AnyApiError {
  return typeof error === 'object' && error !== null && brand in error
}
