export interface CallSite {
  /** Formatted only when it is read. */
  readonly stack?: unknown
  readonly ownFrames: number
}

/**
 * Captures the stack below `from`, as errors are created in timers and queues, far from the caller's line.
 *
 * @param from The public method, or a function that public methods call directly.
 * @param ownFrames How many frames below `from` are of this package: 1 for the latter.
 */
export function captureCallSite(from: object, ownFrames: 0 | 1): CallSite {
  const site: CallSite = { ownFrames }
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
export function framesOf({ stack, ownFrames }: CallSite): string {
  const [, ...lines] = typeof stack === 'string' ? stack.split('\n') : []
  const frames = lines.slice(ownFrames)
  return frames[0]?.startsWith('    at ') ? `\n${frames.join('\n')}` : ''
}
