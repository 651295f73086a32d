/** Where in the list something happens: 0 is the head, 1 the tail. A fraction, so that it means the same in a shorter list. */
type Place = number

/** What happens to the list in one step, so that no response shows a state between. */
export interface Change {
  /** Virtual milliseconds since the walk began. */
  readonly at: number
  readonly remove?: { readonly place: Place; readonly count: number }
  readonly insert?: { readonly place: Place; readonly count: number }
  /** One item becomes the first, or moves by this many places. */
  readonly moveToHead?: Place
  readonly move?: { readonly place: Place; readonly by: number }
}

/** What happens again and again until the walk is over, by the clock or with each response. */
export interface Ceaseless {
  readonly every: { readonly ms: number } | 'response'
  /** How many items come or go at a time. */
  readonly count: number
  /**
   * Items go at the head and come at the tail, or the other way around. They go and come anywhere. Or they only come, or only go,
   * at the head.
   */
  readonly kind: 'rotates' | 'rotates backwards' | 'swaps' | 'grows' | 'shrinks'
}

/** How one request fares; the requests of a walk take these in turn. */
export interface Route {
  /** Until the service reads the list. */
  readonly serveMs: number
  /** From there until the response arrives. */
  readonly arriveMs: number
  /** Which replica serves it. */
  readonly replica: number
}

/** Everything that determines a walk. Plain data, so that a failing one can be made smaller. */
export interface Scenario {
  readonly family: string
  readonly seed: string
  readonly verified: boolean | undefined
  readonly onMissedItems: 'throw' | 'continue'
  /** Items t1, t2, … in the list when the walk begins. */
  readonly size: number
  /** Every item appears again, this many places further on. */
  readonly twinDistance: number | undefined
  /** The page that the walk begins with. */
  readonly firstPage: number
  readonly limit: number | undefined
  readonly concurrency: number
  readonly maxRetries: number
  readonly changes: readonly Change[]
  readonly ceaseless: Ceaseless | undefined
  /** The reader removes each item that it has read. */
  readonly drains: boolean
  readonly routes: readonly Route[]
  readonly service: {
    readonly defaultLimit: number
    readonly maxLimit: number
    /** Changes the maximum limit at a time. */
    readonly limitChange: { readonly at: number; readonly maxLimit: number } | undefined
    /** Whatever limit is sent, it uses its default one. */
    readonly ignoresLimit: boolean
    readonly ignoresPage: boolean
    /** It responds with 422 to limits that are smaller than its default one. */
    readonly refusesSmallerLimits: boolean
    /** Its responses repeat the limit that was sent, but have pages of its default one. */
    readonly isFixture: boolean
    /** The ids of each page are t1, t2, … */
    readonly hasRowNumbers: boolean
    /** Leaves out every nth item of a page after cutting it. The total counts it. */
    readonly hidesEvery: number | undefined
    /** Its first page is 0, which the client never requests. */
    readonly countsFromZero: boolean
    /** How far each replica is behind, in ms; at least one. */
    readonly replicaLagsMs: readonly number[]
    /** How far `totalItems` is behind the items, in ms. */
    readonly totalLagMs: number
    /** `totalItems` is counted after the rows were read, when the response leaves. */
    readonly countsLater: boolean
    /** Added to `totalItems`, one response after the other in turn. */
    readonly totalErrors: readonly number[]
    /** Statuses of requests, by their number from 1. */
    readonly faults: Readonly<Record<number, number>>
    /** The page that is requested by this request fails for good. */
    readonly brokenRequest: { readonly number: number; readonly status: number } | undefined
  }
  /** The reader pauses now and then. */
  readonly pause: { readonly everyItems: number; readonly ms: number } | undefined
  /** The reader leaves the loop after this many items. */
  readonly leaveAfter: number | undefined
  /** Each in turn: the reader stops after this many batches, and another process resumes with the cursor this many ms later. */
  readonly cuts: readonly { readonly batches: number; readonly ms: number }[]
  /** The newest items come first. After the first loop, this many loops read until the last cursor. */
  readonly untilRuns: number
  /** The reader goes on in the same way after an error, once the service has been repaired. */
  readonly resumesAfterErrors: boolean
}
