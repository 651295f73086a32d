import { Throttle } from './throttle.js'

const maxKeys = 1_000

/** A throttle for each API key, as services limit each on its own. Shared by a client and those derived from it. */
export class Throttles {
  readonly #throttles = new Map<string, Throttle>()

  of(baseUrl: string, apiKey: string | null): Throttle {
    const name = `${baseUrl} ${apiKey}`
    let throttle = this.#throttles.get(name)
    if (throttle) return throttle
    for (const oldest of [...this.#throttles.keys()].slice(0, 1 - maxKeys)) this.#throttles.delete(oldest)
    throttle = new Throttle()
    this.#throttles.set(name, throttle)
    return throttle
  }
}
