import { expect, inject, test } from 'vitest'
import { all, scenario } from './scenarios.ts'
import { run } from './trial.ts'

const promises: Readonly<Record<string, string>> = {
  limits: 'every call succeeds, near the time that the limit allows',
  minutes: 'no call is lost to a limit per minute',
  alone: 'calls over a quota of their own do not stall the others',
  outages: 'in an outage, calls fail fast and send few extra requests',
  unlimited: 'nothing is delayed where nothing is limited',
}

/** In `npm test` every twentieth, and in `test:all` each. */
const step = inject('casesFactor') < 0.5 ? 20 : 1

test.each(Object.entries(promises))('%s: %s', async (group, _promise) => {
  const problems: string[] = []
  for (const [at, each] of all.filter(each => each.group === group).entries()) {
    if (at % step !== 0) continue
    const outcome = await run(each)
    const problem = each.problem(outcome)
    if (problem) problems.push(`${each.name}: ${problem} ${JSON.stringify(outcome)}`)
  }
  expect(problems).toEqual([])
})

test('the same seed gives the same outcome', async () => {
  const each = scenario('bucket 50, 20 ms')
  expect(await run(each)).toEqual(await run(each))
})
