import { describe } from '../internal/describe.js'
import { callback, checkedLater, readOptions } from '../internal/validate.js'
import type { ClientOptions, Fetch } from '../options.js'
import type { VirtualAccountRef } from '../resources/virtual-accounts.js'

/** Progress of a probe, as passed to `onProgress`. */
export interface ProbeStep {
  /** Number of requests sent so far. */
  readonly done: number
  /** Maximum number of requests. */
  readonly total: number
  /** What is requested next, such as `GET /transactions?page=2`. */
  readonly name: string
}

/** Options of {@link probe}. Only `baseUrl` and `apiKey` are required. */
export interface ProbeOptions {
  /** Root of the API, as for a `Client`. */
  baseUrl: string | URL
  /** API key, as for a `Client`. One of 8 characters or more appears nowhere in the report. */
  apiKey: ClientOptions['apiKey']
  /**
   * Allows plain http beyond loopback. Anyone on the network can then read the API key.
   * @defaultValue false
   */
  allowInsecureHttp?: boolean | undefined
  /**
   * Replaces the global `fetch`.
   * @defaultValue the global `fetch`
   */
  fetch?: Fetch | undefined
  /**
   * Cancels the probe, which then rejects with the signal's reason. A write in flight is not aborted, and an account that
   * may be inactive is reactivated first. If that fails, or a deactivation got no response, the error says so.
   */
  signal?: AbortSignal | undefined
  /**
   * An account to test with: it is deactivated and reactivated. Without it nothing is written.
   * @defaultValue none: the probe is read-only
   */
  account?: VirtualAccountRef | undefined
  /**
   * Origin of a web page, such as `https://app.example.com`: also checks whether it may list transactions (CORS).
   * @defaultValue none: CORS is not checked
   */
  origin?: string | undefined
  /** Called before requests, the first one included, and awaited. If it throws, the probe rejects with that error. */
  onProgress?: ((step: ProbeStep) => unknown) | undefined
}

/** Options of {@link inferSchema}. `baseUrl`, `apiKey` and `path` are required. */
export interface InferSchemaOptions extends Omit<ProbeOptions, 'account' | 'origin'> {
  /** Path of the list after `baseUrl`, such as `/refunds`. */
  path: string
}

const names = ['baseUrl', 'apiKey', 'allowInsecureHttp', 'fetch', 'signal', 'onProgress']

/** A copy of the options of `probe`. Checks what the client does not check itself. */
export function readProbeOptions(given: ProbeOptions): ProbeOptions {
  const options = read(given, 'Options of probe', [...names, 'account', 'origin'])
  const { origin, account } = options
  if (origin !== undefined && !isOrigin(origin)) {
    const got = typeof origin === 'string' && origin ? 'a string that is none' : describe(origin)
    throw new TypeError(
      `origin: expected the origin of a page, such as "https://app.example.com" (no path, no slash at its end), got ${got}`,
    )
  }
  // The account that is deactivated must be the one that is reactivated.
  return account instanceof Object ? { ...options, account: { ...account } } : options
}

/** A copy of the options of `inferSchema`. */
export function readInferSchemaOptions(given: InferSchemaOptions): InferSchemaOptions {
  const options = read(given, 'Options of inferSchema', [...names, 'path'])
  if (/[?#]/.test(options.path)) {
    throw new TypeError('path: expected one without ? and #, as all items of the list are described')
  }
  return options
}

function read<T extends ProbeOptions | InferSchemaOptions>(given: T, title: string, names: string[]): T {
  return readOptions('options', given, {
    title,
    checks: { ...checkedLater(...names), onProgress: callback },
  }) as T
}

function isOrigin(origin: unknown): boolean {
  return typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin
}
