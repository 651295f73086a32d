import { recaptureStack } from '../http/caller-stack.js'
import { defineHidden } from '../internal/object.js'
import type { Page } from './page.js'
import type { Walk } from './paginator.js'

/** The items of a list, one by one. */
export function iterateItems<T>(walk: Walk<T>, signal: AbortSignal | undefined): AsyncGenerator<T, void> {
  return cancelOnReturn(walk, items(walk, signal))
}

/** The pages of a list as they came. */
export function iteratePages<T>(
  walk: Walk<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Page<T>, void> {
  return cancelOnReturn(walk, pages(walk, signal))
}

async function* items<T>(walk: Walk<T>, signal: AbortSignal | undefined): AsyncGenerator<T, void> {
  try {
    for (;;) {
      if (signal?.aborted) throw signal.reason
      const batch = await walk.next()
      if (batch === undefined) return
      for (const item of batch.items) {
        if (signal?.aborted) throw signal.reason
        yield item
      }
    }
  } catch (error) {
    recaptureStack(error, items)
    throw error
  } finally {
    walk.cancel()
  }
}

async function* pages<T>(walk: Walk<T>, signal: AbortSignal | undefined): AsyncGenerator<Page<T>, void> {
  try {
    for (;;) {
      if (signal?.aborted) throw signal.reason
      const batch = await walk.next()
      if (batch === undefined) return
      yield batch.page
    }
  } catch (error) {
    recaptureStack(error, pages)
    throw error
  } finally {
    walk.cancel()
  }
}

/** A generator would let `return()` wait for a page in flight. */
function cancelOnReturn<G extends AsyncGenerator<unknown, void>>(walk: Walk<unknown>, generator: G): G {
  const close = generator.return.bind(generator)
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
