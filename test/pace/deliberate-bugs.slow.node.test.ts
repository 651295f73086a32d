import { expect, test } from 'vitest'
import { Pace, type QueuedCall } from '../../src/http/pace.ts'
import { Paces } from '../../src/http/paces.ts'
import { Queue } from '../../src/http/queue.ts'
import { RetryBudget } from '../../src/http/retry-budget.ts'
import { scenario } from './scenarios.ts'
import { run } from './trial.ts'

interface DeliberateBug {
  readonly name: string
  readonly target: object
  readonly method: string
  readonly create: (original: (...args: unknown[]) => unknown) => (this: never, ...args: never[]) => unknown
  /** The scenario that must show the bug. */
  readonly scenario: string
}

const nothing = () => () => {}

const bugs: readonly DeliberateBug[] = [
  {
    name: 'any number of requests is in flight',
    target: Queue.prototype,
    method: 'take',
    create: original =>
      function (this: unknown, call: QueuedCall) {
        return Reflect.apply(original, this, [Object.assign(call, { maxInFlight: 5_000 })])
      } as never,
    scenario: '2,000 at once',
  },
  {
    name: 'no place is given back',
    target: Queue.prototype,
    method: 'leave',
    create: nothing,
    scenario: '2,000 at once',
  },
  {
    name: 'all calls wait for a hanging service',
    target: Queue.prototype,
    method: 'timedOut',
    create: nothing,
    scenario: 'hang',
  },
  {
    name: 'refusals in a row concern nobody else',
    target: Pace.prototype,
    method: 'refused',
    create: original =>
      function (this: unknown, call: QueuedCall, ...rest: unknown[]) {
        call.waitedMs ||= 1
        return Reflect.apply(original, this, [call, ...rest])
      } as never,
    scenario: 'bucket 100 a second, 50 ms, exact, 2000 at a time',
  },
  {
    name: 'no success ends a pause',
    target: Pace.prototype,
    method: 'passed',
    create: nothing,
    scenario: 'bucket 50, 20 ms',
  },
  {
    name: 'a refusal among passes concerns all',
    target: Pace.prototype,
    method: 'refused',
    create: original =>
      function (this: unknown, call: QueuedCall, ...rest: unknown[]) {
        for (let each = 0; each < 6; each++) Reflect.apply(original, this, [{ ...call }, ...rest])
        return Reflect.apply(original, this, [call, ...rest])
      } as never,
    scenario: '5 % of 20 a second, 30',
  },
  {
    name: 'calls wait during an outage as for a limit',
    target: Pace.prototype,
    method: 'failed',
    create: nothing,
    scenario: 'a 429, then lost, 2000 calls',
  },
  {
    name: 'each token has a pace of its own',
    target: Paces.prototype,
    method: 'assign',
    create: original =>
      function (this: { sources?: unknown }, config: object, ...rest: unknown[]) {
        return Reflect.apply(original, this, [{ ...config, apiKey: 'none' }, ...rest])
      } as never,
    scenario: 'a token for each attempt, 1000',
  },
  {
    name: 'a call that succeeds gives no retries back',
    target: RetryBudget.prototype,
    method: 'giveBack',
    create: nothing,
    scenario: '503 again and again',
  },
  {
    name: 'there is no end to retries in an outage',
    target: RetryBudget.prototype,
    method: 'take',
    create: () => () => true,
    scenario: '503 for ever',
  },
]

test.each(bugs)('the simulation finds that $name', async ({ target, method, create, scenario: name }) => {
  const each = scenario(name)
  const methods = target as Record<string, (...args: unknown[]) => unknown>
  const original = methods[method]!
  methods[method] = create(original) as never
  try {
    expect(each.problem(await run(each))).toEqual(expect.any(String))
  } finally {
    methods[method] = original
  }
})
