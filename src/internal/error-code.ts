import { property } from './object.js'

/** An error chain of a runtime is three deep; a longer one may be cyclic. */
export const maxCauseDepth = 4

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
