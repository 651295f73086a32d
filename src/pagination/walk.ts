import type { EventDetails } from '../events.js'
import type { CallSite } from '../internal/call-site.js'
import type { LoadedPage, PageRequest } from './page.js'

/** A page, and those of its items that are yielded. */
export interface Batch<T> {
  readonly page: LoadedPage<T>
  readonly items: readonly T[]
}

/** One walk: a full traversal of a list, page by page. */
export interface Walk<T> {
  /** The next batch, or undefined at the end. Must not be called again before it has settled. */
  next(): Promise<Batch<T> | undefined>
  /** Ends the walk, and cancels its requests in flight. */
  cancel(): void
}

/** Options of a walk. */
export interface WalkOptions<T> {
  readonly load: (request: PageRequest) => Promise<LoadedPage<T>>
  readonly firstPage: number
  readonly concurrency: number
  readonly maxItems: number
  readonly onMissedItems: 'throw' | 'continue'
  /** Where the iteration began. */
  readonly site: CallSite
}

/** Says that something about a list has changed, or is odd. */
export function emitDrift<T>(
  { response }: LoadedPage<T>,
  change: Extract<EventDetails, { type: 'drift' }>['change'],
  before: number,
  after: number,
): void {
  response.emit({ type: 'drift', change, before, after })
}
