import { countOf, emptyList, type Finding } from './finding.js'
import { groupByKey } from './group.js'
import { wrap } from './wrap.js'

/** The result of a probe. It is plain data. `String(report)` is a table. */
export class ProbeReport {
  /** The result in one line. */
  readonly verdict: string
  /** One finding for each check, always in the same order. */
  readonly findings: readonly Finding[]
  /** Number of requests sent. */
  readonly requests: number

  constructor(findings: readonly Finding[], requests: number) {
    this.verdict = toVerdict(findings)
    this.findings = findings
    this.requests = requests
  }

  /** The verdict, then a row for each finding, broken ones first. */
  toString(): string {
    const { verdict, findings, requests } = this
    const rows = (['broken', 'note', 'ok'] as const).flatMap(status =>
      findings.filter(finding => finding.status === status).flatMap(toRows),
    )
    const notChecked = findings.filter(({ status }) => status === 'not-checked')
    const reasons = groupByKey(notChecked.map(({ observed, id }) => [observed, id]))
    const others = [...reasons].flatMap(([reason, [id = '', ...more]]) =>
      more.length === 0
        ? wrap(reason, toStart('not-checked', id))
        : wrap(`${reason}: ${[id, ...more].join(', ')}`, toStart('not-checked', `${1 + more.length} checks`)),
    )
    const sent = `${countOf(requests, 'request')} sent.`
    return [...wrap(verdict, ''), '', ...rows, ...others, '', sent].join('\n')
  }
}

function toVerdict(findings: readonly Finding[]): string {
  const broken = findings.filter(({ status }) => status === 'broken')
  const ids = broken.map(({ id }) => id).join(', ')
  const isOk = (wanted: string) => findings.some(({ id, status }) => id === wanted && status === 'ok')
  if (!isOk('envelope')) return `No list of transactions could be read${ids && `: see ${ids}`}.`
  if (broken.length > 0) return `Broken: ${ids}.`
  if (findings.some(({ id, observed }) => id === 'items' && observed === emptyList))
    return 'Nothing broken was found, but the list is empty, so most checks were skipped.'
  const open = ['smaller-limits', 'ids', 'order'].filter(id => !isOk(id))
  return open.length === 0
    ? 'Nothing is broken. With a stable order, loops can prove they are complete.'
    : `Nothing broken was found, but loops cannot prove that they are complete: see ${open.join(', ')}.`
}

const statusWidth = 13
const idWidth = 16
const toStart = (status: string, id: string) => status.padEnd(statusWidth) + id.padEnd(idWidth)

function toRows({ status, id, observed, advice }: Finding): string[] {
  const rows = wrap(observed, toStart(status, id))
  return advice === undefined ? rows : [...rows, ...wrap(`-> ${advice}`, toStart('', ''))]
}
