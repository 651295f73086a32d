import Big from 'big.js'
import type { Client, Transaction } from 'virtual-accounts'
import { searchText } from './search.ts'
import { Store } from './store.ts'

export interface CurrencySum {
  readonly currency: string
  readonly count: number
  /** Exact, as decimal text. */
  readonly sum: string
  /** Every amount, the smallest first; `undefined` while loading, as sorting takes a while. */
  readonly sorted: Float64Array | undefined
}

export interface Progress {
  readonly state: 'idle' | 'loading' | 'done' | 'cancelled' | 'failed'
  /** What is loaded. The same array grows: `count` says how much of it there was at this moment. */
  readonly transactions: readonly Transaction[]
  /** The text of each transaction that a filter searches. */
  readonly texts: readonly string[]
  readonly count: number
  readonly total: number | undefined
  readonly seconds: number
  /** By currency code, so that rows do not change places while sums grow. */
  readonly sums: readonly CurrencySum[]
  /** Where the list is scrolled to, from the top: it is not in the document while another view is. */
  readonly place: { scrollTop: number }
  readonly failure: { readonly error: unknown; readonly at: number } | undefined
}

interface Loaded {
  readonly transactions: Transaction[]
  readonly texts: string[]
  readonly ids: Set<string>
  readonly currencies: Map<string, { sum: Big; amounts: number[]; sorted: Float64Array | undefined }>
  readonly place: { scrollTop: number }
  total: number | undefined
  /** Goes on after the last transaction. */
  cursor: string | undefined
  seconds: number
}

const empty = (): Loaded => ({
  transactions: [],
  texts: [],
  ids: new Set(),
  currencies: new Map(),
  place: { scrollTop: 0 },
  total: undefined,
  cursor: undefined,
  seconds: 0,
})

/**
 * All transactions of the service, loaded by one loop. It is verified: either nothing was missed, or it fails.
 *
 * It runs on the main thread: batches arrive one by one, and the browser can paint and respond between them. What takes
 * long for 100,000 items is published a few times a second (this), rendered only where it is visible (the table), or
 * done in slices (the filter, the CSV file).
 */
export class Collection {
  readonly store: Store<Progress>
  readonly #client: Client
  #loaded = empty()
  #abort = new AbortController()

  constructor(client: Client) {
    this.#client = client
    this.store = new Store(progressOf(this.#loaded, 'idle'))
  }

  readonly start = () => {
    this.#loaded = empty()
    return this.#load()
  }

  /** Goes on after a cancel or a failure, whatever happened to the list meanwhile. */
  readonly resume = () => this.#load()

  readonly cancel = () => this.#abort.abort()

  async #load() {
    this.#abort.abort()
    const abort = new AbortController()
    this.#abort = abort
    const loaded = this.#loaded
    const secondsBefore = loaded.seconds
    const began = performance.now()
    const publish = (state: Progress['state'], failure?: Progress['failure']) => {
      // A newer load may have replaced this one.
      if (abort !== this.#abort) return
      loaded.seconds = secondsBefore + (performance.now() - began) / 1000
      this.store.set(progressOf(loaded, state, failure))
    }

    publish('loading')
    const timer = setInterval(() => publish('loading'), 200)
    let outcome: Parameters<typeof publish>
    try {
      const list = this.#client.transactions.list(
        { limit: 100 },
        { after: loaded.cursor, verified: true, signal: abort.signal },
      )
      for await (const { items, cursor, totalItems } of list.batches()) {
        for (const transaction of items) add(loaded, transaction)
        loaded.cursor = cursor
        // Less than what is loaded, when some of it was removed meanwhile.
        loaded.total = Math.max(totalItems, loaded.transactions.length)
      }
      loaded.total = loaded.transactions.length
      outcome = ['done']
    } catch (error) {
      outcome = abort.signal.aborted ? ['cancelled'] : ['failed', { error, at: Date.now() }]
    } finally {
      clearInterval(timer)
    }
    await sortAmounts(loaded)
    publish(...outcome)
  }
}

function add({ transactions, texts, ids, currencies }: Loaded, transaction: Transaction) {
  const { id, currency, amount } = transaction
  // One that itself moves far while the list is read may come twice.
  if (ids.has(id)) return
  ids.add(id)
  transactions.push(transaction)
  texts.push(searchText(transaction))
  let entry = currencies.get(currency)
  if (!entry) {
    entry = { sum: new Big(0), amounts: [], sorted: undefined }
    currencies.set(currency, entry)
  }
  entry.sum = entry.sum.plus(amount)
  entry.amounts.push(amount)
  entry.sorted = undefined
}

/** One currency at a time, so that the browser can paint in between. */
async function sortAmounts({ currencies }: Loaded) {
  for (const entry of currencies.values()) {
    entry.sorted = Float64Array.from(entry.amounts).sort()
    await new Promise(resolve => setTimeout(resolve))
  }
}

function progressOf(loaded: Loaded, state: Progress['state'], failure?: Progress['failure']): Progress {
  const { transactions, texts, place, total, seconds } = loaded
  const count = transactions.length
  const sums = [...loaded.currencies].map(([currency, { sum, amounts, sorted }]) => ({
    currency,
    count: amounts.length,
    sum: sum.toFixed(),
    sorted,
  }))
  sums.sort((one, other) => (one.currency < other.currency ? -1 : 1))
  return { state, transactions, texts, count, total, seconds, sums, place, failure }
}
