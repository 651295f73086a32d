import type { AnyApiError, ApiError, HttpError } from './errors.js'

/** Properties that all events have. */
export interface EventBase<Type extends string = string> extends Pick<ApiError, 'method' | 'path'> {
  /** Narrows {@link ClientEvent}. */
  readonly type: Type
  /** Identifies the call. All of its events have the same id, which tells concurrent calls apart. */
  readonly callId: string
  /** The full URL, query included. API keys of 8 characters or more are redacted. */
  readonly url: string
  /** The page that is fetched. `undefined` for calls that are not lists. */
  readonly page: number | undefined
  /**
   * Identifies the loop that the page is fetched for. All events of one `for await` have the same number. `undefined` outside a
   * loop.
   */
  readonly loop: number | undefined
}

/** A request is about to be sent. */
export interface RequestEvent extends EventBase<'request'>, Pick<ApiError, 'idempotencyKey'> {
  /** Which attempt of the call it is, from 1. */
  readonly attempt: number
}

/** A response has arrived, headers and body, whatever its status. */
export interface ResponseEvent
  extends EventBase<'response'>,
    Pick<RequestEvent, 'attempt'>,
    Pick<HttpError, 'status' | 'headers' | 'requestId'> {
  /** Duration of this attempt, in milliseconds. */
  readonly durationMs: number
}

/** An attempt failed. The client retries the call after a delay. */
export interface RetryEvent extends EventBase<'retry'>, Pick<ResponseEvent, 'attempt' | 'durationMs'> {
  /** The delay before the next attempt, in milliseconds. */
  readonly delayMs: number
  /** Why the attempt failed. */
  readonly error: AnyApiError
}

/**
 * A call waits while it is being rate limited. Emitted at most once per call, and not if a `retry` event announced the delay.
 */
export interface WaitEvent extends EventBase<'wait'>, Pick<RequestEvent, 'attempt'> {
  /** The delay until the call's turn, in milliseconds. It may be an estimate. */
  readonly delayMs: number
  /** The error of the last request that the service refused, which may belong to another call. */
  readonly error: AnyApiError
}

/** A call succeeded. Each page of a list is a call. A `drift` or `end` event of its loop may follow with the same `callId`. */
export interface SuccessEvent extends EventBase<'success'>, Pick<ApiError, 'attempts'> {
  /** Duration of the whole call, in milliseconds. */
  readonly durationMs: number
}

/**
 * A call failed. This is its last event. It is not emitted for a wrong argument or a signal that was aborted before the call. It
 * is also not emitted for errors outside a single call, such as a `PaginationError` from comparing pages, or an error thrown by
 * `itemKey`.
 */
export interface FailureEvent
  extends EventBase<'failure'>,
    Pick<RequestEvent, 'attempt'>,
    Pick<SuccessEvent, 'durationMs'> {
  /** The error that the call rejects with. An `ApiError`, or a value that one of your callbacks threw. */
  readonly error: unknown
}

/** A list changed, or contradicted itself, while it was iterated. */
export interface DriftEvent extends EventBase<'drift'> {
  /**
   * The meaning of `before` and `after`:
   * - `total`: `totalItems`, before and after
   * - `missing`: `totalItems`, and `totalItems` minus the items that may have been missed
   */
  readonly change: 'total' | 'missing'
  /** The first number. For its meaning, see `change`. */
  readonly before: number
  /** The second number. For its meaning, see `change`. */
  readonly after: number
}

/**
 * Why a loop could not prove that it is complete:
 * - `no-item-key`: `itemKey` returned nothing for an item, or there is no `itemKey`
 * - `item-key-not-unique`: two items had the same key
 * - `limit-not-honoured`: the service ignores some values of `limit`, so pages could not overlap
 * - `short-page`: a page in the middle of the list was not full, so pages could not overlap
 * - `verified-false`: you passed `verified: false`
 * - `order-not-stable`: items came back in another order, for example those with equal dates
 * - `missed-items`: items were missed, and you passed `onMissedItems: 'continue'` or resumed after a `missed-items` error
 * - `added-elsewhere`: a loop with `after` or `until` yielded nothing, although the list has grown, perhaps at its other end
 * - `max-items`: the loop ended at `maxItems`
 */
export type IncompleteReason =
  | 'no-item-key'
  | 'item-key-not-unique'
  | 'limit-not-honoured'
  | 'short-page'
  | 'verified-false'
  | 'order-not-stable'
  | 'missed-items'
  | 'added-elsewhere'
  | 'max-items'

/** A loop over a list reached its end. Not emitted after `break`, an error or an abort. */
export interface EndEvent extends EventBase<'end'> {
  /** Number of items that the loop yielded. */
  readonly items: number
  /** Number of pages that the loop requested. Retries do not count. */
  readonly requests: number
  /** The `totalItems` of the last response. */
  readonly totalItems: number
  /**
   * Whether the loop provably yielded every item that stayed in the list. This covers the list from the loop's first page to its
   * end, or to the cursor of `until`.
   */
  readonly isComplete: boolean
  /** Why the loop could not prove that it is complete. `undefined` if it could. */
  readonly reason: IncompleteReason | undefined
}

/** An event that `onEvent` receives. `type` narrows it. See {@link ClientOptions.onEvent}. */
export type ClientEvent =
  | RequestEvent
  | ResponseEvent
  | RetryEvent
  | WaitEvent
  | SuccessEvent
  | FailureEvent
  | DriftEvent
  | EndEvent

/** An event without the properties that all events of its call share. */
export type EventDetails<E = ClientEvent> = E extends unknown
  ? Omit<E, Exclude<keyof EventBase, 'type'>>
  : never
