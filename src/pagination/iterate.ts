import { type CallSite, captureCallSite } from '../internal/call-site.js'
import { defineHidden } from '../internal/object.js'
import type { Batch, Walk } from './walk.js'

/** Iterates what `valuesOf` takes from each batch of a walk: its items, or its page. The walk starts with the first `next`. */
export function iterate<T, V>(
  startWalk: (site: CallSite) => Walk<T>,
  signal: AbortSignal | undefined,
  valuesOf: (batch: Batch<T>) => readonly V[],
): AsyncGenerator<V, void> {
  let walk: Walk<T> | undefined
  let values: readonly V[] = []
  let index = 0
  /** Calls of `next` that wait for a page, each for the one before it. */
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()

  const generator = batches(() => walk, signal)
  const { next: nextBatch, return: close, throw: fail } = Object.getPrototypeOf(generator) as typeof generator

  const take = async (): Promise<IteratorResult<V, void>> => {
    while (index >= values.length || signal?.aborted) {
      const { done, value: batch } = await nextBatch.call(generator)
      if (done) return { done, value: undefined }
      values = valuesOf(batch)
      index = 0
    }
    return { done: false, value: values[index++] as V }
  }
  const next = (): Promise<IteratorResult<V, void>> => {
    // Most items are here already: a promise of their own is all that they need.
    if (waiting === 0 && index < values.length && !signal?.aborted) {
      return Promise.resolve({ done: false, value: values[index++] as V })
    }
    walk ??= startWalk(captureCallSite(next, 0))
    waiting++
    const result = last.then(take)
    const settle = () => void waiting--
    last = result.then(settle, settle)
    return result
  }
  const end = () => {
    values = []
    walk?.cancel()
  }
  const methods = {
    next,
    // By themselves, these would wait for a page in flight.
    return(value: undefined) {
      end()
      return close.call(generator, value)
    },
    throw(error: unknown) {
      end()
      return fail.call(generator, error)
    },
  }
  for (const [name, method] of Object.entries(methods)) defineHidden(generator, name, method)
  // `await using`: generators have it themselves from Node 24 on.
  const { asyncDispose } = Symbol as { asyncDispose?: symbol }
  if (asyncDispose && !(asyncDispose in generator)) {
    defineHidden(generator, asyncDispose, async () => void (await methods.return(undefined)))
  }
  return generator as unknown as AsyncGenerator<V, void>
}

async function* batches<T>(
  walk: () => Walk<T> | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Batch<T>, void> {
  try {
    for (;;) {
      if (signal?.aborted) throw signal.reason
      const batch = await walk()?.next()
      if (batch === undefined) return
      yield batch
    }
  } finally {
    walk()?.cancel()
  }
}
