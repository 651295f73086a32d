import type { AnyApiError } from './errors.js'

/**
 * What happens inside the client: see {@link ClientOptions.onEvent}.
 *
 * `call` is the same on all events of one call, so that pages side by side can be told apart; `page` is set on those
 * of a list. Never holds the API key.
 */
export type ClientEvent = {
  call: string
  method: string
  path: string
  page: number | undefined
} & (
  | /** A request is about to leave. `attempt` counts from 1. */ {
      type: 'request'
      attempt: number
      idempotencyKey: string | undefined
    }
  | /** An answer has come, body and all. `durationMs` is of this attempt. */ {
      type: 'response'
      attempt: number
      status: number
      durationMs: number
    }
  | /** An attempt failed (`attempt` says which) and the next begins after `delayMs`. */ {
      type: 'retry'
      attempt: number
      delayMs: number
      error: AnyApiError
    }
  | /** The last event of every call that rejects. `durationMs` is of the whole call. */ {
      type: 'failure'
      attempt: number
      durationMs: number
      error: unknown
    }
  | /**
   * A list changed, or contradicts itself, while it was walked. `total`: totalItems before and after; `duplicate`:
   * the pages on which one item stood; `missing`: the total and what was received.
   */ {
      type: 'drift'
      change: 'total' | 'duplicate' | 'missing'
      before: number
      after: number
    }
)

/** What an event says beyond the call it belongs to. */
export type Happening<E = ClientEvent> = E extends unknown
  ? Omit<E, 'call' | 'method' | 'path' | 'page'>
  : never

/** Tells a listener, whose own failures are nobody's business here. */
export function tell(listener: ((event: ClientEvent) => void) | undefined, event: ClientEvent): void {
  try {
    // It may be an async function: what it rejects with is swallowed, too.
    const result: unknown = listener?.(event)
    if (result !== undefined) Promise.resolve(result).catch(() => {})
  } catch {
    // Observing a call must not break it.
  }
}
