import type { CallInfo } from '../errors.js'
import type { EventDetails } from '../events.js'
import type { ApiKeyProvider } from '../internal/api-key.js'
import type { CallSettings, ClientConfig } from '../options.js'
import type { RetryBudget } from './retry.js'

/** One call, checked and ready to be sent. */
export interface Call {
  readonly method: string
  /** Checked and encoded. */
  readonly path: string
  /** The path with names instead of ids; the path itself when not given. */
  readonly route?: string | undefined
  /** With its question mark, or empty. */
  readonly query: string
  readonly settings: CallSettings
  /** Set on writes, and only there. */
  readonly idempotencyKey?: string | undefined
  /** The idempotency key is the caller's own. */
  readonly hasCallerKey?: boolean
  /** JSON. */
  readonly body?: string | undefined
  /** Any of them cancels the call. */
  readonly signals: readonly (AbortSignal | undefined)[]
  /** Set on lists, and only there. */
  readonly page?: number
  /** Called as soon as the service responds with 429 or 503. */
  readonly onThrottled?: (() => void) | undefined
}

/** A 2xx response with its whole body, and the call that it belongs to. */
export interface SuccessResponse {
  readonly status: number
  readonly headers: Headers
  readonly requestId: string | undefined
  readonly contentType: string
  readonly bytes: Uint8Array
  readonly info: CallInfo
  /** Emits an event of this call. */
  readonly emit: (details: EventDetails) => void
}

/** Turns a response into the caller's result. Throws an `InvalidBody` or an `ApiError`. */
export type ParseResponse<T> = (response: SuccessResponse) => Promise<T>

/** What all calls of a client share. Clients derived from it share the budget, and the API key if it is the same. */
export interface ClientState extends ClientConfig {
  readonly apiKeys: ApiKeyProvider
  readonly retryBudget: RetryBudget
}
