type Capture = (target: object, method: object) => void

/** Lets the stack of an error begin where a method of ours was called, without the frames at its beginning that match. */
export function captureCaller(error: Error, method: object, without: RegExp): Error {
  const { captureStackTrace } = Error as { captureStackTrace?: Capture }
  if (!captureStackTrace) return error
  captureStackTrace(error, method)
  return Object.assign(error, { stack: error.stack?.replace(without, '') })
}

/** Runs checks of arguments. `method` is what the public method called directly: that is the first frame. */
export function checkedAt<T>(method: object, check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw error instanceof TypeError ? captureCaller(error, method, /\n {4}at .*/) : error
  }
}
