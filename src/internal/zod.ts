import * as z from 'zod/mini'
import { typeName } from './describe.js'
import { isExact } from './lossless-json.js'

// zod/mini has no messages of its own. These name types, never values.

/** A schema for a string. */
export function string(): z.ZodMiniString {
  return z.string({ error: ({ input }) => `expected a string, got ${typeName(input)}` })
}

/** A schema for a number that a double holds exactly. */
export function number(): z.ZodMiniNumber {
  return z.number({
    error: ({ input }) => `expected a number, got ${isUnsafeNumber(input) ? tooManyDigits : typeName(input)}`,
  })
}

/** A schema for a whole number. */
export function integer(minimum: number): z.ZodMiniCustom<number, number> {
  return z.custom<number>(value => Number.isSafeInteger(value) && (value as number) >= minimum, {
    error: ({ input }) =>
      `expected a whole number of at least ${minimum}, got ${typeof input === 'number' ? 'another number' : typeName(input)}`,
  })
}

/** A schema for an array whose items are validated elsewhere. */
export function array(): z.ZodMiniCustom<unknown[], unknown[]> {
  return z.custom<unknown[]>(Array.isArray, {
    error: ({ input }) => `expected an array, got ${typeName(input)}`,
  })
}

/** A schema for an object that may have further fields: its output, which lacks them, is not used (see `validate`). */
export function object<T extends z.core.$ZodLooseShape>(shape: T): z.ZodMiniObject<T, z.core.$strip> {
  return z.object(shape, { error: ({ input }) => `expected an object, got ${typeName(input)}` })
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
