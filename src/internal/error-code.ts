import { property } from './object.js'

/** An error chain of a runtime is three deep; a longer one may be cyclic. */
export const maxCauseDepth = 4

const notConnected =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EMFILE|ENFILE|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/

/** Of undici, whose code is the same after a response. What a proxy does not connect is not sent. */
const refusedByProxy = /^Proxy response \(\d+\) !== 200 when HTTP Tunneling$/

/** Whether an error shows that there was no connection, and so no request. Codes of Node (also in Deno and Bun), undici and Bun. */
export function isNotConnected(error: unknown, depth = 0): boolean {
  if (!error || depth === maxCauseDepth) return false
  const errors = property(error, 'errors')
  // One for each address of the host.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(each => isNotConnected(each, depth + 1))
  const code = property(error, 'code')
  if (code === 'UND_ERR_ABORTED' && refusedByProxy.test(`${property(error, 'message')}`)) return true
  if (typeof code === 'string') return property(error, 'syscall') === 'connect' || notConnected.test(code)
  return isNotConnected(property(error, 'cause'), depth + 1)
}

/** The first `code` of an error or along its causes, such as `ECONNRESET`. Messages differ in every runtime. */
export function codeOf(error: unknown, depth = 0): string | undefined {
  if (!error || depth === maxCauseDepth) return undefined
  const code = property(error, 'code')
  if (typeof code === 'string' && /^\w{1,60}$/.test(code)) return code
  return codeOf(property(error, 'cause'), depth + 1)
}

/** Whether a framework threw this to control itself, as Next.js does where a page must not be static. */
export function isControlFlow(error: unknown): boolean {
  return typeof property(error, 'digest') === 'string'
}
