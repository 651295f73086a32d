import { fieldsOf } from '../fields.js'
import { countOf, type Findings } from '../finding.js'
import { idsOf, type ListedPage } from '../listed-page.js'
import type { PageOutcome } from '../session.js'

/** The pages that lists are compared by. */
export interface ListedPages {
  readonly first: PageOutcome
  readonly firstAgain: PageOutcome
  readonly second: PageOutcome | undefined
  readonly small: PageOutcome
  readonly smallSecond: PageOutcome
}

/** Whether the total covers what was seen, and stays. */
export function checkTotal(findings: Findings, outcomes: readonly PageOutcome[]): void {
  const pages = outcomes.flatMap(outcome => usablePage(outcome) ?? [])
  const tooSmall = pages.find(({ data, page, limit, totalItems }) => {
    return data.length > 0 && data.length <= limit && (page - 1) * limit + data.length > totalItems
  })
  if (tooSmall) {
    const { page, limit, data, totalItems } = tooSmall
    findings.broken(
      'total',
      `totalItems is ${totalItems}, but page ${page} ends at item ${(page - 1) * limit + data.length}`,
      'Iterating ends where the total says, without an error, although more items follow.',
    )
    findings.unknown('total-stable', 'totalItems does not count the list')
    return
  }
  if (pages.length === 0) return
  const totals = pages.map(({ totalItems }) => totalItems)
  const [before, after] = [totals[0] as number, totals.at(-1)]
  findings.kept('total', `${before} items`)
  const drop = totals.findIndex((total, index) => index > 0 && total < (totals[index - 1] as number))
  if (drop > 0) {
    findings.broken(
      'total-stable',
      `it fell from ${totals[drop - 1]} to ${totals[drop]} between two requests`,
      'Iterating throws PaginationError when the list shrinks. `verified: true` repairs it.',
    )
  } else if (after !== before) {
    const observed = `it rose from ${before} to ${after}: items are being added`
    findings.kept('total-stable', observed, 'A `drift` event; each item is yielded once.')
  } else findings.kept('total-stable', `the same in ${countOf(totals.length, 'response')}`)
}

/** Page 1 twice. */
export function checkOrder(findings: Findings, { first, firstAgain }: ListedPages): void {
  const before = usablePage(first)
  const after = usablePage(firstAgain)
  const ids = before && idsOf(before)
  const idsAgain = after && idsOf(after)
  if (!before || !after || !ids || !idsAgain || ids.length < 2) {
    findings.unknown('order', ids && ids.length < 2 ? 'fewer than two items' : 'no ids to compare')
  } else if (ids.join('\n') === idsAgain.join('\n')) {
    findings.kept('order', `the same ids twice${describeDates(before)}`)
  } else if (before.totalItems !== after.totalItems) {
    findings.unknown('order', 'the list changed between two requests')
  } else {
    findings.broken(
      'order',
      `page 1 differed between two requests, with the same totalItems: ${describeChange(ids, idsAgain)}`,
      'Iterating can miss items without noticing. `verified` needs a stable order, too.',
    )
  }
}

/** Neither overlap nor gap between a page and the next. */
export function checkNeighbours(findings: Findings, pages: ListedPages): void {
  if (findings.isBroken('page-echo') || findings.isBroken('order')) {
    const reason = findings.isBroken('order')
      ? 'the order changes'
      : 'the service does not return the requested pages'
    findings.unknown('neighbours', reason)
    return
  }
  // The later of the two: a live list may have changed since the earlier one.
  const { firstAgain: first, second, small, smallSecond } = pages
  const pairs = [
    [first, second],
    [small, smallSecond],
  ].flatMap(([one, next]) => {
    const ids = idsOfOutcome(one)
    const nextIds = idsOfOutcome(next)
    const isChanged = one?.page?.totalItems !== next?.page?.totalItems
    return ids && nextIds && nextIds.length > 0 && !isChanged ? [{ ids, nextIds }] : []
  })
  const ids = idsOfOutcome(first) ?? []
  const consequence =
    'Iterating yields repeated items once, with a `drift` event, and can miss others without an error.'
  const overlap = pairs.find(({ ids, nextIds }) => nextIds.some(id => ids.includes(id)))
  if (new Set(ids).size < ids.length) {
    findings.broken('neighbours', 'an id is on page 1 twice', 'The client treats both as one item.')
  } else if (overlap) {
    const { ids, nextIds } = overlap
    const count = nextIds.filter(id => ids.includes(id)).length
    const observed =
      count === nextIds.length && count === ids.length
        ? 'page 2 repeats page 1'
        : `${count} of ${nextIds.length} items of page 2 are on page 1, too`
    findings.broken('neighbours', observed, consequence)
  } else if (pairs.length === 0) {
    findings.unknown('neighbours', 'no two pages with ids')
  } else if (!isContinuous(pages)) {
    const { limit } = small.requested
    const observed = `page 2 with limit ${limit} does not begin after item ${limit} of the list`
    findings.broken('neighbours', observed, consequence)
  } else findings.kept('neighbours', 'no item on both pages 1 and 2, and no gap')
}

/** Whether the pages of a small limit are the beginning of the page with the default limit. */
function isContinuous({ firstAgain: first, small, smallSecond }: ListedPages): boolean {
  const ids = idsOfOutcome(first)
  const smallIds = idsOfOutcome(small)
  const nextIds = idsOfOutcome(smallSecond)
  const isGrowing = first.page?.totalItems !== smallSecond.page?.totalItems
  if (!ids || !smallIds || !nextIds || isGrowing || small.page?.limit !== small.requested.limit) return true
  const beginning = [...smallIds, ...nextIds]
  return beginning.length > ids.length || beginning.every((id, index) => id === ids[index])
}

/** The page, unless it is another one than was requested. */
function usablePage({ page, requested }: PageOutcome): ListedPage | undefined {
  return page?.page === requested.page ? page : undefined
}

function idsOfOutcome(outcome: PageOutcome | undefined): string[] | undefined {
  const page = outcome && usablePage(outcome)
  return page && idsOf(page)
}

function describeChange(ids: readonly string[], idsAgain: readonly string[]): string {
  const isSameSet = ids.length === idsAgain.length && ids.every(id => idsAgain.includes(id))
  return isSameSet ? 'the same ids in another order' : 'other ids'
}

/** Only a field that holds dates tells what the order is. */
function describeDates({ data }: ListedPage): string {
  const descriptions = fieldsOf(data).flatMap(({ name }) => {
    const dates = data.map(item => (item as Record<string, unknown>)[name])
    if (!dates.every(isDate)) return []
    const times = dates.map(date => Date.parse(date))
    const isRising = times.every((time, index) => index === 0 || time >= (times[index - 1] as number))
    const isFalling = times.every((time, index) => index === 0 || time <= (times[index - 1] as number))
    if (isRising === isFalling) return []
    return [`, ${isFalling ? 'newest' : 'oldest'} first by ${name}`]
  })
  return descriptions[0] ?? ''
}

function isDate(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\d/.test(value) && !Number.isNaN(Date.parse(value))
}
