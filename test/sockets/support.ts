import { type AnyApiError, Client, type ClientEvent, type ClientOptions, isApiError } from 'virtual-accounts'
import { afterAll, expect, vi } from 'vitest'
import { type Answer, FaultServer } from './fault-server.ts'

export const account = { customerId: 'c1', virtualAccountId: 'v1' }
export const apiKey = 'test_key_of_the_sockets'

// Nothing here waits for long; a busy machine may.
vi.setConfig({ testTimeout: 20_000 })

// Every file of this folder imports this one: a rejection that nobody handled fails it.
const unhandled: unknown[] = []
const collect = (reason: unknown) => void unhandled.push(reason)
process.on('unhandledRejection', collect)
afterAll(async () => {
  await new Promise(resolve => setTimeout(resolve, 20))
  process.off('unhandledRejection', collect)
  expect(unhandled).toEqual([])
})

/** A client of a server. */
export function clientOf({ url }: Pick<FaultServer, 'url'>, options: Partial<ClientOptions> = {}): Client {
  return new Client({ baseUrl: url, apiKey, ...options })
}

/** A server that answers so, and a client of it. */
export async function serve(answers: Answer | Answer[], options: Partial<ClientOptions> = {}) {
  const server = await FaultServer.start(...[answers].flat())
  return {
    server,
    client: clientOf(server, options),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** What a promise rejects with. */
export async function rejectionOf(promise: PromiseLike<unknown>): Promise<unknown> {
  const fulfilled = Symbol('fulfilled')
  const outcome = await promise.then(
    () => fulfilled,
    (error: unknown) => error,
  )
  if (outcome === fulfilled) throw new Error('it did not reject')
  return outcome
}

/** The failure of a call, which must be one of the five. */
export async function failureOf<K extends AnyApiError['kind']>(
  kind: K,
  promise: PromiseLike<unknown>,
): Promise<Extract<AnyApiError, { kind: K }>> {
  const error = await rejectionOf(promise)
  if (!isApiError(error)) throw new Error('it was no failure of a call', { cause: error })
  expect(error.kind, error.message).toBe(kind)
  return error as Extract<AnyApiError, { kind: K }>
}

// ---- without sockets and without waiting

/** What a stubbed fetch does when it is called. */
export type Happening = Response | 'lost' | 'refused' | 'certificate' | 'hang' | (() => Response)

/** An answer that can be given again and again. */
export const status =
  (code: number, headers: Record<string, string> = {}, body: string | null = null): (() => Response) =>
  () =>
    new Response(body, { status: code, headers })

/** A fetch that does one thing after another, and then the last of them again and again. */
export function stub(...happenings: Happening[]) {
  const requests: { url: string; init: RequestInit; headers: Headers }[] = []
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const happening = happenings[Math.min(requests.length, happenings.length - 1)]
    requests.push({ url, init, headers: new Headers(init.headers) })
    switch (happening) {
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
        return typeof happening === 'function' ? happening() : (happening as Response)
    }
  }
  return { fetch, requests, keys: () => requests.map(({ headers }) => headers.get('idempotency-key')) }
}

/** As the fetch of Node fails. */
function failedFetch(code: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
}

/** A client over a stubbed fetch, and all that it told. */
export function stubbed(happenings: Happening[], options: Partial<ClientOptions> = {}) {
  const { fetch, requests, keys } = stub(...happenings)
  const events: ClientEvent[] = []
  const client = new Client({
    baseUrl: 'https://api.example.com',
    apiKey,
    fetch,
    onEvent: event => void events.push(event),
    ...options,
  })
  /** How long it waited before each retry. */
  const waits = () => events.flatMap(event => (event.type === 'retry' ? [event.delayMs] : []))
  return { client, requests, keys, events, waits }
}

/** Fake timers, and how to let time pass until a call has ended. */
export function useFakeTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
}

/** Lets the fake time pass until the promise is settled, and gives what it came to. */
export async function passing<T>(promise: PromiseLike<T>, stepMs = 100): Promise<T> {
  let isSettled = false
  const settle = () => {
    isSettled = true
  }
  promise.then(settle, settle)
  while (!isSettled) await vi.advanceTimersByTimeAsync(stepMs)
  return promise
}

/** What of a call a test compares. */
export function outcomeOf(error: AnyApiError) {
  const { kind, attempts, outcomeUnknown } = error
  return { kind, attempts, outcomeUnknown, ...(error.kind === 'http' ? { status: error.status } : {}) }
}
