// Computes the first run of the playground, and the results of 100 others. Writes playground/first-run.json, and checks
// docs/media/playground.svg and README.md against them. To draw the picture, run `npm run build` in the root, then
// `npm run readme-picture`.
import { readFileSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const dist = new URL('../dist/', import.meta.url)
const entries = { 'virtual-accounts': 'index.js', 'virtual-accounts/testing': 'testing.js' }
registerHooks({
  resolve: (name, context, next) => next(entries[name] ? new URL(entries[name], dist).href : name, context),
})
const { compare, firstSettings, runMany, simulate, whyLost } = await import('./playground/simulate.js')

const settings = firstSettings
const run = await simulate(settings)
const sides = run.readers.map(reader => {
  const result = compare(run, reader, run.endedAt)
  const why = result.states.map((state, place) =>
    state === 'lost' ? whyLost(run, reader, place) : undefined,
  )
  return { ...result, endedAt: reader.endedAt, why: { ...why } }
})
const runs = await runMany(settings)
writeFileSync(
  new URL('playground/first-run.json', import.meta.url),
  JSON.stringify({ settings, endedAt: run.endedAt, sides, runs }),
)

const lossy = [0, 1].map(side => runs.filter(results => results[side].lost > 0).length)
const times = count => (count === 0 ? 'never did' : `did ${count} times`)
const sentence = `in 100 simulated runs, a loop over pages lost items ${lossy[0]} times. this client ${times(lossy[1])}`

// Wide letters for few columns: on a phone the picture is half as large.
const columns = 44
const pitch = 14
const margin = 28
const width = columns * pitch + 2 * margin - 4
const sideHeight = 214
const height = 2 * sideHeight + 56

/** One path for each state, because 800 rectangles would be ten times as large. */
function squares(states, top) {
  return Array.from(new Set(states), state => {
    const places = states.flatMap((each, place) => (each === state ? [place] : []))
    const at = place => `M${margin + (place % columns) * pitch} ${top + Math.floor(place / columns) * pitch}`
    return `<path class="${state}" d="${places.map(place => `${at(place)}h10v10h-10z`).join('')}"/>`
  }).join('\n  ')
}

function verdict({ lost, lostAmount }) {
  const money = lostAmount.toLocaleString('en', { style: 'currency', currency: 'EUR' })
  return lost > 0 ? `${lost} lost silently: ${money}` : 'none lost'
}

function draw(title, result, top) {
  // Without items added after its end, because a gap would look like a loss.
  const states = result.states.filter(state => state !== 'none')
  return `<text class="title" x="${margin}" y="${top + 42}">${title}</text>
  <text class="${result.lost > 0 ? 'bad' : 'good'}" x="${width - margin}" y="${top + 42}" text-anchor="end">${verdict(result)}</text>
  ${squares(states, top + 62)}`
}

const legend = Object.entries({
  read: 'read',
  twice: 'read twice',
  lost: 'lost silently',
  added: 'added or removed',
}).map(([state, text], index) => {
  const [x, y] = [margin + [0, 90, 234, 392][index], height - 38]
  return `<path class="${state}" d="M${x} ${y}h10v10h-10z"/><text class="legend" x="${x + 20}" y="${y + 12}">${text}</text>`
})

const titles = ['A loop over pages', 'virtual-accounts']
const summary = sides.map((side, index) => `${titles[index]}: ${verdict(side)}.`).join(' ')

// It has its own background, so it is readable on light and dark pages.
const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
  <title>${summary}</title>
  <style>
    svg { --ground: #fff; --text: #1f2328; --read: #2f62d9; --lost: #d1242f; --edge: #8a939f; --bad: #b3261e }
    @media (prefers-color-scheme: dark) {
      svg { --ground: #0d1117; --text: #e6edf3; --read: #3f6fe0; --lost: #ff6a60; --edge: #7d8590; --bad: #ff8a82 }
    }
    text { font: 24px system-ui, sans-serif; fill: var(--text) }
    .title, .bad, .good { font-weight: 600 }
    .legend { font-size: 20px }
    .bad { fill: var(--bad) }
    path { fill: var(--read) }
    .lost { fill: var(--lost); stroke: var(--lost); stroke-width: 3 }
    .twice { fill: var(--ground); stroke: var(--read); stroke-width: 4 }
    .added, .removed { fill: none; stroke: var(--edge) }
  </style>
  <rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="var(--ground)" stroke="var(--edge)" stroke-opacity="0.4"/>
  ${draw(titles[0], sides[0], 0)}
  ${draw(titles[1], sides[1], sideHeight)}
  ${legend.join('\n  ')}
</svg>
`

const picture = new URL('../docs/media/playground.svg', import.meta.url)
if (process.argv.includes('--draw')) writeFileSync(picture, svg)
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8').replaceAll(/\s+/g, ' ')
const problems = [
  readFileSync(picture, 'utf8') !== svg && 'docs/media/playground.svg is out of date: npm run readme-picture',
  !readme.toLowerCase().includes(sentence) && `README.md does not say what the simulation does: ${sentence}`,
].filter(Boolean)
console.log(problems.join('\n') || sentence)
process.exitCode = Math.min(problems.length, 1)
