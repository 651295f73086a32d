import type { ClientConfig } from '../options.js'
import { Pace, type QueuedCall } from './pace.js'
import { Queue } from './queue.js'

const maxKeys = 1_000
/** A function that returned so many API keys, and none of them again, makes tokens. Fewer may be those of tenants. */
const manyTokens = 10

/** A pace for each URL and API key, as services limit each key on its own. Shared by a client and those derived from it. */
export class Paces {
  readonly queue: Queue = new Queue()
  /** By URL and API key; that of the tokens of an `apiKey` function by the function. */
  readonly #paces = new Map<unknown, Pace>()
  /** By `apiKey` function: the last name of a pace, and how many new ones it had. */
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
