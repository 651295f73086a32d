import type { ClientConfig } from '../options.js'
import { Pace, type QueuedCall } from './pace.js'
import { Queue } from './queue.js'

const maxKeys = 1_000

/** A pace for each URL and API key, because services limit each key on its own. Shared with derived clients. */
export class Paces {
  readonly queue: Queue = new Queue()
  /** By URL and API key. */
  readonly #paces = new Map<string, Pace>()
  /** By `apiKey` function and URL. */
  readonly #tokens = new WeakMap<object, Map<string, Pace>>()

  /** Gives a call the pace of the API key that it is about to send. */
  assign({ baseUrl, apiKey: given }: ClientConfig, apiKey: string | null, call: QueuedCall): void {
    const name = `${baseUrl} ${apiKey}`
    const isNew = !this.#paces.has(name)
    call.pace = getOrAdd(this.#paces, name)
    // A key that a function returns for the first time may be a token, and tokens share a pace. The key of a tenant comes again.
    if (isNew && typeof given === 'function') {
      const tokens = this.#tokens.get(given) ?? new Map<string, Pace>()
      this.#tokens.set(given, tokens)
      call.pace = getOrAdd(tokens, baseUrl)
    }
    if (this.#paces.size > maxKeys)
      for (const oldest of this.#paces.keys()) if (this.#paces.delete(oldest)) break
  }
}

function getOrAdd(paces: Map<string, Pace>, name: string): Pace {
  const pace = paces.get(name) ?? new Pace()
  paces.set(name, pace)
  return pace
}
