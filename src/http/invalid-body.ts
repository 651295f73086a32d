import type { Issue } from '../errors.js'
import type { Validator } from '../schema.js'

/** A response body that breaks the interface or a schema, before it is known which call it belongs to. */
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

  /** For what a schema found. */
  static ofSchema(issues: readonly Issue[], body: unknown, { isCustom }: Validator): InvalidBody {
    const hint = isCustom
      ? 'Details are in error.issues, the response is in error.body: fix the schema to accept it.'
      : 'If the service is right, pass a `schema` that accepts it. The response is in error.body.'
    return new InvalidBody(issues, { body, hint, isCustomSchema: isCustom })
  }

  /** For the body as a whole. */
  static of(message: string, hint: string, body?: unknown): InvalidBody {
    return new InvalidBody([{ path: [], message }], { body, hint })
  }
}
