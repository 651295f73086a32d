import { PaginationError } from 'virtual-accounts'
import { expect, inject, test } from 'vitest'
import { families } from './families.ts'
import { Random } from './random.ts'
import { traceOf } from './trace.ts'
import {
  concurrencies,
  createTrial,
  expectationsOf,
  findFamily,
  findTrial,
  isViolation,
  modes,
  run,
} from './trials.ts'
import { walk } from './walk.ts'

// Not `cases(…)`: a hundred walks of each of fifty families in three modes, its minimum, take too long for `npm test`.
const walksEach = 100 * inject('casesFactor')

const rows = families.flatMap(({ name, isSkipped }) =>
  modes.filter(mode => !isSkipped?.includes(mode)).map(mode => [name, mode] as const),
)

/** Whether the error is right in any family: a cursor's items are gone, or items were added at the other end. */
function isRight(error: unknown): boolean {
  return error instanceof PaginationError && ['cursor-gone', 'added-elsewhere'].includes(error.reason)
}

const all = { walks: 0, shownLosses: 0 }

test.each(rows)('%s (%s): a walk keeps its promises', async (name, mode) => {
  const family = findFamily(name)
  const each = Math.max(1, Math.floor((family.isSlow ? walksEach / 10 : walksEach) / concurrencies.length))
  let thrown = 0
  for (let number = 0; number < each; number++) {
    for (const concurrency of concurrencies) {
      const trial = createTrial(family, mode, concurrency, number)
      const { record, verdict } = await run(trial, trial.scenario)
      if (isViolation(verdict)) {
        const smaller = `SEED=${trial.seed} FAMILY="${family.name}" npm run simulate`
        throw new Error(`${verdict}. For a smaller trace: ${smaller}\n${traceOf(record)}`)
      }
      all.walks++
      if (verdict === 'shown loss') all.shownLosses++
      if (record.outcome === 'thrown' && !isRight(record.error)) thrown++
    }
  }
  const walks = each * concurrencies.length
  const { rarelyThrows } = expectationsOf(family, mode)
  // One list may throw at each concurrency.
  if (rarelyThrows) expect(thrown).toBeLessThanOrEqual(Math.max(concurrencies.length, walks / 100))
})

test.each([
  ['1407-verified-1', 'a cursor named items, and not those behind them'],
  ['2095-default-16', 'a cursor named items, and not those behind them'],
  ['806-default-2', 'a cursor named items in an order that no response had shown'],
])('%s passes (bug: %s)', async seed => {
  const { family, mode, scenario } = findTrial('cut and resumed, stale replicas, mixed changes', seed)
  const { record, verdict } = await run({ family, mode }, scenario)
  expect(isRight(record.error) ? 'right' : verdict, traceOf(record)).toBe('right')
})

test('a known item that has moved hides no item before it', async () => {
  for (const seed of ['33-default-1', '8-verified-2', '43-default-2', '123-verified-1']) {
    const { family, mode, scenario } = findTrial('one item moves by 1 to 20 places', seed)
    const { record, verdict } = await run({ family, mode }, scenario)
    expect(isViolation(verdict), traceOf(record)).toBe(false)
  }
})

test('at most one walk in a thousand silently loses what a dropped response showed', () => {
  expect(all.shownLosses).toBeLessThanOrEqual(Math.ceil(all.walks / 1_000))
})

test('the same seed gives the same walk', async () => {
  const family = findFamily('throttled, mixed changes')
  for (let number = 0; number < 20; number++) {
    const { scenario } = createTrial(family, 'default', 4, number)
    expect(traceOf(await walk(scenario))).toBe(traceOf(await walk(scenario)))
  }
})

test('the real clocks are restored after a walk', async () => {
  const { setTimeout, clearTimeout } = globalThis
  const { random } = Math
  const { scenario } = createTrial(findFamily('unchanged'), 'default', 4, 1)
  await walk(scenario)
  expect(globalThis).toMatchObject({ setTimeout, clearTimeout })
  expect(Math.random).toBe(random)
  expect(Object.hasOwn(performance, 'now')).toBe(false)
})

test('random choices are spread evenly', () => {
  const random = new Random('even')
  const counts = [0, 0, 0, 0]
  for (let draw = 0; draw < 4000; draw++) counts[random.integer(0, 3)]!++
  for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150)
})
