// Writes what `npm run bench` found into docs/performance.md: `npm run bench:report`. With --check it writes nothing, and
// exits with 1 when the guide shows anything else than results.json.
import { readFileSync, writeFileSync } from 'node:fs'
import { baseline, kinds, own, unverified, wide } from './kinds.js'
import { format, markdown, rowsOf } from './tables.js'

const isCheck = process.argv.includes('--check')
const guide = new URL('../docs/performance.md', import.meta.url)
const { about, measured } = JSON.parse(readFileSync(new URL('results.json', import.meta.url)))
const groups = Object.values(kinds).flatMap(kind => kind.groups)

/** One column of a group, as a function of the row's name. */
function figure(key, title) {
  const group = groups.find(group => group.key === key)
  const index = group.columns.findIndex(column => column.title === title)
  const rows = rowsOf(group, measured[key])
  return name => {
    const row = rows.find(row => row.name === name)
    return row ? format(row.values[index], group.columns[index]) : '–'
  }
}

const shown = [own, unverified, baseline, 'stripe', 'openai', 'increase', 'octokit', 'ky']

function overview() {
  const rows = [
    ['10,000 items, 20 ms a request: s', figure('walk: 10000 items, 20 ms, limit 100', 's')],
    ['10,000 items, 100 ms a request: s', figure('walk: 10000 items, 100 ms, limit 100', 's')],
    ['an item, no latency: CPU µs', figure('walk: 100000 items, 0 ms, limit 100', 'CPU µs/item')],
    ['a GET: CPU µs', figure('call: GET', 'CPU µs')],
    ['a POST: CPU µs', figure('call: POST', 'CPU µs')],
    ['import, first request: CPU ms', figure('import: import and a first Request', 'CPU ms')],
    ['bundle, min + gzip: kB', figure('size: bundled', 'esbuild, min + gzip kB')],
    ['installed: MB', figure('footprint: installed', 'MB')],
  ]
  const head = ['', 'ours', '`verified: false`', ...shown.slice(2)]
  return markdown(
    head,
    rows.map(([title, of]) => [title, `**${of(own)}**`, ...shown.slice(1).map(of)]),
  )
}

function wider() {
  const seconds = figure('walk: 100000 items, 100 ms, limit 100', 's')(wide)
  const heap = figure('memory: 1000000 items, 64 MB of heap', 'most heap MB')(own)
  return (
    `1,000 pages at 100 ms take ${seconds} s with \`verified: false\` and \`concurrency: 16\`. ` +
    `A loop over 1,000,000 items holds at most ${heap} MB of heap.`
  )
}

function requests() {
  const by = limit => figure(`walk: ${100 * limit} items, 20 ms, limit ${limit}`, 'requests')(own)
  return `For a list of 100 pages that does not change, overlap needs ${by(50)} requests at a limit of 50, and ${by(20)} at 20.`
}

function machine() {
  const rounds = about.rounds === 1 ? 'one round' : `medians of ${about.rounds} rounds`
  return `Node ${about.node.slice(1)}, ${about.machine}, ${about.date}, ${rounds}.`
}

const sections = { overview, wider, requests, machine }
const before = readFileSync(guide, 'utf8')
const after = before.replaceAll(
  /(<!-- bench: (\w+) -->\n)[\s\S]*?(<!-- \/bench -->)/g,
  (_all, begin, name, end) => `${begin}\n${sections[name]()}\n\n${end}`,
)
if (after !== before) {
  console.log(`${isCheck ? 'differs' : 'written'}: docs/performance.md`)
  if (isCheck) process.exitCode = 1
  else writeFileSync(guide, after)
}
