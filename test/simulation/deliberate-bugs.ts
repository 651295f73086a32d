import { Drift } from '../../src/pagination/drift.ts'
import { Frontier } from '../../src/pagination/frontier.ts'
import { type Key, KnownItems } from '../../src/pagination/known-items.ts'
import type { Window } from '../../src/pagination/page.ts'
import { Position } from '../../src/pagination/position.ts'
import { type ListResponse, Requests } from '../../src/pagination/requests.ts'
import type { Mode } from './trials.ts'

/** A bug that the simulator has to find: the public method of a class is replaced. */
export interface DeliberateBug {
  readonly name: string
  /** Injects the bug, and returns a function that removes it. */
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
  create: (
    original: T[K],
  ) => (this: T, ...args: Parameters<T[K] & Method>) => ReturnType<Extract<T[K], Method>>,
): () => void {
  const original = Class.prototype[name]
  Class.prototype[name] = create(original) as T[K]
  return () => {
    Class.prototype[name] = original
  }
}

/** Changes the facts about a response, or the window that is requested. */
function misreport(
  change: (seen: ListResponse) => Partial<ListResponse>,
  changeWindow: Partial<Window> = {},
): () => void {
  return replace(
    Requests<unknown>,
    'get',
    original =>
      async function (window: Window, plan) {
        const seen: ListResponse = await original.call(this, { ...window, ...changeWindow }, plan)
        this.last = { ...seen, ...change(seen) }
        return this.last
      },
  )
}

/** Says that every loop was complete. */
function boast({ response }: ListResponse): Partial<ListResponse> {
  const { report } = response
  const boasting = new Proxy(report, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (name !== 'emit') return typeof value === 'function' ? value.bind(target) : value
      return (event: { type: string }) =>
        report.emit({ ...event, ...(event.type === 'end' && { isComplete: true }) } as never)
    },
  })
  return { response: { ...response, report: boasting } }
}

export const deliberateBugs: readonly DeliberateBug[] = [
  {
    name: 'a window without a known item is read',
    inject: () => replace(KnownItems, 'has', () => () => true),
    family: 'bulk changes',
    mode: 'default',
  },
  {
    name: 'items that were read are yielded again',
    inject: () =>
      replace(
        KnownItems,
        'add',
        original =>
          function (key, inFront) {
            original.call(this, key, inFront)
            return true
          },
      ),
    family: 'many swaps',
    mode: 'default',
  },
  {
    name: 'a refusal of another limit fails the loop',
    inject: () => misreport(() => ({}), { accepts: undefined }),
    family: 'smaller limits refused',
    mode: 'default',
  },
  {
    name: 'the end is not compared with the total',
    inject: () => misreport(({ data, start }) => ({ total: start + data.length })),
    family: 'pages counted from 0',
    mode: 'default',
  },
  {
    name: 'a loop that could not overlap says that it was complete',
    inject: () => misreport(boast),
    family: 'smaller limits refused, a queue',
    mode: 'default',
  },
  {
    name: 'a shrink is not noticed where pages cannot overlap',
    inject: () => misreport(() => ({ largestTotalBefore: 0 })),
    family: 'smaller limits ignored, mixed changes',
    mode: 'default',
  },
  {
    name: 'a page that shows a change is trusted although it was requested before its predecessor arrived',
    inject: () => misreport(() => ({ isAhead: false })),
    family: 'smaller limits ignored, mixed changes',
    mode: 'default',
  },
  {
    name: 'a cursor names only the first items that were read',
    inject: () =>
      replace(
        Frontier,
        'advance',
        () =>
          function () {
            return { frontier: this, isAtEnd: false }
          },
      ),
    family: 'cut and resumed, mixed changes',
    mode: 'default',
  },
  {
    name: 'a cursor names the newest items, not the farthest',
    inject: () =>
      replace(
        Frontier,
        'advance',
        () =>
          function (_shown, news) {
            return { frontier: this.append(news), isAtEnd: true }
          },
      ),
    family: 'cut and resumed, many items come among those that were read',
    mode: 'default',
  },
  {
    name: 'a cursor names no missing item',
    inject: () =>
      replace(
        Frontier,
        'advance',
        original =>
          function (shown, news) {
            const { frontier, isAtEnd } = original.call(this, shown, news)
            return { frontier: new Frontier(frontier.names.inOrder), isAtEnd }
          },
      ),
    family: 'cut and resumed, stale replicas, mixed changes',
    mode: 'default',
  },
  {
    name: 'a cursor does not name items beyond a response with known items',
    inject: () =>
      replace(
        Frontier,
        'advance',
        original =>
          function (shown, news) {
            const { frontier, isAtEnd } = original.call(this, shown, news)
            const { inOrder, missing } = frontier.names
            const end = inOrder.lastIndexOf((shown as Key[]).at(-1) as Key) + 1
            return { frontier: new Frontier(inOrder.slice(0, end || undefined), missing), isAtEnd }
          },
      ),
    family: 'cut and resumed, items come among those that were read',
    mode: 'default',
  },
  {
    name: 'a window begins where the last item was, not where it will be',
    inject: () => replace(Drift, 'expect', () => () => 0),
    family: 'a third of a window rotates by the clock',
    mode: 'default',
  },
  {
    name: 'a cursor is that of the batch before',
    inject: () => {
      const earlier = new WeakMap<object, string>()
      return replace(
        Position<unknown>,
        'take',
        original =>
          function* (seen, from, follows) {
            const taking = original.call(this, seen, from, follows) as ReturnType<typeof original>
            let step = taking.next()
            for (; !step.done; step = taking.next()) {
              const cursor = step.value.cursor()
              const before = earlier.get(this) ?? cursor
              earlier.set(this, cursor)
              yield { ...step.value, cursor: () => before }
            }
            return step.value
          },
      )
    },
    family: 'cut and resumed, mixed changes',
    mode: 'default',
  },
  {
    name: 'an error has no cursor',
    inject: () => replace(Position<unknown>, 'withCursor', () => error => error),
    family: 'a page fails for good',
    mode: 'default',
  },
  {
    name: 'requests go on after the reader has left the loop',
    inject: () => replace(Requests<unknown>, 'close', () => async () => {}),
    family: 'the reader leaves early',
    mode: 'default',
  },
]
