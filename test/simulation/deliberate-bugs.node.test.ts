import { expect, test } from 'vitest'
import { deliberateBugs } from './deliberate-bugs.ts'
import { concurrencies, createTrial, findFamily, isViolation, run } from './trials.ts'

const maxWalks = 200

test.each(deliberateBugs)('the simulator finds that $name', async ({ inject, family: name, mode }) => {
  const family = findFamily(name)
  const restore = inject()
  let walks = 0
  let shownLosses = 0
  try {
    for (let number = 0; number < maxWalks; number++) {
      for (const concurrency of concurrencies) {
        const trial = createTrial(family, mode, concurrency, number)
        const { verdict } = await run(trial, trial.scenario)
        walks++
        if (verdict === 'shown loss') shownLosses++
        // One in a thousand is normal.
        if (isViolation(verdict) || shownLosses > 3 + walks / 100) return
      }
    }
  } finally {
    restore()
  }
  expect.fail('no walk broke a promise')
})
