import type * as z from 'zod/mini'
import { typeName, withArticle } from './describe.js'
import { isExact } from './lossless-json.js'
import { property } from './object.js'

export type ZodIssue = z.core.$ZodIssue

/** What a built-in schema expected, and the type it got. Never shows values. */
export function describeIssue(issue: ZodIssue, value: unknown): string {
  const got = issue.path.reduce<unknown>((inner, key) => property(inner, key), value)
  // A check after that of the type. Its message names what it expected.
  if (issue.code === 'custom') return `expected ${issue.message}, got another ${typeof got}`
  const type = String(property(issue, 'expected'))
  // parseLosslessJson turned a number into the string of its digits.
  const isKept = typeof got === 'string' && /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(got) && !isExact(got)
  const digits = 'one with more digits than a double holds (kept as a string)'
  return `expected ${withArticle(type)}, got ${isKept && type === 'number' ? digits : typeName(got)}`
}
