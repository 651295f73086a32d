import { isRedirect } from '../errors.js'
import type { NetworkErrorReason } from './network-error.js'
import { type CallHistory, isKeyInUse } from './retry.js'

interface FailedCall extends CallHistory {
  readonly isList: boolean
  readonly sendsNoKey: boolean
  readonly isOutcomeUnknown: boolean
}

/** What to do about a response that is not 2xx. */
export function httpErrorHint(
  status: number,
  retryAfterMs: number | undefined,
  call: FailedCall,
): string | undefined {
  if (isRedirect(status)) return redirectHint(status)
  if (status === 401 || status === 403) return keyHint(status, call)
  if (status === 429) {
    return `${retryAfterHint(retryAfterMs)}.${call.isList ? ' If this recurs, lower `concurrency`.' : ''}`
  }
  if (status === 404)
    return `Check ${call.isList ? 'the path' : 'the path and the ids in it'}, and the path of baseUrl.`
  if (isKeyInUse(status, call)) {
    return 'Either a request with this key is still in progress, or the service refused the change: see error.body.'
  }
  if (status === 422 && call.hasCallerKey && !call.isOutcomeUnknown) {
    return 'The key may have been used for another request: each write needs its own idempotencyKey. See error.body.'
  }
  if (status === 501 || status === 505) return `The service does not support this request. ${seeItsReason}`
  if (retryAfterMs) return `${retryAfterHint(retryAfterMs)}.`
  return status < 500 ? seeBody : `The service failed: retry later. ${seeItsReason}`
}

const seeBody = 'If the service gave a reason, it is in error.body.'
const seeItsReason = 'If it gave a reason, it is in error.body.'

function redirectHint(status: number): string {
  return status === 0
    ? "Set baseUrl to an address that does not redirect: the browser's network tab shows where it leads."
    : "Set baseUrl to the address that the redirect points to: error.headers.get('location')."
}

function keyHint(status: number, { sendsNoKey }: FailedCall): string {
  if (sendsNoKey) return 'No key was sent (apiKey is null): check the proxy that should add it.'
  return status === 401
    ? 'Check apiKey, and that it belongs to this baseUrl.'
    : `Check that apiKey belongs to this baseUrl, and is allowed to do this. ${seeBody}`
}

function retryAfterHint(retryAfterMs: number | undefined): string {
  return retryAfterMs ? `Retry after ${Math.ceil(retryAfterMs / 1000)} s` : 'Retry later'
}

/** What happened to a request that got no response, and what to do. */
export function describeNetworkError(
  reason: NetworkErrorReason,
  phase: 'sending' | 'reading',
  { code, isOutcomeUnknown }: { code: string | undefined; isOutcomeUnknown: boolean },
): { problem: string; hint: string | undefined } {
  const withCode = code === undefined ? '' : `: ${code}`
  switch (reason) {
    case 'certificate-rejected':
      return {
        problem: `the TLS certificate was rejected${withCode}`,
        hint: 'Check that it is valid for the host of baseUrl and has not expired, and that this runtime trusts its authority.',
      }
    case 'request-refused':
      return { problem: `the request could not be sent${withCode}`, hint: refusedHint(code) }
    case 'invalid-fetch':
      return {
        problem: 'fetch did not resolve with a Response that can be read',
        hint: 'Check the option `fetch`: see error.cause.',
      }
    case 'not-connected':
      return { problem: `could not connect${withCode}`, hint: connectHint(code) }
    case 'connection-lost':
      if (phase === 'reading' || code !== undefined) {
        const when = phase === 'reading' ? 'the response was complete' : 'a response arrived'
        return {
          problem: `connection lost before ${when}${withCode}`,
          hint: lostHint(code, isOutcomeUnknown),
        }
      }
      // Browsers give no reason, and an error of a custom fetch may have any.
      return {
        problem: 'could not connect, or connection lost before a response arrived',
        hint: `${checkNetwork} The reason may be in error.cause; a browser shows it in its console (CORS, Content-Security-Policy).`,
      }
  }
}

const checkNetwork = 'Check baseUrl and the network.'

function connectHint(code: string | undefined): string {
  if (code !== 'EMFILE' && code !== 'ENFILE') return checkNetwork
  return 'Too many files or sockets are open: close some, or raise the limit (ulimit -n).'
}

function lostHint(code = '', isOutcomeUnknown: boolean): string | undefined {
  // What to do about such a write is said anyway.
  if (!/^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$/.test(code)) return isOutcomeUnknown ? undefined : checkNetwork
  return "This is a limit of Node's fetch, usually 300 s: pass a `fetch` with longer limits (docs/networks.md)."
}

function refusedHint(code = ''): string {
  if (code === 'ERR_ACCESS_DENIED') return 'Allow this process to use the network.'
  // The second one is undici's: a proxy agent gives it when the proxy refuses the connection.
  if (code === 'ERR_PROXY_TUNNEL' || code === 'UND_ERR_ABORTED') return 'Check the proxy.'
  if (code.startsWith('ERR_SSL_'))
    return 'Check the scheme and port of baseUrl, and the TLS versions of both sides.'
  return 'Check baseUrl and the headers.'
}
