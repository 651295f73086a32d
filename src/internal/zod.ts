import {
  $ZodCustom,
  type $ZodLooseShape,
  $ZodNumber,
  $ZodObject,
  $ZodString,
  type $ZodType,
} from 'zod/v4/core'
import { describe, typeName } from './describe.js'
import { isExact } from './lossless-json.js'

/** zod's core has no messages of its own. These name types, never values. */
function expected(what: string, toName = typeName): { error: (issue: { input?: unknown }) => string } {
  return { error: ({ input }) => `expected ${what}, got ${toName(input)}` }
}

export function string(): $ZodString {
  return new $ZodString({ type: 'string', ...expected('a string') })
}

export function number(): $ZodNumber {
  const toName = (input: unknown) => (isUnsafeNumber(input) ? tooManyDigits : typeName(input))
  return new $ZodNumber({ type: 'number', checks: [], ...expected('a number', toName) })
}

export function integer(minimum: number): $ZodType<number> {
  return custom(
    value => Number.isSafeInteger(value) && (value as number) >= minimum,
    expected(`a whole number of at least ${minimum}`, input =>
      typeof input === 'number' && input !== 0 ? 'another number' : describe(input),
    ),
  )
}

export function array(): $ZodType<unknown[]> {
  return custom(Array.isArray, expected('an array'))
}

function custom<T>(fn: (value: unknown) => boolean, message: object): $ZodType<T> {
  return new $ZodCustom({ type: 'custom', check: 'custom', fn, ...message }) as $ZodType<T>
}

/** A schema for an object that may have further fields: its output, which lacks them, is not used (see `validate`). */
export function object<T extends $ZodLooseShape>(shape: T): $ZodObject<T> {
  return new $ZodObject({ type: 'object', shape, ...expected('an object') }) as $ZodObject<T>
}

const tooManyDigits = 'one with more digits than a double holds (kept as a string)'

/** Whether the JSON parser kept a number as the string of its digits. */
function isUnsafeNumber(input: unknown): boolean {
  return (
    typeof input === 'string' &&
    /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(input) &&
    !isExact(input, Number(input))
  )
}
