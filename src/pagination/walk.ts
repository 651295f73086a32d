import type { CallSite } from '../internal/call-site.js'
import type { LoadedPage, PageRequest } from './page.js'

export interface Batch<T> {
  readonly page: LoadedPage<T>
  readonly items: readonly T[]
}

/** One walk: a full traversal of a list, page by page. */
export interface Walk<T> {
  /** The next batch, or undefined at the end. Must not be called again before it has settled. */
  next(): Promise<Batch<T> | undefined>
  cancel(): void
}

export interface WalkOptions<T> {
  readonly load: (request: PageRequest) => Promise<LoadedPage<T>>
  readonly firstPage: number
  readonly concurrency: number
  readonly maxItems: number
  readonly onMissedItems: 'throw' | 'continue'
  /** Where the iteration began. */
  readonly site: CallSite
}
