import { describe, expect, inject, test } from 'vitest'
import { type Family, families } from './families.ts'
import { Random } from './random.ts'
import type { Scenario } from './scenario.ts'
import { traceOf } from './trace.ts'
import { concurrencies, createTrial, isViolation, type Mode, run } from './trials.ts'
import { walk } from './walk.ts'

// Not `cases(400)`: a hundred walks of each of sixty families, its minimum, take too long for `npm test`.
const walksOfFamily = 400 * inject('casesFactor')
// A busy machine takes longer, and that must not be what a test says.
const patience = 60_000

describe('a walk loses nothing that the responses give away', () => {
  test.each(families)('$name', { timeout: patience }, async family => {
    await tryAll(family, 'default')
  })
})

describe('a verified walk loses nothing', () => {
  test.each(families.filter(({ verified }) => !verified.isSkipped))(
    '$name',
    { timeout: patience },
    async family => {
      const { thrown, walks } = await tryAll(family, 'verified')
      if (family.verified.rarelyThrows) expect(thrown).toBeLessThanOrEqual(walks / 100)
    },
  )
})

async function tryAll(family: Family, mode: Mode) {
  const each = Math.ceil((family.isSlow ? walksOfFamily / 10 : walksOfFamily) / concurrencies.length)
  let thrown = 0
  for (let number = 0; number < each; number++) {
    for (const concurrency of concurrencies) {
      const trial = createTrial(family, mode, concurrency, number)
      const { record, verdict } = await run(trial, trial.scenario)
      if (isViolation(verdict)) {
        const smaller = `SEED=${trial.seed} FAMILY="${family.name}" npm run simulate`
        throw new Error(`${verdict}. For a smaller trace: ${smaller}\n${traceOf(record)}`)
      }
      if (record.outcome === 'thrown') thrown++
    }
  }
  return { thrown, walks: each * concurrencies.length }
}

describe('a list that does not change', () => {
  const unchanged = families.find(({ name }) => name === 'unchanged') as Family
  const sizes = [0, 1, 99, 100, 101, 1000, 1001, 2345]
  const scenario = (verified: boolean, size: number, concurrency: number): Scenario => {
    const { scenario } = createTrial(unchanged, verified ? 'verified' : 'default', concurrency, size)
    return { ...scenario, size, limit: 100 }
  }

  test.each(concurrencies)(
    'costs one request for each page, at least one, at concurrency %i',
    async concurrency => {
      for (const size of sizes) {
        const { exchanges, yielded } = await walk(scenario(false, size, concurrency))
        expect(yielded).toHaveLength(size)
        expect(exchanges).toHaveLength(Math.max(1, Math.ceil(size / 100)))
      }
    },
  )

  test.each(concurrencies)(
    'costs at most a fifth more requests when verified, or one more if that is larger, at concurrency %i',
    async concurrency => {
      for (const size of sizes) {
        const { exchanges, yielded } = await walk(scenario(true, size, concurrency))
        expect(yielded).toHaveLength(size)
        const pages = Math.max(1, Math.ceil(size / 100))
        expect(exchanges.length).toBeLessThanOrEqual(Math.max(pages + 1, Math.floor(pages * 1.2)))
      }
    },
  )
})

test('the simulator gives the same walk for the same seed', async () => {
  const family = families.find(({ name }) => name === 'throttled, mixed changes') as Family
  for (let number = 0; number < 20; number++) {
    const { scenario } = createTrial(family, 'default', 4, number)
    expect(traceOf(await walk(scenario))).toBe(traceOf(await walk(scenario)))
  }
})

test('the simulator restores the real clocks', async () => {
  const { setTimeout, clearTimeout } = globalThis
  const { random } = Math
  const { scenario } = createTrial(families[0] as Family, 'default', 4, 1)
  await walk(scenario)
  expect(globalThis).toMatchObject({ setTimeout, clearTimeout })
  expect(Math.random).toBe(random)
  expect(Object.hasOwn(performance, 'now')).toBe(false)
})

test('the random choices are spread evenly', () => {
  const random = new Random('even')
  const counts = [0, 0, 0, 0]
  for (let draw = 0; draw < 4000; draw++) counts[random.integer(0, 3)]!++
  for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150)
})
