import { Client, type ClientOptions } from 'virtual-accounts'
import { Random } from '../simulation/random.ts'
import { VirtualTime } from '../simulation/virtual-time.ts'
import { type Conditions, idealMs, LimitedService } from './service.ts'

/** A service, and what is asked of it. */
export interface Scenario extends Conditions {
  readonly group: string
  readonly name: string
  readonly calls: number
  /** Number of calls at a time. Default: all. */
  readonly atATime?: number
  /** Delay between the starts of two calls. By default, all start at once. */
  readonly everyMs?: number
  /** Number of calls before the others, one every half second. */
  readonly warmUp?: number
  /** A report is requested this often, and is refused alone. */
  readonly reportEveryMs?: number
  /** Clients that share the service. */
  readonly clients?: number
  /** Each attempt has an API key of its own. */
  readonly hasTokens?: boolean
  /** When the process is frozen for ten minutes. */
  readonly frozenAt?: number
  readonly options?: Partial<ClientOptions>
  readonly seed?: number
  /** The best time in seconds, where it does not follow from the rest. */
  readonly ideal?: number
  /** What is wrong with an outcome, if anything. */
  readonly problem: (outcome: Outcome) => string | undefined
}

export interface Outcome {
  readonly succeeded: number
  readonly failed: number
  /** When the last call succeeded, and when all had ended, in seconds. */
  readonly seconds: number
  readonly endedAt: number
  readonly ideal: number
  /** Of those that succeeded, in seconds. */
  readonly medianWait: number
  readonly requestsPerCall: number
  /** Refusals per call, except those of the first burst. */
  readonly refusals: number
  /** The most requests in flight. */
  readonly inFlight: number
  /** Timers that were left behind. */
  readonly timers: number
}

const hours = 3_600_000

/** Runs a scenario in virtual time. The same seed gives the same outcome. */
export async function run(scenario: Scenario): Promise<Outcome> {
  const { calls, atATime = calls, everyMs, warmUp = 0, reportEveryMs, clients = 1, frozenAt } = scenario
  const time = new VirtualTime()
  const random = new Random(`pace ${scenario.seed ?? 1}`)
  const service = new LimitedService(scenario, time, random)
  const restore = time.install(random)
  let skew = 0
  Object.defineProperty(performance, 'now', { value: () => time.now + skew, configurable: true })
  if (frozenAt)
    time.after(frozenAt, () => {
      skew = 600_000
    })
  let tokens = 0
  const apiKey = scenario.hasTokens ? () => `token ${++tokens}` : 'test_key'
  const { fetch } = service
  const options = { baseUrl: 'https://simulation.test', apiKey, fetch, ...scenario.options }
  const all = Array.from({ length: clients }, () => new Client(options))
  const waits: number[] = []
  let succeededAt = 0
  const deactivate = async (call: number) => {
    const startedAt = time.now
    const account = { customerId: 'c', virtualAccountId: `${call}` }
    try {
      await all[call % clients]!.virtualAccounts.deactivate(account)
      succeededAt = time.now
      waits.push(time.now - startedAt)
    } catch {
      // Counted at the end, with those that never end.
    }
  }
  let isOver = false
  const report = async () => {
    for (; !isOver; await time.pause(reportEveryMs!)) all[0]!.request('POST', '/report').catch(() => {})
  }
  const work = async () => {
    const started: Promise<unknown>[] = []
    const start = async (from: number, to: number, ms: number) => {
      for (let call = from; call < to; call++) {
        started.push(deactivate(call))
        await time.pause(ms)
      }
    }
    if (reportEveryMs) void report()
    await start(calls, calls + warmUp, 500)
    if (everyMs) await start(0, calls, everyMs)
    else {
      const numbers = Array.from({ length: calls }, (_, at) => at).values()
      const worker = async () => {
        for (const call of numbers) await deactivate(call)
      }
      started.push(...Array.from({ length: Math.min(atATime, calls) }, worker))
    }
    await Promise.all(started)
    isOver = true
  }
  try {
    void work()
    await time.run(() => isOver || time.now > 2 * hours)
    const endedAt = isOver ? time.now / 1_000 : Number.POSITIVE_INFINITY
    // What is left behind does nothing, but would keep a process alive.
    let timers = 0
    if (!reportEveryMs) await time.run(() => ++timers > 100)
    waits.sort((one, other) => one - other)
    const least = idealMs(scenario, calls, everyMs ? calls : Math.min(atATime, 50 * clients)) / 1_000
    return {
      succeeded: waits.length,
      failed: calls + warmUp - waits.length,
      seconds: succeededAt / 1_000,
      endedAt,
      ideal: scenario.ideal ?? Math.max(least, ((everyMs ?? 0) * calls) / 1_000),
      medianWait: (waits[waits.length >> 1] ?? 0) / 1_000,
      requestsPerCall: service.requests / calls,
      refusals: service.refusals / calls,
      inFlight: service.mostOpen,
      timers: Math.max(0, timers - 1),
    }
  } finally {
    restore()
  }
}
