import { countOf, type Findings, grouped } from '../findings.js'
import { isMiscounted, type List, unclear, usablePage, whyIncomparable } from '../list.js'
import { type ListedPage, missingOn, nameOf } from '../page.js'
import { describeOutcome, type PageOutcome } from '../session.js'

/** Whether page 1 is the same when it is read again, after all other pages. */
export function checkOrder(findings: Findings, list: List): void {
  const { page: one } = list.first
  const { page: other } = list.again
  const why = whyIncomparable(list)
  if (other === undefined) findings.notChecked('order', describeOutcome(list.again))
  else if (why) findings.notChecked('order', why)
  else if (!one.ids || !other.ids) findings.notChecked('order', 'not all ids are strings or numbers')
  else if (one.count !== other.count) {
    const observed = `page 1 has ${countOf(one.count, 'item')}, then ${grouped(other.count)}`
    findings.notChecked('order', observed)
  } else if (one.ids.join() !== other.ids.join()) {
    findings.broken(
      'order',
      'page 1 differed between two requests, with the same totalItems',
      'Unless as many items were added as removed meanwhile, iterating can miss items without noticing. `verified` needs a stable order, too.',
    )
  } else if (one.count < 2) findings.notChecked('order', 'fewer than two items')
  else findings.ok('order', 'page 1 has the same ids when it is read again')
}

const consequence =
  'Iterating can fail, repeat items, or miss some without an error, also with `verified: true`.'

/** Whether each item has one place in the list, whatever the page and the limit that it is read with. */
export function checkNeighbours(findings: Findings, list: List): void {
  const reads = [...list.own, ...list.larger]
  const pages = reads.flatMap(read => usablePage(read) ?? [])
  const repeating = pages.find(({ ids, count }) => ids && new Set(ids).size < count)
  const why = findings.isBroken('order') ? unclear : whyIncomparable(list)
  const ignored = pages.find(page => isFirstAgain(page, pages))
  // A page of another limit than requested may be another part of the list.
  const isPlaced = ({ page, requested: { limit } }: PageOutcome) =>
    page?.page === 1 || limit === undefined || page?.limit === limit
  const placed = reads.filter(isPlaced).flatMap(read => usablePage(read) ?? [])
  const conflict = findConflict(placed.filter(page => missingOn(page) === 0))
  if (repeating) {
    const ofIds = 'The client yields only the first of them, and can fail, or miss others without an error.'
    findings.broken('neighbours', `${nameOf(repeating)} has an id twice`, ofIds)
  } else if (why) findings.notChecked('neighbours', why)
  else if (ignored) {
    findings.broken(
      'neighbours',
      `${nameOf(ignored)} has the same items as page 1: is \`page\` ignored?`,
      consequence,
    )
  } else if (conflict) {
    findings.broken('neighbours', conflict, consequence)
  } else if (reads.some(isMiscounted)) {
    findings.notChecked('neighbours', 'a page has another number of items than it says')
  } else if (pages.some(({ ids }) => !ids))
    findings.notChecked('neighbours', 'not all ids are strings or numbers')
  else if (new Set(pages.filter(({ count }) => count > 0).map(nameOf)).size < 2) {
    findings.notChecked('neighbours', 'no two different pages with items were read')
  } else findings.ok('neighbours', 'no item had two places on the pages that were compared')
}

/** Whether a later page has the same items as page 1 with the same limit. */
function isFirstAgain({ page, limit, ids }: ListedPage, pages: readonly ListedPage[]): boolean {
  if (page === 1 || !ids?.length) return false
  return pages.some(one => one.page === 1 && one.limit === limit && one.ids?.join() === ids.join())
}

/** Two pages that disagree on the place of an item, or on the item at a place. */
function findConflict(pages: readonly ListedPage[]): string | undefined {
  const placeOf = new Map<string, [place: number, ListedPage]>()
  const itemAt = new Map<number, [id: string, ListedPage]>()
  for (const page of pages) {
    for (const [index, id] of (page.ids ?? []).entries()) {
      const place = (page.page - 1) * page.limit + index
      const [place1, one] = placeOf.get(id) ?? [place, page]
      if (place1 !== place) return `${nameOf(page)} has an item of ${nameOf(one)} at another place`
      const [id1, other] = itemAt.get(place) ?? [id, page]
      if (id1 !== id) return `${nameOf(other)} and ${nameOf(page)} have different items at the same place`
      placeOf.set(id, [place, page])
      itemAt.set(place, [id, page])
    }
  }
  return undefined
}
