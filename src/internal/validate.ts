import { wrongArgument } from './describe.js'

/** Throws for a value that an option must not have. */
export type Check = (name: string, value: unknown) => void

function check(isValid: (value: unknown) => boolean, expected: string): Check {
  return (name, value) => {
    if (!isValid(value)) throw wrongArgument(name, expected, value)
  }
}

/** setTimeout fires immediately if the delay is longer. */
export const maxTimerMs: number = 2 ** 31 - 1

const isDuration = (value: unknown) => typeof value === 'number' && value > 0 && value <= maxTimerMs

export const duration: Check = /* @__PURE__ */ check(
  isDuration,
  `milliseconds, more than 0 and at most ${maxTimerMs}`,
)
export const trueOrFalse: Check = /* @__PURE__ */ check(value => typeof value === 'boolean', 'true or false')
export const callback: Check = /* @__PURE__ */ check(value => typeof value === 'function', 'a function')

export function wholeNumber(minimum: number): Check {
  const isValid = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= minimum
  return check(isValid, `a whole number of at least ${minimum}`)
}

/** Options that are checked where they are used. */
export function checkedLater(...names: readonly string[]): Readonly<Record<string, Check>> {
  return Object.fromEntries(names.map(name => [name, () => {}]))
}

/** An AbortSignal whose listeners can be removed. */
export function abortSignal(name: string, value: unknown): void {
  const { aborted, addEventListener, removeEventListener } = Object(value) as Partial<AbortSignal>
  if (typeof aborted === 'boolean' && addEventListener && removeEventListener) return
  const hint = value instanceof AbortController ? ' (pass controller.signal)' : ''
  throw wrongArgument(name, 'an AbortSignal', value, hint)
}

/** Throws unless the value is a plain object; `undefined` counts as an empty one. */
export function assertObject<T extends object>(
  name: string,
  value: T | undefined,
): T | Record<string, never> {
  if (value === undefined) return {}
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  // What the platform creates has its names elsewhere: a URLSearchParams would pass for an empty object.
  const isOfPlatform = tag !== 'Object' && tag in globalThis
  if (typeof value !== 'object' || value === null || isOfPlatform || Symbol.iterator in value) {
    throw wrongArgument(name, 'a plain object', value)
  }
  return value
}

/** The options that one argument knows, each with its check. */
export interface KnownOptions {
  /** What they are, as in `Client options`. */
  readonly title: string
  readonly checks: Readonly<Record<string, Check>>
  /** How to pass an option that belongs elsewhere; `undefined` where it is unknown there, too. */
  readonly elsewhere?: (name: string) => string | undefined
}

/**
 * A checked copy of an object of options, each of which is read once. Throws for a name that is not known: a misspelt option
 * would be ignored, and its call would succeed without it. A name whose value is `undefined` is left out.
 */
export function readOptions<T extends object>(
  argument: string,
  value: T | undefined,
  { title, checks, elsewhere }: KnownOptions,
): Partial<T> {
  const given = assertObject(argument, value) as Record<string, unknown>
  for (const name in given) {
    if (Object.hasOwn(checks, name) || given[name] === undefined) continue
    const hint = elsewhere?.(name)
    const problem = hint
      ? `${argument}.${name}: ${hint}`
      : `${name}: unknown option. ${title} are: ${Object.keys(checks).sort().join(', ')}`
    throw new TypeError(problem)
  }
  const options: Record<string, unknown> = Object.create(null)
  for (const [name, check] of Object.entries(checks)) {
    const option = given[name]
    if (option === undefined) continue
    check(name, option)
    options[name] = option
  }
  return options as Partial<T>
}
