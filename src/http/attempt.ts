import ky, { type KyInstance, NetworkError } from 'ky'
import type { ApiKeyProvider } from '../internal/api-key.js'
import type { Fetch, FetchInit } from '../options.js'
import { isThenable } from '../schema.js'
import { InvalidFetchError } from './network-error.js'
import { BodyReader, isTruncated, type ResponseHead } from './response-body.js'

/** ky sends every attempt; time limits, retries and errors are ours: docs/decisions/what-ky-does.md. */
const sendOnce: KyInstance = /* @__PURE__ */ ky.create({ retry: 0, timeout: false, throwHttpErrors: false })

const maxErrorBodyBytes = 1024 * 1024
const notAResponse = 'expected a Response, such as Response.json(data)'

export interface AttemptOptions {
  readonly url: string
  readonly init: Omit<FetchInit, 'signal' | 'redirect'>
  readonly apiKeys: ApiKeyProvider
  readonly fetch: Fetch
  readonly maxResponseBytes: number
  /** Called immediately before the request is sent, unless it throws. `hasWaited`: the key was not there at once. */
  readonly onSend: (apiKey: string | null, hasWaited: boolean) => void
}

export interface ReceivedResponse extends ResponseHead {
  /** `undefined` if the body is larger than allowed, or is that of an error. */
  readonly bytes: Uint8Array | undefined
}

/** One request and its response, from the API key to the last byte. */
export class Attempt {
  /** How far it is. In `key`, nothing was sent. */
  phase: 'key' | 'sending' | 'reading' = 'key'
  readonly #options: AttemptOptions
  readonly #controller = new AbortController()
  readonly #reader = new BodyReader()

  constructor(options: AttemptOptions) {
    this.#options = options
  }

  cancel(): void {
    this.#controller.abort()
    this.#reader.cancel()
  }

  /** Gets the API key and sends the request. Reads the body of a success. */
  async send(): Promise<ReceivedResponse> {
    const { init, apiKeys, maxResponseBytes, onSend } = this.#options
    const { signal } = this.#controller
    const pendingKey = apiKeys.get()
    const hasWaited = isThenable(pendingKey)
    const apiKey = hasWaited ? await pendingKey : pendingKey
    // The key may have come too late.
    signal.throwIfAborted()
    onSend(apiKey, hasWaited)
    this.phase = 'sending'
    const headers = apiKey === null ? init.headers : { ...init.headers, 'api-key': apiKey }
    // Last: fetch would follow a redirect with the key to any origin, and turn a POST into a GET.
    const response = await this.#fetch({ ...init, headers, signal, redirect: 'manual' })
    if (signal.aborted) void response.body?.cancel().catch(() => {})
    signal.throwIfAborted()
    this.phase = 'reading'
    const { status } = response
    const received = { response, status, headers: toHeaders(response.headers) }
    if (!isSuccess(status)) return { ...received, bytes: undefined }
    // A custom fetch that logs the body may have read it. It would do so at each retry.
    if (response.bodyUsed || response.body?.locked) {
      throw new InvalidFetchError(
        'expected an unread body: return a new Response each time, and read only its clone()',
      )
    }
    const bytes = await this.#reader.read(response, maxResponseBytes)
    if (bytes && isTruncated(received, bytes)) {
      throw new TypeError('the body is shorter than its Content-Length')
    }
    return { ...received, bytes }
  }

  /** Reads the body of an error, which is reported with or without it. Never rejects. */
  async readErrorBody(received: ReceivedResponse): Promise<Uint8Array | undefined> {
    try {
      const bytes = await this.#reader.read(received.response, maxErrorBodyBytes)
      return bytes && isTruncated(received, bytes) ? undefined : bytes
    } catch {
      return undefined
    }
  }

  /** ky sees neither headers nor body, so nothing in it holds the API key. */
  async #fetch(init: FetchInit): Promise<Response> {
    const { url, fetch } = this.#options
    const fetchResponse = async () => {
      // ky calls this later: the attempt may have been cancelled since.
      init.signal.throwIfAborted()
      const response = (await fetch(url, init)) as Response | undefined
      // Not by instanceof: the caller's fetch may have a Response of its own.
      if (typeof response?.status !== 'number') {
        throw new InvalidFetchError(notAResponse)
      }
      if (response.type === 'error') throw new TypeError('fetch resolved with a network error')
      return response
    }
    try {
      return await sendOnce(url, { method: init.method, fetch: fetchResponse })
    } catch (error) {
      // Some errors, which it knows by their messages, are wrapped by ky. Not by name, which those of others may have, too.
      throw error instanceof NetworkError ? error.cause : error
    }
  }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** Those of a custom fetch are copied, as they may throw when they are read: here that is an error of the call. */
function toHeaders(headers: Headers): Headers {
  try {
    if (Object.getPrototypeOf(headers) === Headers.prototype) return headers
    return new Headers([...(headers as Iterable<[string, string]>)])
  } catch {
    throw new InvalidFetchError(notAResponse)
  }
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
