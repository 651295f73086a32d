import type { IncompleteReason } from '../events.js'
import type { Key } from './known-items.js'
import { isShort, type LoadedPage, type LoadPage } from './page.js'
import { type Fetched, type Plan, Prefetcher, type Window } from './prefetcher.js'

/** What a response says about the list. A page that does not exist is an empty one, however the service says that. */
export interface Seen<T = unknown> extends Omit<Fetched<T>, 'keys' | 'totalItems'> {
  /** The place of its first item in the list. */
  readonly start: number
  /** Empty where they do not tell items apart. */
  readonly keys: readonly (Key | undefined)[]
  /** `undefined` where it does not say. */
  readonly total: number | undefined
  /** It ends before its limit although its total says that more follows, also when requested again. */
  readonly isShort: boolean
  /** The service refused the request: there is no such page, or no such limit. */
  readonly isRefused: boolean
  /** Why pages cannot overlap, if it shows that. */
  readonly problem: IncompleteReason | undefined
}

interface SourceOptions<T> {
  readonly load: LoadPage<T>
  readonly concurrency: number
  readonly closing: AbortSignal
  /** Whether the first page may be refused for its limit. */
  readonly mayRefuseFirst: boolean
}

// Many services read rows and total in two statements: an item that is added in between makes a page look short.
const maxRequests = 3

/** Requests the windows of one loop, and says what their responses show of the list. */
export class Source<T> {
  readonly #options: SourceOptions<T>
  readonly #prefetcher: Prefetcher<T>
  /** The total as far as it is known. */
  readonly #total: () => number
  requests = 0
  /** One was short, and not longer when asked again: the service filters pages after it has cut them, or its total is wrong. */
  pagesAreShort = false
  /** The last response that was read. */
  last: Seen<T> | undefined

  constructor(options: SourceOptions<T>, total: () => number) {
    const { concurrency, closing } = options
    this.#options = options
    this.#total = total
    this.#prefetcher = new Prefetcher((...request) => this.#load(...request), concurrency, closing)
  }

  /** The window that was requested ahead, if any. */
  get planned(): Window | undefined {
    return this.#prefetcher.planned
  }

  /**
   * Requests a window; `plan` says what will be read after it, if the list stays as it is. Without one, what was requested ahead
   * comes after this window.
   */
  async get(window: Window, plan?: Plan): Promise<Seen<T>> {
    const loaded = await this.#prefetcher.get(window, plan)
    const { data, page, limit, totalItems, response } = loaded
    const keys = loaded.keys()
    const keyProblem = findKeyProblem(keys)
    const isOther = window.overlaps && (limit !== window.limit || data.length > limit)
    // A service that counts along with the rows of a page (`count(*) over ()`) says 0 for an empty one.
    const hasTotal = page === 1 || data.length > 0 || totalItems > 0
    this.last = {
      ...loaded,
      start: (page - 1) * limit,
      keys: keyProblem === 'item-key-not-unique' ? [] : (keys ?? []),
      total: hasTotal ? totalItems : undefined,
      isShort: isShort(loaded),
      isRefused: isRefusal(response.status),
      problem: isOther ? 'limit-not-honoured' : keyProblem,
    }
    return this.last
  }

  /** A response that contradicts itself is requested again. If it stays as short, the service filters pages after cutting them. */
  async #load(window: Window, signal: AbortSignal): Promise<LoadedPage<T>> {
    const accepts = (what: number | 'another-page') => this.#isAnswer(window, what)
    let lengthBefore = -1
    for (let request = 1; ; request++) {
      this.requests++
      const mayContradict = request < maxRequests && !this.pagesAreShort
      const loaded = await this.#options.load({ ...window, signal, mayContradict, accepts })
      const { length } = loaded.data
      if (!isShort(loaded)) return loaded
      if (!mayContradict) {
        this.pagesAreShort ||= length === lengthBefore
        return loaded
      }
      lengthBefore = length
    }
  }

  /** Whether a response counts as an empty page: a service may say by a status, or by another page, that this one does not exist. */
  #isAnswer({ page, limit, expectedLimit, overlaps }: Window, what: number | 'another-page'): boolean {
    const isMissing = what === 404 || what === 'another-page'
    if (overlaps) return page > 1 && (isMissing || isRefusal(what))
    if (expectedLimit === undefined)
      return isRefusal(what) && limit !== undefined && this.#options.mayRefuseFirst
    return what === 404 || (isMissing && (page - 1) * expectedLimit >= this.#total())
  }
}

function isRefusal(status: unknown): boolean {
  return status === 400 || status === 422
}

function findKeyProblem(keys: readonly (Key | undefined)[] | undefined): IncompleteReason | undefined {
  if (keys === undefined || keys.includes(undefined)) return 'no-item-key'
  return new Set(keys).size < keys.length ? 'item-key-not-unique' : undefined
}
