import {
  type AnyApiError,
  Client,
  type EndEvent,
  isApiError,
  type ListOptions,
  type Transaction,
} from 'virtual-accounts'
import type { Random } from '../simulation/random.ts'
import type { DatabaseService, Design } from './service.ts'

export type Walk = ReturnType<typeof createWalk>

/** How a list is read. After this many batches, another loop continues with the cursor. */
export function createWalk(random: Random, { limits, count, filtersAfterwards }: Design) {
  const isOdd = limits === 'ignored' || count === 'cached' || filtersAfterwards
  const removesWhatItReads = !isOdd && random.chance(0.1)
  // Where all that a cursor names is removed, the next loop must throw.
  const batches = removesWhatItReads ? Infinity : random.pick([Infinity, 1, 3])
  return {
    rows: random.pick(isOdd || batches < Infinity ? [121, 200, 400] : [0, 1, 100, 121, 200, 400]),
    limit: random.pick([undefined, 10, 20, 50, 100, limits === 'refused' ? 100 : 500]),
    concurrency: random.pick([1, 2, 4]),
    verified: random.pick([undefined, true]),
    batches,
    removesWhatItReads,
  }
}

/** What a loop over a list of the service yields, and what it says at its end. */
export async function read(service: DatabaseService, walk: Walk, options: ListOptions<Transaction> = {}) {
  const before = await service.rows()
  const seen: string[] = []
  const removed = new Set<string>()
  let ended: EndEvent | undefined
  let error: AnyApiError | undefined
  const client = new Client({
    baseUrl: 'https://database.test',
    apiKey: 'test_key',
    maxRetries: 0,
    fetch: service.fetch,
    onEvent: event => {
      if (event.type === 'end') ended = event
    },
  })
  const { limit, concurrency, verified } = walk
  let cursor = options.after
  let first: string | undefined
  try {
    while (!ended) {
      let batches = 0
      const list = client.transactions.list({ limit }, { concurrency, verified, ...options, after: cursor })
      for await (const batch of list.batches()) {
        for (const { id } of batch.items) {
          seen.push(id)
          if (walk.removesWhatItReads && (await service.remove(id))) removed.add(id)
        }
        cursor = batch.cursor
        first ??= cursor
        if (++batches === walk.batches) break
      }
    }
  } catch (thrown) {
    if (!isApiError(thrown)) throw thrown
    error = thrown
  }
  const after = await service.rows()
  const kept = [...before].filter(([id]) => after.has(id) || removed.has(id))
  return { seen, kept, ended, error, first, last: cursor }
}

/** The database is the judge. A loop that says it is complete has yielded each row that stayed, once, in order. */
export function judge(
  { seen, kept, ended, error }: Awaited<ReturnType<typeof read>>,
  order: Design['order'],
): string {
  if (error) return `thrown: ${error.kind === 'pagination' ? error.reason : error.kind}, ${error}`
  if (!ended?.isComplete) return `not proven: ${ended?.reason}`
  const missing = kept.filter(([id]) => !seen.includes(id)).length
  if (missing > 0) return `WRONG: ${missing} of ${kept.length} rows are missing`
  if (new Set(seen).size < seen.length) return 'WRONG: a row comes twice'
  // Rows with the same date may come in any order, if that is all they are sorted by.
  const places = new Map(
    kept.map(([id, date], place) => [id, order === 'created_at' ? date.getTime() : place]),
  )
  const found = seen.flatMap(id => places.get(id) ?? [])
  const isSorted = found.every((place, index) => index === 0 || place >= (found[index - 1] ?? 0))
  return isSorted ? 'complete' : 'WRONG: rows are out of order'
}
