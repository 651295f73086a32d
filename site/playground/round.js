// What the playground shows: the real client reads a list of the fake service, in the page. Only the network is made up:
// how long a request takes, and whether it fails.
import { Client, isApiError } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'

export const itemCount = 400
export const limit = 20

/** More than any round adds. */
const samples = sampleTransactions(itemCount + 2_000)

/**
 * @typedef {object} Settings
 * @property {number} latency Mean duration of a request, in milliseconds.
 * @property {number} concurrency
 * @property {number} failures The share of requests that fail, from 0 to 1.
 * @property {number} changes How many times a second the list changes.
 * @property {'swapped' | 'removed' | 'added'} kind What a change is; swapped is one removed and another added.
 */

/** One list, and the loops that read it at the same time. */
export class Round {
  /** Every item that was in the list at some time, in its order. */
  items
  loops
  done
  #service
  #settings
  #spare = samples.slice(itemCount)

  /** @param {Settings} settings */
  constructor(settings, modes = [false, true]) {
    const transactions = samples.slice(0, itemCount)
    this.#settings = settings
    this.#service = new FakeService({ transactions })
    this.items = transactions.map(({ id }) => ({ id, isRemoved: false, isAdded: false }))
    this.loops = modes.map(verified => new Loop(this.items, verified))
    const { baseUrl, apiKey } = this.#service
    const timer = settings.changes > 0 && setInterval(() => this.#change(), 1000 / settings.changes)
    const walks = this.loops.map(loop => {
      const fetch = (url, init) => this.#send(url, init)
      const { concurrency } = settings
      return loop.walk(new Client({ baseUrl, apiKey, fetch, concurrency, onEvent: loop.onEvent }))
    })
    this.done = Promise.all(walks).finally(() => clearInterval(timer))
  }

  cancel() {
    for (const loop of this.loops) loop.cancel()
  }

  async #send(url, init) {
    const { latency, failures } = this.#settings
    const half = () => delay(latency * (0.25 + Math.random() / 2), init.signal)
    await half()
    if (Math.random() < failures) {
      await half()
      if (Math.random() < 0.5) throw new TypeError('the connection was lost')
      return Response.json({ error: { message: 'Something went wrong.' } }, { status: 500 })
    }
    const response = await this.#service.fetch(url, init)
    await half()
    return response
  }

  #change() {
    const { kind } = this.#settings
    const list = this.#service.transactions
    if (kind !== 'added' && list.length > 0) {
      const [{ id }] = list.splice(below(list.length), 1)
      this.items.find(item => item.id === id).isRemoved = true
    }
    if (kind !== 'removed' && this.#spare.length > 0) {
      const added = this.#spare.pop()
      const index = below(list.length + 1)
      const next = this.items.findIndex(item => item.id === list[index]?.id)
      list.splice(index, 0, added)
      this.items.splice(next === -1 ? this.items.length : next, 0, {
        id: added.id,
        isRemoved: false,
        isAdded: true,
      })
    }
  }
}

/** One loop over the list: what it sent, what it yielded, and how that compares with what was there. */
class Loop {
  verified
  /** The requests, in the order in which they were sent. */
  requests = []
  /** @type {undefined | 'complete' | 'stopped' | 'cancelled'} */
  outcome
  error
  retries = 0
  /** Requests for items before those that were requested already. */
  repairs = 0
  startedAt = performance.now()
  endedAt
  #items
  #yielded = []
  #lanes = new Map()
  #furthest = 0
  #controller = new AbortController()

  constructor(items, verified) {
    this.#items = items
    this.verified = verified
  }

  async walk(client) {
    const options = { verified: this.verified, signal: this.#controller.signal }
    try {
      for await (const { id } of client.transactions.list({ limit }, options)) this.#yielded.push(id)
      this.outcome = 'complete'
    } catch (error) {
      this.outcome = this.#controller.signal.aborted ? 'cancelled' : 'stopped'
      this.error = error
    }
    this.endedAt = performance.now()
    // What is added or removed from now on was not this loop's to see.
    this.#items = this.#items.map(item => ({ ...item }))
  }

  cancel() {
    if (!this.outcome) this.#controller.abort()
  }

  onEvent = event => {
    const { type, callId } = event
    if (type === 'drift') return
    const last = this.requests.findLast(request => request.callId === callId)
    if (type === 'request') {
      this.requests.push(this.#requestOf(event, last))
      return
    }
    if (!last) return
    last.end ??= performance.now()
    if (type === 'response') last.state = event.status === 200 ? 'done' : 'failed'
    if (type === 'retry') {
      this.retries++
      last.state = 'failed'
      last.retryAt = last.end + event.delayMs
    }
    // A loop that ends cancels what it does not need any more.
    if (type === 'failure') last.state = isApiError(event.error) ? 'failed' : 'cancelled'
    if (last.state === 'done' || type === 'failure') this.#lanes.delete(callId)
  }

  /** Counted against what was in the list all the time. Items behind the one yielded last cannot come any more. */
  compare() {
    const place = new Map(this.#items.map(({ id }, index) => [id, index]))
    const seen = new Set(this.#yielded)
    const reached = this.outcome === 'complete' ? this.#items.length : (place.get(this.#yielded.at(-1)) ?? -1)
    const states = this.#items.map((item, index) => {
      if (seen.has(item.id)) return 'yielded'
      if (!isThroughout(item)) return item.isRemoved ? 'removed' : 'added'
      return index < reached ? 'missed' : 'waiting'
    })
    const stayed = this.#yielded.map(id => place.get(id)).filter(index => isThroughout(this.#items[index]))
    return {
      states,
      yielded: this.#yielded.length,
      missed: states.filter(state => state === 'missed').length,
      twice: this.#yielded.length - seen.size,
      outOfOrder: stayed.filter((index, i) => index < stayed[i - 1]).length,
    }
  }

  #requestOf({ callId, url, attempt }, before) {
    const { searchParams } = new URL(url)
    const size = Number(searchParams.get('limit'))
    const first = (Number(searchParams.get('page')) - 1) * size + 1
    const isRepair = attempt === 1 ? first < this.#furthest : before.isRepair
    if (isRepair && attempt === 1) this.repairs++
    this.#furthest = Math.max(this.#furthest, first)
    if (!this.#lanes.has(callId)) this.#lanes.set(callId, this.#freeLane())
    return {
      callId,
      lane: this.#lanes.get(callId),
      first,
      isRepair,
      start: performance.now(),
      state: 'in-flight',
    }
  }

  #freeLane() {
    const taken = new Set(this.#lanes.values())
    let lane = 0
    while (taken.has(lane)) lane++
    return lane
  }
}

function isThroughout({ isRemoved, isAdded }) {
  return !isRemoved && !isAdded
}

function below(end) {
  return Math.floor(Math.random() * end)
}

function delay(ms, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
