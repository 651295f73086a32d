import type { Exchange } from './service.ts'

/** A response that the client received. Moments are positions in the walk's log. */
export interface Received {
  readonly requestedAt: number
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
  for (const { status, body, arrivedAt, requestedAt, version } of exchanges) {
    if (status !== 200 || body === undefined || version === undefined) continue
    if (arrivedAt === undefined || arrivedAt > end) continue
    const { data, page, limit, totalItems } = body
    received.push({ requestedAt, arrivedAt, version, page, limit, totalItems, ids: data.map(({ id }) => id) })
  }
  return received.sort((a, b) => a.arrivedAt - b.arrivedAt)
}

/**
 * The evidence, in an unproven walk, that items were missed. It is derived from the responses alone, independently of the
 * client's code.
 */
export function giveaways(responses: readonly Received[], missing: readonly string[]): string[] {
  const seen = new Set(responses.flatMap(({ ids }) => ids))
  const last = responses.at(-1)
  const shown = Math.max(
    0,
    ...responses.map(({ page, limit, ids }) => ids.length && (page - 1) * limit + ids.length),
  )
  return [
    ...(shrinksForCertain(responses) && !overlaps(responses) ? ['the total shrank'] : []),
    ...(missing.some(id => seen.has(id)) ? ['a response held them'] : []),
    ...(last && shown < last.totalItems ? ['it ended short of the total'] : []),
  ]
}

/** Whether windows had several limits, so items moved by a shrink were read again. */
function overlaps(responses: readonly Received[]): boolean {
  return responses.some(({ limit }) => limit !== responses[0]?.limit)
}

/** A response that was requested after another had arrived shows a smaller total. */
function shrinksForCertain(responses: readonly Received[]): boolean {
  let largest = 0
  let index = 0
  return [...responses]
    .sort((a, b) => a.requestedAt - b.requestedAt)
    .some(({ requestedAt, totalItems }) => {
      for (; (responses[index]?.arrivedAt ?? Number.POSITIVE_INFINITY) < requestedAt; index++) {
        largest = Math.max(largest, responses[index]?.totalItems ?? 0)
      }
      return totalItems < largest
    })
}
