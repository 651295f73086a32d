import { $constructor, type $ZodLooseShape, $ZodObject, $ZodType, type $ZodTypeDef } from 'zod/v4/core'
import { describe, typeName } from './describe.js'
import { isExact } from './lossless-json.js'

type IsValid = (value: unknown) => boolean

/** A type that one predicate recognises: zod's own ones bring more than they are used for. */
const Type = /* @__PURE__ */ $constructor<$ZodType, $ZodTypeDef & { isValid: IsValid }>(
  'Type',
  (inst, def) => {
    $ZodType.init(inst, def)
    inst._zod.parse = payload => {
      const { value: input, issues } = payload
      if (!def.isValid(input)) issues.push({ code: 'custom', input, inst })
      return payload
    }
  },
)

/** zod's core has no messages of its own. These name types, never values. */
function expected(what: string, toName = typeName): Pick<$ZodTypeDef, 'error'> {
  return { error: ({ input }) => `expected ${what}, got ${toName(input)}` }
}

function type<T>(isValid: IsValid, what: string, toName?: (input: unknown) => string): $ZodType<T> {
  return new Type({ type: 'custom', isValid, ...expected(what, toName) }) as $ZodType<T>
}

export function string(): $ZodType<string> {
  return type(value => typeof value === 'string', 'a string')
}

export function number(): $ZodType<number> {
  return type(value => typeof value === 'number', 'a number', orTooLong(typeName))
}

export function integer(minimum: number): $ZodType<number> {
  const isValid = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= minimum
  const toName = (input: unknown) =>
    typeof input === 'number' && input !== 0 ? 'another number' : describe(input)
  return type(isValid, `a whole number of at least ${minimum}`, orTooLong(toName))
}

export function array(): $ZodType<unknown[]> {
  return type(Array.isArray, 'an array')
}

/** A schema for an object that may have further fields: its output, which lacks them, is not used (see `validate`). */
export function object<T extends $ZodLooseShape>(shape: T): $ZodObject<T> {
  return new $ZodObject({ type: 'object', shape, ...expected('an object') }) as $ZodObject<T>
}

/** Names a number that is expected, and was sent, but is kept as a string. */
function orTooLong(toName: (input: unknown) => string): (input: unknown) => string {
  return input =>
    isUnsafeNumber(input) ? 'one with more digits than a double holds (kept as a string)' : toName(input)
}

/** Whether the JSON parser kept a number as the string of its digits. */
function isUnsafeNumber(input: unknown): boolean {
  return (
    typeof input === 'string' &&
    /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(input) &&
    !isExact(input, Number(input))
  )
}
