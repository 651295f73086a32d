import type { Exchange, LogEntry } from './service.ts'
import type { WalkRecord } from './walk.ts'

/** A walk, one line for each thing that happened, up to its end. */
export function traceOf({ scenario, log, states, yielded, ended, exchanges }: WalkRecord): string {
  const { firstPage, limit, concurrency, verified, maxRetries } = scenario
  const options = JSON.stringify({ concurrency, verified, maxRetries })
  const lines = [
    `list({ page: ${firstPage}, limit: ${limit} }, ${options})`,
    `       ms 0: the list is [${short(states[0])}]`,
  ]
  const end = log.findLastIndex(({ type }) => type === 'end')
  for (let index = 0; index <= end; index++) {
    const entry = log[index] as LogEntry
    // Items that come together are one line.
    if (entry.type === 'yield') {
      const ids = [entry.id]
      while (log[index + 1]?.type === 'yield') ids.push((log[++index] as { id: string }).id)
      lines.push(`${moment(entry.at)} yields ${ids.join(' ')}`)
    } else {
      lines.push(`${moment(entry.at)} ${describe(entry, states)}`)
    }
  }
  lines.push(`yielded: [${yielded.join(' ')}], ${exchanges.length} requests`)
  lines.push(`complete: ${ended?.isComplete}, ${ended?.reason}`)
  return lines.join('\n')
}

function describe(entry: Exclude<LogEntry, { type: 'yield' }>, states: WalkRecord['states']): string {
  switch (entry.type) {
    case 'change':
      return `the list changes: ${entry.what} → state ${entry.version} [${short(states[entry.version])}]`
    case 'request': {
      const { page, requestedLimit } = entry.exchange
      return `#${entry.exchange.number} requests page ${page}, limit ${requestedLimit}`
    }
    case 'serve': {
      const { number, version, replica } = entry.exchange
      const from = replica ? `, replica ${replica}` : ''
      return `#${number} is served from state ${version}${from}: ${answer(entry.exchange)}`
    }
    case 'arrive':
      return `#${entry.exchange.number} arrives: ${answer(entry.exchange)}`
    case 'cancel':
      return `#${entry.exchange.number} is cancelled`
    case 'resume':
      return `goes on after ${entry.cursor.slice(0, 40)}…`
    case 'end':
      return `ends: ${entry.how}`
  }
}

function answer({ status, body }: Exchange): string {
  if (status !== 200 || !body) return `HTTP ${status}`
  return `page ${body.page} [${body.data.map(({ id }) => id).join(' ')}], total ${body.totalItems}, limit ${body.limit}`
}

const moment = (ms: number) => String(Math.round(ms)).padStart(6)

function short(ids: readonly string[] = []): string {
  return ids.length <= 60 ? ids.join(' ') : `${ids.slice(0, 30).join(' ')} … ${ids.slice(-29).join(' ')}`
}
