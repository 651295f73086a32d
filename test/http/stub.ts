import { type AnyApiError, Client, type ClientEvent, type ClientOptions } from 'virtual-accounts'
import { vi } from 'vitest'
import { account } from '../support.ts'

export const apiKey = 'test_key_of_the_stub'

/** What a stubbed fetch does when it is called. */
export type StubStep = Response | Error | 'lost' | 'refused' | 'certificate' | 'hang' | (() => Response)

/** A response that can be returned any number of times. */
export const status =
  (code: number, headers: Record<string, string> = {}, body: string | null = null): (() => Response) =>
  () =>
    new Response(body, { status: code, headers })

/** A fetch that takes one step after another, and then repeats the last one. */
export function stub(...steps: StubStep[]) {
  const requests: { url: string; init: RequestInit; headers: Headers }[] = []
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const step = steps[Math.min(requests.length, steps.length - 1)]
    requests.push({ url, init, headers: new Headers(init.headers) })
    switch (step) {
      case 'lost':
        throw failedFetch('ECONNRESET')
      case 'refused':
        throw failedFetch('ECONNREFUSED')
      case 'certificate':
        throw failedFetch('DEPTH_ZERO_SELF_SIGNED_CERT')
      case 'hang':
        return new Promise((_resolve, reject) => {
          init.signal?.addEventListener('abort', () => reject(init.signal?.reason))
        })
      default:
        if (step instanceof Error) throw step
        return typeof step === 'function' ? step() : (step as Response)
    }
  }
  return { fetch, requests, keys: () => requests.map(({ headers }) => headers.get('idempotency-key')) }
}

/** An error as Node's fetch rejects with it. */
export function failedFetch(code: string, details: { syscall?: string } = {}): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code, ...details }) })
}

/** A client with a stubbed fetch, and the events it emitted. */
export function stubbed(steps: StubStep[], options: Partial<ClientOptions> = {}) {
  const { fetch, requests, keys } = stub(...steps)
  const events: ClientEvent[] = []
  const client = new Client({
    baseUrl: 'https://api.example.com',
    apiKey,
    fetch,
    onEvent: event => void events.push(event),
    ...options,
  })
  /** The delay before each retry. */
  const delays = () => events.flatMap(event => (event.type === 'retry' ? [event.delayMs] : []))
  return { client, requests, keys, events, delays }
}

/** Installs fake timers: see `passing`. */
export function useFakeTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
}

/** Advances the fake time until the promise has settled. */
export async function passing<T>(promise: PromiseLike<T>, stepMs = 100): Promise<T> {
  let isSettled = false
  const settle = () => {
    isSettled = true
  }
  promise.then(settle, settle)
  while (!isSettled) await vi.advanceTimersByTimeAsync(stepMs)
  return promise
}

/** The properties of an error that tests compare. */
export function outcomeOf(error: AnyApiError) {
  const { kind, attempts, outcomeUnknown } = error
  return { kind, attempts, outcomeUnknown, ...(error.kind === 'http' ? { status: error.status } : {}) }
}

/** One write to a service that takes one step after another, in fake time. */
export function write(steps: StubStep[], options: Partial<ClientOptions> = {}) {
  const service = stubbed(steps, options)
  return { ...service, call: passing(service.client.virtualAccounts.deactivate(account)) }
}

export const ok = status(200)
export const emptyPage = status(200, {}, '{"data":[],"page":1,"totalItems":0,"limit":20}')
