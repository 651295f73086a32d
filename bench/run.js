// `npm run bench` compares this client with others. See README.md.
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { install } from './install.js'
import { kinds, packages, smoke } from './kinds.js'
import { startServer } from './server.js'
import { rowsOf, table } from './tables.js'

const here = import.meta.dirname
const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    smoke: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})
const failures = new Map()

/** Every word of `--only` must be in the name. */
function isChosen({ label }) {
  const words = options.only.toLowerCase().split(' ')
  return words.every(word => label.toLowerCase().includes(word))
}

/** Runs a case in a fresh process. Runs it again if it fails, because a busy machine can be the reason. */
async function measure(server, one) {
  for (let attempt = 1; ; attempt++) {
    const service = one.latency === undefined ? undefined : await server.open(one)
    try {
      const args = [join(here, 'measure.js'), JSON.stringify({ ...one, origin: service?.origin })]
      const nodeArgs = [...(one.node ?? []), ...args]
      const { stdout } = await promisify(execFile)(process.execPath, nodeArgs, { timeout: 180_000 })
      return { ...JSON.parse(stdout), requests: await service?.close() }
    } catch (error) {
      await service?.close()
      if (attempt < 2) continue
      failures.set(one.label, whatWentWrong(error))
      return null
    }
  }
}

function whatWentWrong({ stderr, killed, message }) {
  if (killed) return 'took too long'
  return /^\w*Error\b.*$/m.exec(stderr ?? '')?.[0] ?? message
}

function shuffled(values) {
  const order = values.map(value => ({ value, at: Math.random() }))
  return order.sort((a, b) => a.at - b.at).map(({ value }) => value)
}

/** Runs the cases of a round in random order. Cases that mostly wait run several at a time. */
async function runRound(server, cases, record) {
  for (const lanes of new Set(cases.map(one => one.lanes ?? 1))) {
    const queue = shuffled(cases.filter(one => (one.lanes ?? 1) === lanes))
    const work = async () => {
      for (let one = queue.shift(); one; one = queue.shift()) record(one, await measure(server, one))
    }
    await Promise.all(Array.from({ length: lanes }, work))
  }
}

/** Measures and prints the chosen cases of a kind. Returns them by group and case. */
async function runKind(server, kind, { groups, rounds = Number(options.rounds) }) {
  const chosen = groups
    .map(group => ({ ...group, cases: group.cases.filter(isChosen) }))
    .filter(({ cases }) => cases.length > 0)
  const cases = chosen.flatMap(group => group.cases)
  const found = new Map(cases.map(one => [one.label, []]))
  for (let round = 0; round < rounds && cases.length > 0; round++) {
    console.error(`${kind}, round ${round + 1} of ${rounds}`)
    await runRound(server, cases, (one, result) => {
      found.get(one.label)[round] = result
    })
  }
  const measured = chosen.map(group => {
    const byName = Object.fromEntries(group.cases.map(({ name, label }) => [name, found.get(label)]))
    console.log(`\n${group.key}\n\n${table(group, rowsOf(group, byName))}`)
    return [group.key, byName]
  })
  return Object.fromEntries(measured)
}

async function runAll(server) {
  const measured = {}
  for (const [name, kind] of Object.entries(kinds)) Object.assign(measured, await runKind(server, name, kind))
  const isWhole = options.only === '' && failures.size === 0
  if (isWhole) save(measured)
  else console.log('\nNot everything was measured, so bench/results.json is unchanged.')
}

function save(measured) {
  const machine = `${availableParallelism()} × ${cpus()[0].model.trim()}`
  const about = {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    machine: `${machine}, ${Math.round(totalmem() / 1024 ** 3)} GB, ${process.platform} ${process.arch}`,
    rounds: Number(options.rounds),
    packages,
  }
  const short = (_key, value) => (typeof value === 'number' ? Number(value.toPrecision(6)) : value)
  const text = JSON.stringify({ about, measured }, short, 1)
  // One line for each case, so diffs of results are readable.
  const lines = text.replaceAll(
    /\[\s+([^[\]]+?)\s+\]/g,
    (_all, inner) => `[${inner.replaceAll(/\s+/g, ' ')}]`,
  )
  writeFileSync(join(here, 'results.json'), `${lines}\n`)
}

async function runSmoke(server) {
  for (const one of smoke.filter(isChosen)) {
    const found = await measure(server, one)
    if (found && found.requests !== one.requests) {
      failures.set(one.label, `${found.requests} requests instead of ${one.requests}`)
    }
    console.log(`${failures.has(one.label) ? '✗' : '✓'} ${one.label}`)
  }
}

const everyCase = Object.values(kinds).flatMap(({ groups }) => groups.flatMap(({ cases }) => cases))
const chosen = (options.smoke ? smoke : everyCase).filter(isChosen)
if (chosen.length === 0) throw new Error(`no measurement has "${options.only}" in its name; see --list`)
if (options.list) {
  for (const { label } of chosen) console.log(label)
} else {
  install()
  const server = await startServer()
  await (options.smoke ? runSmoke(server) : runAll(server))
  server.stop()
  for (const [label, what] of failures) console.error(`✗ ${label}: ${what}`)
  if (failures.size > 0) process.exitCode = 1
}
