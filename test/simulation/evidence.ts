import type { Exchange } from './service.ts'
import type { WalkRecord } from './walk.ts'

/** A response that the client received. Moments are positions in the walk's log. */
export interface Received {
  readonly requestedAt: number
  /** When the attempt was sent that got this response: later than `requestedAt` if an earlier one failed. */
  readonly sentAt: number
  readonly arrivedAt: number
  readonly version: number
  readonly page: number
  readonly limit: number
  readonly totalItems: number
  readonly ids: readonly string[]
}

/** What arrived with status 200 before `end`, in order of arrival. */
export function receivedIn(exchanges: readonly Exchange[], end = Number.POSITIVE_INFINITY): Received[] {
  const received: Received[] = []
  for (const { status, body, arrivedAt, requestedAt, sentAt, version } of exchanges) {
    if (status !== 200 || body === undefined || version === undefined) continue
    if (arrivedAt === undefined || arrivedAt > end) continue
    const { data, page, limit, totalItems } = body
    const ids = data.map(({ id }) => id)
    received.push({ requestedAt, sentAt, arrivedAt, version, page, limit, totalItems, ids })
  }
  return received.sort((a, b) => a.arrivedAt - b.arrivedAt)
}

/**
 * What the responses of a walk in default mode give away, worked out from the responses alone and without regard to
 * how the client does it. Where the rules leave room, the reading that asks less of the client is taken.
 */
export interface Evidence {
  /** By how much the list shrank for certain: a page requested after another had arrived shows so much smaller a total. */
  readonly shrunkBy: number
  /**
   * An item repeated on a page, further back than the total grew: something was added before it and something else
   * removed. Yet a later page is used that was requested before that response arrived.
   */
  readonly usedDistrustedPage: Received | undefined
  /** By how much the pages, read to the end, fall short of the total. */
  readonly endedShortBy: number
  /** Items of the list up to where the walk came. */
  readonly itemsRead: number
  /** Whether some response held the item. */
  readonly wasReceived: (id: string) => boolean
  /** Whether some response held the item at a place that the walk has passed, even if the list grew before it since. */
  readonly wasPassed: (id: string) => boolean
}

export function evidenceOf(
  responses: readonly Received[],
  { yielded, outcome }: Pick<WalkRecord, 'yielded' | 'outcome'>,
): Evidence {
  const read = pagesRead(responses, yielded)
  const all = new Set(responses.flatMap(({ ids }) => ids))
  const itemsRead = read.reduce((total, { ids }) => total + ids.length, 0)
  return {
    shrunkBy: certainShrink(responses),
    usedDistrustedPage: distrusted(outcome === 'thrown' ? upToLastNew(read) : read, responses),
    endedShortBy: shortfall(read, yielded),
    itemsRead,
    wasReceived: id => all.has(id),
    wasPassed: id => passedIds(responses, itemsRead).has(id),
  }
}

function passedIds(responses: readonly Received[], itemsRead: number): Set<string> {
  const largestTotal = Math.max(...responses.map(({ totalItems }) => totalItems))
  const passed = responses.flatMap(({ ids, page, limit, totalItems }) => {
    const firstPlace = (page - 1) * limit + largestTotal - totalItems
    return ids.slice(0, Math.max(0, itemsRead - firstPlace))
  })
  return new Set(passed)
}

function certainShrink(responses: readonly Received[]): number {
  let most = 0
  for (const before of responses) {
    for (const after of responses) {
      if (before.arrivedAt < after.requestedAt) most = Math.max(most, before.totalItems - after.totalItems)
    }
  }
  return most
}

/**
 * The pages that the walk has used, from the first: of a page that was fetched twice, the one requested last. A page
 * counts as read when each of its items was yielded.
 */
function pagesRead(responses: readonly Received[], yielded: readonly string[]): Received[] {
  const byPage = new Map<number, Received>()
  for (const response of responses) {
    const other = byPage.get(response.page)
    if (!other || other.sentAt < response.sentAt) byPage.set(response.page, response)
  }
  const known = new Set(yielded)
  const read: Received[] = []
  for (let page = 1; ; page++) {
    const response = byPage.get(page)
    if (!response?.ids.every(id => known.has(id))) return read
    read.push(response)
  }
}

/** Without the last pages if they hold nothing new: a walk that threw may have thrown before it used them. */
function upToLastNew(read: readonly Received[]): readonly Received[] {
  const seen = new Set<string>()
  const bringsNew = read.map(({ ids }) => {
    const isNew = ids.some(id => !seen.has(id))
    for (const id of ids) seen.add(id)
    return isNew
  })
  return read.slice(0, bringsNew.lastIndexOf(true) + 1)
}

function distrusted(read: readonly Received[], responses: readonly Received[]): Received | undefined {
  const sightings = new Map<string, { place: number; totalItems: number }>()
  for (const [index, response] of read.entries()) {
    const { ids, page, limit, totalItems } = response
    /** When it was first known that an item is where it must have been shifted to. */
    let shiftedAt = Number.NEGATIVE_INFINITY
    for (const [offset, id] of ids.entries()) {
      const place = (page - 1) * limit + offset
      const before = sightings.get(id)
      if (before && place - before.place > totalItems - before.totalItems) {
        const same = responses.find(
          other => other.page === page && other.limit === limit && other.ids[offset] === id,
        )
        shiftedAt = Math.max(shiftedAt, same?.arrivedAt ?? response.arrivedAt)
      }
      sightings.set(id, { place, totalItems })
    }
    // What is not to be trusted is a state from before that response. A retry that was sent after it shows a newer one,
    // even if the first attempt, which failed, was sent before it.
    const later = read.slice(index + 1).find(({ sentAt }) => sentAt < shiftedAt)
    if (later) return later
  }
  return undefined
}

/**
 * Where the walk may have ended at several pages, as those past the end are empty or known, the one that suits it best;
 * 0 where it had not come to the end.
 */
function shortfall(read: readonly Received[], yielded: readonly string[]): number {
  const missing = new Set(yielded)
  let received = 0
  let least = Number.POSITIVE_INFINITY
  for (const { ids, totalItems, page, limit } of read) {
    received += ids.length
    for (const id of ids) missing.delete(id)
    const isEnd = ids.length === 0 || page * limit >= totalItems
    if (missing.size === 0 && isEnd) least = Math.min(least, totalItems - received)
  }
  return least === Number.POSITIVE_INFINITY ? 0 : Math.max(0, least)
}
