import type { CallSite } from '../internal/call-site.js'
import type { Redactor } from '../internal/redact.js'
import type { CallSettings, ClientConfig } from '../options.js'
import type { BodyText } from './body.js'
import type { RetryBudget } from './retry-budget.js'
import type { Throttles } from './throttles.js'

/** What all calls of a client share. */
export interface Transport extends ClientConfig {
  /** This and the next two become those of the client that this one is derived from. */
  retryBudget: RetryBudget
  throttles: Throttles
  /** The paths of lists that cannot be asked for a limit of 100. */
  withoutLimit: Set<string>
  /** Knows the API keys of calls. */
  readonly redactor: Redactor
}

/** One call, checked and ready to be sent. */
export interface Call {
  readonly method: string
  /** Checked and encoded. */
  readonly path: string
  /** Without its question mark. */
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
  /** The limit that is requested. */
  readonly limit?: number | undefined
  /** Of a loop over a list: its number. */
  readonly loop?: number | undefined
  /** Whether a status other than 2xx is an answer, too, such as 404 beyond the end of a list. */
  readonly accepts?: ((status: number) => boolean) | undefined
  readonly site: CallSite
}

/** How an attempt ended. */
export type Outcome = ReceivedResponse | NoResponse

export interface ReceivedResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: BodyText
}

export interface NoResponse {
  readonly status: undefined
  /**
   * - `not-sent`: something of the caller's failed before, such as its `apiKey` function
   * - `not-connected`, `certificate`: there was no connection
   * - `cut-off`, `no-response`: the request may have reached the service
   * - `total-timeout`: it was the whole call that took too long
   */
  readonly reason: 'not-sent' | 'not-connected' | 'certificate' | 'cut-off' | 'no-response' | 'total-timeout'
  readonly isTimeout: boolean
  readonly cause: unknown
}
