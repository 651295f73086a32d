// Tens of thousands of walks, and a table of what came of them. See `usage`.
import { parseArgs } from 'node:util'
import { type Family, families } from './families.ts'
import { smallest } from './smallest.ts'
import { traceOf } from './trace.ts'
import {
  concurrencies,
  createTrial,
  findFamily,
  findTrial,
  isViolation,
  type Mode,
  modes,
  run,
  type Trial,
} from './trials.ts'

const usage = `npm run simulate -- --walks 50000 [--family 'many swaps'] [--mode verified] [--stop]
  Simulates walks (default: 20000). --stop ends at the first violation.

SEED=17-verified-4 FAMILY='many swaps' npm run simulate
  Repeats one walk, as small as it gets, with its trace.`

const values = readOptions()
const { SEED, FAMILY } = process.env
const columns = [
  'right',
  'thrown',
  'not proven',
  'unseen loss',
  'unseen disorder',
  'shown loss',
  'left',
  'not judged',
] as const

process.exitCode = SEED && FAMILY ? await showOne(findTrial(FAMILY, SEED)) : await runAll()

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        walks: { type: 'string', default: '20000' },
        family: { type: 'string' },
        mode: { type: 'string' },
        stop: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (!values.help) return values
    console.log(usage)
    process.exit()
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

async function showOne(trial: Trial): Promise<number> {
  const { verdict } = await run(trial, trial.scenario)
  console.log(`${trial.family.name}, ${trial.seed}: ${verdict}`)
  // Other rules hold below a limit of 20.
  const least = await smallest(trial.scenario, async smaller => {
    if ((smaller.limit ?? 20) < Math.min(20, trial.scenario.limit ?? 20)) return false
    return (await run(trial, smaller)).verdict === verdict
  })
  const { record } = await run(trial, least)
  console.log(`\n${traceOf(record)}`)
  return isViolation(verdict) ? 1 : 0
}

async function runAll(): Promise<number> {
  const chosen = values.family === undefined ? families : [findFamily(values.family)]
  const rows = chosen.flatMap(family => modesOf(family).map(mode => ({ family, mode })))
  if (rows.length === 0) throw new Error(`no walks in mode '${values.mode}': ${modes.join(', ')}`)
  const each = Math.ceil(Number(values.walks) / rows.length / concurrencies.length)
  console.log(['family', 'mode', 'walks', ...columns, 'violations'].join(' | '))
  let violations = 0
  let shownLosses = 0
  let walks = 0
  for (const row of rows) {
    const found = await runFamily(row.family, row.mode, row.family.isSlow ? Math.ceil(each / 10) : each)
    violations += found.violations.length
    shownLosses += found.shownLosses
    walks += found.walks
    console.log(found.line)
    for (const kind of new Set(found.violations.map(({ verdict }) => verdict))) {
      const same = found.violations.filter(({ verdict }) => verdict === kind)
      console.log(`    ${same.length} × ${kind}`)
      console.log(`      SEED=${same[0]?.seed} FAMILY="${row.family.name}" npm run simulate`)
    }
    if (values.stop && violations > 0) break
  }
  if (shownLosses > walks / 1_000) {
    console.log(`VIOLATION: ${shownLosses} of ${walks} walks lost what a dropped response had shown.`)
    violations += shownLosses
  }
  console.log(violations === 0 ? 'No violation.' : `${violations} violations.`)
  return violations === 0 ? 0 : 1
}

function modesOf({ isSkipped = [] }: Family): Mode[] {
  return modes.filter(mode => !isSkipped.includes(mode) && (values.mode ?? mode) === mode)
}

async function runFamily(family: Family, mode: Mode, each: number) {
  const counts = new Map<string, number>()
  const violations: { verdict: string; seed: string }[] = []
  let walks = 0
  const isOver = () => values.stop && violations.length > 0
  for (let number = 0; number < each && !isOver(); number++) {
    for (const concurrency of concurrencies) {
      const trial = createTrial(family, mode, concurrency, number)
      const { verdict } = await run(trial, trial.scenario)
      walks++
      counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
      if (isViolation(verdict)) violations.push({ verdict, seed: trial.seed })
      if (isOver()) break
    }
  }
  const share = (column: string) => {
    const count = counts.get(column) ?? 0
    return count === 0 ? '' : `${((100 * count) / walks).toFixed(1)} %`
  }
  const line = [family.name, mode, walks, ...columns.map(share), violations.length || ''].join(' | ')
  return { line, violations, walks, shownLosses: counts.get('shown loss') ?? 0 }
}
