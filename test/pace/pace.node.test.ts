import { expect, inject, test } from 'vitest'
import { alone, blips, limits, outages, unlimited } from './scenarios.ts'
import { run } from './trial.ts'

const casesFactor = inject('casesFactor')
const seeds = Array.from({ length: Math.max(1, Math.round(4 * casesFactor)) }, (_, at) => `pace ${at}`)
// A busy machine takes longer, and that must not be what a test says.
const patience = 60_000

test.each(limits.filter(({ calls }) => calls <= 10_000 * casesFactor))(
  '$name: every call succeeds, near the time that the limit allows',
  { timeout: patience },
  async scenario => {
    const { calls, clients = 1, limit } = scenario
    for (const seed of seeds) {
      const { succeeded, failed, seconds, ideal, refusals, items, timers } = await run(scenario, seed)
      expect({ succeeded, failed, items, timers }).toEqual({
        succeeded: calls,
        failed: 0,
        items: 2_000 * (scenario.loops ?? 0),
        timers: 0,
      })
      if (clients > 1) continue
      expect(seconds).toBeLessThanOrEqual(1.35 * ideal + 5)
      // At one a second or less, there are few calls between two refusals.
      expect(refusals / calls).toBeLessThanOrEqual(limit.rate > 1 ? 0.2 : limit.rate === 1 ? 0.4 : 2)
    }
  },
)

test.each(alone)(
  'calls that are refused for themselves do not stall the others: $name',
  { timeout: patience },
  async scenario => {
    for (const seed of seeds) {
      const { succeeded, failed, seconds, timers } = await run(scenario, seed)
      expect({ succeeded, failed, timers }).toEqual({ succeeded: 180, failed: 20, timers: 0 })
      expect(seconds).toBeLessThanOrEqual(250)
    }
  },
)

test.each(blips)('a blip of 200 ms loses nothing: $name', async scenario => {
  for (const seed of seeds)
    expect(await run(scenario, seed)).toMatchObject({ succeeded: scenario.calls, failed: 0 })
})

test.each(outages)(
  'an outage gets at most a tenth more requests than calls, which fail fast: $name',
  { timeout: patience },
  async scenario => {
    // The retry budget of 500 is part of the tenth.
    const calls = Math.max(6_000, 20_000 * casesFactor)
    const { succeeded, requests, endedAt } = await run({ ...scenario, calls })
    expect(succeeded).toBe(0)
    expect(requests / calls).toBeLessThanOrEqual(1.1)
    expect(endedAt).toBeLessThanOrEqual(10)
  },
)

test('nothing is delayed where nothing is limited', async () => {
  const { succeeded, seconds, requests } = await run(unlimited)
  expect({ succeeded, requests }).toEqual({ succeeded: 1_000, requests: 1_000 })
  expect(seconds).toBeLessThanOrEqual(0.022)
})

test('the same seed gives the same outcome', async () => {
  for (const scenario of limits.slice(0, 2))
    expect(await run(scenario, 'a')).toEqual(await run(scenario, 'a'))
})
