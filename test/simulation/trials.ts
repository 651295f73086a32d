import { createScenario, type Family, families } from './families.ts'
import { judge, type Verdict } from './oracle.ts'
import { Random } from './random.ts'
import type { Scenario } from './scenario.ts'
import { type WalkRecord, walk } from './walk.ts'

export type Mode = 'default' | 'verified'

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
  const scenario = createScenario(family, seed, random, { verified: mode === 'verified', concurrency })
  return { family, mode, seed, scenario }
}

export function findTrial(familyName: string, seed: string): Trial {
  const family = families.find(({ name }) => name === familyName)
  if (!family) throw new Error(`no family '${familyName}': ${families.map(({ name }) => name).join(', ')}`)
  const [number, mode, concurrency] = seed.split('-')
  if (mode !== 'default' && mode !== 'verified') throw new Error(`no seed '${seed}': 17-verified-4, say`)
  return createTrial(family, mode, Number(concurrency), Number(number))
}

export async function run(
  { family, mode }: Pick<Trial, 'family' | 'mode'>,
  scenario: Scenario,
): Promise<{ record: WalkRecord; verdict: Verdict }> {
  const record = await walk(scenario)
  return { record, verdict: judge(record, family[mode]) }
}

export const isViolation = (verdict: Verdict) => verdict.startsWith('VIOLATION')
