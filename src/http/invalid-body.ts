import type { Issue } from '../errors.js'
import type { Validator } from '../schema.js'

const builtInSchemaHint =
  'If the response is as intended, pass a `schema` that accepts it. The response is in error.body.'
const customSchemaHint =
  'Details are in error.issues, and the response is in error.body. If the response is right, change the schema.'
const schemaThrewHint = 'The schema threw: see error.cause. The response is in error.body.'

/** A response body that breaks the API specification or a schema, before it is known which call it belongs to. */
export class InvalidBody {
  readonly issues: readonly Issue[]
  /** The response body, as far as it could be read. */
  readonly body: unknown
  /** What to do about it. */
  readonly hint: string
  /** What the caller's schema threw. */
  readonly cause: unknown
  /** The messages come from the caller's schema, and may quote values. */
  readonly isCustomSchema: boolean

  constructor(
    issues: readonly Issue[],
    { body, hint, isCustomSchema = false }: { body?: unknown; hint: string; isCustomSchema?: boolean },
  ) {
    this.issues = issues
    this.body = body
    this.hint = hint
    this.isCustomSchema = isCustomSchema
    this.cause = (issues.find(issue => 'cause' in issue) as { cause?: unknown } | undefined)?.cause
  }

  /** Creates one from the issues that a schema found. */
  static forSchemaIssues(issues: readonly Issue[], body: unknown, { isCustom }: Validator): InvalidBody {
    if (!isCustom) return new InvalidBody(issues, { body, hint: builtInSchemaHint })
    const hint = issues.some(issue => 'cause' in issue) ? schemaThrewHint : customSchemaHint
    return new InvalidBody(issues, { body, hint, isCustomSchema: true })
  }

  /** Creates one with a single issue about the whole body. */
  static forWholeBody(message: string, hint: string, body?: unknown): InvalidBody {
    return new InvalidBody([{ path: [], message }], { body, hint })
  }
}
