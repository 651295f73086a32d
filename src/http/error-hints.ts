import { isRedirect } from '../errors.js'
import type { NetworkErrorReason } from './network-error.js'
import { type CallHistory, isKeyInUse } from './retry.js'

/** What to do about a response that is not 2xx. */
export function httpErrorHint(
  status: number,
  retryAfterMs: number | undefined,
  call: CallHistory & { readonly isList: boolean },
): string | undefined {
  if (isRedirect(status)) return 'Set baseUrl to the address that responds itself.'
  if (status === 401 || status === 403) return 'Check apiKey, and that it belongs to this baseUrl.'
  if (status === 429)
    return `${retryAfterHint(retryAfterMs)}${call.isList ? ', or lower `concurrency`' : ''}.`
  if (status === 404) return `Check ${call.isList ? '' : 'the ids, and '}the path of baseUrl.`
  if (isKeyInUse(status, call))
    return 'A request with this key is still in progress: retry with the same key.'
  if (status === 422 && call.hasCallerKey) {
    return 'The key may have been used for another request: each write needs its own idempotencyKey. See error.body.'
  }
  if (retryAfterMs) return `${retryAfterHint(retryAfterMs)}.`
  if (status < 500) return 'If the service gave a reason, it is in error.body.'
  return 'The service failed: retry later. If it gave a reason, it is in error.body.'
}

function retryAfterHint(retryAfterMs: number | undefined): string {
  return retryAfterMs ? `Retry after ${Math.ceil(retryAfterMs / 1000)} s` : 'Retry later'
}

/** What happened to a request that got no response, and what to do. */
export function describeNetworkError(
  reason: NetworkErrorReason,
  phase: 'sending' | 'reading',
  code: string | undefined,
): { problem: string; hint: string } {
  const withCode = code === undefined ? '' : `: ${code}`
  switch (reason) {
    case 'certificate-refused':
      return {
        problem: `the TLS certificate was refused${withCode}`,
        hint: 'Check baseUrl, and that this runtime trusts the certificate authority.',
      }
    case 'request-refused':
      return {
        problem: `the request could not be sent${withCode}`,
        hint: 'Check baseUrl, the proxy, the headers, and what this process may access.',
      }
    case 'invalid-fetch':
      return { problem: 'fetch did not resolve with a Response', hint: 'Check the option `fetch`.' }
    case 'not-connected':
      return { problem: `could not connect${withCode}`, hint: 'Check baseUrl and the network.' }
    case 'connection-lost': {
      const when = phase === 'reading' ? 'before the response was complete' : 'before a response arrived'
      return { problem: `connection lost ${when}${withCode}`, hint: 'Check baseUrl and the network.' }
    }
  }
}
