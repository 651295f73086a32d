// Bar charts as SVG, drawn without a browser.
import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'

// A background of its own, so that it can be read on any page, whatever that page or the reader prefers.
const style = `
  svg { color: #1f2328; --ground: #ffffff; --ours: #0969da; --bare: #57606a; --others: #afb8c1; }
  @media (prefers-color-scheme: dark) {
    svg { color: #e6edf3; --ground: #0d1117; --ours: #58a6ff; --bare: #c9d1d9; --others: #6e7681; }
  }`

/** Bars from the shortest to the longest; each `row` has `name`, `value`, `shown` and what it is: ours, bare, others. */
export function barChart(title, rows) {
  const { document } = parseHTML('<html><body></body></html>')
  const sorted = rows.toSorted((a, b) => a.value - b.value)
  const svg = Plot.plot({
    document,
    width: 760,
    marginLeft: 200,
    marginRight: 70,
    marginTop: 44,
    marginBottom: 12,
    height: 56 + sorted.length * 22,
    style: { fontFamily: 'system-ui, sans-serif', fontSize: '13px' },
    x: { axis: null, domain: [0, Math.max(...rows.map(({ value }) => value))] },
    y: { domain: sorted.map(({ name }) => name), label: null, tickSize: 0 },
    marks: [
      Plot.barX(sorted, { x: 'value', y: 'name', fill: ({ what }) => `var(--${what})`, rx: 2 }),
      Plot.text(sorted, { x: 'value', y: 'name', text: 'shown', textAnchor: 'start', dx: 6 }),
      Plot.text([title], { frameAnchor: 'top-left', dx: -190, dy: -28, fontSize: 15, fontWeight: 600 }),
    ],
  })
  // Plot's own, for a page around it.
  svg.querySelector('style').remove()
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  svg.setAttribute('role', 'img')
  svg.setAttribute('aria-label', title)
  const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect')
  for (const [name, value] of Object.entries({
    width: '100%',
    height: '100%',
    rx: 6,
    fill: 'var(--ground)',
  })) {
    ground.setAttribute(name, value)
  }
  svg.prepend(ground)
  const colours = document.createElementNS('http://www.w3.org/2000/svg', 'style')
  colours.textContent = style
  svg.prepend(colours)
  return `${svg.outerHTML}\n`
}
