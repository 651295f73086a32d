import { describe } from '../internal/describe.js'
import { encodePathSegment } from '../internal/url.js'
import { assertFunction, assertSignal, readOptions } from '../internal/validate.js'
import type { ClientOptions, Fetch } from '../options.js'
import type { VirtualAccountRef } from '../resources/virtual-accounts.js'

/** Progress of a probe, as passed to `onProgress`. */
export interface ProbeStep {
  /** Number of requests sent so far. */
  readonly done: number
  /** Number of requests that are sent at most. The last step has the number that were sent. */
  readonly total: number
  /** What is requested next, such as `GET /transactions?page=2`; `done` at the end. */
  readonly name: string
}

/** Options of {@link probe}. Only `baseUrl` and `apiKey` are required. */
export interface ProbeOptions {
  /** Root of the API, as for a `Client`. */
  baseUrl: string | URL
  /** API key, as for a `Client`. It appears nowhere in the report. */
  apiKey: ClientOptions['apiKey']
  /**
   * Replaces the global `fetch`.
   * @defaultValue the global `fetch`
   */
  fetch?: Fetch | undefined
  /**
   * Cancels the probe, which then rejects with the signal's reason. If the account is deactivated at that moment, its
   * reactivation is still sent, but not awaited.
   */
  signal?: AbortSignal | undefined
  /**
   * An account to test with: it is deactivated and reactivated. Without it nothing is written.
   * @defaultValue none: the probe is read-only
   */
  account?: VirtualAccountRef | undefined
  /**
   * Origin of a web page, such as `https://app.example.com`: also checks whether it may call the service (CORS).
   * @defaultValue none: CORS is not checked
   */
  origin?: string | undefined
  /** Called before each request, before the first one too, and once at the end. If it throws, the probe rejects with that error. */
  onProgress?: ((step: ProbeStep) => void) | undefined
}

const known = {
  title: 'Options of probe',
  names: ['baseUrl', 'apiKey', 'fetch', 'signal', 'account', 'origin', 'onProgress'],
}

/** A copy of the options. Checks what the client does not check itself. */
export function readProbeOptions(given: ProbeOptions): ProbeOptions {
  if (typeof given !== 'object' || given === null) {
    throw new TypeError(
      `options: expected an object with at least baseUrl and apiKey, got ${describe(given)}`,
    )
  }
  const options = readOptions('options', given, known) as ProbeOptions
  const { signal, account, origin, onProgress } = options
  if (signal !== undefined) assertSignal(signal)
  if (onProgress !== undefined) assertFunction('onProgress', onProgress)
  if (account !== undefined) assertAccount(account)
  if (origin !== undefined && !isOrigin(origin)) {
    throw new TypeError(
      `origin: expected the origin of a page, such as "https://app.example.com", got ${typeof origin === 'string' && origin ? 'a string that is none (remove the path or trailing slash)' : describe(origin)}`,
    )
  }
  return options
}

function assertAccount(account: unknown): void {
  if (typeof account !== 'object' || account === null) {
    throw new TypeError(`account: expected { customerId, virtualAccountId }, got ${describe(account)}`)
  }
  const { customerId, virtualAccountId } = account as Partial<VirtualAccountRef>
  encodePathSegment('account.customerId', customerId)
  encodePathSegment('account.virtualAccountId', virtualAccountId)
}

function isOrigin(origin: unknown): boolean {
  return typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin
}
