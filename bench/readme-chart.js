// The chart of README.md. Its text is large for its width, so that it can be read on a phone: there an image is as wide
// as the screen.

const width = 440
const rowHeight = 50
const top = 76

// A background of its own, so that it can be read on any page, whatever that page or the reader prefers.
const style = `
    svg { --ground: #ffffff; --text: #1f2328; --quiet: #57606a; --default: #0969da; --ours: #8dbff5; --others: #afb8c1; }
    @media (prefers-color-scheme: dark) {
      svg { --ground: #0d1117; --text: #e6edf3; --quiet: #9198a1; --default: #58a6ff; --ours: #2d5c94; --others: #6e7681; }
    }
    text { font: 16px system-ui, sans-serif; fill: var(--text); }
    .title { font-size: 18px; font-weight: 600; }
    .note { font-size: 15px; fill: var(--quiet); }
    .default { font-weight: 600; }`

/**
 * Bars from the shortest to the longest, each with its label above it. A bar has `label`, `value`, `shown` and `what` it
 * is: default, ours or others.
 */
export function readmeChart({ title, note, bars }) {
  const sorted = bars.toSorted((a, b) => a.value - b.value)
  const longest = sorted.at(-1).value
  const height = top + sorted.length * rowHeight + 8
  const rows = sorted.map(({ label, value, shown, what }, index) => {
    const y = top + index * rowHeight
    // What is left of the width is for the number behind the longest bar.
    const length = Math.round((value / longest) * (width - 32 - 62))
    return `
  <text x="16" y="${y + 14}" class="${what}">${escaped(label)}</text>
  <rect x="16" y="${y + 21}" width="${length}" height="18" rx="3" fill="var(--${what})"/>
  <text x="${16 + length + 8}" y="${y + 36}" class="${what}">${escaped(shown)}</text>`
  })
  const summary = `${title}, ${note}: ${sorted.map(({ label, shown }) => `${label} ${shown}`).join('; ')}`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(summary)}">
  <style>${style}
  </style>
  <rect width="100%" height="100%" rx="8" fill="var(--ground)"/>
  <text x="16" y="30" class="title">${escaped(title)}</text>
  <text x="16" y="53" class="note">${escaped(note)}</text>${rows.join('')}
</svg>
`
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
