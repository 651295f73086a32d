import type { ClientEvent } from './events.js'
import { normalizeHeaders } from './internal/headers.js'
import { parseBaseUrl } from './internal/url.js'
import {
  abortSignal,
  type Check,
  callback,
  checkedLater,
  duration,
  type KnownOptions,
  maxTimerMs,
  trueOrFalse,
  wholeNumber,
} from './internal/validate.js'

/**
 * A `fetch` function, such as the global one or undici's. It is called with a URL string and a plain init object, never with
 * a `Request`.
 */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

/** What {@link Fetch} is called with. Made to be assignable to the `RequestInit` of common fetch libraries. */
export interface FetchInit {
  /** The HTTP method, in capitals. */
  readonly method: string
  /** All headers, `Api-Key` included, by lower-case name. */
  readonly headers: Record<string, string>
  /** The request body as JSON text; absent if there is none. */
  readonly body?: string
  /** Aborts when the call is cancelled or the attempt times out. */
  readonly signal: AbortSignal
  /** Redirects are not followed. */
  readonly redirect: 'manual'
  /** Bypasses the HTTP cache, as a cached page may be out of date. Omitted where the runtime rejects it. */
  readonly cache?: 'no-store'
}

/** What {@link Fetch} resolves with: a `Response` of any library. */
export interface FetchResponse {
  /** The HTTP status. */
  readonly status: number
  /** The response headers. They must be iterable, as `Headers` are. */
  readonly headers: {
    /** The value of a header, or null. */
    get(name: string): string | null
  }
  /** A web stream of bytes, or null for no body. Without `getReader`, `arrayBuffer()` is called instead. */
  readonly body?: unknown
  /** The whole body. */
  arrayBuffer(): Promise<ArrayBuffer>
}

/** Options of the client that a call can override; `concurrency` only for a list. */
export interface CommonOptions {
  /**
   * Time limit for one attempt, from calling `apiKey` to the last byte of the body, in milliseconds.
   * @defaultValue 60_000
   */
  timeout?: number | undefined
  /**
   * Time limit for the whole call, in milliseconds: all attempts, the delays between them, and an asynchronous `schema`. When
   * iterating a list, it applies to each page.
   * @defaultValue 180_000, or three times `timeout` if that is longer
   */
  totalTimeout?: number | undefined
  /**
   * Number of retries after the first attempt. 0 turns retries off.
   * @defaultValue 2
   */
  maxRetries?: number | undefined
  /**
   * Additional headers. Names are case-insensitive, and a call's headers are merged over those of the client. A header whose
   * value is `undefined` is skipped. `Api-Key` (unless `apiKey` is null) and `Idempotency-Key` throw a `TypeError`: use
   * `apiKey` and `idempotencyKey`. So do `Content-Length`, which fetch sets, and a `Content-Type` other than
   * `application/json`, which all writes have.
   */
  headers?: RequestInit['headers'] | Readonly<Record<string, string | undefined>> | undefined
  /**
   * Maximum number of pages that are fetched in parallel while a list is iterated. 1 fetches one page at a time.
   * @defaultValue 4
   */
  concurrency?: number | undefined
}

/** Options of the {@link Client}. Only `baseUrl` and `apiKey` are required. */
export interface ClientOptions extends CommonOptions {
  /**
   * Root of the API. A path in it, such as `/v1`, is kept.
   *
   * An absolute https URL; http on loopback only, unless `allowInsecureHttp`. Or a path (`/api`), which is resolved against
   * the page's `location` at each call, in whatever scheme the page has.
   */
  baseUrl: string | URL
  /**
   * API key: a string, a function that returns one, or `null` to send none. The function is called before every attempt;
   * attempts that wait for it at the same time share a call.
   */
  apiKey: string | null | (() => string | Promise<string>)
  /**
   * Allows plain http beyond loopback. Anyone on the network can then read the API key.
   * @defaultValue false
   */
  allowInsecureHttp?: boolean | undefined
  /**
   * Maximum size of a response body in bytes, counted after decompression. A larger one is an `InvalidResponseError`.
   * @defaultValue 10_485_760 (10 MiB)
   */
  maxResponseBytes?: number | undefined
  /**
   * Replaces the global `fetch`. Without it the global one is looked up at each call, so that later patches take effect. It
   * must send each request once, and reject only if that fails. If it retries, as undici's `RetryAgent` does, follows redirects,
   * as axios and got do, or rejects because of other work, an error cannot tell whether a write was applied.
   */
  fetch?: Fetch | undefined
  /**
   * Listener for logs, metrics and traces. Events never contain an API key of 8 characters or more. Errors of the listener
   * are ignored.
   */
  onEvent?: ((event: ClientEvent) => void) | undefined
}

/** The common options with defaults applied. */
export interface CallSettings {
  readonly timeout: number
  /** As given: see `totalTimeoutOf`. */
  readonly totalTimeout: number | undefined
  readonly maxRetries: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly concurrency: number
  /** `apiKey` is null, so that `headers` may set Api-Key. */
  readonly sendsNoApiKey: boolean
}

export interface ClientConfig {
  readonly baseUrl: string
  readonly maxResponseBytes: number
  readonly fetch: Fetch | undefined
  readonly onEvent: ((event: ClientEvent) => void) | undefined
  /** The settings of a call without options. */
  readonly settings: CallSettings
}

const commonChecks = {
  timeout: duration,
  totalTimeout: duration,
  maxRetries: /* @__PURE__ */ wholeNumber(0),
  ...checkedLater('headers'),
}

/** The options of every call. */
export const callChecks: Readonly<Record<string, Check>> = {
  ...commonChecks,
  signal: abortSignal,
  ...checkedLater('schema'),
}

const clientOnlyChecks = {
  ...checkedLater('baseUrl', 'apiKey'),
  allowInsecureHttp: trueOrFalse,
  maxResponseBytes: /* @__PURE__ */ wholeNumber(1),
  fetch: callback,
  onEvent: callback,
}

/** The options of a client. */
export const clientOptions: KnownOptions = {
  title: 'Client options',
  checks: { ...clientOnlyChecks, ...commonChecks, concurrency: /* @__PURE__ */ wholeNumber(1) },
}

/** Where to set an option that a call does not accept. */
export function clientOptionHint(name: string): string | undefined {
  return Object.hasOwn(clientOnlyChecks, name)
    ? `set it on the client: new Client({ ${name} }) or client.withOptions({ ${name} })`
    : undefined
}

const tenMebibytes = 10 * 1024 * 1024
const minTotalTimeout = 180_000

/** The options of a client with defaults applied. `baseUrl` and `headers` are checked here. */
export function resolveClientOptions(options: ClientOptions): ClientConfig {
  const { allowInsecureHttp = false, maxResponseBytes = tenMebibytes, fetch, onEvent } = options
  const defaults: CallSettings = {
    timeout: 60_000,
    totalTimeout: undefined,
    maxRetries: 2,
    headers: { accept: 'application/json' },
    concurrency: 4,
    sendsNoApiKey: options.apiKey === null,
  }
  const settings = mergeSettings(defaults, options)
  return {
    baseUrl: parseBaseUrl(options.baseUrl, allowInsecureHttp),
    maxResponseBytes,
    fetch,
    onEvent,
    settings,
  }
}

/** The settings, overridden by the given options, with headers merged. */
export function mergeSettings(settings: CallSettings, given: CommonOptions): CallSettings {
  const {
    timeout = settings.timeout,
    totalTimeout = settings.totalTimeout,
    maxRetries = settings.maxRetries,
    concurrency = settings.concurrency,
  } = given
  const headers = given.headers === undefined ? settings.headers : mergeHeaders(settings, given.headers)
  return { ...settings, timeout, totalTimeout, maxRetries, concurrency, headers }
}

/** Unless it was given, it follows `timeout`. */
export function totalTimeoutOf({ timeout, totalTimeout }: CallSettings): number {
  return totalTimeout ?? Math.min(maxTimerMs, Math.max(minTotalTimeout, 3 * timeout))
}

function mergeHeaders(settings: CallSettings, given: unknown): CallSettings['headers'] {
  const headers = normalizeHeaders(given)
  if ('api-key' in headers && !settings.sendsNoApiKey) {
    throw new TypeError('headers: "Api-Key" is set by the client option apiKey')
  }
  if ('idempotency-key' in headers) {
    throw new TypeError('headers: "Idempotency-Key" is set by the option idempotencyKey of a call')
  }
  if ('content-length' in headers) throw new TypeError('headers: "Content-Length" is set by fetch')
  const type = headers['content-type']?.toLowerCase() ?? 'application/json'
  if (type !== 'application/json') {
    throw new TypeError(
      'headers: expected no Content-Type other than "application/json", which all writes are sent with',
    )
  }
  return { ...settings.headers, ...headers }
}
