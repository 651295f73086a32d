// Measures our client beside others: `npm run bench`. See README.md.
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { install } from './install.js'
import { kinds, smoke, versions } from './kinds.js'
import { startServer } from './server.js'
import { rowsOf, table } from './tables.js'

const here = fileURLToPath(new URL('.', import.meta.url))

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    smoke: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})
const failures = new Map()

/** Every word of `--only` must stand in the name. */
function isChosen({ label }) {
  const name = label.toLowerCase()
  return options.only
    .toLowerCase()
    .split(' ')
    .every(word => name.includes(word))
}

/** Runs a case in a fresh process; a second time when it fails, as a busy machine can be the reason. */
async function measure(server, one) {
  for (let attempt = 1; ; attempt++) {
    const needsServer = one.latency !== undefined
    const service = needsServer ? await server.open(one.peer, one.items, one.latency) : undefined
    try {
      const { leastMs: _leastMs, node = [], ...rest } = one
      const args = [...node, `${here}measure.js`, JSON.stringify({ ...rest, origin: service?.origin })]
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 180_000 })
      const requests = await service?.close()
      return requests === undefined ? JSON.parse(stdout) : { ...JSON.parse(stdout), requests }
    } catch (error) {
      await service?.close()
      if (attempt === 2) {
        failures.set(one.label, whatWentWrong(error))
        return null
      }
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

/** What is done and how long the rest will take, by guesses that are corrected as time goes by. */
class Progress {
  #began = performance.now()
  #done = 0
  #guessed
  #shown = 0

  constructor(guessedSeconds) {
    this.#guessed = guessedSeconds
  }

  show(what) {
    const elapsed = (performance.now() - this.#began) / 1000
    const pace = this.#done > 5 ? elapsed / this.#done : 1
    const left = Math.ceil((Math.max(0, this.#guessed - this.#done) * pace) / 60)
    const line = `${Math.round((100 * this.#done) / this.#guessed)} %, ${left} min left: ${what}`
    if (process.stderr.isTTY) process.stderr.write(`\r${line.slice(0, 100).padEnd(100)}`)
    else if (elapsed - this.#shown > 15 || this.#shown === 0) {
      this.#shown = elapsed
      console.error(line)
    }
  }

  finished(seconds) {
    this.#done += seconds
  }
}

const secondsOf = ({ seconds, lanes = 1 }) => seconds / lanes

/** One round: its cases in random order; those that only wait some at a time. */
async function runRound(server, cases, progress, title, record) {
  for (const lanes of new Set(shuffled(cases.map(one => one.lanes ?? 1)))) {
    const queue = shuffled(cases.filter(one => (one.lanes ?? 1) === lanes))
    const work = async () => {
      for (let one = queue.shift(); one; one = queue.shift()) {
        progress.show(`${title}, ${one.label}`)
        record(one, await measure(server, one))
        progress.finished(secondsOf(one))
      }
    }
    await Promise.all(Array.from({ length: lanes }, work))
  }
}

async function runKind(server, name, kind, progress) {
  const groups = kind.groups
    .map(group => ({ ...group, chosen: group.cases.filter(isChosen) }))
    .filter(({ chosen }) => chosen.length > 0)
  if (groups.length === 0) return
  const rounds = roundsOf(kind)
  const measured = Object.fromEntries(
    groups.map(({ title, chosen }) => [title, Object.fromEntries(chosen.map(({ name }) => [name, []]))]),
  )
  for (let round = 0; round < rounds; round++) {
    const cases = groups.flatMap(({ chosen }) => chosen)
    await runRound(server, cases, progress, `round ${round + 1}/${rounds}`, (one, found) => {
      measured[one.group][one.name][round] = found
    })
  }
  if (process.stderr.isTTY) process.stderr.write('\r'.padEnd(101))
  for (const group of groups) {
    const rows = rowsOf({ ...group, cases: group.chosen }, measured[group.title])
    console.log(`\n${name}: ${group.title}\n\n${table(group, rows)}`)
  }
  const isWhole = kind.groups.every(({ cases }) => cases.every(isChosen))
  if (isWhole) save(name, { about: about(name, rounds), measured })
  else console.log(`\nOnly a part of ${name}: bench/results/${name}.json is left as it is.`)
}

function about(kind, rounds) {
  return {
    command: `npm run bench -- --only ${kind}`,
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    machine: `${availableParallelism()} × ${cpus()[0].model.trim()}, ${Math.round(totalmem() / 1024 ** 3)} GB, ${process.platform} ${process.arch}`,
    rounds,
    versions,
  }
}

/** A line for each case, so that a change of results can be read as one. */
function save(name, result) {
  const lines = JSON.stringify(result, round, 1).replaceAll(/\[\s+([^[\]]+?)\s+\]/g, (_all, inner) => {
    return `[${inner.replaceAll(/\s+/g, ' ')}]`
  })
  mkdirSync(`${here}results`, { recursive: true })
  writeFileSync(`${here}results/${name}.json`, `${lines}\n`)
}

function round(_key, value) {
  return typeof value === 'number' ? Number(value.toPrecision(6)) : value
}

function roundsOf(kind) {
  return kind.rounds ?? Number(options.rounds)
}

async function runSmoke(server) {
  for (const one of smoke.cases.filter(isChosen)) {
    const found = await measure(server, one)
    // Three pages, one GET, one POST.
    if (found && found.requests !== 5) failures.set(one.label, `${found.requests} requests instead of 5`)
    console.log(failures.has(one.label) ? `✗ ${one.name}` : `✓ ${one.name}`)
  }
}

async function runAll(server) {
  const seconds = Object.values(kinds).map(kind => {
    const chosen = kind.groups.flatMap(({ cases }) => cases).filter(isChosen)
    return roundsOf(kind) * chosen.reduce((sum, one) => sum + secondsOf(one), 0)
  })
  const progress = new Progress(seconds.reduce((sum, value) => sum + value, 0))
  for (const [name, kind] of Object.entries(kinds)) await runKind(server, name, kind, progress)
}

const everyCase = Object.values(kinds).flatMap(({ groups }) => groups.flatMap(({ cases }) => cases))
const chosen = (options.smoke ? smoke.cases : everyCase).filter(isChosen)
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
