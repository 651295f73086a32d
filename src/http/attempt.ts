import type { ApiKey } from '../internal/api-key.js'
import type { Fetch, FetchInit } from '../options.js'
import { InvalidFetchError } from './network-error.js'
import { isTruncated, readBytes } from './response-body.js'

/** What one attempt sends. */
export interface AttemptOptions {
  readonly url: string
  readonly init: Omit<FetchInit, 'signal' | 'redirect'>
  readonly apiKey: () => ApiKey | null | Promise<ApiKey>
  readonly fetch: Fetch
  readonly maxResponseBytes: number
  /** Called immediately before the request is sent. */
  readonly onSend: (apiKey: ApiKey | null) => void
}

/** A response that has been read. */
export interface ReceivedResponse {
  /** As fetch returned it; its body is used. */
  readonly response: Response
  readonly status: number
  readonly headers: Headers
  /** `undefined` if the body is larger than allowed, or the body of an error could not be read. */
  readonly bytes: Uint8Array | undefined
}

/** How an attempt ended. */
export type AttemptResult =
  | { readonly type: 'response'; readonly received: ReceivedResponse }
  | { readonly type: 'network-error'; readonly phase: 'sending' | 'reading'; readonly error: unknown }
  | { readonly type: 'timeout'; readonly isSent: boolean }
  | { readonly type: 'api-key-error'; readonly error: unknown }
  | { readonly type: 'aborted' }

const aborted = { type: 'aborted' } as const

const maxErrorBodyBytes = 1024 * 1024

/**
 * One request and its whole response, within one time limit. It ends immediately when it is cancelled or times out, even
 * if the API key function or fetch ignore the signal; what they return later is discarded.
 */
export class Attempt {
  readonly #options: AttemptOptions
  readonly #controller = new AbortController()
  #isSent = false
  #deadline = 0
  #settle: (result: AttemptResult) => void = () => {}

  constructor(options: AttemptOptions) {
    this.#options = options
  }

  /** Never rejects. */
  run(timeoutMs: number): Promise<AttemptResult> {
    this.#deadline = performance.now() + timeoutMs
    return new Promise(resolve => {
      const onTimeout = () => this.#end({ type: 'timeout', isSent: this.#isSent })
      const timer = setTimeout(onTimeout, timeoutMs)
      this.#settle = result => {
        clearTimeout(timer)
        resolve(result)
      }
      void this.#exchange().then(this.#settle)
    })
  }

  cancel(): void {
    this.#end(aborted)
  }

  #end(result: AttemptResult): void {
    this.#settle(result)
    this.#controller.abort()
  }

  async #exchange(): Promise<AttemptResult> {
    const { signal } = this.#controller
    let apiKey: ApiKey | null
    try {
      apiKey = await this.#options.apiKey()
    } catch (error) {
      return { type: 'api-key-error', error }
    }
    // Nothing is sent if the key came too late, or if the listener of the request event aborts.
    if (signal.aborted) return aborted
    this.#options.onSend(apiKey)
    if (signal.aborted) return aborted
    this.#isSent = true
    let phase: 'sending' | 'reading' = 'sending'
    try {
      const response = await this.#send(apiKey)
      if (signal.aborted) {
        void response.body?.cancel().catch(() => {})
        return aborted
      }
      phase = 'reading'
      return { type: 'response', received: await this.#read(response) }
    } catch (error) {
      return { type: 'network-error', phase, error }
    }
  }

  async #send(apiKey: ApiKey | null): Promise<Response> {
    const { url, init, fetch } = this.#options
    const headers = apiKey === null ? init.headers : { ...init.headers, 'api-key': apiKey.value }
    // Set last: fetch would follow a redirect with the key to any origin, and turn a POST into a GET.
    const response = (await fetch(url, {
      ...init,
      headers,
      signal: this.#controller.signal,
      redirect: 'manual',
    })) as Response | undefined
    // Not by instanceof: the caller's fetch may have a Response of its own.
    if (typeof response?.status !== 'number') {
      throw new InvalidFetchError('expected fetch to resolve with a Response')
    }
    if (response.type === 'error') throw new TypeError('fetch resolved with a network error')
    return response
  }

  async #read(response: Response): Promise<ReceivedResponse> {
    const { status } = response
    const headers = toHeaders(response.headers)
    const bytes = isSuccess(status) ? await this.#readBody(response) : await this.#readErrorBody(response)
    return { response, status, headers, bytes }
  }

  async #readBody(response: Response): Promise<Uint8Array | undefined> {
    // A fetch that logs the body has read it. Retried, the request would be sent again to the same end.
    if (response.bodyUsed || response.body?.locked) {
      throw new InvalidFetchError('expected an unread body: read that of response.clone()')
    }
    const bytes = await readBytes(response, this.#options.maxResponseBytes, this.#controller.signal)
    if (bytes && isTruncated(response, bytes))
      throw new TypeError('the body is shorter than its Content-Length')
    return bytes
  }

  /** An error is reported with or without its body: half of the remaining time must be enough for it. */
  async #readErrorBody(response: Response): Promise<Uint8Array | undefined> {
    const controller = new AbortController()
    const { signal } = controller
    const timer = setTimeout(() => controller.abort(), Math.max(0, this.#deadline - performance.now()) / 2)
    const tooLate = new Promise<undefined>(resolve =>
      signal.addEventListener('abort', () => resolve(undefined)),
    )
    try {
      const bytes = await Promise.race([readBytes(response, maxErrorBodyBytes, signal), tooLate])
      return bytes && isTruncated(response, bytes) ? undefined : bytes
    } catch {
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Copied, because headers of a custom fetch may throw when they are read: here that is an error of the call. */
function toHeaders(headers: Headers): Headers {
  try {
    return new Headers([...headers])
  } catch {
    throw new InvalidFetchError('expected headers that can be iterated')
  }
}

/** Whether a status is 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

let cacheOption: Pick<FetchInit, 'cache'> | undefined

/** `cache: 'no-store'`, as a cached page may be out of date; nothing where the runtime rejects the option. */
export function noStoreOption(): Pick<FetchInit, 'cache'> {
  if (cacheOption) return cacheOption
  const noStore = { cache: 'no-store' } as const
  try {
    new Request('https://cache.invalid', noStore)
    cacheOption = noStore
  } catch {
    cacheOption = {}
  }
  return cacheOption
}
