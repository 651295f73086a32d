import ky, { NetworkError, replaceOption } from 'ky'
import { codeOf, isControlFlow, isNotConnected } from '../internal/error-code.js'
import { timedOut, type Waiting } from '../internal/waiting.js'
import type { Fetch, FetchInit } from '../options.js'
import { parseRetryAfter } from './backoff.js'
import { readBody } from './body.js'
import type { CallReport } from './report.js'
import { isSuccess } from './retry.js'
import type { Call, NoResponse, Outcome, ReceivedResponse, Transport } from './types.js'

/** A call, and what all of its attempts share. */
export interface Run {
  readonly transport: Transport
  readonly call: Call
  readonly url: string
  readonly fetch: Fetch
  readonly report: CallReport
  readonly waiting: Waiting
}

/** All that ky reads, as own properties that are not set. Else it would come from `Object.prototype`. */
const unset = (names: string) => Object.fromEntries(names.split(' ').map(name => [name, undefined]))
const kyInput = unset('headers method signal')
const kyOptions: object = {
  ...unset(
    'baseUrl prefix json signal context totalTimeout parseJson stringifyJson onDownloadProgress onUploadProgress',
  ),
  // ky merges an object with what is inherited, so these are properties of a function.
  hooks: Object.assign(() => {}, unset('init beforeRequest beforeRetry beforeError afterResponse')),
  // ky drops `undefined` here, and some a Request below.
  searchParams: [],
  body: null,
}

export const noAnswer: NoResponse = {
  status: undefined,
  reason: 'no-response',
  isTimeout: true,
  cause: undefined,
}

/** Sends one request and receives its whole response until a time. Never rejects, also when the call is aborted. */
export async function runAttempt(run: Run, apiKey: string | null, until: number): Promise<Outcome> {
  const { transport, call, url, fetch, report, waiting } = run
  const { method, body, idempotencyKey, settings } = call
  const controller = new AbortController()
  const { signal } = controller
  let isSent = false
  let head: Omit<ReceivedResponse, 'text'> | undefined

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
      // ky would merge them with those of `Object.prototype`.
      headers: replaceOption(headers),
      ...withBody(body),
      // Fetch would follow a redirect with the API key to any origin, and turn a POST into a GET.
      redirect: 'manual',
      // Retries, time limits and errors are the client's.
      retry: 0,
      timeout: false,
      throwHttpErrors: false,
      fetch: async request => {
        report.emit({ type: 'request', attempt: report.attempts, idempotencyKey })
        waiting.throwIfAborted()
        isSent = true
        const received = (await fetch(url, toInit(request as Request, body, signal))) as Response | undefined
        if (received?.type === 'error') throw new TypeError('fetch resolved with a network error')
        if (!isFresh(received))
          throw new TypeError('fetch must resolve with a new, unread Response for each request')
        return received
      },
    })
    const { status } = response
    const responseHeaders = toHeaders(response.headers)
    const retryAfterMs = isSuccess(status) ? undefined : parseRetryAfter(responseHeaders)
    head = { status, headers: responseHeaders, retryAfterMs }
    return { ...head, text: await readBody(response, transport.maxResponseBytes, signal) }
  }

  let outcome: Outcome | undefined
  try {
    const leftMs = Math.ceil(until - performance.now())
    // After a blocked event loop or a slow `apiKey`, a request would be sent in vain.
    if (leftMs <= 0) return fail(noAnswer)
    const result = await waiting.within(leftMs, send())
    if (result !== timedOut) outcome = result
    return outcome ?? fail(noAnswer)
  } catch (error) {
    if (waiting.isAborted) return fail(noAnswer)
    // ky wraps some errors, with the request and so the API key.
    const cause = error instanceof NetworkError ? error.cause : error
    if (!head && isControlFlow(cause))
      return { status: undefined, reason: 'not-sent', isTimeout: false, cause }
    return fail({ status: undefined, reason: head ? 'cut-off' : reasonOf(cause), isTimeout: false, cause })
  } finally {
    if (outcome === undefined) controller.abort()
  }

  function fail(failure: NoResponse): Outcome {
    if (!isSent) {
      // An abort came first: it is no attempt.
      if (waiting.isAborted) report.attempts--
      return { ...failure, reason: 'not-sent' }
    }
    // The status of an error says more than what happened to its body.
    return head && !isSuccess(head.status) ? { ...head, text: undefined } : failure
  }
}

const certificateRejected =
  /^(?:(?:CERT|CRL|UNABLE_TO|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|ERROR_IN_CERT)_\w+|INVALID_(?:CA|PURPOSE)|HOSTNAME_MISMATCH|PATH_LENGTH_EXCEEDED)$/

/** Unless an error shows otherwise, the request counts as sent. */
function reasonOf(error: unknown): NoResponse['reason'] {
  if (isNotConnected(error)) return 'not-connected'
  return certificateRejected.test(codeOf(error) ?? '') ? 'certificate' : 'no-response'
}

/** What ky has built, as a plain init: not every fetch takes a `Request`, and the body of one is sent in chunks. */
function toInit(request: Request, body: string | undefined, signal: AbortSignal): FetchInit {
  const headers = Object.fromEntries(request.headers)
  const init = { method: request.method, headers, ...withBody(body), redirect: 'manual' } as const
  return isAccepted(signal) ? { ...init, signal } : init
}

const accepted = new WeakMap<object, boolean>()

/** In the jsdom of a test runner, the global AbortController is not that of fetch, which rejects its signals. */
function isAccepted(signal: AbortSignal): boolean {
  const kind = signal.constructor
  try {
    if (!accepted.has(kind)) accepted.set(kind, !!new Request('https://any.invalid', { signal }))
  } catch {
    accepted.set(kind, false)
  }
  return accepted.get(kind) === true
}

/** A cached page may be out of date. A runtime that does not know the option rejects it. */
function withBody(body: string | undefined): Pick<FetchInit, 'body' | 'cache'> {
  const cache = 'cache' in Request.prototype ? ({ cache: 'no-store' } as const) : {}
  return body === undefined ? cache : { ...cache, body }
}

/** Not by instanceof: the caller's fetch may have a Response of its own. */
function isFresh(received: Partial<Response> | undefined): received is Response {
  const { status, headers, body, bodyUsed, text } = received ?? {}
  if (typeof status !== 'number' || typeof headers?.get !== 'function' || bodyUsed || body?.locked)
    return false
  return body === null || typeof body?.getReader === 'function' || typeof text === 'function'
}

/** Those of a custom fetch are copied, as they may throw when they are read. */
function toHeaders(headers: Headers): Headers {
  if (Object.getPrototypeOf(headers) === Headers.prototype) return headers
  return new Headers([...(headers as Iterable<[string, string]>)])
}
