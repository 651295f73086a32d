// Hides from the client, ky and Zod what is newer than the floors. Test tools see it: MSW needs `Promise.withResolvers`.
import { newer } from './floors.js'

const isHidden = Symbol.for('hidden from src')
/** The path of a module without newer features: of src, except the command, or bundled. Vite's development server has its own. */
const ours = /^(?!.*node_modules).*\/src\/(?!cli\/)|(?:node_modules|deps)\/(?:ky|zod)\b/

/** The file that calls a function. Without its text, because a stack's source maps would take most of the time of all tests. */
function callerOf(callee) {
  const { prepareStackTrace, stackTraceLimit } = Error
  Error.prepareStackTrace = (_, [caller]) => caller?.getScriptNameOrSourceURL() ?? ''
  Error.stackTraceLimit = 1
  const error = {}
  Error.captureStackTrace(error, callee)
  const { stack } = error
  Object.assign(Error, { prepareStackTrace, stackTraceLimit })
  return stack
}

for (const [owner, name] of newer) {
  const own = Object.getOwnPropertyDescriptor(owner, name)
  // Files of tests share a realm.
  if (own.get?.[isHidden]) continue
  function get() {
    if (ours.test(callerOf(get))) return undefined
    return own.get ? own.get.call(this) : own.value
  }
  function set(value) {
    Object.defineProperty(this, name, { value, configurable: true, writable: true })
  }
  get[isHidden] = true
  Object.defineProperty(owner, name, { get, set, configurable: true, enumerable: own.enumerable })
}
