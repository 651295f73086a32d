import type { ListOptions, Transaction } from 'virtual-accounts'
import { probe } from 'virtual-accounts/probe'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Random } from '../simulation/random.ts'
import { close, createService, type Design, open } from './service.ts'
import { createWalk, judge, read, type Walk } from './walk.ts'

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
  commitsWithin: 0,
}
const newestFirst = { order: 'created_at DESC, id DESC' } as const
const anyOrder = { order: 'created_at', ties: 20, isIndexed: false } as const
/** A loop that is not left, and does not change the list. */
const whole = { batches: Infinity, removesWhatItReads: false }
const changing = { chance: 0.05 }
const growing = { ...changing, kinds: ['add'] } as const

beforeAll(open, 60_000)
afterAll(close)

/** Reads such lists, each with a seed of its own. Nearly all loops must end as expected. None may be wrong. */
async function expectLoops(
  name: string,
  create: (random: Random) => Partial<Design>,
  {
    count = walks,
    expected = /complete$/,
    exceptions = 0,
    createWalk: change = (_random: Random): Partial<Walk> => ({}),
  } = {},
) {
  const found: { outcome: string; seed: string }[] = []
  for (let number = 0; number < count; number++) {
    const seed = `${name} ${number}`
    if (SEED !== undefined && seed !== SEED) continue
    const random = new Random(seed)
    const design = { ...usual, ...create(random) }
    const walk = { ...createWalk(random, design), ...change(random) }
    const outcome = judge(await read(await createService(design, walk.rows, seed), walk), design.order)
    found.push({ outcome: walk.verified ? `verified, ${outcome}` : outcome, seed })
    if (SEED !== undefined) console.log(design, walk, outcome)
  }
  const others = found.filter(({ outcome }) => !expected.test(outcome))
  const isWrong = others.some(({ outcome }) => outcome.includes('WRONG'))
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

test('rows, then count(*), one row added in between on average: a loop throws for no reason at most once in 100 times', () => {
  // At smaller limits, the list grows faster than it is read.
  const createWalk = (random: Random) => ({ limit: random.pick([50, 100]) })
  return expectLoops('gaps', () => ({ ...growing, chance: 0.5 }), { createWalk, exceptions: walks / 100 })
})

test.each<[name: string, reason: string, design: Partial<Design>]>([
  ['rows are filtered after LIMIT', 'short-page', { filtersAfterwards: true, ...growing }],
  ['any limit gets 20 rows', 'limit-not-honoured', { limits: 'ignored', ...growing }],
])('%s: a loop says that it is not proven, and throws if it must be', (name, reason, design) => {
  const expected = new RegExp(`^not proven: ${reason}$|^verified, thrown: .*cannot overlap|complete$`)
  return expectLoops(name, () => design, { expected })
})

test.each<[name: string, rows: readonly number[], ties: number, limits: readonly number[]]>([
  ['20 dates', [90, 130, 180, 330, 600, 1200], 9, [10, 20, 50, 100]],
  ['rows of a bulk import', [90, 130, 180, 330, 600, 1200], 200, [10, 20, 50, 100]],
  ['six rows at limit 3', [6], 6, [3]],
])('equal dates in any order (%s): a loop throws, or is complete', (name, rows, ties, limits) => {
  const create = (random: Random) => ({
    rows: random.pick(rows),
    limit: random.pick(limits),
    ...whole,
  })
  const expected = /complete$|thrown: order-not-stable/
  return expectLoops(`ties, ${name}`, () => ({ ...anyOrder, ties }), {
    count: 2 * walks,
    expected,
    createWalk: create,
  })
})

test('whatever the service, loops that report completeness are complete', () => {
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

describe('rows whose transaction commits late, below newer ones', () => {
  const kinds = ['add', 'add late'] as const

  test('a job with `until` yields each of them once where they are among the items that its cursor names', async () => {
    for (let number = 0; number < walks; number++) {
      const seed = `late ${number}`
      const design = { ...usual, ...newestFirst, chance: 0.1, ties: 1, kinds, commitsWithin: 10 }
      const walk = { ...createWalk(new Random(seed), design), limit: 100, ...whole }
      const result = await runJob(seed, design, walk, cursors => ({ until: cursors.at(-1) }))
      expect([seed, result]).toEqual([seed, { missing: [], repeated: [], errors: [] }])
    }
  })

  test.each([
    ['until', newestFirst],
    ['after', {}],
  ])('a job with `%s` misses none with the cursor of an earlier run', async (option, order) => {
    for (let number = 0; number < walks; number++) {
      const seed = `older ${option} ${number}`
      const design = { ...usual, ...order, chance: 0.1, ties: 1, kinds, commitsWithin: 10 }
      const walk = { ...createWalk(new Random(seed), design), ...whole }
      const { missing } = await runJob(seed, design, walk, cursors => ({ [option]: cursors.at(-3) }))
      expect([seed, missing]).toEqual([seed, []])
    }
  })
})

/** Runs a job again and again. Returns the rows that no run has yielded, and those that came more than once. */
async function runJob(
  seed: string,
  design: Design,
  walk: Walk,
  cursorOf: (cursors: string[]) => ListOptions<Transaction>,
) {
  const random = new Random(`job ${seed}`)
  const service = await createService(design, 300, seed)
  const cursors: string[] = []
  const errors: unknown[] = []
  const seen: string[] = []
  let rows = await service.rows()
  for (let run = 0; run < 6; run++) {
    if (run === 5) service.commit()
    rows = await service.rows()
    const result = await read(service, walk, cursorOf(cursors))
    if (result.error) errors.push(result.error)
    seen.push(...result.seen)
    const cursor = design.order === newestFirst.order ? result.first : result.last
    if (cursor && !result.error) cursors.push(cursor)
    for (let changes = random.pick([5, 20]); changes > 0; changes--) await service.change(1)
  }
  const missing = [...rows.keys()].filter(id => !seen.includes(id))
  return { missing, repeated: seen.filter((id, place) => seen.indexOf(id) < place), errors }
}

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
