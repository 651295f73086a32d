import { probe } from 'virtual-accounts/probe'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Random } from '../simulation/random.ts'
import { close, createService, type Design, open } from './service.ts'
import { createWalk, judge, read } from './walk.ts'

// Loops over a list in PostgreSQL, which changes between the requests and between the statements of each.
// `WALKS=500 npm run test:database` tries more of them, and `SEED='…'` only one.

const walks = Number(process.env.WALKS ?? 20)
const { SEED } = process.env

const usual: Design = {
  count: 'after the rows',
  order: 'created_at, id',
  ties: 7,
  isIndexed: true,
  filtersAfterwards: false,
  limits: 'lowered',
  beyond: 200,
  kinds: ['add', 'remove', 'remove the oldest', 'rewrite'],
  chance: 0,
}
const newestFirst = { order: 'created_at DESC, id DESC' } as const
const anyOrder = { order: 'created_at', ties: 20, isIndexed: false } as const
const changing = { chance: 0.05 }
const growing = { ...changing, kinds: ['add'] } as const

beforeAll(open, 60_000)
afterAll(close)

/** Reads such lists, each with a seed of its own. Nearly all loops must come to what is expected, and no more may be wrong. */
async function expectLoops(
  name: string,
  create: (random: Random) => Partial<Design>,
  { count = walks, expected = /complete$/, exceptions = 0, wrong = 0 } = {},
) {
  const found: { outcome: string; seed: string }[] = []
  for (let number = 0; number < count; number++) {
    const seed = `${name} ${number}`
    if (SEED !== undefined && seed !== SEED) continue
    const random = new Random(seed)
    const design = { ...usual, ...create(random) }
    const walk = createWalk(random, design)
    const outcome = judge(await read(await createService(design, walk.rows, seed), walk), design.order)
    found.push({ outcome: walk.verified ? `verified, ${outcome}` : outcome, seed })
    if (SEED !== undefined) console.log(design, walk, outcome)
  }
  const others = found.filter(({ outcome }) => !expected.test(outcome))
  const isWrong = others.filter(({ outcome }) => outcome.includes('WRONG')).length > wrong
  if (isWrong || others.length > exceptions) expect(others).toEqual([])
}

describe('a loop is complete, and throws for no reason at most once in 20 times', () => {
  test.each<[name: string, design: Partial<Design>]>([
    ['a list that does not change', {}],
    ['rows, then count(*); rows are added at the end', growing],
    ['rows, then count(*); rows are added at the beginning', { ...newestFirst, ...growing }],
    ['rows, then count(*); rows are removed', { ...changing, kinds: ['remove', 'remove the oldest'] }],
    ['rows, then count(*); all kinds of changes', { ...newestFirst, ...changing }],
    ['count(*), then rows; rows are added', { count: 'before the rows', ...growing }],
    ['count(*), then rows; all kinds of changes', { count: 'before the rows', ...changing }],
    ['count(*) OVER (); all kinds of changes', { count: 'with the rows', ...changing }],
    ['a cached count; rows are added', { count: 'cached', ...growing }],
    ['a count that ends at 150; all kinds of changes', { count: 'capped', ...changing }],
    ['404 beyond the end, 422 above limit 100', { beyond: 404, limits: 'refused', ...changing }],
    ['ORDER BY created_at, without ties', { ...anyOrder, ties: 1, ...changing }],
    ['ORDER BY created_at, by an index', { ...anyOrder, isIndexed: true }],
  ])('%s', (name, design) => expectLoops(name, () => design, { exceptions: walks / 20 }))
})

test.each<[name: string, reason: string, design: Partial<Design>]>([
  ['rows are filtered after LIMIT', 'short-page', { filtersAfterwards: true, ...growing }],
  ['any limit gets 20 rows', 'limit-not-honoured', { limits: 'ignored', ...growing }],
])('%s: a loop says that it is not proven, and throws if it must be', (name, reason, design) => {
  const expected = new RegExp(`^not proven: ${reason}$|^verified, thrown: .*cannot overlap|complete$`)
  return expectLoops(name, () => design, { expected })
})

test('equal dates in any order: a loop is complete, or says that the order is not stable', () => {
  // Not every such order shows what it is.
  const expected = /complete$|order|overlap/
  const exceptions = walks / 4
  return expectLoops('ties', () => anyOrder, { count: 2 * walks, expected, exceptions, wrong: walks / 20 })
})

test('whatever the service, a loop that calls itself complete is', () => {
  const create = (random: Random): Partial<Design> => ({
    count: random.pick(['after the rows', 'before the rows', 'with the rows', 'cached', 'capped']),
    order: random.pick([usual.order, newestFirst.order]),
    ties: random.pick([1, 20]),
    isIndexed: random.chance(0.5),
    filtersAfterwards: random.chance(0.1),
    limits: random.pick(['lowered', 'lowered', 'refused', 'ignored']),
    beyond: random.pick([200, 404]),
    kinds: random.pick([usual.kinds, growing.kinds]),
    chance: random.pick([0.05, 0.1, 0.2]),
  })
  return expectLoops('any', create, { expected: /complete$|not proven|thrown/ })
})

test('`until`: each run yields what is new at the beginning, once', async () => {
  for (let number = 0; number < walks / 2; number++) {
    const seed = `until ${number}`
    const random = new Random(seed)
    const design = { ...usual, ...newestFirst, ...changing, ties: 1 }
    const service = await createService(design, 300, seed)
    const walk = { ...createWalk(random, design), batches: Infinity, removesWhatItReads: false }
    const had = new Set<string>()
    let until: string | undefined
    for (let runs = 0; runs < 4; runs++) {
      const result = await read(service, walk, { until })
      const missing = result.kept.filter(([id]) => !had.has(id) && !result.seen.includes(id))
      const repeated = result.seen.filter(id => had.has(id))
      expect([seed, runs, result.error, missing, repeated]).toEqual([seed, runs, undefined, [], []])
      for (const id of result.seen) had.add(id)
      until = result.first ?? until
      for (let changes = 0; changes < random.pick([0, 5, 60]); changes++) await service.change(1)
    }
  }
})

test.each<[broken: string[], design: Partial<Design>]>([
  [[], changing],
  [[], { count: 'with the rows', beyond: 404 }],
  [['order'], anyOrder],
  [['total'], { filtersAfterwards: true }],
])('the probe finds broken: %j in %j', async (broken, design) => {
  const { fetch } = await createService({ ...usual, ...design }, 400, 'probe')
  const { findings } = await probe({ baseUrl: 'https://database.test', apiKey: 'test_key', fetch })
  expect(findings.filter(({ status }) => status === 'broken').map(({ id }) => id)).toEqual(broken)
})
