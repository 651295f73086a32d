import type { Transport } from '../http/call.js'
import type { RequestOptions } from '../http/request.js'
import { type CallSite, captureCallSite } from '../internal/call-site.js'
import { wrongArgument } from '../internal/describe.js'
import { type Query, toQueryString } from '../internal/url.js'
import {
  assertObject,
  callback,
  checkedLater,
  type KnownOptions,
  readOptions,
  trueOrFalse,
  wholeNumber,
} from '../internal/validate.js'
import { callChecks, clientOptionHint, mergeSettings } from '../options.js'
import { resolveSchema } from '../schema.js'
import { iterate } from './iterate.js'
import {
  createPage,
  type ListEndpoint,
  type LoadedPage,
  type Page,
  PageLoader,
  type PageRequest,
  type PageSource,
} from './page.js'
import { Paginator } from './paginator.js'
import { VerifiedPaginator } from './verified-paginator.js'
import type { Batch, WalkOptions } from './walk.js'

/** Selects a part of a list: the first page, the page size and filters. `maxItems` and `verified` are options. */
export interface ListParams {
  /**
   * Page to begin with; the first page is 1.
   * @defaultValue 1
   */
  page?: number | undefined
  /**
   * Number of items per page. The service may lower it: the limit in the response applies.
   * @defaultValue not sent: the service's own default, which is not specified
   */
  limit?: number | undefined
  /** Additional query parameters, such as filters. None are specified: pass what your service accepts. */
  query?: Query | undefined
}

/** Options of a list. */
export interface ListOptions<S = undefined, T = unknown> extends RequestOptions<S> {
  /**
   * Overrides the client's `concurrency` for this list: the maximum number of pages that are fetched in parallel.
   * @defaultValue the client's value, 4 unless set
   */
  concurrency?: number | undefined
  /**
   * Maximum number of items to iterate; no page beyond them is requested, and 0 sends nothing. Items that are missed are not
   * noticed at such an end. No effect when the list is awaited: the size of a page is `limit`.
   * @defaultValue the whole list
   */
  maxItems?: number | undefined
  /**
   * Returns what identifies an item, so that it is not yielded twice when it moves to a later page. An item for which it
   * returns `undefined`, `null` or `NaN` is always yielded; with `verified`, every item needs a string or a number.
   * @defaultValue what the resource defines, such as the `id` of a transaction; nothing for `client.list`
   */
  dedupeBy?: ((item: T) => unknown) | undefined
  /**
   * What happens when the list shrank during the iteration, or its last page ends short of its total, so that items may have
   * been missed. With `verified`, which recovers missed items, only the latter counts. An empty page where the total says
   * that there are items is an error anyway.
   * @defaultValue 'throw'
   */
  onMissedItems?: 'throw' | 'continue' | undefined
  /**
   * Ensures that no item is missed, given a stable order and unique ids: pages overlap, each must contain an item that was
   * already read, and the client goes back where that fails. The end is held against the total. Costs about 14 % more
   * requests at limit 100, 38 % at 20. Every item must be identified: see `dedupeBy`. No effect when the list is awaited.
   * @defaultValue false
   */
  verified?: boolean | undefined
}

/**
 * A list that is fetched when it is used: `await` it for one page, or iterate it with `for await` for every item.
 *
 * - `await list` fetches one page, the first unless `page` says otherwise. Awaiting twice fetches once.
 * - `for await (const item of list)` fetches all pages, several in parallel, and yields each item once, in order.
 * - `for await (const page of list.pages())` fetches the same pages, and yields each {@link Page} as it is.
 *
 * Nothing is sent before that. Each iteration starts from the beginning, and `break` cancels requests in flight.
 *
 * @example
 * ```ts
 * const list = client.transactions.list({ limit: 100 })
 *
 * const page = await list
 * console.log(page.data.length, page.totalItems)
 *
 * for await (const transaction of list) console.log(transaction.id)
 *
 * for await (const { page, data } of list.pages()) console.log(page, data.length)
 * ```
 */
export interface List<T> extends Promise<Page<T>>, AsyncIterable<T> {
  /** Iterates every item in order, each once. `break` cancels requests in flight. */
  [Symbol.asyncIterator](): AsyncGenerator<T, void>
  /**
   * Iterates the pages as they come, in order: with the same requests, checks and drift events as iterating the items, but
   * items are neither de-duplicated nor cut to `maxItems`.
   * @throws TypeError for a verified list, as its pages overlap.
   */
  pages(): AsyncGenerator<Page<T>, void>
}

const positive = /* @__PURE__ */ wholeNumber(1)
const paramChecks = { page: positive, limit: positive, ...checkedLater('query') }
const optionChecks = {
  ...callChecks,
  concurrency: positive,
  maxItems: (name: string, value: unknown) => {
    if (value !== Number.POSITIVE_INFINITY) wholeNumber(0)(name, value)
  },
  dedupeBy: callback,
  onMissedItems: (name: string, value: unknown) => {
    if (value !== 'throw' && value !== 'continue') throw wrongArgument(name, "'throw' or 'continue'", value)
  },
  verified: trueOrFalse,
}

/** @param before What stands before the options in a call of this list. */
const knownParams = (before: string): KnownOptions => ({
  title: 'List params',
  checks: paramChecks,
  elsewhere: name =>
    Object.hasOwn(optionChecks, name) ? `pass it in the ${before}, { ${name} })` : clientOptionHint(name),
})

const knownOptions: KnownOptions = {
  title: 'List options',
  checks: optionChecks,
  elsewhere: name =>
    Object.hasOwn(paramChecks, name) ? `pass it among the params, list({ ${name} })` : clientOptionHint(name),
}

/** Creates a lazy list after checking its arguments. Nothing is sent. */
export function createList<T>(
  transport: Transport,
  endpoint: ListEndpoint,
  givenParams: ListParams | undefined,
  // biome-ignore lint/suspicious/noExplicitAny: T is the output of the schema
  givenOptions: ListOptions<any, T> | undefined,
): List<T> {
  const createdAt = captureCallSite(createList, 1)
  const before = endpoint.validator ? 'second argument, list(params' : 'third argument, list(path, params'
  const params = readOptions('params', givenParams, knownParams(before))
  const options = readOptions('options', givenOptions, knownOptions)
  const { page = 1, limit, query } = params
  const { signal, dedupeBy, maxItems = Number.POSITIVE_INFINITY, onMissedItems = 'throw' } = options
  const { verified = false } = options
  const validator = resolveSchema(options.schema, endpoint.validator)
  if (validator === undefined) {
    throw new TypeError(
      'schema: expected one in the third argument, list(path, params, { schema }), as nothing is known about the items of this list',
    )
  }
  if (verified && dedupeBy === undefined && endpoint.itemKey === undefined) {
    throw new TypeError(
      'verified: expected `dedupeBy` too, as nothing else identifies the items of this list',
    )
  }
  const settings = mergeSettings(transport.settings, options)
  const spec = { endpoint, validator, limit, query: toExtraQuery(query), settings, signal, dedupeBy }
  const loader = new PageLoader<T>(transport, spec)
  const walk = { firstPage: page, concurrency: settings.concurrency, maxItems, onMissedItems }
  return new LazyList({ loader, walk, verified, signal, createdAt })
}

function toExtraQuery(given: Query | undefined): string {
  const query = assertObject('query', given)
  for (const name of ['page', 'limit'] as const) {
    if (Object.hasOwn(query, name)) {
      throw new TypeError(`query.${name}: pass it as a parameter of its own, list({ ${name} })`)
    }
  }
  return toQueryString(query).replace('?', '&')
}

interface ListSetup<T> {
  readonly loader: PageLoader<T>
  readonly walk: Omit<WalkOptions<T>, 'load' | 'site'>
  readonly verified: boolean
  readonly signal: AbortSignal | undefined
  readonly createdAt: CallSite
}

class LazyList<T> implements List<T> {
  readonly #setup: ListSetup<T>
  /** What its pages go on with. */
  readonly #source: PageSource<T>
  #page: Promise<Page<T>> | undefined

  constructor(setup: ListSetup<T>) {
    this.#setup = setup
    this.#source = {
      load: (request, site) => setup.loader.load(request, site),
      iterateFrom: page => this.#iterate(({ items }) => items, page),
    }
  }

  get [Symbol.toStringTag](): string {
    return 'List'
  }

  [Symbol.asyncIterator](): AsyncGenerator<T, void> {
    return this.#iterate(({ items }) => items)
  }

  pages(): AsyncGenerator<Page<T>, void> {
    if (!this.#setup.verified) return this.#iterate(({ page }) => [createPage(page, this.#source)])
    throw new TypeError('pages: not available with `verified: true`, as its pages overlap: iterate the items')
  }

  #iterate<V>(valuesOf: (batch: Batch<T>) => readonly V[], first?: LoadedPage<T>): AsyncGenerator<V, void> {
    const { loader, walk, verified, signal } = this.#setup
    const startWalk = (site: CallSite) => {
      let loaded = first
      const load = (request: PageRequest) => {
        // What a walk requests first is its first page: this one, which has arrived.
        const result = loaded ? Promise.resolve(loaded) : loader.load(request, site)
        loaded = undefined
        return result
      }
      const options = { ...walk, firstPage: first?.page ?? walk.firstPage, load, site }
      return verified ? new VerifiedPaginator(options) : new Paginator(options)
    }
    return iterate(startWalk, signal, valuesOf)
  }

  async #load(): Promise<Page<T>> {
    const { loader, walk, createdAt } = this.#setup
    return createPage(await loader.load({ page: walk.firstPage }, createdAt), this.#source)
  }

  then<A = Page<T>, B = never>(
    onFulfilled?: ((page: Page<T>) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#page ??= this.#load()
    return this.#page.then(onFulfilled, onRejected)
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Page<T> | B> {
    return this.then(undefined, onRejected)
  }

  finally(onFinally?: (() => void) | null): Promise<Page<T>> {
    return this.then().finally(onFinally)
  }

  // At run time only, as the types already rule these out: `undefined`, an empty array or `{}` would pass for an empty list.

  [Symbol.iterator](): never {
    throw notAnArray('list')
  }

  toJSON(): never {
    throw notAnArray('list')
  }
}

function notAnArray(name: string): TypeError {
  return new TypeError(`${name}: items arrive asynchronously: use \`for await\`, or \`(await list).data\``)
}

for (const name of ['data', 'totalItems', 'length', 'map', 'filter', 'forEach']) {
  const get = () => {
    throw notAnArray(`list.${name}`)
  }
  Object.defineProperty(LazyList.prototype, name, { get })
}
