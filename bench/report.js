// Writes what `npm run bench` found into docs: `npm run bench:report`. With --check it writes nothing, and exits with 1
// when the documents show anything else than bench/results.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { baseline } from './entries.js'
import { install } from './install.js'
import { kinds } from './kinds.js'
import { readmeChart } from './readme-chart.js'
import { format, rowsOf, table } from './tables.js'

const docs = new URL('../docs/', import.meta.url)
const isCheck = process.argv.includes('--check')
const usual = 'virtual-accounts, 4 at once'
const most = 'virtual-accounts, 16 at once'

/** What is drawn and compared: each a column of a group. `ours` is who stands for us. */
const figures = [
  figure('walk-20', 'Walk of 10,000 items at 20 ms a request: seconds', 'walk', 1, 0, usual),
  figure('walk-100', 'Walk of 10,000 items at 100 ms a request: seconds', 'walk', 2, 0, usual),
  figure('walk-cpu', 'Walk of 100,000 items without latency: CPU µs an item', 'walk', 3, 0, usual),
  figure('get', 'One GET: CPU µs', 'call', 0, 0),
  figure('post', 'One POST: CPU µs', 'call', 1, 0),
  figure('size', 'Bundle of the whole client: kB, minified and compressed', 'size', 0, 0),
  figure('import', 'Cold import and a first Request: CPU ms', 'import', 0, 0),
  figure('footprint', 'Installed: MB', 'footprint', 0, 1),
]

function figure(file, title, kind, groupIndex, columnIndex, ours = 'virtual-accounts') {
  const group = kinds[kind].groups[groupIndex]
  return { file, title, kind, group, column: group.columns[columnIndex], columnIndex, ours }
}

function resultOf(kind) {
  const file = new URL(`results/${kind}.json`, import.meta.url)
  if (!existsSync(file)) throw new Error(`no results of ${kind}: npm run bench -- --only ${kind}`)
  return JSON.parse(readFileSync(file))
}

const results = Object.fromEntries(Object.keys(kinds).map(kind => [kind, resultOf(kind)]))

function rows(kind, group) {
  return rowsOf(group, results[kind].measured[group.title] ?? {})
}

/** Rows of a figure that have a value; what only helps to measure left out. */
function barsOf({ kind, group, column, columnIndex }) {
  return rows(kind, group)
    .map(({ name, isOurs, values }) => {
      const value = values[columnIndex]
      const what = isOurs ? 'ours' : name === baseline ? 'bare' : 'others'
      return { name, value, shown: format(value, column), what }
    })
    .filter(({ name, value }) => value !== undefined && name !== 'bare Node')
}

/** The few bars of README.md, from the figure that performance.md shows whole. */
function readmeBars() {
  const bars = barsOf(figures.find(({ file }) => file === 'walk-20'))
  const bestOther = bars.filter(({ what }) => what === 'others').sort((a, b) => a.value - b.value)[0]
  const labels = {
    [usual]: 'virtual-accounts, 4 in parallel: the default',
    [most]: 'virtual-accounts, 16 in parallel',
    'virtual-accounts, 1 at once': 'virtual-accounts, 1 page at a time',
    [bestOther.name]: `best of ${bars.filter(({ what }) => what === 'others').length} other clients: ${bestOther.name}`,
    [baseline]: 'hand-written fetch loop',
  }
  return Object.entries(labels).map(([name, label]) => {
    const { value, shown, what } = bars.find(bar => bar.name === name)
    const kind = name === usual ? 'default' : what === 'ours' ? 'ours' : 'others'
    return { label, value, shown: `${shown} s`, what: kind }
  })
}

/** Machine, date and command of a kind. */
function source({ about: { node, machine, date, rounds, command } }) {
  const medians = rounds === 1 ? 'one round' : `medians of ${rounds} rounds`
  return `\`${command}\`: Node ${node.slice(1)}, ${machine}, ${date}, ${medians}.`
}

function section(kind) {
  const drawn = figures.filter(one => one.kind === kind)
  const parts = kinds[kind].groups.map(group => {
    const charts = drawn
      .filter(one => one.group === group)
      .map(({ file, title }) => `![${title}](charts/${file}.svg)\n\n`)
    return `### ${group.title[0].toUpperCase()}${group.title.slice(1)}\n\n${charts.join('')}${table(group, rows(kind, group))}`
  })
  return [source(results[kind]), ...parts].join('\n\n')
}

/** Ours beside the others, and by name who needs less. */
function overview() {
  const lines = figures.flatMap(one => {
    const bars = barsOf(one)
    const find = name => bars.find(bar => bar.name === name)
    const mine = [one.ours, ...(one.ours === usual ? [most] : [])].map(find).filter(Boolean)
    return mine.map(ours => {
      const better = bars
        .filter(({ what, value }) => what !== 'ours' && value < ours.value)
        .sort((a, b) => a.value - b.value)
        .map(({ name, shown }) => `${name} ${shown}`)
      const how = ours.name.includes(', ') ? ` (${ours.name.split(', ')[1]})` : ''
      const bare = find(baseline)?.shown ?? '–'
      return `| ${one.title}${how} | ${ours.shown} | ${bare} | ${better.join(', ') || 'nobody'} |`
    })
  })
  return ['| | ours | bare fetch | who needs less than we do |', '|---|--:|--:|---|', ...lines].join('\n')
}

function versions() {
  const { about } = results.walk
  const names = Object.values(about.versions).flat()
  return `Versions: ${names.map(name => `\`${name}\``).join(', ')}; \`fetch\` is that of Node ${about.node.slice(1)}.`
}

const sections = {
  overview,
  versions,
  ...Object.fromEntries(Object.keys(kinds).map(kind => [kind, () => section(kind)])),
}
const written = new Set()

/** What stands between `<!-- bench: name -->` and `<!-- /bench -->` is ours to write. */
function fill(text) {
  return text.replaceAll(/(<!-- bench: (\w+) -->\n)[\s\S]*?(<!-- \/bench -->)/g, (_all, begin, name, end) => {
    written.add(name)
    return `${begin}\n${sections[name]()}\n\n${end}`
  })
}

let differs = false

function put(path, text) {
  const file = new URL(path, docs)
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return
  differs = true
  console.log(`${isCheck ? 'differs' : 'written'}: docs/${path}`)
  if (!isCheck) writeFileSync(file, text)
}

mkdirSync(new URL('charts/', docs), { recursive: true })
put('performance.md', fill(readFileSync(new URL('performance.md', docs), 'utf8')))
install()
const { barChart } = await import('./chart.js')
for (const one of figures) put(`charts/${one.file}.svg`, barChart(one.title, barsOf(one)))
const title = 'List 10,000 transactions'
put(
  'charts/readme.svg',
  readmeChart({ title, note: '100 pages, 20 ms each; lower is better', bars: readmeBars() }),
)
const missing = Object.keys(sections).filter(name => !written.has(name))
if (missing.length > 0) throw new Error(`docs/performance.md has no place for: ${missing.join(', ')}`)
if (isCheck && differs) process.exitCode = 1
