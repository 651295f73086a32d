import { isThrottled } from '../http/retry.js'
import { type AnyApiError, type Client, isApiError, type Page, type Schema } from '../index.js'

/** What a call got: a value, or the problem. */
export interface Outcome<T> {
  readonly value?: T | undefined
  readonly problem?: string
  /** `undefined` if nothing was sent, as the time for the probe was over. */
  readonly error?: AnyApiError
}

export const outOfTime = 'the time for the probe was over'

/** The reason of a signal that ends a probe. What was read before is reported. */
export class TimeLimitError extends Error {}

export async function outcomeOf<T>(call: () => PromiseLike<T>): Promise<Outcome<T>> {
  try {
    return { value: await call() }
  } catch (error) {
    if (isApiError(error)) return { problem: error.message, error }
    if (error instanceof TimeLimitError) return { problem: error.message }
    throw error
  }
}

/** Whether a failure says something about the rules of the service, rather than about the moment. */
export function isConclusive({ error }: Outcome<unknown>): boolean {
  if (error === undefined || error.kind === 'connection' || error.kind === 'timeout') return false
  return error.kind !== 'http' || !isThrottled(error.status)
}

/** Whether a service refuses a parameter with one of these statuses. */
export function hasStatus({ error }: Outcome<unknown>, ...statuses: readonly number[]): boolean {
  return error?.kind === 'http' && statuses.includes(error.status)
}

/** A page as it was requested, and what came. */
export interface PageRead extends Outcome<Page<unknown>> {
  /** `page 2 at limit 19`. */
  readonly name: string
  readonly page: number
  readonly limit: number | undefined
}

/** What is read of a list, in this order. */
export interface ListReads {
  /** Page 1. */
  readonly first: Page<unknown>
  /** The body of page 0. */
  readonly zero: Outcome<unknown>
  /** `undefined` if there is one page only. */
  readonly second: PageRead | undefined
  /** With the limit that a loop requests next, so that the page begins with the last item of page 1. */
  readonly small: PageRead
  /** Page 1 with limits above the default, the largest first, until one has an effect. */
  readonly larger: readonly PageRead[]
  /** The last page, with the largest limit that has an effect. */
  readonly last: PageRead
  /** The page after it. */
  readonly beyond: PageRead
  /** Page 1 with that limit, its items validated. */
  readonly items: Outcome<Page<unknown>>
  /** Page 1 again, after all others. */
  readonly again: PageRead
}

const customaryLimits = [1_000, 500, 200, 100, 50]
const anything: Schema = {
  '~standard': { version: 1, vendor: 'virtual-accounts', validate: value => ({ value }) },
}

/** A list, and what it is read with. */
export interface Source {
  readonly client: Client
  readonly signal: AbortSignal
  readonly path: string
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

/** The body of page 0, which the client's lists do not request. */
export function readPageZero({ client, signal, path }: Source): Promise<Outcome<unknown>> {
  return outcomeOf(async () => (await client.request('GET', path, { query: { page: 0 }, signal })).data)
}

/** Reads what a list is judged by. */
export async function readList(source: Source, first: Page<unknown>): Promise<ListReads> {
  const { client, signal } = source
  const read = (page: number, limit?: number) => readPage(source, page, limit)
  const { totalItems, limit } = first
  const zero = await readPageZero(source)
  const second = first.hasNextPage ? await read(2) : undefined
  const smaller = Math.max(1, Math.min(limit, totalItems) - 1)
  const small = await read(totalItems > smaller ? 2 : 1, smaller)
  const larger: PageRead[] = []
  for (const customary of customaryLimits.filter(customary => customary > limit)) {
    larger.push(await read(1, customary))
    // A limit that is too large may be replaced by the default, and one between be honoured.
    if ((larger.at(-1)?.value?.limit ?? 0) > limit) break
  }
  const largest = larger.find(({ value }) => value && value.limit > limit)?.value
  const inEffect = largest?.limit
  const lastPage = Math.max(1, (largest ?? first).pageCount)
  const last = await read(lastPage, inEffect)
  const beyond = await read(lastPage + 1, inEffect)
  const items = await outcomeOf(() => client.transactions.list({ limit: inEffect }, { signal }))
  const again = await read(1)
  return { first, zero, second, small, larger, last, beyond, items, again }
}
