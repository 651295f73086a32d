import * as z from 'zod/mini'
import { parseList } from './body.js'
import { type Issue, Misfit, PaginationError, shownIssues } from './errors.js'
import { checkFunction, checkObject, checkSignal, checkWhole, override, type Settings } from './options.js'
import { type Query, queryString } from './path.js'
import type { CallOptions } from './request.js'
import { conform, isThenable, type Shape, toShape } from './schema.js'
import type { Answer, Transport } from './transport.js'
import { Walk } from './walk.js'

/** Which part of a list. */
export interface ListParams {
  /**
   * The page to begin with; the first is 1.
   * @defaultValue 1
   */
  page?: number | undefined
  /**
   * Items per page. The service may clamp it: the limit it answers with counts.
   * @defaultValue not sent; the service's own, which is not specified
   */
  limit?: number | undefined
  /** More query parameters. None are specified. */
  query?: Query | undefined
}

/** How a list is read. */
export interface ListOptions<S = undefined, T = unknown> extends CallOptions<S> {
  /**
   * How many pages a walk may have in flight at most. 1: one at a time.
   * @defaultValue that of the client, 4
   */
  concurrency?: number | undefined
  /**
   * Stop after so many items; no page beyond them is requested. 0: none at all.
   * @defaultValue no end but the list's
   */
  maxItems?: number | undefined
  /**
   * What identifies an item, to yield it once when the list shifts; `undefined` identifies nothing.
   * @defaultValue for `transactions.list` the `id`; for `client.list` nothing
   */
  dedupeBy?: ((item: T) => unknown) | undefined
  /**
   * When the list shrank under the walk, or ended short of its total, so that items may have been missed.
   * @defaultValue 'throw'
   */
  onMissedItems?: 'throw' | 'continue' | undefined
}

/** One page of a list. */
export interface Page<T> {
  /** The items, in the order they came. */
  readonly data: T[]
  /** The number of this page, from 1. */
  readonly page: number
  /** How many items the whole list has. */
  readonly totalItems: number
  /** The page size in effect, whatever was asked. */
  readonly limit: number
  /** How many pages the list has at this size; 0 for an empty list. */
  readonly pageCount: number
  /** Whether items follow this page, by the total. */
  readonly hasNextPage: boolean
  /** From 200 to 299. */
  readonly status: number
  /** The headers of the answer. */
  readonly headers: Headers
  /**
   * The page after this one, with the same options and signal; `undefined` after the last.
   * @throws PaginationError when its limit is another
   */
  nextPage(): Promise<Page<T> | undefined>
  /** The envelope, as it came. */
  toJSON(): { data: T[]; page: number; totalItems: number; limit: number }
}

/**
 * A list that is asked for when it is used: `await` it for one page, iterate it for every item.
 *
 * Nothing is sent before that. Each iteration is a walk of its own; awaiting twice asks once.
 */
export interface List<T> extends Promise<Page<T>>, AsyncIterable<T> {
  /** Every item in order, each once. Leaving the loop cancels what is in flight. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T>
  /** The pages as they came, in order; the same requests, checks and drift events, nothing deduplicated or cut. */
  pages(): AsyncIterableIterator<Page<T>>
}

/** What an endpoint says of its list. */
export interface ListKind {
  readonly path: string
  /** What an item is made to fit when the caller gives no schema. */
  readonly shape: Shape
  /** What identifies an item as it came, before a schema drops or renames that. */
  readonly identify?: (raw: unknown) => unknown
}

/** Checks what a list is asked for. Nothing is sent. */
export function createList<T>(
  transport: Transport,
  kind: ListKind,
  givenParams: ListParams | undefined,
  // biome-ignore lint/suspicious/noExplicitAny: T is what came out of the schema
  givenOptions: ListOptions<any, T> | undefined,
): List<T> {
  const params = checkObject('params', givenParams)
  const options = checkObject('options', givenOptions)
  const { page = 1, limit, query } = params
  const { signal, dedupeBy, maxItems = Number.POSITIVE_INFINITY, onMissedItems = 'throw' } = options
  checkWhole('page', page, 1)
  if (limit !== undefined) checkWhole('limit', limit, 1)
  if (maxItems !== Number.POSITIVE_INFINITY) checkWhole('maxItems', maxItems, 0)
  if (onMissedItems !== 'throw' && onMissedItems !== 'continue') {
    throw new TypeError("onMissedItems: expected 'throw' or 'continue'")
  }
  checkFunction('dedupeBy', dedupeBy)
  checkSignal(signal)
  for (const name of ['page', 'limit'] as const) {
    if (Object.hasOwn(checkObject('query', query), name)) {
      throw new TypeError(`query.${name}: expected none, as it has a parameter of its own: list({ ${name} })`)
    }
  }
  const pages = new Pages<T>(transport, {
    path: kind.path,
    limitAndQuery: queryString({ limit, ...query }).replace('?', '&'),
    settings: override(transport.settings, options),
    signal,
    shape: toShape(options.schema, kind.shape),
    identify: kind.identify,
    dedupeBy,
    maxItems,
    onMissedItems,
  })
  return new LazyList(pages, page)
}

interface PagesOptions<T> {
  readonly path: string
  /** What follows the page's number in the query. */
  readonly limitAndQuery: string
  readonly settings: Settings
  readonly signal: AbortSignal | undefined
  readonly shape: Shape
  readonly identify: ((raw: unknown) => unknown) | undefined
  readonly dedupeBy: ((item: T) => unknown) | undefined
  readonly maxItems: number
  readonly onMissedItems: 'throw' | 'continue'
}

/** A page with what its caller does not see. */
interface FetchedPage<T> extends Envelope {
  readonly shown: Page<T>
  /** The items before a schema made others of them. */
  readonly raw: readonly unknown[]
  readonly answer: Answer
}

interface Envelope {
  readonly data: unknown[]
  readonly page: number
  readonly totalItems: number
  readonly limit: number
}

const whole = (least: number) =>
  z.custom<number>(
    value => Number.isSafeInteger(value) && (value as number) >= least,
    `expected a whole number of at least ${least}`,
  )

const envelope: Shape = {
  schema: z.looseObject(
    {
      data: z.custom<unknown[]>(Array.isArray, 'expected an array'),
      page: whole(1),
      totalItems: whole(0),
      limit: whole(1),
    },
    'expected an object of data, page, totalItems and limit',
  ),
  isGiven: false,
}

/** The pages of one list: each is asked for, read and checked here. */
class Pages<T> {
  readonly #transport: Transport
  readonly options: PagesOptions<T>

  constructor(transport: Transport, options: PagesOptions<T>) {
    this.#transport = transport
    this.options = options
  }

  /** Asks for one page. `leave` ends the call like the caller's own signal; `limit` is what it must have in effect. */
  ask(
    page: number,
    { leave, onSlowDown, limit }: { leave?: AbortSignal; onSlowDown?: () => void; limit?: number } = {},
  ): Promise<FetchedPage<T>> {
    const { path, limitAndQuery, settings, signal } = this.options
    const query = `?page=${page}${limitAndQuery}`
    const signals = [signal, leave]
    const call = {
      method: 'GET',
      path,
      query,
      settings,
      idempotencyKey: undefined,
      body: undefined,
      signals,
      page,
      onSlowDown,
    }
    return this.#transport.send(call, answer => this.#read(answer, page, limit))
  }

  #read(answer: Answer, asked: number, limit: number | undefined): FetchedPage<T> | Promise<FetchedPage<T>> {
    const body = parseList(answer.bytes, answer.contentType)
    const issues: Issue[] = []
    const found = conform(body, envelope, [], issues) as Envelope
    if (issues.length > 0) throw new Misfit(issues, { body })
    this.#check(found, asked, answer)
    if (limit !== undefined && found.limit !== limit) {
      const change = `the limit in effect changed from ${limit} to ${found.limit} between two pages`
      throw this.#contradiction({ answer }, change, 'Begin anew with a limit that the service allows.', asked)
    }
    const { shape } = this.options
    const settle = (data: unknown[]) => {
      if (issues.length > 0) throw new Misfit(issues, { body, givenSchema: shape.isGiven })
      const shown = this.#show({ ...found, data }, answer)
      return { ...found, shown, raw: found.data, answer }
    }
    if (shape.fits && found.data.every(shape.fits)) return settle(found.data)
    const items: unknown[] = []
    for (const [index, item] of found.data.entries()) {
      items.push(conform(item, shape, ['data', index], issues))
      if (issues.length >= shownIssues) break
    }
    return items.some(isThenable) ? Promise.all(items).then(settle) : settle(items)
  }

  /** What a page says of itself must be true of it. */
  #check({ data, page, totalItems, limit }: Envelope, asked: number, answer: Answer): void {
    const wrong = (found: string) =>
      this.#contradiction({ answer }, found, 'The service contradicts itself.', asked)
    if (page !== asked) throw wrong(`page ${asked} was asked for, and page ${page} came`)
    if (data.length > limit)
      throw wrong(`page ${page} holds ${data.length} items, more than its limit of ${limit}`)
    if (data.length === 0 && (page - 1) * limit < totalItems) {
      throw wrong(`page ${page} is empty, though at ${limit} items a page the list has ${totalItems}`)
    }
  }

  #show(envelope: Envelope, { status, headers }: Answer): Page<T> {
    const { page, limit } = envelope
    const nextPage = () => this.ask(page + 1, { limit }).then(({ shown }) => shown)
    return new ListPage(envelope as Envelope & { data: T[] }, status, headers, nextPage)
  }

  #contradiction({ answer }: Pick<FetchedPage<T>, 'answer'>, found: string, advice: string, page: number) {
    return new PaginationError({ ...answer.facts, page }, { found, advice })
  }

  /** Begins a walk along the list. */
  walk(firstPage: number): Walk<FetchedPage<T>> {
    const { settings, maxItems, onMissedItems } = this.options
    return new Walk<FetchedPage<T>>({
      ask: (page, leave, onSlowDown) => this.ask(page, { leave, onSlowDown }),
      firstPage,
      concurrency: settings.concurrency,
      maxItems,
      onMissedItems,
      identify: page => this.#identify(page),
      onDrift: ({ answer }, change, before, after) => {
        this.#transport.tell(answer, { type: 'drift', change, before, after })
      },
      contradiction: (...found) => this.#contradiction(...found),
    })
  }

  #identify({ raw, shown }: FetchedPage<T>): unknown[] | undefined {
    const { identify, dedupeBy } = this.options
    if (dedupeBy) return shown.data.map(item => dedupeBy(item))
    return identify && raw.map(identify)
  }
}

class ListPage<T> implements Page<T> {
  readonly data: T[]
  readonly page: number
  readonly totalItems: number
  readonly limit: number
  readonly pageCount: number
  readonly hasNextPage: boolean
  readonly status: number
  readonly headers: Headers
  readonly #nextPage: () => Promise<Page<T>>

  constructor(
    { data, page, totalItems, limit }: Envelope & { data: T[] },
    status: number,
    headers: Headers,
    nextPage: () => Promise<Page<T>>,
  ) {
    this.data = data
    this.page = page
    this.totalItems = totalItems
    this.limit = limit
    this.pageCount = Math.ceil(totalItems / limit)
    this.hasNextPage = page * limit < totalItems
    this.status = status
    this.headers = headers
    this.#nextPage = nextPage
  }

  async nextPage(): Promise<Page<T> | undefined> {
    return this.hasNextPage ? this.#nextPage() : undefined
  }

  toJSON(): { data: T[]; page: number; totalItems: number; limit: number } {
    const { data, page, totalItems, limit } = this
    return { data, page, totalItems, limit }
  }
}

class LazyList<T> implements List<T> {
  readonly #pages: Pages<T>
  readonly #firstPage: number
  #awaited: Promise<Page<T>> | undefined

  constructor(pages: Pages<T>, firstPage: number) {
    this.#pages = pages
    this.#firstPage = firstPage
  }

  get [Symbol.toStringTag](): string {
    return 'List'
  }

  then<A = Page<T>, B = never>(
    onFulfilled?: ((page: Page<T>) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#awaited ??= this.#pages.ask(this.#firstPage).then(({ shown }) => shown)
    return this.#awaited.then(onFulfilled, onRejected)
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Page<T> | B> {
    return this.then(undefined, onRejected)
  }

  finally(onFinally?: (() => void) | null): Promise<Page<T>> {
    return this.then().finally(onFinally)
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    return new Items(this.#pages, this.#firstPage)
  }

  pages(): AsyncIterableIterator<Page<T>> {
    const walk = this.#pages.walk(this.#firstPage)
    const { signal } = this.#pages.options
    async function* read(): AsyncGenerator<Page<T>, void> {
      try {
        for (;;) {
          if (signal?.aborted) throw signal.reason
          const step = await walk.next()
          if (step === undefined) return
          yield step.page.shown
        }
      } finally {
        walk.leave()
      }
    }
    const pages = read()
    // A generator would let who leaves wait for the page under way.
    const leave = pages.return.bind(pages)
    pages.return = value => {
      walk.leave()
      return leave(value)
    }
    return pages
  }
}

/** By hand, as an async generator takes three times as long for each item. */
class Items<T> implements AsyncIterableIterator<T> {
  readonly #walk: Walk<FetchedPage<T>>
  readonly #signal: AbortSignal | undefined
  #left: number
  #items: readonly T[] = []
  #at = 0
  /** How many calls of next() wait for a page, and the last of them. */
  #waiting = 0
  #turn: Promise<unknown> = Promise.resolve()

  constructor(pages: Pages<T>, firstPage: number) {
    this.#walk = pages.walk(firstPage)
    this.#signal = pages.options.signal
    this.#left = pages.options.maxItems
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#waiting === 0 && this.#at < this.#items.length && !this.#signal?.aborted) {
      return Promise.resolve({ done: false, value: this.#items[this.#at++] as T })
    }
    this.#waiting++
    const mine = this.#turn.then(() => this.#advance()).finally(() => this.#waiting--)
    this.#turn = mine.catch(() => {})
    return mine
  }

  async return(): Promise<IteratorResult<T>> {
    this.#end()
    return { done: true, value: undefined }
  }

  async #advance(): Promise<IteratorResult<T>> {
    while (this.#at >= this.#items.length || this.#signal?.aborted) {
      const step = await this.#step()
      if (step === undefined) return { done: true, value: undefined }
      const { data } = step.page.shown
      const fresh = step.fresh?.map(index => data[index] as T) ?? data
      this.#items = fresh.length > this.#left ? fresh.slice(0, this.#left) : fresh
      this.#left -= this.#items.length
      this.#at = 0
    }
    return { done: false, value: this.#items[this.#at++] as T }
  }

  async #step() {
    try {
      if (!this.#isOver && this.#signal?.aborted) throw this.#signal.reason
      const step = await this.#walk.next()
      if (step === undefined) this.#end()
      return step
    } catch (error) {
      this.#end()
      throw error
    }
  }

  #isOver = false

  #end(): void {
    this.#isOver = true
    this.#items = []
    this.#walk.leave()
  }
}
