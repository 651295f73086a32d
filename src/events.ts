import type { AnyApiError, ApiError, HttpError } from './errors.js'

/** What all events of a call have in common. */
export interface EventBase extends Pick<ApiError, 'method' | 'path'> {
  /** Identifies the call: the same on all of its events, so that concurrent calls can be told apart. */
  readonly callId: string
  /** The full URL, query included. It does not contain the API key. */
  readonly url: string
  /**
   * The path with names instead of ids, such as `/customers/{customerId}/virtual_accounts/{virtualAccountId}/deactivate`. For
   * `client.list`, and for `client.request` without a `route`, it is the path as you passed it.
   */
  readonly route: string
  /** The page that is fetched; `undefined` for calls that are not lists. */
  readonly page: number | undefined
}

/** A request is about to be sent. */
export interface RequestEvent extends EventBase, Pick<ApiError, 'idempotencyKey'> {
  /** Narrows {@link ClientEvent}. */
  readonly type: 'request'
  /** Which attempt of the call it is, from 1. */
  readonly attempt: number
}

/** A response has arrived, headers and body, whatever its status. */
export interface ResponseEvent
  extends EventBase,
    Pick<RequestEvent, 'attempt'>,
    Pick<HttpError, 'status' | 'headers' | 'requestId'> {
  /** Narrows {@link ClientEvent}. */
  readonly type: 'response'
  /** Duration of this attempt, in milliseconds. */
  readonly durationMs: number
}

/** An attempt failed and is retried after a delay. */
export interface RetryEvent extends EventBase, Pick<RequestEvent, 'attempt'> {
  /** Narrows {@link ClientEvent}. */
  readonly type: 'retry'
  /** The delay before the next attempt, in milliseconds. */
  readonly delayMs: number
  /** Why the attempt failed. */
  readonly error: AnyApiError
}

/**
 * A call has failed: the last event of every call that was begun and rejects. There is none for a wrong argument, and none when
 * each call of a loop succeeded: for a `PaginationError` from comparing pages, and for what `dedupeBy` throws.
 */
export interface FailureEvent extends EventBase, Pick<RequestEvent, 'attempt'> {
  /** Narrows {@link ClientEvent}. */
  readonly type: 'failure'
  /** Duration of the whole call, in milliseconds. */
  readonly durationMs: number
  /**
   * What the call rejects with: an `ApiError`, the abort reason, or what one of your callbacks threw. To resume a list, take
   * `page` from the error that the loop throws, which may name an earlier one.
   */
  readonly error: unknown
}

/** A list drifted: it changed, or contradicted itself, while it was iterated. */
export interface DriftEvent extends EventBase {
  /** Narrows {@link ClientEvent}. */
  readonly type: 'drift'
  /**
   * What changed; it decides what `before` and `after` mean:
   * - `total`: `totalItems` before and after
   * - `duplicate`: the two pages on which one item appeared
   * - `missing`: the total, and the total minus the items that may be missing
   */
  readonly change: 'total' | 'duplicate' | 'missing'
  /** The first of two numbers; `change` says which. */
  readonly before: number
  /** The second of two numbers; `change` says which. */
  readonly after: number
}

/** What `onEvent` is called with; `type` narrows it. See {@link ClientOptions.onEvent}. */
export type ClientEvent = RequestEvent | ResponseEvent | RetryEvent | FailureEvent | DriftEvent

/** An event without what it shares with all events of its call. */
export type EventDetails<E = ClientEvent> = E extends unknown ? Omit<E, keyof EventBase> : never

/** Calls a listener. What it throws or rejects with is swallowed: observing a call must not break it. */
export function emit(listener: (event: ClientEvent) => void, event: ClientEvent): void {
  try {
    const result: unknown = listener(event)
    if (result !== undefined) Promise.resolve(result).catch(() => {})
  } catch {
    // See above.
  }
}
