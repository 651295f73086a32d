/** An error chain of a runtime is three deep; a longer one may be cyclic. */
export const maxCauseDepth = 4

/** What a runtime says about a failed request, on the error or along its causes. */
export interface ErrorDetails {
  readonly code?: string
  readonly message?: unknown
  readonly syscall?: unknown
  readonly address?: unknown
  readonly port?: unknown
}

/** The details of the first error of a chain that has a code. */
export function findErrorDetails(error: unknown): ErrorDetails {
  try {
    let current = error
    for (let depth = 0; depth < maxCauseDepth && current; depth++) {
      const { code, message, cause, errors, ...own } = Object(current) as Record<string, unknown>
      const first: unknown = Array.isArray(errors) ? errors[0] : undefined
      // OpenSSL's have a slash: ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE.
      if (typeof code === 'string' && /^[\w/]{1,60}$/.test(code)) {
        // Where Node tried several addresses, only the code of the first attempt is on the error of all.
        const { syscall, address, port } = { ...Object(first), ...own } as ErrorDetails
        return { code, message, syscall, address, port }
      }
      // Without a code of their own, several errors tell nothing: each may be of another request.
      current = cause
    }
  } catch {
    // Anything can be thrown, even an object whose getters throw.
  }
  return {}
}
