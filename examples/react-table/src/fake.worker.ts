// The fake service, in its own thread, because creating 100,000 transactions would freeze the page for a moment.

import { FakeService, type Fault, sampleTransactions } from 'virtual-accounts/testing'

/** Failures that the service can simulate. A wrong key is not among them, because the page sends it. */
export type ServiceFault = 'slow' | 'overloaded' | 'offline' | 'busy' | 'broken' | 'missing' | 'lost'

export type ToWorker =
  | { type: 'start'; baseUrl: string; apiKey: string; count: number; latency: number }
  | { type: 'faults'; faults: readonly ServiceFault[] }
  | {
      type: 'request'
      id: number
      url: string
      method: string
      headers: [string, string][]
      body: string | null
    }
  | { type: 'abort'; id: number }

export type FromWorker =
  | {
      type: 'response'
      id: number
      status: number
      headers: [string, string][]
      body: string | null
      cut: boolean
    }
  | { type: 'unreachable'; id: number; message: string }

/** The fault for one request, or `undefined` if the request is not affected. */
const faultsFor: Record<ServiceFault, (request: { method: string; url: string }) => Fault | undefined> = {
  slow: () => undefined,
  overloaded: () => ({
    with: Response.json(
      { error: { message: 'Overloaded.' } },
      { status: 503, headers: { 'Retry-After': '5' } },
    ),
  }),
  offline: () => ({ with: 'network-error' }),
  busy: () => ({
    with: Response.json(
      { error: { message: 'Too many requests.' } },
      // Longer than the client waits.
      { status: 429, headers: { 'Retry-After': '120' } },
    ),
  }),
  broken: ({ method, url }) =>
    method === 'GET' ? { with: brokenPage(new URL(url).searchParams) } : undefined,
  missing: ({ method }) =>
    method === 'POST'
      ? { with: Response.json({ error: { message: 'No such account.' } }, { status: 404 }) }
      : undefined,
  lost: ({ method }) => (method === 'POST' ? { with: 'truncate' } : undefined),
}

function brokenPage(query: URLSearchParams): Response {
  const page = Number(query.get('page') ?? 1)
  const limit = Number(query.get('limit') ?? 20)
  const data = [{ id: 17, amount: '12.50', currency: 'EUR' }]
  return Response.json({ data, page, totalItems: service.transactions.length, limit })
}

/** Texts that a careless CSV file gets wrong, at the end of the list. */
const unusual = [
  { id: 'unusual-1', amount: -250.75, currency: 'EUR', description: 'Refund, "partly"' },
  { id: 'unusual-2', amount: 0.1, currency: 'USD', description: '=HYPERLINK("https://example.com";"Click")' },
  { id: 'unusual-3', amount: 0.2, currency: 'USD', description: '@SUM(1+1)' },
]

let service: FakeService
let faults: readonly ServiceFault[] = []
const inFlight = new Map<number, AbortController>()

addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  switch (data.type) {
    case 'start': {
      const { baseUrl, apiKey, count, latency } = data
      service = new FakeService({ baseUrl, apiKey, latency })
      // Not passed as an option, because the fake would copy it twice.
      for (const transaction of sampleTransactions(count)) service.transactions.push(transaction)
      const replaced = Math.min(count, unusual.length)
      service.transactions.splice(count - replaced, replaced, ...unusual.slice(0, replaced))
      break
    }
    case 'faults':
      faults = data.faults
      break
    case 'request':
      void respond(data)
      break
    case 'abort':
      inFlight.get(data.id)?.abort()
  }
})

async function respond({ id, url, ...init }: ToWorker & { type: 'request' }) {
  const controller = new AbortController()
  inFlight.set(id, controller)
  if (faults.includes('slow')) await new Promise(resolve => setTimeout(resolve, 3000))
  const fault = faults.map(name => faultsFor[name]({ method: init.method, url })).find(Boolean)
  if (fault) service.fail(fault)
  try {
    const { status, headers, body } = await service.fetch(url, { ...init, signal: controller.signal })
    send({ type: 'response', id, status, headers: [...headers], ...(await textOf(body)) })
  } catch (error) {
    send({ type: 'unreachable', id, message: error instanceof Error ? error.message : String(error) })
  } finally {
    inFlight.delete(id)
  }
}

/** The part of the body that was received. */
async function textOf(body: Response['body']): Promise<{ body: string | null; cut: boolean }> {
  if (!body) return { body: null, cut: false }
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return { body: text, cut: false }
      text += value
    }
  } catch {
    return { body: text, cut: true }
  }
}

function send(message: FromWorker) {
  postMessage(message)
}
