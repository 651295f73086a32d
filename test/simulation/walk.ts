import { Client, type EndEvent, isApiError } from 'virtual-accounts'
import { Random } from './random.ts'
import type { Scenario } from './scenario.ts'
import { type Exchange, type LogEntry, SimulatedService } from './service.ts'
import { VirtualTime } from './virtual-time.ts'

/** A walk as it went. */
export interface WalkRecord {
  readonly scenario: Scenario
  readonly outcome: 'completed' | 'thrown' | 'left' | 'hung' | 'endless'
  readonly error: unknown
  /** What its loop, or the last of several, said at its end. */
  readonly ended: EndEvent | undefined
  readonly yielded: readonly string[]
  readonly exchanges: readonly Exchange[]
  readonly states: readonly (readonly string[])[]
  readonly log: readonly LogEntry[]
  /** The items that moved within the list: nothing is promised of them. */
  readonly moved: ReadonlySet<string>
  readonly mostInFlight: number
  /** Requests that were sent, or still in flight, after the walk was over. */
  readonly leftOver: number
}

/** Walks a list as the scenario says. The same scenario gives the same record. */
export async function walk(scenario: Scenario): Promise<WalkRecord> {
  const time = new VirtualTime()
  const service = new SimulatedService(scenario, time)
  const restore = time.install(new Random(`jitter ${scenario.seed}`))
  try {
    return await read(scenario, service, time)
  } finally {
    restore()
  }
}

const maxResumes = 10

async function read(scenario: Scenario, service: SimulatedService, time: VirtualTime): Promise<WalkRecord> {
  const { pause, leaveAfter, cuts, resumesAfterErrors, drains, untilRuns } = scenario
  const yielded: string[] = []
  let outcome: WalkRecord['outcome'] | undefined
  let error: unknown
  let ended: EndEvent | undefined

  const listAfter = (cursor: string | undefined, until?: string) => {
    const { firstPage, limit, concurrency, maxRetries, onMissedItems, verified } = scenario
    const client = new Client({
      baseUrl: 'https://simulation.test',
      apiKey: 'test_key',
      maxRetries,
      fetch: service.fetch,
      onEvent: event => {
        if (event.type === 'end') ended = event
      },
    })
    const params = cursor === undefined ? { page: firstPage, limit } : { limit }
    return client.transactions.list(params, { concurrency, onMissedItems, verified, after: cursor, until })
  }
  const take = async (items: Iterable<{ id: string }>) => {
    for (const { id } of items) {
      yielded.push(id)
      service.record({ type: 'yield', id })
      if (drains) service.remove(id)
      if (yielded.length === leaveAfter) return 'left'
      if (pause && yielded.length % pause.everyItems === 0) await time.pause(pause.ms)
    }
  }
  const iterate = async () => {
    for await (const item of listAfter(undefined)) if (await take([item])) return 'left'
    return 'completed'
  }
  /** One process after the other, each with the cursor of the one before. */
  const iterateByBatches = async () => {
    let cursor: string | undefined
    for (let run = 0; ; run++) {
      const cut = cuts[run]
      if (run > 0 && cursor !== undefined) service.record({ type: 'resume', cursor })
      try {
        let batches = 0
        let isCut = false
        for await (const batch of listAfter(cursor).batches()) {
          if (await take(batch.items)) return 'left'
          cursor = JSON.parse(JSON.stringify(batch)).cursor
          isCut = ++batches === cut?.batches
          if (isCut) break
        }
        if (!isCut) return 'completed'
      } catch (thrown) {
        if (!resumesAfterErrors || !isApiError(thrown) || run > maxResumes) throw thrown
        cursor = thrown.cursor
        service.repair()
      }
      if (cut) await time.pause(cut.ms)
    }
  }

  /** Each loop reads what is new at the beginning. */
  const iterateNewest = async () => {
    let newest: string | undefined
    for (let run = 0; run <= untilRuns; run++) {
      let first: string | undefined
      if (newest !== undefined) service.record({ type: 'resume', cursor: newest })
      for await (const { items, cursor } of listAfter(undefined, newest).batches()) {
        first ??= cursor
        await take(items)
      }
      newest = first ?? newest
      await time.pause(50)
    }
    return 'completed' as const
  }

  const finish = (how: WalkRecord['outcome'], thrown?: unknown) => {
    outcome ??= how
    error ??= thrown
    service.record({ type: 'end', how: thrown === undefined ? how : String(thrown) })
  }
  const reading =
    untilRuns > 0 ? iterateNewest() : cuts.length > 0 || resumesAfterErrors ? iterateByBatches() : iterate()
  reading.then(finish, thrown => finish('thrown', thrown))

  const mostItems = (scenario.size + sum(scenario.changes.map(({ insert }) => insert?.count ?? 0))) * 2
  const mostRequests = Math.min(100 + 20 * mostItems, 2_000)
  const isEndless = () => service.exchanges.length > mostRequests || time.now > 3_600_000
  const isSettled = await time.run(() => outcome !== undefined || isEndless())
  if (outcome === undefined) finish(isSettled ? 'endless' : 'hung')

  service.rest()
  // Requests still in flight, or sent from now on, are left over.
  const requests = service.exchanges.length
  const { inFlight, exchanges, states, log, moved, mostInFlight } = service
  if (outcome !== 'endless') await time.run(() => false)
  const leftOver = inFlight + exchanges.length - requests
  const settled = outcome as WalkRecord['outcome']
  const facts = { scenario, outcome: settled, error, ended, yielded }
  return { ...facts, exchanges, states, log, moved, mostInFlight, leftOver }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
