type Capture = (target: object, method: object) => void

/** Starts the stack of an error at the caller of `method`, without leading frames that match `without`. */
export function captureCaller(error: Error, method: object, without: RegExp): Error {
  const { captureStackTrace } = Error as { captureStackTrace?: Capture }
  if (!captureStackTrace) return error
  captureStackTrace(error, method)
  return Object.assign(error, { stack: error.stack?.replace(without, '') })
}

/** Runs checks of arguments. Error stacks start at the caller of the public method, which must call `entry` directly. */
export function checkedAt<T>(entry: object, check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw error instanceof TypeError ? captureCaller(error, entry, /\n {4}at .*/) : error
  }
}
