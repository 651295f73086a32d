export interface CallSite {
  /** Formatted only when it is read. */
  readonly stack?: unknown
}

/**
 * Captures where a public method was called, as errors are created in timers and queues, far from the caller's line.
 *
 * @param from The function that the public method called directly.
 */
export function captureCallSite(from: object = captureCallSite): CallSite {
  const site: CallSite = {}
  const { captureStackTrace } = Error as { captureStackTrace?: (target: object, from: unknown) => void }
  captureStackTrace?.(site, from)
  return site
}

/** Runs checks of arguments: like all errors, their `TypeError`s begin at the caller. */
export function checkedAt<T>(site: CallSite, check: () => T): T {
  try {
    return check()
  } catch (error) {
    const frames = framesOf(site)
    if (error instanceof TypeError && frames) error.stack = `TypeError: ${error.message}${frames}`
    throw error
  }
}

/** The caller's frames, each on a line of its own, as V8 writes them; empty where there are none. */
export function framesOf({ stack }: CallSite): string {
  // After the first line, and the public method.
  const [, , ...frames] = typeof stack === 'string' ? stack.split('\n') : []
  return frames[0]?.startsWith('    at ') ? `\n${frames.join('\n')}` : ''
}
