import type { Fetch } from 'virtual-accounts'
import type { FromWorker, ServiceFault, ToWorker } from './fake.worker.ts'

/** The fake service, as a `fetch` for the client, with the options that a client needs for any service. */
export interface Fake {
  readonly baseUrl: string
  readonly apiKey: string
  readonly fetch: Fetch
  setFaults(faults: readonly ServiceFault[]): void
}

/** Starts the fake service in a worker. Requests and responses are messages to and from it. */
export function startFake(options: { count: number; latency: number }): Fake {
  const baseUrl = 'https://virtual-accounts.test'
  const apiKey = 'test_key'
  const worker = new Worker(new URL('./fake.worker.ts', import.meta.url), { type: 'module' })
  const send = (message: ToWorker) => worker.postMessage(message)
  const waiting = new Map<number, PromiseWithResolvers<Response>>()
  let requests = 0

  worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => {
    const { resolve, reject } = waiting.get(data.id) ?? {}
    waiting.delete(data.id)
    if (data.type === 'response') resolve?.(responseOf(data))
    else reject?.(new TypeError(data.message))
  })
  send({ type: 'start', baseUrl, apiKey, ...options })

  function fetch(url: string, init: RequestInit): Promise<Response> {
    const id = requests++
    const response = Promise.withResolvers<Response>()
    waiting.set(id, response)
    init.signal?.addEventListener('abort', () => {
      send({ type: 'abort', id })
      waiting.delete(id)
      response.reject(init.signal?.reason)
    })
    const { method = 'GET', headers, body } = init
    const sent = [...new Headers(headers)]
    send({ type: 'request', id, url, method, headers: sent, body: typeof body === 'string' ? body : null })
    return response.promise
  }
  return { baseUrl, apiKey, fetch, setFaults: faults => send({ type: 'faults', faults }) }
}

function responseOf({ status, headers, body, cut }: FromWorker & { type: 'response' }): Response {
  return new Response(cut ? cutOff(body ?? '') : body, { status, headers })
}

/** A body that starts, then fails, like a lost connection. */
function cutOff(beginning: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  const rest = beginning === '' ? [] : [new TextEncoder().encode(beginning)]
  return new ReadableStream({
    pull(controller) {
      const chunk = rest.pop()
      if (chunk) controller.enqueue(chunk)
      else controller.error(new TypeError('the connection was lost'))
    },
  })
}
