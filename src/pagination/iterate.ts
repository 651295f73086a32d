import { recaptureStack } from '../http/caller-stack.js'
import { defineHidden } from '../internal/object.js'
import type { Batch, Walk } from './paginator.js'

/** Iterates what `valuesOf` takes from each batch of a walk: its items, or its page. */
export function iterate<T, V>(
  walk: Walk<T>,
  signal: AbortSignal | undefined,
  valuesOf: (batch: Batch<T>) => readonly V[],
): AsyncGenerator<V, void> {
  const generator = values(walk, signal, valuesOf)
  const close = generator.return.bind(generator)
  // By itself, a generator lets `return()` wait for a page in flight.
  generator.return = value => {
    walk.cancel()
    return close(value)
  }
  // `await using`: generators have it themselves from Node 24 on.
  const { asyncDispose } = Symbol as { asyncDispose?: symbol }
  if (asyncDispose && !(asyncDispose in generator)) {
    defineHidden(generator, asyncDispose, async () => void (await generator.return()))
  }
  return generator
}

async function* values<T, V>(
  walk: Walk<T>,
  signal: AbortSignal | undefined,
  valuesOf: (batch: Batch<T>) => readonly V[],
): AsyncGenerator<V, void> {
  try {
    for (;;) {
      if (signal?.aborted) throw signal.reason
      const batch = await walk.next()
      if (batch === undefined) return
      for (const value of valuesOf(batch)) {
        if (signal?.aborted) throw signal.reason
        yield value
      }
    }
  } catch (error) {
    recaptureStack(error, values)
    throw error
  } finally {
    walk.cancel()
  }
}
