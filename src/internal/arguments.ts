import { wrongArgument } from './describe.js'
import { isPlain } from './object.js'

/** Throws for a value that an option must not have. */
export type Check = (name: string, value: unknown) => void

/** A check for each option of an interface. A missing or surplus name does not compile. */
export type Checks<T> = { readonly [Name in keyof T]-?: Check }

function check(isValid: (value: unknown) => boolean, expected: string): Check {
  return (name, value) => {
    if (!isValid(value)) throw wrongArgument(name, expected, value)
  }
}

/** setTimeout fires immediately if the delay is longer. */
export const maxTimerMs: number = 2 ** 31 - 1

const isDuration = (value: unknown) => typeof value === 'number' && value > 0 && value <= maxTimerMs

export const duration: Check = check(isDuration, `milliseconds above 0, at most ${maxTimerMs}`)
export const trueOrFalse: Check = check(value => typeof value === 'boolean', 'true or false')
export const callback: Check = check(value => typeof value === 'function', 'a function')

export function wholeNumber(minimum: number, orElse?: number): Check {
  const isValid = (value: unknown) =>
    (Number.isSafeInteger(value) && (value as number) >= minimum) || (value === orElse && value !== undefined)
  return check(isValid, `a whole number of at least ${minimum}${orElse ? `, or ${orElse}` : ''}`)
}

/** Whether a value is a finite number, and not an integer that has lost digits. */
export function isExactNumber(value: unknown): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
}

export function oneOf(...values: readonly string[]): Check {
  const names = values.map(value => `'${value}'`).join(' or ')
  return check(value => values.includes(value as string), names)
}

/** The option is checked where it is used. */
export const checkedLater: Check = () => {}

/** Requires the platform's AbortSignal. The one of the npm package `abort-controller` has no reason and no `throwIfAborted`. */
export const abortSignal: Check = (name, value) => {
  const signal: Partial<AbortSignal> = Object(value)
  if (signal.addEventListener && signal.throwIfAborted && 'reason' in signal) return
  const hint = value instanceof AbortController ? ' (pass controller.signal)' : ''
  throw wrongArgument(name, 'an AbortSignal of the platform, with `reason` and `throwIfAborted`', value, hint)
}

/** Throws unless the value is a plain object of any realm. `undefined` becomes an empty one. */
export function assertObject<T extends object>(name: string, value: T | undefined): T {
  if (value === undefined) return Object.create(null) as T
  // Properties inherited from a class would be read or ignored by chance.
  if (typeof value === 'object' && value !== null && isPlain(value)) return value
  throw wrongArgument(name, 'a plain object', value)
}

/** Options that were given, without those whose value is `undefined`. */
export type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> }

/**
 * A checked copy of an options object, without a prototype. Omits names whose value is `undefined`. Throws for an unknown name,
 * because a call must not succeed without its misspelt option.
 *
 * @param title What the known names are, such as `List params`. `help` says where other names belong.
 */
export function readOptions<T extends object>(
  argument: string,
  given: T | undefined,
  checks: Checks<T>,
  title: string,
  help = '',
): Given<T> {
  const options: Given<T> = Object.create(null)
  for (const [name, value] of Object.entries(assertObject(argument, given))) {
    if (value === undefined) continue
    if (!Object.hasOwn(checks, name)) {
      const known = Object.keys(checks).sort()
      const names = `${title} are: ${known.join(', ')}.`
      throw new TypeError(`${name}: unknown option. ${didYouMean(name, known)}${names}${help}`)
    }
    checks[name as keyof T](name, value)
    options[name as keyof T] = value
  }
  return options
}

/** A name without case and separators, because these differ by language and tool. */
export function bareName(name: string): string {
  return name.toLowerCase().replace(/[^a-z\d]/g, '')
}

/** The known name that differs in case, separators, or one letter (two from eight letters on), as a question. */
export function didYouMean(given: string, known: readonly string[]): string {
  const bare = bareName(given)
  const isMeant = (edits: number) => (name: string) => isNear(bare, bareName(name), edits)
  const meant = known.find(isMeant(0)) ?? known.find(name => isMeant(name.length < 8 ? 1 : 2)(name))
  return meant === undefined ? '' : `Did you mean \`${meant}\`? `
}

/** Whether at most `edits` letters added, removed, replaced or swapped turn one name into the other. */
function isNear(a: string, b: string, edits: number): boolean {
  if (a === b || edits < 0) return edits >= 0
  const [restOfA, restOfB] = [a.slice(1), b.slice(1)]
  if (a[0] === b[0]) return isNear(restOfA, restOfB, edits)
  const isNearer = (x: string, y: string) => isNear(x, y, edits - 1)
  const isSwapped = a[0] === b[1] && a[1] === b[0] && isNearer(a.slice(2), b.slice(2))
  return isSwapped || isNearer(restOfA, b) || isNearer(a, restOfB) || isNearer(restOfA, restOfB)
}

/** Throws for surplus arguments, which would otherwise be ignored. `correct` is the right call. */
export function assertNoMore(surplus: readonly unknown[], correct: string): void {
  if (surplus.some(argument => argument !== undefined))
    throw new TypeError(`too many arguments: expected ${correct}`)
}
