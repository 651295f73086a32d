import type { Redactor } from '../internal/redact.js'
import type { CallSettings, ClientConfig } from '../options.js'
import type { BodyText } from './body.js'
import { Paces } from './paces.js'
import { RetryBudget } from './retry-budget.js'

/** The state that all calls of a client share. */
export interface Transport extends ClientConfig {
  /** Removes the API keys of calls from events and errors. */
  readonly redactor: Redactor
  /** Taken over from the client that this one is derived from. */
  shared: Shared
}

/** The state that a client shares with those derived from it. */
export class Shared {
  readonly retryBudget: RetryBudget = new RetryBudget()
  readonly paces: Paces = new Paces()
  /** The URLs of lists that reject a limit of 100. */
  readonly withoutLimit: Set<string> = new Set()
  /** Whether a listener has thrown. Only its first error is logged. */
  hasFailedListener = false
}

/** One call, checked and ready to be sent. Every field is set explicitly, so a polluted `Object.prototype` is never read. */
export interface Call {
  readonly method: string
  /** Checked and encoded. */
  readonly path: string
  readonly query: string
  readonly settings: CallSettings
  readonly idempotencyKey: string | undefined
  /** Whether the caller passed the idempotency key. */
  readonly hasCallerKey: boolean
  readonly body: string | undefined
  readonly signals: readonly (AbortSignal | undefined)[]
  /** Set for lists only. */
  readonly page: number | undefined
  readonly limit: number | undefined
  /** The number of the loop over a list that the call belongs to. */
  readonly loop: number | undefined
  /** Whether the call also accepts a status other than 2xx, such as 404 beyond the end of a list. */
  readonly accepts: ((status: number) => boolean) | undefined
}

/** The result of an attempt. */
export type Outcome = ReceivedResponse | NoResponse

export interface ReceivedResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: BodyText
  /** The delay of `Retry-After`, in milliseconds. `undefined` if it is absent or unreadable, or after a success. */
  readonly retryAfterMs: number | undefined
}

export interface NoResponse {
  readonly status: undefined
  /**
   * `not-sent` means that the time limit passed first, such as in the `apiKey` function. With `cut-off` or `no-response`, the
   * request may have reached the service. `hanging` means that no request in flight got a response.
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
