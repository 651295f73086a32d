// Draws docs/media/playground.svg, the picture in README.md: what a run of the playground leaves. `npm run readme-picture`,
// after `npm run build` in the root.
import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const dist = new URL('../dist/', import.meta.url)
const entries = { 'virtual-accounts': 'index.js', 'virtual-accounts/testing': 'testing.js' }
registerHooks({
  resolve: (name, context, next) => next(entries[name] ? new URL(entries[name], dist).href : name, context),
})
const { compare, simulate } = await import('./playground/simulate.js')

// The seed that the playground begins with.
const run = await simulate({ seed: 48, changes: 3, kind: 'swapped' })
const [loop, client] = run.readers.map(reader => {
  const result = compare(run, reader, run.endedAt)
  // Without what was added after its end: a gap would look like a loss.
  return { ...result, states: result.states.filter(state => state !== 'none') }
})
const money = amount => amount.toLocaleString('en', { style: 'currency', currency: 'EUR' })

const columns = 36
const pitch = 14
const width = columns * pitch + 44
const rows = Math.ceil(loop.states.length / columns)
const height = 2 * (rows * pitch + 86) + 4

/** One path for each state, as 800 rectangles would be ten times as large. */
function squares(states, top) {
  return Array.from(new Set(states), state => {
    const places = states.flatMap((each, place) => (each === state ? [place] : []))
    const at = place => `M${24 + (place % columns) * pitch} ${top + Math.floor(place / columns) * pitch}`
    return `<path class="${state}" d="${places.map(place => `${at(place)}h10v10h-10z`).join('')}"/>`
  }).join('\n  ')
}

function verdict({ lost, lostAmount, twice }) {
  const missing = lost > 0 ? `${lost} items lost silently: ${money(lostAmount)}` : 'none lost'
  return twice > 0 ? `${missing}, ${twice} read twice` : missing
}

function side(title, result, top) {
  return `<text class="title" x="24" y="${top}">${title}</text>
  <text class="${result.lost > 0 ? 'bad' : 'good'}" x="24" y="${top + 24}">${verdict(result)}</text>
  ${squares(result.states, top + 40)}`
}

const titles = ['A hand-written loop over pages', 'virtual-accounts, no option set']
const summary = `${titles[0]}: ${verdict(loop)}. ${titles[1]}: ${verdict(client)}.`

// A ground of its own, so that it can be read on any page, whatever that page or the reader prefers.
const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
  <title>${summary}</title>
  <style>
    svg { --ground: #fff; --text: #1f2328; --read: #2f62d9; --lost: #d1242f; --edge: #8a939f; --bad: #b3261e }
    @media (prefers-color-scheme: dark) {
      svg { --ground: #0d1117; --text: #e6edf3; --read: #3f6fe0; --lost: #ff6a60; --edge: #7d8590; --bad: #ff8a82 }
    }
    text { font: 16px system-ui, sans-serif; fill: var(--text) }
    .title { font-size: 18px; font-weight: 600 }
    .bad { font-weight: 600; fill: var(--bad) }
    path { fill: var(--read) }
    .lost { fill: var(--lost); stroke: var(--lost); stroke-width: 3 }
    .twice { fill: var(--ground); stroke: var(--read); stroke-width: 4 }
    .added, .removed { fill: none; stroke: var(--edge) }
  </style>
  <rect width="100%" height="100%" rx="8" fill="var(--ground)"/>
  ${side(titles[0], loop, 38)}
  ${side(titles[1], client, height / 2 + 36)}
</svg>
`
writeFileSync(new URL('../docs/media/playground.svg', import.meta.url), svg)
