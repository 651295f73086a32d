import ky, { replaceOption } from 'ky'
import { codeOf, isControlFlow, isNotConnected } from '../internal/error-code.js'
import { timedOut, type Waiting } from '../internal/waiting.js'
import type { Fetch, FetchInit } from '../options.js'
import { parseRetryAfter } from './backoff.js'
import { readBody } from './body.js'
import type { QueuedCall } from './pace.js'
import type { CallReport } from './report.js'
import { isSuccess } from './retry.js'
import type { Call, NoResponse, Outcome, ReceivedResponse, Transport } from './types.js'

/** A call and the state that all of its attempts share. */
export interface Run {
  readonly transport: Transport
  readonly call: Call
  readonly url: string
  readonly fetch: Fetch
  readonly report: CallReport
  readonly waiting: Waiting
  /** When `totalTimeout` ends. After a blocked event loop, its timer may fire late. */
  readonly dueAt: number
  readonly queued: QueuedCall
}

/** Own properties for every option that ky reads, so it never reads a polluted `Object.prototype`. */
const unset = (names: string) => Object.fromEntries(names.split(' ').map(name => [name, undefined]))
const kyInput = unset('headers method signal')
const kyOptions: object = {
  ...unset(
    'baseUrl prefix json signal context totalTimeout parseJson stringifyJson onDownloadProgress onUploadProgress',
  ),
  // A function, because ky copies an object, with its inherited properties.
  hooks: Object.assign(() => {}, unset('init beforeRequest beforeRetry beforeError afterResponse')),
  // Not `undefined`, or ky and its Request would read the prototype.
  searchParams: [],
  body: null,
}

export const noResponseInTime: NoResponse = {
  status: undefined,
  reason: 'no-response',
  isTimeout: true,
  cause: undefined,
}

/**
 * Sends one request and reads its whole response. Gives up at `until`. Rejects only with an error of the caller's code. An
 * abort is an outcome.
 */
export async function runAttempt(run: Run, apiKey: string | null, until: number): Promise<Outcome> {
  const { transport, call, url, fetch, report, waiting } = run
  const { method, body, idempotencyKey, settings } = call
  const controller = new AbortController()
  const { signal } = controller
  let isSent = false
  let thrown: { readonly cause: unknown } | undefined
  let head: Omit<ReceivedResponse, 'text'> | undefined

  const fetchOnce = async (request: Request): Promise<Response> => {
    report.emit({ type: 'request', attempt: report.attempts, idempotencyKey })
    waiting.throwIfAborted()
    isSent = true
    const received = (await fetch(url, toInit(request, body, signal))) as Response | undefined
    if (received?.type === 'error') throw new TypeError('fetch resolved with a network error')
    if (!isFresh(received))
      throw new TypeError('fetch must resolve with a new, unread Response for each request')
    return received
  }

  const send = async (): Promise<ReceivedResponse> => {
    const headers: Record<string, string> = { ...settings.headers }
    if (apiKey !== null) headers['api-key'] = apiKey
    if (idempotencyKey !== undefined) {
      headers['content-type'] = 'application/json'
      headers['idempotency-key'] = idempotencyKey
    }
    const response = await ky(Object.assign(new URL(url), kyInput), {
      ...kyOptions,
      method,
      // ky would add headers from a polluted `Object.prototype`.
      headers: replaceOption(headers),
      ...bodyAndCache(body),
      // Otherwise fetch would send the API key to the redirect's origin, and turn a POST into a GET.
      redirect: 'manual',
      // The client has its own retries, time limits and errors.
      retry: 0,
      timeout: false,
      throwHttpErrors: false,
      // ky would wrap some errors in one that holds the request, and so the API key.
      fetch: request =>
        fetchOnce(request as Request).catch(cause => {
          thrown = { cause }
          return new Response()
        }),
    })
    if (thrown) throw thrown.cause
    const { status } = response
    const responseHeaders = toHeaders(response.headers)
    const retryAfterMs = isSuccess(status) ? undefined : parseRetryAfter(responseHeaders)
    head = { status, headers: responseHeaders, retryAfterMs }
    return { ...head, text: await readBody(response, transport.maxResponseBytes, signal) }
  }

  const fail = (failure: NoResponse): Outcome => {
    controller.abort()
    if (!isSent && waiting.isAborted) report.attempts--
    if (!isSent) return { ...failure, reason: 'not-sent' }
    // The status of an error says more than the failure to read its body.
    return head && !isSuccess(head.status) ? { ...head, text: undefined } : failure
  }

  const leftMs = Math.ceil(until - performance.now())
  // A blocked event loop or a slow `apiKey` may have used up the time.
  if (leftMs <= 0) return fail(noResponseInTime)
  try {
    const outcome = await waiting.within(leftMs, send())
    return outcome === timedOut ? fail(noResponseInTime) : outcome
  } catch (cause) {
    if (waiting.isAborted) return fail(noResponseInTime)
    const reason = head ? 'cut-off' : reasonOf(cause)
    const failure = fail({ status: undefined, reason, isTimeout: false, cause })
    if (!isSent || (reason !== 'cut-off' && isControlFlow(cause))) throw report.callerError(cause)
    return failure
  }
}

const certificateRejected =
  /^(?:(?:CERT|CRL|UNABLE_TO|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|ERROR_IN_CERT)_\w+|INVALID_(?:CA|PURPOSE)|HOSTNAME_MISMATCH|PATH_LENGTH_EXCEEDED)$/

/** Treats the request as sent unless the error proves otherwise. */
function reasonOf(error: unknown): NoResponse['reason'] {
  if (isNotConnected(error)) return 'not-connected'
  return certificateRejected.test(codeOf(error) ?? '') ? 'certificate' : 'no-response'
}

/** ky's request as a plain init. Some fetch libraries reject a `Request`, and its body would be sent in chunks. */
function toInit(request: Request, body: string | undefined, signal: AbortSignal): FetchInit {
  const headers = Object.fromEntries(request.headers)
  const init = { method: request.method, headers, ...bodyAndCache(body), redirect: 'manual' } as const
  return isAccepted(signal) ? { ...init, signal } : init
}

const accepted = new WeakMap<object, boolean>()

/** In a test runner's jsdom, fetch rejects signals, because jsdom has its own AbortController. */
function isAccepted(signal: AbortSignal): boolean {
  const kind = signal.constructor
  try {
    if (!accepted.has(kind)) accepted.set(kind, !!new Request('https://any.invalid', { signal }))
  } catch {
    accepted.set(kind, false)
  }
  return accepted.get(kind) === true
}

/** Bypasses the HTTP cache, because a cached page may be out of date. Some runtimes reject the option `cache`. */
function bodyAndCache(body: string | undefined): Pick<FetchInit, 'body' | 'cache'> {
  const cache = 'cache' in Request.prototype ? ({ cache: 'no-store' } as const) : {}
  return body === undefined ? cache : { ...cache, body }
}

/** Without instanceof, because the caller's fetch may have its own Response. */
function isFresh(received: Partial<Response> | undefined): received is Response {
  const { status, headers, body, bodyUsed, text } = received ?? {}
  if (typeof status !== 'number' || typeof headers?.get !== 'function' || bodyUsed || body?.locked)
    return false
  return body === null || typeof body?.getReader === 'function' || typeof text === 'function'
}

/** Copies the headers of a custom fetch at once, because reading them may throw. */
function toHeaders(headers: Headers): Headers {
  if (Object.getPrototypeOf(headers) === Headers.prototype) return headers
  return new Headers([...(headers as Iterable<[string, string]>)])
}
