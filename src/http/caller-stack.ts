import { isNew, markAsThrown } from '../errors.js'

/** Runs a public call, so that the stack of its errors begins at the caller's line. */
export async function withCallerStack<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    recaptureStack(error, withCallerStack)
    throw error
  }
}

/**
 * Where the engine can, replaces the stack of an `ApiError` by one that begins below `from`, a function on the current
 * stack. An error of a retried or prefetched request was created in a timer or a queue, far from the caller.
 */
export function recaptureStack(error: unknown, from: (...args: never[]) => unknown): void {
  if (!isNew(error)) return
  const { captureStackTrace } = Error as { captureStackTrace?: (error: Error, from: unknown) => void }
  captureStackTrace?.(error, from)
  markAsThrown(error)
}
