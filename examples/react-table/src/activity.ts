import { type AnyApiError, type ClientEvent, isApiError } from 'virtual-accounts'
import { grouped } from './format.ts'
import { Store } from './store.ts'

/** The states of a call. Their marks differ by shape, not by colour alone. */
export const callMarks = { waiting: '○', done: '●', retrying: '↻', cancelled: '–', failed: '✕' }

/** One call of the client, as its events describe it. */
export interface Call {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly items: string | undefined
  readonly idempotencyKey: string | undefined
  readonly state: keyof typeof callMarks
  readonly detail: string
}

/** What an unsettled call waits for: a response, or its next attempt. */
export interface Waiting {
  readonly since: number
  readonly retry: { readonly at: number; readonly reason: string } | undefined
}

export interface Activity {
  readonly requests: number
  readonly retries: number
  readonly inFlight: number
  /** The newest first. */
  readonly calls: readonly Call[]
  readonly waiting: Waiting | undefined
}

const keptCalls = 7

/** A log of the client's requests and responses. Its `add` is the client's `onEvent`. */
export class ActivityLog {
  readonly store = new Store<Activity>({
    requests: 0,
    retries: 0,
    inFlight: 0,
    calls: [],
    waiting: undefined,
  })
  /** By call id. */
  readonly #waiting = new Map<string, Waiting>()
  #calls: Call[] = []
  #requests = 0
  #retries = 0
  #scheduled = false

  readonly add = (event: ClientEvent) => {
    // The first two do not concern a call. The response has already shown the success.
    if (event.type === 'drift' || event.type === 'end' || event.type === 'success') return
    const { callId: id, method, path } = event
    const before = this.#calls.find(call => call.id === id)
    if (event.type === 'request') {
      this.#requests++
      this.#waiting.set(id, { since: Date.now(), retry: undefined })
    } else if (event.type === 'retry' || event.type === 'wait') {
      if (event.type === 'retry') this.#retries++
      const retry = { at: Date.now() + event.delayMs, reason: reason(event.error) }
      this.#waiting.set(id, { since: Date.now(), retry })
    } else this.#waiting.delete(id)

    const idempotencyKey = event.type === 'request' ? event.idempotencyKey : before?.idempotencyKey
    const call: Call = { id, method, path, items: itemsOf(event), idempotencyKey, ...stateOf(event) }
    this.#calls = before
      ? this.#calls.map(other => (other.id === id ? call : other))
      : [call, ...this.#calls].slice(0, keptCalls)
    this.#publishSoon()
  }

  /** Loading everything emits hundreds of events per second. Nobody reads that fast. */
  #publishSoon() {
    if (this.#scheduled) return
    this.#scheduled = true
    setTimeout(() => {
      this.#scheduled = false
      const waiting = [...this.#waiting.values()]
      this.store.set({
        requests: this.#requests,
        retries: this.#retries,
        inFlight: waiting.filter(({ retry }) => !retry).length,
        calls: this.#calls,
        waiting: waiting.find(({ retry }) => retry) ?? waiting[0],
      })
    }, 150)
  }
}

/** Not the page number, because pages of a loop overlap, and their sizes differ. */
function itemsOf({ page, url }: ClientEvent): string | undefined {
  if (page === undefined) return undefined
  const limit = Number(new URL(url).searchParams.get('limit'))
  return `${grouped((page - 1) * limit + 1)}–${grouped(page * limit)}`
}

function stateOf(
  event: Exclude<ClientEvent, { type: 'drift' | 'end' | 'success' }>,
): Pick<Call, 'state' | 'detail'> {
  switch (event.type) {
    case 'request':
      return { state: 'waiting', detail: event.attempt > 1 ? `attempt ${event.attempt}` : 'in flight' }
    case 'response':
      return { state: 'done', detail: `${event.status} in ${milliseconds(event.durationMs)}` }
    case 'retry':
      return { state: 'retrying', detail: `${reason(event.error)}, retry in ${milliseconds(event.delayMs)}` }
    case 'wait':
      return { state: 'retrying', detail: `${reason(event.error)}, next in ${milliseconds(event.delayMs)}` }
    case 'failure':
      if (!isApiError(event.error)) return { state: 'failed', detail: 'failed' }
      if (event.error.kind === 'aborted') return { state: 'cancelled', detail: 'cancelled' }
      return { state: 'failed', detail: `failed: ${reason(event.error)}` }
  }
}

function reason(error: AnyApiError): string {
  switch (error.kind) {
    case 'http':
      return `HTTP ${error.status}`
    case 'timeout':
      return 'no response in time'
    case 'connection':
      // Not "no connection", because the service may have received the request. A browser does not say.
      return 'no complete response'
    case 'aborted':
      return 'cancelled'
    case 'invalid-response':
      return 'invalid response'
    case 'pagination':
      return 'the pages contradict each other'
  }
}

function milliseconds(ms: number): string {
  return `${grouped(Math.round(ms))} ms`
}
