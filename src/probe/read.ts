import { isThrottled } from '../http/retry.js'
import { type AnyApiError, type Client, isApiError, type Page, type Schema } from '../index.js'
import { countOf } from './finding.js'

/** The outcome of a call: a value or a problem. */
export interface Outcome<T> {
  readonly value?: T | undefined
  readonly problem?: string
  /** `undefined` if nothing was sent because the probe was out of time. */
  readonly error?: AnyApiError
}

export const outOfTime = 'the probe ran out of time'

/** Reason of the signal that ends a probe. The findings so far are reported. */
export class TimeLimitError extends Error {}

export async function outcomeOf<T>(call: () => PromiseLike<T>): Promise<Outcome<T>> {
  try {
    return { value: await call() }
  } catch (error) {
    if (!isApiError(error)) throw error
    // Without the client's advice, because each finding has its own.
    if (error.kind !== 'aborted') return { problem: error.with({ isRetried: true }).message, error }
    if (error.cause instanceof TimeLimitError) return { problem: error.cause.message }
    throw error.cause
  }
}

/** Whether a failure shows a rule of the service. Others are temporary. */
export function isConclusive({ error }: Outcome<unknown>): boolean {
  if (error === undefined || error.kind === 'connection' || error.kind === 'timeout') return false
  return error.kind !== 'http' || !isThrottled(error.status)
}

/** Whether the service responded with one of these error statuses. */
export function hasStatus({ error }: Outcome<unknown>, ...statuses: readonly number[]): boolean {
  return error?.kind === 'http' && statuses.includes(error.status)
}

/** A requested page, and its outcome. */
export interface PageRead extends Outcome<Page<unknown>> {
  /** `page 2 at limit 19`. */
  readonly name: string
  readonly page: number
  readonly limit: number | undefined
  /** The contradiction of the first response, if a later one had none. */
  readonly corrected?: string | undefined
}

/** The requests that read a list, in this order. */
export interface ListReads {
  /** Page 1. */
  readonly own: ReadPage
  readonly first: Page<unknown>
  /** The body of page 0. */
  readonly zero: Outcome<unknown>
  /** `undefined` if there is one page only. */
  readonly second: PageRead | undefined
  /** With the limit that a loop requests next. The page begins with the last item of page 1. */
  readonly small: PageRead
  /** Page 1 with limits above the default, largest first, until one has an effect. */
  readonly larger: readonly PageRead[]
  /** The last page, with the largest limit that has an effect. */
  readonly last: PageRead
  /** With a third of that limit, the beginning of page 1 and of the last page. An unstable order may depend on the limit. */
  readonly parts: readonly PageRead[]
  /** The page after the last one. */
  readonly beyond: PageRead
  /** Page 1 with that limit and validated items. */
  readonly items: Outcome<Page<unknown>>
  /** Page 1 again, at the end. */
  readonly again: PageRead
}

const customaryLimits = [1_000, 500, 200, 100, 50]
const anything: Schema = {
  '~standard': { version: 1, vendor: 'virtual-accounts', validate: value => ({ value }) },
}

/** A list, and the client that reads it. */
export interface Source {
  readonly client: Client
  readonly signal: AbortSignal
  readonly path: string
}

/** A page that was read. */
export type ReadPage = PageRead & { readonly value: Page<unknown> }

/** The number of items that a page should have by its own total. */
export function expectedCount({ page, limit, totalItems }: Page<unknown>): number {
  return Math.max(0, Math.min(limit, totalItems - (page - 1) * limit))
}

export function contradiction({ name, value }: PageRead): string | undefined {
  if (!value || value.data.length === expectedCount(value)) return undefined
  const { data, totalItems } = value
  return `${name} has ${countOf(data.length, 'item')}, but its totalItems, ${totalItems}, promises ${expectedCount(value)}`
}

export async function readPage(
  { client, signal, path }: Source,
  page: number,
  limit?: number,
): Promise<PageRead> {
  const list = () => client.list(path, { page, limit }, { schema: anything, signal })
  const name = limit === undefined ? `page ${page}` : `page ${page} at limit ${limit}`
  return { ...(await outcomeOf(list)), name, page, limit }
}

/** The body of page 0. The client's lists cannot request it. */
export function readPageZero({ client, signal, path }: Source): Promise<Outcome<unknown>> {
  return outcomeOf(async () => (await client.request('GET', path, { query: { page: 0 }, signal })).data)
}

/** Per list. Otherwise a service that always contradicts itself would get three times as many requests. */
const maxRepeats = 4

/** Sends the requests that read a list. */
export async function readList(source: Source, given: Page<unknown>): Promise<ListReads> {
  const { client, signal } = source
  let repeats = 0
  /** A service that reads rows and total in two statements contradicts itself by chance, so such a page is read again. */
  const settle = async <R extends PageRead>(read: R): Promise<R | ReadPage> => {
    const corrected = contradiction(read)
    for (let times = 0; corrected && times < 2 && repeats < maxRepeats; times++) {
      repeats++
      const again = await readPage(source, read.page, read.limit)
      if (again.value && !contradiction(again)) return { ...again, value: again.value, corrected }
    }
    return read
  }
  const read = async (page: number, limit?: number) => settle(await readPage(source, page, limit))
  const own = await settle({ name: 'page 1', page: 1, limit: undefined, value: given })
  const first = own.value
  const { totalItems, limit } = first
  const zero = await readPageZero(source)
  const second = first.hasNextPage ? await read(2) : undefined
  const smaller = Math.max(1, Math.min(limit, totalItems) - 1)
  const small = await read(totalItems > smaller ? 2 : 1, smaller)
  const larger: PageRead[] = []
  for (const customary of customaryLimits.filter(customary => customary > limit)) {
    larger.push(await read(1, customary))
    // A service may replace a limit that is too large by the default, but honour a smaller one.
    if ((larger.at(-1)?.value?.limit ?? 0) > limit) break
  }
  const largest = larger.find(({ value }) => value && value.limit > limit)?.value
  const inEffect = largest?.limit
  const lastPage = Math.max(1, (largest ?? first).pageCount)
  const last = await read(lastPage, inEffect)
  const inUse = inEffect ?? limit
  const third = Math.ceil(inUse / 3)
  const starts = totalItems > 1 ? new Set([0, (lastPage - 1) * inUse]) : []
  const parts: PageRead[] = []
  for (const start of starts) parts.push(await read(Math.floor(start / third) + 1, third))
  const beyond = await read(lastPage + 1, inEffect)
  const items = await outcomeOf(() => client.transactions.list({ limit: inEffect }, { signal }))
  const again = await read(1)
  return { own, first, zero, second, small, larger, last, parts, beyond, items, again }
}
