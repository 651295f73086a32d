import type * as z from 'zod/mini'
import { typeName } from './describe.js'
import { isExact } from './lossless-json.js'
import { property } from './object.js'

export type ZodIssue = z.core.$ZodIssue

const types: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  array: 'an array',
  object: 'an object',
}

/** The type that a built-in schema expected, and the type it got. Never shows values. */
export function describeIssue(issue: ZodIssue, value: unknown): string {
  const expected = String(property(issue, 'expected') ?? 'int')
  const minimum = property(issue, 'minimum')
  const atLeast = minimum === undefined ? '' : ` of at least ${minimum}`
  const got = issue.path.reduce<unknown>((inner, key) => property(inner, key), value)
  return `expected ${types[expected] ?? expected}${atLeast}, got ${toName(got, expected)}`
}

function toName(got: unknown, expected: string): string {
  if (typeof got === 'number' && expected === 'int') return 'another number'
  // parseLosslessJson turned a number into the string of its digits.
  const isKept = typeof got === 'string' && /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(got) && !isExact(got)
  const isNumberExpected = expected === 'number' || expected === 'int'
  return isKept && isNumberExpected
    ? 'one with more digits than a double holds (kept as a string)'
    : typeName(got)
}
