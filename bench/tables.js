// Turns the measurements of all rounds into rows of medians, and those into Markdown.

/** Computes each value per round, then takes the median. So both sides of a ratio come from the same round. */
export function rowsOf({ cases, columns }, measured) {
  const rounds = Math.max(0, ...Object.values(measured).map(({ length }) => length))
  return cases.map(({ name }) => ({
    name,
    values: columns.map(({ value }) => {
      const found = Array.from({ length: rounds }, (_, round) => {
        // NaN if a case failed or was not chosen.
        const of = other => measured[other]?.[round] ?? {}
        return value(of(name), of)
      })
      return median(found.filter(Number.isFinite))
    }),
  }))
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export function format(value, { digits }) {
  if (!Number.isFinite(value)) return '–'
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

const blocks = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']
const widest = 12

/** A share of the longest bar, in block characters. */
export function bar(share) {
  const eighths = Math.round(share * widest * 8)
  return '█'.repeat(eighths >> 3) + blocks[eighths % 8]
}

/** The share that `bar` was given, or undefined for other text. */
export function shareOf(text) {
  const [, whole, rest] = /^(█+)([▏▎▍▌▋▊▉]?)$/.exec(text) ?? []
  return whole && (whole.length + blocks.indexOf(rest) / 8) / widest
}

export function markdown(head, rows) {
  const line = cells => `| ${cells.join(' | ')} |`
  const alignments = head.map(title => (title ? '--:' : '---'))
  return [line(head), line(alignments), ...rows.map(line)].join('\n')
}

export function table({ columns }, rows) {
  const cells = ({ name, values }) => [name, ...values.map((value, index) => format(value, columns[index]))]
  return markdown(['', ...columns.map(({ title }) => title)], rows.map(cells))
}
