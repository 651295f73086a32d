// From the measurements of all rounds to rows of medians, and to Markdown.
import { baseline } from './entries.js'

/** Rows in the order of the cases. A value is the median over rounds, so that a ratio is taken within each round. */
export function rowsOf({ cases, columns }, measured) {
  const rounds = Math.max(...cases.map(({ name }) => measured[name]?.length ?? 0))
  return cases.map(one => {
    const values = columns.map(({ value }) => {
      const found = []
      for (let round = 0; round < rounds; round++) {
        const of = name => measured[name]?.[round] ?? undefined
        const it = of(one.name)
        if (it) found.push(attempt(() => value(it, of(baseline), one, of)))
      }
      return median(found.filter(Number.isFinite))
    })
    return { name: one.name, note: one.note, isOurs: one.isOurs === true, values }
  })
}

/** Nothing to compare with, as the baseline failed or was not asked for. */
function attempt(compute) {
  try {
    return compute()
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

function median(values) {
  if (values.length === 0) return undefined
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export function format(value, { digits }) {
  if (value === undefined) return '–'
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export function table({ columns }, rows) {
  const lines = [
    `| | ${columns.map(({ title }) => title.trim()).join(' | ')} |`,
    `|---${'|--:'.repeat(columns.length)}|`,
  ]
  for (const { name, note, isOurs, values } of rows) {
    const cells = values.map((value, index) => format(value, columns[index]))
    const shown = isOurs ? `**${name}**` : name
    lines.push(`| ${note ? `${shown} (${note})` : shown} | ${cells.join(' | ')} |`)
  }
  return lines.join('\n')
}
