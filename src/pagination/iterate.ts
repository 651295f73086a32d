import { type CallSite, captureCallSite } from '../internal/call-site.js'
import { defineHidden } from '../internal/object.js'
import type { Batch, Walk } from './walk.js'

const generatorPrototype: object = /* @__PURE__ */ Object.getPrototypeOf(async function* () {}).prototype

/** Iterates what `valuesOf` takes from each batch of a walk: its items, or its page. The walk starts with the first `next`. */
export function iterate<T, V>(
  startWalk: (site: CallSite) => Walk<T>,
  signal: AbortSignal | undefined,
  valuesOf: (batch: Batch<T>) => readonly V[],
): AsyncGenerator<V, void> {
  let walk: Walk<T> | undefined
  let values: readonly V[] = []
  let index = 0
  let isClosed = false
  /** Calls of `next` that wait for a page, each for the one before it. */
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()

  const close = () => {
    isClosed = true
    values = []
    walk?.cancel()
  }
  const take = async (): Promise<IteratorResult<V, void>> => {
    try {
      while (!isClosed && (index >= values.length || signal?.aborted)) {
        if (signal?.aborted) throw signal.reason
        const batch = await walk?.next()
        if (isClosed || batch === undefined) break
        values = valuesOf(batch)
        index = 0
      }
    } catch (error) {
      // Of a closed iterator, the page's error is irrelevant.
      if (!isClosed) {
        close()
        throw error
      }
    }
    if (index < values.length) return { done: false, value: values[index++] as V }
    close()
    return { done: true, value: undefined }
  }
  const next = (): Promise<IteratorResult<V, void>> => {
    // Most items are here already: a promise of their own is all that they need.
    if (waiting === 0 && index < values.length && !signal?.aborted) {
      return Promise.resolve({ done: false, value: values[index++] as V })
    }
    if (!isClosed) walk ??= startWalk(captureCallSite(next, 0))
    waiting++
    const result = last.then(take)
    const settle = () => void waiting--
    last = result.then(settle, settle)
    return result
  }
  // These do not wait for a page in flight.
  const end = async (value: undefined) => {
    close()
    return { done: true, value: await value }
  }
  const fail = async (error: unknown) => {
    close()
    throw error
  }
  const iterator = Object.create(generatorPrototype)
  const methods = { next, return: end, throw: fail }
  for (const [name, method] of Object.entries(methods)) defineHidden(iterator, name, method)
  // `await using`: generators have it themselves from Node 24 on.
  const { asyncDispose } = Symbol as { asyncDispose?: symbol }
  if (asyncDispose && !(asyncDispose in iterator)) {
    defineHidden(iterator, asyncDispose, async () => void (await iterator.return()))
  }
  return iterator
}
