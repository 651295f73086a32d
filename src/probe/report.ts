import type { Bodies } from './checks/bodies.js'
import { countOf, type ProbeFinding } from './finding.js'
import { questionsFor, type SuggestedOptions, toCode } from './suggestions.js'

/** The result of a probe: plain data, and a printable table as `String(report)`. */
export interface ProbeReport {
  /** Every finding, always the same ones in the same order. */
  readonly findings: readonly ProbeFinding[]
  /** Client options that suit the service. Pass `limit` to each list: `client.transactions.list({ limit })`. */
  readonly suggestedOptions: SuggestedOptions
  /** Number of requests that were sent. */
  readonly requests: number
  /** A table of at most 80 columns, the options as code to paste, and what to ask the owner of the service. */
  toString(): string
}

const width = 80
const statusWidth = 9
const titleWidth = 28
const observedWidth = width - statusWidth - titleWidth

export class Report implements ProbeReport {
  readonly findings: readonly ProbeFinding[]
  readonly suggestedOptions: SuggestedOptions
  readonly requests: number
  // Private: the schema in the code is of no use as data.
  readonly #bodies: Bodies | undefined

  constructor(
    findings: readonly ProbeFinding[],
    suggestedOptions: SuggestedOptions,
    requests: number,
    bodies: Bodies | undefined,
  ) {
    this.findings = findings
    this.suggestedOptions = suggestedOptions
    this.requests = requests
    this.#bodies = bodies
  }

  toString(): string {
    const count = (status: ProbeFinding['status']) =>
      this.findings.filter(finding => finding.status === status).length
    const rows = [
      ...this.findings.flatMap(toRows),
      '',
      `${count('broken')} broken, ${count('kept')} kept, ${count('unknown')} unknown, in ${countOf(this.requests, 'request')}.`,
      '',
    ]
    const bodies = this.#bodies
    if (bodies === undefined) {
      return [
        ...rows,
        ...wrap(
          'No page of transactions could be read, so little could be checked. Fix what is broken above, and probe again.',
          width,
          '',
          '',
        ),
      ].join('\n')
    }
    return [
      ...rows,
      'Options that suit this service:',
      '',
      toCode(this.suggestedOptions, bodies),
      '',
      'Ask the owner of the service:',
      '',
      ...questionsFor(this.findings).flatMap(question => wrap(question, width - 2, '- ', '  ')),
    ].join('\n')
  }
}

function toRows({ status, title, observed, consequence }: ProbeFinding): string[] {
  const start = status.padEnd(statusWidth) + title.padEnd(titleWidth)
  const indent = ' '.repeat(start.length)
  const rows = wrap(observed, observedWidth, start, indent)
  if (consequence === undefined) return rows
  return [...rows, ...wrap(consequence, observedWidth - 3, `${indent}-> `, `${indent}   `)]
}

/** Breaks text into lines of at most this many characters; longer words, too. */
function wrap(text: string, columns: number, start: string, indent: string): string[] {
  const lines = text.match(new RegExp(`\\S.{0,${columns - 1}}(?= |$)|\\S{${columns}}`, 'g')) ?? ['']
  return lines.map((line, index) => (index === 0 ? start : indent) + line.trimEnd())
}
