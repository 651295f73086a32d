import { network } from 'virtual:msw'
import { http } from 'msw'
import { Client, type ClientEvent, type ClientOptions } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { afterAll, beforeAll, beforeEach } from 'vitest'

/** The service of these tests: MSW passes it every request that the client sends with the global fetch. */
export const service = new FakeService({ transactions: sampleTransactions(25) })

/** Gives this test file the service, as new for each test. Call it once, at the top of the file. */
export function startService(): void {
  beforeAll(async () => {
    network.configure({
      handlers: [http.all(`${service.baseUrl}/*`, ({ request }) => service.handle(request))],
      onUnhandledFrame: 'error',
    })
    await network.enable()
  })
  beforeEach(() => {
    service.reset()
    network.resetHandlers()
  })
  afterAll(async () => {
    await network.disable()
  })
}

export function createClient(options: Partial<ClientOptions> = {}): Client {
  return new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey, ...options })
}

/** A client, and the events that it emitted. */
export function createObservedClient(options: Partial<ClientOptions> = {}) {
  const events: ClientEvent[] = []
  const client = createClient({ onEvent: event => void events.push(event), ...options })
  return { client, events }
}

/** The response to the next request, whatever it is. */
export function respondWith(body: BodyInit | null, init: ResponseInit = {}): void {
  service.fail({ with: () => new Response(body, init) })
}

/** The response to the next request: one page of a list, with its items as JSON text. */
export function respondWithPage(items: string, rest = '"page":1,"totalItems":1,"limit":20'): void {
  respondWith(`{"data":[${items}],${rest}}`, { headers: { 'Content-Type': 'application/json' } })
}
