import Big from 'big.js'
import type { Client, Transaction } from 'virtual-accounts'
import { searchText } from './search.ts'
import { Store } from './store.ts'

export interface CurrencySum {
  readonly currency: string
  readonly count: number
  /** Exact, as decimal text. */
  readonly sum: string
  /** Every amount, smallest first. `undefined` while loading, because sorting takes a while. */
  readonly sorted: Float64Array | undefined
}

export interface Progress {
  readonly state: 'idle' | 'loading' | 'done' | 'cancelled' | 'failed'
  /** The loaded transactions. This array grows. `count` is its length at this moment. */
  readonly transactions: readonly Transaction[]
  /** The searchable text of each transaction. */
  readonly texts: readonly string[]
  readonly count: number
  readonly total: number | undefined
  readonly seconds: number
  /** Sorted by currency code, so rows keep their places while sums grow. */
  readonly sums: readonly CurrencySum[]
  /** The list's scroll position. The list leaves the document while another view is shown. */
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
  /** Resumes after the last transaction. */
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
 * All transactions of the service, loaded by one loop. It is verified, so it fails if it may have missed any.
 *
 * It runs on the main thread. Batches arrive one by one, and the browser can paint and respond between them. With 100,000
 * items, this class publishes a few times per second, the table renders only visible rows, and the filter and the CSV file
 * work in slices.
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

  /** Resumes after a cancel or a failure, even if the list has changed meanwhile. */
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
        // The total is lower than the loaded count if items were removed meanwhile.
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
  // An item that moves far during the loop may come twice.
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

/** Sorts one currency at a time, so the browser can paint in between. */
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
