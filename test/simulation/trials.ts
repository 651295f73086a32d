import { createScenario, type Family, families } from './families.ts'
import { type Expectations, judge, type Verdict } from './oracle.ts'
import { Random } from './random.ts'
import type { Scenario } from './scenario.ts'
import { type WalkRecord, walk } from './walk.ts'

/** `verified` not given, `true`, `false`. */
export type Mode = 'default' | 'verified' | 'plain'

export const modes = ['default', 'verified', 'plain'] as const
const verifiedOf = { default: undefined, verified: true, plain: false }

export const concurrencies = [1, 2, 4, 16] as const

export interface Trial {
  readonly family: Family
  readonly mode: Mode
  /** Names the walk: `<number>-<mode>-<concurrency>`. */
  readonly seed: string
  readonly scenario: Scenario
}

export function createTrial(family: Family, mode: Mode, concurrency: number, number: number): Trial {
  const seed = `${number}-${mode}-${concurrency}`
  // Concurrency is not part of what the seed decides: the same list is walked at each.
  const random = new Random(`${family.name} ${number} ${mode}`)
  const scenario = createScenario(family, seed, random, { verified: verifiedOf[mode], concurrency })
  return { family, mode, seed, scenario }
}

export function findFamily(name: string): Family {
  const family = families.find(family => family.name === name)
  if (!family) throw new Error(`no family '${name}': ${families.map(({ name }) => name).join(', ')}`)
  return family
}

export function findTrial(familyName: string, seed: string): Trial {
  const family = findFamily(familyName)
  const [number, mode, concurrency] = seed.split('-')
  const known = modes.find(name => name === mode)
  if (known === undefined) throw new Error(`no seed '${seed}': 17-verified-4, say`)
  return createTrial(family, known, Number(concurrency), Number(number))
}

export function expectationsOf(family: Family, mode: Mode): Expectations {
  return mode === 'default' ? family.default : { ...family.default, ...family[mode] }
}

export async function run(
  { family, mode }: Pick<Trial, 'family' | 'mode'>,
  scenario: Scenario,
): Promise<{ record: WalkRecord; verdict: Verdict }> {
  const record = await walk(scenario)
  return { record, verdict: judge(record, expectationsOf(family, mode)) }
}

export const isViolation = (verdict: Verdict) => verdict.startsWith('VIOLATION')
