import { describe } from '../../internal/describe.js'
import { encodePathSegment } from '../../internal/url.js'
import { assertFunction, assertKnownNames, assertSignal } from '../../internal/validate.js'
import { assertClientOptions, type ClientOptions, type Fetch } from '../../options.js'
import type { VirtualAccountRef } from '../../resources/virtual-accounts.js'

/** How far a probe is, as `onProgress` is told. */
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
   * Origin of a web page, such as `https://app.example.com`, whose rights to call the service are looked at (CORS).
   * @defaultValue none: CORS is not looked at
   */
  origin?: string | undefined
  /** Called before each request, before the first one too, and once at the end. What it throws rejects the probe. */
  onProgress?: ((step: ProbeStep) => void) | undefined
}

const known = {
  title: 'Options of probe',
  names: ['baseUrl', 'apiKey', 'fetch', 'signal', 'account', 'origin', 'onProgress'],
}

/** Checks what the client does not check itself. */
export function assertProbeOptions(options: unknown): asserts options is ProbeOptions {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(
      `options: expected an object with at least baseUrl and apiKey, got ${describe(options)}`,
    )
  }
  assertKnownNames('options', options, known)
  const { baseUrl, apiKey, fetch, signal, account, origin, onProgress } = options as Partial<ProbeOptions>
  assertClientOptions({ baseUrl, apiKey, fetch })
  if (signal !== undefined) assertSignal(signal)
  if (onProgress !== undefined) assertFunction('onProgress', onProgress)
  if (account !== undefined) assertAccount(account)
  if (origin !== undefined && !isOrigin(origin)) {
    throw new TypeError(
      `origin: expected the origin of a page, such as "https://app.example.com", got ${typeof origin === 'string' && origin ? 'another string' : describe(origin)}`,
    )
  }
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
