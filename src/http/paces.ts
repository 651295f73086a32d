import type { ClientConfig } from '../options.js'
import { Pace, type QueuedCall } from './pace.js'
import { Queue } from './queue.js'

const maxKeys = 1_000
/** A function that returned this many API keys, none of them twice, makes tokens. Fewer may be the keys of tenants. */
const manyTokens = 10

/** A pace for each URL and API key, because services limit each key on its own. Shared with derived clients. */
export class Paces {
  readonly queue: Queue = new Queue()
  /** By URL and API key. Exception: by the `apiKey` function, if it makes tokens. */
  readonly #paces = new Map<unknown, Pace>()
  /** The last pace's name of each `apiKey` function, and its number of new ones. */
  readonly #functions = new WeakMap<object, { last: string; tokens: number }>()

  /** Gives a call the pace of the API key that it is about to send. */
  assign({ baseUrl, apiKey: given }: ClientConfig, apiKey: string | null, call: QueuedCall): Pace {
    const name = `${baseUrl} ${apiKey}`
    let pace = this.#paces.get(name)
    let shared: unknown = name
    if (typeof given === 'function') {
      const source = this.#functions.get(given) ?? { last: '', tokens: 0 }
      if (name !== source.last) source.tokens += pace ? Number.NEGATIVE_INFINITY : 1
      source.last = name
      this.#functions.set(given, source)
      if (source.tokens >= manyTokens) shared = given
    }
    pace ??= this.#paces.get(shared) ?? new Pace(this.queue)
    this.#paces.set(name, pace).set(shared, pace)
    if (this.#paces.size > maxKeys)
      for (const oldest of this.#paces.keys()) if (this.#paces.delete(oldest)) break
    if (pace !== call.pace) {
      if (call.pace) call.pace.calls--
      pace.calls++
      call.pace = pace
    }
    return pace
  }
}
