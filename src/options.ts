import type { ClientEvent } from './events.js'
import {
  abortSignal,
  type Checks,
  callback,
  checkedLater,
  duration,
  type Given,
  readOptions,
  trueOrFalse,
  wholeNumber,
} from './internal/arguments.js'
import { readHeaders } from './internal/headers.js'
import { assertApiKey } from './internal/keys.js'
import { parseBaseUrl } from './internal/url.js'
import type { Schema } from './schema.js'

/**
 * A `fetch` function, such as the global one or undici's. It is called with a URL string and a plain init object, never with
 * a `Request`.
 */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

/** The second argument of {@link Fetch}. It is assignable to the `RequestInit` of common fetch libraries. */
export interface FetchInit {
  /** The HTTP method, in capitals. */
  readonly method: string
  /** All headers, `Api-Key` included, by lower-case name. */
  readonly headers: Record<string, string>
  /** The request body as JSON text. Absent if there is none. */
  readonly body?: string
  /** Aborts when the call is cancelled or the attempt times out. Omitted where a `Request` rejects it, as in jsdom. */
  readonly signal?: AbortSignal
  /** Redirects are not followed. */
  readonly redirect: 'manual'
  /** Bypasses the HTTP cache, because a cached page may be out of date. Omitted where the runtime rejects it. */
  readonly cache?: 'no-store'
}

/** The result of {@link Fetch}, a `Response` of any library. */
export interface FetchResponse {
  /** The HTTP status. */
  readonly status: number
  /** The response headers. They must be iterable, as `Headers` are. */
  readonly headers: {
    /** The value of a header, or null. */
    get(name: string): string | null
  }
  /** A stream of bytes, or null for no body. For anything else, `text()` is called. */
  readonly body?: unknown
  /** The whole body as text. */
  text(): Promise<string>
}

/** Options of the client that a call can override. */
export interface CommonOptions {
  /**
   * Time limit for one attempt, from calling `apiKey` to the last byte of the body, in milliseconds. A call can take several
   * attempts, with delays between them. For a deadline, pass `totalTimeout`.
   * @defaultValue 60_000
   */
  timeout?: number | undefined
  /**
   * Time limit for the whole call, in milliseconds. It includes all attempts, the delays between them, and waiting for the
   * service's rate limit. In a loop, it applies to each page. If it runs out, the call rejects with a `TimeoutError`. Its
   * `outcomeUnknown` says whether a write may have been applied.
   * @defaultValue none
   */
  totalTimeout?: number | undefined
  /**
   * Maximum number of retries after the first attempt. Retries after a 429, or a 403 with `Retry-After`, do not count. They go
   * on until the delays of the call exceed 80 s. With 0, a call fails at its first refusal or failure.
   * @defaultValue 2
   */
  maxRetries?: number | undefined
  /**
   * Additional headers. Names are case-insensitive, and a call's headers are merged over those of the client. A header whose
   * value is `undefined` is skipped. `Api-Key`, `Idempotency-Key` and `Content-Type` throw, because the client sets them.
   */
  headers?: RequestInit['headers'] | Readonly<Record<string, string | undefined>> | undefined
}

/** Options of every call, such as timeouts, retries, headers and a schema. */
export interface RequestOptions<T = unknown> extends CommonOptions {
  /**
   * Cancels the call when the signal aborts. The call rejects immediately with an `AbortError`, whose `cause` is the signal's
   * reason. Its `outcomeUnknown` says whether a write may have been applied. A response that has already arrived is still
   * returned. For a deadline, pass `totalTimeout`.
   */
  signal?: AbortSignal | undefined
  /**
   * A schema of any library that implements Standard Schema. It validates and types the response body (in a list, each
   * item), and replaces the built-in schema.
   */
  schema?: Schema<T> | undefined
}

/**
 * Options of the {@link Client}. Only `baseUrl` and `apiKey` are required.
 *
 * @example
 * ```ts
 * const client = new Client({
 *   baseUrl: 'https://api.example.com',
 *   apiKey: process.env.API_KEY,
 *   timeout: 10_000,
 * })
 * ```
 */
export interface ClientOptions extends CommonOptions {
  /**
   * Maximum number of pages that are fetched in parallel while a list is iterated. 1 fetches one page at a time.
   * @defaultValue 4
   */
  concurrency?: number | undefined
  /**
   * Root of the API. A path in it, such as `/v1`, is kept.
   *
   * Pass an absolute https URL. In a web page, you can also pass a path such as `/api`. Each call resolves it against the page's
   * `location`, which may be http. Other http URLs must be local (loopback), unless you set `allowInsecureHttp`. The type
   * allows `undefined`, so you can pass an environment variable. If it is unset, the constructor throws a `TypeError`.
   */
  baseUrl: string | URL | undefined
  /**
   * API key: a string, a function that returns one, or `null` to send none. The function is called before every attempt, within
   * its `timeout`. The type allows `undefined`, so you can pass an environment variable. If it is unset, the constructor throws a
   * `TypeError`.
   */
  apiKey: string | null | undefined | (() => string | Promise<string>)
  /**
   * Allows plain http beyond loopback. Anyone on the network can then read the API key.
   * @defaultValue false
   */
  allowInsecureHttp?: boolean | undefined
  /**
   * Maximum size of a response body in bytes, counted after decompression. If a 2xx has a larger body, the call rejects with an
   * `InvalidResponseError`. If an error has a larger body, the `HttpError` has no `body`.
   * @defaultValue 10_485_760 (10 MiB)
   */
  maxResponseBytes?: number | undefined
  /**
   * Maximum number of requests in flight, counted over all calls and loops of this client and clients derived from it. Other
   * requests queue. The `timeout` of an attempt starts when it leaves the queue. If an endpoint hangs, its calls stay in flight
   * until they time out. A derived client with a lower limit waits until the count falls below it. `Infinity` lifts the limit.
   * @defaultValue 50
   */
  maxInFlight?: number | undefined
  /**
   * Replaces the global `fetch`. By default, each call looks up the global one, so later patches take effect. Your function must
   * send each request once, and reject only if no response arrives. It must not retry, as undici's `RetryAgent` does, or follow
   * redirects, as axios and got do. Otherwise an error cannot tell whether a write was applied. Your function must not call this
   * client, because it can deadlock.
   */
  fetch?: Fetch | undefined
  /**
   * Listener for logs, metrics and traces. Events never contain an API key of 8 characters or more. Errors of the listener never
   * break a call. The first one is logged with `console.error`.
   */
  onEvent?: ((event: ClientEvent) => void) | undefined
}

/** Client options that have no default. */
type WithoutDefault = 'totalTimeout' | 'fetch' | 'onEvent'

/** Client options after checks and defaults. Derived from `ClientOptions`, so that no option can be lost. */
export type ClientConfig = {
  readonly [Name in keyof ClientOptions]-?: Name extends 'baseUrl'
    ? string
    : Name extends 'headers'
      ? /** By lower-case name. */ Readonly<Record<string, string>>
      : Name extends WithoutDefault
        ? ClientOptions[Name]
        : Exclude<ClientOptions[Name], undefined>
}

/** The common options of a client or a call, after checks and defaults. */
export type CallSettings = Pick<ClientConfig, keyof CommonOptions>

const commonChecks: Checks<CommonOptions> = {
  timeout: duration,
  totalTimeout: duration,
  maxRetries: wholeNumber(0),
  headers: checkedLater,
}

/** The options of every call. */
export const callChecks: Checks<RequestOptions> = {
  ...commonChecks,
  signal: abortSignal,
  schema: checkedLater,
}

/** The end of the message for an option that calls do not have. */
export const onTheClient = ' Other options of the client go into new Client({ … }).'

const clientChecks: Checks<ClientOptions> = {
  ...commonChecks,
  baseUrl: checkedLater,
  apiKey: checkedLater,
  allowInsecureHttp: trueOrFalse,
  maxResponseBytes: wholeNumber(1),
  concurrency: wholeNumber(1),
  maxInFlight: wholeNumber(1, Number.POSITIVE_INFINITY),
  fetch: callback,
  onEvent: callback,
}

const defaults: Omit<ClientConfig, 'baseUrl' | 'apiKey'> = {
  timeout: 60_000,
  totalTimeout: undefined,
  maxRetries: 2,
  headers: { accept: 'application/json' },
  allowInsecureHttp: false,
  maxResponseBytes: 10 * 1024 * 1024,
  concurrency: 4,
  maxInFlight: 50,
  fetch: undefined,
  onEvent: undefined,
}

/** Checks a client's options. Those that are not given are taken from `base`. */
export function resolveClientOptions(
  given: Partial<ClientOptions>,
  base: typeof defaults | ClientConfig = defaults,
): ClientConfig {
  const options = readOptions('options', given, clientChecks, 'Client options')
  const merged = { ...base, ...options }
  const { allowInsecureHttp, headers } = merged
  // Not from `options`, which omits `undefined`. An unset variable must not send another tenant's key.
  const { apiKey, baseUrl } = { apiKey: undefined, baseUrl: undefined, ...base, ...given }
  if (typeof apiKey !== 'function' && apiKey !== null)
    assertApiKey(apiKey, 'a string, a function that returns one, or null to send none')
  return {
    ...merged,
    apiKey,
    baseUrl: parseBaseUrl(baseUrl, allowInsecureHttp),
    headers: { ...defaults.headers, ...readHeaders(headers) },
  }
}

export function mergeSettings(settings: CallSettings, given: Given<CommonOptions>): CallSettings {
  const { timeout = settings.timeout, totalTimeout = settings.totalTimeout, headers } = given
  return {
    timeout,
    totalTimeout,
    maxRetries: given.maxRetries ?? settings.maxRetries,
    headers: headers === undefined ? settings.headers : { ...settings.headers, ...readHeaders(headers) },
  }
}
