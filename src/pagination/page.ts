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
  /** Number of pages of the list at this page size; 0 for an empty list. */
  readonly pageCount: number
  /** Whether the list continues after this page, according to `totalItems`. */
  readonly hasNextPage: boolean
  /**
   * Fetches the page after this one, with the same options and signal. Resolves to `undefined` after the last page. Arguments are
   * ignored.
   * @throws PaginationError if its limit differs from that of this page.
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
   * Resumes after these items, in any process and at any time: `list(params, { after: cursor })`. About 1.2 kB of printable
   * ASCII. It holds a position and hashes of item keys, but no item and no API key.
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
  /** The items as they came. */
  readonly raw: readonly unknown[]
  /** What identifies each item; `undefined` where nothing does. Calls a function of the caller. */
  readonly keys: () => readonly (Key | undefined)[] | undefined
  readonly response: SuccessResponse
}

type Envelope<T = unknown> = Pick<Page<T>, 'data' | 'page' | 'totalItems' | 'limit'>

/** A part of the list that one request asks for. All is given, as what `Object.prototype` may hold must not be read. */
export interface Window {
  readonly page: number
  /** The limit that is sent. */
  readonly limit: number | undefined
  /** The limit that must be in effect; `undefined` for the first page. */
  readonly expectedLimit: number | undefined
  /** Overlaps others. The reader checks the response itself: here only its page number is checked. */
  readonly overlaps: boolean
  /** Whether a status, or another page than the one requested, is an answer: then the page is an empty one. */
  readonly accepts: ((what: number | 'another-page') => boolean) | undefined
}

/** What a page has that a loop requests. */
interface InLoop {
  readonly loop: number | undefined
  /** Cancels the request, in addition to the caller's signal. */
  readonly signal: AbortSignal | undefined
  /** Whether it will be requested again if it contradicts itself. */
  readonly mayContradict: boolean
}

const alone: InLoop = { loop: undefined, signal: undefined, mayContradict: false }

/** What a loop asks for if the caller gives no limit. */
export const loopLimit = 100

/** A list with its options, checked. */
export interface ListSetup<T> extends ListName {
  readonly transport: Transport
  readonly validator: Validator
  readonly settings: CallSettings
  readonly signal: AbortSignal | undefined
  /** What identifies an item: the caller's function, else that of the endpoint, for items as they came. */
  readonly itemKey: ((item: T) => unknown) | undefined
  readonly rawItemKey: ((item: unknown) => unknown) | undefined
  readonly firstPage: number
  /** The limit to send: the caller's, or that of the cursor. */
  readonly limit: number | undefined
  /** If a loop may ask for a limit of its own: the lists that refuse it, and the name of this one. */
  readonly ownLimit: { readonly refusedBy: Set<string>; readonly service: string } | false
  readonly concurrency: number
  readonly maxItems: number
  readonly onMissedItems: 'throw' | 'continue'
  readonly verified: boolean | undefined
  /** Where an earlier loop stood. Its cursor has hashes of keys, so these are compared. */
  readonly after: Bookmark | undefined
  readonly until: Bookmark | undefined
}

const notAnEnvelopeHint =
  'Is this a list? Its response must be { data, page, totalItems, limit }; `schema` describes one item of `data`. For other endpoints use client.request.'
const envelope: Validator = {
  schema: z.looseObject({
    data: z.array(z.unknown()),
    page: z.int().check(z.gte(1)),
    totalItems: z.int().check(z.gte(0)),
    limit: z.int().check(z.gte(0)),
  }),
  isCustom: false,
}

/** Loads a page of a list: request, envelope, items, and what the page says about itself. */
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
    return { data, raw, page, totalItems, limit, keys: () => keysOf(list, raw, data), response }
  })
}

/** `undefined` where nothing identifies items. */
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

/** Whether it contradicts itself: it is shorter than its limit, although its total says that more follows. */
export function isShort({ data, page, limit, totalItems }: Envelope): boolean {
  return data.length < limit && (page - 1) * limit + data.length < totalItems
}

/**
 * The limit in effect. A last page that says its own length has the one that was requested. But a first page that is followed by
 * others counts as full: the service may have lowered the limit, and its total may lag.
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

/** What stands for a page that does not exist. */
function missingPage<T>(request: Window, response: SuccessResponse): LoadedPage<T> {
  const { page, expectedLimit, limit = 1 } = request
  return { data: [], raw: [], keys: () => [], page, totalItems: 0, limit: expectedLimit ?? limit, response }
}

/** `null` is a missing id in JSON, and `NaN` one in a computation; no two objects are ever the same. */
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
 * A plain object with enumerable data only, so that it survives structuredClone; its functions use nothing but their
 * closure, so that they work behind a proxy, as in Vue's `ref`.
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
  /** Whether the list goes on after these items, by the total of the response. */
  readonly hasMore: boolean
  /** Goes on after these items. */
  readonly cursor: () => string
  /** The error of a loop that is aborted when so many of the items were given. */
  readonly aborted: (reason: unknown, given: number) => unknown
  readonly response: SuccessResponse
}

/** Plain data; status, headers and request id are not enumerable. */
export function createBatch<T>({ items, totalItems, hasMore, cursor, response }: ReadBatch<T>): Batch<T> {
  const { status, headers, report } = response
  const batch = { items: [...items], cursor: cursor(), totalItems, hasMore }
  return withHidden(batch, { status, headers, requestId: report.requestId })
}

/** What a page says of itself, against what was requested. */
function assertConsistent(
  received: Envelope,
  request: Window,
  { mayContradict }: InLoop,
  response: SuccessResponse,
): void {
  const { page, totalItems, limit } = received
  const { length } = received.data
  const { expectedLimit = limit, overlaps } = request
  const fail = (problem: string, hint?: string) => {
    throw failure({ response }, 'contradiction', hint ? { problem, hint } : { problem })
  }
  if (page !== request.page)
    fail(
      `page ${request.page} was requested, but page ${page} was returned`,
      'The service ignores `page`, or a proxy of your own drops the query.',
    )
  if (overlaps) return
  if (length > limit) fail(`page ${page} holds ${length} items, more than its limit of ${limit}`)
  if (length === 0 && (page - 1) * limit < totalItems && !mayContradict)
    throw failure({ response }, 'contradiction', emptyPage(received, totalItems))
  if (limit !== expectedLimit)
    fail(
      `the limit in effect changed from ${expectedLimit} to ${limit} between two pages`,
      'Pass a limit that the service allows, or report it to its owner.',
    )
}
