import { ItemMemory } from '../../src/pagination/item-memory.ts'
import { type LoadedPage, PageLoader, type PageRequest } from '../../src/pagination/page.ts'
import { Paginator } from '../../src/pagination/paginator.ts'
import { type FetchedPage, PagePrefetcher } from '../../src/pagination/prefetcher.ts'
import { VerifiedPaginator } from '../../src/pagination/verified-paginator.ts'
import type { Walk } from '../../src/pagination/walk.ts'
import type { Mode } from './trials.ts'

/** A bug that the simulator has to find: the public method of a class is replaced. */
export interface DeliberateBug {
  readonly name: string
  /** Puts the bug in, and returns what takes it out again. */
  readonly inject: () => () => void
  /** Where it shows: walks of this family, in this mode, break a promise. */
  readonly family: string
  readonly mode: Mode
}

type Method = (...args: never[]) => unknown
type Methods<T> = { [K in keyof T]: T[K] extends Method ? K : never }[keyof T]

/** Replaces a method. `create` is given the original. */
function replace<T extends object, K extends Methods<T>>(
  Class: { readonly prototype: T },
  name: K,
  create: (original: T[K]) => (this: T, ...args: Parameters<T[K] & Method>) => ReturnType<T[K] & Method>,
): () => void {
  const original = Class.prototype[name]
  Class.prototype[name] = create(original) as T[K]
  return () => {
    Class.prototype[name] = original
  }
}

/** Changes what the prefetcher says about a page. */
function misreport(change: (page: FetchedPage<unknown>) => Partial<FetchedPage<unknown>>): () => void {
  return replace(
    PagePrefetcher<unknown>,
    'get',
    original =>
      async function (number) {
        const page = await original.call(this, number)
        return { ...page, ...change(page) }
      },
  )
}

/** Changes what the loader says about a page that it loaded. */
function misread(
  change: (page: LoadedPage<unknown>, request: PageRequest) => Partial<LoadedPage<unknown>>,
): () => void {
  return replace(
    PageLoader<unknown>,
    'load',
    original =>
      async function (request, site) {
        const page = await original.call(this, request, site)
        return { ...page, ...change(page, request) }
      },
  )
}

/** Ends a walk as soon as a page suggests it. */
function endAfter(
  Class: { readonly prototype: Walk<unknown> },
  isEnd: (page: LoadedPage<unknown>) => boolean,
): () => void {
  return replace(
    Class,
    'next',
    original =>
      async function () {
        const batch = await original.call(this)
        if (batch && isEnd(batch.page)) this.cancel()
        return batch
      },
  )
}

function forgetAfterTwoPages(): () => void {
  const pages = new WeakMap<object, number>()
  const seen = new WeakMap<object, Map<unknown, number>>()
  const seenBy = (memory: object) => seen.get(memory) ?? seen.set(memory, new Map()).get(memory)
  const restore = [
    replace(
      ItemMemory<unknown>,
      'endPage',
      original =>
        function () {
          pages.set(this, (pages.get(this) ?? 0) + 1)
          original.call(this)
        },
    ),
    replace(
      ItemMemory<unknown>,
      'find',
      original =>
        function (key) {
          const page = seenBy(this)?.get(key) ?? Number.NEGATIVE_INFINITY
          return (pages.get(this) ?? 0) - page > 2 ? undefined : original.call(this, key)
        },
    ),
    replace(
      ItemMemory<unknown>,
      'add',
      original =>
        function (key, value) {
          seenBy(this)?.set(key, pages.get(this) ?? 0)
          original.call(this, key, value)
        },
    ),
  ]
  return () => restore.forEach(undo => void undo())
}

/** Says that every window begins with the item that was read last. */
function pretendOverlap(): () => void {
  const last = new WeakMap<object, unknown>()
  return replace(
    PagePrefetcher<unknown>,
    'get',
    original =>
      async function (step) {
        const page = await original.call(this, step)
        const [, ...others] = page.keys() ?? []
        const keys = step === 0 ? page.keys() : [last.get(this), ...others]
        last.set(this, page.keys()?.at(-1))
        return { ...page, keys: () => keys }
      },
  )
}

export const deliberateBugs: readonly DeliberateBug[] = [
  {
    name: 'a short page ends the walk',
    inject: () => endAfter(Paginator<unknown>, ({ data, limit }) => data.length < limit),
    family: 'late totals',
    mode: 'default',
  },
  {
    name: 'items are forgotten after two pages',
    inject: forgetAfterTwoPages,
    family: 'bulk changes',
    mode: 'default',
  },
  {
    name: 'a prefetched page is trusted although its total is smaller',
    inject: () => misreport(() => ({ requestedAt: Number.POSITIVE_INFINITY })),
    family: 'grows anywhere',
    mode: 'default',
  },
  {
    name: 'prefetched pages are trusted although an item has moved',
    inject: () => misreport(() => ({ requestedAt: Number.POSITIVE_INFINITY })),
    family: 'many swaps',
    mode: 'default',
  },
  {
    name: 'a shrink is not noticed',
    inject: () => misreport(() => ({ largestTotalBefore: 0 })),
    family: 'shrinks anywhere',
    mode: 'default',
  },
  {
    name: 'what only a discarded page has shown is forgotten',
    inject: () =>
      replace(
        PagePrefetcher<unknown>,
        'get',
        original =>
          async function (number) {
            await original.call(this, number)
            return { ...(await this.refetch(number)), requestedAt: Number.POSITIVE_INFINITY }
          },
      ),
    family: 'many swaps',
    mode: 'default',
  },
  {
    name: 'a window is accepted without an item that is known',
    inject: pretendOverlap,
    family: 'bulk changes',
    mode: 'verified',
  },
  {
    name: 'a smaller limit that was not honoured is not noticed',
    inject: () => misread((page, request) => ({ limit: request.limit ?? page.limit })),
    family: 'smaller limits ignored',
    mode: 'verified',
  },
  {
    name: 'the total ends a verified walk',
    inject: () =>
      endAfter(VerifiedPaginator<unknown>, ({ page, limit, totalItems }) => page * limit >= totalItems),
    family: 'wrong totals',
    mode: 'verified',
  },
  {
    name: 'the end of a verified walk is not held against the total',
    inject: () => misread(page => (page.data.length === 0 ? { totalItems: 0 } : {})),
    family: 'pages counted from 0',
    mode: 'verified',
  },
]
