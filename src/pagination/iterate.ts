import { type CallSite, captureCallSite } from '../internal/call-site.js'
import { defineHidden } from '../internal/object.js'
import type { ReadBatch, Walk } from './walk.js'

/** Iterates what `valuesOf` takes from each batch of a walk: its items, or the whole. The walk starts with the first `next`. */
export function iterate<T, V>(
  startWalk: (site: CallSite) => Walk<T>,
  signal: AbortSignal | undefined,
  valuesOf: (batch: ReadBatch<T>) => readonly V[],
): AsyncGenerator<V, void> {
  let walk: Walk<T> | undefined
  let isClosed = false
  async function* generate(): AsyncGenerator<V, void> {
    walk = startWalk(captureCallSite(generate))
    try {
      for (;;) {
        signal?.throwIfAborted()
        const batch = await walk.next()
        if (batch === undefined) return
        for (const value of valuesOf(batch)) {
          signal?.throwIfAborted()
          yield value
        }
      }
    } catch (error) {
      // Of a closed iterator, the error of a request is irrelevant.
      if (!isClosed) throw error
    } finally {
      walk.cancel()
    }
  }
  const iterator = generate()
  // A generator would first wait for the request in flight.
  const { return: end } = iterator
  const close = (value?: undefined) => {
    isClosed = true
    walk?.cancel()
    return end.call(iterator, value)
  }
  const fail = async (error: unknown) => {
    await close()
    throw error
  }
  defineHidden(iterator, 'return', close)
  defineHidden(iterator, 'throw', fail)
  // `await using`: generators have it themselves from Node 24 on.
  const { asyncDispose } = Symbol as { asyncDispose?: symbol }
  if (asyncDispose && !(asyncDispose in iterator)) {
    defineHidden(iterator, asyncDispose, async () => void (await close()))
  }
  return iterator
}
