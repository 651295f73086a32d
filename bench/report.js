// Writes what `npm run bench` found into docs: `npm run bench:report`. With --check it writes nothing, and exits with 1
// when the documents show anything else than bench/results.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { baseline } from './entries.js'
import { kinds } from './kinds.js'
import { readmeChart } from './readme-chart.js'
import { format, rowsOf } from './tables.js'

const docs = new URL('../docs/', import.meta.url)
const isCheck = process.argv.includes('--check')
const own = 'virtual-accounts'
const atOnce = concurrency => `${own}, ${concurrency} at once`

function resultOf(kind) {
  const file = new URL(`results/${kind}.json`, import.meta.url)
  if (!existsSync(file)) throw new Error(`no results of ${kind}: npm run bench -- --only ${kind}`)
  return JSON.parse(readFileSync(file))
}

const results = Object.fromEntries(Object.keys(kinds).map(kind => [kind, resultOf(kind)]))

/** One column of a group: the values by name, and how they are written. */
function figure(kind, groupIndex, title) {
  const group = kinds[kind].groups[groupIndex]
  const index = group.columns.findIndex(column => column.title === title)
  const rows = rowsOf(group, results[kind].measured[group.title] ?? {})
  const values = Object.fromEntries(rows.map(({ name, values }) => [name, values[index]]))
  return { values, show: name => format(values[name], group.columns[index]) }
}

function markdown(head, rows) {
  const line = cells => `| ${cells.join(' | ')} |`
  return [line(head), `|---${'|--:'.repeat(head.length - 1)}|`, ...rows.map(line)].join('\n')
}

const shownPeers = [baseline, 'ky', 'increase', 'openai', 'stripe']

/** Ours beside the best known of the others, and our place among all. */
function overview() {
  const compared = [
    ['10,000 items, 20 ms a request: s', figure('walk', 1, 'wall s'), atOnce(4)],
    ['10,000 items, 100 ms a request: s', figure('walk', 2, 'wall s'), atOnce(4)],
    ['100,000 items, no latency: CPU µs an item', figure('walk', 3, 'CPU µs/item'), atOnce(4)],
    ['one GET: CPU µs', figure('call', 0, 'CPU µs/call'), own],
    ['one POST: CPU µs', figure('call', 1, 'CPU µs/call'), own],
    ['bundle, minified and compressed: kB', figure('size', 0, 'esbuild, min + gzip kB'), own],
    ['cold import and a first `Request`: CPU ms', figure('import', 0, 'CPU ms'), own],
    ['installed: MB', figure('footprint', 0, 'MB'), own],
  ]
  const rows = compared.map(([title, { values, show }, ours]) => {
    const others = Object.entries(values).filter(([name]) => !name.startsWith(own) && name !== 'bare Node')
    const known = others.filter(([, value]) => value !== undefined)
    const place = 1 + known.filter(([, value]) => value < values[ours]).length
    return [title, `**${show(ours)}**`, ...shownPeers.map(show), `${place} of ${known.length + 1}`]
  })
  return markdown(['', 'ours', ...shownPeers, 'our place'], rows)
}

/** What our own code adds to ky, which sends every request. */
function overhead() {
  const [get, post] = [0, 1].map(index => figure('call', index, 'CPU × ky').show(own))
  const walk = figure('walk', 3, 'CPU × increase').show(atOnce(4))
  return `A GET takes ${get} × the CPU time of ky alone, a POST ${post} ×; a walk without latency ${walk} × that of increase, which validates nothing.`
}

function concurrency() {
  const seconds = [1, 2].map(index => figure('walk', index, 'wall s'))
  const ratios = [1, 2].map(index => figure('walk', index, 'wall × fetch'))
  const rows = [1, 2, 4, 8, 16].map(count => [
    `\`concurrency: ${count}\``,
    ...[0, 1].flatMap(index => [seconds[index].show(atOnce(count)), ratios[index].show(atOnce(count))]),
  ])
  const least = figure('walk', 5, 'wall × least possible').show(atOnce(16))
  const head = ['', '20 ms: s', '× fetch', '100 ms: s', '× fetch']
  return `${markdown(head, rows)}\n\nOver 1,000 pages at 100 ms, 16 at once take ${least} × the least possible: latency × pages ÷ 16.`
}

function verified() {
  const rows = [20, 50, 100].map((limit, index) => {
    const requests = figure('verified', index, 'requests × plain')
    const time = figure('verified', index, 'wall × plain')
    const cells = ['verified', 'verified, 16 changes'].flatMap(name => [requests.show(name), time.show(name)])
    return [`limit ${limit}`, ...cells]
  })
  return markdown(['× plain', 'requests', 'time', 'requests, 16 changes', 'time, 16 changes'], rows)
}

function memory() {
  const { show } = figure('memory', 0, 'most heap MB')
  const heap = `A walk of 1,000,000 items holds at most ${show(atOnce(4))} MB of heap (\`fetch\`: ${show(baseline)}).`
  const { show: cost } = figure('validation', 0, 'more than JSON.parse')
  return `${heap} Validating an item costs ${cost(own)} ns beyond \`JSON.parse\`; mistral, which validates too, needs ${cost('mistral')}.`
}

/** Machine and dates. */
function machine() {
  const abouts = Object.values(results).map(({ about }) => about)
  const { node, machine } = results.walk.about
  const dates = [...new Set(abouts.map(({ date }) => date))].sort()
  const rounds = Math.max(...abouts.map(({ rounds }) => rounds))
  return `Node ${node.slice(1)}, ${machine}, ${dates.join(' and ')}, medians of ${rounds} rounds.`
}

function chart() {
  const { values, show } = figure('walk', 1, 'wall s')
  const others = Object.keys(values).filter(name => !name.startsWith(own) && name !== baseline)
  const best = others.toSorted((a, b) => values[a] - values[b])[0]
  const labels = {
    [atOnce(4)]: `${own}, 4 in parallel: the default`,
    [atOnce(16)]: `${own}, 16 in parallel`,
    [atOnce(1)]: `${own}, 1 page at a time`,
    [best]: `best of ${others.length} other clients: ${best}`,
    [baseline]: 'hand-written fetch loop',
  }
  const bars = Object.entries(labels).map(([name, label]) => {
    const what = name === atOnce(4) ? 'default' : name.startsWith(own) ? 'ours' : 'others'
    return { label, value: values[name], shown: `${show(name)} s`, what }
  })
  return readmeChart({
    title: 'List 10,000 transactions',
    note: '100 pages, 20 ms each; lower is better',
    bars,
  })
}

const sections = { overview, overhead, concurrency, verified, memory, machine }
const written = new Set()

/** What stands between `<!-- bench: name -->` and `<!-- /bench -->` is ours to write. */
function fill(text) {
  return text.replaceAll(/(<!-- bench: (\w+) -->\n)[\s\S]*?(<!-- \/bench -->)/g, (_all, begin, name, end) => {
    written.add(name)
    return `${begin}\n${sections[name]()}\n\n${end}`
  })
}

function put(path, text) {
  const file = new URL(path, docs)
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return
  console.log(`${isCheck ? 'differs' : 'written'}: docs/${path}`)
  if (isCheck) process.exitCode = 1
  else writeFileSync(file, text)
}

put('performance.md', fill(readFileSync(new URL('performance.md', docs), 'utf8')))
put('charts/readme.svg', chart())
const missing = Object.keys(sections).filter(name => !written.has(name))
if (missing.length > 0) throw new Error(`docs/performance.md has no place for: ${missing.join(', ')}`)
