import { Client } from 'virtual-accounts'
import { Random } from './random.ts'
import type { Scenario } from './scenario.ts'
import { type Exchange, type LogEntry, SimulatedService } from './service.ts'
import { VirtualTime } from './virtual-time.ts'

/** A walk as it went. */
export interface WalkRecord {
  readonly scenario: Scenario
  readonly outcome: 'completed' | 'thrown' | 'left' | 'hung' | 'endless'
  readonly error: unknown
  readonly yielded: readonly string[]
  readonly exchanges: readonly Exchange[]
  readonly states: readonly (readonly string[])[]
  readonly log: readonly LogEntry[]
  readonly mostInFlight: number
  /** Requests that were sent, or still in flight, after the walk was over. */
  readonly leftOver: number
  /** The limit in effect for who resumes now, with the largest one that a response showed: errors count in its pages. */
  readonly resumeLimit: number
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

async function read(scenario: Scenario, service: SimulatedService, time: VirtualTime): Promise<WalkRecord> {
  const { firstPage, limit, concurrency, maxRetries, onMissedItems, verified, pause, leaveAfter } = scenario
  const { fetch } = service
  const client = new Client({ baseUrl: 'https://simulation.test', apiKey: 'test_key', maxRetries, fetch })
  const options = { concurrency, onMissedItems, ...(verified ? { verified } : {}) }
  const list = client.transactions.list({ page: firstPage, limit }, options)
  const yielded: string[] = []
  let outcome: WalkRecord['outcome'] | undefined
  let error: unknown

  const finish = (how: WalkRecord['outcome'], thrown?: unknown) => {
    outcome ??= how
    error ??= thrown
    service.record({ type: 'end', how: thrown === undefined ? how : String(thrown) })
  }
  const iterate = async () => {
    for await (const { id } of list) {
      yielded.push(id)
      service.record({ type: 'yield', id })
      if (yielded.length === leaveAfter) return 'left'
      if (pause && yielded.length % pause.everyItems === 0) await time.pause(pause.ms)
    }
    return 'completed'
  }
  iterate().then(finish, thrown => finish('thrown', thrown))

  const mostItems = (scenario.size + sum(scenario.changes.map(({ insert }) => insert?.count ?? 0))) * 2
  const mostRequests = 100 + 20 * mostItems
  const isEndless = () => service.exchanges.length > mostRequests
  const isSettled = await time.run(() => outcome !== undefined || isEndless())
  if (outcome === undefined) finish(isSettled ? 'endless' : 'hung')

  // What the walk still has in flight, or sends from here on, nobody wants.
  const requests = service.exchanges.length
  const inFlight = service.inFlight
  const echoed = service.exchanges.flatMap(({ arrivedAt, body }) => (arrivedAt && body ? [body.limit] : []))
  const resumeLimit = service.limitFor(echoed.length > 0 ? Math.max(...echoed) : limit)
  if (outcome !== 'endless') await time.run(() => false)
  return {
    scenario,
    outcome: outcome as WalkRecord['outcome'],
    error,
    yielded,
    exchanges: service.exchanges,
    states: service.states,
    log: service.log,
    mostInFlight: service.mostInFlight,
    leftOver: inFlight + service.exchanges.length - requests,
    resumeLimit,
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
