import type { Expectations } from './oracle.ts'
import type { Random } from './random.ts'
import type { Ceaseless, Change, Route, Scenario } from './scenario.ts'
import type { Mode } from './trials.ts'

/** One kind of list, service or reader; each seed makes another walk of it. */
export interface Family {
  readonly name: string
  /** Its walks are so long that only a tenth of them are run. */
  readonly isSlow?: boolean
  /** Changes the scenario of a plain walk over an unchanged list. */
  readonly vary: (plain: Scenario, random: Random) => Partial<Scenario>
  readonly default: Expectations
  /** What else is expected with `verified: true`, and with `verified: false`. */
  readonly verified?: Expectations
  readonly plain?: Expectations
  readonly isSkipped?: readonly Mode[]
}

type Place = (random: Random) => number

const head: Place = () => 0
const someplace: Place = random => random.pick([0, 1, random.fraction(), random.fraction()])

/** How long the walk would take, roughly: changes are spread over it. */
function duration({ size, concurrency, service, limit }: Scenario): number {
  const pages = Math.ceil(size / Math.min(limit ?? service.defaultLimit, service.maxLimit))
  return 60 + (pages / Math.min(concurrency, Math.max(1, pages))) * 25
}

function spread(plain: Scenario, random: Random, count: number, create: () => Omit<Change, 'at'>): Change[] {
  const until = Math.ceil(duration(plain))
  const changes = random.times(count, () => ({ at: random.integer(0, until), ...create() }))
  return changes.sort((a, b) => a.at - b.at)
}

/** Mostly one item, sometimes a few, seldom a bulk. */
function some(random: Random, limit: number): number {
  if (random.chance(0.7)) return 1
  return random.chance(0.8) ? random.integer(2, 5) : random.integer(2, 2 * limit)
}

const limitOf = ({ limit, service }: Scenario) => Math.min(limit ?? service.defaultLimit, service.maxLimit)

function inserts(plain: Scenario, random: Random, place: Place, count = random.integer(1, 6)): Change[] {
  return spread(plain, random, count, () => ({
    insert: { place: place(random), count: some(random, limitOf(plain)) },
  }))
}

function removals(plain: Scenario, random: Random, place: Place, count = random.integer(1, 6)): Change[] {
  return spread(plain, random, count, () => ({
    remove: { place: place(random), count: some(random, limitOf(plain)) },
  }))
}

function swaps(plain: Scenario, random: Random, count: number): Change[] {
  return spread(plain, random, count, () => {
    const items = random.chance(0.8) ? 1 : random.integer(2, 4)
    return {
      remove: { place: someplace(random), count: items },
      insert: { place: someplace(random), count: items },
    }
  })
}

function mixed(plain: Scenario, random: Random, count = random.integer(1, 10)): Change[] {
  return spread(plain, random, count, () => {
    const items = some(random, limitOf(plain))
    const kind = random.integer(0, 2)
    return {
      ...(kind !== 0 && { remove: { place: someplace(random), count: items } }),
      ...(kind !== 1 && {
        insert: { place: someplace(random), count: kind === 2 ? items : some(random, limitOf(plain)) },
      }),
    }
  })
}

function queue(plain: Scenario, random: Random): Change[] {
  return spread(plain, random, random.integer(1, 30), () => ({
    insert: { place: 1, count: 1 },
    remove: { place: 0, count: 1 },
  }))
}

/** From a few items to a quarter of a page, for each response. */
function rotation(plain: Scenario, random: Random): Change[] {
  const pages = Math.ceil(plain.size / limitOf(plain))
  const count = Math.ceil(pages * Math.max(1, limitOf(plain) / 4) * random.fraction())
  return spread(plain, random, count, () => ({
    remove: { place: 0, count: 1 },
    insert: { place: 1, count: 1 },
  }))
}

function anyChanges(plain: Scenario, random: Random): Change[] {
  const kind = random.integer(0, 2)
  if (kind === 0) return inserts(plain, random, someplace)
  return kind === 1 ? removals(plain, random, someplace) : mixed(plain, random)
}

/** A request fails now and then in a way that passes. */
function throttling(random: Random): Record<number, number> {
  const statuses = random.times(random.integer(1, 5), () => [random.integer(1, 25), random.pick([429, 503])])
  return Object.fromEntries(statuses)
}

/** Inserts between `least` and `most` items at the head, at once, while a list of about twenty pages is read. */
const insertAtHeadOfLongList =
  (least: number, most: number): Family['vary'] =>
  (plain, random) => {
    const long = { ...plain, limit: 100, size: random.integer(1500, 2500) }
    const insert = () => ({ insert: { place: 0, count: random.integer(least, most) } })
    return { ...long, pause: undefined, changes: spread(long, random, 1, insert) }
  }

type Expected = Pick<Family, 'default' | 'verified' | 'plain'>

/** Proven to be complete. Without overlap, items may be lost if no response shows it. */
const proven: Expected = {
  default: { rarelyThrows: true, isProven: true },
  plain: { rarelyThrows: false, isProven: false },
}
/** The same, but a total shows each change, so nothing is lost in any mode. */
const provenAndVisible: Expected = { ...proven, plain: { ...proven.plain, hidesNothing: true } }
/** A list that only grows gives no reason to throw. */
const provenAndCalm: Expected = {
  default: { neverThrows: true, isProven: true },
  plain: { isProven: false, hidesNothing: true },
}
/** Complete, or throws because the service contradicts itself. */
const mayThrow: Expected = { default: {} }
const outside: Expected = { default: { isOutsideGuarantee: true } }
/** Read to the end by pages that do not overlap. */
const cannotOverlap: Expected = {
  default: { neverThrows: true, hidesNothing: true },
  verified: { neverThrows: false, mustThrowFromPages: 2 },
}

export const families: readonly Family[] = [
  {
    name: 'unchanged',
    vary: () => ({}),
    ...provenAndCalm,
  },
  {
    name: 'grows at the head',
    vary: (plain, random) => ({ changes: inserts(plain, random, head) }),
    ...provenAndCalm,
  },
  {
    name: 'grows anywhere',
    vary: (plain, random) => ({ changes: inserts(plain, random, someplace) }),
    ...provenAndCalm,
  },
  {
    name: 'shrinks at the head',
    vary: (plain, random) => ({ changes: removals(plain, random, head) }),
    ...provenAndVisible,
  },
  {
    name: 'shrinks anywhere',
    vary: (plain, random) => ({ changes: removals(plain, random, someplace) }),
    ...provenAndVisible,
  },
  {
    name: 'one swap',
    vary: (plain, random) => ({ changes: swaps(plain, random, 1) }),
    ...proven,
  },
  {
    name: 'many swaps',
    vary: (plain, random) => ({ changes: swaps(plain, random, random.integer(2, 16)) }),
    ...proven,
  },
  {
    name: 'mixed changes',
    vary: (plain, random) => ({ changes: mixed(plain, random) }),
    ...proven,
  },
  {
    name: 'short list, mixed changes',
    vary: (plain, random) => {
      const limit = limitOf(plain)
      const short = { ...plain, size: random.integer(1, 3 * limit) }
      return { ...short, changes: mixed(short, random, random.integer(1, 5)) }
    },
    ...proven,
  },
  {
    name: 'bulk changes',
    vary: (plain, random) => {
      const limit = limitOf(plain)
      return {
        changes: spread(plain, random, random.integer(1, 4), () => {
          const bulk = { place: someplace(random), count: random.integer(limit, 4 * limit) }
          return random.chance(0.5) ? { insert: bulk } : { remove: bulk }
        }),
      }
    },
    ...proven,
  },
  {
    name: 'begins at a later page, bulk removals',
    vary: (plain, random) => {
      const limit = limitOf(plain)
      const later = { ...plain, firstPage: random.integer(2, 3), size: limit * random.integer(4, 14) }
      const place = ((later.firstPage - 1) * limit) / later.size
      return {
        ...later,
        changes: removals(later, random, () => place, random.integer(1, 3)).map(change => ({
          ...change,
          remove: { place, count: random.integer(1, 4 * limit) },
        })),
      }
    },
    default: { isProven: true },
    plain: { isOutsideGuarantee: true },
  },
  {
    name: 'oldest first, busy tail',
    vary: (plain, random) => ({
      changes: spread(plain, random, 64, () => {
        const place = 1 - random.fraction() * 0.15
        const kind = random.integer(0, 2)
        return {
          ...(kind !== 0 && { remove: { place, count: 1 } }),
          ...(kind !== 1 && { insert: { place: 1, count: 1 } }),
        }
      }),
    }),
    ...proven,
  },
  {
    name: 'oldest first, changes everywhere',
    vary: (plain, random) => ({
      changes: spread(plain, random, 64, () => {
        const kind = random.integer(0, 2)
        return {
          ...(kind !== 0 && { remove: { place: random.fraction(), count: 1 } }),
          ...(kind !== 1 && { insert: { place: 1, count: 1 } }),
        }
      }),
    }),
    ...proven,
  },
  {
    name: 'stale replicas',
    vary: (plain, random) => ({
      changes: random.pick([inserts, removals])(plain, random, someplace),
      service: { ...plain.service, replicaLagsMs: lags(random) },
    }),
    ...proven,
  },
  {
    name: 'stale replicas, mixed changes',
    vary: (plain, random) => ({
      changes: mixed(plain, random),
      service: { ...plain.service, replicaLagsMs: lags(random) },
    }),
    ...proven,
  },
  {
    name: 'late totals',
    vary: (plain, random) => ({
      changes: anyChanges(plain, random),
      service: { ...plain.service, totalLagMs: random.pick([20, 60, 200, 5000]) },
    }),
    ...mayThrow,
  },
  {
    name: 'wrong totals',
    vary: (plain, random) => ({
      changes: random.chance(0.5) ? mixed(plain, random, random.integer(0, 3)) : [],
      service: {
        ...plain.service,
        totalErrors: random.times(random.integer(1, 4), () => random.integer(-6, 6)),
      },
    }),
    ...mayThrow,
  },
  {
    name: 'clamped limit',
    vary: (plain, random) => {
      const service = { ...plain.service, maxLimit: random.integer(20, 30) }
      const clamped = { ...plain, limit: random.integer(31, 200), service }
      return { limit: clamped.limit, service, changes: mixed(clamped, random, random.integer(0, 5)) }
    },
    ...proven,
  },
  {
    name: 'default limit',
    vary: (plain, random) => {
      const service = { ...plain.service, defaultLimit: random.integer(20, 30) }
      const own = { ...plain, limit: undefined, service }
      return { limit: undefined, service, changes: mixed(own, random, random.integer(0, 5)) }
    },
    ...proven,
  },
  {
    name: 'limit changes',
    vary: (plain, random) => {
      const limit = 50
      const service = { ...plain.service, maxLimit: random.integer(2, 20) }
      const at = random.integer(0, duration({ ...plain, limit, service }))
      return { limit, service: { ...service, limitChange: { at, maxLimit: random.integer(2, 30) } } }
    },
    ...mayThrow,
  },
  {
    name: 'tiny limits, mixed changes',
    vary: (plain, random) => {
      const tiny = { ...plain, limit: random.integer(1, 5), size: random.integer(0, 30) }
      return { ...tiny, changes: mixed(tiny, random, random.integer(0, 4)) }
    },
    ...mayThrow,
  },
  {
    name: 'throttled, mixed changes',
    vary: (plain, random) => ({
      changes: mixed(plain, random),
      // As many as faults, because all may hit one page.
      maxRetries: 5,
      service: { ...plain.service, faults: throttling(random) },
    }),
    ...proven,
  },
  {
    name: 'a page fails for good',
    vary: (plain, random) => ({
      changes: anyChanges(plain, random),
      maxRetries: random.integer(0, 2),
      service: {
        ...plain.service,
        brokenRequest: { number: random.integer(1, 8), status: random.pick([400, 500]) },
      },
    }),
    ...mayThrow,
  },
  {
    name: 'a page fails for good while the list shrinks',
    vary: (plain, random) => ({
      changes: removals(plain, random, someplace),
      maxRetries: random.integer(0, 2),
      service: {
        ...plain.service,
        brokenRequest: { number: random.integer(1, 8), status: random.pick([400, 500]) },
      },
    }),
    ...mayThrow,
  },
  {
    name: 'moves to the head',
    vary: (plain, random) => ({
      changes: spread(plain, random, random.integer(1, 10), () => ({ moveToHead: random.fraction() })),
    }),
    ...outside,
  },
  {
    name: 'one item moves by 1 to 20 places',
    vary: (plain, random) => ({
      limit: Math.max(10, limitOf(plain)),
      changes: spread(plain, random, 1, () => ({
        move: { place: random.fraction(), by: random.integer(1, 20) * random.pick([-1, 1]) },
        ...(random.chance(0.5) && { insert: { place: 1, count: 1 } }),
      })),
    }),
    default: { isProven: true },
    plain: { isProven: false },
  },
  {
    name: 'ids occur twice',
    vary: (plain, random) => {
      // At limits of 2 and 3 nothing overlaps: a twin cannot be told from an item that has moved, and the walk may throw.
      const limit = Math.max(5, limitOf(plain))
      // Long enough for no page to be the same as the one before it.
      const size = Math.ceil(plain.size / 2) + 3 * limit
      return { limit, size, twinDistance: random.pick([0, 1, random.integer(1, 2 * limit)]) }
    },
    // Twins that no page shows together look like an order that is not stable.
    default: { mayThrow: ['order-not-stable'] },
    // Pages that end with twins look like a service that ignores `page`.
    plain: { mayThrow: ['item-key-not-unique', 'no-progress'] },
    isSkipped: ['verified'],
  },
  {
    name: 'smaller limits ignored',
    vary: plain => {
      const limit = limitOf(plain)
      return {
        // More than one page, so that there is something to prove.
        size: plain.size + limit,
        service: { ...plain.service, defaultLimit: limit, ignoresLimit: true },
      }
    },
    ...cannotOverlap,
  },
  {
    name: 'smaller limits refused',
    vary: plain => {
      // At a limit of 2, windows overlap only at larger limits.
      const limit = Math.max(3, limitOf(plain))
      const service = { ...plain.service, defaultLimit: limit, refusesSmallerLimits: true }
      return { limit, size: plain.size + limit, service }
    },
    ...cannotOverlap,
  },
  {
    name: 'a fixture that repeats any limit',
    vary: plain => {
      const limit = limitOf(plain)
      return { size: plain.size + limit, service: { ...plain.service, defaultLimit: limit, isFixture: true } }
    },
    ...cannotOverlap,
  },
  {
    name: 'smaller limits ignored, mixed changes',
    vary: (plain, random) => {
      const limit = limitOf(plain)
      const service = { ...plain.service, defaultLimit: limit, ignoresLimit: true }
      const ignoring = { ...plain, size: plain.size + limit, service }
      return { ...ignoring, changes: mixed(ignoring, random) }
    },
    default: {},
  },
  {
    name: 'smaller limits refused, a queue',
    vary: (plain, random) => {
      const limit = Math.max(3, limitOf(plain))
      const service = { ...plain.service, defaultLimit: limit, refusesSmallerLimits: true }
      const refusing = { ...plain, limit, size: plain.size + limit, service }
      return { ...refusing, changes: queue(refusing, random) }
    },
    default: {},
    verified: { mustThrowFromPages: 2 },
  },
  {
    name: 'row numbers as ids',
    vary: plain => ({
      size: plain.size + limitOf(plain) + 1,
      limit: Math.max(3, limitOf(plain)),
      service: { ...plain.service, hasRowNumbers: true },
    }),
    default: { mustThrowFromPages: 2, isOutsideGuarantee: true },
    // Plain pages are requested again, and are the same.
    plain: { mustThrowFromPages: Number.POSITIVE_INFINITY },
  },
  {
    name: 'pages filtered after they were cut',
    vary: (plain, random) => ({
      service: { ...plain.service, hidesEvery: random.integer(3, 12) },
    }),
    default: { isOutsideGuarantee: true },
  },
  {
    name: 'a queue',
    vary: (plain, random) => ({ changes: queue(plain, random) }),
    ...proven,
  },
  {
    name: 'rotates',
    vary: (plain, random) => ({ changes: rotation(plain, random) }),
    ...proven,
  },
  {
    name: 'rotates, stale replicas, late totals',
    vary: (plain, random) => ({
      changes: rotation(plain, random),
      service: { ...plain.service, replicaLagsMs: lags(random), totalLagMs: random.pick([0, 20, 200]) },
    }),
    ...mayThrow,
  },
  {
    name: 'rotates, cut and resumed',
    vary: (plain, random) => ({ changes: rotation(plain, random), cuts: cuts(random) }),
    ...proven,
  },
  {
    name: 'cut and resumed, mixed changes',
    vary: (plain, random) => ({ changes: mixed(plain, random), cuts: cuts(random) }),
    ...proven,
  },
  {
    name: 'cut and resumed, items come among those that were read',
    vary: (plain, random) => {
      const every = random.integer(1, 5)
      const comings = Array.from({ length: Math.floor(plain.size / every) }, (_, index) => ({
        at: random.integer(20, 200),
        insert: { place: ((index + 1) * every) / (plain.size + index + 1), count: 1 },
      }))
      return { changes: comings.sort((a, b) => a.at - b.at), cuts: cuts(random) }
    },
    ...proven,
  },
  {
    name: 'cut and resumed, many items come among those that were read',
    vary: (plain, random) => {
      const long = { ...plain, limit: 50, size: random.integer(300, 600), pause: undefined }
      const insert = () => ({ insert: { place: random.fraction() / 2, count: random.integer(50, 80) } })
      return { ...long, changes: spread(long, random, 2, insert), cuts: cuts(random) }
    },
    default: { isProven: true },
    plain: { isOutsideGuarantee: true },
  },
  {
    name: 'cut and resumed, stale replicas, mixed changes',
    vary: (plain, random) => ({
      changes: mixed(plain, random),
      cuts: cuts(random),
      service: { ...plain.service, replicaLagsMs: lags(random) },
    }),
    ...proven,
  },
  {
    name: 'cut and resumed, smaller limits ignored',
    vary: (plain, random) => {
      const limit = limitOf(plain)
      const service = { ...plain.service, defaultLimit: limit, ignoresLimit: true }
      return { size: plain.size + limit, service, cuts: cuts(random) }
    },
    ...cannotOverlap,
  },
  {
    name: 'resumed after errors, mixed changes',
    vary: (plain, random) => ({
      changes: mixed(plain, random),
      maxRetries: 0,
      resumesAfterErrors: true,
      service: {
        ...plain.service,
        // The first request has to succeed: nothing can be resumed before it.
        faults: Object.fromEntries(random.times(5, () => [random.integer(2, 25), random.pick([500, 503])])),
      },
    }),
    ...proven,
  },
  {
    name: 'pages counted from 0',
    vary: plain => ({ size: plain.size + 1, service: { ...plain.service, countsFromZero: true } }),
    default: { mustThrowFromPages: 1 },
  },
  {
    name: 'page number ignored',
    vary: plain => ({
      size: plain.size + 2 * limitOf(plain) + 1,
      service: { ...plain.service, ignoresPage: true },
    }),
    default: { mustThrowFromPages: 3, isOutsideGuarantee: true },
  },
  {
    name: 'long list, hundreds inserted at the head',
    isSlow: true,
    vary: insertAtHeadOfLongList(300, 700),
    ...proven,
  },
  {
    name: 'long list, thousands inserted at the head',
    isSlow: true,
    vary: insertAtHeadOfLongList(1000, 2500),
    default: { isProven: true },
    plain: { isOutsideGuarantee: true },
  },
  {
    name: 'long list, hundreds added and removed, stale replicas',
    isSlow: true,
    vary: (plain, random) => {
      const long = { ...plain, limit: 100, size: random.integer(500, 4000), pause: undefined }
      const bulk = () => ({ place: someplace(random), count: random.integer(1, 1500) })
      const change = () => (random.chance(0.5) ? { insert: bulk() } : { remove: bulk() })
      return {
        ...long,
        changes: spread(long, random, random.integer(1, 12), change),
        service: { ...long.service, replicaLagsMs: lags(random) },
      }
    },
    default: { isProven: true },
    plain: { isOutsideGuarantee: true },
  },
  ...(['rotates', 'swaps', 'grows'] as const).flatMap((kind): Family[] => [
    {
      name: `never at rest: ${kind}`,
      vary: plain => ceaseless(plain, kind),
      ...proven,
      // Plain pages of such a list may never end.
      isSkipped: ['plain'],
    },
    {
      name: `never at rest: ${kind}, stale replicas`,
      vary: (plain, random) => ({
        ...ceaseless(plain, kind, 4),
        service: { ...plain.service, replicaLagsMs: [0, random.pick([10, 40])] },
      }),
      ...proven,
      isSkipped: ['plain'],
    },
  ]),
  ...(['rotates', 'rotates backwards', 'grows', 'shrinks'] as const).flatMap(kind =>
    [false, true].map(
      (isByClock): Family => ({
        name: isByClock
          ? `a third of a window ${kind} by the clock`
          : `a fifth of a window ${kind} with each response`,
        isSlow: true,
        vary: (_plain, random) => pressed(random, kind, isByClock),
        default: { isProven: true, mayThrow: ['no-progress'], mostRequests: kind === 'grows' ? 2 : 1.5 },
        isSkipped: ['plain'],
      }),
    ),
  ),
  {
    name: 'two fifths of a window rotate with each response, some of which overtake others',
    isSlow: true,
    vary: (_plain, random) => pressed(random, 'rotates', false, 0.5, 0.4),
    default: { isProven: true, mostRequests: 1.5 },
    isSkipped: ['plain'],
  },
  {
    name: 'never at rest, cut and resumed',
    vary: (plain, random) => ({ ...ceaseless(plain, 'rotates'), cuts: cuts(random) }),
    ...proven,
  },
  {
    name: 'the reader removes what it reads',
    vary: () => ({ drains: true }),
    default: { rarelyThrows: true, isProven: true },
    plain: { rarelyThrows: false, isOutsideGuarantee: true },
  },
  {
    name: 'most of the list rolls on while the reader is away',
    vary: (plain, random) => {
      const limit = limitOf(plain)
      const size = limit * random.integer(4, 14)
      const count = random.integer(1, Math.floor(0.95 * size))
      const roll = { remove: { place: 0, count }, insert: { place: 1, count } }
      return { size, changes: [{ at: 1e5, ...roll }], cuts: [{ batches: random.integer(1, 4), ms: 2e5 }] }
    },
    default: { isProven: true },
    plain: { isOutsideGuarantee: true },
  },
  {
    name: 'newest first, read until the last cursor',
    vary: (plain, random) => ({
      untilRuns: random.integer(1, 4),
      changes: [
        ...inserts(plain, random, head, 12),
        ...removals(plain, random, someplace, random.integer(0, 2)),
      ],
    }),
    ...proven,
  },
  {
    name: 'rows first, count later',
    vary: (plain, random) => ({
      changes: anyChanges(plain, random),
      service: { ...plain.service, countsLater: true },
    }),
    ...proven,
  },
  {
    name: 'the reader leaves early',
    vary: (plain, random) => ({
      changes: mixed(plain, random, random.integer(0, 4)),
      leaveAfter: random.integer(1, Math.max(1, plain.size)),
    }),
    ...proven,
  },
  {
    name: "onMissedItems: 'continue'",
    vary: (plain, random) => ({ changes: mixed(plain, random), onMissedItems: 'continue' }),
    ...proven,
    isSkipped: ['verified'],
  },
]

function lags(random: Random): number[] {
  return [0, ...random.times(random.integer(1, 3), () => random.pick([10, 40, 150, 1000]))]
}

/** As many changes as a window can cope with during the slowest response. */
function ceaseless(plain: Scenario, kind: Ceaseless['kind'], slack = 1): Partial<Scenario> {
  const limit = Math.max(10, limitOf(plain))
  const slowest = Math.max(...plain.routes.map(({ serveMs, arriveMs }) => serveMs + arriveMs), 1)
  const inFlight = 2 * plain.concurrency
  return { limit, ceaseless: { kind, count: 1, every: { ms: (slack * slowest * inFlight * 4) / limit } } }
}

/**
 * A long list that loses up to a fifth of a window with each response, or up to a third per latency by the clock. Latencies then
 * vary, so some responses overtake others.
 */
function pressed(
  random: Random,
  kind: Ceaseless['kind'],
  isByClock: boolean,
  unevenness = isByClock ? 0.5 : 0,
  most = isByClock ? 1 / 3 : 1 / 5,
): Partial<Scenario> {
  const limit = random.pick([20, 50, 100])
  const latency = random.integer(4, 40)
  const count = Math.max(1, Math.floor(random.fraction() * most * limit))
  const leg = () => (latency / 2) * (1 + unevenness * (2 * random.fraction() - 1))
  const every = isByClock ? { ms: latency / count } : 'response'
  return {
    limit,
    size: limit * random.integer(20, 40),
    pause: undefined,
    routes: random.times(48, () => ({ serveMs: leg(), arriveMs: leg(), replica: 0 })),
    ceaseless: { kind, count: isByClock ? 1 : count, every },
  }
}

/** Stops a few times after a few batches, for moments or for longer than the walk takes. */
function cuts(random: Random): Scenario['cuts'] {
  return random.times(random.integer(1, 6), () => ({
    batches: random.integer(1, 4),
    ms: random.pick([0, 5, 50, 400]),
  }))
}

/** Some walks run against a service that responds steadily, some against one whose responses overtake each other. */
function routes(random: Random): Route[] {
  const slowest = random.pick([2, 12, 40])
  const straggler = random.pick([0, 0.1, 0.3])
  return random.times(48, () => ({
    serveMs: random.integer(0, slowest) + (random.chance(straggler) ? 60 : 0),
    arriveMs: random.integer(0, slowest) + (random.chance(straggler) ? 60 : 0),
    replica: random.integer(0, 3),
  }))
}

function limitsOf(verified: boolean | undefined): number[] {
  return verified === false ? [2, 3, 5, 10, 16, 20] : [2, 3, 5, 12, 16, 20, 25, 50]
}

export function createScenario(
  family: Family,
  seed: string,
  random: Random,
  settings: { verified: boolean | undefined; concurrency: number },
): Scenario {
  const limit = random.pick(limitsOf(settings.verified))
  const plain: Scenario = {
    family: family.name,
    seed,
    ...settings,
    onMissedItems: 'throw',
    size: random.integer(0, limit * random.pick([2, 8, 8, 14])),
    twinDistance: undefined,
    firstPage: 1,
    limit,
    maxRetries: 2,
    changes: [],
    ceaseless: undefined,
    drains: false,
    routes: routes(random),
    service: {
      defaultLimit: 20,
      maxLimit: 100,
      limitChange: undefined,
      ignoresLimit: false,
      refusesSmallerLimits: false,
      isFixture: false,
      hasRowNumbers: false,
      hidesEvery: undefined,
      ignoresPage: false,
      countsFromZero: false,
      replicaLagsMs: [0],
      totalLagMs: 0,
      countsLater: false,
      totalErrors: [0],
      faults: {},
      brokenRequest: undefined,
    },
    pause: random.chance(0.25)
      ? { everyItems: random.integer(1, limit), ms: random.integer(1, 30) }
      : undefined,
    leaveAfter: undefined,
    cuts: [],
    untilRuns: 0,
    resumesAfterErrors: false,
  }
  return { ...plain, ...family.vary(plain, random) }
}
