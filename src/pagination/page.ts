import * as z from 'zod/mini'
import { atCaller } from '../errors.js'
import { InvalidBody, maxIssues, mismatch, parseListBody } from '../http/body.js'
import { type SuccessResponse, send } from '../http/call.js'
import type { Result } from '../http/request.js'
import { isSuccess } from '../http/retry.js'
import type { Transport } from '../http/types.js'
import { wrongArgument } from '../internal/describe.js'
import { withHidden } from '../internal/object.js'
import type { CallSettings } from '../options.js'
import { type FoundIssue, isThenable, type Validator, validate } from '../schema.js'
import { type Bookmark, hashKey, type ListName } from './cursor.js'
import type { Key } from './known-items.js'
import { emptyPage, failure } from './walk-errors.js'

/**
 * One page of a list, as plain data. For all items, iterate the list.
 *
 * The properties from `data` to `hasNextPage` survive `structuredClone`, JSON and query caches. The others do not.
 */
export interface Page<T> extends Pick<Result<T>, 'status' | 'headers' | 'requestId'> {
  /** The items, in the service's order. */
  readonly data: T[]
  /** The number of this page, from 1. */
  readonly page: number
  /** Number of items in the whole list. */
  readonly totalItems: number
  /** The page size in effect, which the service may have lowered. */
  readonly limit: number
  /** Number of pages in the list at this page size. 0 for an empty list. */
  readonly pageCount: number
  /** Whether the list continues after this page, according to `totalItems`. */
  readonly hasNextPage: boolean
  /**
   * Fetches the page after this one, with the same options and signal. Resolves to `undefined` after the last page.
   * @throws PaginationError if the next page has another limit.
   */
  nextPage(): Promise<Page<T> | undefined>
  /** The page as plain data, without its functions. */
  toJSON(): PageJson<T>
}

/** New items of a list, and a cursor that resumes after them. */
export interface Batch<T> extends Pick<Result<T>, 'status' | 'headers' | 'requestId'> {
  /** The items of one response that were not read before, in the service's order. At least one. */
  readonly items: T[]
  /**
   * Resumes after these items, in any process and at any time: `list(params, { after: cursor })`. If new items come first, pass the
   * cursor of the first batch as `until`. At most 2.5 kB of printable ASCII. It holds a position and hashes of
   * item keys, but no item and no API key.
   */
  readonly cursor: string
  /** Number of items in the whole list, as this response says. */
  readonly totalItems: number
  /** Whether the list continues after these items, according to `totalItems`. */
  readonly hasMore: boolean
}

/** A page as plain data: see {@link Page.toJSON}. */
export type PageJson<T> = {
  -readonly [K in 'data' | 'page' | 'totalItems' | 'limit' | 'pageCount' | 'hasNextPage']: Page<T>[K]
}

export interface LoadedPage<T> extends Envelope<T> {
  /** Whether the response seems to be the last page, and gives its own length as the limit. */
  readonly hasOwnLimit: boolean
  /** The items as the service sent them. */
  readonly raw: readonly unknown[]
  /** Returns the key of each item. `undefined` if nothing identifies them. Calls the caller's `itemKey`. */
  readonly keys: () => readonly (Key | undefined)[] | undefined
  readonly response: SuccessResponse
}

type Envelope<T = unknown> = Pick<Page<T>, 'data' | 'page' | 'totalItems' | 'limit'>

/** A part of the list to request. Every field is set explicitly, so a polluted `Object.prototype` is never read. */
export interface Window {
  readonly page: number
  /** The limit to send. */
  readonly limit: number | undefined
  /** The limit that must be in effect. `undefined` for the first page. */
  readonly expectedLimit: number | undefined
  /** Whether it overlaps others. Then only its page number is checked here. The reader checks the rest. */
  readonly overlaps: boolean
  /** Whether this status, or another page's number, means that the page is empty. */
  readonly accepts: ((what: number | 'another-page') => boolean) | undefined
}

/** Properties of a request that belongs to a loop. */
interface InLoop {
  readonly loop: number | undefined
  /** Cancels the request, in addition to the caller's signal. */
  readonly signal: AbortSignal | undefined
  /** Whether the page is requested again if it contradicts itself. */
  readonly mayContradict: boolean
}

const alone: InLoop = { loop: undefined, signal: undefined, mayContradict: false }

/** The limit of a loop unless the caller passes one. */
export const loopLimit = 100

/** A list with its checked options. */
export interface ListSetup<T> extends ListName {
  readonly transport: Transport
  readonly validator: Validator
  readonly settings: CallSettings
  readonly signal: AbortSignal | undefined
  /** The caller's `itemKey`. Otherwise the endpoint's, for items as the service sent them. */
  readonly itemKey: ((item: T) => unknown) | undefined
  readonly rawItemKey: ((item: unknown) => unknown) | undefined
  readonly firstPage: number
  /** The limit to send, from the caller or the cursor. */
  readonly limit: number | undefined
  /** Set if a loop may send its own limit: the lists that reject it, and the name of this list. */
  readonly ownLimit: { readonly refusedBy: Set<string>; readonly service: string } | false
  readonly concurrency: number
  readonly maxItems: number
  readonly onMissedItems: 'throw' | 'continue'
  readonly verified: boolean | undefined
  /** The position of an earlier loop. A loop with a cursor compares hashes of keys. */
  readonly after: Bookmark | undefined
  readonly until: Bookmark | undefined
}

const notAnEnvelopeHint =
  'Is this a list? Its response must be { data, page, totalItems, limit }; `schema` describes one item of `data`. For other endpoints use client.request.'
/** In place of `z.int` and `z.gte`, whose code is much longer. */
const wholeNumber = (minimum: number) =>
  z.number().check(({ value, issues }) => {
    const message = `a whole number of at least ${minimum}`
    if (!Number.isSafeInteger(value) || value < minimum)
      issues.push({ code: 'custom', input: value, message })
  })
const envelope: Validator = {
  schema: z.looseObject({
    data: z.array(z.unknown()),
    page: wholeNumber(1),
    totalItems: wholeNumber(0),
    limit: wholeNumber(0),
  }),
  isCustom: false,
}

/** Requests a page of a list, validates it, and checks that it does not contradict itself. */
export function loadPage<T>(
  list: ListSetup<T>,
  request: Window,
  inLoop: InLoop = alone,
): Promise<LoadedPage<T>> {
  const { transport, path, validator, filters, settings, signal } = list
  const { page, limit, accepts } = request
  const call = {
    method: 'GET',
    path,
    query: `page=${page}${limit === undefined ? '' : `&limit=${limit}`}${filters && `&${filters}`}`,
    settings,
    idempotencyKey: undefined,
    hasCallerKey: false,
    body: undefined,
    signals: [signal, inLoop.signal],
    page,
    limit,
    loop: inLoop.loop,
    accepts,
  }
  return send(transport, call, async (text, response) => {
    if (!isSuccess(response.status)) return missingPage(request, response)
    const body = parseListBody(text)
    const issues: FoundIssue[] = []
    const received = validate(body, envelope, issues) as Envelope
    if (issues.length === 0 && received.limit === 0 && received.data.length > 0)
      issues.push({
        path: ['limit'],
        message: 'expected a whole number of at least 1, got 0',
        cause: undefined,
      })
    if (issues.length > 0) throw new InvalidBody(issues, notAnEnvelopeHint, body)
    if (received.page !== page && accepts?.('another-page')) return missingPage(request, response)
    const limit = limitOf(received, request, inLoop)
    assertConsistent({ ...received, limit }, request, inLoop, response)
    const { data: raw, totalItems } = received
    const items: unknown[] = []
    for (let index = 0; index < raw.length && issues.length < maxIssues; index++) {
      items.push(validate(raw[index], validator, issues, index))
    }
    // The caller's schema may be asynchronous.
    const data = (items.some(isThenable) ? await Promise.all(items) : items) as T[]
    if (issues.length > 0) throw mismatch(issues, body, validator)
    const hasOwnLimit = received.limit > 0 && received.limit !== limit
    const keys = () => keysOf(list, raw, data)
    return { data, raw, page, totalItems, limit, hasOwnLimit, keys, response }
  })
}

/** The key of each item. `undefined` if nothing identifies them. */
function keysOf<T>(
  { itemKey, rawItemKey, after, until }: ListSetup<T>,
  raw: readonly unknown[],
  data: readonly T[],
): (Key | undefined)[] | undefined {
  let keys: (Key | undefined)[] | undefined
  if (itemKey) keys = data.map(item => toKey(assertKey(itemKey(item))))
  else if (rawItemKey) keys = raw.map(item => toKey(rawItemKey(item)))
  return (after ?? until) ? keys?.map(key => (key === undefined ? key : hashKey(key))) : keys
}

/** Whether a page contradicts itself: it has fewer items than its limit although its total promises more. */
export function isShort({ data, page, limit, totalItems }: Envelope): boolean {
  return data.length < limit && (page - 1) * limit + data.length < totalItems
}

/**
 * The limit in effect. A last page may return its own length as the limit. Then the requested limit is in effect. Exception: in a
 * loop, a first page counts as full, because the service may have lowered the limit, and its total may lag.
 */
function limitOf(
  { data, page, limit, totalItems }: Envelope,
  request: Window,
  { mayContradict }: InLoop,
): number {
  if (request.expectedLimit === undefined && !request.overlaps && mayContradict && limit > 0) return limit
  const requested = request.expectedLimit ?? request.limit ?? 1
  const isLast = data.length < requested && (page - 1) * requested + data.length === totalItems
  return limit === 0 || (limit === data.length && isLast) ? requested : limit
}

/** Stands for a page that does not exist. */
function missingPage<T>(request: Window, response: SuccessResponse): LoadedPage<T> {
  const { page, expectedLimit = request.limit ?? 1 } = request
  const empty = { data: [], raw: [], keys: () => [], totalItems: 0 }
  return { ...empty, page, limit: expectedLimit, hasOwnLimit: false, response }
}

/** A missing id is `null` in JSON, and `NaN` when computed. Objects are never equal. */
function toKey(key: unknown): Key | undefined {
  if (typeof key === 'bigint') return String(key)
  return typeof key === 'string' || Number.isFinite(key) ? (key as Key) : undefined
}

const keyTypes = ['string', 'number', 'bigint', 'undefined']

function assertKey(key: unknown): unknown {
  if (key === null || keyTypes.includes(typeof key)) return key
  if (isThenable(key)) Promise.resolve(key).catch(() => {})
  throw wrongArgument('itemKey', 'it to return a string or a number', key)
}

/**
 * Creates a plain object. Only its data is enumerable, so it survives `structuredClone`. Its functions do not use `this`, so they
 * work behind a proxy, such as Vue's `ref`.
 */
export function createPage<T>(
  loaded: LoadedPage<T>,
  loadNext: (after: LoadedPage<T>) => Promise<LoadedPage<T>>,
): Page<T> {
  const { data, page, totalItems, limit, response } = loaded
  const { status, headers, report } = response
  const pageCount = Math.ceil(totalItems / limit)
  const hasNextPage = page * limit < totalItems
  const result: PageJson<T> = { data, page, totalItems, limit, pageCount, hasNextPage }
  const nextPage = async () => {
    if (!hasNextPage) return undefined
    try {
      return createPage(await loadNext(loaded), loadNext)
    } catch (error) {
      throw atCaller(error, nextPage)
    }
  }
  const toJSON = () => ({ ...result })
  return withHidden(result, { status, headers, requestId: report.requestId, nextPage, toJSON })
}

/** The new items of a response. */
export interface ReadBatch<T> {
  readonly items: readonly T[]
  readonly totalItems: number
  /** Whether the list continues after these items, according to the total of the response. */
  readonly hasMore: boolean
  /** Returns the cursor after these items. */
  readonly cursor: () => string
  /** The error of a loop that is aborted after this many items were yielded. */
  readonly aborted: (reason: unknown, given: number) => unknown
  readonly response: SuccessResponse
}

/** Creates plain data. The status, headers and request id are not enumerable. */
export function createBatch<T>({ items, totalItems, hasMore, cursor, response }: ReadBatch<T>): Batch<T> {
  const { status, headers, report } = response
  const batch = { items: [...items], cursor: cursor(), totalItems, hasMore }
  return withHidden(batch, { status, headers, requestId: report.requestId })
}

/** Throws if a page does not match its request, or contradicts itself. */
function assertConsistent(
  received: Envelope,
  request: Window,
  { mayContradict }: InLoop,
  response: SuccessResponse,
): void {
  const { page, totalItems, limit } = received
  const { length } = received.data
  const { expectedLimit = limit, overlaps } = request
  const fail = (problem: string, hint?: string, isFinal = false) => {
    throw failure({ response }, 'contradiction', { problem, isFinal, ...(hint && { hint }) })
  }
  if (page !== request.page)
    fail(
      `page ${request.page} was requested, but page ${page} was returned`,
      'The service ignores `page`, or your own proxy drops the query.',
      true,
    )
  if (overlaps) return
  if (length > limit) fail(`page ${page} holds ${length} items, more than its limit of ${limit}`)
  if (length === 0 && (page - 1) * limit < totalItems && !mayContradict)
    throw failure({ response }, 'contradiction', emptyPage(received, totalItems))
  if (limit !== expectedLimit)
    fail(
      `the limit in effect changed from ${expectedLimit} to ${limit} between two pages`,
      'Pass a limit that the service allows, or report this to its owner.',
    )
}
