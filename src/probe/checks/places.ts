import { countOf, type Findings, grouped } from '../findings.js'
import { type ListedPage, missingOn, nameOf } from '../page.js'
import { describeOutcome, type PageOutcome } from '../session.js'
import { isMiscounted, type ListedPages, unreliable, usablePage } from './pages.js'

type IdentifiedPage = ListedPage & { readonly ids: readonly string[] }
type Pair = readonly [one: IdentifiedPage, later: IdentifiedPage]

/** Whether a page is the same when it is read again. */
export function checkOrder(
  findings: Findings,
  reads: readonly PageOutcome[],
  { first, again }: ListedPages,
): void {
  const pairs = pairsOf(reads).filter(
    ([one, later]) => isSame(one, later) && growthOf(one, later) === 0 && one.count === later.count,
  )
  const changed = pairs.find(([one, later]) => one.ids.join() !== later.ids.join())
  if (changed) {
    findings.broken(
      'order',
      `page ${grouped(changed[0].page)} differed between two requests, with the same totalItems`,
      'Iterating can miss items without noticing. `verified` needs a stable order, too.',
    )
  } else if (again.page === undefined) findings.notChecked('order', describeOutcome(again))
  else if (!usablePage(first) || !usablePage(again) || !isSame(first.page, again.page))
    findings.notChecked('order', unreliable)
  else if (!first.page.ids || !again.page.ids) findings.notChecked('order', 'not all items have an id')
  else if (first.page.totalItems !== again.page.totalItems) {
    findings.notChecked('order', 'totalItems changed between two requests')
  } else if (first.page.count !== again.page.count) {
    findings.notChecked(
      'order',
      `page 1 has ${countOf(first.page.count, 'item')}, then ${grouped(again.page.count)}`,
    )
  } else if (first.page.count < 2) findings.notChecked('order', 'fewer than two items')
  else findings.ok('order', 'page 1 has the same ids when it is read again')
}

/** Whether each item has one place in the list, whatever the page and the limit that it is read with. */
export function checkNeighbours(findings: Findings, reads: readonly PageOutcome[]): void {
  const repeating = reads.find(({ page }) => page?.ids && new Set(page.ids).size < page.count)?.page
  if (repeating) {
    const consequence = 'The client yields only the first of them, or throws PaginationError.'
    findings.broken('neighbours', `${nameOf(repeating)} has an id twice`, consequence)
    return
  }
  if (findings.isBroken('page-echo') || findings.isBroken('order')) {
    findings.notChecked('neighbours', unreliable)
    return
  }
  const different = pairsOf(reads).filter(([one, later]) => !isSame(one, later))
  const ignored = different.find(([one, later]) => hasSameItems(one, later))
  if (ignored) {
    findings.broken(
      'neighbours',
      `${nameOf(ignored[1])} has the same items as page ${grouped(ignored[0].page)}: is \`page\` ignored?`,
      'If it is, iterating throws PaginationError after the first page. If it is the ids that repeat, items are missed without an error, also with `verified: true`.',
    )
    return
  }
  const pairs = different.filter(pair => pair.every(page => page.count > 0 && missingOn(page) === 0))
  const [one, later] = pairs.find(([one, later]) => !agree(one, later)) ?? []
  if (one && later) {
    const moved = movesBetween(one, later).filter(distance => distance > growthOf(one, later)).length
    findings.broken(
      'neighbours',
      moved > 0
        ? `${nameOf(later)} has ${countOf(moved, 'item')} of ${nameOf(one)} at other places`
        : `${nameOf(one)} and ${nameOf(later)} have other items at the same places`,
      'Iterating can repeat items, or miss some without an error, also with `verified: true`.',
    )
  } else if (reads.some(isMiscounted)) {
    findings.notChecked('neighbours', 'a page has another number of items than it says')
  } else if (reads.some(({ page }) => page && !page.ids)) {
    findings.notChecked('neighbours', 'not all items have an id')
  } else if (!pairs.some(([one, later]) => growthOf(one, later) === 0)) {
    findings.notChecked('neighbours', 'no two different pages with the same totalItems were read')
  } else findings.ok('neighbours', 'no item had two places while totalItems was the same')
}

/** Each two pages that have the number requested, and whose items have ids. */
function pairsOf(reads: readonly PageOutcome[]): Pair[] {
  const pages = reads.flatMap(read => {
    const page = usablePage(read)
    return page && isIdentified(page) ? [page] : []
  })
  return pages.flatMap((later, index) => pages.slice(0, index).map(one => [one, later] as const))
}

/** By how many places an item may have moved: one that is added moves others. */
function growthOf(one: ListedPage, later: ListedPage): number {
  return Math.abs(later.totalItems - one.totalItems)
}

function isIdentified(page: ListedPage): page is IdentifiedPage {
  return page.ids !== undefined
}

function isSame(one: ListedPage, other: ListedPage): boolean {
  return one.page === other.page && one.limit === other.limit
}

/** Whether two pages before the end of the list have the same items, although the list has not grown by so many. */
function hasSameItems(one: IdentifiedPage, other: IdentifiedPage): boolean {
  const areWithin = [one, other].every(
    page => page.count > 0 && (page.page - 1) * page.limit < page.totalItems,
  )
  const distance = Math.abs(other.page - one.page) * one.limit
  const areSame = one.limit === other.limit && one.ids.join() === other.ids.join()
  return areWithin && areSame && distance > growthOf(one, other)
}

/** Whether each item on both pages has the same place in the list, and each place on both the same item. */
function agree(one: IdentifiedPage, later: IdentifiedPage): boolean {
  const growth = growthOf(one, later)
  const start = (one.page - 1) * one.limit
  const places = placesOf(one)
  const isOther = ([id, place]: [string, number]) => !places.has(id) && one.ids[place - start] !== undefined
  if (growth === 0 && Array.from(placesOf(later)).some(isOther)) return false
  return movesBetween(one, later).every(distance => distance <= growth)
}

/** By how many places each item on both pages has moved. */
function movesBetween(one: IdentifiedPage, later: IdentifiedPage): number[] {
  const places = placesOf(one)
  return Array.from(placesOf(later), ([id, place]) => Math.abs((places.get(id) ?? place) - place))
}

/** The place of each item in the list. */
function placesOf({ page, limit, ids }: IdentifiedPage): Map<string, number> {
  return new Map(ids.map((id, index) => [id, (page - 1) * limit + index]))
}
