import { withCallerStack } from '../http/caller-stack.js'
import { onTheClient, type RequestOptions, requestOptionNames } from '../http/request.js'
import type { Transport } from '../http/transport.js'
import { describe } from '../internal/describe.js'
import { inspectSymbol, printable } from '../internal/object.js'
import { type Query, toQueryString } from '../internal/url.js'
import {
  assertBoolean,
  assertFunction,
  assertInteger,
  assertKnownNames,
  assertObject,
  assertSignal,
} from '../internal/validate.js'
import { mergeSettings } from '../options.js'
import { resolveSchema } from '../schema.js'
import { iterateItems, iteratePages } from './iterate.js'
import { type ListEndpoint, type LoadedPage, type Page, PageLoader } from './page.js'
import { Paginator, type Walk } from './paginator.js'
import { VerifiedPaginator } from './verified-paginator.js'

/** Which part of a list. */
export interface ListParams {
  /**
   * Page to begin with; the first page is 1.
   * @defaultValue 1
   */
  page?: number | undefined
  /**
   * Number of items per page. The service may lower it: the limit in its response counts.
   * @defaultValue not sent: the service's own default, which is not specified
   */
  limit?: number | undefined
  /** Further query parameters. The interface specifies none. */
  query?: Query | undefined
}

/** Options of a list. */
export interface ListOptions<S = undefined, T = unknown> extends RequestOptions<S> {
  /**
   * Maximum number of pages that are fetched in parallel while the list is iterated. 1 fetches one page at a time.
   * @defaultValue that of the client, 4
   */
  concurrency?: number | undefined
  /**
   * Ends the iteration after so many items; no page beyond them is requested. 0 requests none at all.
   * @defaultValue the whole list
   */
  maxItems?: number | undefined
  /**
   * What identifies an item, so that it is yielded once even when the list shifts. `undefined` identifies nothing.
   * @defaultValue what the resource says, such as the `id` of a transaction; nothing for `client.list`
   */
  dedupeBy?: ((item: T) => unknown) | undefined
  /**
   * What happens when the list shrank during the iteration, or ended short of its total, so that items may have been missed.
   * Without effect if `verified`, which repairs it.
   * @defaultValue 'throw'
   */
  onMissedItems?: 'throw' | 'continue' | undefined
  /**
   * Proves that no item was missed, and repairs it where one was: pages overlap, and each must contain an item that was
   * already read. Costs about 15 % more requests at limit 100. Needs identified items: see
   * `dedupeBy`.
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
   * nothing is de-duplicated or cut.
   * @throws TypeError for a verified list, as its pages overlap.
   */
  pages(): AsyncGenerator<Page<T>, void>
}

const paramNames = ['page', 'limit', 'query']
const optionNames = [
  ...requestOptionNames,
  'concurrency',
  'maxItems',
  'dedupeBy',
  'onMissedItems',
  'verified',
]

const knownParams = {
  title: 'List params',
  names: paramNames,
  elsewhere: (name: string) =>
    optionNames.includes(name)
      ? `pass it in the second argument, list(params, { ${name} })`
      : onTheClient(name),
}

const knownOptions = {
  title: 'List options',
  names: optionNames,
  elsewhere: (name: string) =>
    paramNames.includes(name)
      ? `pass it in the first argument, list({ ${name} }, options)`
      : onTheClient(name),
}

/** Checks the arguments of a list. Nothing is sent. */
export function createList<T>(
  transport: Transport,
  endpoint: ListEndpoint,
  givenParams: ListParams | undefined,
  // biome-ignore lint/suspicious/noExplicitAny: T is the output of the schema
  givenOptions: ListOptions<any, T> | undefined,
): List<T> {
  const params = assertObject('params', givenParams)
  const options = assertObject('options', givenOptions)
  assertKnownNames('params', params, knownParams)
  assertKnownNames('options', options, knownOptions)
  const { page = 1, limit, query } = params
  const { signal, dedupeBy, maxItems = Number.POSITIVE_INFINITY, onMissedItems = 'throw' } = options
  const { verified = false } = options
  assertInteger('page', page, 1)
  if (limit !== undefined) assertInteger('limit', limit, 1)
  if (maxItems !== Number.POSITIVE_INFINITY) assertInteger('maxItems', maxItems, 0)
  if (onMissedItems !== 'throw' && onMissedItems !== 'continue') {
    throw new TypeError(`onMissedItems: expected 'throw' or 'continue', got ${describe(onMissedItems)}`)
  }
  if (dedupeBy !== undefined) assertFunction('dedupeBy', dedupeBy)
  if (signal !== undefined) assertSignal(signal)
  assertBoolean('verified', verified)
  if (verified && dedupeBy === undefined && endpoint.itemKey === undefined) {
    throw new TypeError(
      'verified: expected `dedupeBy` with it, as nothing else identifies the items of this list',
    )
  }
  const settings = mergeSettings(transport.settings, options)
  const createWalk = (first?: LoadedPage<T>): Walk<T> => {
    const { concurrency } = settings
    const firstPage = first?.page.page ?? page
    const shared = { firstPage, first, concurrency, maxItems }
    if (verified) {
      return new VerifiedPaginator<T>({ ...shared, load: request => loader.load(request) })
    }
    return new Paginator<T>({
      ...shared,
      onMissedItems,
      fetchPage: (page, signal, onThrottled) => loader.load({ page, mayBeEmpty: true, signal, onThrottled }),
    })
  }
  const loader: PageLoader<T> = new PageLoader<T>(transport, {
    endpoint: { ...endpoint, validator: resolveSchema(options.schema, endpoint.validator) },
    limit,
    query: toExtraQuery(query),
    settings,
    signal,
    dedupeBy,
    iterateFrom: first => iterateItems(createWalk(first), signal),
  })
  return new LazyList<T>({
    params: { page, ...(limit === undefined ? {} : { limit }), ...(query === undefined ? {} : { query }) },
    path: endpoint.path,
    load: () => withCallerStack(async () => (await loader.load({ page })).page),
    iterate: () => iterateItems(createWalk(), signal),
    iteratePages: () => {
      if (verified)
        throw new TypeError('pages: a verified list has none, as its pages overlap: iterate its items')
      return iteratePages(createWalk(), signal)
    },
  })
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

interface LazyListOptions<T> {
  readonly path: string
  readonly params: ListParams
  readonly load: () => Promise<Page<T>>
  readonly iterate: () => AsyncGenerator<T, void>
  readonly iteratePages: () => AsyncGenerator<Page<T>, void>
}

class LazyList<T> implements List<T> {
  readonly #options: LazyListOptions<T>
  #page: Promise<Page<T>> | undefined

  constructor(options: LazyListOptions<T>) {
    this.#options = options
  }

  get [Symbol.toStringTag](): string {
    return 'List'
  }

  [Symbol.asyncIterator](): AsyncGenerator<T, void> {
    return this.#options.iterate()
  }

  pages(): AsyncGenerator<Page<T>, void> {
    return this.#options.iteratePages()
  }

  then<A = Page<T>, B = never>(
    onFulfilled?: ((page: Page<T>) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#page ??= this.#options.load()
    return this.#page.then(onFulfilled, onRejected)
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Page<T> | B> {
    return this.then(undefined, onRejected)
  }

  finally(onFinally?: (() => void) | null): Promise<Page<T>> {
    return this.then().finally(onFinally)
  }

  [inspectSymbol](): object {
    const { path, params } = this.#options
    return printable('List', { path, params })
  }
}
