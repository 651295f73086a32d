import type { Redactor } from '../internal/redact.js'
import type { CallSettings, ClientConfig } from '../options.js'
import type { BodyText } from './body.js'
import type { Paces } from './paces.js'
import type { RetryBudget } from './retry-budget.js'

/** What all calls of a client share. */
export interface Transport extends ClientConfig {
  /** Knows the API keys of calls. */
  readonly redactor: Redactor
  /** That of the client that this one is derived from. */
  shared: Shared
}

/** What a client shares with those derived from it. */
export interface Shared {
  readonly retryBudget: RetryBudget
  /** By URL and API key. */
  readonly paces: Paces
  /** The paths of lists that cannot be asked for a limit of 100. */
  readonly withoutLimit: Set<string>
}

/** One call, checked and ready to be sent. All is given, if only as `undefined`: nothing is read from `Object.prototype`. */
export interface Call {
  readonly method: string
  /** Checked and encoded. */
  readonly path: string
  readonly query: string
  readonly settings: CallSettings
  readonly idempotencyKey: string | undefined
  /** The idempotency key is the caller's own. */
  readonly hasCallerKey: boolean
  readonly body: string | undefined
  readonly signals: readonly (AbortSignal | undefined)[]
  /** Set on lists, and only there. */
  readonly page: number | undefined
  readonly limit: number | undefined
  /** Of a loop over a list: its number. */
  readonly loop: number | undefined
  /** Whether a status other than 2xx is an answer, too, such as 404 beyond the end of a list. */
  readonly accepts: ((status: number) => boolean) | undefined
}

/** How an attempt ended. */
export type Outcome = ReceivedResponse | NoResponse

export interface ReceivedResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: BodyText
  /** What `Retry-After` says; `undefined` if nothing, or after a success. */
  readonly retryAfterMs: number | undefined
}

export interface NoResponse {
  readonly status: undefined
  /**
   * - `not-sent`: something of the caller's failed before, such as its `apiKey` function
   * - `not-connected`, `certificate`: there was no connection
   * - `cut-off`, `no-response`: the request may have reached the service
   * - `hanging`: nothing that was in flight got a response
   * - `total-timeout`: it was the whole call that took too long
   */
  readonly reason:
    | 'not-sent'
    | 'not-connected'
    | 'certificate'
    | 'cut-off'
    | 'no-response'
    | 'hanging'
    | 'total-timeout'
  readonly isTimeout: boolean
  readonly cause: unknown
}
