import * as z from 'zod/mini'
import { typeName } from './describe.js'
import { isExact } from './lossless-json.js'

/** zod/mini has no messages of its own. These name types, never values. */
function expected(what: string, toName = typeName): { error: (issue: { input?: unknown }) => string } {
  return { error: ({ input }) => `expected ${what}, got ${toName(input)}` }
}

/** A schema for a string. */
export function string(): z.ZodMiniString {
  return z.string(expected('a string'))
}

/** A schema for a number that a double holds exactly. */
export function number(): z.ZodMiniNumber {
  return z.number(expected('a number', input => (isUnsafeNumber(input) ? tooManyDigits : typeName(input))))
}

/** A schema for a whole number. */
export function integer(minimum: number): z.ZodMiniCustom<number, number> {
  return z.custom<number>(
    value => Number.isSafeInteger(value) && (value as number) >= minimum,
    expected(`a whole number of at least ${minimum}`, input =>
      typeof input === 'number' ? 'another number' : typeName(input),
    ),
  )
}

/** A schema for an array whose items are validated elsewhere. */
export function array(): z.ZodMiniCustom<unknown[], unknown[]> {
  return z.custom<unknown[]>(Array.isArray, expected('an array'))
}

/** A schema for an object that may have further fields: its output, which lacks them, is not used (see `validate`). */
export function object<T extends z.core.$ZodLooseShape>(shape: T): z.ZodMiniObject<T, z.core.$strip> {
  return z.object(shape, expected('an object'))
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
