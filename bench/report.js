// `npm run bench:report` writes the results of `npm run bench` into docs/performance.md. With --check, it writes nothing, and
// exits with 1 if the guide differs from results.json.
import { readFileSync, writeFileSync } from 'node:fs'
import { baseline, kinds, own, parallel, unverified, wide } from './kinds.js'
import { bar, format, markdown, rowsOf } from './tables.js'

const isCheck = process.argv.includes('--check')
const guide = new URL('../docs/performance.md', import.meta.url)
const { about, measured } = JSON.parse(readFileSync(new URL('results.json', import.meta.url)))
const groups = Object.values(kinds).flatMap(kind => kind.groups)

/** One column of a group. Its text and its value are functions of the row's name. */
function figure(key, title) {
  const group = groups.find(group => group.key === key)
  const index = group.columns.findIndex(column => column.title === title)
  const rows = rowsOf(group, measured[key] ?? {})
  const numberOf = name => rows.find(row => row.name === name)?.values[index]
  return { of: name => format(numberOf(name), group.columns[index]), numberOf }
}

const shown = [own, unverified, baseline, parallel, 'stripe', 'openai', 'increase', 'octokit', 'ky']
const labels = { [own]: 'virtual-accounts', [unverified]: 'the same, `verified: false`' }

/** Whether a row has a figure. The last run may have been partial. */
const isMeasured = ([, ...values]) => values.some(value => /\d/.test(value))

/** Clients are rows, so the table fits a narrow screen. */
function clients(columns) {
  const rows = shown.map(name => [name, ...columns.map(([, { of }]) => of(name))]).filter(isMeasured)
  const labelled = rows.map(([name, ...values]) =>
    name === own
      ? [`**${labels[own]}**`, ...values.map(value => `**${value}**`)]
      : [labels[name] ?? name, ...values],
  )
  return markdown(['', ...columns.map(([title]) => title)], labelled)
}

function bars() {
  const { of, numberOf } = figure('walk: 10000 items, 100 ms, limit 100', 's')
  const most = Math.max(...shown.map(numberOf).filter(Number.isFinite))
  return clients([
    ['seconds', { of }],
    ['', { of: name => bar(numberOf(name) / most) }],
  ])
}

function lists() {
  return clients([
    ['seconds at 20 ms', figure('walk: 10000 items, 20 ms, limit 100', 's')],
    ['CPU µs per item', figure('walk: 100000 items, 0 ms, limit 100', 'CPU µs/item')],
  ])
}

function limited() {
  const key = 'limit: 200 writes at once, 50 a second'
  return clients([
    ['applied', figure(key, 'succeeded')],
    ['seconds', figure(key, 's')],
    ['refused', figure(key, 'refusals')],
  ])
}

function calls() {
  return clients([
    ['CPU µs per GET', figure('call: GET', 'CPU µs')],
    ['CPU µs per POST', figure('call: POST', 'CPU µs')],
  ])
}

function size() {
  return clients([
    ['import, CPU ms', figure('import: import and a first Request', 'CPU ms')],
    ['bundle, kB', figure('size: bundled', 'esbuild, min + gzip kB')],
    ['disk, MB', figure('footprint: installed', 'MB')],
  ])
}

function changing() {
  const [one, three] = ['1 change', '3 change'].map(
    changes => `walk: 10000 items, 100 ms, limit 100, ${changes} with each page`,
  )
  return clients([
    ['missed at 1', figure(one, 'missed')],
    ['missed at 3', figure(three, 'missed')],
    ['seconds at 3', figure(three, 's')],
  ])
}

function unlimited() {
  const key = 'walk: 10000 items, 20 ms, no limit'
  const [ours, fetch] = [own, baseline].map(name =>
    ['requests', 's'].map(title => figure(key, title).of(name)),
  )
  if (!isMeasured(ours)) return ''
  return (
    'Without a `limit`, a loop requests 100 items a page. `fetch` gets the default, here 20. ' +
    `For 10,000 items at 20 ms, this client takes ${ours[0]} requests and ${ours[1]} s. ` +
    `\`fetch\` takes ${fetch[0]} and ${fetch[1]} s.`
  )
}

function wider() {
  const seconds = figure('walk: 100000 items, 100 ms, limit 100', 's').of(wide)
  const heap = figure('memory: 1000000 items, 64 MB of heap', 'most heap MB').of(own)
  return (
    `With \`verified: false\` and \`concurrency: 16\`, 1,000 pages at 100 ms take ${seconds} s. ` +
    `A loop over 1,000,000 items uses at most ${heap} MB of heap.`
  )
}

/** The number of requests that 100 pages take by default. */
function requestsAt(limit) {
  const items = limit === 100 ? 10_000 : 100 * limit
  return figure(`walk: ${items} items, 20 ms, limit ${limit}`, 'requests').of(own)
}

function requests() {
  const others = `${requestsAt(50)} at 50, ${requestsAt(20)} at 20 and ${requestsAt(10)} at 10`
  return `Because pages overlap, 100 pages take ${requestsAt(100)} requests at limit 100, ${others}.`
}

function machine() {
  const rounds = about.rounds === 1 ? 'one round' : `medians of ${about.rounds} rounds`
  return `Node ${about.node.slice(1)}, ${about.machine}, ${about.date}, ${rounds}.`
}

const sections = { bars, lists, changing, requests, unlimited, wider, limited, calls, size, machine }
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

const seconds = figure('walk: 10000 items, 100 ms, limit 100', 's')
const others = ['stripe', 'openai', 'increase', 'octokit']
const times = others.map(seconds.numberOf)
const tenths = [seconds.numberOf(own), Math.min(...times), Math.max(...times), seconds.numberOf(baseline)]
const [ownTime, least, most, loopTime] = tenths.map(number => number.toFixed(1))
const installed = figure('footprint: installed', 'MB').of(own)
const bundles = figure('size: bundled', 'esbuild, min + gzip kB')
const bundled = bundles.numberOf(own).toFixed(0)
const sizes = others.map(bundles.numberOf)
const [smallest, largest] = [Math.min(...sizes), Math.max(...sizes)].map(size => size.toFixed(0))

// Other texts that quote the same measurements.
for (const [file, text] of [
  ['README.md', `\\| ${ownTime} s \\| ${least} to ${most} s \\| ${loopTime} s \\|`],
  ['README.md', `\\| ${bundled} kB \\| ${smallest} to ${largest} kB \\| 0 kB \\|`],
  [
    'README.md',
    `${requestsAt(100) - 100} % more requests at 100 items a page, ${requestsAt(10) - 100} % at 10`,
  ],
  ['README.md', `${installed} MB on disk`],
  [
    'site/index.md',
    `this client, ${ownTime}&nbsp;s.* ${ownTime} / ${loopTime}.*a fetch loop, ${loopTime}&nbsp;s`,
  ],
  ['docs/lists.md', `\\[${requestsAt(100) - 100} % more requests\\]`],
  [
    'src/pagination/list.ts',
    `${requestsAt(100) - 100} % more requests at limit 100, ${requestsAt(20) - 100} % at 20`,
  ],
]) {
  if (new RegExp(text).test(wordsOf(file))) continue
  console.log(`${file} differs from the measurement: expected ${text}`)
  process.exitCode = 1
}

/** The text of a file with its lines unwrapped. */
function wordsOf(file) {
  return readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').replaceAll(/\s+/g, ' ')
}
