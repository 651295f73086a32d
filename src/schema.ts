import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Issue } from './errors.js'
import { typeName, withArticle, wrongArgument } from './internal/describe.js'
import { isExact } from './internal/lossless-json.js'
import { property } from './internal/object.js'

/** A schema of any library that implements Standard Schema, such as zod, valibot or arktype. See standardschema.dev. */
export type Schema<T = unknown> = StandardSchemaV1<unknown, T>

/** An issue before redaction, with the error that the schema threw, if any. */
export type FoundIssue = Issue & { readonly cause: unknown }

export interface Validator {
  readonly schema: Schema
  /** Whether the caller passed it. If so, its output replaces the value, and its messages may quote values. */
  readonly isCustom: boolean
}

/** The caller's schema as a validator, or the built-in one. Throws for a value that is not a Standard Schema. */
export function resolveSchema(schema: unknown, builtIn?: Schema): Validator | undefined {
  if (schema === undefined) return builtIn && { schema: builtIn, isCustom: false }
  const standard = (schema as Partial<Schema> | null)?.['~standard']
  if (typeof standard?.validate !== 'function') {
    throw wrongArgument('schema', 'a Standard Schema (zod 3.24, valibot 1, arktype 2 or later, …)', schema)
  }
  return { schema: schema as Schema, isCustom: true }
}

/**
 * The output of the caller's schema, or a promise of it if the schema is asynchronous. With a built-in schema the value is
 * returned unchanged: parsing would copy it and drop or reorder its fields. Issues are added to `issues`.
 *
 * @param index Index of the value in `data`. Without it, the value is the whole body.
 */
export function validate(
  value: unknown,
  { schema, isCustom }: Validator,
  issues: FoundIssue[],
  index?: number,
): unknown {
  const start: readonly PropertyKey[] = index === undefined ? [] : ['data', index]
  const add = (message: string, cause?: unknown, path: readonly PropertyKey[] = []): undefined =>
    void issues.push({ path: [...start, ...path], message, cause })
  // A schema that throws has not accepted the value.
  const addThrown = (error: unknown) =>
    add(`the schema threw ${error instanceof Error ? error.name : typeof error}`, error)
  const toOutput = (result: StandardSchemaV1.Result<unknown>): unknown => {
    // A hand-written `validate` may return a boolean. Everything would then be accepted as `undefined`.
    if (Object(result) !== result) throw new TypeError('validate returned neither a value nor issues')
    const found = property(result, 'issues') as StandardSchemaV1.FailureResult['issues'] | undefined
    if (!found) return isCustom ? (result as StandardSchemaV1.SuccessResult<unknown>).value : value
    for (const issue of found) {
      // Without `map`, because some libraries have their own arrays.
      const path = Array.from(issue.path ?? [], step => {
        const key = typeof step === 'object' ? step.key : step
        return typeof key === 'number' ? key : String(key)
      })
      const got = path.reduce(property, value)
      const message = isCustom
        ? String(issue.message) + (isKeptNumber(got) ? keptHint : '')
        : describeIssue(issue, got)
      add(message, undefined, path)
    }
    return found.length === 0 ? add('the schema failed without an issue') : undefined
  }
  try {
    const result = schema['~standard'].validate(value)
    const output = isThenable(result) ? result.then(toOutput) : toOutput(result)
    // A synchronous schema may have an asynchronous transform.
    return isThenable(output) ? Promise.resolve(output).catch(addThrown) : output
  } catch (error) {
    return addThrown(error)
  }
}

const keptHint = ' (a number that JavaScript would round is kept as a string)'

/** What a built-in schema expected, and the type it got. Never shows values. */
function describeIssue(issue: StandardSchemaV1.Issue, got: unknown): string {
  // The type matched, but a custom check failed. Its message names what it expected.
  if (property(issue, 'code') === 'custom') return `expected ${issue.message}, got another ${typeof got}`
  const type = String(property(issue, 'expected'))
  const digits = 'one that JavaScript would round (kept as a string)'
  return `expected ${withArticle(type)}, got ${isKeptNumber(got) && type === 'number' ? digits : typeName(got)}`
}

/** Whether parseLosslessJson may have turned a number into this string of its digits. */
function isKeptNumber(value: unknown): boolean {
  return typeof value === 'string' && /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(value) && !isExact(value)
}

/** Whether a value must be awaited. Without instanceof, because a caller's promises may be of another class. */
export function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | undefined)?.then === 'function'
}
