import { resolveBaseUrl } from '../internal/url.js'
import type { Fetch } from '../options.js'
import type { Call, ClientState, ParseResponse } from './call.js'
import { CallRunner } from './call-runner.js'

/** Sends the calls of all endpoints. */
export class Transport {
  readonly state: ClientState
  readonly #callIdPrefix = Math.random().toString(36).slice(2, 10)
  #calls = 0

  constructor(state: ClientState) {
    this.state = state
  }

  /** Sends a call, retries it where that may help, and parses its response. */
  async send<T>(call: Call, parse: ParseResponse<T>): Promise<T> {
    for (const signal of call.signals) if (signal?.aborted) throw signal.reason
    const url = `${resolveBaseUrl(this.state.baseUrl)}${call.path}${call.query}`
    // Looked up at each call, so that later patches take effect.
    const fetch: Fetch | undefined = this.state.fetch ?? globalThis.fetch
    if (typeof fetch !== 'function')
      throw new TypeError('fetch: this runtime has none, so pass one as the option `fetch`')
    const callId = `${this.#callIdPrefix}-${++this.#calls}`
    return new CallRunner(call, { callId, url, fetch }, this.state).run(parse)
  }
}
