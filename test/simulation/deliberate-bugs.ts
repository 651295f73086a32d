import type { HttpError } from 'virtual-accounts'
import { KnownItems } from '../../src/pagination/known-items.ts'
import { type LoadedPage, PageLoader } from '../../src/pagination/page.ts'
import { type Fetched, Prefetcher } from '../../src/pagination/prefetcher.ts'
import { Walk } from '../../src/pagination/walk.ts'
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

/** Changes what the prefetcher says about a response. */
function misreport(change: Partial<Fetched<unknown>>): () => void {
  return replace(
    Prefetcher<unknown>,
    'get',
    original =>
      async function (window) {
        return { ...(await original.call(this, window)), ...change }
      },
  )
}

/** Changes what the loader says about a page that it has loaded. */
function misread(change: (page: LoadedPage<unknown>) => Partial<LoadedPage<unknown>>): () => void {
  return replace(
    PageLoader<unknown>,
    'load',
    original =>
      async function (request, site, loop) {
        const page = await original.call(this, request, site, loop)
        return { ...page, ...change(page) }
      },
  )
}

/** Says that every loop was complete. */
function boast(page: LoadedPage<unknown>): Partial<LoadedPage<unknown>> {
  const { report } = page.response
  const boasting = new Proxy(report, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (name !== 'emit') return typeof value === 'function' ? value.bind(target) : value
      return (event: { type: string }) =>
        report.emit({ ...event, ...(event.type === 'end' && { isComplete: true }) } as never)
    },
  })
  return { response: { ...page.response, report: boasting } }
}

export const deliberateBugs: readonly DeliberateBug[] = [
  {
    name: 'a window is accepted without an item that was read',
    inject: () =>
      replace(
        KnownItems,
        'indexOf',
        original =>
          function (key) {
            return original.call(this, key) ?? this.length - 1
          },
      ),
    family: 'bulk changes',
    mode: 'default',
  },
  {
    name: 'items that were read before going back are forgotten',
    inject: () =>
      replace(
        KnownItems,
        'add',
        original =>
          function (key) {
            const isInChain = this.indexOf(key) !== undefined
            return original.call(this, key) || !isInChain
          },
      ),
    family: 'bulk changes',
    mode: 'default',
  },
  {
    name: 'the order of the known items is kept as it was before the list changed',
    inject: () => replace(KnownItems, 'goBackTo', () => () => {}),
    family: 'many swaps',
    mode: 'default',
  },
  {
    name: 'a refusal of a smaller limit fails the loop',
    inject: () =>
      replace(
        PageLoader<unknown>,
        'load',
        original =>
          async function (request, site, loop) {
            return original.call(this, request, site, loop).catch((error: HttpError) => {
              throw Object.defineProperty(error, 'status', { value: 409 })
            })
          },
      ),
    family: 'smaller limits refused',
    mode: 'default',
  },
  {
    name: 'the end is not held against the total',
    inject: () => misread(({ data, totalItems }) => ({ totalItems: data.length === 0 ? 1 : totalItems })),
    family: 'pages counted from 0',
    mode: 'default',
  },
  {
    name: 'a loop that could not overlap says that it was complete',
    inject: () => misread(boast),
    family: 'smaller limits refused, a queue',
    mode: 'default',
  },
  {
    name: 'a shrink is not noticed where pages cannot overlap',
    inject: () => misreport({ largestTotalBefore: 0 }),
    family: 'smaller limits ignored, mixed changes',
    mode: 'default',
  },
  {
    name: 'prefetched pages are not dropped when the list has changed',
    inject: () => replace(Prefetcher<unknown>, 'startOver', () => () => []),
    family: 'smaller limits ignored, mixed changes',
    mode: 'default',
  },
  {
    name: 'a page that shows a change is trusted although it was requested before its predecessor arrived',
    inject: () => misreport({ isAhead: false }),
    family: 'smaller limits ignored, mixed changes',
    mode: 'default',
  },
  {
    name: 'what only a dropped page has shown is forgotten',
    inject: () =>
      replace(
        Prefetcher<unknown>,
        'startOver',
        original =>
          function () {
            original.call(this)
            return []
          },
      ),
    family: 'smaller limits ignored, mixed changes',
    mode: 'default',
  },
  {
    name: 'a cursor does not know what was read before going back',
    inject: () =>
      replace(
        KnownItems,
        'newest',
        original =>
          function () {
            return { ...original.call(this), others: [] }
          },
      ),
    family: 'cut and resumed, stale replicas, mixed changes',
    mode: 'default',
  },
  {
    name: 'a cursor is that of the batch before',
    inject: () => {
      const earlier = new WeakMap<object, string>()
      return replace(
        Walk<unknown>,
        'next',
        original =>
          async function () {
            const batch = await original.call(this)
            const cursor = batch?.cursor() ?? ''
            const before = earlier.get(this) ?? cursor
            earlier.set(this, cursor)
            return batch && { ...batch, cursor: () => before }
          },
      )
    },
    family: 'cut and resumed, mixed changes',
    mode: 'default',
  },
  {
    name: 'an error has no cursor',
    inject: () =>
      replace(
        Walk<unknown>,
        'next',
        original =>
          function () {
            return original.call(this).catch((error: object) => {
              throw Object.defineProperty(error, 'cursor', { value: undefined })
            })
          },
      ),
    family: 'a page fails for good',
    mode: 'default',
  },
  {
    name: 'requests go on after the reader has left the loop',
    inject: () => replace(Walk<unknown>, 'cancel', () => () => {}),
    family: 'the reader leaves early',
    mode: 'default',
  },
]
