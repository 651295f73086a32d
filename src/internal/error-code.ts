/** An error chain of a runtime is three deep; a longer one may be cyclic. */
export const maxCauseDepth = 4

/** The code and the system call that a runtime gave, on the error or along its causes. */
export function findErrorCode(error: unknown): { code: string | undefined; syscall: unknown } {
  try {
    let current = error
    for (let depth = 0; depth < maxCauseDepth && current; depth++) {
      const { code, syscall, cause, errors } = Object(current) as Record<string, unknown>
      const first: unknown = Array.isArray(errors) ? errors[0] : undefined
      // OpenSSL's have a slash: ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE.
      if (typeof code === 'string' && /^[\w/]{1,60}$/.test(code)) {
        // Where Node tried several addresses, only the code of the first attempt is on the error of all.
        return { code, syscall: syscall ?? (Object(first) as { syscall?: unknown }).syscall }
      }
      current = cause ?? first
    }
  } catch {
    // Anything can be thrown, even an object whose getters throw.
  }
  return { code: undefined, syscall: undefined }
}
