import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Random } from '../simulation/random.ts'
import { type Changes, close, DatabaseService, type Design, open, type Setup } from './service.ts'
import { createWalk, judge, read } from './walk.ts'

// Loops over a list in PostgreSQL, which changes between the requests and between the statements of each.
// `WALKS=500 npm run test:database` tries more of them, and `SEED='…'` only one.

const walks = Number(process.env.WALKS ?? 25)
const { SEED } = process.env

const usual: Design = {
  count: 'after the rows',
  order: 'created_at, id',
  ties: 7,
  isIndexed: true,
  filtersAfterwards: false,
  limits: 'lowered',
  beyond: 200,
}
const newestFirst = { order: 'created_at DESC, id DESC' } as const
const kinds = ['add', 'remove', 'remove the oldest', 'rewrite'] as const
const calm: Changes = { kinds, chance: 0 }
const growing: Changes = { kinds: ['add'], chance: 0.05 }
const shrinking: Changes = { kinds: ['remove', 'remove the oldest'], chance: 0.05 }
const mixed: Changes = { kinds, chance: 0.05 }

beforeAll(open, 60_000)
afterAll(close)

/** Reads such lists, each with a seed of its own. Returns what the loops came to, with the seed of the last. */
async function outcomesOf(name: string, create: (random: Random) => Omit<Setup, 'seed'>, count = walks) {
  const found: { outcome: string; seed: string }[] = []
  for (let number = 0; number < count; number++) {
    const seed = `${name} ${number}`
    if (SEED !== undefined && seed !== SEED) continue
    const random = new Random(seed)
    const { design, changes } = create(random)
    const walk = createWalk(random, design)
    const service = await DatabaseService.create({ design, changes, seed }, walk.rows)
    const outcome = judge(await read(service, walk), design.order)
    found.push({ outcome: walk.verified ? `verified, ${outcome}` : outcome, seed })
    if (SEED !== undefined) console.log(design, walk, outcome)
  }
  return found
}

describe('a loop is complete, and throws for no reason at most once in 25 times', () => {
  test.each<[name: string, design: Partial<Design>, Changes]>([
    ['a list that does not change', {}, calm],
    ['rows, then count(*); rows are added at the end', {}, growing],
    ['rows, then count(*); rows are added at the beginning', newestFirst, growing],
    ['rows, then count(*); rows are removed', {}, shrinking],
    ['rows, then count(*); all kinds of changes', newestFirst, mixed],
    ['count(*), then rows; rows are added', { count: 'before the rows' }, growing],
    ['count(*), then rows; all kinds of changes', { count: 'before the rows' }, mixed],
    ['count(*) OVER (); all kinds of changes', { count: 'with the rows' }, mixed],
    ['a cached count; rows are added', { count: 'cached' }, growing],
    ['a count that ends at 150; all kinds of changes', { count: 'capped' }, mixed],
    ['404 beyond the end, 422 above limit 100', { beyond: 404, limits: 'refused' }, mixed],
    ['ORDER BY created_at, without ties', { order: 'created_at', ties: 1, isIndexed: false }, mixed],
    ['ORDER BY created_at, by an index', { order: 'created_at', ties: 20 }, calm],
  ])('%s', async (name, design, changes) => {
    const outcomes = await outcomesOf(name, () => ({ design: { ...usual, ...design }, changes }))
    const others = outcomes.filter(({ outcome }) => !outcome.endsWith('complete'))
    expect(others.filter(({ outcome }) => outcome.includes('WRONG'))).toEqual([])
    if (others.length > walks / 25) expect(others).toEqual([])
  })
})

test.each<[name: string, reason: string, design: Partial<Design>]>([
  ['rows are filtered after LIMIT', 'short-page', { filtersAfterwards: true }],
  ['any limit gets 20 rows', 'limit-not-honoured', { limits: 'ignored' }],
])('%s: a loop says that it is not proven, and throws if it must be', async (name, reason, design) => {
  const outcomes = await outcomesOf(name, () => ({ design: { ...usual, ...design }, changes: growing }))
  const isExpected = new RegExp(`^not proven: ${reason}$|^verified, thrown: .*cannot overlap|complete$`)
  expect(outcomes.filter(({ outcome }) => !isExpected.test(outcome))).toEqual([])
})

test('equal dates in any order: a loop is complete, or says that the order is not stable', async () => {
  const design: Design = { ...usual, order: 'created_at', ties: 20, isIndexed: false }
  const outcomes = await outcomesOf('ties', () => ({ design, changes: calm }), 2 * walks)
  expect(outcomes.filter(({ outcome }) => outcome.includes('WRONG'))).toEqual([])
  expect(outcomes.map(({ outcome }) => outcome)).toContain('not proven: order-not-stable')
})

test('whatever the service, a loop that calls itself complete is', async () => {
  const outcomes = await outcomesOf('any', random => ({
    design: {
      count: random.pick(['after the rows', 'before the rows', 'with the rows', 'cached', 'capped']),
      order: random.pick(['created_at, id', newestFirst.order]),
      ties: random.pick([1, 20]),
      isIndexed: random.chance(0.5),
      filtersAfterwards: random.chance(0.1),
      limits: random.pick(['lowered', 'lowered', 'refused', 'ignored']),
      beyond: random.pick([200, 404]),
    },
    changes: {
      kinds: random.pick([kinds, growing.kinds, shrinking.kinds]),
      chance: random.pick([0.05, 0.1, 0.2]),
    },
  }))
  expect(outcomes.filter(({ outcome }) => outcome.includes('WRONG'))).toEqual([])
})

test('`until`: each run yields what is new at the beginning, once', async () => {
  for (let number = 0; number < walks / 2; number++) {
    const seed = `until ${number}`
    const random = new Random(seed)
    const design = { ...usual, ...newestFirst, ties: 1 }
    const service = await DatabaseService.create({ design, changes: mixed, seed }, 300)
    const walk = { ...createWalk(random, design), batches: Infinity, removesWhatItReads: false }
    const had = new Set<string>()
    let until: string | undefined
    for (let runs = 0; runs < 4; runs++) {
      const result = await read(service, walk, { until })
      const missing = result.kept.filter(([id]) => !had.has(id) && !result.seen.includes(id))
      const repeated = result.seen.filter(id => had.has(id))
      expect({ seed, runs, error: result.error, missing, repeated }).toEqual({
        seed,
        runs,
        error: undefined,
        missing: [],
        repeated: [],
      })
      for (const id of result.seen) had.add(id)
      until = result.first ?? until
      for (let changes = 0; changes < random.pick([0, 5, 60]); changes++) await service.change(1)
    }
  }
})
