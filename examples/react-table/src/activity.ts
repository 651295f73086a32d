import { type AnyApiError, type ClientEvent, isApiError } from 'virtual-accounts'
import { grouped } from './format.ts'
import { Store } from './store.ts'

/** One call of the client, as its events describe it. */
export interface Call {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly page: number | undefined
  readonly idempotencyKey: string | undefined
  readonly state: 'waiting' | 'done' | 'retrying' | 'cancelled' | 'failed'
  readonly detail: string
}

export interface Activity {
  readonly requests: number
  readonly retries: number
  readonly inFlight: number
  /** The newest first. */
  readonly calls: readonly Call[]
}

const shownCalls = 7

/** What the client sends and receives, for people who want to watch. Its `add` is the client's `onEvent`. */
export class ActivityLog {
  readonly store = new Store<Activity>({ requests: 0, retries: 0, inFlight: 0, calls: [] })
  readonly #inFlight = new Set<string>()
  #calls: Call[] = []
  #requests = 0
  #retries = 0
  #scheduled = false

  readonly add = (event: ClientEvent) => {
    if (event.type === 'drift') return
    const { callId: id, method, path, page } = event
    const before = this.#calls.find(call => call.id === id)
    if (event.type === 'request') {
      this.#requests++
      this.#inFlight.add(id)
    } else this.#inFlight.delete(id)
    if (event.type === 'retry') this.#retries++

    const idempotencyKey = event.type === 'request' ? event.idempotencyKey : before?.idempotencyKey
    const call: Call = { id, method, path, page, idempotencyKey, ...stateOf(event) }
    this.#calls = before
      ? this.#calls.map(other => (other.id === id ? call : other))
      : [call, ...this.#calls].slice(0, shownCalls)
    this.#publishSoon()
  }

  /** Loading everything emits hundreds of events a second; nobody reads that fast. */
  #publishSoon() {
    if (this.#scheduled) return
    this.#scheduled = true
    setTimeout(() => {
      this.#scheduled = false
      this.store.set({
        requests: this.#requests,
        retries: this.#retries,
        inFlight: this.#inFlight.size,
        calls: this.#calls,
      })
    }, 150)
  }
}

function stateOf(event: Exclude<ClientEvent, { type: 'drift' }>): Pick<Call, 'state' | 'detail'> {
  switch (event.type) {
    case 'request':
      return { state: 'waiting', detail: event.attempt > 1 ? `attempt ${event.attempt}` : 'in flight' }
    case 'response':
      return { state: 'done', detail: `${event.status} in ${milliseconds(event.durationMs)}` }
    case 'retry':
      return { state: 'retrying', detail: `${reason(event.error)}, retry in ${milliseconds(event.delayMs)}` }
    case 'failure':
      if (isAbort(event.error)) return { state: 'cancelled', detail: 'cancelled' }
      return { state: 'failed', detail: isApiError(event.error) ? reason(event.error) : 'failed' }
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

function reason(error: AnyApiError): string {
  switch (error.kind) {
    case 'http':
      return `HTTP ${error.status}`
    case 'timeout':
      return 'no response in time'
    case 'connection':
      // Not "no connection": the service may have received the request, and a browser does not tell.
      return 'no complete response'
    case 'invalid-response':
      return 'invalid response'
    case 'pagination':
      return 'the pages contradict each other'
  }
}

function milliseconds(ms: number): string {
  return `${grouped(Math.round(ms))} ms`
}
