// The fake service, in a thread of its own: making 100,000 transactions would stop the page for a moment.

import { FakeService, type Fault, sampleTransactions } from 'virtual-accounts/testing'

/** What can be made to go wrong. A wrong key is not among them: the page sends one. */
export type ServiceFault = 'offline' | 'busy' | 'broken' | 'lost'

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
      type: 'answer'
      id: number
      status: number
      headers: [string, string][]
      body: string | null
      cut: boolean
    }
  | { type: 'unreachable'; id: number; message: string }

const answers: Record<ServiceFault, Fault> = {
  offline: { with: 'network-error' },
  busy: {
    // Longer than the client waits by itself.
    with: () => refusal(429, 'Too many requests.', { 'Retry-After': '65' }),
  },
  broken: {
    method: 'GET',
    with: () => Response.json({ data: [{ id: 1, amount: '12.50' }], page: 1, totalItems: 1, limit: 1 }),
  },
  lost: { method: 'POST', with: 'truncate' },
}

/** What tries a spreadsheet, at the end of the list. */
const unusual = [
  { id: 'unusual-1', amount: -250.75, currency: 'EUR', description: 'Refund, "partly"' },
  { id: 'unusual-2', amount: 0.1, currency: 'USD', description: '=HYPERLINK("https://example.com";"Click")' },
  { id: 'unusual-3', amount: 0.2, currency: 'USD', description: '@SUM(1+1)' },
]

let service: FakeService
let faults: readonly ServiceFault[] = []
const underWay = new Map<number, AbortController>()

addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  switch (data.type) {
    case 'start': {
      const { baseUrl, apiKey, count, latency } = data
      service = new FakeService({ baseUrl, apiKey, latency })
      // Not as an option: those are copied, twice.
      for (const transaction of sampleTransactions(count)) service.transactions.push(transaction)
      const replaced = Math.min(count, unusual.length)
      service.transactions.splice(count - replaced, replaced, ...unusual.slice(0, replaced))
      break
    }
    case 'faults':
      faults = data.faults
      break
    case 'request':
      void answer(data)
      break
    case 'abort':
      underWay.get(data.id)?.abort()
  }
})

async function answer({ id, url, ...init }: ToWorker & { type: 'request' }) {
  const controller = new AbortController()
  underWay.set(id, controller)
  for (const fault of faults) {
    const { method = init.method } = answers[fault]
    if (method !== init.method) continue
    service.fail(answers[fault])
    break
  }
  try {
    const { status, headers, body } = await service.fetch(url, { ...init, signal: controller.signal })
    send({ type: 'answer', id, status, headers: [...headers], ...(await textOf(body)) })
  } catch (error) {
    send({ type: 'unreachable', id, message: error instanceof Error ? error.message : String(error) })
  } finally {
    underWay.delete(id)
  }
}

/** As much of a body as came. */
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

function refusal(status: number, message: string, headers: HeadersInit): Response {
  return Response.json({ error: { message } }, { status, headers })
}

function send(message: FromWorker) {
  postMessage(message)
}
