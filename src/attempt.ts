import { readBytes } from './body.js'
import type { Fetch } from './options.js'
import { codeOf } from './secret.js'

/** What one attempt sends, and how. */
export interface Request {
  readonly url: string
  readonly init: RequestInit & { readonly headers: Readonly<Record<string, string>> }
  readonly key: () => string | null | Promise<string>
  readonly fetch: Fetch
  readonly maxBytes: number
  /** Told just before the request leaves. */
  readonly onSend: (key: string | null) => void
}

/** What became of an attempt. */
export type Arrival =
  | /** An answer; `bytes` is undefined when it is too long, or an error's body could not be had. */ {
      what: 'answer'
      response: Response
      bytes: Uint8Array | undefined
    }
  | /** The connection failed, or was never made. */ { what: 'lost'; reading: boolean; error: unknown }
  | /** Time ran out. */ { what: 'late'; sent: boolean }
  | /** The caller's function gave no key. */ { what: 'keyless'; error: unknown }
  | /** {@link Attempt.stop} was called. */ { what: 'stopped' }

const longestErrorBody = 1024 * 1024

/**
 * One request and its whole answer, under one time limit. It ends at once when stopped or late, even where the key
 * function or fetch ignore it: what they still bring is then let go.
 */
export class Attempt {
  readonly #request: Request
  readonly #controller = new AbortController()
  #phase: 'key' | 'sending' | 'reading' = 'key'
  #deadline = 0
  #settle: (arrival: Arrival) => void = () => {}

  constructor(request: Request) {
    this.#request = request
  }

  /** Never rejects. */
  run(limitMs: number): Promise<Arrival> {
    this.#deadline = performance.now() + limitMs
    return new Promise(resolve => {
      const timer = setTimeout(() => this.#leave({ what: 'late', sent: this.#phase !== 'key' }), limitMs)
      this.#settle = arrival => {
        clearTimeout(timer)
        resolve(arrival)
      }
      void this.#exchange().then(this.#settle)
    })
  }

  stop(): void {
    this.#leave({ what: 'stopped' })
  }

  #leave(arrival: Arrival): void {
    this.#settle(arrival)
    this.#controller.abort()
  }

  async #exchange(): Promise<Arrival> {
    const { url, init, fetch, maxBytes, onSend } = this.#request
    const { signal } = this.#controller
    let key: string | null
    try {
      key = await this.#request.key()
    } catch (error) {
      return { what: 'keyless', error }
    }
    // Neither a key that came too late nor who aborts on hearing of it must send anything.
    if (signal.aborted) return { what: 'stopped' }
    onSend(key)
    if (signal.aborted) return { what: 'stopped' }
    this.#phase = 'sending'
    try {
      const headers = key === null ? init.headers : { ...init.headers, 'api-key': key }
      // Fetch would follow with the key to any origin, and turn a POST into a GET: set last, whatever init says.
      const response = await fetch(url, { ...init, headers, signal, redirect: 'manual' })
      if (signal.aborted) {
        void response?.body?.cancel().catch(() => {})
        return { what: 'stopped' }
      }
      if (!isAnswer(response)) throw new TypeError('expected fetch to give a Response')
      this.#phase = 'reading'
      const bytes = response.ok
        ? await readBytes(response, maxBytes, signal)
        : await this.#readErrorBody(response)
      return { what: 'answer', response, bytes }
    } catch (error) {
      return { what: 'lost', reading: this.#phase === 'reading', error }
    }
  }

  /** An error is told whether or not its body can be had: half of the time that is left must do. */
  async #readErrorBody(response: Response): Promise<Uint8Array | undefined> {
    const patience = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const tooLate = new Promise<undefined>(resolve => {
      const end = () => {
        patience.abort()
        resolve(undefined)
      }
      timer = setTimeout(end, (this.#deadline - performance.now()) / 2)
    })
    try {
      return await Promise.race([readBytes(response, longestErrorBody, patience.signal), tooLate])
    } catch {
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Not by instanceof: a fetch of the caller's may have a Response of its own. One of type 'error' is none. */
function isAnswer(response: Response | undefined): boolean {
  const { status, headers, type } = Object(response) as Partial<Response>
  return typeof status === 'number' && typeof headers?.get === 'function' && type !== 'error'
}

// Codes of Node (and Deno's and Bun's node layers), undici and Bun. What has none counts as sent, and so does what may
// also befall a connection that stands, as EHOSTUNREACH does.
const neverConnected = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
  'FailedToOpenSocket',
])
const certificateRefused =
  /(?:^|_)(?:CERT|CRL|CA|ISSUER)(?:_|$)|SIGNATURE|^(?:HOSTNAME_MISMATCH|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$/

/** Why there was no answer. By the error's code, never by its message: every runtime words that differently. */
export function whyLost(
  error: unknown,
  reading: boolean,
): { because: 'certificate' | 'refused' | 'broken'; code: string | undefined } {
  const code = codeOf(error)
  if (reading || code === undefined) return { because: 'broken', code }
  if (certificateRefused.test(code)) return { because: 'certificate', code }
  return { because: neverConnected.has(code) ? 'refused' : 'broken', code }
}

let cacheIsRefused: boolean | undefined

/** `cache: 'no-store'`, as a cached page is a wrong page; nothing where the runtime refuses the option. */
export function noStore(): Pick<RequestInit, 'cache'> {
  cacheIsRefused ??= refusesCache()
  return cacheIsRefused ? {} : { cache: 'no-store' }
}

function refusesCache(): boolean {
  try {
    new globalThis.Request('https://cache.invalid', { cache: 'no-store' })
    return false
  } catch {
    return true
  }
}
