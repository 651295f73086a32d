import type { Limit } from './service.ts'
import type { Outcome, Scenario } from './trial.ts'

const minute = 60_000
const none: Limit = { kind: 'none', quota: 0 }
const bucket = (quota: number, rest: Partial<Limit> = {}): Limit => ({ kind: 'bucket', quota, ...rest })
const fixed = (quota: number, rest: Partial<Limit> = {}): Limit => ({ kind: 'fixed', quota, ...rest })

type Problem = Scenario['problem']
const scenarios: Scenario[] = []
let group = ''

function add(
  name: string,
  limit: Limit,
  calls: number,
  problem: Problem,
  rest: Partial<Scenario> = {},
): void {
  scenarios.push({ group, name, limit, calls, problem, ...rest })
}

/** Checks that every call succeeds, near the time that the limit allows, and without hammering the service. */
function steady(mostRefusals = 0.35, factor = 1.35, plus = 5): Problem {
  return ({ failed, seconds, ideal, refusals, timers }) => {
    if (failed > 0) return 'calls failed'
    if (timers > 0) return 'timers were left behind'
    if (seconds > factor * ideal + plus) return 'slow'
    return refusals > mostRefusals && refusals > 10 / ideal ? 'refused too often' : undefined
  }
}

/** Below ten a second there are few calls between two refusals. */
const slowly = steady(1.1, 1.6)

function within(most: number): Problem {
  return ({ failed, seconds }) => (failed > 0 ? 'calls failed' : seconds > most ? 'slow' : undefined)
}

/** Checks that calls refused for a quota of their own do not delay the others. */
function undisturbed(others: number, median = 1): Problem {
  return ({ succeeded, seconds, ideal, medianWait, endedAt }) => {
    if (succeeded < others) return 'others failed'
    if (seconds > 1.2 * ideal + 8) return 'slow'
    if (medianWait > median) return 'others wait'
    return Number.isFinite(endedAt) ? undefined : 'no end'
  }
}

group = 'limits'
for (const kind of ['fixed', 'sliding', 'bucket'] as const)
  for (const quota of [1, 5, 20, 100, 500])
    for (const latency of [5, 50, 300])
      for (const retryAfter of ['exact', 'none'] as const)
        for (const atATime of [2_000, 8]) {
          // Eight at a time are not enough to reach it.
          if (atATime === 8 && quota >= 100 && 8_000 / latency < quota) continue
          const name = `${kind} ${quota} a second, ${latency} ms, ${retryAfter}, ${atATime} at a time`
          const calls = Math.max(60, Math.min(2_000, quota * 20))
          add(name, { kind, quota }, calls, quota < 10 ? slowly : steady(), { latency, retryAfter, atATime })
        }
for (const [quota, factor] of [
  [5, 1.1],
  [5, 2],
  [50, 1.1],
  [50, 2],
] as const)
  for (const retryAfter of ['exact', 'none'] as const) {
    const name = `bucket ${quota} a second, ${factor} times as many, ${retryAfter}`
    const rest = { retryAfter, everyMs: 1_000 / (quota * factor) }
    add(name, bucket(quota), quota * 40, quota < 10 ? slowly : steady(), rest)
  }
for (const quota of [1, 5, 25])
  for (const latency of [50, 300]) {
    const calls = Math.max(60, Math.min(300, 40 * quota))
    const problem = steady(quota < 5 ? 1 : 0.35, 1.35, 12)
    add(`${quota} in flight, ${latency} ms`, { kind: 'in-flight', quota }, calls, problem, { latency })
  }
add('bucket 50, 20 ms', bucket(50), 200, within(5.5), { latency: 20 })
add('bucket 50 by 503', bucket(50), 200, within(5.5), { latency: 20, status: 503 })
add('bucket 50 that holds 10', bucket(50, { burst: 10 }), 200, within(15), { latency: 20 })
add('bucket 40, 300 at once', bucket(40), 300, steady(0.3))
add('bucket 50, 2,000 at once, 300 ms', bucket(50), 2_000, within(53), { latency: 300 })
add('four clients share 50', bucket(50), 400, within(20.5), { latency: 20, clients: 4 })
add('twenty clients share 20', bucket(20), 400, steady(1.2, 2.6), { clients: 20 })
add('calls of 5 s, 10 a second', bucket(10), 100, steady(1, 2), { latency: 5_000, ideal: 15 })
add('a slow stream, then a burst', bucket(50), 500, steady(), { warmUp: 20, ideal: 19 })
for (const calls of [200, 1_000, 4_000])
  add(`a token for each attempt, ${calls}`, bucket(50), calls, steady(0.5), { hasTokens: true })
for (const frozenAt of [20, 300, 1_000, 3_000])
  for (const retryAfter of ['exact', 'none'] as const) {
    const rest = { frozenAt, retryAfter }
    add(`frozen at ${frozenAt} ms, a second, ${retryAfter}`, fixed(50), 500, steady(9, 1.5, 12), rest)
    const limit = fixed(60, { windowMs: minute })
    add(`frozen at ${frozenAt} ms, a minute, ${retryAfter}`, limit, 120, steady(9, 1.5, 12), rest)
  }

group = 'minutes'
for (const atATime of [1, 2, 5])
  for (const quota of [10, 60])
    for (const phase of [0, 13_000])
      for (const seed of [1, 2, 3]) {
        const limit = fixed(quota, { windowMs: minute, phase })
        const name = `${quota} a minute, ${atATime} at a time, phase ${phase}, seed ${seed}`
        add(name, limit, 3 * quota, slowly, { retryAfter: 'none', atATime, seed })
      }
// Without a `Retry-After`, it depends on chance which client takes most of a minute.
for (const retryAfter of ['exact', 'none', 30, 59, 61] as const)
  for (const clients of typeof retryAfter === 'number' ? [1, 3] : [1, 2, 3, 5])
    for (const seed of retryAfter === 'none' ? [1, 2, 3, 4, 5] : [clients]) {
      const limit = fixed(60, { windowMs: minute, phase: typeof retryAfter === 'number' ? 7_000 : 0 })
      const rest = { retryAfter, clients, seed }
      add(`60 a minute, ${retryAfter}, ${clients} clients, seed ${seed}`, limit, 180, slowly, rest)
    }
for (const [retryAfter, ideal] of [
  [30, 120],
  [59, 240],
  [61, 122],
] as const) {
  const limit = { kind: 'sliding', quota: 60, windowMs: minute } as const
  add(`sliding 60 a minute, ${retryAfter}`, limit, 180, slowly, { retryAfter, ideal })
}
const stream = { retryAfter: 'none', everyMs: 833 } as const
add('1.2 a second against 60 a minute', fixed(60, { windowMs: minute }), 240, slowly, stream)
add('1 in 10 s', bucket(1, { windowMs: 10_000 }), 30, steady(4), { retryAfter: 'none' })
add('1 in 30 s', bucket(1, { windowMs: 30_000 }), 10, steady(6, 1.35, 30), { retryAfter: 'none' })
for (const [retryAfter, until] of [
  [45, 75_000],
  [60, 100_000],
] as const) {
  const isRefusedAlone = (_: number, now: number) => now < until
  add(`${until / 1_000} s without a pass, 1 s away, ${retryAfter}`, none, 20, within(200), {
    retryAfter,
    latency: 1_000,
    isRefusedAlone,
  })
}
const untilThen = { retryAfter: 'none', isRefusedAlone: (_: number, now: number) => now < 75_000 } as const
add('75 s without a pass', none, 200, within(110), untilThen)
add('1 a minute', fixed(1, { windowMs: minute }), 5, steady(4))

group = 'alone'
const everyMs = 50
for (const retryAfter of ['none', 5, 30] as const)
  for (const percent of [1, 5, 20]) {
    const isRefusedAlone = (call: number) => call % (100 / percent) === 0
    const rest = { everyMs, retryAfter, isRefusedAlone }
    add(`${percent} % of 20 a second, ${retryAfter}`, none, 2_400, undisturbed(24 * (100 - percent)), rest)
  }
const areInRow = (call: number) => call > 9 && call < 14
const fourInRow = { everyMs: 1_000, retryAfter: 'none', isRefusedAlone: areInRow } as const
add('4 in a row of one a second', none, 60, undisturbed(56, 0.2), fourInRow)
const isAtFirst = { retryAfter: 'none', isRefusedAlone: (_: number, now: number) => now < 200 } as const
add('2 calls, all refused for 200 ms', none, 2, within(3), isAtFirst)
const byChance = (call: number) => (Math.imul(call + 1, 0x9e3779b1) >>> 8) % 1_000 < 200
const isLate = (call: number, now: number) => call % 5 === 0 && now < call * 50 + 4_500
const isOnce = (_: number, now: number) => now > 10_000 && now < 10_050
const chance = { retryAfter: 'none', isRefusedAlone: byChance } as const
for (const [seconds, retryAfter] of [
  [3, 'none'],
  [10, 'none'],
  [10, 5],
] as const) {
  const isRefusedAlone = (call: number, now: number) => now < seconds * 1_000 || call % 5 === 0
  const rest = { everyMs, retryAfter, isRefusedAlone }
  add(`all for ${seconds} s, then 20 %, ${retryAfter}`, none, 2_400, undisturbed(1_920), rest)
}
add('20 % by chance', none, 2_400, undisturbed(1_850), { ...chance, everyMs })
add('20 % of 2,000 at once', none, 2_000, undisturbed(1_550, 3), chance)
add('20 % for 5 s', none, 2_400, undisturbed(2_400), { everyMs, retryAfter: 5, isRefusedAlone: isLate })
add('one for a minute', none, 2_400, undisturbed(2_400), { everyMs, retryAfter: 60, isRefusedAlone: isOnce })
for (const [retryAfter, reportEveryMs] of [
  ['none', 1_000],
  ['none', 5_000],
  [1, 5_000],
  [30, 5_000],
] as const) {
  const rest = { everyMs, retryAfter, reportEveryMs, isRefusedAlone: (call: number) => call < 0 }
  add(`a report every ${reportEveryMs} ms, ${retryAfter}`, none, 2_400, undisturbed(2_400), rest)
}
const isTwentieth = (call: number) => call % 20 === 0
const beside = { isRefusedAlone: isTwentieth, ideal: 20 }
add('5 % beside 50 a second', bucket(50), 1_000, undisturbed(950, 15), beside)

group = 'outages'
const endsWithin =
  (most: number): Problem =>
  ({ endedAt }) =>
    endedAt > most ? 'slow' : undefined
for (const failure of ['lost', 'refused', 500, 503] as const)
  for (const calls of [200, 2_000]) {
    const outage = (now: number) => (now > 300 ? failure : undefined)
    add(`a 429, then ${failure}, ${calls} calls`, bucket(50), calls, endsWithin(12), { outage })
  }
for (const failure of ['lost', 'refused', 500] as const) {
  const outage = (now: number) => now > 5_300 && failure
  add(`paced, then ${failure}`, bucket(50), 2_000, endsWithin(17), { outage })
}
for (const failure of ['lost', 'refused'] as const) {
  const outage = (now: number) => (now > 300 && now < 1_500 ? failure : undefined)
  const problem: Problem = ({ failed, seconds }) => (failed > 250 || seconds > 30 ? 'an outage' : undefined)
  add(`a 429, ${failure} for 1.2 s`, bucket(50), 500, problem, { outage })
}
/** A call may fail if all three attempts fail by chance. Failed attempts also use up the limit. */
const besides =
  (part: number): Problem =>
  ({ failed, seconds, ideal, succeeded }) =>
    failed > 2 + 3 * part ** 3 * (failed + succeeded)
      ? 'calls failed'
      : seconds > (1.3 * ideal) / (1 - part) + 5
        ? 'slow'
        : undefined
for (const failure of ['lost', 503] as const)
  for (const quota of [20, 100])
    for (const part of [0.02, 0.05, 0.25])
      for (const latency of [5, 50]) {
        const outage = (_: number, lot: number) => lot < part && failure
        const name = `${100 * part} % ${failure} beside ${quota} a second, ${latency} ms`
        add(name, bucket(quota), 1_000, besides(part), { latency, outage })
      }
const isAmplified = ({ requestsPerCall }: Outcome) => (requestsPerCall > 1.1 ? 'amplified' : undefined)
const isEndless = ({ requestsPerCall, endedAt }: Outcome) =>
  requestsPerCall > 3 || endedAt > 100 ? 'no end' : undefined
for (const [name, limit, calls, problem, outage, rest] of [
  [
    '60 a minute, then lost',
    fixed(60, { windowMs: minute }),
    2_000,
    endsWithin(180),
    now => now > 75_000 && 'lost',
  ],
  ['a 429, then hang', bucket(50), 2_000, endsWithin(900), now => now > 300 && 'hang'],
  ['hang', none, 2_000, endsWithin(900), () => 'hang'],
  [
    '1 % lost beside 50 a second',
    bucket(50),
    1_000,
    steady(0.4),
    (_, lot) => lot < 0.01 && 'lost',
    { seed: 2 },
  ],
  ['503 for 200 ms', none, 200, within(3), now => now < 200 && 503],
  ['lost for 200 ms', none, 200, within(3), now => now < 200 && 'lost'],
  ['503 again and again', none, 6_000, within(10), now => now % 2_000 < 200 && 503, { everyMs: 1 }],
  ['503 for ever', none, 6_000, isAmplified, () => 503, { atATime: 200 }],
  ['lost for ever', none, 6_000, isAmplified, () => 'lost', { everyMs: 10 }],
  ['always 429', none, 200, isEndless, () => false, { retryAfter: 'none', isRefusedAlone: () => true }],
] as [string, Limit, number, Problem, NonNullable<Scenario['outage']>, Partial<Scenario>?][])
  add(name, limit, calls, problem, { latency: 20, outage, ...rest })

group = 'unlimited'
const free: Problem = each => (each.inFlight > 50 ? 'in flight' : within(1.35 * each.ideal + 1)(each))
add('2,000 at once', none, 2_000, free)
add('2,000 of 100 ms, timeout 1 s', none, 2_000, free, { latency: 100, options: { timeout: 1_000 } })
add('400 with 30 sockets', none, 400, within(12), { sockets: 30 })

export const all: readonly Scenario[] = scenarios

export function scenario(name: string): Scenario {
  const found = all.find(each => each.name === name)
  if (!found) throw new Error(`no scenario ${name}`)
  return found
}
