import { type Client, isApiError, type Transaction } from 'virtual-accounts'
import { DecimalSum } from '../../decimal-sum.js'
import { Store } from './store.ts'

export interface CurrencySum {
  readonly currency: string
  readonly count: number
  /** Exact, as decimal text. */
  readonly sum: string
}

/** How far the walk is. */
export interface Progress {
  readonly state: 'idle' | 'loading' | 'done' | 'cancelled' | 'failed'
  /** All that is loaded. The same array grows: `count` says how much of it there was when this was told. */
  readonly transactions: readonly Transaction[]
  readonly count: number
  readonly total: number | undefined
  readonly seconds: number
  readonly perSecond: number
  readonly sums: readonly CurrencySum[]
  readonly failure:
    | { readonly error: unknown; readonly at: number; readonly resumeAt: number | undefined }
    | undefined
}

const limit = 100
const nothing: Progress = {
  state: 'idle',
  transactions: [],
  count: 0,
  total: undefined,
  seconds: 0,
  perSecond: 0,
  sums: [],
  failure: undefined,
}

/**
 * All transactions of the service, loaded by one walk.
 *
 * It runs on the main thread, as it needs no other: pages come one by one, and between them the browser has its turn.
 * What takes long for 100,000 items at once is told a few times a second (this), drawn only where it is seen (the
 * table), or done in pieces (the CSV file).
 */
export class Collection {
  readonly store = new Store(nothing)
  readonly #client: Client
  #transactions: Transaction[] = []
  #ids = new Set<string>()
  #sums = new Map<string, { count: number; sum: DecimalSum }>()
  #total: number | undefined
  #abort = new AbortController()

  constructor(client: Client) {
    this.#client = client
  }

  readonly start = () => {
    this.#transactions = []
    this.#ids = new Set()
    this.#sums = new Map()
    this.#total = undefined
    return this.#walk(1)
  }

  /** Goes on where the walk failed. */
  readonly resume = () => this.#walk(this.store.get().failure?.resumeAt ?? 1)

  readonly cancel = () => this.#abort.abort()

  async #walk(page: number) {
    this.#abort.abort()
    const abort = new AbortController()
    this.#abort = abort
    const began = performance.now()
    const before = this.#transactions.length
    const publish = (state: Progress['state'], failure?: Progress['failure']) => {
      // A walk that was replaced has nothing to tell.
      if (abort !== this.#abort) return
      const count = this.#transactions.length
      const seconds = (performance.now() - began) / 1000
      const perSecond = seconds > 0 ? (count - before) / seconds : 0
      const sums = [...this.#sums].map(([currency, { count, sum }]) => ({
        currency,
        count,
        sum: String(sum),
      }))
      sums.sort((one, other) => other.count - one.count)
      const transactions = this.#transactions
      this.store.set({ state, transactions, count, total: this.#total, seconds, perSecond, sums, failure })
    }

    publish('loading')
    const timer = setInterval(() => publish('loading'), 200)
    try {
      const list = this.#client.transactions.list({ page, limit }, { signal: abort.signal })
      // Awaited, the list is its first page, which knows the total; iterated, it is every item.
      this.#total = (await list).totalItems
      for await (const transaction of list) this.#add(transaction)
      this.#total = this.#transactions.length
      publish('done')
    } catch (error) {
      if (abort.signal.aborted) publish('cancelled')
      else publish('failed', { error, at: Date.now(), resumeAt: placeToResume(error) })
    } finally {
      clearInterval(timer)
    }
  }

  #add(transaction: Transaction) {
    const { id, currency, amount } = transaction
    // A walk that goes on after a failure may meet again what the one before it had.
    if (this.#ids.has(id)) return
    this.#ids.add(id)
    this.#transactions.push(transaction)
    let entry = this.#sums.get(currency)
    if (!entry) {
      entry = { count: 0, sum: new DecimalSum() }
      this.#sums.set(currency, entry)
    }
    entry.count++
    entry.sum.add(amount)
  }
}

/** A list that changed is read anew: only then nothing is missed. */
function placeToResume(error: unknown): number | undefined {
  return isApiError(error) && error.kind !== 'pagination' ? error.page : undefined
}
