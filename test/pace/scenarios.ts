import type { Limit } from './service.ts'
import type { Outcome, Scenario } from './trial.ts'

const none: Limit = { kind: 'none', quota: 0 }
const bucket = (quota: number, rest: Partial<Limit> = {}): Limit => ({ kind: 'bucket', quota, ...rest })
const fixed = (quota: number, rest: Partial<Limit> = {}): Limit => ({ kind: 'fixed', quota, ...rest })
const minute = 60_000

type Problem = Scenario['problem']

/** What is wrong unless every call succeeds, near the time that the limit allows, and without hammering the service. */
const steady =
  (mostRefusals = 0.35, factor = 1.35, plus = 5): Problem =>
  ({ failed, seconds, ideal, refusals, timers }) => {
    if (failed > 0) return 'calls failed'
    if (timers > 0) return 'timers were left behind'
    if (seconds > factor * ideal + plus) return 'slow'
    return refusals > mostRefusals && refusals > 10 / ideal ? 'refused too often' : undefined
  }

/** Below ten a second there are few calls between two refusals. */
const slowly = steady(1.05, 1.6)

const withinSeconds =
  (most: number): Problem =>
  ({ failed, seconds }) =>
    failed > 0 ? 'calls failed' : seconds > most ? 'slow' : undefined

/** What is wrong unless calls that are not refused for themselves go on as if there were no others. */
const undisturbed =
  (others: number, median = 1): Problem =>
  ({ succeeded, seconds, ideal, medianWait, endedAt }) => {
    if (succeeded < others) return 'others failed'
    if (seconds > 1.2 * ideal + 8) return 'slow'
    if (medianWait > median) return 'others wait'
    return Number.isFinite(endedAt) ? undefined : 'no end'
  }

const byChance = (call: number) => (Math.imul(call + 1, 0x9e3779b1) >>> 8) % 1_000 < 200

/** A limit of the service, of whatever kind. */
function* limits(): Generator<Scenario> {
  for (const kind of ['fixed', 'sliding', 'bucket'] as const)
    for (const quota of [1, 5, 20, 100, 500])
      for (const latency of [5, 50, 300])
        for (const retryAfter of ['exact', 'none'] as const)
          for (const atATime of [undefined, 8]) {
            if (atATime && quota >= 100 && 8_000 / latency < quota) continue
            const name = `${kind} ${quota} a second, ${latency} ms, ${retryAfter}, ${atATime ?? 'all'} at a time`
            const calls = Math.max(60, Math.min(2_000, quota * 20))
            const problem = quota < 10 ? slowly : steady()
            yield {
              name,
              limit: { kind, quota },
              latency,
              retryAfter,
              calls,
              problem,
              ...(atATime && { atATime }),
            }
          }
  for (const [quota, perSecond] of [
    [5, 5.5],
    [5, 10],
    [50, 55],
    [50, 100],
  ] as const)
    for (const retryAfter of ['exact', 'none'] as const) {
      const name = `bucket ${quota} a second, a stream of ${perSecond}, ${retryAfter}`
      const problem = quota < 10 ? slowly : steady()
      yield { name, limit: bucket(quota), retryAfter, calls: quota * 40, everyMs: 1_000 / perSecond, problem }
    }
  for (const quota of [1, 5, 25])
    for (const latency of [50, 300]) {
      const limit = { kind: 'in-flight', quota } as const
      yield {
        name: `${quota} in flight, ${latency} ms`,
        limit,
        latency,
        calls: 40 * Math.min(quota, 7) + 20,
        problem: steady(quota < 5 ? 1 : 0.35, 1.35, 12),
      }
    }
  yield { name: 'bucket 50, 20 ms', limit: bucket(50), latency: 20, calls: 200, problem: withinSeconds(5.5) }
  yield {
    name: 'bucket 50 by 503',
    limit: bucket(50),
    status: 503,
    latency: 20,
    calls: 200,
    problem: withinSeconds(5.5),
  }
  yield {
    name: 'bucket 50 that holds 10',
    limit: bucket(50, { burst: 10 }),
    latency: 20,
    calls: 200,
    problem: withinSeconds(15),
  }
  yield { name: 'bucket 40, 300 at once', limit: bucket(40), calls: 300, problem: steady(0.3) }
  yield {
    name: 'bucket 50, 2,000 at once, 300 ms',
    limit: bucket(50),
    latency: 300,
    calls: 2_000,
    problem: withinSeconds(53),
  }
  yield {
    name: 'four clients share 50',
    limit: bucket(50),
    latency: 20,
    calls: 400,
    clients: 4,
    problem: withinSeconds(20.5),
  }
  yield {
    name: 'twenty clients share 20',
    limit: bucket(20),
    calls: 400,
    clients: 20,
    problem: steady(1.2, 2.6),
  }
  yield {
    name: 'calls of 5 s, 10 a second',
    limit: bucket(10),
    latency: 5_000,
    calls: 100,
    ideal: 15,
    problem: steady(1, 2),
  }
  yield {
    name: 'a slow stream, then a burst',
    limit: bucket(50),
    warmUp: 20,
    calls: 500,
    ideal: 19,
    problem: steady(),
  }
  for (const calls of [200, 1_000])
    yield {
      name: `a token for each attempt, ${calls}`,
      limit: bucket(50),
      hasTokens: true,
      calls,
      problem: steady(0.5),
    }
  for (const frozenAt of [20, 300, 1_000, 3_000])
    for (const retryAfter of ['exact', 'none'] as const)
      for (const [quota, windowMs, calls] of [
        [50, 1_000, 500],
        [60, minute, 120],
      ] as const) {
        const name = `frozen at ${frozenAt} ms, ${quota} in ${windowMs} ms, ${retryAfter}`
        yield {
          name,
          limit: fixed(quota, { windowMs }),
          retryAfter,
          calls,
          frozenAt,
          problem: steady(9, 1.5, 12),
        }
      }
}

/** A limit of so many a minute, which says nothing of when. */
function* minutes(): Generator<Scenario> {
  for (const atATime of [1, 2, 5])
    for (const quota of [10, 60])
      for (const phase of [0, 13_000]) {
        const limit = fixed(quota, { windowMs: minute, phase })
        yield {
          name: `${quota} a minute, none, ${atATime} at a time, phase ${phase}`,
          limit,
          retryAfter: 'none',
          atATime,
          calls: 3 * quota,
          problem: slowly,
        }
      }
  const limit = fixed(60, { windowMs: minute })
  for (const retryAfter of ['exact', 'none', 30, 59, 61] as const)
    for (const clients of [1, 2, 3, 5]) {
      if (clients === 5 && retryAfter !== 'exact' && retryAfter !== 'none') continue
      const name = `60 a minute, ${retryAfter}, ${clients} clients`
      const limit = fixed(60, { windowMs: minute, phase: typeof retryAfter === 'number' ? 7_000 : 0 })
      yield { name, limit, retryAfter, clients, calls: 180, seed: clients, problem: slowly }
    }
  const sliding: Limit = { kind: 'sliding', quota: 60, windowMs: minute }
  for (const retryAfter of [30, 59, 61])
    yield {
      name: `sliding 60 a minute, ${retryAfter}`,
      limit: sliding,
      retryAfter,
      calls: 180,
      ideal: 2 * Math.max(60, retryAfter) * (retryAfter === 59 ? 2 : 1),
      problem: slowly,
    }
  yield {
    name: '1.2 a second against 60 a minute',
    limit,
    retryAfter: 'none',
    calls: 240,
    everyMs: 833,
    problem: slowly,
  }
  yield {
    name: '1 in 10 s',
    limit: bucket(1, { windowMs: 10_000 }),
    retryAfter: 'none',
    calls: 30,
    problem: steady(4),
  }
  yield {
    name: '1 in 30 s',
    limit: bucket(1, { windowMs: 30_000 }),
    retryAfter: 'none',
    calls: 10,
    problem: steady(5, 1.35, 30),
  }
  yield { name: '1 a minute', limit: fixed(1, { windowMs: minute }), calls: 5, problem: steady(4) }
}

/** Calls that are refused for themselves, such as for the quota of their account, among others. */
function* alone(): Generator<Scenario> {
  const stream = { limit: none, calls: 2_400, everyMs: 50 }
  for (const retryAfter of ['none', 5, 30] as const)
    for (const percent of [1, 5, 20]) {
      const isRefusedAlone = (call: number) => call % (100 / percent) === 0
      const problem = undisturbed(24 * (100 - percent))
      yield {
        ...stream,
        name: `${percent} % of 20 a second, ${retryAfter}`,
        retryAfter,
        isRefusedAlone,
        problem,
      }
    }
  yield {
    ...stream,
    name: '20 % by chance',
    retryAfter: 'none',
    isRefusedAlone: byChance,
    problem: undisturbed(1_850),
  }
  const isLate = (call: number, now: number) => call % 5 === 0 && now < call * 50 + 4_500
  yield {
    ...stream,
    name: '20 % for 5 s',
    retryAfter: 5,
    isRefusedAlone: isLate,
    problem: undisturbed(2_400),
  }
  const isOnce = (_: number, now: number) => now > 10_000 && now < 10_050
  yield {
    ...stream,
    name: 'one 429 for a minute',
    retryAfter: 60,
    isRefusedAlone: isOnce,
    problem: undisturbed(2_400),
  }
  for (const [retryAfter, reportEveryMs] of [
    ['none', 5_000],
    [1, 5_000],
    [30, 60_000],
    [30, 5_000],
    ['none', 1_000],
  ] as const)
    yield {
      ...stream,
      name: `a report every ${reportEveryMs} ms, ${retryAfter}`,
      retryAfter,
      reportEveryMs,
      isRefusedAlone: call => call < 0,
      problem: undisturbed(2_400),
    }
  yield {
    name: '20 % of 2,000 at once',
    limit: none,
    retryAfter: 'none',
    isRefusedAlone: byChance,
    calls: 2_000,
    problem: undisturbed(1_550, 3),
  }
  const isTwentieth = (call: number) => call % 20 === 0
  yield {
    name: '5 % beside 50 a second',
    limit: bucket(50),
    isRefusedAlone: isTwentieth,
    calls: 1_000,
    ideal: 20,
    problem: undisturbed(950, 15),
  }
}

/** Nothing works, for a time or for ever, while calls wait for the service's limit. */
function* outages(): Generator<Scenario> {
  const endsWithin =
    (most: number): Problem =>
    ({ endedAt }) =>
      endedAt > most ? 'slow' : undefined
  for (const failure of ['lost', 'refused', 500, 503] as const)
    for (const calls of [200, 2_000])
      yield {
        name: `a 429, then ${failure}, ${calls} calls`,
        limit: bucket(50),
        outage: now => (now > 300 ? failure : undefined),
        calls,
        problem: endsWithin(12),
      }
  yield {
    name: 'a limit of 60 a minute, then lost',
    limit: fixed(60, { windowMs: minute }),
    outage: now => (now > 75_000 ? 'lost' : undefined),
    calls: 2_000,
    problem: endsWithin(180),
  }
  for (const limit of [none, bucket(50)])
    yield {
      name: `a 429 or not (${limit.kind}), then hang, 2,000 calls`,
      limit,
      outage: now => (now > 300 || limit === none ? 'hang' : undefined),
      calls: 2_000,
      problem: endsWithin(900),
    }
  for (const failure of ['lost', 'refused'] as const)
    yield {
      name: `a 429, ${failure} for 1.2 s`,
      limit: bucket(50),
      outage: now => (now > 300 && now < 1_500 ? failure : undefined),
      calls: 500,
      problem: ({ failed, seconds }) => (failed > 250 || seconds > 30 ? 'an outage' : undefined),
    }
  yield {
    name: '1 % lost beside 50 a second',
    seed: 2,
    limit: bucket(50),
    outage: (_, random) => (random.fraction() < 0.01 ? 'lost' : undefined),
    calls: 1_000,
    problem: steady(0.4),
  }
  for (const failure of [503, 'lost'] as const)
    yield {
      name: `${failure} for 200 ms`,
      limit: none,
      outage: now => (now < 200 ? failure : undefined),
      calls: 200,
      problem: withinSeconds(3),
    }
  const isRecurring = (now: number) => (now % 2_000 < 200 ? 503 : undefined)
  yield {
    name: '503 for 200 ms, again and again',
    limit: none,
    latency: 20,
    outage: isRecurring,
    calls: 6_000,
    everyMs: 1,
    problem: withinSeconds(10),
  }
  yield {
    name: '503 for 200 ms at 1,000 a second',
    limit: none,
    latency: 20,
    outage: now => (now > 500 && now < 700 ? 503 : undefined),
    calls: 2_000,
    everyMs: 1,
    problem: withinSeconds(8),
  }
  const isAmplified = ({ requestsPerCall }: Outcome) => (requestsPerCall > 1.1 ? 'amplified' : undefined)
  yield {
    name: '503 for ever, 200 at a time',
    limit: none,
    latency: 20,
    outage: () => 503,
    calls: 6_000,
    atATime: 200,
    problem: isAmplified,
  }
  yield {
    name: 'lost for ever, 100 a second',
    limit: none,
    latency: 20,
    outage: () => 'lost',
    calls: 6_000,
    everyMs: 10,
    problem: isAmplified,
  }
  yield {
    name: 'always 429',
    limit: none,
    retryAfter: 'none',
    isRefusedAlone: () => true,
    calls: 200,
    problem: ({ requestsPerCall, endedAt }) => (requestsPerCall > 3 || endedAt > 100 ? 'no end' : undefined),
  }
}

/** Nothing is limited but the number of requests in flight. */
function* unlimited(): Generator<Scenario> {
  const problem: Problem = outcome =>
    outcome.inFlight > 50 ? 'in flight' : withinSeconds(1.35 * outcome.ideal + 1)(outcome)
  yield { name: '2,000 at once', limit: none, calls: 2_000, problem }
  yield {
    name: '2,000 of 100 ms, timeout 1 s',
    limit: none,
    latency: 100,
    options: { timeout: 1_000 },
    calls: 2_000,
    problem,
  }
  yield { name: '400 with 30 sockets', limit: none, sockets: 30, calls: 400, problem: withinSeconds(12) }
}

export const groups: Readonly<Record<string, readonly Scenario[]>> = {
  limits: [...limits()],
  minutes: [...minutes()],
  alone: [...alone()],
  outages: [...outages()],
  unlimited: [...unlimited()],
}

export function scenario(name: string): Scenario {
  const found = Object.values(groups)
    .flat()
    .find(each => each.name === name)
  if (!found) throw new Error(`no scenario ${name}`)
  return found
}
