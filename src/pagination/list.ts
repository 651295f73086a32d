import { atCaller } from '../errors.js'
import type { Transport } from '../http/types.js'
import {
  assertNoMore,
  type Checks,
  callback,
  checkedLater,
  oneOf,
  readOptions,
  trueOrFalse,
  wholeNumber,
} from '../internal/arguments.js'
import { checkedAt } from '../internal/error-stack.js'
import { property } from '../internal/object.js'
import { assertPath, type Query, toQueryString } from '../internal/url.js'
import { callChecks, mergeSettings, onTheClient, type RequestOptions } from '../options.js'
import { resolveSchema, type Schema } from '../schema.js'
import { readCursor } from './cursor.js'
import { iterate } from './iterate.js'
import {
  type Batch,
  createBatch,
  createPage,
  type ListSetup,
  loadPage,
  type Page,
  type ReadBatch,
} from './page.js'
import { readList } from './walk.js'

/** The declaration of a list in its resource. */
export interface ListEndpoint {
  readonly path: string
  /** Validates items unless the caller passes a schema. Without one, the caller must. */
  readonly schema?: Schema
  /** Returns the key of an item as the service sent it, because a caller's schema may drop or rename the id. */
  readonly itemKey?: (item: unknown) => unknown
}

/** Parameters of a list, such as page size and filters. Options such as `maxItems` are a separate argument. */
export interface ListParams {
  /**
   * The first page to fetch, counted from 1.
   * @defaultValue 1
   */
  page?: number | undefined
  /**
   * Number of items per page. The service may lower it. Then the limit in the response applies. With `after`, the
   * earlier loop's limit is the default and the maximum.
   * @defaultValue 100 for a loop from page 1 if the service accepts that. Otherwise the service's default
   */
  limit?: number | undefined
  /** Additional query parameters, such as filters. The API documents none. Pass those that your service accepts. */
  query?: Query | undefined
}

/**
 * Options of a list, such as where a loop starts, how far it reads, and whether it must be complete.
 *
 * @example
 * ```ts
 * const list = client.transactions.list({}, { verified: true })
 * for await (const item of list) console.log(item.id)
 * ```
 */
export interface ListOptions<Item = unknown> extends RequestOptions<Item> {
  /**
   * Resumes after a cursor, from `batch.cursor` or `error.cursor`, in any process and at any time. In a list that grows at its
   * end, the loop reads only new items. If pages overlap, it misses no item added at the end, however the list changed in
   * between. Pass the same `query`, and no `page`. If your list grows at its beginning, pass `until` instead. `undefined` starts
   * at the beginning.
   * @throws PaginationError if every item that the cursor remembers is gone. Then start over without it.
   * @defaultValue undefined
   */
  after?: string | undefined
  /**
   * Reads only new items of a list that shows the newest first. The loop ends at the items that the cursor remembers. Pass the
   * cursor of the first batch of your last finished loop. If that loop yielded nothing, pass the same `until` again. Cannot be
   * combined with `after`, `maxItems` or a later `page`.
   *
   * It also yields items added between the remembered ones. If no remembered item is left, it reads the whole list.
   * Store items by id.
   * @defaultValue undefined
   */
  until?: string | undefined
  /**
   * Ends a loop after this many items. It requests no page beyond them, and 0 sends nothing. Cannot be combined with `until`, or
   * used for a list that you `await`. For the size of a page, pass `limit`.
   * @defaultValue the whole list
   */
  maxItems?: number | undefined
  /**
   * Returns the key of an item, a string or a number that is unique in the list. Items without a key (`undefined`, `null`, `NaN`)
   * are always yielded, but a loop over them cannot prove that it is complete.
   * @defaultValue the resource's own key, such as the `id` of a transaction. None for `client.list`
   */
  itemKey?: ((item: NoInfer<Item>) => string | number | bigint | null | undefined) | undefined
  /**
   * Whether a loop throws or continues if it may have missed items. Signs of that are an unstable order, an end before the
   * total, and a list that shrank while pages could not overlap. If it continues, its `end` event has
   * `isComplete: false`. An empty page in the middle of a list is always an error.
   * @defaultValue 'throw'
   */
  onMissedItems?: 'throw' | 'continue' | undefined
  /**
   * Whether a loop must prove that it missed nothing while the list changed. It has no effect when you `await` the list.
   * For the proof, pages overlap. That costs about 14 % more requests at limit 100, 36 % at 20.
   *
   * - not given: proves it if the service lets pages overlap. The `end` event says whether it did.
   * - `true`: throws if it cannot prove it. For exports and reconciliation.
   * - `false`: sends the fewest requests, one for each page. Pages overlap only if you pass `after`.
   * @defaultValue undefined
   */
  verified?: boolean | undefined
  /**
   * Overrides the client's `concurrency` for this list: the maximum number of pages that are fetched in parallel.
   * @defaultValue the client's value, 4 unless set
   */
  concurrency?: number | undefined
}

/**
 * A list that sends nothing until you `await` it for one page, or iterate it with `for await` for every item.
 *
 * - `await list` fetches one page, the first unless `page` says otherwise. Awaiting twice fetches once.
 * - `for await (const item of list)` fetches all pages, several in parallel, and yields each item once, in order. Items may be
 *   added or removed meanwhile. Exception: an item that moves may be yielded twice or not at all.
 * - `for await (const batch of list.batches())` does the same, and yields each {@link Batch} with a cursor to resume from.
 *
 * Each iteration starts over, and `break` cancels requests in flight.
 *
 * @example
 * ```ts
 * for await (const item of client.transactions.list()) console.log(item.id)
 * ```
 */
export interface List<T> extends Promise<Page<T>>, AsyncIterable<T> {
  /** Iterates every item in order, each once. `break` cancels requests in flight. */
  [Symbol.asyncIterator](): AsyncGenerator<T, void>
  /** Iterates every item in batches. Each has the new items of one response, and a cursor that resumes after them. */
  batches(): AsyncGenerator<Batch<T>, void>
}

const positive = wholeNumber(1)
const paramChecks: Checks<ListParams> = { page: positive, limit: positive, query: checkedLater }
const optionChecks: Checks<ListOptions> = {
  ...callChecks,
  concurrency: positive,
  after: checkedLater,
  until: checkedLater,
  maxItems: wholeNumber(0, Number.POSITIVE_INFINITY),
  itemKey: callback,
  onMissedItems: oneOf('throw', 'continue'),
  verified: trueOrFalse,
}

/** Creates a lazy list after checking its arguments. Nothing is sent. */
export function createList<Item>(
  transport: Transport,
  endpoint: ListEndpoint,
  params: ListParams | undefined,
  options: ListOptions<Item> | undefined,
  surplus: readonly unknown[],
): List<Item> {
  return new LazyList(
    checkedAt(createList, () => {
      assertNoMore(surplus, 'list(params, options), or client.list(path, params, options)')
      return prepareList(transport, endpoint, params, options)
    }),
  )
}

function prepareList<Item>(
  transport: Transport,
  { path, schema, itemKey: rawItemKey }: ListEndpoint,
  givenParams: ListParams | undefined,
  givenOptions: ListOptions<Item> | undefined,
): ListSetup<Item> {
  assertPath('path', path)
  const paramsHelp =
    ' Filters go into `query`. Options such as `signal` go into the second argument (the third of client.list).'
  const { page, limit, query } = readOptions('params', givenParams, paramChecks, 'List params', paramsHelp)
  const optionsHelp = ` Params such as \`limit\` go into the argument before.${onTheClient}`
  const given = givenOptions as ListOptions | undefined
  const options = readOptions('options', given, optionChecks, 'List options', optionsHelp)
  const { signal, itemKey, maxItems = Number.POSITIVE_INFINITY, onMissedItems = 'throw', verified } = options
  const validator = resolveSchema(options.schema, schema)
  if (validator === undefined) throw new TypeError('schema: required. Call list(path, params, { schema }).')
  const list = { path, filters: toQueryString(query) }
  const after = readCursor('after', options.after, list)
  const until = readCursor('until', options.until, list)
  const forbid = (isGiven: unknown, problem: string) => {
    if (isGiven) throw new TypeError(problem)
  }
  for (const name of ['page', 'limit'] as const)
    forbid(property(query, name) !== undefined, `query.${name}: pass \`${name}\` outside \`query\``)
  const isStrict = verified === true
  const hasKeys = itemKey !== undefined || rawItemKey !== undefined
  const isContinued = onMissedItems === 'continue'
  const doubt = `the loop that wrote this cursor may have missed items (${after?.doubt})`
  forbid(
    isStrict && !hasKeys,
    'verified: pass `itemKey`, because nothing else identifies the items of this list',
  )
  forbid(isStrict && isContinued, "verified: cannot be combined with onMissedItems: 'continue'")
  forbid(isStrict && after?.doubt, `verified: ${doubt}. Start over without \`after\`.`)
  forbid(after && page !== undefined, 'page: cannot be combined with `after`, which says where to resume')
  forbid(until && (page ?? 1) > 1, 'page: cannot be combined with `until`, which reads from the beginning')
  const ends = 'pass `until` if new items come first, `after` if they come last'
  forbid(after && until, `until: cannot be combined with \`after\` (${ends})`)
  const hasMaxItems = options.maxItems !== undefined
  forbid(
    until && hasMaxItems,
    'until: cannot be combined with `maxItems`, because items beyond it would be missed',
  )
  // A later page at another limit has other items.
  const isFree = limit === undefined && (page ?? 1) === 1 && !after
  const refusedBy = transport.shared.withoutLimit
  return {
    ...list,
    transport,
    validator,
    settings: mergeSettings(transport, options),
    signal,
    itemKey,
    rawItemKey,
    firstPage: page ?? 1,
    limit: limit ?? after?.limit,
    ownLimit: isFree && { refusedBy, service: `${transport.baseUrl}${path}` },
    concurrency: options.concurrency ?? transport.concurrency,
    maxItems,
    onMissedItems,
    verified,
    after,
    until,
  }
}

class LazyList<T> implements List<T> {
  readonly #setup: ListSetup<T>
  #page: Promise<Page<T>> | undefined

  constructor(setup: ListSetup<T>) {
    this.#setup = setup
  }

  get [Symbol.toStringTag](): string {
    return 'List'
  }

  [Symbol.asyncIterator](): AsyncGenerator<T, void> {
    return this.#iterate(({ items }) => items)
  }

  batches(...surplus: unknown[]): AsyncGenerator<Batch<T>, void> {
    assertNoMore(surplus, 'batches(), and options in list(params, { … })')
    return this.#iterate(batch => [createBatch(batch)])
  }

  #iterate<V>(valuesOf: (batch: ReadBatch<T>) => readonly V[]): AsyncGenerator<V, void> {
    const setup = this.#setup
    return iterate(closing => readList(setup, closing), setup.signal, valuesOf)
  }

  async #load(): Promise<Page<T>> {
    const setup = this.#setup
    for (const name of ['after', 'until'] as const)
      if (setup[name]) throw new TypeError(`${name}: a list with a cursor has no page to await: iterate it`)
    const { firstPage, limit, maxItems } = setup
    if (maxItems !== Number.POSITIVE_INFINITY)
      throw new TypeError('maxItems: an awaited list is one page: pass `limit`, or iterate the list')
    const load = (page: number, expectedLimit: number | undefined) =>
      loadPage(setup, { page, limit, expectedLimit, overlaps: false, accepts: undefined })
    try {
      const first = await load(firstPage, undefined)
      return createPage(first, before => load(before.page + 1, before.limit))
    } catch (error) {
      throw atCaller(error, this.#load)
    }
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

  // Only at run time, because the types already rule these out. `undefined`, `[]` or `{}` would look like an empty list.

  [Symbol.iterator](): never {
    throw notAnArray()
  }

  toJSON(): never {
    throw notAnArray()
  }

  get data(): never {
    throw notAnArray()
  }
}

function notAnArray(): TypeError {
  return new TypeError('list: not an array: use `for await`, or `(await list).data`')
}
