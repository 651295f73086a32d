import { countOf, type Findings, grouped } from '../findings.js'
import {
  findChange,
  findLimitChange,
  isContradictory,
  isMisnumbered,
  isOverfull,
  type List,
  unclear,
  usablePage,
  whyIncomparable,
} from '../list.js'
import { describeOutcome, type PageOutcome } from '../session.js'

/** A small limit is obeyed and echoed, every page of a list has the same, and no page holds more than its limit. */
export function checkLimitEcho(findings: Findings, list: List): void {
  const { first, small, smallSecond, own } = list
  const full = own.find(isOverfull)?.page
  const other = findLimitChange(list)
  const change = findChange(list)
  const { limit = 0 } = small.requested
  const judged = [small, smallSecond].find(read => read && read.page?.limit !== limit) ?? small
  if (full) {
    const observed = `${countOf(full.count, 'item')} on a page with limit ${grouped(full.limit)}`
    findings.broken('limit-echo', observed, 'Such a page is a PaginationError.')
  } else if (other && !change) {
    const limits = other.map(page => `page ${grouped(page.page)} has limit ${grouped(page.limit)}`)
    findings.broken('limit-echo', limits.join(', '), 'Iterating such a list can throw PaginationError.')
  } else if (judged.verdict === 'none') findings.notChecked('limit-echo', describeOutcome(judged))
  else if (!judged.page) {
    const observed = `page ${judged.requested.page} with limit ${limit}: ${describeOutcome(judged)}`
    findings.broken(
      'limit-echo',
      observed,
      'Lists with such a limit fail if this lasts; `verified` lists can fail with any.',
    )
  } else if (judged.page.limit !== limit) {
    findings.broken(
      'limit-echo',
      `limit ${limit} was requested, limit ${grouped(judged.page.limit)} returned`,
      'The limit in the response takes precedence. `maxItems` can load more than it needs, and `verified` lists can fail.',
    )
  } else if (other && change) findings.notChecked('limit-echo', change)
  else
    findings.ok(
      'limit-echo',
      `${limit} is ${judged.page.totalItems > limit ? 'obeyed' : 'returned'}; the default is ${grouped(first.page.limit)}`,
    )
}

/** The largest of some customary limits, and whether a list can be read with the one that is suggested. */
export function checkMaxLimit(findings: Findings, list: List): void {
  const { first, last, beyond, small, tried, own, larger, largerLast } = list
  const change = findChange(list)
  const isUnclear = findings.isBroken('limit-echo') || whyIncomparable(list) === unclear
  // A last page that could not be read says nothing about those of other limits.
  const isTotalUnclear =
    (findings.isBroken('total') && last.page !== undefined) ||
    own.some(read => isContradictory(read, list)) ||
    findings.isBroken('neighbours')
  const isWrong = (read: PageOutcome) => isFailure(read, list) || isContradictory(read, list)
  const { limit } = largerLast?.requested ?? {}
  const isReadable = largerLast?.page?.limit === limit
  const isFine = isReadable && !larger.some(read => read.page?.limit === limit && isWrong(read))
  const shown = isFine ? tried : larger
  const observed =
    shown.map(read => describeRead(read, list)).join('; ') ||
    `none was tried, as the default is ${grouped(first.page.limit)}`
  if (small.verdict === 'none') findings.notChecked('max-limit', describeOutcome(small))
  else if (isUnclear) findings.notChecked('max-limit', unclear)
  else if (larger.some(read => isFailure(read, list)) || (larger.some(isWrong) && !change && !isTotalUnclear))
    findings.broken('max-limit', observed, 'Lists with such a limit can fail or miss items if this lasts.')
  else if (larger.some(isWrong)) findings.notChecked('max-limit', change ?? unclear)
  else if (larger.some(({ verdict }) => verdict === 'none')) findings.notChecked('max-limit', observed)
  else findings.ok('max-limit', observed)
  const hasItemsBeyond = (beyond.page?.count ?? 0) > 0
  if (limit !== undefined && isFine && !change && !isTotalUnclear && !isUnclear && !hasItemsBeyond)
    findings.suggested.limit = limit
}

/** Whether a page of a large limit fails, or is another one; such a limit may be lowered, or refused. */
function isFailure(read: PageOutcome, { largerLast, tried }: List): boolean {
  const { verdict, page, requested, isComplete, response, error } = read
  const { limit = 0 } = requested
  // Page 1 was read with it.
  const isKnown = read === largerLast && tried.some(one => usablePage(one)?.limit === limit)
  // A page that is too large for the client is none, and the key was accepted without this limit.
  const isNone = verdict === 'ok' && isComplete && !page
  if (verdict === 'failed' || isNone || response?.status === 401 || error?.kind === 'timeout') return true
  if (isOverfull(read) || isMisnumbered(read) || (page && page.limit > limit)) return true
  return isKnown && (verdict === 'refused' || (page !== undefined && page.limit !== limit))
}

/** `1,000 gets limit 100 and 100 items`. */
function describeRead(read: PageOutcome, list: List): string {
  const { page, requested } = read
  const number = requested.page === 1 ? '' : `page ${grouped(requested.page)} with limit `
  const start = `${number}${grouped(requested.limit ?? 0)} gets `
  if (page === undefined) return start + describeOutcome(read)
  const other = usablePage(read) ? '' : `page ${grouped(page.page)}, `
  const total = isContradictory(read, list) ? `, with totalItems ${grouped(page.totalItems)}` : ''
  return `${start}${other}limit ${grouped(page.limit)} and ${countOf(page.count, 'item')}${total}`
}
