import { type Issue, maxIssues, PaginationError } from '../errors.js'
import type { SuccessResponse } from '../http/call.js'
import { withCallerStack } from '../http/caller-stack.js'
import { InvalidBody } from '../http/invalid-body.js'
import { parseListBody } from '../http/response-body.js'
import type { Transport } from '../http/transport.js'
import { defineHidden } from '../internal/object.js'
import { array, integer, object } from '../internal/zod.js'
import type { CallSettings } from '../options.js'
import { isThenable, type Validator, validate } from '../schema.js'

/**
 * One page of a list. Iterating it (`for await`) yields its items and all that follow, to the end of the list.
 *
 * The properties from `data` to `hasNextPage` survive `structuredClone`, JSON and query caches; the others do not.
 */
export interface Page<T> extends AsyncIterable<T> {
  /** The items, in the service's order. */
  readonly data: T[]
  /** The number of this page, from 1. */
  readonly page: number
  /** Number of items in the whole list. */
  readonly totalItems: number
  /** The page size in effect, which the service may have lowered. */
  readonly limit: number
  /** Number of pages of the list at this page size; 0 for an empty list. */
  readonly pageCount: number
  /** Whether the list continues after this page, according to `totalItems`. */
  readonly hasNextPage: boolean
  /** The HTTP status, from 200 to 299. */
  readonly status: number
  /** The response headers. */
  readonly headers: Headers
  /** The `x-request-id` or `request-id` header, if the response has one. Quote it to the service's support. */
  readonly requestId: string | undefined
  /**
   * Fetches the page after this one, with the same options and signal; `undefined` after the last.
   * @throws PaginationError if its limit is not that of this page.
   */
  nextPage(): Promise<Page<T> | undefined>
  /** Iterates the items of this page and all that follow. This page is not fetched again. */
  [Symbol.asyncIterator](): AsyncGenerator<T, void>
  /** The page as plain data. */
  toJSON(): PageJson<T>
}

/** A page as plain data: see {@link Page.toJSON}. */
export type PageJson<T> = {
  -readonly [K in 'data' | 'page' | 'totalItems' | 'limit' | 'pageCount' | 'hasNextPage']: Page<T>[K]
}

/** A list endpoint, as a resource describes it. */
export interface ListEndpoint {
  readonly path: string
  /** Validates items unless the caller passes a schema. Without one, the caller must. */
  readonly validator?: Validator
  /** What identifies an item as the service sent it: a caller's schema may drop or rename that. */
  readonly itemKey?: (item: unknown) => unknown
}

/** A page with what a paginator needs to know about it. */
export interface LoadedPage<T> {
  readonly page: Page<T>
  /** What identifies each item; `undefined` where nothing does. */
  readonly keys: () => readonly unknown[] | undefined
  readonly response: SuccessResponse
}

/** Which page to load. */
export interface PageRequest {
  readonly page: number
  /** Replaces the caller's `limit`. */
  readonly limit?: number
  /** The limit that must be in effect. */
  readonly expectedLimit?: number
  /** The page may be empty although its total says otherwise. */
  readonly mayBeEmpty?: boolean
  /** Cancels the request, in addition to the caller's signal. */
  readonly signal?: AbortSignal
  readonly onThrottled?: () => void
}

/** How the pages of one list are loaded. */
export interface PageLoaderOptions<T> {
  readonly endpoint: ListEndpoint
  readonly validator: Validator
  /** The caller's `limit`. */
  readonly limit: number | undefined
  /** Further query parameters, beginning with `&`, or empty. */
  readonly query: string
  readonly settings: CallSettings
  readonly signal: AbortSignal | undefined
  readonly dedupeBy: ((item: T) => unknown) | undefined
  /** Iterates from a loaded page to the end of the list. */
  readonly iterateFrom: (first: LoadedPage<T>) => AsyncGenerator<T, void>
}

type Envelope<T = unknown> = Pick<PageJson<T>, 'data' | 'page' | 'totalItems' | 'limit'>

const notAnEnvelopeHint =
  'Is this a list? Its response must be { data, page, totalItems, limit }; `schema` describes one item of `data`. For other endpoints use client.request.'
const envelope: Validator = {
  schema: /* @__PURE__ */ object({
    data: /* @__PURE__ */ array(),
    page: /* @__PURE__ */ integer(1),
    totalItems: /* @__PURE__ */ integer(0),
    limit: /* @__PURE__ */ integer(1),
  }),
}

/** Loads the pages of one list: request, envelope, items, and what a page says about itself. */
export class PageLoader<T> {
  readonly #transport: Transport
  readonly #options: PageLoaderOptions<T>

  constructor(transport: Transport, options: PageLoaderOptions<T>) {
    this.#transport = transport
    this.#options = options
  }

  load(request: PageRequest): Promise<LoadedPage<T>> {
    const { endpoint, query, settings, signal } = this.#options
    const { page, limit = this.#options.limit } = request
    const call = {
      method: 'GET',
      path: endpoint.path,
      query: `?page=${page}${limit === undefined ? '' : `&limit=${limit}`}${query}`,
      settings,
      signals: [signal, request.signal],
      page,
      onThrottled: request.onThrottled,
    }
    return this.#transport.send(call, response => this.#parse(response, request))
  }

  async #parse(response: SuccessResponse, request: PageRequest): Promise<LoadedPage<T>> {
    const body = parseListBody(response.bytes, response.contentType)
    const issues: Issue[] = []
    const received = validate(body, envelope, issues) as Envelope
    if (issues.length > 0) throw new InvalidBody(issues, { body, hint: notAnEnvelopeHint })
    assertConsistent(received, request, response)
    const { endpoint, validator, dedupeBy } = this.#options
    const { itemKey } = endpoint
    // Before validation, as a caller's schema may change the items.
    const itemKeys = dedupeBy ? undefined : itemKey && received.data.map(item => toKey(itemKey(item)))
    const items: unknown[] = []
    for (let index = 0; index < received.data.length && issues.length < maxIssues; index++) {
      items.push(validate(received.data[index], validator, issues, ['data', index]))
    }
    // Most schemas are synchronous, and a promise for each item is not free.
    const data = (items.some(isThenable) ? await Promise.all(items) : items) as T[]
    if (issues.length > 0) throw InvalidBody.forSchemaIssues(issues, body, validator)
    return this.#toLoadedPage({ ...received, data }, itemKeys, response)
  }

  #toLoadedPage(
    received: Envelope<T>,
    itemKeys: readonly unknown[] | undefined,
    response: SuccessResponse,
  ): LoadedPage<T> {
    const { data, page: number, limit } = received
    const { dedupeBy, iterateFrom } = this.#options
    let keys = itemKeys
    const nextPage = () =>
      withCallerStack(async () => (await this.load({ page: number + 1, expectedLimit: limit })).page)
    // A copy: what the caller does to it must not change what iterating the page yields.
    const page: Page<T> = createPage({ ...received, data: [...data] }, response, nextPage, () =>
      iterateFrom({ ...loaded, page: { ...page, ...received } }),
    )
    const loaded: LoadedPage<T> = {
      page,
      // Once for each page: the function is the caller's.
      keys: () => {
        if (dedupeBy) keys ??= data.map(item => toKey(dedupeBy(item)))
        return keys
      },
      response,
    }
    return loaded
  }
}

/** What identifies an item. `null` is a missing id in JSON, and `NaN` one in a computation: two of them are not the same item. */
function toKey(key: unknown): unknown {
  if (!isThenable(key)) return key === null || Number.isNaN(key) ? undefined : key
  Promise.resolve(key).catch(() => {})
  throw new TypeError('dedupeBy: expected a value, got a Promise (it must not be async)')
}

/**
 * A plain object with enumerable data only, so that it survives structuredClone; its functions use nothing but their
 * closure, so that they work behind a proxy, as in Vue's `ref`.
 */
function createPage<T>(
  { data, page, totalItems, limit }: Envelope<T>,
  { status, headers, requestId }: SuccessResponse,
  nextPage: () => Promise<Page<T>>,
  iterate: () => AsyncGenerator<T, void>,
): Page<T> {
  const pageCount = Math.ceil(totalItems / limit)
  const hasNextPage = page * limit < totalItems
  const plain: PageJson<T> = { data, page, totalItems, limit, pageCount, hasNextPage }
  const hidden = {
    status,
    headers,
    requestId,
    nextPage: () => (hasNextPage ? nextPage() : Promise.resolve(undefined)),
    toJSON: () => ({ ...plain }),
    [Symbol.asyncIterator]: iterate,
  }
  const result = { ...plain }
  for (const key of Reflect.ownKeys(hidden)) defineHidden(result, key, hidden[key as keyof typeof hidden])
  return result as unknown as Page<T>
}

/** What to do about a page that contradicts itself or the request. */
export const contradictionHint = "The service contradicts itself: report it to the service's owner."

/** What is wrong with an empty page before the end of its list. */
export function describeEmptyPage({ page, totalItems, limit }: Omit<Envelope, 'data'>): string {
  return `page ${page} is empty, although totalItems is ${totalItems} at a limit of ${limit}`
}

/** Throws a PaginationError when a page contradicts itself or the request. */
function assertConsistent(received: Envelope, request: PageRequest, { info }: SuccessResponse): void {
  const { data, page, totalItems, limit } = received
  const { expectedLimit } = request
  const assert = (isConsistent: boolean, problem: string, hint = contradictionHint) => {
    if (!isConsistent) throw PaginationError.create(info, problem, hint)
  }
  assert(page === request.page, `page ${request.page} was requested, but page ${page} was returned`)
  assert(data.length <= limit, `page ${page} holds ${data.length} items, more than its limit of ${limit}`)
  assert(
    data.length > 0 || request.mayBeEmpty === true || (page - 1) * limit >= totalItems,
    describeEmptyPage(received),
  )
  assert(
    expectedLimit === undefined || limit === expectedLimit,
    `the limit in effect changed from ${expectedLimit} to ${limit} between two pages`,
    'Start over with a limit that the service allows.',
  )
}
