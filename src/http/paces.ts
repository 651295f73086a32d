import type { ClientConfig } from '../options.js'
import { Pace, type Turns } from './pace.js'
import { Places } from './places.js'

const maxKeys = 1_000
/** A function that returned so many keys, and none of them again, makes tokens. Fewer may be those of tenants. */
const manyTokens = 10

/** What is known of an `apiKey` function. */
interface Source {
  last: string
  tokens: number
  /** For calls whose key is not known yet. */
  readonly entrance: Pace
}

/** A pace for each URL and API key, as services limit each key on its own. Shared by a client and those derived from it. */
export class Paces {
  readonly places: Places = new Places()
  readonly #paces = new Map<string, Pace>()
  readonly #sources = new WeakMap<object, Source>()

  /** Where a call waits whose key is not known yet. */
  entranceOf(read: object): Pace {
    const source = this.#sources.get(read) ?? { last: '', tokens: 0, entrance: new Pace(this.places) }
    this.#sources.set(read, source)
    return source.entrance
  }

  of({ baseUrl, apiKey: given }: ClientConfig, apiKey: string | null, call: Turns): Pace {
    const name = `${baseUrl} ${apiKey}`
    const known = this.#paces.get(name)
    let pace = known ?? call.pace ?? new Pace(this.places)
    const source = typeof given === 'function' && this.#sources.get(given)
    if (source) {
      if (name !== source.last) source.tokens += known ? Number.NEGATIVE_INFINITY : 1
      source.last = name
      if (!known && source.tokens >= manyTokens) pace = source.entrance
    }
    if (!known) this.#paces.set(name, pace)
    if (this.#paces.size > maxKeys)
      for (const oldest of this.#paces.keys()) if (this.#paces.delete(oldest)) break
    return pace === call.pace ? pace : pace.begin(call)
  }
}
