import { properties, property } from './object.js'

/** An error chain of a runtime is three deep; a longer one may be cyclic. */
export const maxCauseDepth = 4

const notConnected =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EMFILE|ENFILE|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/

const connectionProperties = ['code', 'syscall', 'message', 'errors', 'cause']

/** Of undici, whose code is the same after a response. What a proxy does not connect is not sent. */
const refusedByProxy = /^Proxy response \(\d+\) !== 200 when HTTP Tunneling$/

/** Whether an error shows that there was no connection, and so no request. Codes of Node (also in Deno and Bun), undici and Bun. */
export function isNotConnected(error: unknown): boolean {
  try {
    let current = error
    for (let depth = 0; depth < maxCauseDepth && current; depth++) {
      const [code, syscall, message, errors, cause] = properties(current, connectionProperties)
      // One for each address of the host.
      if (Array.isArray(errors) && errors.length > 0) return errors.every(isNotConnected)
      if (code === 'UND_ERR_ABORTED' && refusedByProxy.test(String(message))) return true
      if (typeof code === 'string') return syscall === 'connect' || notConnected.test(code)
      current = cause
    }
  } catch {
    // As below.
  }
  return false
}

/** What a framework throws to control itself, as Next.js does where a page must not be static. */
export function isControlFlow(error: unknown): boolean {
  try {
    return typeof property(error, 'digest') === 'string'
  } catch {
    return false
  }
}

/** The first `code` of an error or along its causes, such as `ECONNRESET`. Messages differ in every runtime. */
export function codeOf(error: unknown): string | undefined {
  try {
    let current = error
    for (let depth = 0; depth < maxCauseDepth && current; depth++) {
      const code = property(current, 'code')
      if (typeof code === 'string' && /^\w{1,60}$/.test(code)) return code
      current = property(current, 'cause')
    }
  } catch {
    // Anything can be thrown, even an object whose getters throw.
  }
  return undefined
}
