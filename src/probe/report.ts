import { afterDelay } from '../http/http-error.js'
import { escapeControl } from '../internal/describe.js'
import { countOf, type ProbeFinding, type SuggestedOptions } from './findings.js'
import { toLiteral } from './shape.js'

/** The result of a probe: plain data, and a printable table as `String(report)`. */
export interface ProbeReport {
  /** Every finding, always the same ones in the same order. */
  readonly findings: readonly ProbeFinding[]
  /** Client options that suit the service. */
  readonly suggestedOptions: SuggestedOptions
  /** Number of requests that were sent. */
  readonly requests: number
  /**
   * The service and the time; a table, what is broken first, then what has an effect on the client; then the options as code
   * to paste. The last line names what is broken once more.
   * @param width Columns of the table, from 60 to 80; 80 by default.
   */
  toString(width?: number): string
}

/** What code needs to create a client. */
interface ClientCode {
  readonly baseUrl: string
  readonly hasKey: boolean
  readonly allowInsecureHttp: boolean
}

/** What the text of a report has beyond its data. */
interface Advice extends ClientCode {
  /** Set if some calls showed nothing: when they may be sent again, or 0. */
  readonly retryAfterMs: number | undefined
  /** A zod schema of the fields that are specified, as code; `undefined` unless lists fail without one. */
  readonly schema: string | undefined
}

const minWidth = 60
const maxWidth = 80
const statusWidth = 13
const titleWidth = 21
const indent = ' '.repeat(statusWidth + titleWidth)
// With these, no list can be read as a whole, whatever its options; with those, not always.
const ofAllLists: readonly string[] = ['page-echo', 'page-zero']
const ofLists: readonly string[] = ['limit-echo', 'total', 'order', 'neighbours']
const repair =
  'Ask the owner of the service to repair what is broken; "->" says what the client, virtual-accounts, does until then.'
// Instead of the names of all findings.
const nothingElse = 'everything else: no page of transactions could be read'

/** A report from its data. Where there was no page of transactions, its text is short. */
export function createReport(
  data: Omit<ProbeReport, 'toString'>,
  advice: Advice,
  isListed: boolean,
): ProbeReport {
  const time = new Date()
  const value = (columns = maxWidth) => {
    const width = Math.min(maxWidth, Math.max(minWidth, Math.trunc(columns)))
    return formatReport(data, advice, isListed, time, Number.isNaN(width) ? maxWidth : width)
  }
  return Object.defineProperty({ ...data }, 'toString', { value })
}

function formatReport(
  data: Omit<ProbeReport, 'toString'>,
  advice: Advice,
  isListed: boolean,
  time: Date,
  width: number,
): string {
  const { findings, requests } = data
  const [broken, ok, notChecked] = (['broken', 'ok', 'not-checked'] as const).map(wanted =>
    findings.filter(({ status }) => status === wanted),
  ) as [ProbeFinding[], ProbeFinding[], ProbeFinding[]]
  const titles = broken.map(({ title }) => title).join(', ')
  const problem = isListed ? `${broken.length} broken` : 'Not probed'
  const counts = `${ok.length} ok, ${notChecked.length} not checked, ${countOf(requests, 'request')}.`
  const hasAdvice = isListed && !broken.some(({ id }) => ofAllLists.includes(id))
  const { retryAfterMs } = advice
  const hasGaps = isListed && retryAfterMs !== undefined
  const gaps = `Some requests showed nothing: probe again ${afterDelay(retryAfterMs)}. If that shows no more, ask the owner of the service.`
  const nothing = `Nothing is broken${notChecked.length > 0 ? ' in what was checked' : ''}.`
  const minute = time.toISOString().slice(0, 16).replace('T', ' ')
  return [
    ...wrap(`Probe of ${escapeControl(advice.baseUrl)} by virtual-accounts, ${minute} UTC`, width),
    '',
    ...[...broken, ...ok.toSorted(byEffect)].flatMap(finding => toRows(finding, width, isListed)),
    ...(isListed ? reasonsOf(notChecked) : [nothingElse]).flatMap(reason => toNotCheckedRows(reason, width)),
    ...(isListed && broken.length > 0 ? ['', ...wrap(repair, width)] : []),
    '',
    ...(hasAdvice ? [...toAdvice(data, advice, width), ''] : []),
    ...(hasGaps ? [...wrap(gaps, width), ''] : []),
    `${titles ? `${problem}: ${titles}.` : nothing} ${counts}`,
  ].join('\n')
}

/** First what changes what the client does. */
function byEffect(one: ProbeFinding, other: ProbeFinding): number {
  return Number(one.consequence === undefined) - Number(other.consequence === undefined)
}

function toRows(finding: ProbeFinding, width: number, isListed: boolean): string[] {
  const { status, title, observed, consequence } = finding
  // Without a page nothing shows whether the service conforms.
  const label = status === 'broken' && !isListed ? 'failed' : status
  const start = label.padEnd(statusWidth) + title.padEnd(titleWidth)
  const rows = wrap(observed, width, start, indent)
  if (consequence === undefined) return rows
  return [...rows, ...wrap(consequence, width, `${indent}-> `, `${indent}   `)]
}

/** Why findings could not be checked, once for all with the same reason. */
function reasonsOf(findings: readonly ProbeFinding[]): string[] {
  const reasons = new Set(findings.map(({ observed }) => observed))
  return Array.from(reasons, reason => {
    const same = findings.filter(({ observed }) => observed === reason)
    return `${same.map(({ title }) => title).join(', ')}: ${reason}`
  })
}

function toNotCheckedRows(reason: string, width: number): string[] {
  return wrap(reason, width, 'not-checked'.padEnd(statusWidth), ' '.repeat(statusWidth))
}

/** The options as code, with a schema if the items are others than documented, and what to ask. */
function toAdvice(data: Omit<ProbeReport, 'toString'>, advice: Advice, width: number): string[] {
  const { findings, suggestedOptions } = data
  const wrong = findings.filter(({ id, status }) => status === 'broken' && ofLists.includes(id))
  const names = wrong.map(({ title }) => title).join(', ')
  const until = `. Lists can fail or miss items until this is repaired: ${names}`
  const { limit, concurrency, maxRetries } = suggestedOptions
  const { schema } = advice
  const params = limit === undefined ? (schema ? '{}' : '') : `{ limit: ${limit} }`
  return [
    ...wrap(`Options for this service${wrong.length > 0 ? until : ':'}`, width),
    '',
    "import { Client } from 'virtual-accounts'",
    ...(schema === undefined ? [] : toSchemaLines(schema)),
    '',
    ...toClientLines(advice, concurrency === undefined ? [] : [`  concurrency: ${concurrency},`]),
    `const list = client.transactions.list(${params}${schema ? ', { schema }' : ''})`,
    ...(maxRetries === 0 ? ['// Pass { maxRetries: 0 } to each write: a retry may apply it again.'] : []),
    '',
    ...wrap('No response shows this. Ask the owner of the service:', width),
    ...wrap('- Is `amount` in major or minor units, and does it depend on the currency?', width, '', '  '),
    '- For how long is an Idempotency-Key remembered?',
  ]
}

function toSchemaLines(schema: string): string[] {
  return [
    "import * as z from 'zod' // npm install zod",
    '',
    '// As the items were that were read: others may differ.',
    `const schema = ${schema}`,
  ]
}

/** A client as code, the key from the environment. */
export function toClientLines(
  { baseUrl, hasKey, allowInsecureHttp }: ClientCode,
  furtherOptions: readonly string[] = [],
): string[] {
  return [
    'const client = new Client({',
    `  baseUrl: ${toLiteral(baseUrl)},`,
    `  apiKey: ${hasKey ? "process.env.API_KEY ?? ''" : 'null'},`,
    ...(allowInsecureHttp ? ['  allowInsecureHttp: true,'] : []),
    ...furtherOptions,
    '})',
  ]
}

/** Breaks text into lines of at most this width, the indent included; longer words, too. */
function wrap(text: string, width: number, start = '', indent = ''): string[] {
  const columns = width - indent.length
  const lines = text.match(new RegExp(`[^ ].{0,${columns - 1}}(?= |$)|[^ ]{${columns}}`, 'g')) ?? ['']
  return lines.map((line, index) => (index === 0 ? start : indent) + line.trimEnd())
}
