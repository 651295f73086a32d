/** What every failure knows of its call. */
export interface CallFacts {
  readonly method: string
  readonly path: string
  readonly attempts: number
  readonly idempotencyKey: string | undefined
  readonly outcomeUnknown: boolean
  readonly page: number | undefined
}

/** What was found, what to do about it, and what lay beneath: the parts of a message. */
interface Finding {
  found: string
  advice?: string | undefined
  cause?: unknown
}

/** One thing about an answer that does not fit: where, and what was expected there. */
export interface Issue {
  /** Keys and indexes from the top of the answer; empty: the answer as a whole. */
  readonly path: readonly PropertyKey[]
  /** What was expected. A schema of the caller's words its own. */
  readonly message: string
}

// A symbol of the global registry, so that the ESM and the CJS copy of this package know each other's errors.
const brand = Symbol.for('virtual-accounts.ApiError')

const longestPath = 300

/**
 * The base of the five ways a call can fail. Which one it is stands in `kind`.
 *
 * Misuse is a `TypeError` before anything is sent, an abort rejects with the signal's reason, and what a function of the
 * caller's throws (`apiKey`, `dedupeBy`) comes out as it is: none of these is an `ApiError`. No API key is in any part of one, not even where the service echoed it.
 */
export abstract class ApiError extends Error {
  /** Which of the five it is: narrows {@link AnyApiError}. */
  abstract readonly kind: 'http' | 'connection' | 'timeout' | 'response' | 'pagination'
  /** The method of the call, in capitals. */
  readonly method: string
  /** What follows `baseUrl`, without the query. */
  readonly path: string
  /** How many requests the call began, the first one included. */
  readonly attempts: number
  /** The key that every attempt of the call carried; `undefined` where none is sent (GET). */
  readonly idempotencyKey: string | undefined
  /** A write may have been applied although it failed: repeat it with the same `idempotencyKey`. */
  readonly outcomeUnknown: boolean
  /**
   * Of a list: the page that failed, or from which items may have been missed. `list({ page: error.page, limit })`
   * resumes there, unless the service contradicts itself: the message says so.
   */
  readonly page: number | undefined

  /** @internal */
  constructor(facts: CallFacts, { found, advice, cause }: Finding) {
    const { method, path, attempts, outcomeUnknown } = facts
    const shownPath = printable(path.length > longestPath ? `${path.slice(0, longestPath)}...` : path)
    const todo = [outcomeUnknown ? applied : undefined, advice].filter(Boolean).join(' ')
    super(
      `${method} ${shownPath}: ${found} (${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}).${todo && ` ${todo}`}`,
      cause === undefined ? undefined : { cause },
    )
    this.method = method
    this.path = path
    this.attempts = attempts
    this.idempotencyKey = facts.idempotencyKey
    this.outcomeUnknown = outcomeUnknown
    this.page = facts.page
  }

  /** What a log needs: everything but the answer's headers, and no body of a 2xx answer. */
  toJSON(): object {
    const { name, message, kind, method, path, attempts, idempotencyKey, outcomeUnknown, page } = this
    return { name, kind, message, method, path, attempts, idempotencyKey, outcomeUnknown, page }
  }
}

const applied = 'It may have been applied: repeat it with the same idempotencyKey.'

/** The answer was not 2xx. A redirect is one, too: none is followed. */
export class HttpError extends ApiError {
  readonly kind = 'http'
  /** The status; 0 for a redirect in a browser, which shows no more of it. */
  readonly status: number
  /** The answer's headers. */
  readonly headers: Headers
  /** The answer's body: a JSON value if it is JSON, else its text; `undefined` when empty, cut off or over 1 MiB. */
  readonly body: unknown
  /** How long the service asked to wait, in milliseconds; `undefined` when it did not say so readably. */
  readonly retryAfterMs: number | undefined

  /** @internal */
  constructor(
    facts: CallFacts,
    answer: { status: number; headers: Headers; body: unknown; retryAfterMs: number | undefined },
    note?: string,
  ) {
    const advice = [note, httpAdvice(answer.status, answer.retryAfterMs)].filter(Boolean).join(' ')
    super(facts, { found: `the service answered ${answer.status || 'with a redirect'}`, advice })
    this.status = answer.status
    this.headers = answer.headers
    this.body = answer.body
    this.retryAfterMs = answer.retryAfterMs
  }

  override toJSON(): object {
    return { ...super.toJSON(), status: this.status, retryAfterMs: this.retryAfterMs, body: this.body }
  }
}

function httpAdvice(status: number, retryAfterMs: number | undefined): string | undefined {
  if (isRedirect(status))
    return 'Redirects are not followed: set baseUrl to where the service answers itself.'
  if (status === 401 || status === 403) return 'Check apiKey, and that it belongs to this baseUrl.'
  if (retryAfterMs) return `The service asks to wait ${retryAfterMs} ms.`
  if (status === 404) return 'Check the ids and the path of baseUrl.'
  if (status < 500) return "The service's reason, if it gave one, is in error.body."
  return 'The service is in trouble: try again later.'
}

/** Without 300 and 304, which lead nowhere; 0 is how a browser shows one. */
function isRedirect(status: number): boolean {
  return [0, 301, 302, 303, 307, 308].includes(status)
}

/** There was no complete answer: no connection, or one that broke. */
export class ConnectionError extends ApiError {
  readonly kind = 'connection'

  /** @internal */
  constructor(facts: CallFacts, finding: Finding) {
    super(facts, finding)
  }
}

/** There was no complete answer in time. */
export class TimeoutError extends ApiError {
  readonly kind = 'timeout'
  /** The limit that was crossed, in milliseconds: `timeout`, or what `totalTimeout` was. */
  readonly timeoutMs: number

  /** @internal */
  constructor(
    facts: CallFacts,
    option: 'timeout' | 'totalTimeout',
    timeoutMs: number,
    what: string,
    note?: string,
  ) {
    const advice = [note, `Raise ${option} if it needs longer.`].filter(Boolean).join(' ')
    super(facts, { found: `${what} within the ${option} of ${timeoutMs} ms`, advice })
    this.timeoutMs = timeoutMs
  }

  override toJSON(): object {
    return { ...super.toJSON(), timeoutMs: this.timeoutMs }
  }
}

export const shownIssues = 20
const longestMessage = 2_000

/** The answer was 2xx, but breaks the interface, or does not fit the caller's `schema`. Not tried again. */
export class ResponseError extends ApiError {
  readonly kind = 'response'
  /** The status, from 200 to 299. */
  readonly status: number
  /** The answer's headers. */
  readonly headers: Headers
  /** What does not fit, at most 20 of them. */
  readonly issues: readonly Issue[]
  readonly #body: unknown

  /** @internal */
  constructor(facts: CallFacts, answer: { status: number; headers: Headers }, misfit: Misfit) {
    const { givenSchema, body } = misfit
    const issues = misfit.issues.slice(0, shownIssues)
    // What a schema of the caller's says may quote values: its words stay in `issues`, and only paths are named.
    const named = issues.map(({ path, message }) =>
      givenSchema ? `${place(path)} does not fit the given schema` : `${place(path)}: ${message}`,
    )
    let list = named.join('; ')
    if (list.length > longestMessage) list = `${list.slice(0, longestMessage)}...`
    const way = givenSchema
      ? 'What it said is in error.issues: mend it, or pass another `schema` to accept it.'
      : 'What came is in error.body: if that is right, pass `schema` to accept it.'
    super(facts, { found: `the answer does not fit: ${list}`, advice: misfit.way ?? way })
    this.status = answer.status
    this.headers = answer.headers
    this.issues = issues
    this.#body = body
  }

  /** What came: the JSON value, else the text, else `undefined`. In no message, inspection or JSON of the error. */
  get body(): unknown {
    return this.#body
  }

  override toJSON(): object {
    return { ...super.toJSON(), status: this.status, issues: this.issues }
  }
}

const longestKey = 60

/** `['data', 0, 'amount']` as `data[0].amount`. */
function place(path: readonly PropertyKey[]): string {
  let text = ''
  for (const key of path) {
    const name = String(key).slice(0, longestKey)
    if (typeof key === 'number') text += `[${key}]`
    else if (/^[\w$-]+$/.test(name)) text += text === '' ? name : `.${name}`
    else text += `[${printable(JSON.stringify(name))}]`
  }
  return text || 'the body'
}

/** On one line, in ASCII: a message is no place for what a service or a caller may write. */
function printable(text: string): string {
  return text.replace(/[^ -~]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The pages of a list contradict themselves or each other, or items may have been missed. */
export class PaginationError extends ApiError {
  readonly kind = 'pagination'

  /** @internal */
  constructor(facts: CallFacts, finding: Finding) {
    super(facts, finding)
  }
}

for (const [name, type] of Object.entries({
  HttpError,
  ConnectionError,
  TimeoutError,
  ResponseError,
  PaginationError,
})) {
  Object.defineProperty(type.prototype, 'name', { value: name, configurable: true, writable: true })
}
Object.defineProperty(ApiError.prototype, brand, { value: true })

/** Any of the five: `kind` narrows it. */
export type AnyApiError = HttpError | ConnectionError | TimeoutError | ResponseError | PaginationError

/**
 * Whether something caught is one of the five failures of a call.
 *
 * By a brand rather than `instanceof`, so that it also holds between the ESM and the CJS copy of the package.
 *
 * @example
 * ```ts
 * if (isApiError(error) && error.kind === 'http') console.log(error.status)
 * ```
 */
export function isApiError(error: unknown): error is AnyApiError {
  return typeof error === 'object' && error !== null && brand in error
}

/** An answer that does not fit, before it is known which call it belongs to. Never leaves the package. */
export class Misfit {
  readonly issues: readonly Issue[]
  /** What came, as far as it could be read. */
  readonly body: unknown
  /** The caller's schema said so, not ours. */
  readonly givenSchema: boolean
  /** The way out, where it is another than a schema. */
  readonly way: string | undefined

  constructor(
    issues: readonly Issue[],
    rest: { body?: unknown; givenSchema?: boolean; way?: string | undefined } = {},
  ) {
    this.issues = issues
    this.body = rest.body
    this.givenSchema = rest.givenSchema ?? false
    this.way = rest.way
  }
}
