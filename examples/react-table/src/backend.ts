import { Client, type VirtualAccountRef } from 'virtual-accounts'
import { ActivityLog } from './activity.ts'
import { AddressError } from './explain.ts'
import type { ServiceFault } from './fake.worker.ts'
import { Store } from './store.ts'

export type FaultName = ServiceFault | 'key'

/** The service that the page uses. */
export interface Backend {
  readonly client: Client
  readonly activity: ActivityLog
  readonly description: string
  /** Only the fake service has faults to switch on. */
  readonly faults: Store<ReadonlySet<FaultName>> | undefined
  /** An account to try. Only the fake service has one, because a real account would change. */
  readonly sample: VirtualAccountRef | undefined
}

/**
 * The fake service, or with `?service=/api` a real one. Your own proxy must add its key, which would be public in a page.
 * `?count=` and `?latency=` are options of the fake.
 */
export async function connect(parameters: URLSearchParams): Promise<Backend> {
  const activity = new ActivityLog()
  const onEvent = activity.add

  const service = parameters.get('service')
  if (service !== null) {
    // Only a path of this site. With a whole URL, a link to this page could send changes elsewhere.
    if (!/^\/(?!\/)[\w./-]*$/.test(service)) throw new AddressError('service: expected a path, such as /api')
    const client = new Client({ baseUrl: service, apiKey: null, onEvent })
    return { client, activity, description: `Service at ${service}`, faults: undefined, sample: undefined }
  }

  const { startFake } = await import('./fake.ts')
  const fake = startFake({
    count: wholeNumber(parameters.get('count'), 10_000),
    latency: wholeNumber(parameters.get('latency'), 40),
  })
  const faults = new Store<ReadonlySet<FaultName>>(new Set())
  faults.subscribe(() => fake.setFaults([...faults.get()].filter(name => name !== 'key')))
  const client = new Client({
    baseUrl: fake.baseUrl,
    apiKey: () => (faults.get().has('key') ? 'wrong_key' : fake.apiKey),
    fetch: fake.fetch,
    onEvent,
  })
  const sample = { customerId: 'c1', virtualAccountId: 'v1' }
  return { client, activity, description: 'Fake service', faults, sample }
}

function wholeNumber(text: string | null, byDefault: number): number {
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : byDefault
}
