import type { StandardSchemaV1 } from '@standard-schema/spec'
import type * as z from 'zod/mini'
import type { Issue } from './errors.js'

/** A schema of any library that speaks Standard Schema: see standardschema.dev. */
export type Schema = StandardSchemaV1

/** What comes out of a schema, or `Default` where none is given. */
export type Output<S, Default> = S extends Schema ? StandardSchemaV1.InferOutput<S> : Default

/** What a value is made to fit: a schema, ours or the caller's. */
export interface Shape {
  readonly schema: Schema
  /** Given by the caller: its words may quote values. */
  readonly isGiven: boolean
  /** Whether a value fits for certain, cheaper than the schema finds out. */
  readonly fits?: (value: unknown) => boolean
}

/**
 * The value as its shape puts it out, or a promise of it where a caller's schema is asynchronous. What does not fit is
 * added to `issues`.
 */
export function conform(value: unknown, shape: Shape, at: readonly PropertyKey[], issues: Issue[]): unknown {
  if (shape.fits?.(value)) return value
  const verdict = (result: StandardSchemaV1.Result<unknown>): unknown => {
    if (!result.issues) return result.value
    issues.push(...result.issues.map(issue => toIssue(issue, at)))
  }
  // A schema that throws has not accepted the value.
  const broken = (error: unknown) => {
    issues.push({
      path: at,
      message: `the schema threw ${error instanceof Error ? error.name : typeof error}`,
    })
  }
  try {
    const result = shape.schema['~standard'].validate(value)
    return isThenable(result) ? result.then(verdict).catch(broken) : verdict(result)
  } catch (error) {
    return broken(error)
  }
}

function toIssue(issue: StandardSchemaV1.Issue, at: readonly PropertyKey[]): Issue {
  const path = issue.path?.map(step => toKey(typeof step === 'object' ? step.key : step)) ?? []
  return { path: [...at, ...path], message: String(issue.message) }
}

function toKey(key: unknown): PropertyKey {
  return typeof key === 'number' || typeof key === 'symbol' ? key : String(key)
}

/**
 * Our own shape of an object of strings and numbers. What fits is seen by `typeof`, which takes a tenth of the time
 * that JSON.parse took for it; the schema itself words what does not.
 */
export function ownShape(schema: z.ZodMiniObject): Shape {
  const fields = Object.entries(schema.shape).map(([name, field]) => [name, field._zod.def.type] as const)
  const fits = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return false
    for (const [name, type] of fields) {
      if (typeof (value as Record<string, unknown>)[name] !== type) return false
    }
    return true
  }
  return { schema, isGiven: false, fits }
}

/** Whether a value must be awaited; not by instanceof, as a caller's promises may be of another kind. */
export function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | undefined)?.then === 'function'
}

/** The caller's schema as a shape, or the default; refuses what is no Standard Schema. */
export function toShape<D extends Shape | undefined>(schema: unknown, fallback: D): Shape | D {
  if (schema === undefined) return fallback
  const standard = (schema as Partial<Schema> | null)?.['~standard']
  if (typeof standard?.validate !== 'function') {
    throw new TypeError('schema: expected a Standard Schema (zod, valibot, arktype …)')
  }
  return { schema: schema as Schema, isGiven: true }
}
