import { wrongArgument } from './describe.js'

/** Throws unless the value is a whole number of at least `minimum`. */
export function assertInteger(name: string, value: unknown, minimum: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < minimum) {
    throw wrongArgument(name, `a whole number of at least ${minimum}`, value)
  }
}

/** setTimeout fires immediately if the delay is longer. */
export const maxTimerMs: number = 2 ** 31 - 1

/** Throws unless the value is a duration that a timer can hold. */
export function assertDuration(name: string, value: unknown): void {
  if (typeof value !== 'number' || !(value > 0 && value <= maxTimerMs)) {
    throw wrongArgument(name, `milliseconds, more than 0 and at most ${maxTimerMs}`, value)
  }
}

/** Throws unless the value is true or false. */
export function assertBoolean(name: string, value: unknown): void {
  if (typeof value !== 'boolean') throw wrongArgument(name, 'true or false', value)
}

/** Throws unless the value is a function. */
export function assertFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw wrongArgument(name, 'a function', value)
}

/** Throws unless the value is an AbortSignal whose listeners can be removed. */
export function assertSignal(value: unknown): void {
  const { aborted, addEventListener, removeEventListener } = Object(value) as Partial<AbortSignal>
  const isSignal =
    typeof aborted === 'boolean' &&
    typeof addEventListener === 'function' &&
    typeof removeEventListener === 'function'
  if (isSignal) return
  const hint = value instanceof AbortController ? ' (pass controller.signal)' : ''
  throw wrongArgument('signal', 'an AbortSignal', value, hint)
}

/** Throws unless the value is a plain object; `undefined` counts as an empty one. */
export function assertObject<T extends object>(
  name: string,
  value: T | undefined,
): T | Record<string, never> {
  if (value === undefined) return {}
  // An iterable has its names elsewhere: a URLSearchParams would pass for an empty object.
  if (typeof value !== 'object' || value === null || Symbol.iterator in value) {
    throw wrongArgument(name, 'a plain object', value)
  }
  return value
}

/** The names that one argument knows, and where other names belong. */
export interface KnownNames {
  /** What the names are, as in `Client options`. */
  readonly title: string
  readonly names: readonly string[]
  /** How to pass a name that belongs elsewhere; `undefined` where the name is unknown there, too. */
  readonly elsewhere?: (name: string) => string | undefined
}

/**
 * A copy of an object of options, each of which is read once. Throws for a name that is not known: a misspelt option would
 * be ignored, and its call would succeed without it. A name whose value is `undefined` is left out.
 */
export function readOptions<T extends object>(
  argument: string,
  value: T | undefined,
  known: KnownNames,
): Partial<T> {
  const given = assertObject(argument, value) as Record<string, unknown>
  const options: Record<string, unknown> = Object.create(null)
  for (const name of known.names) {
    const option = given[name]
    if (option !== undefined) options[name] = option
  }
  for (const name in given) {
    if (!known.names.includes(name) && given[name] !== undefined) throw unknownName(argument, name, known)
  }
  return options as Partial<T>
}

function unknownName(argument: string, name: string, { title, names, elsewhere }: KnownNames): TypeError {
  const hint = elsewhere?.(name)
  return new TypeError(
    hint === undefined
      ? `${name}: unknown option. ${title} are: ${[...names].sort().join(', ')}`
      : `${argument}.${name}: ${hint}`,
  )
}
