// Simulates the playground. A loop over pages and the real client read the same list, which changes meanwhile. Only the list,
// time and network are simulated, so the same settings give the same run everywhere, in a few milliseconds.
import { Client } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { Random } from '../../test/simulation/random.ts'

const baseUrl = 'https://service.test'
export const itemCount = 400
export const limit = 20
const latencyMs = 300
const downMs = 1_500
const never = Number.POSITIVE_INFINITY
/** All in euros, so they can be added up. */
const samples = sampleTransactions(itemCount + 400).map(({ amount, currency, ...item }) => ({
  ...item,
  amount: currency === 'JPY' ? amount / 100 : amount,
  currency: 'EUR',
}))

/**
 * @typedef {object} Settings
 * @property {number} seed
 * @property {number} changes Changes of the list per second.
 * @property {'swapped' | 'removed' | 'added'} kind The kind of each change. `swapped` is one removed and another added.
 * @property {number} [crash] The time at which both stop for a while, in milliseconds.
 */

/** A usual loop over pages. After a crash, it continues with its page. */
async function loop({ fetch, signal, progress, save }) {
  for (progress.page ??= 1; ; progress.page++) {
    const url = `${baseUrl}/transactions?page=${progress.page}&limit=${limit}`
    const { data, totalItems } = await (await fetch(url, { signal })).json()
    save(data)
    if (progress.page * limit >= totalItems) return
  }
}

/** The client with its defaults. After a crash, it continues with its cursor. */
async function client({ fetch, signal, progress, save }) {
  const { transactions } = new Client({ baseUrl, apiKey: 'test_key', fetch })
  const list = transactions.list({ limit }, { after: progress.cursor, signal })
  for await (const { items, cursor } of list.batches()) {
    save(items)
    progress.cursor = cursor
  }
}

/** Runs both. Returns the `items` in list order, including removed ones, and the `readers`, with the times of all events. */
export async function simulate({ seed, changes, kind, crash }) {
  const clock = new Clock()
  const random = new Random(`list ${seed}`)
  const items = samples.slice(0, itemCount).map(item => ({ item, addedAt: 0, removedAt: never }))
  const spare = samples.slice(itemCount)
  const readers = [new Reader(loop, clock, items, `l${seed}`), new Reader(client, clock, items, `c${seed}`)]
  const isOver = () => readers.every(({ outcome }) => outcome)

  const change = () => {
    if (isOver()) return
    const present = itemsAt(items, clock.now)
    if (kind !== 'added' && present.length > 0) random.pick(present).removedAt = clock.now
    if (kind !== 'removed' && spare.length > 0) {
      const place = random.integer(0, items.length)
      items.splice(place, 0, { item: spare.pop(), addedAt: clock.now, removedAt: never })
    }
    clock.after(1_000 / changes, change)
  }
  if (changes > 0) clock.after(500 / changes, change)
  for (const reader of readers) {
    reader.start()
    if (crash) clock.after(crash, () => reader.crash(downMs))
  }
  await clock.run(isOver)
  return { items, readers, endedAt: Math.max(...readers.map(({ endedAt }) => endedAt)) }
}

/** The picture of a reader at a time: the state of each item, and the counts of items lost and read twice. */
export function compare({ items }, reader, time) {
  const { readAt, requests, endedAt, outcome } = reader
  const isOver = time >= endedAt
  // Changes after its end do not concern it.
  const now = Math.min(time, endedAt)
  const timesRead = items.map(({ item }) => readAt.get(item.id)?.filter(at => at <= now).length ?? 0)
  const present = itemsAt(items, now)
  const inFlight = requests.filter(({ start, end }) => start <= now && now < end)
  const reading = new Set(
    inFlight.flatMap(({ page, limit }) => present.slice((page - 1) * limit, page * limit)),
  )
  const reached = isOver ? items.length : timesRead.findLastIndex(times => times > 0)
  const states = items.map((item, index) => {
    if (timesRead[index] > 0) return timesRead[index] > 1 ? 'twice' : 'read'
    if (item.addedAt > now) return 'none'
    if (item.removedAt <= now) return 'removed'
    if (isOver && outcome === 'threw') return 'unread'
    if (index < reached) return item.addedAt > 0 ? 'added' : 'lost'
    return reading.has(item) ? 'reading' : 'waiting'
  })
  const countOf = wanted => states.filter(state => state === wanted).length
  const amountOf = wanted =>
    items.reduce((sum, { item }, at) => sum + (states[at] === wanted ? item.amount : 0), 0)
  return {
    states,
    lost: countOf('lost'),
    lostAmount: amountOf('lost'),
    twice: countOf('twice'),
    twiceAmount: amountOf('twice'),
    outcome: isOver ? outcome : undefined,
  }
}

/** Why the item at this place was never read. */
export function whyLost({ items }, { requests }, place) {
  const indexAt = time => itemsAt(items, time).indexOf(items[place])
  const pageOf = index => Math.floor(index / limit) + 1
  const read = requests.filter(({ isRead }) => isRead)
  for (const [index, next] of read.slice(1).entries()) {
    const last = read[index]
    const [before, after] = [indexAt(last.readAt), indexAt(next.readAt)]
    if (before < last.page * limit || after >= (next.page - 1) * limit) continue
    const isBetween = ({ removedAt }) => last.readAt < removedAt && removedAt <= next.readAt
    const removed = items.slice(0, place).filter(isBetween).length
    const cause = removed === 1 ? 'An item before it was' : `${removed} items before it were`
    return `It was item ${before + 1}, on page ${pageOf(before)}. ${cause} removed after page ${last.page} was read, so it moved to page ${pageOf(after)} and was never read.`
  }
  return 'It was in the list throughout, and was never read.'
}

function itemsAt(items, time) {
  return items.filter(({ addedAt, removedAt }) => addedAt <= time && time < removedAt)
}

/** One of the two readers, with its requests and the items it has read. */
class Reader {
  /** Each has `start`, `end`, `page`, `limit`, the time of the list it shows, and whether its response arrived. */
  requests = []
  /** The times at which each id was read. */
  readAt = new Map()
  /** @type {undefined | 'ended' | 'threw'} */
  outcome
  error
  endedAt
  crashedAt
  restartedAt
  /** The page at which the loop continued after a crash. */
  restartPage
  #read
  #clock
  #items
  #random
  #progress = {}
  #controller

  constructor(read, clock, items, seed) {
    this.#read = read
    this.#clock = clock
    this.#items = items
    this.#random = new Random(seed)
  }

  async start() {
    this.#controller = new AbortController()
    const { signal } = this.#controller
    try {
      await this.#read({ fetch: this.#fetch, signal, progress: this.#progress, save: this.#save })
      this.outcome = 'ended'
    } catch (error) {
      if (signal.aborted) return
      this.outcome = 'threw'
      this.error = error
    }
    this.endedAt = this.#clock.now
  }

  crash(downMs) {
    if (this.outcome) return
    this.crashedAt = this.#clock.now
    this.restartedAt = this.crashedAt + downMs
    this.restartPage = this.#progress.page
    this.#controller.abort()
    this.#clock.after(downMs, () => this.start())
  }

  #save = items => {
    for (const { id } of items) this.readAt.set(id, [...(this.readAt.get(id) ?? []), this.#clock.now])
  }

  /** The service reads the list halfway between request and response. */
  #fetch = async (url, { signal }) => {
    const query = new URL(url).searchParams
    const [page, limit] = ['page', 'limit'].map(name => Number(query.get(name)))
    const request = { start: this.#clock.now, end: never, page, limit }
    this.requests.push(request)
    const end = () => {
      request.end = Math.min(request.end, this.#clock.now)
    }
    signal.addEventListener('abort', end)
    const half = latencyMs * (0.25 + this.#random.fraction() / 2)
    await this.#clock.delay(half, signal)
    request.readAt = this.#clock.now
    const present = itemsAt(this.#items, this.#clock.now).map(({ item }) => item)
    const data = present.slice((page - 1) * limit, page * limit)
    await this.#clock.delay(half, signal)
    end()
    request.isRead = true
    return responseOf({ data, page, limit, totalItems: present.length })
  }
}

/** Its body is read before the next macrotask. Some browsers read that of a `Response` in another thread. */
function responseOf(page) {
  const text = async () => JSON.stringify(page)
  return { status: 200, headers: new Headers(), text, json: async () => page }
}

/** Virtual time. The next event happens as soon as the current work is done. */
class Clock {
  now = 0
  #due = []

  after(ms, act) {
    this.#due.push({ at: this.now + ms, act })
  }

  delay(ms, signal) {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      this.after(ms, resolve)
    })
  }

  async run(isOver) {
    const { port1, port2 } = new MessageChannel()
    while (true) {
      // Waits for the next macrotask, without a timer, because browsers slow timers down.
      await new Promise(resolve => {
        port1.onmessage = resolve
        port2.postMessage(undefined)
      })
      if (isOver()) return port1.close()
      const next = this.#due.reduce((first, other) => (other.at < first.at ? other : first))
      this.#due.splice(this.#due.indexOf(next), 1)
      this.now = next.at
      next.act()
    }
  }
}

/** The playground's first settings. */
export const firstSettings = { seed: 48, changes: 3, kind: 'swapped' }

/** The results of the loop and the client in 100 runs, each with another list. */
export async function runMany(settings) {
  const runs = []
  for (let seed = 1; seed <= 100; seed++) {
    const { readers, ...others } = await simulate({ ...settings, seed })
    const results = readers.map(reader => compare({ readers, ...others }, reader, reader.endedAt))
    runs.push(results.map(({ outcome, lost }) => ({ outcome, lost })))
  }
  return runs
}
