import type { ClientConfig } from '../options.js'
import { Pace, type QueuedCall } from './pace.js'
import { Queue } from './queue.js'

const maxKeys = 1_000
/** If a function returns this many keys without a repeat, they are tokens. Fewer may be the keys of tenants. */
const manyTokens = 20

/** A pace for each URL and API key, because services limit each key on its own. Shared with derived clients. */
export class Paces {
  readonly queue: Queue = new Queue()
  /** By URL and API key. */
  readonly #paces = new Map<string, Pace>()
  /** For each `apiKey` function, a pace for its tokens, and its number of new keys. -Infinity once a key repeats. */
  readonly #functions = new WeakMap<object, { pace: Pace; newKeys: number }>()

  /** Gives a call the pace of the API key that it is about to send. */
  assign({ baseUrl, apiKey: given }: ClientConfig, apiKey: string | null, call: QueuedCall): void {
    const name = `${baseUrl} ${apiKey}`
    let pace = this.#paces.get(name)
    if (typeof given === 'function') {
      const source = this.#functions.get(given) ?? { pace: new Pace(), newKeys: 0 }
      source.newKeys += pace ? Number.NEGATIVE_INFINITY : 1
      if (source.newKeys >= manyTokens) pace = source.pace
      this.#functions.set(given, source)
    }
    pace ??= new Pace()
    this.#paces.set(name, pace)
    if (this.#paces.size > maxKeys)
      for (const oldest of this.#paces.keys()) if (this.#paces.delete(oldest)) break
    if (call.pace) call.pace.calls--
    pace.calls++
    call.pace = pace
  }
}
