import { property } from './object.js'

/** A runtime's error chain is three deep. A longer one may be cyclic. */
export const maxCauseDepth = 4

const notConnected =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EMFILE|ENFILE|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/

/** undici's message if a proxy refused to connect, so nothing was sent. Its code also occurs after a response. */
const refusedByProxy = /^Proxy response \(\d+\) !== 200 when HTTP Tunneling$/

/** Whether an error proves that the client never connected. Knows the codes of Node (also in Deno and Bun), undici and Bun. */
export function isNotConnected(error: unknown, depth = 0): boolean {
  if (!error || depth === maxCauseDepth) return false
  const errors = property(error, 'errors')
  // An AggregateError has one error for each address of the host.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(each => isNotConnected(each, depth + 1))
  const code = property(error, 'code')
  if (code === 'UND_ERR_ABORTED' && refusedByProxy.test(`${property(error, 'message')}`)) return true
  if (typeof code !== 'string') return isNotConnected(property(error, 'cause'), depth + 1)
  const syscall = property(error, 'syscall')
  if (syscall === 'connect') return true
  // Not of another system call, because a caller's fetch may fail to open a file after it got the response.
  return (syscall === undefined || syscall === 'getaddrinfo') && notConnected.test(code)
}

/** The first `code` of an error or its causes, such as `ECONNRESET`. Not the message, which differs by runtime. */
export function codeOf(error: unknown, depth = 0): string | undefined {
  if (!error || depth === maxCauseDepth) return undefined
  const code = property(error, 'code')
  if (typeof code === 'string' && /^\w{1,60}$/.test(code)) return code
  return codeOf(property(error, 'cause'), depth + 1)
}

/** Whether a framework threw this for control flow, as Next.js does if a page must not be static. */
export function isControlFlow(error: unknown): boolean {
  return typeof property(error, 'digest') === 'string'
}
