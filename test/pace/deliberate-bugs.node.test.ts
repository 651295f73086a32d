import { expect, test } from 'vitest'
import { RetryBudget } from '../../src/http/retry-budget.ts'
import { type Refusals, Throttle } from '../../src/http/throttle.ts'
import { alone, blips, limits, outages } from './scenarios.ts'
import { type Outcome, run, type Scenario } from './trial.ts'

interface DeliberateBug {
  readonly name: string
  readonly target: object
  readonly method: string
  readonly create: (original: (...args: unknown[]) => unknown) => (this: never, ...args: never[]) => unknown
  readonly scenarios: readonly Scenario[]
  /** Whether a promise is broken. */
  readonly isFound: (outcome: Outcome, scenario: Scenario) => boolean
}

const isIncomplete = ({ succeeded }: Outcome, { calls }: Scenario) => succeeded < calls
const isSlow = ({ seconds, ideal }: Outcome) => seconds > 1.35 * ideal + 5
const isRefusedOften = ({ refusals }: Outcome, { calls }: Scenario) => refusals / calls > 0.2

const bugs: readonly DeliberateBug[] = [
  {
    name: 'nobody waits for a turn',
    target: Throttle.prototype,
    method: 'free',
    create: () => () => 0,
    scenarios: [{ ...limits[3]!, calls: 500 }],
    isFound: isRefusedOften,
  },
  {
    name: 'no pass ends a pause',
    target: Throttle.prototype,
    method: 'passed',
    create: () => () => {},
    scenarios: limits.slice(0, 1),
    isFound: isSlow,
  },
  {
    name: 'a refused call is never taken for one that is refused for itself',
    target: Throttle.prototype,
    method: 'refused',
    create: original =>
      function (this: unknown, turn: unknown, call: Refusals, ...rest: unknown[]) {
        call.pausedAt = Number.POSITIVE_INFINITY
        return Reflect.apply(original, this, [turn, call, ...rest])
      } as never,
    scenarios: alone.slice(2, 3),
    isFound: ({ succeeded, seconds }) => succeeded < 180 || seconds > 250,
  },
  {
    name: 'a refused call is taken for one that is refused for itself although others were refused as often',
    target: Throttle.prototype,
    method: 'passed',
    create: original =>
      function (this: unknown, turn: unknown) {
        Reflect.apply(original, this, [turn, { count: 0 }])
      } as never,
    scenarios: limits.filter(({ name }) => name.startsWith('windows of 5 in 30 seconds')),
    isFound: isIncomplete,
  },
  {
    name: 'a call that succeeds gives no retries back',
    target: RetryBudget.prototype,
    method: 'giveBack',
    create: () => () => {},
    scenarios: [{ ...blips[2]!, outage: now => (now % 500 < 200 ? 503 : undefined) }],
    isFound: isIncomplete,
  },
  {
    name: 'there is no end to retries in an outage',
    target: RetryBudget.prototype,
    method: 'take',
    create: () => () => true,
    scenarios: outages.slice(1),
    isFound: ({ requests }, { calls }) => requests / calls > 1.1,
  },
]

test.each(bugs)(
  'the simulation finds that $name',
  { timeout: 60_000 },
  async ({ target, method, create, scenarios, isFound }) => {
    const methods = target as Record<string, (...args: unknown[]) => unknown>
    const original = methods[method]!
    methods[method] = create(original) as never
    try {
      for (const scenario of scenarios) if (isFound(await run(scenario), scenario)) return
    } finally {
      methods[method] = original
    }
    expect.fail('no promise was broken')
  },
)
